/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_workload.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
}

static int read_text(const char *text, struct task_workload **ret, struct errbuf *err)
{
	char path[] = "/tmp/coloc-tasks-XXXXXX", shown[400];
	int rc;

	write_file(path, text);
	rc = task_workload_read(ret, path, err);
	unlink(path);
	/* Messages start with the file's name, which is another one each time. */
	if (strstr(err->text, path) == err->text) {
		snprintf(shown, sizeof(shown), "FILE%s", err->text + strlen(path));
		snprintf(err->text, sizeof(err->text), "%.250s", shown);
	}
	return rc;
}

START_TEST(whole_file_is_read_with_units)
{
	struct task_workload *w = NULL;
	struct errbuf err = {""};

	ck_assert_msg(
		read_text("schema: 1\n"
			  "kind: tasks\n"
			  "machine:\n"
			  "  nodes: 3\n"
			  "  kinds:\n"
			  "    - {name: big, clock_mhz: 2000, speed: 3, memory: 2, fast: yes}\n"
			  "    - {name: little}\n"
			  "  partitions:\n"
			  "    - {cores: 2, kind: big, cache_mb: 4}\n"
			  "    - {cores: 4, kind: little}\n"
			  "  bandwidth_gb_s: 10\n"
			  "  steal_us: 5\n"
			  "  decide_us: 2\n"
			  "  disturb:\n"
			  "    - {cores: \"0,2-3\", share: 0.25, bandwidth_gb_s: 1, from_s: 1,\n"
			  "       until_s: 9, period_s: 2, on_s: 0.5}\n"
			  "    - {cores: \"17\", from_task: 3, until_task: 5}\n"
			  "  clocks:\n"
			  "    - {cores: \"0-1\", steps: [[2000, 5], [345, 4]]}\n"
			  "types:\n"
			  "  - {from: copy, name: c2, seconds: 0.5}\n"
			  "  - {name: x, seconds: 1, speed: [2, 1], width_loss: 0.5, clock_us: 3,\n"
			  "     split: static, blocks: 4, traffic_mb: 2, memory: 0.5}\n"
			  "graph: {shape: layers, type: x, tasks: 11, parallelism: 5}\n"
			  "policies: [das-rws, \"das-dam-c,weight=2\"]\n"
			  "places: dequeue\n"
			  "seed: 9\n"
			  "runs: 3\n"
			  "seconds: 100\n",
			&w, &err) == 0,
		"%s", err.text);
	ck_assert_int_eq(w->machine.n_cores, 3 * 6);
	ck_assert_int_eq(w->machine.node_cores, 6);
	ck_assert_int_eq(w->machine.disturb[1].from_task, 3);
	ck_assert_int_eq(w->machine.disturb[1].until_task, 5);
	ck_assert_int_eq(w->when, TASK_AT_DEQUEUE);
	ck_assert_int_eq(w->machine.core_partition[2], 1);
	ck_assert_double_eq(w->machine.kind[0].hz, 2e9);
	ck_assert_double_eq(w->machine.partition[0].cache_bytes, 4e6);
	ck_assert(isinf(w->machine.partition[1].cache_bytes));
	ck_assert_int_eq(coreset_count(&w->machine.fast), 2);
	ck_assert_double_eq(w->machine.bytes_per_s, 10e9);
	ck_assert_double_eq_tol(w->machine.steal_s, 5e-6, 1e-12);
	ck_assert_int_eq(coreset_count(&w->machine.disturb[0].cores), 3);
	ck_assert_double_eq(w->machine.disturb[0].bytes_per_s, 1e9);
	ck_assert_double_eq(w->machine.clock[0].hz[1], 345e6);
	ck_assert_double_eq(w->machine.clock[0].seconds[1], 4);
	ck_assert_int_eq(w->graph.n_types, 2);
	ck_assert_double_eq(w->graph.type[0].bytes, 16e6);
	ck_assert_double_eq(w->graph.type[0].seconds, 0.5);
	ck_assert_str_eq(w->graph.type[0].name, "c2");
	ck_assert_double_eq(w->graph.type[1].speed[0], 2);
	ck_assert_int_eq(w->graph.type[1].split, TASK_SPLIT_STATIC);
	ck_assert_int_eq(w->graph.n_tasks, 11);
	ck_assert_int_eq(w->graph.task[10].type, 1);
	ck_assert_int_eq(w->n_policies, 2);
	ck_assert_str_eq(w->policy[1], "das-dam-c,weight=2");
	ck_assert_uint_eq(w->seed, 9);
	ck_assert_int_eq(w->runs, 3);
	task_workload_free(w);
}
END_TEST

#define TYPES "policies: das-rws\ntypes: [{from: matmul}]\n"

