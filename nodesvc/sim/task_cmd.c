/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_cmd.c - `colocsim run` for workloads of kind tasks.
 */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/sim/rows.h"
#include "nodesvc/sim/sim.h"
#include "nodesvc/sim/task_workload.h"

/* Places that less than this part of critical tasks use are not worth a line. */
#define SHOWN_MIN 0.001

static void free_workload_p(struct task_workload **w)
{
	task_workload_free(*w);
}

static int failed(const char *text)
{
	fprintf(stderr, "colocsim run: %s\n", text);
	return SIM_FAILED;
}

static void add_interval(json_object *o, const char *name, struct interval i, double plus)
{
	char key[64];

	json_object_object_add(o, name, json_object_new_double(i.mean + plus));
	snprintf(key, sizeof(key), "%s_lo", name);
	json_object_object_add(o, key, json_object_new_double(i.low + plus));
	snprintf(key, sizeof(key), "%s_hi", name);
	json_object_object_add(o, key, json_object_new_double(i.high + plus));
}

static json_object *summary_json(
	const struct task_machine *m, const char *policy, const struct task_summary *s)
{
	json_object *o = json_object_new_object(), *places = json_object_new_array();
	json_object *cores = json_object_new_array(), *busy = json_object_new_array();

	json_object_object_add(o, "policy", json_object_new_string(policy));
	add_interval(o, "seconds", s->seconds, 0);
	add_interval(o, "tasks_per_s", s->tasks_per_s, 0);
	add_interval(o, "ratio", s->gain, 1);
	json_object_object_add(o, "steals", json_object_new_double(s->steals));
	for (int i = 0; i < s->n_places; i++) {
		json_object *p = json_object_new_object();

		json_object_object_add(p, "core", json_object_new_int(s->at[i].place.core));
		json_object_object_add(p, "width", json_object_new_int(s->at[i].place.width));
		json_object_object_add(p, "tasks", json_object_new_double(s->at[i].all));
		json_object_object_add(p, "critical", json_object_new_double(s->at[i].high));
		json_object_array_add(places, p);
	}
	json_object_object_add(o, "places", places);
	for (int c = 0; c < m->n_cores; c++) {
		json_object_array_add(cores, json_object_new_double(s->high_on_core[c]));
		json_object_array_add(busy, json_object_new_double(s->busy_s[c]));
	}
	json_object_object_add(o, "critical_on_core", cores);
	json_object_object_add(o, "busy_s", busy);
	return o;
}

static void print_summary(const char *policy, const char *base, const struct task_summary *s)
{
	printf("simulated: %s: %.4g s, %.5g tasks/s, %.3f x %s [%.3f, %.3f]; critical tasks at",
		policy, s->seconds.mean, s->tasks_per_s.mean, 1 + s->gain.mean, base,
		1 + s->gain.low, 1 + s->gain.high);
	for (int i = 0; i < s->n_places; i++)
		if (s->at[i].high >= SHOWN_MIN)
			printf(" (%d,%d) %.1f %%", s->at[i].place.core, s->at[i].place.width,
				100 * s->at[i].high);
	printf("\n");
}

/* Without the places, which are as many as they are. */
static const char *const run_names[] = {
	"provenance", "kind", "workload", "tasks", "runs", "seed", "ratio_to", NULL};
static const char *const figure_names[] = {"policy", "seconds", "seconds_lo", "seconds_hi",
	"tasks_per_s", "tasks_per_s_lo", "tasks_per_s_hi", "ratio", "ratio_lo", "ratio_hi",
	"steals", NULL};
static const char *const *const csv_names[ROWS_PARTS] = {run_names, figure_names, NULL};

static int run_all(struct task_eval *e, const char *path, bool json, bool csv, struct errbuf *err)
{
	cleanup_free struct task_result *r =
		calloc((size_t)e->n_policies * (size_t)e->n_seeds, sizeof(*r));
	cleanup_free struct task_summary *s = calloc(1, sizeof(*s));
	json_object *out, *list;
	int rc = 0;

	if (!r || !s)
		return err_set(err, -1, "out of memory");
	rc = task_eval_run(e, r, err);
	if (rc)
		return rc;
	out = json_object_new_object();
	list = json_object_new_array();
	json_object_object_add(out, "schema", json_object_new_int(1));
	json_object_object_add(out, "provenance", json_object_new_string("simulated"));
	json_object_object_add(out, "kind", json_object_new_string("tasks"));
	json_object_object_add(out, "workload", json_object_new_string(path));
	json_object_object_add(out, "tasks", json_object_new_int(e->g->n_tasks));
	json_object_object_add(out, "runs", json_object_new_int(e->n_seeds));
	json_object_object_add(out, "seed", json_object_new_int64((int64_t)e->seed));
	json_object_object_add(out, "ratio_to", json_object_new_string(e->policy[0]));
	if (csv)
		rows_csv_head(stdout, csv_names);
	for (int p = 0; p < e->n_policies && !rc; p++) {
		json_object *result;

		rc = task_eval_sum(e, r, p, 0, s, err);
		if (rc)
			break;
		result = summary_json(e->m, e->policy[p], s);
		if (csv)
			rows_csv(stdout, csv_names, (json_object *[ROWS_PARTS]){out, result, NULL});
		else if (!json)
			print_summary(e->policy[p], e->policy[0], s);
		json_object_array_add(list, result);
	}
	json_object_object_add(out, "results", list);
	if (!rc && json)
		puts(json_object_to_json_string_ext(
			out, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(out);
	return rc;
}

int sim_run_tasks(const char *path, const char *policy, bool json, bool csv)
{
	__attribute__((cleanup(free_workload_p))) struct task_workload *w = NULL;
	struct task_eval e = {0};
	struct errbuf err = {""};

	if (task_workload_read(&w, path, &err))
		return failed(err.text);
	if (policy && strlen(policy) >= TASK_POLICY_TEXT_MAX)
		return failed("policy: too long");
	e.m = &w->machine;
	e.g = &w->graph;
	e.seed = w->seed;
	e.n_seeds = w->runs;
	e.most_s = w->seconds;
	e.when = w->when;
	e.n_policies = policy ? 1 : w->n_policies;
	for (int p = 0; p < e.n_policies; p++) {
		struct task_placer check;

		e.policy[p] = policy ? policy : w->policy[p];
		if (task_placer_init(&check, e.policy[p], e.m->topo, &e.m->fast, 1, &err))
			return failed(err.text);
		task_placer_done(&check);
	}
	if (run_all(&e, path, json, csv, &err))
		return failed(err.text);
	return fflush(stdout) ? SIM_FAILED : SIM_OK;
}
