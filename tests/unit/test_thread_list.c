/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step's threads are listed anew only where they are others, and never believed wrongly. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/aside.h"
#include "nodesvc/actuate/internal.h"
#include "nodesvc/actuate/actuate.h"

static struct actuate_ops ops;
static struct actuate a = {.ops = &ops};
static const struct step_cgroup step;
static struct thread_list list;

/* The step as the kernel has it, what reading it gives, and how often it was listed. */
static pid_t tids[8];
static int n_tids, n_listed, mark_rc, threads_rc;
static uint64_t mark;
static bool one_comes; /* between the mark and the list */
static int breaths;    /* that a list takes, each longer than an update may */
static bool stopped;
static int64_t now_ns;

int64_t __wrap_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void)
{
	return now_ns;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	ret->tv_sec = now_ns / 1000000000;
	ret->tv_nsec = now_ns % 1000000000;
	return 0;
}

static int read_mark(struct actuate *actuate, const struct step_cgroup *s, uint64_t *ret)
{
	(void)actuate, (void)s;
	*ret = mark;
	if (one_comes) {
		tids[n_tids++] = 99;
		mark++;
		one_comes = false;
	}
	return mark_rc;
}

static int read_threads(struct actuate *actuate, const struct step_cgroup *s, pid_t **ret, int *n)
{
	(void)actuate, (void)s;
	n_listed++;
	for (int i = 0; i < breaths; i++) {
		now_ns += INT64_C(5000000);
		stopped = aside_breathe();
		if (stopped)
			return -ECANCELED;
	}
	if (threads_rc < 0)
		return threads_rc;
	*ret = malloc(sizeof(tids));
	ck_assert_ptr_nonnull(*ret);
	memcpy(*ret, tids, sizeof(tids));
	*n = n_tids;
	return 0;
}

static void setup(void)
{
	ops = (struct actuate_ops){.name = "test", .mark = read_mark, .threads = read_threads};
	list = (struct thread_list){.tid = NULL};
	memcpy(tids, (pid_t[8]){11, 12}, sizeof(tids));
	n_tids = 2;
	n_listed = mark_rc = threads_rc = 0;
	mark = 1;
	one_comes = stopped = false;
	breaths = 0;
}

static void teardown(void)
{
	thread_list_done(&list);
}

/* What it told, -1 changed is not said. */
static bool update(int rc)
{
	bool changed = false;

	ck_assert_int_eq(thread_list_update(&list, &a, &step, &changed), rc);
	return changed;
}

START_TEST(the_same_threads_are_not_listed_again)
{
	ck_assert(update(0));
	ck_assert_int_eq(list.n, 2);
	ck_assert_int_eq(list.tid[1], 12);
	for (int i = 0; i < 5; i++)
		ck_assert(!update(0));
	ck_assert_int_eq(n_listed, 1);
}
END_TEST

START_TEST(others_are)
{
	update(0);
	tids[1] = 13; /* as many, another one */
	mark++;
	ck_assert(update(0));
	ck_assert_int_eq(list.tid[1], 13);
	tids[n_tids++] = 14;
	mark++;
	ck_assert(update(0));
	ck_assert_int_eq(list.n, 3);
	n_tids = 0; /* a step between two programs */
	mark++;
	ck_assert(update(0));
	ck_assert_int_eq(list.n, 0);
	ck_assert_int_eq(n_listed, 4);
}
END_TEST

START_TEST(a_mark_that_moves_for_nothing_is_no_change)
{
	update(0);
	mark++;
	ck_assert(!update(0));
	ck_assert_int_eq(n_listed, 2);
}
END_TEST

/* The mark is read first, so that what comes in between is not taken for known. */
START_TEST(who_comes_between_mark_and_list_is_found_at_the_next)
{
	one_comes = true;
	ck_assert(update(0));
	ck_assert_int_eq(list.n, 3);
	tids[n_tids++] = 15; /* after the list, under the mark that the list was taken with */
	ck_assert(update(0));
	ck_assert_int_eq(list.n, 4);
}
END_TEST

