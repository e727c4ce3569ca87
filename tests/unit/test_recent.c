/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recent of a node whose jobs come and go: what it gives back, and how much room that takes.
 * That it has the lines of a trace: test_trace.c.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"
#include "nodesvc/trace/trace.h"

#define JOBS      64
#define DECISIONS 300

static struct topo *topo;
static struct engine *engine;
static struct plan plan;
static struct trace_head head;
static struct recent *recent;

static struct view_job job[JOBS];
static char id[JOBS][JOB_ID_MAX], type[JOBS][JOB_TYPE_MAX];
static int n_jobs, n_ever;

static void setup(void)
{
	struct policy_cfg cfg = {.max_jobs = JOBS};

	ck_assert_int_eq(topo_load(&topo, "pack:4 core:8 pu:2", NULL), 0);
	cfg.topo = topo;
	ck_assert_int_eq(engine_create(&engine, "fair", &cfg, NULL), 0);
	ck_assert_int_eq(plan_init(&plan, JOBS, NULL), 0);
	head = (struct trace_head){
		.recorder = "test",
		.topo = topo,
		.max_jobs = JOBS,
		.ruling = {.policy = "fair"},
		.fallback = {.policy = "fair"},
	};
	ck_assert_int_eq(recent_create(&recent, 64 << 20, NULL), 0);
	recent_engine(recent, false, &head.ruling);
	recent_engine(recent, true, &head.fallback);
	n_jobs = n_ever = 0;
}

static void teardown(void)
{
	engine_free(engine);
	plan_done(&plan);
	topo_free(topo);
	recent_free(recent);
}

static void come(void)
{
	snprintf(id[n_jobs], JOB_ID_MAX, "%d.0", n_ever);
	snprintf(type[n_jobs], JOB_TYPE_MAX, "program%d", n_ever % 8);
	job[n_jobs] = (struct view_job){.order = n_ever,
		.threads = 1 + n_ever % 16,
		.home_numa = -1,
		.rss_bytes = -1,
		.core = -1,
		.nodes = 1};
	job[n_jobs].signal[SIGNAL_UTILIZATION] = (struct signal){0.5, PROVENANCE_OS};
	n_jobs++;
	n_ever++;
}

static void go(int i)
{
	for (n_jobs--; i < n_jobs; i++) {
		job[i] = job[i + 1];
		memcpy(id[i], id[i + 1], sizeof(id[i]));
		memcpy(type[i], type[i + 1], sizeof(type[i]));
	}
}

static void swap(int a, int b)
{
	struct view_job j = job[a];
	char text[JOB_ID_MAX + JOB_TYPE_MAX];

	memcpy(text, id[a], JOB_ID_MAX);
	memcpy(text + JOB_ID_MAX, type[a], JOB_TYPE_MAX);
	job[a] = job[b];
	memcpy(id[a], id[b], JOB_ID_MAX);
	memcpy(type[a], type[b], JOB_TYPE_MAX);
	job[b] = j;
	memcpy(id[b], text, JOB_ID_MAX);
	memcpy(type[b], text + JOB_ID_MAX, JOB_TYPE_MAX);
}

/* One decision about them; its line, to be freed. */
static char *decide(int k)
{
	struct event tick = {.type = EVENT_TICK};
	struct view v = {.now_s = 0.1 * k, .seed = 1, .job = job, .n_jobs = n_jobs, .event = &tick};
	json_object *line = json_object_new_object(), *answer = json_object_new_object();
	char *text;

	v.n_events = k % 2;
	for (int i = 0; i < n_jobs; i++) {
		job[i].id = id[i];
		job[i].type = type[i];
	}
	ck_assert_int_eq(engine_decide(engine, &v, &plan, NULL), 0);
	recent_begin(recent, &v);
	recent_answer(recent, false, &plan, NULL);
	recent_end(recent);
	json_object_object_add(line, "view", view_to_json(&v));
	json_object_object_add(line, "ruling", answer);
	json_object_object_add(answer, "plan", plan_to_exact_json(&plan, topo));
	text = strdup(json_object_to_json_string_ext(line, JSON_C_TO_STRING_PLAIN));
	json_object_put(line);
	for (int i = 0; i < n_jobs; i++)
		job[i].current = plan.job[i].coreset;
	return text;
}

/* What the recent has of each of @n decisions is @line, which is freed. */
static void compare(char **line, int n)
{
	struct errbuf err = {""};
	json_object *lines = NULL;
	uint64_t next;

	ck_assert_msg(
		recent_page(recent, &head, 1, (uint64_t)n, SIZE_MAX, &lines, &next, &err) == 0,
		"%s", err.text);
	ck_assert_uint_eq(json_object_array_length(lines), (size_t)n + 1); /* and the end */
	for (int k = 0; k < n; k++) {
		ck_assert_str_eq(line[k],
			json_object_to_json_string_ext(json_object_array_get_idx(lines, (size_t)k),
				JSON_C_TO_STRING_PLAIN));
		free(line[k]);
	}
	json_object_put(lines);
}

START_TEST(whatever_comes_and_goes_is_given_back)
{
	static char *line[DECISIONS];
	unsigned int seed = 7;

	for (int k = 0; k < DECISIONS; k++) {
		int n = rand_r(&seed) % 5;

		for (int i = 0; i < n && n_jobs < JOBS; i++)
			come();
		for (int i = rand_r(&seed) % 5; i > 0 && n_jobs > 0; i--)
			go((int)(rand_r(&seed) % (unsigned int)n_jobs));
		if (n_jobs > 1 && k % 7 == 0)
			swap(0, n_jobs - 1);
		if (k % 50 == 49)
			n_jobs = 0;
		line[k] = decide(k);
	}
	compare(line, DECISIONS);
}
END_TEST

/* A full node where at each decision the first step ends, and another begins. */
START_TEST(a_step_that_ends_moves_no_other)
{
	static char *line[DECISIONS];

	for (int k = 0; k < DECISIONS; k++) {
		if (n_jobs == JOBS)
			go(0);
		while (n_jobs < JOBS)
			come();
		line[k] = decide(k);
	}
	printf("%zu bytes of %d decisions about %d steps\n", recent_bytes(recent), DECISIONS, JOBS);
	ck_assert_uint_lt(recent_bytes(recent), (size_t)DECISIONS * 1000);
	compare(line, DECISIONS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("recent");
	SRunner *sr = srunner_create(s);
	TCase *t = tcase_create("steps come and go");
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, whatever_comes_and_goes_is_given_back);
	tcase_add_test(t, a_step_that_ends_moves_no_other);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
