/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gang's foreground over long runs: jobs come and go, and each has an account here, made from the
 * plans alone, of what equal turns would have given it more.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/small_node.h"

/* The longest time between two decisions, s: so much later may the policy see that it is enough. */
#define STEP_S 1.0

struct account {
	double had_s, behind_s;
};

/* So much of the time is job @i's by the plan; and by equal turns, all weights being 1. */
static double part(const struct small_node *x, int i)
{
	int round_ms = 0, own_ms = 0;

	if (x->plan.n_slices == 0)
		return 1;
	for (int s = 0; s < x->plan.n_slices; s++) {
		round_ms += x->plan.slice[s].ms;
		for (int k = 0; k < x->plan.slice[s].n_jobs; k++)
			if (x->plan.slice[s].job[k] == i)
				own_ms = x->plan.slice[s].ms;
	}
	return (double)own_ms / round_ms;
}

static void go_on(struct small_node *x, struct account *a, double s)
{
	for (int i = 0; i < x->v.n_jobs; i++) {
		a[i].had_s += s * part(x, i);
		a[i].behind_s += s * (1.0 / x->v.n_jobs - part(x, i));
	}
	x->v.now_s += s;
}

/* Job @i of @n has ended: whoever came after it moves up, and the last place is free. */
static void take_out(struct small_node *x, struct account *a, int i, int n)
{
	size_t n_after = n - i - 1;

	memmove(&a[i], &a[i + 1], n_after * sizeof(a[0]));
	memmove(x->id[i], x->id[i + 1], n_after * sizeof(x->id[0]));
}

/* Job 0 beside @beside others that end when they have had 3 s, each followed by a new one, for
 * @until_s; returns the most that anybody was behind, and in @ret_first_behind the first one. */
static double stream(const char *spec, int beside, double until_s, double *ret_first_behind)
{
	struct small_node x;
	struct account a[SMALL_NODE_JOBS] = {{0}};
	double most = 0;
	int n_ended = 0;

	small_node_open(&x, "core:2", spec, beside + 1);
	while (x.v.now_s < until_s) {
		small_node_decide(&x);
		go_on(&x, a, STEP_S);
		for (int i = 0; i < x.v.n_jobs; i++) {
			most = fmax(most, a[i].behind_s);
			if (i == 0 || a[i].had_s < 3)
				continue;
			/* Whoever follows comes last. */
			take_out(&x, a, i, x.v.n_jobs);
			n_ended++;
			a[x.v.n_jobs - 1] = (struct account){0};
			snprintf(x.id[x.v.n_jobs - 1], sizeof(x.id[0]), "s%d", n_ended);
		}
	}
	*ret_first_behind = a[0].behind_s;
	small_node_close(&x);
	return most;
}

START_TEST(nobody_falls_further_behind_than_is_allowed)
{
	double first, most = stream("gang", _i, 2000, &first);

	/* There was a foreground, and it cost the first one what it may, not more. */
	ck_assert_double_ge(first, 10);
	ck_assert_double_le(most, 10 + STEP_S);
}
END_TEST

/* What the limit is there for: 49 % of 2000 s. */
START_TEST(without_the_limit_a_stream_of_short_jobs_starves_a_long_one)
{
	double first;

	stream("gang,behind_ms=3600000", 1, 2000, &first);
	ck_assert_double_ge(first, 900);
}
END_TEST

START_TEST(without_a_foreground_nobody_is_behind)
{
	double first, most = stream("gang,foreground_ms=0", 3, 500, &first);

	ck_assert_double_le(most, 1e-9);
}
END_TEST

/* They leave what they do not use anyway. Nobody was in front, so that nobody is owed anything: who
 * comes to compute in one piece goes first at once. */
