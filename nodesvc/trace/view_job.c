/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/trace/internal.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
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
	static const struct member only[] = {{"coreset", MEMBER_CORESET, 0, 0, 0}, {.key = NULL}};
	int rc = value_members(w, "current", o, only, &j->current);

	*has = !rc && json_object_object_length(o) > 0;
	return rc;
}

static int parse_job_key(const struct where *w, struct view_job *j, bool *has_current,
	const char *key, json_object *o)
{
#define AT(member) offsetof(struct view_job, member)
	static const struct member member[] = {
		/* Read before and after the others. */
		{"id", MEMBER_ELSEWHERE, 0, 0, 0},
		{"provenance", MEMBER_ELSEWHERE, 0, 0, 0},
		{"type", MEMBER_TEXT, AT(type), 0, JOB_TYPE_MAX},
		{"owner", MEMBER_WHOLE, AT(owner), 0, 9e15},
		{"order", MEMBER_WHOLE, AT(order), -9e15, 9e15},
		{"threads", MEMBER_INT, AT(threads), 0, 1 << 20},
		{"runnable", MEMBER_REAL, AT(runnable), 0, 1 << 20},
		{"cores", MEMBER_INT, AT(cores), 1, CORESET_MAX},
		{"min_cores", MEMBER_INT, AT(min_cores), 0, CORESET_MAX},
		{"envelope", MEMBER_CORESET, AT(envelope), 0, 0},
		{"sample_no", MEMBER_WHOLE, AT(sample_no), 0, 9e15},
		{"home_numa", MEMBER_INT, AT(home_numa), -1, CORESET_MAX},
		{"rss_bytes", MEMBER_REAL, AT(rss_bytes), 0, INFINITY},
		{"core", MEMBER_INT, AT(core), -1, CORESET_MAX - 1},
		{"qos", MEMBER_REAL, AT(qos), 0, 1},
		{"wanted_s", MEMBER_REAL, AT(wanted_s), 0, INFINITY},
		{"served_s", MEMBER_REAL, AT(served_s), 0, INFINITY},
		{"nodes", MEMBER_INT, AT(nodes), 1, 1 << 20},
		{"polling", MEMBER_INT, AT(polling), 0, 1 << 20},
		{"yielding", MEMBER_INT, AT(yielding), 0, 1 << 20},
		{"bursty", MEMBER_BOOL, AT(bursty), 0, 0},
		{"coupled", MEMBER_BOOL, AT(coupled), 0, 0},
		{"executed", MEMBER_REAL, AT(executed), 0, 1},
		{"borrows", MEMBER_BOOL, AT(borrows), 0, 0},
		{"excluded", MEMBER_BOOL, AT(excluded), 0, 0},
		{.key = NULL},
	};
#undef AT

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
	if (strcmp(key, "current") == 0)
		return parse_current(w, j, has_current, o);
	return value_member(w, key, key, o, member, j);
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
	j->has_executed = json_object_object_get_ex(o, "executed", NULL);
	if (j->served_s > j->wanted_s)
		return value_fail(w, "served_s: more than wanted_s");
	w->job = NULL;
	return 0;
}
