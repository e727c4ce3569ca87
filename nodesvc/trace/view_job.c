/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/trace/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_signal(const struct where *w, struct view_job *j, const char *field, json_object *o,
	enum signal_id id, enum provenance from)
{
	bool ratio = id == SIGNAL_UTILIZATION || id == SIGNAL_LLC_MISS_RATIO;
	int rc = value_double(w, field, o, 0, ratio ? 1 : INFINITY, &j->signal[id].value);

	if (rc == 0)
		j->signal[id].provenance = from;
	return rc;
}

static int parse_signals(const struct where *w, struct view_job *j, json_object *o)
{
	int rc = value_type(w, "signals", o, json_type_object);

	if (rc)
		return rc;
	json_object_object_foreach(o, key, value)
	{
		int id = 0;

		while (id < SIGNAL_COUNT &&
			(id == SIGNAL_UTILIZATION || id == SIGNAL_TIME_LEFT ||
				strcmp(key, signal_name((enum signal_id)id)) != 0))
			id++;
		if (id == SIGNAL_COUNT)
			return value_unknown_key(w, key);
		rc = set_signal(w, j, key, value, (enum signal_id)id, PROVENANCE_HW);
		if (rc)
			return rc;
	}
	return 0;
}

/* Where figures come from, by their names; the signal itself must be there. */
static int parse_provenance(const struct where *w, struct view_job *j, json_object *o)
{
	int rc = value_type(w, "provenance", o, json_type_object);

	if (rc)
		return rc;
	json_object_object_foreach(o, key, value)
	{
		int id = 0, from = PROVENANCE_HW;
		char field[64];

		while (id < SIGNAL_COUNT && strcmp(key, signal_name((enum signal_id)id)) != 0)
			id++;
		if (id == SIGNAL_COUNT || j->signal[id].provenance == PROVENANCE_NONE)
			return value_unknown_key(w, key);
		while (from < PROVENANCE_COUNT &&
			!(json_object_is_type(value, json_type_string) &&
				strcmp(json_object_get_string(value),
					provenance_name((enum provenance)from)) == 0))
			from++;
		snprintf(field, sizeof(field), "provenance.%.40s", key);
		if (from == PROVENANCE_COUNT)
			return value_bad(w, field, value, "hw, app, profile, os or calls");
		j->signal[id].provenance = (enum provenance)from;
	}
	return 0;
}

static int by_cores(const void *a, const void *b)
{
	return ((const struct speed_point *)a)->cores - ((const struct speed_point *)b)->cores;
}

static int parse_speed(const struct where *w, struct view_job *j, json_object *o)
{
	struct speed_point *point;
	int rc = value_type(w, "speed", o, json_type_object), n = 0;

	if (rc)
		return rc;
	point = calloc((size_t)json_object_object_length(o) + 1, sizeof(*point));
	if (!point)
		return err_set(w->err, -ENOMEM, "out of memory");
	j->speed = point;
	json_object_object_foreach(o, key, value)
	{
		char *end;
		long cores = strtol(key, &end, 10);
		char field[64];

		if (key[0] < '1' || key[0] > '9' || *end || cores > CORESET_MAX)
			return value_unknown_key(w, key);
		snprintf(field, sizeof(field), "speed at %ld cores", cores);
		rc = value_double(w, field, value, 0, INFINITY, &point[n].speed);
		if (rc)
			return rc;
		if (point[n].speed <= 0)
			return value_bad(w, field, value, "number above 0");
		point[n++].cores = (int)cores;
	}
	qsort(point, (size_t)n, sizeof(*point), by_cores);
	j->n_speed = n;
	return 0;
}

static int parse_priority(const struct where *w, struct view_job *j, json_object *o)
{
	const char *text;
	int rc = value_string(w, "priority", o, 16, &text);

	if (rc)
		return rc;
	if (strcmp(text, "high") != 0 && strcmp(text, "low") != 0)
		return value_bad(w, "priority", o, "\"high\" or \"low\"");
	j->has_priority = true;
	j->priority_high = strcmp(text, "high") == 0;
	return 0;
}

static int parse_current(const struct where *w, struct view_job *j, bool *has, json_object *o)
{
	int rc = value_type(w, "current", o, json_type_object);

	if (rc)
		return rc;
	json_object_object_foreach(o, key, value)
	{
		if (strcmp(key, "coreset") != 0)
			return value_unknown_key(w, key);
		rc = value_coreset(w, "current.coreset", value, &j->current);
		if (rc)
			return rc;
		*has = true;
	}
	return 0;
}