START_TEST(where_all_compute_in_bursts_nobody_goes_first_or_is_held_up)
{
	struct small_node x;
	struct account a[SMALL_NODE_JOBS] = {{0}};

	small_node_open(&x, "core:2", "gang", 3);
	x.job[0].bursty = x.job[1].bursty = true;
	x.v.n_jobs = 2;
	while (x.v.now_s < 60) {
		small_node_decide(&x);
		go_on(&x, a, STEP_S);
	}
	ck_assert_double_eq_tol(a[0].behind_s, 0, 1e-9);
	ck_assert_double_eq_tol(a[1].behind_s, 0, 1e-9);
	x.v.n_jobs = 3;
	small_node_decide(&x);
	ck_assert_double_ge(part(&x, 2), 0.9);
	small_node_close(&x);
}
END_TEST

/* Whoever computes in one piece has what he leaves; without him the last burst would be alone. */
START_TEST(who_computes_in_bursts_goes_first_while_another_does_not)
{
	struct small_node x;

	small_node_open(&x, "core:2", "gang", 3);
	x.job[0].bursty = x.job[1].bursty = true;
	small_node_decide(&x);
	ck_assert_double_ge(part(&x, 0), 0.9);
	x.v.n_jobs = 2;
	x.v.now_s += STEP_S;
	small_node_decide(&x);
	ck_assert_double_eq_tol(part(&x, 0), 0.5, 1e-9);
	x.job[1].bursty = false;
	x.v.now_s += STEP_S;
	small_node_decide(&x);
	ck_assert_double_ge(part(&x, 0), 0.9);
	small_node_close(&x);
}
END_TEST

/* One after another, not all last: the mean end of n jobs of one length is (n + 1) / 2 of it. */
START_TEST(jobs_of_one_length_end_one_after_another)
{
	struct small_node x;
	struct account a[SMALL_NODE_JOBS] = {{0}};
	double end[4] = {0}, sum = 0;

	small_node_open(&x, "core:2", "gang", 4);
	for (int left = 4; left > 0;) {
		small_node_decide(&x);
		go_on(&x, a, 0.1);
		for (int i = 0; i < left; i++) {
			if (a[i].had_s < 5)
				continue;
			end[4 - left] = x.v.now_s;
			take_out(&x, a, i, left);
			x.v.n_jobs = --left;
		}
	}
	for (int i = 0; i < 4; i++)
		sum += end[i];
	/* 2.5 times 5 s, and the short slices of those behind; equal turns: all at 20 s. */
	ck_assert_double_ge(sum / 4, 12.5);
	ck_assert_double_le(sum / 4, 13.5);
	ck_assert_double_le(end[3], 20.5);
	small_node_close(&x);
}
END_TEST

/* What the driver would have seen in the last second: of job @i, and of time. */
static void see(struct small_node *x, int i, double wanted_s, double served_s)
{
	x->job[i].in_turns = true;
	x->job[i].wanted_s += wanted_s;
	x->job[i].served_s += served_s;
}

/* A second in which these want the node all the time, and have it by the plan's parts. */
static void pass_second(struct small_node *x, const bool *wants)
{
	double parts = 0;

	for (int i = 0; i < x->v.n_jobs; i++)
		parts += wants[i] ? part(x, i) : 0;
	for (int i = 0; i < x->v.n_jobs; i++)
		see(x, i, wants[i], wants[i] ? part(x, i) / parts : 0);
	x->v.now_s += 1;
}

/* 10 s in front is what it had there, not how long ago it came. */
START_TEST(foreground_that_waits_half_of_the_time_has_twice_as_long)
{
	struct small_node x;

	small_node_open(&x, "core:2", "gang", 2);
	while (x.v.now_s < 30) {
		double part0;

		small_node_decide(&x);
		part0 = part(&x, 0);
		if (x.v.now_s < 20)
			ck_assert_double_ge(part0, 0.9);
		else if (x.v.now_s > 22)
			ck_assert_double_le(part0, 0.5);
		see(&x, 0, 0.5, 0.5 * part0);
		see(&x, 1, 1, 1 - 0.5 * part0);
		x.v.now_s += 1;
	}
	small_node_close(&x);
}
END_TEST

