/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acct_html_gain.c - the gains of steps with their intervals, and of policies; all to one scale. */
#include "nodesvc/report/acct.h"

#include <math.h>

/* The ends of all tracks of gains; 1 is always on them. */
struct scale {
	double min, max;
};

static double at(double gain, const struct scale *s)
{
	double p = 100 * (gain - s->min) / (s->max - s->min);

	return p < 0 ? 0 : p > 100 ? 100 : p;
}

static void write_step_gain(FILE *f, const struct html_data *d, int i, const char *key,
	const char *what, const struct scale *scale)
{
	char bound[48];
	double value = html_number(d->step[i], key), lo, hi;

	snprintf(bound, sizeof(bound), "%s_lo", key);
	lo = html_number(d->step[i], bound);
	snprintf(bound, sizeof(bound), "%s_hi", key);
	hi = html_number(d->step[i], bound);
	if (isnan(value) || isnan(lo) || isnan(hi))
		return;
	fprintf(f, "<div class=n style=\"--h:%d\"><i class=c></i>", html_hue(i));
	html_escape(f, html_text(d->step[i], "id"));
	fputc(' ', f);
	html_escape(f, html_text(d->step[i], "name"));
	fprintf(f,
		" <span class=dim>%s</span></div><div class=track aria-hidden=true "
		"style=\"--h:%d\"><u "
		"style=\"left:%.2f%%\"></u><s style=\"left:%.2f%%;width:%.2f%%\"></s><b "
		"style=\"left:%.2f%%\"></b></div><div class=f>%.2f <span "
		"class=dim>%.2f-%.2f</span></div>",
		what, html_hue(i), at(1, scale), at(lo, scale), at(hi, scale) - at(lo, scale),
		at(value, scale), value, lo, hi);
}

static void widen(struct scale *s, double lo, double hi)
{
	s->min = fmin(s->min, lo - 0.05);
	s->max = fmax(s->max, hi + 0.05);
}

static struct scale gain_scale(const struct html_data *d)
{
	struct scale s = {0.75, 1.25};

	for (int i = 0; i < d->n_steps; i++) {
		widen(&s, html_number(d->step[i], "gain_placement_lo"),
			html_number(d->step[i], "gain_placement_hi"));
		widen(&s, html_number(d->step[i], "gain_launch_lo"),
			html_number(d->step[i], "gain_launch_hi"));
	}
	/* Its own steps may be beyond those that are shown. */
	for (int i = 0; i < d->n_policies; i++) {
		if (d->policy[i].n_gains)
			widen(&s, d->policy[i].min_gain, d->policy[i].max_gain);
	}
	s.min = fmax(0, s.min);
	return s;
}

void html_gains_write(FILE *f, const struct html_data *d)
{
	const struct scale scale = gain_scale(d);
	int n = 0;

	fputs("<h2>Gain per job</h2>", f);
	for (int i = 0; i < d->n_steps; i++)
		n += !isnan(html_number(d->step[i], "gain_placement")) ||
		     !isnan(html_number(d->step[i], "gain_launch"));
	if (n == 0) {
		fputs("<p class=dim>Not measured. A gain needs paired windows "
		      "(<code>baseline_fraction</code>) or control launches "
		      "(<code>control_fraction</code>) and a speed signal: hardware counters or "
		      "published progress. Without these it stays blank.</p>",
			f);
	} else {
		fputs("<p class=dim>Speed under the policy over speed without it, with the 95 % "
		      "interval. The line is 1: no difference.</p><div class=gain>",
			f);
		for (int i = 0; i < d->n_steps; i++) {
			write_step_gain(f, d, i, "gain_placement", "placement", &scale);
			write_step_gain(f, d, i, "gain_launch", "launch", &scale);
		}
		fputs("</div>", f);
	}
	fputs("<h2>Gain per policy</h2>", f);
	if (d->n_policies == 0) {
		fputs("<p class=dim>No policy ruled any of these steps.</p>", f);
		return;
	}
	fputs("<div class=gain>", f);
	for (int i = 0; i < d->n_policies; i++) {
		const struct html_policy *p = &d->policy[i];

		fputs("<div class=n>", f);
		html_escape(f, p->name);
		fprintf(f, " <span class=dim>%d step%s</span></div>", p->n_steps,
			p->n_steps == 1 ? "" : "s");
		if (p->n_gains == 0) {
			fputs("<div class=track aria-hidden=true></div><div class=dim>not "
			      "measured</div>",
				f);
			continue;
		}
		fprintf(f,
			"<div class=track aria-hidden=true><u style=\"left:%.2f%%\"></u><s "
			"style=\"left:%.2f%%;width:%.2f%%\"></s><b style=\"left:%.2f%%\"></b>"
			"</div><div class=f>%.2f <span class=dim>%.2f-%.2f of %d</span></div>",
			at(1, &scale), at(p->min_gain, &scale),
			at(p->max_gain, &scale) - at(p->min_gain, &scale),
			at(p->sum_gain / p->n_gains, &scale), p->sum_gain / p->n_gains, p->min_gain,
			p->max_gain, p->n_gains);
	}
	fputs("</div><p class=dim>Placement only: mean, least and largest of the measured "
	      "steps.</p>",
		f);
}
