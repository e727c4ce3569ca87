/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contrib/bench/realmix/disturb.h"
#include "contrib/bench/realmix/stats.h"
#include "tests/unit/fstree.h"

static double solo_a[] = {1.0, 9.0, 1.2}, solo_b[] = {2.0, 2.0, 2.0};
static double corun_a[] = {2.4, 2.4}, corun_b[] = {3.0, 4.0, 5.0};
static struct times solo[] = {{solo_a, 3}, {solo_b, 3}}, corun[] = {{corun_a, 2}, {corun_b, 3}};

START_TEST(score_is_that_of_the_definition)
{
	struct score s;

	ck_assert_int_eq(stats_score(&s, solo, corun, 2, 0, 1), 0);
	ck_assert_double_eq_tol(s.stp, 1.2 / 2.4 + 2.0 / 4.0, 1e-12);
	ck_assert_double_eq_tol(s.antt, (2.4 / 1.2 + 4.0 / 2.0) / 2, 1e-12);
	ck_assert_double_eq_tol(s.worst_ntt, 2.0, 1e-12);
	ck_assert_double_eq(s.stp_lo, s.stp);
}
END_TEST

START_TEST(alone_scores_one_each)
{
	struct times same[] = {{solo_b, 3}, {solo_b, 3}};
	struct score s;

	ck_assert_int_eq(stats_score(&s, same, same, 2, 100, 1), 0);
	ck_assert_double_eq_tol(s.stp, 2.0, 1e-12);
	ck_assert_double_eq_tol(s.antt, 1.0, 1e-12);
	ck_assert_double_eq_tol(s.stp_lo, 2.0, 1e-12);
	ck_assert_double_eq_tol(s.stp_hi, 2.0, 1e-12);
}
END_TEST

START_TEST(interval_holds_the_score_and_repeats)
{
	struct score s, again;

	ck_assert_int_eq(stats_score(&s, solo, corun, 2, 2000, 7), 0);
	ck_assert_double_lt(s.stp_lo, s.stp);
	ck_assert_double_gt(s.stp_hi, s.stp);
	ck_assert_int_eq(stats_score(&again, solo, corun, 2, 2000, 7), 0);
	ck_assert_mem_eq(&s, &again, sizeof(s));
}
END_TEST

START_TEST(no_runs_no_score)
{
	struct times none[] = {{corun_a, 2}, {corun_b, 0}};
	struct score s = {.stp = 77.0};

	ck_assert_int_eq(stats_score(&s, solo, none, 2, 10, 1), -EINVAL);
	ck_assert_double_eq(s.stp, 77.0);
	ck_assert_double_nan(stats_median(solo_a, 0));
	ck_assert_double_nan(stats_mean(solo_a, 0));
	ck_assert_double_eq_tol(stats_median(solo_a, 2), 5.0, 1e-12);
}
END_TEST

static void burn_cpu_s(double s)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < s);
}

/* The watcher is a child of ours: what this process does is foreign to it. */
START_TEST(foreign_cpu_time_is_seen_and_our_own_is_not)
{
	int from[2], to[2];
	double ratio = -1.0;
	pid_t watcher;
	char b = 0;

	ck_assert_int_eq(pipe(from), 0);
	ck_assert_int_eq(pipe(to), 0);
	watcher = fork();
	if (!watcher) {
		struct disturb *d = disturb_start("/proc", "no-such-node-name");

		if (!d || write(from[1], "", 1) != 1 || read(to[0], &b, 1) != 1)
			_exit(1);
		ratio = disturb_ratio(d);
		disturb_free(d);
		_exit(write(from[1], &ratio, sizeof(ratio)) != sizeof(ratio));
	}
	ck_assert_int_eq((int)read(from[0], &b, 1), 1);
	burn_cpu_s(0.2);
	ck_assert_int_eq((int)write(to[1], "", 1), 1);
	ck_assert_int_eq((int)read(from[0], &ratio, sizeof(ratio)), (int)sizeof(ratio));
	ck_assert_int_eq(waitpid(watcher, NULL, 0), watcher);
	ck_assert_double_gt(ratio, 0.0);
	ck_assert_double_le(ratio, 1.5);
}
END_TEST

static void put_process(struct fstree *t, int pid, const char *comm, char state, int ticks)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		"%d (%s) %c 1 %d %d 0 -1 4194560 0 0 0 0 %d 0 0 0 20 0 1 0 100 0 0\n", pid, comm,
		state, pid, pid, ticks);
	fstree_put(t, path, text);
}

static void put_total(struct fstree *t, int busy, int idle)
{
	char text[128];

	snprintf(text, sizeof(text), "cpu %d 0 0 %d 0 0 0 0 0 0\n", busy, idle);
	fstree_put(t, "proc/stat", text);
}

/* A slurmstepd that has ended leaves its cgroup, with its tasks' time, before PID 1 waits for it.
 */
START_TEST(zombie_slurmstepd_is_ours_and_another_zombie_is_not)
{
	static const char *const name[] = {"slurmstepd", "make"};
	const double wanted[] = {0, 0.5};
	char proc[96];
	struct fstree t;
	struct disturb *d;

	fstree_make(&t);
	snprintf(proc, sizeof(proc), "%s/proc", t.dir);
	put_total(&t, 0, 0);
	put_process(&t, 900000001, name[_i], 'S', 10);
	fstree_put(&t, "proc/900000001/cgroup", "4:cpuset:/slurm_n1/uid_0/job_1/step_0\n");
	d = disturb_start(proc, "n1");
	ck_assert_ptr_nonnull(d);
	put_total(&t, 100, 100);
	put_process(&t, 900000001, name[_i], 'Z', 110);
	fstree_put(&t, "proc/900000001/cgroup", "4:cpuset:/\n");
	ck_assert_double_eq_tol(disturb_ratio(d), wanted[_i], 1e-9);
	disturb_free(d);
	fstree_remove(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("realmix");
	TCase *score = tcase_create("scores follow their definition"),
	      *interval = tcase_create("the interval shows how far runs differ"),
	      *disturb = tcase_create("what others use is noticed");
	SRunner *r;
	int failed;

	tcase_add_test(score, score_is_that_of_the_definition);
	tcase_add_test(score, alone_scores_one_each);
	tcase_add_test(score, no_runs_no_score);
	suite_add_tcase(s, score);
	tcase_add_test(interval, interval_holds_the_score_and_repeats);
	suite_add_tcase(s, interval);
	tcase_add_test(disturb, foreign_cpu_time_is_seen_and_our_own_is_not);
	tcase_add_loop_test(disturb, zombie_slurmstepd_is_ours_and_another_zombie_is_not, 0, 2);
	suite_add_tcase(s, disturb);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