/* It is first in line whenever it comes back, and no debt grows meanwhile. */
START_TEST(who_wants_nothing_is_owed_nothing_and_has_had_nothing)
{
	struct small_node x;

	small_node_open(&x, "core:2", "gang", 3);
	for (int k = 0; k < 120; k++) {
		small_node_decide(&x);
		pass_second(&x, (bool[]){true, true, k < 1});
	}
	small_node_decide(&x);
	ck_assert_double_ge(part(&x, 2), 0.9);
	small_node_close(&x);
}
END_TEST

/* Short jobs that want the node every other second, each followed by a new one: against equal turns
 * of those who want it, second for second, the long one loses what it may and not more. */
START_TEST(nobody_falls_further_behind_where_others_wait)
{
	struct small_node x;
	double behind_s = 0, most_s = 0;
	int n_ended = 0;

	small_node_open(&x, "core:2", "gang", 2);
	for (int k = 0; k < 1000; k++) {
		bool wants[] = {true, k % 2 == 0};
		double before_s = x.job[0].served_s;

		small_node_decide(&x);
		pass_second(&x, wants);
		behind_s += (wants[1] ? 0.5 : 1) - (x.job[0].served_s - before_s);
		most_s = fmax(most_s, behind_s);
		if (x.job[1].served_s < 3)
			continue;
		n_ended++;
		x.job[1].wanted_s = x.job[1].served_s = 0;
		snprintf(x.id[1], sizeof(x.id[1]), "s%d", n_ended);
	}
	ck_assert_int_ge(n_ended, 50);
	ck_assert_double_ge(most_s, 10);
	ck_assert_double_le(most_s, 10 + STEP_S);
	small_node_close(&x);
}
END_TEST

/* Where the driver knows no more than the plan says, its sums change nothing. */
START_TEST(sums_by_the_plan_and_the_plan_alone_are_one)
{
	struct small_node x, y;

	small_node_open(&x, "core:2", "gang", 3);
	small_node_open(&y, "core:2", "gang", 3);
	while (x.v.now_s < 100) {
		small_node_decide(&x);
		small_node_decide(&y);
		for (int i = 0; i < 3; i++)
			ck_assert_double_eq(part(&x, i), part(&y, i));
		pass_second(&x, (bool[]){true, true, true});
		y.v.now_s += 1;
	}
	small_node_close(&x);
	small_node_close(&y);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gang");
	TCase *behind = tcase_create("how far behind"), *bursts = tcase_create("bursts"),
	      *ends = tcase_create("ends"), *sums = tcase_create("sums of the driver's");
	SRunner *r;
	int failed;

	tcase_add_loop_test(behind, nobody_falls_further_behind_than_is_allowed, 1, 6);
	tcase_add_test(behind, without_the_limit_a_stream_of_short_jobs_starves_a_long_one);
	tcase_add_test(behind, without_a_foreground_nobody_is_behind);
	suite_add_tcase(s, behind);
	tcase_add_test(bursts, who_computes_in_bursts_goes_first_while_another_does_not);
	tcase_add_test(bursts, where_all_compute_in_bursts_nobody_goes_first_or_is_held_up);
	suite_add_tcase(s, bursts);
	tcase_add_test(ends, jobs_of_one_length_end_one_after_another);
	suite_add_tcase(s, ends);
	tcase_add_test(sums, foreground_that_waits_half_of_the_time_has_twice_as_long);
	tcase_add_test(sums, who_wants_nothing_is_owed_nothing_and_has_had_nothing);
	tcase_add_test(sums, nobody_falls_further_behind_where_others_wait);
	tcase_add_test(sums, sums_by_the_plan_and_the_plan_alone_are_one);
	suite_add_tcase(s, sums);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
