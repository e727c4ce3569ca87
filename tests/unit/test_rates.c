/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <math.h>
#include <string.h>

#include "nodesvc/counters/counters.h"

#define S INT64_C(1000000000)

static struct sample before, after;
static struct signal ret[SIGNAL_COUNT];

static void setup(void)
{
	before = (struct sample){.t_ns = 5 * S, .valid = (1u << COUNTER_COUNT) - 1};
	after = before;
	after.t_ns = 7 * S;
	for (int i = 0; i < COUNTER_COUNT; i++) {
		before.count[i] = 1000;
		after.count[i] = 1000;
	}
	after.count[COUNTER_LOADS] += 4000;
	after.count[COUNTER_LLC_REFS] += 400;
	after.count[COUNTER_LLC_MISSES] += 100;
	ret[SIGNAL_UTILIZATION] = (struct signal){0.5, PROVENANCE_OS};
}

START_TEST(rates_are_per_thread_and_second)
{
	counters_rates(&before, &after, 2, ret);
	ck_assert_double_eq_tol(ret[SIGNAL_LOADS].value, 1000.0, 1e-9);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_HW);
	ck_assert_double_eq_tol(ret[SIGNAL_LLC_REFS].value, 100.0, 1e-9);
	ck_assert_double_eq_tol(ret[SIGNAL_LLC_MISS_RATIO].value, 0.25, 1e-12);
}
END_TEST

START_TEST(counted_zero_is_zero)
{
	counters_rates(&before, &after, 2, ret);
	ck_assert_int_eq(ret[SIGNAL_MEM_BYTES].provenance, PROVENANCE_HW);
	ck_assert_double_eq(ret[SIGNAL_MEM_BYTES].value, 0.0);
}
END_TEST

START_TEST(uncounted_is_none)
{
	after.valid &= ~COUNTER_BIT(COUNTER_LLC_MISSES);
	counters_rates(&before, &after, 2, ret);
	ck_assert_int_eq(ret[SIGNAL_LLC_MISSES].provenance, PROVENANCE_NONE);
	ck_assert_double_nan(ret[SIGNAL_LLC_MISSES].value);
	ck_assert_int_eq(ret[SIGNAL_LLC_MISS_RATIO].provenance, PROVENANCE_NONE);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_HW);
}
END_TEST

START_TEST(backwards_is_none)
{
	after.count[COUNTER_LOADS] = 999;
	counters_rates(&before, &after, 2, ret);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_NONE);
	ck_assert_int_eq(ret[SIGNAL_LLC_REFS].provenance, PROVENANCE_HW);
}
END_TEST

START_TEST(no_time_or_threads_is_none)
{
	after.t_ns = before.t_ns;
	counters_rates(&before, &after, 2, ret);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_NONE);
	after.t_ns = 7 * S;
	counters_rates(&before, &after, 0, ret);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_NONE);
}
END_TEST

START_TEST(no_refs_no_ratio)
{
	after.count[COUNTER_LLC_REFS] = before.count[COUNTER_LLC_REFS];
	after.count[COUNTER_LLC_MISSES] = before.count[COUNTER_LLC_MISSES];
	counters_rates(&before, &after, 2, ret);
	ck_assert_int_eq(ret[SIGNAL_LLC_REFS].provenance, PROVENANCE_HW);
	ck_assert_int_eq(ret[SIGNAL_LLC_MISS_RATIO].provenance, PROVENANCE_NONE);
}
END_TEST

START_TEST(other_signals_stay)
{
	counters_rates(&before, &after, 2, ret);
	ck_assert_double_eq(ret[SIGNAL_UTILIZATION].value, 0.5);
	ck_assert_int_eq(ret[SIGNAL_UTILIZATION].provenance, PROVENANCE_OS);
}
END_TEST

static struct profile a_profile(void)
{
	struct profile p = {.utilization = 0.8, .threads = 2};

	for (int i = 0; i < SIGNAL_COUNT; i++)
		p.rate[i] = NAN;
	p.rate[SIGNAL_LOADS] = 100.0;
	p.rate[SIGNAL_LLC_MISS_RATIO] = 0.25;
	return p;
}

START_TEST(profile_scales_with_utilization)
{
	struct profile p = a_profile();

	profile_scale(&p, 0.4, ret);
	ck_assert_double_eq_tol(ret[SIGNAL_LOADS].value, 50.0, 1e-9);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_PROFILE);
	ck_assert_double_eq_tol(ret[SIGNAL_LLC_MISS_RATIO].value, 0.25, 1e-12);
	ck_assert_int_eq(ret[SIGNAL_LLC_REFS].provenance, PROVENANCE_NONE);
	ck_assert_double_nan(ret[SIGNAL_LLC_REFS].value);
}
END_TEST

START_TEST(profile_without_utilization_is_none)
{
	struct profile p = a_profile();

	profile_scale(&p, NAN, ret);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_NONE);
	p.utilization = 0.0;
	profile_scale(&p, 0.4, ret);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_NONE);
}
END_TEST

/* 1e308 a second, at more than its own utilisation; the old figure is not left in its place. */
START_TEST(profile_of_no_machine_is_none_and_its_figure_is_kept_to_be_told)
{
	struct profile p = a_profile();

	p.utilization = 1e-6;
	p.rate[SIGNAL_LOADS] = 1e308;
	p.rate[SIGNAL_LLC_REFS] = 1e12;
	p.rate[SIGNAL_LLC_MISSES] = 1;
	profile_scale(&p, 0.9, ret);
	ck_assert_int_eq(ret[SIGNAL_LOADS].provenance, PROVENANCE_NONE);
	ck_assert(isinf(ret[SIGNAL_LOADS].value));
	ck_assert_int_eq(ret[SIGNAL_LLC_REFS].provenance, PROVENANCE_NONE);
	ck_assert_int_eq(ret[SIGNAL_LLC_MISSES].provenance, PROVENANCE_PROFILE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rates");
	TCase *rate = tcase_create("two samples give rates per thread"),
	      *none = tcase_create("what was not counted is none, never 0"),
	      *scale = tcase_create("a stored profile follows live utilisation");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(rate, setup, NULL);
	tcase_add_test(rate, rates_are_per_thread_and_second);
	tcase_add_test(rate, counted_zero_is_zero);
	tcase_add_test(rate, other_signals_stay);
	suite_add_tcase(s, rate);
	tcase_add_checked_fixture(none, setup, NULL);
	tcase_add_test(none, uncounted_is_none);
	tcase_add_test(none, backwards_is_none);
	tcase_add_test(none, no_time_or_threads_is_none);
	tcase_add_test(none, no_refs_no_ratio);
	suite_add_tcase(s, none);
	tcase_add_test(scale, profile_scales_with_utilization);
	tcase_add_test(scale, profile_without_utilization_is_none);
	tcase_add_test(scale, profile_of_no_machine_is_none_and_its_figure_is_kept_to_be_told);
	suite_add_tcase(s, scale);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
