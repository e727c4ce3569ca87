/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work in slices, on a clock of the test's own: each look at it is a tenth of a slice. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/aside.h"
#include "common/budget.h"
#include "common/ipc.h"

static int64_t now_ns;

int64_t __wrap_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void)
{
	return now_ns += 10;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	ret->tv_sec = now_ns / 1000000000;
	ret->tv_nsec = now_ns % 1000000000;
	return 0;
}

static int n_done, n_wanted;
static bool told_to_stop;

static void setup(void)
{
	n_done = 0;
	n_wanted = 1000;
	told_to_stop = false;
}

static void count(void *arg)
{
	(void)arg;
	while (n_done < n_wanted) {
		int own = ++n_done;

		errno = own;
		if (aside_breathe()) {
			told_to_stop = true;
			return;
		}
		ck_assert_int_eq(errno, own);
	}
}

static struct aside *start(void)
{
	struct aside *a;

	ck_assert_int_eq(aside_start(&a, count, NULL, NULL), 0);
	return a;
}

START_TEST(what_fits_into_a_slice_ends_in_it)
{
	struct aside *a = start();

	n_wanted = 3;
	ck_assert_int_eq(n_done, 0);
	ck_assert(aside_go_on(a, 1000));
	ck_assert_int_eq(n_done, 3);
	ck_assert(aside_go_on(a, 1000));
	aside_end(a);
	ck_assert(!told_to_stop);
}
END_TEST

START_TEST(what_does_not_goes_on_where_it_was)
{
	struct aside *a = start();
	int slices = 0, before = 0;

	while (!aside_go_on(a, 100)) {
		slices++;
		ck_assert_int_gt(n_done, before);
		ck_assert_int_le(n_done, before + 10);
		before = n_done;
	}
	ck_assert_int_eq(n_done, 1000);
	ck_assert_int_ge(slices, 99);
	ck_assert_int_ge(aside_spent_ns(a), INT64_C(100) * slices);
	aside_end(a);
	ck_assert(!told_to_stop);
}
END_TEST

START_TEST(one_that_nobody_wants_stops_at_once)
{
	struct aside *a = start();

	ck_assert(!aside_go_on(a, 100));
	n_wanted = n_done + 1;
	aside_end(a);
	/* At its next breath, or where it would have ended. */
	ck_assert_int_le(n_done, n_wanted);
}
END_TEST

START_TEST(one_that_has_not_begun_is_told_at_its_first_breath)
{
	aside_end(start());
	ck_assert_int_eq(n_done, 1);
	ck_assert(told_to_stop);
	aside_end(NULL);
}
END_TEST

START_TEST(two_take_turns)
{
	struct aside *a = start(), *b = start();
	bool one = false, other = false;

	for (int i = 0; i < 1000 && !(one && other); i++) {
		one = aside_go_on(a, 100);
		other = aside_go_on(b, 100);
	}
	ck_assert(one && other);
	aside_end(a);
	aside_end(b);
}
END_TEST

START_TEST(outside_a_breath_is_nothing)
{
	int64_t before = now_ns;

	ck_assert(!aside_breathe());
	ck_assert_int_eq(now_ns, before);
}
END_TEST

static int inner_rc;

static void nest(void *arg)
{
	struct aside *a;

	(void)arg;
	inner_rc = aside_start(&a, count, NULL, NULL);
}

START_TEST(none_begins_inside_another)
{
	struct aside *a;

	ck_assert_int_eq(aside_start(&a, nest, NULL, NULL), 0);
	ck_assert(aside_go_on(a, 1000));
	ck_assert_int_eq(inner_rc, -EDEADLK);
	aside_end(a);
}
END_TEST

START_TEST(a_budget_ends_with_its_number)
{
	struct budget b = budget_of(5, 1000000);
	int n = 0;

	while (budget_take(&b))
		n++;
	ck_assert_int_eq(n, 5);
	ck_assert(b.is_short);
	ck_assert(budget_take(NULL));
}
END_TEST

/* Ten of its clock's ticks: but some are always done. */
START_TEST(a_budget_ends_with_its_time)
{
	struct budget b = budget_of(1000, 100);
	int n = 0;

	while (budget_take(&b))
		n++;
	ck_assert_int_ge(n, BUDGET_LEAST);
	ck_assert_int_le(n, BUDGET_LEAST + 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("aside");
	SRunner *sr;
	TCase *tc;
	int failed;

	tc = tcase_create("slices");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, what_fits_into_a_slice_ends_in_it);
	tcase_add_test(tc, what_does_not_goes_on_where_it_was);
	tcase_add_test(tc, one_that_nobody_wants_stops_at_once);
	tcase_add_test(tc, one_that_has_not_begun_is_told_at_its_first_breath);
	tcase_add_test(tc, two_take_turns);
	tcase_add_test(tc, outside_a_breath_is_nothing);
	tcase_add_test(tc, none_begins_inside_another);
	suite_add_tcase(s, tc);
	tc = tcase_create("budget");
	tcase_add_test(tc, a_budget_ends_with_its_number);
	tcase_add_test(tc, a_budget_ends_with_its_time);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
