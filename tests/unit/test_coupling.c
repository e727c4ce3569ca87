/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tells a step whose threads wait for one another from others, on files that stand for /proc.
 * tests/live/coupled.sh has real threads.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/counters/coupling.h"
#include "tests/unit/fstree.h"

#define OFTEN_S  0.0003
#define SELDOM_S 0.004

static struct fstree tree;
static struct coupling c;

/* A look takes no time. */
int64_t __wrap_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void)
{
	return 1;
}

static const pid_t tids[] = {10, 11, 12, 13};

static void setup(void)
{
	fstree_make(&tree);
	memset(&c, 0, sizeof(c));
}

static void teardown(void)
{
	fstree_remove(&tree);
}

static void maps(const char *library)
{
	char text[256];

	snprintf(text, sizeof(text),
		"55d0-55d1 r-xp 0 08:01 9 /bin/app\n7f00-7f01 r-xp 0 08:01 7 %s\n", library);
	fstree_put(&tree, "proc/10/maps", text);
	fstree_put(&tree, "proc/11/maps", text);
}

/* Samples until it changes, at most @max; -1 it does not. */
static int samples(int threads, int cores, double stretch_s, double runnable, bool turning, int max)
{
	for (int i = 1; i <= max; i++)
		if (coupling_sample(
			    &c, &tree.root, tids, threads, cores, stretch_s, runnable, turning))
			return i;
	return -1;
}

START_TEST(openmp_threads_that_run_for_moments_are_coupled)
{
	maps("/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0");
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 1.2, false, 10), 2);
	ck_assert(c.on);
}
END_TEST

START_TEST(each_runtime_counts)
{
	static const char *const library[] = {
		"/usr/lib/libomp.so.5", "/opt/intel/libiomp5.so", "/usr/lib/libmpi.so.40.30.4"};

	maps(library[_i]);
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 1.2, false, 10), 2);
}
END_TEST

START_TEST(who_computes_for_long_is_not)
{
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_eq(samples(2, 1, SELDOM_S, 2, false, 50), -1);
}
END_TEST

START_TEST(who_answers_requests_is_not)
{
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 0.6, false, 50), -1);
	ck_assert_int_eq(samples(2, 2, OFTEN_S, 0.8, false, 50), -1);
}
END_TEST

START_TEST(several_cores_are_idle_in_part_at_each_end)
{
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_eq(samples(4, 4, OFTEN_S, 1.9, false, 50), -1);
	ck_assert_int_eq(samples(4, 4, OFTEN_S, 2.1, false, 50), 2);
}
END_TEST

START_TEST(threads_of_no_known_runtime_are_not)
{
	maps("/usr/lib/libc.so.6");
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 1.2, false, 50), -1);
}
END_TEST

START_TEST(a_library_loaded_late_is_seen)
{
	maps("/usr/lib/libc.so.6");
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 1.2, false, 5), -1);
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_ge(samples(2, 1, OFTEN_S, 1.2, false, 20), 2);
}
END_TEST

START_TEST(one_thread_waits_for_nobody)
{
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_eq(samples(1, 1, OFTEN_S, 1, false, 50), -1);
}
END_TEST

START_TEST(what_is_unknown_changes_nothing)
{
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 1.2, false, 10), 2);
	ck_assert_int_eq(samples(2, 1, NAN, 1.2, false, 10), -1);
	ck_assert_int_eq(samples(2, 1, SELDOM_S, NAN, false, 10), -1);
}
END_TEST

START_TEST(it_ends_after_samples_in_a_row)
{
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 1.2, false, 10), 2);
	ck_assert_int_eq(samples(2, 1, SELDOM_S, 1.2, false, 2), -1);
	ck_assert_int_eq(samples(2, 1, OFTEN_S, 1.2, false, 2), -1);
	/* Between the two nothing is told. */
	ck_assert_int_eq(samples(2, 1, 0.0015, 1.2, false, 50), -1);
	ck_assert_int_eq(samples(2, 1, SELDOM_S, 1.2, false, 10), 3);
	ck_assert(!c.on);
}
END_TEST

/* With a core to itself in its turn a thread that spins for a moment never gives it up. */
START_TEST(what_it_does_in_its_turns_tells_nothing_against)
{
	maps("/usr/lib/libgomp.so.1");
	ck_assert_int_eq(samples(2, 2, OFTEN_S, 1.2, false, 10), 2);
	ck_assert_int_eq(samples(2, 2, SELDOM_S, 2, true, 50), -1);
	ck_assert_int_eq(samples(2, 2, SELDOM_S, 2, false, 50), 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("coupling");
	SRunner *sr;
	TCase *tc;
	int failed;

	tc = tcase_create("who is coupled");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, openmp_threads_that_run_for_moments_are_coupled);
	tcase_add_loop_test(tc, each_runtime_counts, 0, 3);
	tcase_add_test(tc, several_cores_are_idle_in_part_at_each_end);
	tcase_add_test(tc, a_library_loaded_late_is_seen);
	suite_add_tcase(s, tc);
	tc = tcase_create("who is not");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, who_computes_for_long_is_not);
	tcase_add_test(tc, who_answers_requests_is_not);
	tcase_add_test(tc, threads_of_no_known_runtime_are_not);
	tcase_add_test(tc, one_thread_waits_for_nobody);
	suite_add_tcase(s, tc);
	tc = tcase_create("how long it holds");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_is_unknown_changes_nothing);
	tcase_add_test(tc, it_ends_after_samples_in_a_row);
	tcase_add_test(tc, what_it_does_in_its_turns_tells_nothing_against);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