static int parse_numbers(
	const struct where *w, struct view_job *j, const char *key, json_object *o, bool *ret_known)
{
	const struct {
		const char *key;
		int lo, hi;
		int *at;
	} whole[] = {
		{"threads", 0, 1 << 20, &j->threads},
		{"cores", 1, CORESET_MAX, &j->cores},
		{"min_cores", 0, CORESET_MAX, &j->min_cores},
		{"home_numa", -1, CORESET_MAX, &j->home_numa},
		{"core", -1, CORESET_MAX - 1, &j->core},
		{"polling", 0, 1 << 20, &j->polling},
		{"nodes", 1, 1 << 20, &j->nodes},
	};
	const struct {
		const char *key;
		double hi, *at;
	} real[] = {
		{"rss_bytes", INFINITY, &j->rss_bytes},
		{"qos", 1, &j->qos},
		{"wanted_s", INFINITY, &j->wanted_s},
		{"served_s", INFINITY, &j->served_s},
	};
	double x = 0;
	int rc;

	*ret_known = true;
	for (size_t k = 0; k < sizeof(whole) / sizeof(whole[0]); k++)
		if (strcmp(key, whole[k].key) == 0)
			return value_int(w, key, o, whole[k].lo, whole[k].hi, whole[k].at);
	for (size_t k = 0; k < sizeof(real) / sizeof(real[0]); k++)
		if (strcmp(key, real[k].key) == 0)
			return value_double(w, key, o, 0, real[k].hi, real[k].at);
	if (strcmp(key, "order") == 0 || strcmp(key, "sample_no") == 0) {
		rc = value_double(w, key, o, strcmp(key, "order") == 0 ? -9e15 : 0, 9e15, &x);
		if (rc == 0 && x != floor(x))
			return value_bad(w, key, o, "whole number");
		if (rc == 0 && strcmp(key, "order") == 0)
			j->order = (int64_t)x;
		else if (rc == 0)
			j->sample_no = (uint64_t)x;
		return rc;
	}
	*ret_known = false;
	return 0;
}

static int parse_job_key(const struct where *w, struct view_job *j, bool *has_current,
	const char *key, json_object *o)
{
	bool known;
	int rc = parse_numbers(w, j, key, o, &known);

	if (known || rc)
		return rc;
	/* Read before and after the others. */
	if (strcmp(key, "id") == 0 || strcmp(key, "provenance") == 0)
		return 0;
	if (strcmp(key, "envelope") == 0)
		return value_coreset(w, key, o, &j->envelope);
	if (strcmp(key, "utilization") == 0)
		return set_signal(w, j, key, o, SIGNAL_UTILIZATION, PROVENANCE_OS);
	if (strcmp(key, "remaining_s") == 0)
		return set_signal(w, j, key, o, SIGNAL_TIME_LEFT, PROVENANCE_APP);
	if (strcmp(key, "signals") == 0)
		return parse_signals(w, j, o);
	if (strcmp(key, "speed") == 0)
		return parse_speed(w, j, o);
	if (strcmp(key, "priority") == 0)
		return parse_priority(w, j, o);
	if (strcmp(key, "type") == 0)
		return value_string(w, key, o, JOB_TYPE_MAX, &j->type);
	if (strcmp(key, "current") == 0)
		return parse_current(w, j, has_current, o);
	if (strcmp(key, "bursty") == 0)
		return value_bool(w, key, o, &j->bursty);
	if (strcmp(key, "coupled") == 0)
		return value_bool(w, key, o, &j->coupled);
	if (strcmp(key, "excluded") == 0)
		return value_bool(w, key, o, &j->excluded);
	return value_unknown_key(w, key);
}

int view_job_parse(struct where *w, struct view_job *j, int i, bool *ret_current, json_object *o)
{
	json_object *id;
	char field[32];
	int rc;

	snprintf(field, sizeof(field), "jobs[%d]", i);
	rc = value_type(w, field, o, json_type_object);
	if (rc)
		return rc;
	if (!json_object_object_get_ex(o, "id", &id)) {
		snprintf(field, sizeof(field), "jobs[%d]: id is missing", i);
		return value_fail(w, field);
	}
	*j = (struct view_job){
		.order = i,
		.home_numa = -1,
		.rss_bytes = -1,
		.core = -1,
		.nodes = 1,
		.sample_no = (uint64_t)w->view + 1,
	};
	snprintf(field, sizeof(field), "jobs[%d].id", i);
	rc = value_string(w, field, id, JOB_ID_MAX, &j->id);
	if (rc)
		return rc;
	w->job = j->id;
	json_object_object_foreach(o, key, value)
	{
		rc = parse_job_key(w, j, ret_current, key, value);
		if (rc)
			return rc;
	}
	if (json_object_object_get_ex(o, "provenance", &id)) {
		rc = parse_provenance(w, j, id);
		if (rc)
			return rc;
	}
	j->in_turns = json_object_object_get_ex(o, "wanted_s", NULL);
	if (j->served_s > j->wanted_s)
		return value_fail(w, "served_s: more than wanted_s");
	w->job = NULL;
	return 0;
}
