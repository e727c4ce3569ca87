/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tells a step of polling MPI ranks from others, on files that stand for /proc.
 * tests/live/polling.sh has real ranks.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/counters/polling.h"
#include "tests/unit/fstree.h"

static struct fstree tree;
static struct polling p;

/* A look takes no time. */
int64_t __wrap_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void)
{
	return 1;
}

static void setup(void)
{
	fstree_make(&tree);
	memset(&p, 0, sizeof(p));
}

static void teardown(void)
{
	fstree_remove(&tree);
}

static void put(int tid, int tgid, const char *library, const char *setting)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/status", tid);
	snprintf(text, sizeof(text), "Name:\tapp\nUmask:\t0022\nState:\tR\nTgid:\t%d\nPid:\t%d\n",
		tgid, tid);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/maps", tid);
	snprintf(text, sizeof(text),
		"55d0-55d1 r-xp 0 08:01 9 /bin/app\n7f00-7f01 r-xp 0 08:01 7 %s\n", library);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/environ", tid);
	fstree_put(&tree, path, setting);
}

static void ranks(const char *library, const char *setting)
{
	put(10, 10, library, setting);
	put(11, 10, library, setting);
	put(20, 20, library, setting);
}

static const pid_t tids[] = {10, 11, 20};

/* Samples until it changes, at most @max; -1 it does not. */
static int samples(double runnable, int max)
{
	for (int i = 1; i <= max; i++)
		if (polling_sample(&p, &tree.root, tids, 3, runnable))
			return i;
	return -1;
}

START_TEST(busy_ranks_poll_after_three_samples)
{
	ranks("/usr/lib/libmpi.so.40.30.4", "PATH=/bin");
	ck_assert_int_eq(samples(1.99, 10), 3);
	ck_assert_int_eq(p.ranks, 2); /* processes: 11 is a thread of 10 */
	ck_assert(p.on);
}
END_TEST

START_TEST(ranks_that_block_do_not_poll)
{
	ranks("/usr/lib/libmpi.so.40.30.4", "PATH=/bin");
	ck_assert_int_eq(samples(1.6, 50), -1);
	ck_assert_int_eq(samples(NAN, 50), -1);
}
END_TEST

START_TEST(ranks_told_to_yield_do_not_poll)
{
	ranks("/usr/lib/libmpi.so.40.30.4", "OMPI_MCA_mpi_yield_when_idle=1");
	ck_assert_int_eq(samples(2, 50), -1);
	ck_assert(p.yields);
}
END_TEST

START_TEST(told_not_to_yield_is_not_told_to_yield)
{
	ranks("/usr/lib/libmpich.so.12", "OMPI_MCA_mpi_yield_when_idle=0");
	ck_assert_int_eq(samples(2, 50), 3);
}
END_TEST

START_TEST(busy_without_mpi_does_not_poll)
{
	ranks("/usr/lib/libgomp.so.1", "PATH=/bin");
	ck_assert_int_eq(samples(3, 50), -1);
	ck_assert_int_eq(p.ranks, 0);
}
END_TEST

START_TEST(a_library_loaded_late_is_seen)
{
	ranks("/usr/lib/libc.so.6", "PATH=/bin");
	ck_assert_int_eq(samples(2, 5), -1);
	ranks("/usr/lib/libmpi.so.40", "PATH=/bin");
	ck_assert_int_ge(samples(2, 20), 3);
}
END_TEST

START_TEST(a_short_wait_changes_nothing_a_long_one_does)
{
	ranks("/usr/lib/libmpi.so.40", "PATH=/bin");
	ck_assert_int_eq(samples(2, 10), 3);
	ck_assert_int_eq(samples(0.1, 10), -1);
	ck_assert_int_eq(samples(2, 10), -1);
	ck_assert_int_eq(samples(0.1, 30), 20);
	ck_assert(!p.on);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("polling");
	TCase *tc = tcase_create("MPI ranks that poll are told from those that do not");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, busy_ranks_poll_after_three_samples);
	tcase_add_test(tc, ranks_that_block_do_not_poll);
	tcase_add_test(tc, ranks_told_to_yield_do_not_poll);
	tcase_add_test(tc, told_not_to_yield_is_not_told_to_yield);
	tcase_add_test(tc, busy_without_mpi_does_not_poll);
	tcase_add_test(tc, a_library_loaded_late_is_seen);
	tcase_add_test(tc, a_short_wait_changes_nothing_a_long_one_does);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
