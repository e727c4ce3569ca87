/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "config.h"

#define SLOTS_MAX 16 /* jobs side by side on one core; more are drawn over each other */
#define TICKS     4
/* More bars than so many are no stops for the tab key: the names above and the table lead on. */
#define STOPS_MAX 200

static const char STYLE[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#59636e;--line:#d5dae0;"
	"--card:#f5f7f9;--l:42%;--tl:38%;--good:#18794e;--bad:#b42318}"
	"@media(prefers-color-scheme:dark){:root{--bg:#12161b;--fg:#e6eaee;--dim:#9aa5b1;"
	"--line:#303841;--card:#1a2027;--l:38%;--tl:68%;--good:#4cc38a;--bad:#ff8a7a}}"
	"*{box-sizing:border-box}"
	"body{margin:0 auto;max-width:1280px;padding:16px;background:var(--bg);color:var(--fg);"
	"font:15px/1.45 system-ui,sans-serif;-webkit-text-size-adjust:100%}"
	"h1{font-size:1.4rem;margin:.2em 0}h2{font-size:1.1rem;margin:1.8em 0 .5em}"
	"p{margin:.4em 0;max-width:75ch}.dim{color:var(--dim)}"
	"a{color:inherit}"
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:8px;"
	"margin:12px 0}"
	".tile{background:var(--card);border:1px solid var(--line);border-radius:8px;"
	"padding:8px 12px}.tile b{display:block;font-size:1.25rem;overflow-wrap:anywhere}"
	".tile span{color:var(--dim);font-size:.85rem}"
	".key{display:flex;flex-wrap:wrap;gap:4px 14px;margin:8px 0;padding:0;list-style:none;"
	"font-size:.88rem}"
	".key a{text-decoration:none}"
	"i.c{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em;"
	"background:hsl(var(--h) 55% var(--l))}"
	".chart{display:grid;grid-template-columns:5.4em minmax(0,1fr);column-gap:8px;"
	"align-items:stretch}"
	".lab{color:var(--dim);font-size:.82rem;text-align:right;white-space:nowrap;"
	"align-self:center;font-variant-numeric:tabular-nums}"
	".lane{position:relative;border-top:1px solid var(--line);min-height:6px}"
	".lane a{position:absolute;height:20px;border-radius:3px;overflow:hidden;"
	"background:hsl(var(--h) 55% var(--l));color:#fff;font-size:.75rem;line-height:20px;"
	"padding:0 0 0 4px;white-space:nowrap;text-decoration:none;min-width:3px;"
	"border-right:1px solid var(--bg)}"
	".lane a.dry{background:repeating-linear-gradient(45deg,hsl(var(--h) 55% var(--l)) 0 5px,"
	"hsl(var(--h) 30% var(--l)) 5px 10px)}"
	".axis{position:relative;height:1.6em;border-top:1px solid var(--line);color:var(--dim);"
	"font-size:.78rem;grid-column:2;font-variant-numeric:tabular-nums}"
	".axis span{position:absolute;top:2px;transform:translateX(-50%);white-space:nowrap}"
	".axis span:first-child{transform:none}.axis span:last-child{transform:translateX(-100%)}"
	"h3{font-size:.92rem;font-weight:600;margin:.9em 0 .2em;grid-column:2}"
	"h3 small{font-weight:400;color:var(--dim)}"
	".sig{position:relative;height:90px;border-top:1px solid var(--line);"
	"border-bottom:1px solid var(--line)}"
	".sig svg{position:absolute;inset:0;width:100%;height:100%}"
	".sig path{fill:none;stroke:hsl(var(--h) 60% var(--tl));stroke-width:1.8;"
	"vector-effect:non-scaling-stroke}"
	".ph{position:absolute;top:0;bottom:0;border-left:2px dashed hsl(var(--h) 60% var(--tl))}"
	".y{align-self:stretch;display:flex;flex-direction:column;justify-content:space-between}"
	".gain{display:grid;grid-template-columns:minmax(90px,max-content) minmax(0,1fr) auto;"
	"gap:6px 10px;align-items:center;font-size:.9rem}"
	".gain .n{overflow-wrap:anywhere}.gain .f{text-align:right}"
	".track{position:relative;height:18px;background:var(--card);border-radius:4px}"
	".track u{position:absolute;top:0;bottom:0;width:1px;background:var(--dim)}"
	".track s{position:absolute;top:7px;height:4px;min-width:2px;border-radius:2px;"
	"background:hsl(var(--h,210) 60% var(--tl))}"
	".track b{position:absolute;top:3px;width:12px;height:12px;margin-left:-6px;"
	"border-radius:50%;background:hsl(var(--h,210) 60% var(--tl));border:2px solid var(--bg)}"
	".scroll{overflow-x:auto}"
	"table{border-collapse:collapse;width:100%;font-size:.85rem;"
	"font-variant-numeric:tabular-nums}"
	"th,td{text-align:left;padding:5px 8px;border-bottom:1px solid var(--line);"
	"vertical-align:top}td{white-space:nowrap}"
	"td.w{min-width:11em;white-space:normal;overflow-wrap:anywhere}td.l{min-width:26em}"
	"th{color:var(--dim);font-weight:600;white-space:nowrap}"
	"td.r,th.r{text-align:right;white-space:nowrap}"
	".heat{width:auto}.heat td.v{background:hsl(14 85% 50% / calc(var(--v) * .55%))}"
	".heat th{max-width:11em;overflow:hidden;text-overflow:ellipsis}"
	"a:focus-visible,.scroll:focus-visible{outline:2px solid var(--fg);outline-offset:1px}"
	"tr:target{background:var(--card);outline:2px solid hsl(210 60% var(--tl))}"
	".COMPLETED{color:var(--good)}.FAILED{color:var(--bad)}"
	"footer{margin-top:2em;color:var(--dim);font-size:.82rem}"
	"@media(max-width:700px){body{padding:10px}.axis span:nth-child(even){display:none}"
	".steps thead{display:none}.steps tr{display:block;border:1px solid var(--line);"
	"border-radius:8px;margin:8px 0;padding:4px 8px}"
	".steps td,.steps td.r{display:flex;gap:10px;justify-content:space-between;border:0;"
	"padding:2px 0;text-align:right;white-space:normal}.steps td.w,.steps td.l{min-width:0}"
	".steps td:empty{display:none}.steps td::before{content:attr(data-n);color:var(--dim);"
	"text-align:left;white-space:nowrap}"
	".gain{grid-template-columns:1fr auto;grid-auto-flow:dense}.gain .track{grid-column:1/3}"
	".gain .n{grid-column:1}.gain .f{grid-column:2}}"
	"@media print{a{text-decoration:none}}";

static double percent(const struct html_data *d, double t)
{
	double p = 100 * (t - d->from) / (d->to - d->from);

	return p < 0 ? 0 : p > 100 ? 100 : p;
}

static void clock_text(double t, double span, char *buf, size_t size)
{
	time_t s = (time_t)t;
	const char *format = span > 86400 ? "%m-%d %H:%M" : span > 600 ? "%H:%M" : "%H:%M:%S";
	struct tm tm;

	if (!localtime_r(&s, &tm) || strftime(buf, size, format, &tm) == 0)
		*buf = '\0';
}

static void date_text(double s, char *buf, size_t size)
{
	time_t t = (time_t)s;
	struct tm tm;

	if (!localtime_r(&t, &tm) || strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		*buf = '\0';
}

static void write_axis(FILE *f, const struct html_data *d)
{
	fputs("<div class=axis>", f);
	for (int i = 0; i <= TICKS; i++) {
		char text[40];

		clock_text(d->from + (d->to - d->from) * i / TICKS, d->to - d->from, text,
			sizeof(text));
		fprintf(f, "<span style=\"left:%d%%\">%s</span>", 100 * i / TICKS, text);
	}
	fputs("</div>", f);
}

/* The row a bar stands in: the first that is free again. */
static int take_slot(double *free_at, const struct html_segment *s)
{
	int i = 0;

	while (i < SLOTS_MAX - 1 && free_at[i] > s->from)
		i++;
	free_at[i] = s->to;
	return i;
}

/* The bars of one core; malloc'ed, so that equal neighbours become one lane. */
static char *lane(const struct html_data *d, int pu, int *ret_slots)
{
	double free_at[SLOTS_MAX];
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	*ret_slots = 0;
	for (int i = 0; i < SLOTS_MAX; i++)
		free_at[i] = -INFINITY;
	for (int i = 0; f && i < d->n_segments; i++) {
		const struct html_segment *s = &d->segment[i];
		struct json_object *row = d->step[s->step];
		double left = percent(d, s->from);
		int slot;

		if (!coreset_has(&s->cores, (unsigned int)pu))
			continue;
		slot = take_slot(free_at, s);
		if (slot >= *ret_slots)
			*ret_slots = slot + 1;
		fprintf(f,
			"<a%s%s href=\"#s%d\" style=\"left:%.3f%%;width:%.3f%%;top:%dpx;--h:%d\" "
			"title=\"",
			json_object_get_boolean(html_get(row, "dry_run")) ? " class=dry" : "",
			d->n_segments > STOPS_MAX ? " tabindex=-1" : "", s->step, left,
			percent(d, s->to) - left, slot * 22 + 2, html_hue(s->step));
		html_escape(f, html_text(row, "id"));
		fputc(' ', f);
		html_escape(f, html_text(row, "name"));
		if (s->why && *s->why) {
			fputs(": ", f);
			html_escape(f, s->why);
		}
		fputs("\">", f);
		html_escape(f, html_text(row, "id"));
		fputs("</a>", f);
	}
	if (!f || fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void write_lane(FILE *f, int first, int last, int slots, const char *bars)
{
	if (first == last)
		fprintf(f, "<div class=lab>core %d</div>", first);
	else
		fprintf(f, "<div class=lab>cores %d-%d</div>", first, last);
	fprintf(f, "<div class=lane role=group aria-label=\"core%s %d", first == last ? "" : "s",
		first);
	if (first != last)
		fprintf(f, " to %d", last);
	fprintf(f, "\" style=\"height:%dpx\">%s</div>", slots * 22 + 4, bars);
}

static int write_timeline(FILE *f, const struct html_data *d)
{
	cleanup_free char *waiting = NULL;
	int first = -1, last = -1, slots = 0;

	fputs("<h2>Who ran where</h2>", f);
	if (d->n_segments == 0) {
		fputs("<p class=dim>No placements are recorded for these steps.</p>", f);
		return 0;
	}
	fputs("<ul class=key>", f);
	for (int i = 0; i < d->n_steps && i < 40; i++) {
		fprintf(f, "<li><a href=\"#s%d\"><i class=c style=\"--h:%d\"></i>", i, html_hue(i));
		html_escape(f, html_text(d->step[i], "id"));
		fputc(' ', f);
		html_escape(f, html_text(d->step[i], "name"));
		fputs("</a>", f);
	}
	fputs("</ul><div class=chart>", f);
	coreset_for_each (pu, &d->cores) {
		int n;
		char *bars = lane(d, pu, &n);

		if (!bars)
			return -ENOMEM;
		if (waiting && pu == last + 1 && strcmp(bars, waiting) == 0) {
			last = pu;
			free(bars);
			continue;
		}
		if (waiting)
			write_lane(f, first, last, slots, waiting);
		free(waiting);
		waiting = bars;
		first = last = pu;
		slots = n;
	}
	if (waiting)
		write_lane(f, first, last, slots, waiting);
	write_axis(f, d);
	fputs("</div>", f);
	if (d->cut_segments)
		fprintf(f, "<p class=dim>Only the first %d stretches are drawn.</p>",
			HTML_SEGMENTS_MAX);
	return 0;
}

static const struct {
	const char *key, *name, *unit;
	bool own_scale; /* every program has a unit of its own */
} SIGNAL[] = {
	{"utilization", "Utilisation", "of its cores' time, running or waiting to run", false},
	{"progress_per_s", "Progress", "of the step's own highest", true},
	{"instructions_per_s", "Instructions", "per thread and second", false},
	{"llc_misses_per_s", "Last-level cache misses", "per thread and second", false},
	{"llc_refs_per_s", "Last-level cache references", "per thread and second", false},
	{"loads_per_s", "Loads", "per thread and second", false},
	{"mem_bytes_per_s", "Memory traffic", "bytes per thread and second", false},
};

/* Largest value of a step's signal; NAN when no sample has it. */
static double step_max(struct json_object *row, const char *key)
{
	struct json_object *samples = html_get(row, "samples");
	size_t n = samples ? json_object_array_length(samples) : 0;
	double max = NAN;

	for (size_t k = 0; k < n; k++)
		max = fmax(max, html_number(json_object_array_get_idx(samples, k), key));
	return max;
}

/* Largest value of a signal; NAN when no sample has it. *ret_source: "os", "hw and profile". */
static double signal_max(const struct html_data *d, const char *key, char *ret_source, size_t size)
{
	double max = NAN;

	*ret_source = '\0';
	for (int i = 0; i < d->n_steps; i++) {
		struct json_object *sources = html_get(d->step[i], "sample_sources");
		const char *source = sources ? html_text(sources, key) : NULL;
		double own = step_max(d->step[i], key);

		max = fmax(max, own);
		if (source && !isnan(own) && !strstr(ret_source, source)) {
			size_t len = strlen(ret_source);

			snprintf(ret_source + len, size - len, "%s%s", len ? ", " : "", source);
		}
	}
	return max;
}

static void write_line(FILE *f, const struct html_data *d, int i, const char *key, double max)
{
	struct json_object *samples = html_get(d->step[i], "samples");
	size_t n = samples ? json_object_array_length(samples) : 0;
	bool begun = false;

	for (size_t k = 0; k < n; k++) {
		struct json_object *s = json_object_array_get_idx(samples, k);
		double value = html_number(s, key), t = html_number(s, "unix_s");

		if (isnan(value) || isnan(t))
			continue;
		if (!begun)
			fprintf(f, "<path style=\"--h:%d\" d=\"M", html_hue(i));
		fprintf(f, "%s%.2f %.2f", begun ? "L" : "", percent(d, t) * 10,
			100 - 96 * (max > 0 ? value / max : 0) - 2);
		begun = true;
	}
	if (begun)
		fputs("\"/>", f);
}

static int write_phases(FILE *f, const struct html_data *d)
{
	int n_phases = 0;

	for (int i = 0; i < d->n_steps; i++) {
		struct json_object *phases = html_get(d->step[i], "phase_changes");
		size_t n = phases ? json_object_array_length(phases) : 0;

		for (size_t k = 0; k < n; k++) {
			struct json_object *p = json_object_array_get_idx(phases, k);

			fprintf(f, "<span class=ph style=\"left:%.3f%%;--h:%d\" title=\"",
				percent(d, html_number(p, "unix_s")), html_hue(i));
			html_escape(f, html_text(d->step[i], "id"));
			fputs(": ", f);
			html_escape(f, html_text(p, "signature"));
			fputs("\"></span>", f);
			n_phases++;
		}
	}
	return n_phases;
}

static void write_signals(FILE *f, const struct html_data *d)
{
	int n_signals = 0, n_phases = 0;

	fputs("<h2>Signals and phases</h2>", f);
	for (size_t i = 0; i < sizeof(SIGNAL) / sizeof(SIGNAL[0]); i++) {
		char source[64];
		double max = signal_max(d, SIGNAL[i].key, source, sizeof(source));

		if (isnan(max) || !d->timed)
			continue;
		if (i == 0)
			max = fmax(max, 1); /* a ratio: of all there is */
		if (SIGNAL[i].own_scale)
			max = 1;
		if (n_signals++ == 0)
			fputs("<div class=chart>", f);
		fprintf(f, "<h3>%s <small>%s%s%s</small></h3>", SIGNAL[i].name, SIGNAL[i].unit,
			*source ? "; source: " : "", source);
		fprintf(f,
			"<div class=\"lab y\"><span>%.3g</span><span>0</span>"
			"</div><div class=sig><svg viewBox=\"0 0 1000 100\" "
			"preserveAspectRatio=none role=img aria-label=\"%s over time, 0 to %.3g\">",
			max, SIGNAL[i].name, max);
		for (int k = 0; k < d->n_steps; k++)
			write_line(f, d, k, SIGNAL[i].key,
				SIGNAL[i].own_scale ? step_max(d->step[k], SIGNAL[i].key) : max);
		fputs("</svg>", f);
		n_phases = write_phases(f, d);
		fputs("</div>", f);
	}
	if (n_signals) {
		write_axis(f, d);
		fputs("</div>", f);
	}
	if (n_signals == 0)
		fputs("<p class=dim>No signals are recorded for these steps.</p>", f);
	else if (n_phases)
		fprintf(f, "<p class=dim>%d changes of phase: dashed lines.</p>", n_phases);
	else
		fputs("<p class=dim>No change of phase was detected.</p>", f);
}

static const char TABLE[] =
	"JobID,JobName,Program,User,NodeList,Policy,ReqPolicy,State,Start,Elapsed,Coreset,Partners,"
	"Rebinds,Phases,SoloSpeed,SharedSpeed,SpeedUnit,NTT,STP,ANTT,Gain,Launch,GainLaunch,"
	"GainBasis,Guard,Waits,UnmeasuredFrom,UnmeasuredTo,Reason";

static bool is_used(const struct html_data *d, const struct acct_column *c)
{
	char cell[16384];

	for (int i = 0; i < d->n_steps; i++) {
		if (*acct_cell(c, d->step[i], cell, sizeof(cell)))
			return true;
	}
	return false;
}

/* Columns whose text may be long wrap, the others do not. */
static const char *cell_class(const struct acct_column *c)
{
	const char *name = c->field->name;

	if (c->right)
		return " class=r";
	if (strcmp(name, "Reason") == 0)
		return " class=\"w l\"";
	return strcmp(name, "Partners") == 0 || strcmp(name, "JobName") == 0 ? " class=w" : "";
}

static void write_table(FILE *f, const struct html_data *d)
{
	struct acct_format fmt;
	bool used[ACCT_COLUMNS_MAX];
	char cell[16384];

	if (acct_format_parse(TABLE, &fmt, NULL) < 0)
		return;
	fputs("<h2>Steps</h2>", f);
	if (d->n_all > d->n_steps)
		fprintf(f,
			"<p>The first %d of %ld steps; sums above are of all. Narrow the time "
			"(-S, -E) or name jobs (-j) to see others.</p>",
			d->n_steps, d->n_all);
	fputs("<div class=scroll tabindex=0 role=region aria-label=Steps><table "
	      "class=steps><thead><tr>",
		f);
	for (int i = 0; i < fmt.n; i++) {
		used[i] = is_used(d, &fmt.column[i]);
		if (used[i])
			fprintf(f, "<th scope=col%s>%s</th>", fmt.column[i].right ? " class=r" : "",
				fmt.column[i].field->name);
	}
	fputs("</tr></thead><tbody>\n", f);
	for (int k = 0; k < d->n_steps; k++) {
		fprintf(f, "<tr id=\"s%d\">", k);
		for (int i = 0; i < fmt.n; i++) {
			const char *name = fmt.column[i].field->name;

			if (!used[i])
				continue;
			acct_cell(&fmt.column[i], d->step[k], cell, sizeof(cell));
			fprintf(f, "<td data-n=\"%s\"%s>", name, cell_class(&fmt.column[i]));
			if (i == 0)
				fprintf(f, "<span><i class=c style=\"--h:%d\"></i>", html_hue(k));
			else if (strcmp(name, "State") == 0)
				fprintf(f, "<span class=%s>",
					strcmp(cell, "COMPLETED") == 0 ? "COMPLETED"
					: strcmp(cell, "FAILED") == 0  ? "FAILED"
								       : "dim");
			html_escape(f, cell);
			fputs(i == 0 || strcmp(name, "State") == 0 ? "</span></td>" : "</td>", f);
		}
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table></div>", f);
}

/* Of colocd's answer: the step's part in the turns; NULL: it takes none. */
static struct json_object *turn_of(const struct html_data *d, struct json_object *row)
{
	const char *id = html_text(row, "id");
	size_t n = id && html_runs(row) && d->jobs ? json_object_array_length(d->jobs) : 0;

	for (size_t k = 0; k < n; k++) {
		struct json_object *s = json_object_array_get_idx(d->jobs, k);
		const char *other = html_text(s, "id");

		if (other && strcmp(other, id) == 0)
			return isnan(html_number(html_get(s, "turn"), "next_ms"))
				       ? NULL
				       : html_get(s, "turn");
	}
	return NULL;
}

static void write_turns(FILE *f, const struct html_data *d)
{
	int n = 0;

	for (int i = 0; i < d->n_steps; i++) {
		struct json_object *t = turn_of(d, d->step[i]);

		if (!t)
			continue;
		if (n++ == 0)
			fputs("<h2>Whose turn it is</h2><ul class=key>", f);
		fprintf(f, "<li><i class=c style=\"--h:%d\"></i><a href=\"#s%d\">", html_hue(i), i);
		html_escape(f, html_text(d->step[i], "id"));
		fputc(' ', f);
		html_escape(f, html_text(d->step[i], "name"));
		fprintf(f, "</a>: %s slice of %.0f ms",
			json_object_get_boolean(html_get(t, "runs")) ? "has its" : "next",
			html_number(t, "slice_ms"));
		if (!json_object_get_boolean(html_get(t, "runs")))
			fprintf(f, " in %.0f ms", html_number(t, "next_ms"));
		fputs("</li>", f);
	}
	if (n)
		fputs("</ul><p class=dim>When this page was made. Between its slices a step is "
		      "frozen; where others wait, its next one comes sooner.</p>",
			f);
}

static void write_tile(FILE *f, const char *value, const char *what)
{
	fputs("<div class=tile><b>", f);
	html_escape(f, value);
	fprintf(f, "</b><span>%s</span></div>", what);
}

static void write_tiles(FILE *f, const struct html_data *d)
{
	char text[160];
	long rebinds = 0;
	double best = NAN;

	for (int i = 0; i < d->n_steps; i++) {
		rebinds += (long)fmax(0, html_number(d->step[i], "rebinds"));
		best = fmax(best, html_number(d->step[i], "stp_full"));
	}
	fputs("<div class=tiles>", f);
	snprintf(text, sizeof(text), "%ld", d->n_all);
	write_tile(f, text, d->n_all == 1 ? "step" : "steps");
	if (d->timed) {
		acct_time_elapsed((int64_t)(d->to - d->from), text, sizeof(text));
		write_tile(f, text, "from first start to last end");
	}
	*text = '\0';
	for (int i = 0; i < d->n_policies; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s%s", i ? ", " : "", d->policy[i].name);
	}
	write_tile(f, *text ? text : "none", d->n_policies > 1 ? "policies" : "policy");
	snprintf(text, sizeof(text), "%ld", rebinds);
	write_tile(f, text, "changes of placement");
	if (!isnan(best)) {
		snprintf(text, sizeof(text), "%.2f", best);
		write_tile(f, text, "highest STP of a co-run");
	}
	snprintf(text, sizeof(text), "%ld", d->n_gains);
	write_tile(f, text, d->n_gains == 1 ? "measured gain" : "measured gains");
	fputs("</div>", f);
}

int acct_html_write(FILE *f, struct html_data *d, double now_s, struct errbuf *err)
{
	const char *node = d->n_steps ? html_text(d->step[0], "node") : NULL;
	char from[48] = "", made[48];
	int rc = html_data_lay_out(d);

	if (rc < 0)
		return err_set(err, rc, "out of memory");
	fputs("<!doctype html><html lang=en><head><meta charset=utf-8>"
	      "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
	      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
	      "'unsafe-inline'\"><meta name=referrer content=no-referrer>"
	      "<title>Coloc report</title><style>",
		f);
	fputs(STYLE, f);
	fputs("</style></head><body><main><h1>Co-location", f);
	if (node) {
		fputs(" on ", f);
		html_escape(f, node);
	}
	fputs("</h1>", f);
	if (d->timed) {
		date_text(d->from, from, sizeof(from));
		fprintf(f, "<p class=dim>From %s.", from);
		date_text(d->to, from, sizeof(from));
		fprintf(f, " To %s.</p>", from);
	} else if (d->n_steps) {
		fputs("<p class=dim>When these steps ran is not recorded.</p>", f);
	} else {
		fputs("<p>No step was found.</p>", f);
	}
	write_tiles(f, d);
	if (d->n_steps) {
		write_turns(f, d);
		rc = write_timeline(f, d);
		if (rc < 0)
			return err_set(err, rc, "out of memory");
		write_signals(f, d);
		html_gains_write(f, d);
		rc = html_heat_write(f, d);
		if (rc < 0)
			return err_set(err, rc, "out of memory");
		write_table(f, d);
	}
	date_text((double)now_s, made, sizeof(made));
	fprintf(f,
		"</main><footer>Made by colocacct %s on %s. Measured on the node; blank is "
		"unknown, "
		"never 0. NTT: slow-down against running alone; STP: sum of 1/NTT of the steps "
		"that ran together; ANTT: mean NTT.</footer></body></html>\n",
		PACKAGE_VERSION, made);
	return 0;
}
