/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct acct_alloc {
	struct json_object *jobs; /* by job and node; keeps the order of insertion */
};

/* Counts that add up over steps. */
static const char *const SUM[] = {"rebinds", "moves", "phases", "windows", "tasks"};

static struct json_object *get(struct json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

static bool is_sum(const char *key)
{
	for (size_t i = 0; i < sizeof(SUM) / sizeof(SUM[0]); i++) {
		if (strcmp(key, SUM[i]) == 0)
			return true;
	}
	return false;
}

/* A count that one step does not know, the job does not know. */
static void add_sum(struct json_object *job, struct json_object *step, const char *key)
{
	struct json_object *a = get(job, key), *b = get(step, key);

	json_object_object_add(job, key,
		a && b ? json_object_new_int64(json_object_get_int64(a) + json_object_get_int64(b))
		       : NULL);
}

static void add_partners(struct json_object *job, struct json_object *step)
{
	struct json_object *a = get(job, "partners"), *b = get(step, "partners");

	if (!a && b)
		json_object_object_add(job, "partners", json_object_get(b));
	for (size_t i = 0; a && b && i < json_object_array_length(b); i++) {
		struct json_object *id = json_object_array_get_idx(b, i);
		size_t j = 0, n = json_object_array_length(a);

		while (j < n && !json_object_equal(json_object_array_get_idx(a, j), id))
			j++;
		if (j == n)
			json_object_array_add(a, json_object_get(id));
	}
}

/* RUNNING before FAILED before UNKNOWN before COMPLETED. */
static int weight(const char *state)
{
	static const char *const ORDER[] = {"COMPLETED", "UNKNOWN", "FAILED", "RUNNING"};

	for (int i = 0; i < 4; i++) {
		if (state && strcmp(state, ORDER[i]) == 0)
			return i;
	}
	return 1;
}

static void add_state(struct json_object *job, struct json_object *step)
{
	const char *a = json_object_get_string(get(job, "state"));
	const char *b = json_object_get_string(get(step, "state"));

	if (weight(b) > weight(a))
		json_object_object_add(job, "state", json_object_get(get(step, "state")));
}

static int exit_rank(struct json_object *row)
{
	struct json_object *status = get(row, "exit_status"), *sig = get(row, "exit_signal");

	return status ? json_object_get_int(status) * 256 + json_object_get_int(sig) : -1;
}

static void add_times(struct json_object *job, struct json_object *step)
{
	double start = json_object_get_double(get(job, "start_unix_s"));
	double from = json_object_get_double(get(step, "start_unix_s"));
	double until = start + json_object_get_double(get(job, "elapsed_s"));
	double to = from + json_object_get_double(get(step, "elapsed_s"));
	struct json_object *end = get(job, "end_unix_s"), *other = get(step, "end_unix_s");

	if (!end || !other)
		json_object_object_add(job, "end_unix_s", NULL);
	else if (json_object_get_double(other) > json_object_get_double(end))
		json_object_object_add(job, "end_unix_s", json_object_get(other));
	if (from < start) {
		json_object_object_add(
			job, "start_unix_s", json_object_get(get(step, "start_unix_s")));
		start = from;
	}
	json_object_object_add(
		job, "elapsed_s", json_object_new_double((to > until ? to : until) - start));
}

static void add_step(struct json_object *job, struct json_object *step)
{
	add_times(job, step);
	add_state(job, step);
	add_partners(job, step);
	if (exit_rank(step) > exit_rank(job)) {
		json_object_object_add(
			job, "exit_status", json_object_get(get(step, "exit_status")));
		json_object_object_add(
			job, "exit_signal", json_object_get(get(step, "exit_signal")));
	}
	json_object_object_foreach(step, key, value)
	{
		static const char *const DONE[] = {"id", "step_id", "start_unix_s", "end_unix_s",
			"elapsed_s", "state", "partners", "exit_status", "exit_signal"};
		bool done = false;

		for (size_t i = 0; !done && i < sizeof(DONE) / sizeof(DONE[0]); i++)
			done = strcmp(key, DONE[i]) == 0;
		if (done)
			continue;
		if (is_sum(key))
			add_sum(job, step, key);
		else if (!json_object_equal(get(job, key), value))
			json_object_object_add(job, key, NULL);
	}
}

/* "12.0" -> "12": the line is the job's. */
static void name_job(struct json_object *row)
{
	const char *id = json_object_get_string(get(row, "id"));
	int len = id ? (int)strcspn(id, ".") : 0;

	if (id)
		json_object_object_add(row, "id", json_object_new_string_len(id, len));
	json_object_object_add(row, "step_id", NULL);
}

int acct_alloc_create(struct acct_alloc **ret, struct errbuf *err)
{
	struct acct_alloc *a = calloc(1, sizeof(*a));

	if (a)
		a->jobs = json_object_new_object();
	if (!a || !a->jobs) {
		free(a);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = a;
	return 0;
}

int acct_alloc_row(const char *json_row, void *arg)
{
	struct acct_alloc *a = arg;
	struct json_object *row = json_tokener_parse(json_row), *job = NULL;
	const char *node;
	char key[320];

	if (!row)
		return -EPROTO;
	node = json_object_get_string(get(row, "node"));
	snprintf(key, sizeof(key), "%s %s", json_object_get_string(get(row, "job_id")),
		node ? node : "");
	if (json_object_object_get_ex(a->jobs, key, &job)) {
		add_step(job, row);
		json_object_put(row);
	} else {
		name_job(row);
		json_object_object_add(a->jobs, key, row);
	}
	return 0;
}

int acct_alloc_emit(struct acct_alloc *a, int (*emit)(const char *json_row, void *arg), void *arg)
{
	json_object_object_foreach(a->jobs, key, job)
	{
		int rc = emit(json_object_to_json_string_ext(
				      job, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			arg);

		(void)key;
		if (rc)
			return rc;
	}
	return 0;
}

void acct_alloc_free(struct acct_alloc *a)
{
	if (!a)
		return;
	json_object_put(a->jobs);
	free(a);
}