static const struct {
	const char *text, *message;
} refusals[] = {
	{"", "FILE:1: nothing in it"},
	{"kind: jobs\n", "FILE:1: kind: 'jobs': tasks expected"},
	{"schema: 2\n", "FILE:1: schema: '2': 1 expected"},
	{"jobs: []\n", "FILE:1: unknown key 'jobs' in a workload"},
	{"machine: tx3\n", "FILE:1: from: 'tx3': tx2 or haswell expected"},
	{"machine:\n  kinds: [{speed: 1}]\n", "FILE:2: a kind needs a name"},
	{"machine:\n  kinds: [{name: a, speed: 0}]\n",
		"FILE:2: speed: '0': a number of 0.001 to 1000 expected"},
	{"machine:\n  kinds: [{name: a}, {name: a}]\n", "FILE:2: two kinds of one name"},
	{"machine:\n  partitions: [{cores: 2, kind: b}]\n",
		"FILE:2: a partition needs a kind, one of those above"},
	{"machine:\n  partitions: [{kind: a57}]\n", "FILE:2: a partition needs cores"},
	{"machine:\n  disturb: [{cores: x}]\n", "FILE:2: cores: 'x': a list like 0,2-3 expected"},
	{"machine:\n  disturb: [{cores: \"0\", share: 0}]\n",
		"FILE:2: share: '0': a number of 0.001 to 1 expected"},
	{"machine:\n  clocks: [{cores: \"0\", steps: [1]}]\n",
		"FILE:2: steps: up to 16 pairs [MHz, seconds] expected"},
	{"machine:\n  clocks: [{cores: \"0\"}]\n", "FILE:2: a clock needs steps"},
	{TYPES "machine:\n  disturb: [{cores: \"9\"}]\ngraph: {shape: layers}\n",
		"FILE:4: disturbance: cores 0 to 5 expected"},
	{TYPES "machine:\n  disturb: [{cores: \"0\", from_s: 2, until_s: 1}]\n",
		"FILE:4: disturbance 0: from 2 to 1 s: no time between"},
	{TYPES "machine:\n  disturb: [{cores: \"0\", period_s: 1}]\n",
		"FILE:4: disturbance 0: 0 of 1 s: a period of 0.001 s or more, on for a part of it "
		"expected"},
	{"types: [{name: a}]\n", "FILE:1: a type needs a name and seconds, or from"},
	{"types: [{from: x}]\n", "FILE:1: from: 'x': matmul, copy, stencil, heat, exchange, kmeans "
				 "or reduce expected"},
	{"types: [{from: copy, seconds: nan}]\n",
		"FILE:1: seconds: 'nan': a number of 1e-09 to 1e+06 expected"},
	{"types: [{from: copy}, {from: copy}]\n", "FILE:1: two types of one name"},
	{"types: [{from: copy, split: some}]\n",
		"FILE:1: split: 'some': dynamic or static expected"},
	{"policies: das-rws\n", "FILE:1: no types"},
	{"types: [{from: copy}]\n", "FILE:1: no policies"},
	{"policies: das-rws\ntypes:\n  - {from: matmul, traffic_mb: 1}\n",
		"FILE:3: type 'matmul': moves bytes, but memory is 0"},
	{TYPES, "FILE:1: graph: a shape expected"},
	{TYPES "graph: {shape: ring}\n",
		"FILE:3: shape: 'ring': layers, heat, kmeans or random expected"},
	{TYPES "graph: {shape: layers, type: copy}\n",
		"FILE:3: type: 'copy' is not among the types"},
	{TYPES "graph: {shape: heat}\n", "FILE:3: exchange: '' is not among the types"},
	{TYPES "graph: {shape: layers, tasks: 0}\n",
		"FILE:3: tasks: '0': a whole number of 1 to 1e+06 expected"},
	{TYPES "graph:\n  {shape: heat, exchange: matmul, blocks: 9999, iterations: 99999}\n",
		"FILE:4: a graph of 1000089999 tasks: 1 to 1000000 expected"},
	{TYPES "graph: {shape: kmeans, type: matmul}\n",
		"FILE:3: reduce: '' is not among the types"},
	{TYPES "machine:\n  disturb: [{cores: \"0\", from_task: 4, until_task: 4}]\n",
		"FILE:4: disturbance 0: from task 4 to 4: no task between"},
	{TYPES "machine:\n  nodes: 9\n", "FILE:4: nodes: '9': a whole number of 1 to 8 expected"},
	{TYPES "places: later\n", "FILE:3: places: 'later': wakeup or dequeue expected"},
	{TYPES "runs: 0\n", "FILE:3: runs: '0': a whole number of 1 to 10000 expected"},
};

START_TEST(mistakes_are_named_with_file_and_line)
{
	struct task_workload *w = NULL;
	struct errbuf err = {""};

	ck_assert_int_eq(read_text(refusals[_i].text, &w, &err), -EINVAL);
	ck_assert_str_eq(err.text, refusals[_i].message);
	ck_assert_ptr_null(w);
}
END_TEST

static const struct {
	const char *text;
	bool is;
} kinds[] = {
	{"kind: tasks\n", true},
	{"# what it is\n---\nschema: 1\n\nkind: tasks\n", true},
	{"kind: jobs\n", false},
	{"policies: fair\nkind: tasks\n", false},
	{"", false},
};

START_TEST(a_file_of_tasks_is_told_by_its_kind)
{
	char path[] = "/tmp/coloc-tasks-XXXXXX";

	write_file(path, kinds[_i].text);
	ck_assert_int_eq(task_workload_is(path), kinds[_i].is);
	unlink(path);
	ck_assert(!task_workload_is("/nonexistent/w.yaml"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("task_workload");
	TCase *read = tcase_create("a file is read with units and presets");
	TCase *bad = tcase_create("mistakes are refused with file and line");
	TCase *kind = tcase_create("the kind of a file is known before it is read");
	SRunner *sr;
	int failed;

	tcase_add_test(read, whole_file_is_read_with_units);
	tcase_add_loop_test(bad, mistakes_are_named_with_file_and_line, 0,
		sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_loop_test(
		kind, a_file_of_tasks_is_told_by_its_kind, 0, sizeof(kinds) / sizeof(kinds[0]));
	suite_add_tcase(s, read);
	suite_add_tcase(s, bad);
	suite_add_tcase(s, kind);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