START_TEST(without_marks_every_update_lists)
{
	if (_i == 0)
		ops.mark = NULL;
	else
		mark_rc = -EIO;
	update(0);
	ck_assert(!update(0));
	tids[0] = 10;
	ck_assert(update(0));
	ck_assert_int_eq(n_listed, 3);
	/* One that can be read later is no older one. */
	ops.mark = read_mark;
	mark_rc = 0;
	update(0);
	ck_assert_int_eq(n_listed, 4);
	update(0);
	ck_assert_int_eq(n_listed, 4);
}
END_TEST

START_TEST(a_list_that_fails_leaves_the_old_one_and_is_read_again)
{
	update(0);
	mark++;
	threads_rc = -EIO;
	ck_assert(!update(-EIO));
	ck_assert_int_eq(list.n, 2);
	ck_assert_int_eq(list.tid[0], 11);
	threads_rc = 0;
	tids[0] = 10;
	ck_assert(update(0));
	ck_assert_int_eq(list.tid[0], 10);
}
END_TEST

START_TEST(a_step_that_is_gone_is_said_to_be)
{
	update(0);
	if (_i == 0) {
		mark_rc = -ENOENT;
	} else {
		mark++;
		threads_rc = -ENOENT;
	}
	ck_assert(!update(-ENOENT));
	ck_assert_int_eq(list.n, 2);
	ck_assert_int_eq(n_listed, 1 + _i);
}
END_TEST

START_TEST(a_long_list_is_read_over_several_updates_and_the_old_one_stays_meanwhile)
{
	int n = 0;

	update(0);
	mark++;
	tids[n_tids++] = 13;
	breaths = 4;
	while (!update(0)) {
		ck_assert(thread_list_is_reading(&list));
		ck_assert_int_eq(list.n, 2);
		ck_assert_int_lt(++n, breaths + 1);
	}
	ck_assert_int_ge(n, breaths);
	ck_assert(!thread_list_is_reading(&list));
	ck_assert_int_eq(list.n, 3);
	ck_assert_int_eq(n_listed, 2);
	/* It took long: not again at once. */
	ck_assert_int_gt(list.again_ns, list.at_ns);
	mark++;
	ck_assert(!update(0));
	ck_assert_int_eq(n_listed, 2);
	now_ns = list.again_ns;
	breaths = 0;
	update(0);
	ck_assert_int_eq(n_listed, 3);
}
END_TEST

START_TEST(until_the_first_is_read_there_is_none)
{
	breaths = 1;
	ck_assert(!update(-EAGAIN));
	ck_assert(update(0));
	ck_assert_int_eq(list.n, 2);
}
END_TEST

START_TEST(one_that_ends_meanwhile_has_its_reading_stopped)
{
	breaths = 100;
	ck_assert(!update(-EAGAIN));
	ck_assert(!stopped);
	thread_list_done(&list);
	ck_assert(stopped);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("thread_list");
	SRunner *sr;
	TCase *tc;
	int failed;

	tc = tcase_create("when it is read");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_same_threads_are_not_listed_again);
	tcase_add_test(tc, others_are);
	tcase_add_test(tc, a_mark_that_moves_for_nothing_is_no_change);
	tcase_add_test(tc, who_comes_between_mark_and_list_is_found_at_the_next);
	tcase_add_loop_test(tc, without_marks_every_update_lists, 0, 2);
	suite_add_tcase(s, tc);
	tc = tcase_create("what takes long");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(
		tc, a_long_list_is_read_over_several_updates_and_the_old_one_stays_meanwhile);
	tcase_add_test(tc, until_the_first_is_read_there_is_none);
	tcase_add_test(tc, one_that_ends_meanwhile_has_its_reading_stopped);
	suite_add_tcase(s, tc);
	tc = tcase_create("what fails");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_list_that_fails_leaves_the_old_one_and_is_read_again);
	tcase_add_loop_test(tc, a_step_that_is_gone_is_said_to_be, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
