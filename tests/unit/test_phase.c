/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/phase.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

/* One epoch of @before, then one of @after: does the paper's detector see a change? */
static bool paper_sees(double before, double after)
{
	struct phase p;
	bool changed;

	phase_restart(&p, &phase_paper, 0, 12);
	changed = phase_sample(&p, &phase_paper, 10, before);
	ck_assert(!changed);
	return phase_sample(&p, &phase_paper, 12.5, after);
}

START_TEST(paper_ratio_is_strict)
{
	/* SBMP Table 3: more than twice, less than half. */
	static const struct {
		double before, after;
		bool changed;
	} table[] = {
		{.80, .39, true},
		{.80, .41, false},
		{.30, .61, true},
		{.30, .60, false},
	};
	bool changed = paper_sees(table[_i].before, table[_i].after);

	ck_assert_int_eq(changed, table[_i].changed);
}
END_TEST

START_TEST(paper_misses_a_change_in_the_first_epoch)
{
	struct phase p;
	bool changed = false;

	phase_restart(&p, &phase_paper, 0, 12);
	for (int i = 1; i <= 80; i++)
		changed |= phase_sample(&p, &phase_paper, 0.5 * i, i <= 8 ? .9 : .4);
	ck_assert(!changed);
}
END_TEST

START_TEST(width_sees_it_after_two_samples)
{
	struct phase p;
	bool seen[5];
	static const double u[5] = {.9, .9, .4, .4, .4};

	phase_restart(&p, &phase_width, 0, 12);
	for (int i = 0; i < 5; i++)
		seen[i] = phase_sample(&p, &phase_width, 0.5 * (i + 1), u[i]);
	ck_assert(!seen[0] && !seen[1] && !seen[2] && seen[3] && !seen[4]);
}
END_TEST

START_TEST(width_forgives_one_odd_sample)
{
	struct phase p;
	bool seen = false;
	static const double u[6] = {.9, .9, .4, .9, .4, .9};

	phase_restart(&p, &phase_width, 0, 12);
	for (int i = 0; i < 6; i++)
		seen |= phase_sample(&p, &phase_width, 0.5 * (i + 1), u[i]);
	ck_assert(!seen);
}
END_TEST

/* A daemon that is held up between its readings of a program's cpu time and of its work has too
 * much of the work in one sample, and too little in the next. */
START_TEST(width_wants_both_on_one_side)
{
	struct phase p;
	bool seen = false;
	static const double rate[8] = {500, 510, 900, 250, 900, 250, 495, 500};

	phase_restart(&p, &phase_width, 0, 2);
	for (int i = 0; i < 8; i++)
		seen |= phase_sample(&p, &phase_width, 0.5 * (i + 1), rate[i]);
	ck_assert(!seen);
}
END_TEST

/*
 * A change at @at intervals after a sample, from 1 to @level: how many intervals pass until it is
 * seen by a sampler that halves the interval after a suspect sample.
 */
static double intervals_until_seen(double level, double at)
{
	struct phase p;
	double now = 0, step = 1;

	phase_restart(&p, &phase_width, 0, 12);
	for (int i = 0; i < 40; i++) {
		double before = now, share;

		now += step;
		/* Of the sample that was after the change. */
		share = fmin(fmax((now - (5 + at)) / (now - before), 0), 1);
		if (phase_sample(&p, &phase_width, now, 1 + share * (level - 1)))
			return now - (5 + at);
		step = p.suspect ? 0.5 : 1;
	}
	return INFINITY;
}

START_TEST(width_sees_any_change_within_two_intervals)
{
	static const double levels[] = {1.61, 2, 5, 100, 0.62, 0.5, 0.2, 0.01};
	double worst = 0;

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		for (double at = 0.005; at < 1; at += 0.01)
			worst = fmax(worst, intervals_until_seen(levels[i], at));
	ck_assert_double_le(worst, 2);
}
END_TEST

