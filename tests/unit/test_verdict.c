/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on drawn windows whose truth is known: how often it is wrong when it may look after
 * every window, and how soon it sees a loss.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "nodesvc/engine/engine.h"

/* As the daemon's configuration has them by default. */
static const struct verdict_cfg CFG = {.error = 0.05, .margin = 0.05, .min_windows = 5};

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

enum noise { NORMAL, TAILS, SKEWED, ALIKE };

/* Mean 0, variance 1. TAILS: Student's t with 3 degrees of freedom. SKEWED: exponential, the long
 * side up. ALIKE: correlated by 0.3 with the one before. */
static double draw(enum noise kind, double *prev)
{
	double x = normal(), chi = 0;

	switch (kind) {
	case TAILS:
		for (int i = 0; i < 3; i++) {
			double y = normal();

			chi += y * y;
		}
		return x / sqrt(chi);
	case SKEWED:
		return -1 - log(uniform());
	case ALIKE:
		return *prev = 0.3 * *prev + sqrt(1 - 0.09) * x;
	case NORMAL:
		break;
	}
	return x;
}

struct series {
	int n;
	double mean, m2;
};

static void add(struct series *s, double x)
{
	double delta = x - s->mean;

	s->n++;
	s->mean += delta / s->n;
	s->m2 += delta * (x - s->mean);
}

static struct judgement judge(const struct series *s)
{
	struct judgement j;

	verdict_judge(&CFG, s->n, s->mean, s->m2, &j);
	return j;
}

struct rates {
	double worse, better, acted, missed;
};

/* Shares of @runs series of up to @windows that were ever called so. */
static struct rates rate(enum noise kind, double log_ratio, double spread, int runs, int windows)
{
	struct rates r = {0};

	for (int run = 0; run < runs; run++) {
		struct series s = {0};
		double prev = normal();
		bool worse = false, better = false, acted = false, missed = false;

		for (int w = 0; w < windows; w++) {
			struct judgement j;

			add(&s, log_ratio + spread * draw(kind, &prev));
			j = judge(&s);
			worse |= j.verdict == VERDICT_WORSE;
			better |= j.verdict == VERDICT_BETTER;
			acted |= j.verdict == VERDICT_WORSE && j.matters;
			missed |= exp(log_ratio) < j.lo || exp(log_ratio) > j.hi;
		}
		r.worse += (double)worse / runs;
		r.better += (double)better / runs;
		r.acted += (double)acted / runs;
		r.missed += (double)missed / runs;
	}
	return r;
}

/*
 * bound: of wrong "worse". For normal windows and heavy tails the stated 5 %; the others are what
 * is left of it where the assumption does not hold: measured 12 % and 6 %, with room.
 */
static const struct {
	enum noise kind;
	double spread, bound;
} HARMLESS[] = {
	{NORMAL, 0.02, 0.05},
	{NORMAL, 0.1, 0.05},
	{NORMAL, 0.4, 0.05},
	{TAILS, 0.05, 0.05},
	{SKEWED, 0.05, 0.16},
	{ALIKE, 0.05, 0.09},
};

/* 2000 harmless sets, looked at after each of 200 windows. */
START_TEST(no_more_harmless_sets_are_called_worse_than_stated)
{
	struct rates r;

	seed = 88172645463325252u + (uint64_t)_i;
	r = rate(HARMLESS[_i].kind, 0, HARMLESS[_i].spread, 2000, 200);
	printf("noise %d, spread %.2f: worse %.4f, acted on %.4f, better %.4f\n",
		(int)HARMLESS[_i].kind, HARMLESS[_i].spread, r.worse, r.acted, r.better);
	ck_assert_double_le(r.worse, HARMLESS[_i].bound);
	ck_assert_double_le(r.acted, r.worse);
}
END_TEST

/* The same of the truth, wherever it is: the interval and not only its position to 1. */
START_TEST(interval_holds_the_truth_after_every_window)
{
	struct rates r;

	seed = 4711;
	r = rate(NORMAL, log(0.8), 0.07, 2000, 200);
	ck_assert_double_le(r.missed, 0.05);
	/* It is no interval that holds everything. */
	ck_assert_double_gt(r.worse, 0.99);
}
END_TEST

/* A gain is never called a loss, whatever the noise. */
START_TEST(a_gain_is_not_called_worse)
{
	struct rates r;

	seed = 99;
	r = rate(NORMAL, log(1.2), 0.1, 1000, 200);
	ck_assert_double_le(r.worse, 0.001);
	ck_assert_double_ge(r.better, 0.99);
}
END_TEST

