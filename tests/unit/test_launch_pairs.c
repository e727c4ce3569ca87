/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "nodesvc/engine/engine.h"
#include "nodesvc/engine/launch_pairs.h"

static const struct verdict_cfg cfg = {.error = 0.05, .margin = 0.05, .min_windows = 5};

START_TEST(an_outcome_of_each_side_is_a_window)
{
	struct launch_pairs p = {0};
	double x = 0;

	ck_assert(!launch_pairs_add(&p, 1, LAUNCH_WITH, 0, log(10), &x));
	ck_assert(!launch_pairs_add(&p, 2, LAUNCH_WITHOUT, 0, log(5), &x));
	/* Under the same draw more may come. */
	ck_assert(!launch_pairs_close(&p, 2, &x));
	ck_assert(launch_pairs_close(&p, 3, &x));
	ck_assert_double_eq_tol(exp(x), 0.5, 1e-9);
	ck_assert(!launch_pairs_close(&p, 4, &x));
}
END_TEST

START_TEST(draws_of_one_half_come_in_pairs)
{
	struct launch_draws d = {0};
	int without = 0;

	srand48(3);
	for (int i = 0; i < 1000; i++) {
		enum launch_side a = launch_draw(&d, 0.5, drand48());

		without += a == LAUNCH_WITHOUT;
		ck_assert_int_ne(launch_draw(&d, 0.5, drand48()), a);
	}
	ck_assert(without > 430 && without < 570);
	for (int i = without = 0; i < 1000; i++)
		without += launch_draw(&d, 0.1, drand48()) == LAUNCH_WITHOUT;
	ck_assert(without > 60 && without < 140);
}
END_TEST

START_TEST(launches_of_a_draw_are_one_outcome)
{
	struct launch_pairs p = {0};
	double x = 0;

	for (int i = 0; i < 9; i++)
		ck_assert(!launch_pairs_add(&p, 1, LAUNCH_WITH, 0, log(2), &x));
	ck_assert(!launch_pairs_add(&p, 2, LAUNCH_WITH, 0, log(8), &x));
	ck_assert(!launch_pairs_add(&p, 3, LAUNCH_WITHOUT, 0, log(1), &x));
	ck_assert(launch_pairs_add(&p, 4, LAUNCH_WITHOUT, 0, log(1), &x));
	ck_assert_double_eq_tol(exp(x), 0.25, 1e-9);
}
END_TEST

START_TEST(only_like_is_compared_with_like)
{
	struct launch_pairs p = {0};
	double x = 0;

	for (int kind = 0; kind < LAUNCH_KINDS; kind++)
		ck_assert(!launch_pairs_add(&p, (uint64_t)kind + 1,
			kind % 2 ? LAUNCH_WITH : LAUNCH_WITHOUT, kind, 0, &x));
	ck_assert(!launch_pairs_close(&p, 9, &x));
	ck_assert(!launch_pairs_add(&p, 10, LAUNCH_WITH, 0, 0, &x));
	ck_assert(launch_pairs_close(&p, 11, &x));
	ck_assert(!launch_pairs_add(&p, 12, LAUNCH_WITH, 0, NAN, &x));
	ck_assert(!launch_pairs_add(&p, 12, LAUNCH_WITH, 0, -INFINITY, &x));
	ck_assert(!launch_pairs_close(&p, 13, &x));
}
END_TEST

/* ---- streams of launches, as the daemon has them ---- */

static double normal(void)
{
	return sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48());
}

struct world {
	double spread; /* of a launch's logarithm */
	double tail;   /* of launches that take up to ten times as long */
	double drift;  /* per draw */
	double shared; /* spread of what all launches of a draw have in common */
	double company;
	double fraction; /* of draws without, after the first windows */
};

/* The first launch after which the setting is judged worse; 0 never. */
static int found_worse(const struct world *w, double log_ratio, int launches)
{
	struct launch_draws draws = {0};
	struct launch_pairs p = {0};
	struct gain_mean m = {0};
	struct judgement judged;
	double x = 0;

	for (int i = 0, draw = 1; i < launches; draw++) {
		double common = w->shared * normal();
		double f = m.n < 10 ? 0.5 : w->fraction;
		enum launch_side side = launch_draw(&draws, f, drand48());
		int kind = drand48() < w->company ? LAUNCH_IN_COMPANY : 0;
		bool window = launch_pairs_close(&p, (uint64_t)draw, &x);

		for (int n = 1 + (int)(drand48() * 3); n > 0 && i < launches; n--, i++) {
			double log_s =
				w->drift * draw + common + w->spread * normal() + (kind ? 0.5 : 0);

			if (drand48() < w->tail)
				log_s += log(10) * drand48();
			if (side == LAUNCH_WITH)
				log_s -= log_ratio;
			window |= launch_pairs_add(&p, (uint64_t)draw, side, kind, log_s, &x);
		}
		if (!window)
			continue;
		gain_mean_add(&m, x);
		verdict_judge(&cfg, m.n, m.mean, m.m2, &judged);
		if (judged.verdict == VERDICT_WORSE)
			return i;
	}
	return 0;
}

static const struct world worlds[] = {
	{.spread = 0.03, .fraction = 0.5},
	{.spread = 0.03, .fraction = 0.05},
	{.spread = 0.3, .fraction = 0.2, .company = 0.5},
	{.spread = 0.05, .tail = 0.1, .fraction = 0.1, .company = 0.3},
	{.spread = 0.02, .drift = 0.005, .fraction = 0.2},
	{.spread = 0.02, .shared = 0.2, .fraction = 0.1, .company = 0.5},
};

/* 2 000 programs each, looked at after every window of 300 launches. */
START_TEST(settings_that_do_nothing_are_hardly_ever_called_worse)
{
	int false_ones = 0;

	srand48(11 + _i);
	for (int k = 0; k < 2000; k++)
		false_ones += found_worse(&worlds[_i], 0, 300) > 0;
	ck_assert_msg(false_ones <= 100, "%d of 2000", false_ones);
}
END_TEST

START_TEST(one_that_halves_speed_is_found_within_thirty_launches)
{
	const struct world w = {.spread = 0.05, .shared = 0.02, .fraction = 0.05};
	int late = 0;

	srand48(7);
	for (int k = 0; k < 2000; k++) {
		int at = found_worse(&w, log(0.5), 300);

		ck_assert_int_gt(at, 0);
		late += at > 30;
	}
	ck_assert_msg(late <= 100, "%d of 2000 later", late);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launch_pairs");
	TCase *tc = tcase_create("launches with a setting and without it become windows");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, an_outcome_of_each_side_is_a_window);
	tcase_add_test(tc, draws_of_one_half_come_in_pairs);
	tcase_add_test(tc, launches_of_a_draw_are_one_outcome);
	tcase_add_test(tc, only_like_is_compared_with_like);
	suite_add_tcase(s, tc);
	tc = tcase_create("the verdict over them is right");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, settings_that_do_nothing_are_hardly_ever_called_worse, 0,
		(int)(sizeof(worlds) / sizeof(worlds[0])));
	tcase_add_test(tc, one_that_halves_speed_is_found_within_thirty_launches);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