START_TEST(what_stays_off_is_not_suspect_for_ever)
{
	struct phase p;

	phase_restart(&p, &phase_width, 0, 12);
	for (int i = 0; i < 10; i++)
		phase_sample(&p, &phase_width, i, i < 5 ? .5 : .7);
	ck_assert(!p.suspect);
}
END_TEST

START_TEST(a_new_width_starts_a_new_reference)
{
	struct phase p;
	bool seen = false;

	phase_restart(&p, &phase_width, 0, 12);
	seen |= phase_sample(&p, &phase_width, 1, .9);
	seen |= phase_sample(&p, &phase_width, 2, .9);
	phase_restart(&p, &phase_width, 2, 48);
	for (int i = 3; i < 9; i++)
		seen |= phase_sample(&p, &phase_width, i, .3);
	ck_assert(!seen);
}
END_TEST

/* Low and high of samples; which of them tells a change, none: 0. */
static int changes_at(int n, const double range[][2])
{
	struct phase p;

	phase_restart(&p, &phase_width, 0, 2);
	for (int i = 0; i < n; i++)
		if (phase_sample_range(&p, &phase_width, i + 1, range[i][0], range[i][1]))
			return i;
	return 0;
}

START_TEST(what_the_range_explains_is_no_change)
{
	static const double held_up[5][2] = {{1, 1}, {1, 1}, {.5, 1}, {.5, .7}, {.4, 1}};
	static const double held_less[5][2] = {{1, 1}, {1, 1}, {.5, .6}, {.5, .6}, {.5, .6}};

	ck_assert_int_eq(changes_at(5, held_up), 0);
	ck_assert_int_eq(changes_at(5, held_less), 3);
}
END_TEST

START_TEST(a_vague_reference_gives_way)
{
	static const double later[6][2] = {
		{.5, 1}, {.5, 1}, {.95, .95}, {.95, .95}, {.5, .5}, {.5, .5}};
	static const double upwards[4][2] = {{.5, .5}, {.5, .5}, {.9, 1}, {.9, 1}};

	ck_assert_int_eq(changes_at(6, later), 5);
	ck_assert_int_eq(changes_at(4, upwards), 3);
}
END_TEST

START_TEST(the_range_is_asked_for_where_it_matters)
{
	struct phase p;

	phase_restart(&p, &phase_width, 0, 2);
	ck_assert(phase_asks_high(&p, &phase_width, 1));
	phase_sample(&p, &phase_width, 1, 1);
	phase_sample(&p, &phase_width, 2, 1);
	phase_sample(&p, &phase_width, 3, 1);
	ck_assert(!phase_asks_high(&p, &phase_width, .95));
	ck_assert(phase_asks_high(&p, &phase_width, .5));
	ck_assert(!phase_asks_high(&p, &phase_paper, .5));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("phase");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("the published detector compares epochs");
	tcase_add_loop_test(tc, paper_ratio_is_strict, 0, 4);
	tcase_add_test(tc, paper_misses_a_change_in_the_first_epoch);
	suite_add_tcase(s, tc);
	tc = tcase_create("the corrected one compares at equal width, twice");
	tcase_add_test(tc, width_sees_it_after_two_samples);
	tcase_add_test(tc, width_forgives_one_odd_sample);
	tcase_add_test(tc, width_wants_both_on_one_side);
	tcase_add_test(tc, width_sees_any_change_within_two_intervals);
	tcase_add_test(tc, what_stays_off_is_not_suspect_for_ever);
	tcase_add_test(tc, a_new_width_starts_a_new_reference);
	suite_add_tcase(s, tc);
	tc = tcase_create("a sample of a crowded node is a range");
	tcase_add_test(tc, what_the_range_explains_is_no_change);
	tcase_add_test(tc, a_vague_reference_gives_way);
	tcase_add_test(tc, the_range_is_asked_for_where_it_matters);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
