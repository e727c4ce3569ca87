/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

struct json_object *html_get(struct json_object *row, const char *key)
{
	return json_object_object_get(row, key);
}

const char *html_text(struct json_object *row, const char *key)
{
	struct json_object *value = html_get(row, key);

	return value ? json_object_get_string(value) : NULL;
}

double html_number(struct json_object *row, const char *key)
{
	struct json_object *value = html_get(row, key);
	double number = NAN;

	if (json_object_is_type(value, json_type_double) ||
		json_object_is_type(value, json_type_int))
		number = json_object_get_double(value);
	return isfinite(number) ? number : NAN;
}

bool html_runs(struct json_object *row)
{
	const char *state = html_text(row, "state");

	return state && strcmp(state, "RUNNING") == 0;
}

static struct html_policy *find_policy(struct html_data *d, const char *name)
{
	struct html_policy *p;

	for (int i = 0; i < d->n_policies; i++) {
		if (strcmp(d->policy[i].name, name) == 0)
			return &d->policy[i];
	}
	if (d->n_policies == HTML_POLICIES_MAX)
		return NULL;
	p = &d->policy[d->n_policies++];
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

static void count_policy(struct html_data *d, struct json_object *row)
{
	const char *name = html_text(row, "policy");
	double gain = html_number(row, "gain_placement");
	struct html_policy *p = name ? find_policy(d, name) : NULL;

	if (!isnan(gain))
		d->n_gains++;
	if (!p)
		return;
	p->n_steps++;
	if (isnan(gain))
		return;
	if (p->n_gains == 0 || gain < p->min_gain)
		p->min_gain = gain;
	if (p->n_gains == 0 || gain > p->max_gain)
		p->max_gain = gain;
	p->sum_gain += gain;
	p->n_gains++;
}

int html_data_add(struct html_data *d, const char *json_row)
{
	struct json_object *row = json_tokener_parse(json_row);

	if (!row)
		return -EPROTO;
	d->n_all++;
	d->running |= html_runs(row);
	count_policy(d, row);
	if (d->n_steps < HTML_STEPS_MAX)
		d->step[d->n_steps++] = row;
	else
		json_object_put(row);
	return 0;
}

static int add_segment(
	struct html_data *d, int step, double from, double to, const char *cpulist, const char *why)
{
	struct html_segment *s;

	if (d->n_segments == HTML_SEGMENTS_MAX) {
		d->cut_segments = true;
		return 0;
	}
	if (d->n_segments % 256 == 0) {
		s = realloc(d->segment, (size_t)(d->n_segments + 256) * sizeof(*s));
		if (!s)
			return -ENOMEM;
		d->segment = s;
	}
	s = &d->segment[d->n_segments];
	if (to < from || coreset_parse(&s->cores, cpulist, NULL) < 0)
		return 0; /* a clock set back, or no cores: nothing to draw */
	s->step = step;
	s->from = from;
	s->to = to;
	s->why = why;
	coreset_or(&d->cores, &d->cores, &s->cores);
	d->n_segments++;
	return 0;
}

static int lay_out_step(struct html_data *d, int i, double start, double end)
{
	struct json_object *changes = html_get(d->step[i], "coreset_changes");
	size_t n = changes ? json_object_array_length(changes) : 0;
	const char *last = html_text(d->step[i], "coreset");
	int rc = 0;

	/* Of an older store only the last coreset is known, and not since when. */
	if (n == 0 && last && html_number(d->step[i], "rebinds") == 0)
		return add_segment(d, i, start, end, last, html_text(d->step[i], "reason"));
	for (size_t k = 0; rc == 0 && k < n; k++) {
		struct json_object *c = json_object_array_get_idx(changes, k);
		double from = html_number(c, "unix_s"), to = end;
		const char *cores = html_text(c, "coreset");

		if (k + 1 < n)
			to = html_number(json_object_array_get_idx(changes, k + 1), "unix_s");
		if (cores)
			rc = add_segment(
				d, i, from, to > end ? end : to, cores, html_text(c, "why"));
	}
	return rc;
}

int html_data_lay_out(struct html_data *d)
{
	d->from = INFINITY;
	d->to = -INFINITY;
	for (int i = 0; i < d->n_steps; i++) {
		double start = html_number(d->step[i], "start_unix_s");
		double end = start + html_number(d->step[i], "elapsed_s");
		int rc;

		if (isnan(end))
			continue;
		d->from = fmin(d->from, start);
		d->to = fmax(d->to, end);
		rc = lay_out_step(d, i, start, end);
		if (rc < 0)
			return rc;
	}
	d->timed = d->to >= d->from;
	if (!d->timed)
		d->from = d->to = 0;
	if (d->to <= d->from)
		d->to = d->from + 1;
	return 0;
}

void html_data_done(struct html_data *d)
{
	for (int i = 0; i < d->n_steps; i++)
		json_object_put(d->step[i]);
	json_object_put(d->jobs);
	free(d->segment);
	memset(d, 0, sizeof(*d));
}

void html_escape(FILE *f, const char *text)
{
	cleanup_free char *copy = text ? strdup(text) : NULL;

	for (text = copy ? text_clean(copy) : ""; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\'':
			fputs("&#39;", f);
			break;
		default:
			fputc(*text, f);
		}
	}
}

/* Hues far apart for neighbours (golden angle). */
int html_hue(int i)
{
	return (int)fmod(i * 137.508 + 210, 360);
}