static const struct {
	double loss, spread;
	int windows; /* within which 95 of 100 are seen */
} HARMFUL[] = {
	{0.10, 0.03, 8},
	{0.10, 0.05, 11},
	{0.10, 0.08, 22},
	{0.20, 0.08, 9},
	{0.50, 0.10, 5},
};

START_TEST(a_loss_is_seen_within_so_many_windows)
{
	struct rates r;

	seed = 314159 + (uint64_t)_i;
	r = rate(NORMAL, log(1 - HARMFUL[_i].loss), HARMFUL[_i].spread, 1000, HARMFUL[_i].windows);
	printf("loss %.2f, spread %.2f: acted on within %d windows: %.3f\n", HARMFUL[_i].loss,
		HARMFUL[_i].spread, HARMFUL[_i].windows, r.acted);
	ck_assert_double_ge(r.acted, 0.95);
}
END_TEST

START_TEST(too_few_windows_tell_nothing)
{
	struct series s = {0};

	for (int i = 0; i < CFG.min_windows - 1; i++) {
		add(&s, log(0.5) + 0.001 * i);
		ck_assert_int_eq(judge(&s).verdict, VERDICT_UNKNOWN);
		ck_assert(!judge(&s).matters);
	}
	add(&s, log(0.5));
	ck_assert_int_eq(judge(&s).verdict, VERDICT_WORSE);
	ck_assert(judge(&s).matters);
	ck_assert_int_eq(judge(&s).windows, CFG.min_windows);
}
END_TEST

/* Certainly worse, and not worth acting on. */
START_TEST(a_small_loss_is_told_and_does_not_matter)
{
	struct series s = {0};
	struct judgement j;

	for (int i = 0; i < 40; i++)
		add(&s, log(0.98) + (i % 2 ? 0.005 : -0.005));
	j = judge(&s);
	ck_assert_int_eq(j.verdict, VERDICT_WORSE);
	ck_assert(!j.matters);
	ck_assert_double_eq_tol(j.ratio, 0.98, 1e-9);
	ck_assert(j.lo < 0.98 && 0.98 < j.hi && j.hi < 1);
}
END_TEST

START_TEST(windows_that_agree_to_the_last_digit_are_not_certainty)
{
	struct series s = {0};
	struct judgement j;

	for (int i = 0; i < 6; i++)
		add(&s, 0);
	j = judge(&s);
	ck_assert_int_eq(j.verdict, VERDICT_UNKNOWN);
	ck_assert(j.lo < 1 && j.hi > 1);
}
END_TEST

START_TEST(what_is_no_number_is_unknown)
{
	const double odd[][2] = {
		{NAN, 1}, {INFINITY, 1}, {-0.5, NAN}, {-0.5, -1}, {-0.5, INFINITY}};
	struct judgement j;
	struct verdict_cfg bad = CFG;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		verdict_judge(&CFG, 50, odd[i][0], odd[i][1], &j);
		ck_assert_int_eq(j.verdict, VERDICT_UNKNOWN);
		ck_assert(j.lo == 0 && isinf(j.hi) && !j.matters);
	}
	verdict_judge(&CFG, 0, 0, 0, &j);
	ck_assert_int_eq(j.verdict, VERDICT_UNKNOWN);
	ck_assert(isnan(j.ratio));
	bad.error = 0;
	verdict_judge(&bad, 50, -0.5, 0.01, &j);
	ck_assert_int_eq(j.verdict, VERDICT_UNKNOWN);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verdict");
	TCase *t = tcase_create("a stated share of harmless sets, at most, is called worse");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, no_more_harmless_sets_are_called_worse_than_stated, 0,
		(int)(sizeof(HARMLESS) / sizeof(HARMLESS[0])));
	tcase_add_test(t, interval_holds_the_truth_after_every_window);
	tcase_add_test(t, a_gain_is_not_called_worse);
	suite_add_tcase(s, t);
	t = tcase_create("losses are noticed");
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_loss_is_seen_within_so_many_windows, 0,
		(int)(sizeof(HARMFUL) / sizeof(HARMFUL[0])));
	suite_add_tcase(s, t);
	t = tcase_create("what is not known is not told");
	tcase_add_test(t, too_few_windows_tell_nothing);
	tcase_add_test(t, a_small_loss_is_told_and_does_not_matter);
	tcase_add_test(t, windows_that_agree_to_the_last_digit_are_not_certainty);
	tcase_add_test(t, what_is_no_number_is_unknown);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
