/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/workload.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(const char *text, struct workload **ret, struct errbuf *err)
{
	char path[] = "/tmp/coloc-workload-XXXXXX", shown[400];
	int fd = mkstemp(path), rc;
	char *at;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
	rc = workload_read(ret, path, err);
	unlink(path);
	/* Messages start with the file's name, which is another one each time. */
	at = strstr(err->text, path);
	if (at == err->text) {
		snprintf(shown, sizeof(shown), "FILE%s", err->text + strlen(path));
		snprintf(err->text, sizeof(err->text), "%.250s", shown);
	}
	return rc;
}

START_TEST(whole_file_is_read_with_units)
{
	struct workload *w = NULL;
	struct errbuf err = {""};

	ck_assert_msg(
		read_text("schema: 1\n"
			  "machine: {topology: \"pack:4 core:2\", llc_mb: 8, latency_ns: 90,\n"
			  "  numa: sticky, penalties: {lock_holder: 1, wake: 0.5}}\n"
			  "policies: [linux, \"lira,tie=first\"]\n"
			  "seed: 7\n"
			  "objective: antt\n"
			  "programs:\n"
			  "  - {name: a, from: parsec/st}\n"
			  "  - name: b\n"
			  "    phases:\n"
			  "      - {seconds: 3, alpha: 0.1, gamma: 0.01}\n"
			  "      - {seconds: 2, io: yes}\n"
			  "      - {coupled: 0.7, waits: polling, bursty: yes}\n"
			  "    utilization: [[2, 0.9], [8, 0.5]]\n"
			  "jobs:\n"
			  "  - {program: b, count: 2, arrival_s: 1.5, threads: 4}\n"
			  "  - {program: a, runs: 1, llc_ways: \"0-2,19\"}\n",
			&w, &err) == 0,
		"%s", err.text);
	ck_assert_str_eq(w->topology, "pack:4 core:2");
	ck_assert_double_eq(w->machine.llc_bytes, 8e6);
	ck_assert_double_eq_tol(w->machine.latency_s, 90e-9, 1e-15);
	ck_assert_int_eq(w->machine.numa, NUMA_STICKY);
	ck_assert_double_eq(w->machine.penalties.lock_holder, 1);
	ck_assert_int_eq(w->n_policies, 2);
	ck_assert_str_eq(w->policy[1], "lira,tie=first");
	ck_assert_uint_eq(w->seed, 7);
	ck_assert_int_eq(w->objective, OBJECTIVE_ANTT);
	ck_assert_int_eq(w->n_programs, 2);
	ck_assert_str_eq(w->program[0].name, "a");
	ck_assert_double_eq(w->program[0].phase[0].gamma, 0.02297);
	ck_assert_double_eq_tol(w->program[1].phase[0].beta, 0.89, 1e-12);
	ck_assert(w->program[1].phase[1].io);
	ck_assert_double_eq(w->program[1].phase[2].coupled, 0.7);
	ck_assert_int_eq(w->program[1].phase[2].waits, WAITS_POLLING);
	ck_assert(w->program[1].phase[2].bursty);
	ck_assert_int_eq(w->program[1].phase[1].waits, WAITS_ASLEEP);
	ck_assert(!w->program[1].phase[1].bursty);
	ck_assert_int_eq(w->program[1].n_points, 2);
	ck_assert_int_eq(w->n_jobs, 3);
	ck_assert_ptr_eq(w->job[0].program, &w->program[1]);
	ck_assert_double_eq(w->job[1].arrival_s, 1.5);
	ck_assert_int_eq(w->job[2].runs, 1);
	ck_assert_uint_eq(w->job[2].levers.ways, 0x80007);
	free(w);
}
END_TEST

#define HEAD "policies: linux\nprograms:\n  - {name: a, from: lira/md}\n"

