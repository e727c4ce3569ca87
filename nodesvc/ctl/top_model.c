/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/ctl/ctl.h"

static const char KEYS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

void top_model_init(struct top_model *m, bool sees_all)
{
	memset(m, 0, sizeof(*m));
	m->t_unix = NAN;
	m->sees_all = sees_all;
}

static void free_steps(struct top_step *step, int n)
{
	for (int i = 0; i < n; i++) {
		json_object_put(step[i].now);
		json_object_put(step[i].detail);
	}
	free(step);
}

void top_model_done(struct top_model *m)
{
	json_object_put(m->status);
	free_steps(m->step, m->n);
	memset(m, 0, sizeof(*m));
}

/* -EPROTO: no JSON object. */
static int parse(const char *what, const char *json, struct json_object **ret, struct errbuf *err)
{
	*ret = json_tokener_parse(json);
	if (json_object_is_type(*ret, json_type_object))
		return 0;
	json_object_put(*ret);
	return err_set(err, -EPROTO, "the answer to '%s' is no JSON object", what);
}

int top_model_status(struct top_model *m, const char *json, struct errbuf *err)
{
	struct json_object *o;
	int rc = parse("status", json, &o, err);

	if (rc < 0)
		return rc;
	json_object_put(m->status);
	m->status = o;
	top_map_read(&m->map, o);
	return 0;
}

int top_model_find(const struct top_model *m, const char *id)
{
	for (int i = 0; i < m->n; i++)
		if (strcmp(m->step[i].id, id) == 0)
			return i;
	return -1;
}

/* What is known of it from the round before. A younger step of the same name is another one. */
static void inherit(struct top_model *m, struct top_step *s)
{
	int i = top_model_find(m, s->id);
	struct top_step *before = i < 0 ? NULL : &m->step[i];

	if (!before || show_double(s->now, "elapsed_s") < show_double(before->now, "elapsed_s"))
		return;
	s->detail = before->detail;
	before->detail = NULL;
	s->asked = before->asked;
	s->key = before->key;
}

static void give_keys(struct top_step *step, int n)
{
	bool taken[sizeof(KEYS)] = {false};
	size_t next = 0;

	for (int i = 0; i < n; i++) {
		const char *at = step[i].key ? strchr(KEYS, step[i].key) : NULL;

		if (at)
			taken[at - KEYS] = true;
	}
	for (int i = 0; i < n; i++) {
		if (step[i].key && step[i].key != TOP_NO_KEY)
			continue;
		while (KEYS[next] && taken[next])
			next++;
		step[i].key = (char)(KEYS[next] ? KEYS[next++] : TOP_NO_KEY);
	}
}

int top_model_jobs(struct top_model *m, const char *json, double t_unix, struct errbuf *err)
{
	struct json_object *o, *list;
	struct top_step *step = NULL;
	size_t n = 0;
	int rc = parse("jobs", json, &o, err);

	if (rc < 0)
		return rc;
	list = show_get(o, "steps");
	if (json_object_is_type(list, json_type_array))
		n = json_object_array_length(list);
	else
		rc = err_set(err, -EPROTO, "the answer to 'jobs' has no list of steps");
	if (rc == 0 && !(step = calloc(n + 1, sizeof(*step))))
		rc = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct top_step *s = &step[i];

		s->now = json_object_get(json_object_array_get_idx(list, i));
		s->order = (int)i;
		snprintf(s->id, sizeof(s->id), "%s", show_text(s->now, "id"));
		coreset_parse(&s->cores, show_text(s->now, "coreset"), NULL);
	}
	json_object_put(o);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		inherit(m, &step[i]);
	give_keys(step, (int)n);
	free_steps(m->step, m->n);
	m->step = step;
	m->n = (int)n;
	m->round++;
	m->t_unix = t_unix;
	m->error[0] = '\0';
	return 0;
}

