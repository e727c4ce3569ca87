/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The estimators on synthetic speeds whose true ratio is known. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "nodesvc/engine/engine.h"

static uint64_t seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

START_TEST(linear_drift_falls_out_exactly)
{
	/* Speed halves over the four stretches for both placements; A is 3 times B. */
	double speed[4], r;

	for (int i = 0; i < 4; i++)
		speed[i] = (i == 0 || i == 3 ? 30.0 : 10.0) * exp(-0.231 * i);
	ck_assert(gain_abba(speed, &r));
	ck_assert_double_eq_tol(exp(r), 3, 1e-12);
}
END_TEST

START_TEST(a_stretch_without_speed_says_nothing)
{
	double r = 7;

	ck_assert(!gain_abba((const double[]){1, 0, 1, 1}, &r));
	ck_assert(!gain_abba((const double[]){1, 1, NAN, 1}, &r));
	ck_assert(!gain_abba((const double[]){-1, 1, 1, 1}, &r));
	ck_assert(!gain_abba((const double[]){INFINITY, 1, 1, 1}, &r));
	ck_assert_double_eq(r, 7);
}
END_TEST

START_TEST(what_no_placement_does_says_nothing)
{
	double r = 7;

	ck_assert(!gain_abba((const double[]){1e12, 1, 1, 1}, &r));
	ck_assert(!gain_abba((const double[]){1, 1e12, 1, 1}, &r));
	ck_assert_double_eq(r, 7);
	ck_assert(gain_abba((const double[]){100, 1, 1, 100}, &r));
	ck_assert_double_eq_tol(exp(r), 100, 1e-9);
}
END_TEST

START_TEST(too_few_windows_give_no_figure)
{
	struct gain_mean m = {0};
	struct gain_estimate e;

	for (int i = 0; i < GAIN_MIN - 1; i++)
		gain_mean_add(&m, 0.1);
	gain_paired(&m, &e);
	ck_assert(isnan(e.ratio) && isnan(e.lo) && isnan(e.hi));
	ck_assert_int_eq(e.n, GAIN_MIN - 1);
	gain_unpaired(&m, &m, &e);
	ck_assert(isnan(e.ratio));
}
END_TEST

static const struct {
	double ratio, noise, drift;
	int windows;
} SERIES[] = {
	{1.0, 0.05, 0, 10},
	{1.0, 0.2, 0.3, 20},
	{1.6, 0.1, 0.5, 8},
	{8.0, 0.3, -0.2, 12},
	{0.7, 0.1, 0, 3},
};

/* Of 1000 series the interval holds the true ratio in 95 of 100. */
START_TEST(interval_holds_the_true_ratio_as_often_as_it_says)
{
	int hit = 0;

	seed = 88172645463325252u + (uint64_t)_i;
	for (int run = 0; run < 1000; run++) {
		struct gain_mean m = {0};
		struct gain_estimate e;

		for (int w = 0; w < SERIES[_i].windows; w++) {
			double speed[4], r;

			for (int i = 0; i < 4; i++)
				speed[i] = (i == 0 || i == 3 ? SERIES[_i].ratio : 1.0) *
					   exp(SERIES[_i].noise * normal() +
						   SERIES[_i].drift * (w + i / 4.0));
			if (gain_abba(speed, &r))
				gain_mean_add(&m, r);
		}
		gain_paired(&m, &e);
		hit += e.lo <= SERIES[_i].ratio && SERIES[_i].ratio <= e.hi;
	}
	/* Binomial, 1000 tries at 0.95: sd 0.7 %; four of them. */
	ck_assert_msg(hit >= 922 && hit <= 978, "%d of 1000", hit);
}
END_TEST

START_TEST(groups_of_launches_are_compared)
{
	int hit = 0;

	seed = 4711;
	for (int run = 0; run < 1000; run++) {
		struct gain_mean with = {0}, without = {0};
		struct gain_estimate e;

		for (int i = 0; i < 20; i++)
			gain_mean_add(&with, log(900.0) + 0.1 * normal());
		for (int i = 0; i < 5; i++)
			gain_mean_add(&without, log(100.0) + 0.4 * normal());
		gain_unpaired(&with, &without, &e);
		ck_assert_int_eq(e.n, 5);
		hit += e.lo <= 9 && 9 <= e.hi;
	}
	ck_assert_msg(hit >= 922 && hit <= 978, "%d of 1000", hit);
}
END_TEST

START_TEST(quantiles_are_those_of_the_tables)
{
	ck_assert_double_eq_tol(gain_t95(1), 12.706, 1e-9);
	ck_assert_double_eq_tol(gain_t95(5), 2.571, 1e-9);
	ck_assert_double_eq_tol(gain_t95(10), 2.228, 1e-3);
	ck_assert_double_eq_tol(gain_t95(19), 2.093, 1e-3);
	ck_assert_double_eq_tol(gain_t95(120), 1.980, 1e-3);
	ck_assert(gain_t95(4.5) > gain_t95(5) && gain_t95(4.5) < gain_t95(4));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gain");
	TCase *t = tcase_create("paired windows");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, linear_drift_falls_out_exactly);
	tcase_add_test(t, a_stretch_without_speed_says_nothing);
	tcase_add_test(t, what_no_placement_does_says_nothing);
	tcase_add_test(t, too_few_windows_give_no_figure);
	tcase_add_loop_test(t, interval_holds_the_true_ratio_as_often_as_it_says, 0,
		(int)(sizeof(SERIES) / sizeof(SERIES[0])));
	suite_add_tcase(s, t);
	t = tcase_create("launches with and without");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, groups_of_launches_are_compared);
	tcase_add_test(t, quantiles_are_those_of_the_tables);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