static const struct {
	const char *text, *message;
} refusals[] = {
	{"", "FILE:1: nothing in it"},
	{"a: [", "FILE:2: did not find expected node content"},
	{"jops: 1\n", "FILE:1: unknown key 'jops' in a workload"},
	{"schema: 2\n", "FILE:1: schema: '2': 1 expected"},
	{"seed: 1\nseed: 2\n", "FILE:2: key 'seed' twice in a workload"},
	{"seed: -1\n", "FILE:1: seed: '-1': a whole number of 0 to 9e+15 expected"},
	{"machine:\n  numa: near\n", "FILE:2: numa: 'near': follow or sticky expected"},
	{"machine:\n  llc_mb: big\n", "FILE:2: llc_mb: 'big': a number of 0.01 to 100000 expected"},
	{"machine: 3\n", "FILE:1: machine: '3': keys and values expected"},
	{"programs: {}\n", "FILE:1: programs: '(not a value)': a list expected"},
	{"programs:\n  - {name: x, from: lira/nobody}\n",
		"FILE:2: from: 'lira/nobody': a program of that population expected"},
	{"programs:\n  - name: x\n    phases:\n    - {waits: awake}\n",
		"FILE:4: waits: 'awake': asleep, yielding, polling or spinning expected"},
	{"programs:\n  - name: x\n    phases:\n    - {coupled: 1.5}\n",
		"FILE:4: coupled: '1.5': a number of 0 to 1 expected"},
	{"programs:\n  - name: x\n    phases: [{bursty: yes, gamma: 0.1}]\n",
		"FILE:2: phase 0: bursty: not with io or gamma"},
	{"programs:\n  - {name: x}\n", "FILE:2: 0 phases: 1 to 16 expected"},
	{"programs:\n  - name: x\n    phases: [{alpha: 0.9, gamma: 0.9}]\n",
		"FILE:2: phase 0: beta: -0.8 is not within 0..1"},
	{"programs:\n  - {from: lira/md, utilization: [1]}\n",
		"FILE:2: utilization: up to 8 pairs [cores, ratio] expected"},
	{HEAD, "FILE:1: no jobs"},
	{HEAD "jobs:\n  - {program: b}\n",
		"FILE:5: job: program 'b' is not among the programs above"},
	{HEAD "jobs:\n  - {program: a, count: 300}\n",
		"FILE:5: count: '300': a whole number of 1 to 256 expected"},
	{HEAD "jobs:\n  - {program: a, llc_ways: 0-20}\n",
		"FILE:5: llc_ways: '0-20': a list of the machine's 20 ways (\"0-19\") expected"},
	{HEAD "jobs:\n  - {program: a, llc_ways: none}\n",
		"FILE:5: llc_ways: 'none': a list of the machine's 20 ways (\"0-19\") expected"},
	{HEAD "jobs:\n  - program: a\n    llc_ways: [1]\n",
		"FILE:6: llc_ways: '(not a value)': a list of the machine's 20 ways (\"0-19\") "
		"expected"},
	{HEAD "jobs: [{program: a, count: 200}, {program: a, count: 200}]\n",
		"FILE:4: too many jobs (256)"},
};

START_TEST(mistakes_are_named_with_file_and_line)
{
	struct workload *w = NULL;
	struct errbuf err = {""};

	ck_assert_int_eq(read_text(refusals[_i].text, &w, &err), -EINVAL);
	ck_assert_str_eq(err.text, refusals[_i].message);
	ck_assert_ptr_null(w);
}
END_TEST

START_TEST(missing_file_is_told)
{
	struct workload *w = NULL;
	struct errbuf err = {""};

	ck_assert_int_eq(workload_read(&w, "/nonexistent/w.yaml", &err), -ENOENT);
	ck_assert_str_eq(err.text, "/nonexistent/w.yaml: No such file or directory");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sim_workload");
	TCase *tc = tcase_create("a workload is read with its units");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, whole_file_is_read_with_units);
	suite_add_tcase(s, tc);
	tc = tcase_create("mistakes are refused with file and line");
	tcase_add_loop_test(tc, mistakes_are_named_with_file_and_line, 0,
		(int)(sizeof(refusals) / sizeof(refusals[0])));
	tcase_add_test(tc, missing_file_is_told);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