int top_model_detail(struct top_model *m, const char *id, const char *json, struct errbuf *err)
{
	int i = top_model_find(m, id);
	struct json_object *o;
	int rc = parse("explain", json, &o, err);

	if (rc < 0)
		return rc;
	if (i < 0) {
		json_object_put(o);
		return 0;
	}
	json_object_put(m->step[i].detail);
	m->step[i].detail = o;
	m->step[i].asked = m->round;
	return 0;
}

void top_model_fail(struct top_model *m, const char *why, double t_unix)
{
	if (!*m->error)
		m->error_t_unix = t_unix;
	snprintf(m->error, sizeof(m->error), "%s", why);
}

struct top_step *top_model_next_wanted(struct top_model *m)
{
	struct top_step *next = NULL;

	for (int i = 0; i < m->n; i++) {
		struct top_step *s = &m->step[i];

		if (s->wanted && s->asked < m->round && (!next || s->asked < next->asked))
			next = s;
	}
	return next;
}

/* ---- order ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *text, *now, *signal, *figure; /* one of them: where its value is */
} SORT[SORT_COUNT] = {
	[SORT_STEP] = {.name = "step"},
	[SORT_USER] = {.name = "user", .text = "user"},
	[SORT_PROGRAM] = {.name = "program", .text = "program"},
	[SORT_CORES] = {.name = "cores", .now = "cores"},
	[SORT_BUSY] = {.name = "busy", .signal = "utilization"},
	[SORT_PROGRESS] = {.name = "progress", .signal = "progress_per_s"},
	[SORT_LOADS] = {.name = "loads", .signal = "loads_per_s"},
	[SORT_NTT] = {.name = "ntt", .figure = "ntt_full"},
	[SORT_GAIN] = {.name = "gain", .figure = "gain_placement"},
	[SORT_ELAPSED] = {.name = "elapsed", .now = "elapsed_s"},
};

const char *top_sort_name(enum top_sort s)
{
	return SORT[s].name;
}

int top_sort_parse(const char *name, enum top_sort *ret)
{
	for (int i = 0; i < SORT_COUNT; i++) {
		if (strcmp(SORT[i].name, name) == 0) {
			*ret = (enum top_sort)i;
			return 0;
		}
	}
	return -EINVAL;
}

bool top_sort_needs_details(enum top_sort s)
{
	return SORT[s].figure != NULL;
}

double top_step_figure(const struct top_step *s, const char *key)
{
	return show_double(show_get(s->detail, "figures"), key);
}

static double value_of(const struct top_step *s, enum top_sort by)
{
	if (SORT[by].signal)
		return show_double(show_get(show_get(s->now, "signals"), SORT[by].signal), "value");
	if (SORT[by].figure)
		return top_step_figure(s, SORT[by].figure);
	return show_double(s->now, SORT[by].now);
}

struct order {
	enum top_sort by;
	int sign;
};

/* Numbers within an id count as numbers: 9.0 before 10.0. */
static int compare_texts(const char *a, const char *b)
{
	if (!*a || !*b)
		return (*a ? 0 : 1) - (*b ? 0 : 1);
	return strverscmp(a, b);
}

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct top_step *a = pa, *b = pb;
	const struct order *o = arg;
	const char *text = SORT[o->by].text;
	int rc = 0;

	if (o->by == SORT_STEP) {
		rc = o->sign * strverscmp(a->id, b->id);
	} else if (text) {
		const char *ta = show_text(a->now, text), *tb = show_text(b->now, text);

		rc = compare_texts(ta, tb) * (*ta && *tb ? o->sign : 1);
	} else {
		double va = value_of(a, o->by), vb = value_of(b, o->by);

		if (isnan(va) || isnan(vb))
			rc = (isnan(va) ? 1 : 0) - (isnan(vb) ? 1 : 0);
		else
			rc = o->sign * ((va < vb) - (va > vb));
	}
	return rc ? rc : a->order - b->order;
}

void top_model_sort(struct top_model *m, enum top_sort by, bool reverse)
{
	struct order o = {.by = by, .sign = reverse ? -1 : 1};

	if (m->n > 0)
		qsort_r(m->step, (size_t)m->n, sizeof(*m->step), compare, &o);
}
