/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wants a turn in a rotation: steps that wait, that compute in bursts, that start. test_rotate
 * has the rotation itself, test_foreground slices of unequal length.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/levers/internal.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/rotation.h"

static int first_ms;              /* run_programs(): the first one's slice */
static double total_ms[JOBS_MAX]; /* compute(): what job i + 1 ran */

static void setup_programs(void)
{
	setup();
	first_ms = 100;
	memset(total_ms, 0, sizeof(total_ms));
}

START_TEST(waiting_step_yields_and_comes_back)
{
	int64_t ran;

	add(1);
	add(2);
	give((int[]){100, 100}, 2);
	idle = 1;
	run_until(now + 1000 * MS, 2);
	ck_assert_int_eq(run_until(now + 1000 * MS, 2), 1000);
	ck_assert(!frozen(1));
	idle = 0;
	run_until(now + 1000 * MS, 2);
	ran = run_until(now + 2000 * MS, 2);
	ck_assert_int_ge(ran, 950);
	ck_assert_int_le(ran, 1050);
}
END_TEST

/* Programs that compute for a while with two threads' worth, then wait, on two cores. */
struct program {
	int64_t burst_ms, wait_ms; /* wait 0: computes for ever */
	double left_ms;            /* of this burst */
	int64_t until;             /* it waits; 0 it computes */
	int bursts, cuts;          /* ended; frozen in the middle of one */
	bool was_frozen;
	double ran_ms;
};

static bool is_held(int i)
{
	return d.jobs->step[i]->turn.frozen_since_ns != 0;
}

/* From @from until the rotation wants to be called or a burst or a wait ends; returns that time. */
static int64_t go_on(struct program *p, int n, int64_t from)
{
	int64_t to = next;
	int busy = 0;

	for (int i = 0; i < n; i++) {
		p[i].cuts += is_held(i) && !p[i].was_frozen && !p[i].until &&
			     p[i].left_ms < 0.9 * (double)p[i].burst_ms;
		p[i].was_frozen = is_held(i);
		if (!is_held(i) && p[i].until <= from)
			p[i].until = 0;
		if (!is_held(i) && p[i].until > from && p[i].until < to)
			to = p[i].until;
		busy += !is_held(i) && !p[i].until;
	}
	for (int i = 0; i < n; i++)
		if (!is_held(i) && !p[i].until && p[i].wait_ms &&
			from + (int64_t)(p[i].left_ms * busy * MS) < to)
			to = from + (int64_t)(p[i].left_ms * busy * MS) + 1;
	for (int i = 0; i < n; i++) {
		double ms = busy ? (double)(to - from) / MS / busy : 0;

		if (is_held(i) || p[i].until)
			continue;
		p[i].ran_ms += ms;
		p[i].left_ms -= ms;
		put_run((uint32_t)i + 1, (int64_t)p[i].ran_ms, 1);
		if (p[i].wait_ms && p[i].left_ms <= 0) {
			p[i].bursts++;
			p[i].left_ms = (double)p[i].burst_ms;
			p[i].until = to + p[i].wait_ms * MS;
		}
	}
	return to;
}

static int64_t live_on(struct program *p, int n, int64_t t)
{
	now = t = go_on(p, n, t);
	if (t >= next)
		rotate_run(d.levers, t, &next);
	return t;
}

/* Returns the time after which the first @bursting have had @bursts each, ms. */
static int64_t run_programs(struct program *p, int n, int bursting, int bursts)
{
	int64_t start;

	for (int i = 0; i < n; i++)
		p[i].left_ms = (double)p[i].burst_ms;
	plan.n_jobs = plan.n_slices = n;
	for (int i = 0; i < n; i++) {
		add((uint32_t)i + 1);
		snprintf(plan.job[i].id, sizeof(plan.job[i].id), "%d.0", i + 1);
		plan.slice[i].ms = i == 0 ? first_ms : 100;
		plan.slice[i].n_jobs = 1;
		plan.slice[i].job[0] = i;
	}
	start = now;
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	rotate_run(d.levers, now, &next);
	for (;;) {
		int done = 0;

		for (int i = 0; i < bursting; i++)
			done += p[i].bursts >= bursts;
		if (done == bursting)
			return (now - start) / MS;
		now = live_on(p, n, now);
	}
}

START_TEST(bursts_run_one_after_another)
{
	struct program p[4] = {{.burst_ms = 220, .wait_ms = 600}, {.burst_ms = 220, .wait_ms = 600},
		{.burst_ms = 220, .wait_ms = 600}, {.burst_ms = 220, .wait_ms = 600}};
	int64_t ms = run_programs(p, 4, 4, 6);

	/* 24 bursts take 5280 ms, and the first wait hides behind nothing. In step with one
	 * another they would take 6 x 880 + 5 x 600 = 8280; with slices that end in time, 7769. */
	ck_assert_int_ge(ms, 5280);
	ck_assert_int_le(ms, 6800);
	/* Nobody knew of the first ones. */
	for (int i = 0; i < 4; i++)
		ck_assert_int_le(p[i].cuts, 4);
}
END_TEST

/* While the one that goes before them waits, the others' bursts are of one piece, too. */
START_TEST(bursts_behind_a_foreground_run_one_after_another)
{
	struct program p[4] = {{.burst_ms = 220, .wait_ms = 600}, {.burst_ms = 220, .wait_ms = 600},
		{.burst_ms = 220, .wait_ms = 600}, {.burst_ms = 220, .wait_ms = 600}};
	int bursts = 0, cuts = 0;
	int64_t ms;

	first_ms = 10000;
	ms = run_programs(p, 4, 4, 6);
	ck_assert_int_le(p[0].cuts, 1);
	ck_assert_int_ge(p[0].bursts, (int)(ms / 820));
	for (int i = 0; i < 4; i++) {
		bursts += p[i].bursts;
		cuts += p[i].cuts;
	}
	/* In turns of 44 ms, all there is beside a foreground, it was 79 % of the time, and more
	 * than two cuts in each burst. */
	ck_assert_int_ge(bursts * 220, (int)(0.85 * (double)ms));
	ck_assert_int_le(cuts, bursts);
}
END_TEST

/* A slice may be longer for its weight: who goes first is the policy's to say. */
START_TEST(who_computes_in_bursts_keeps_the_length_of_his_slice)
{
	struct program p[2] = {{.burst_ms = 220, .wait_ms = 600}, {.burst_ms = 1, .wait_ms = 0}};

	first_ms = 200;
	run_programs(p, 2, 1, 6);
	ck_assert(d.jobs->step[0]->turn.burst.known);
	ck_assert_int_eq(d.levers->rotate->ms[0], 200);
}
END_TEST

START_TEST(wait_after_a_long_burst_is_seen)
{
	struct program p[2] = {{.burst_ms = 1000, .wait_ms = 300}, {.burst_ms = 1, .wait_ms = 0}};
	int64_t ms = run_programs(p, 2, 1, 5);

	/* Each wait but the last is the other's, and half of the rest. */
	ck_assert_int_ge((int64_t)p[1].ran_ms, 4 * (300 - 110) + (ms - 4 * 300) / 2 - 400);
}
END_TEST

START_TEST(bursts_take_no_more_than_a_share)
{
	struct program p[3] = {{.burst_ms = 500, .wait_ms = 300}, {.burst_ms = 1, .wait_ms = 0},
		{.burst_ms = 1, .wait_ms = 0}};
	int64_t ms = run_programs(p, 3, 1, 10);
	double ran_ms;

	/* In line for a third of the time, and a third of its waits besides, a slice apart; each of
	 * its waits is seen within 25 ms, in which nobody runs. */
	ran_ms = p[0].ran_ms + p[1].ran_ms + p[2].ran_ms;
	ck_assert_int_ge((int64_t)ran_ms, ms - 10 * 25);
	ck_assert_int_ge((int64_t)p[1].ran_ms, (int64_t)(ran_ms / 3) - 100);
	ck_assert_int_ge((int64_t)p[2].ran_ms, (int64_t)(ran_ms / 3) - 100);
}
END_TEST

/* How long any of @n programs was frozen in one piece, at most, in ten seconds. */
static int64_t longest_freeze(struct program *p, int n)
{
	int64_t since[JOBS_MAX] = {0}, longest = 0;

	for (int64_t end = now + 10000 * MS; now < end;) {
		now = live_on(p, n, now);
		for (int i = 0; i < n; i++) {
			since[i] = !is_held(i) ? 0 : since[i] ? since[i] : now;
			if (since[i] && now - since[i] > longest)
				longest = now - since[i];
		}
	}
	return longest;
}

START_TEST(bursts_freeze_nobody_beyond_the_limit)
{
	struct program p[3] = {{.burst_ms = 2000, .wait_ms = 900}, {.burst_ms = 1, .wait_ms = 0},
		{.burst_ms = 1, .wait_ms = 0}};
	int64_t longest;

	d.conf->freeze_max_ms = 400;
	run_programs(p, 3, 1, 1);
	longest = longest_freeze(p, 3);
	ck_assert_int_gt(longest, 0);
	ck_assert_int_le(longest, 400 * MS);
}
END_TEST

/* Its slice begins anew each time; what is left of the others' round does not. */
START_TEST(lending_freezes_nobody_beyond_the_limit)
{
	static const int wait_ms[] = {25, 40, 110};
	struct program p[4] = {{.burst_ms = 170, .wait_ms = wait_ms[_i]},
		{.burst_ms = 1, .wait_ms = 0}, {.burst_ms = 1, .wait_ms = 0},
		{.burst_ms = 1, .wait_ms = 0}};
	int64_t longest;
	double ran_ms = 0;

	first_ms = 10000;
	d.conf->freeze_max_ms = 1000;
	run_programs(p, 4, 1, 1);
	for (int i = 0; i < 4; i++)
		p[i].ran_ms = 0;
	longest = longest_freeze(p, 4);
	ck_assert_int_gt(longest, 0);
	ck_assert_int_le(longest, 1000 * MS);
	/* And each has its turns: 10 ms of 900 by the plan, where the first one never waits. */
	for (int i = 0; i < 4; i++) {
		ck_assert_double_ge(p[i].ran_ms, 10000.0 / 900 * 10 / 2);
		ran_ms += p[i].ran_ms;
	}
	/* Of each wait the others have all but what it takes to see it. */
	ck_assert_double_ge(ran_ms, 10000 - p[0].ran_ms / 170 * 35);
}
END_TEST

START_TEST(all_waiting_all_run)
{
	add(1);
	add(2);
	give((int[]){100, 100}, 2);
	for (int i = 0; i < 10; i++) { /* nobody's account grows */
		now = next;
		rotate_run(d.levers, now, &next);
	}
	ck_assert(!frozen(1) && !frozen(2));
	ck_assert_int_gt(next, now);
}
END_TEST

/* Time goes on to @until by the deadlines asked for; job i has computed with @threads[i - 1] while
 * it was not frozen. */
static void compute(int64_t until, const double *threads)
{
	while (now < until) {
		int64_t to = next && next < until ? next : until;

		for (int i = 0; i < d.jobs->n; i++) {
			if (!frozen((uint32_t)i + 1))
				total_ms[i] += threads[i] * (double)(to - now) / MS;
			put_run((uint32_t)i + 1, (int64_t)total_ms[i], 1);
		}
		now = to;
		if (now == next)
			rotate_run(d.levers, now, &next);
	}
}

/* Two that take turns, and a third that has just been started. */
static struct step *begin_third(void)
{
	const int three[] = {100, 100, 100};
	struct step *s;

	add(1);
	add(2);
	give(three, 2);
	s = add(3);
	s->start_mono_ns = now;
	plan.n_jobs = plan.n_slices = 3;
	plan.slice[2].ms = 100;
	plan.slice[2].n_jobs = 1;
	plan.slice[2].job[0] = 2;
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	rotate_run(d.levers, now, &next);
	return s;
}

/* MPI_Init: hardly any processor time, but messages back and forth. */
START_TEST(step_that_starts_is_not_frozen)
{
	const double starts[] = {1, 1, 0.3}, computes[] = {1, 1, 1};
	const struct step *s = begin_third();
	int64_t begin = now;

	for (int i = 0; i < 60; i++) {
		compute(begin + i * 10 * MS, starts);
		ck_assert(!frozen(3));
		ck_assert(frozen(1) != frozen(2)); /* they go on */
	}
	ck_assert_int_gt(d.jobs->step[0]->turn.frozen_ns, 200 * MS);
	ck_assert_int_gt(d.jobs->step[1]->turn.frozen_ns, 200 * MS);
	begin = now;
	while (!frozen(3) && now - begin < 1000 * MS)
		compute(now + 10 * MS, computes);
	/* Seen in two looks, and then its slice may be the current one. */
	ck_assert_int_le(now - begin, (150 + 100) * MS);
	begin = now;
	compute(begin + 3000 * MS, computes);
	ck_assert_int_ge(s->turn.frozen_ns, 1800 * MS);
	ck_assert_int_le(s->turn.frozen_ns, 2200 * MS);
}
END_TEST

START_TEST(step_takes_turns_when_it_has_started_for_long_enough)
{
	const double half[] = {1, 1, 0.5};
	const struct step *s = begin_third();
	int64_t begin = now;

	while (!frozen(3) && now - begin < 5000 * MS)
		compute(now + 10 * MS, half);
	ck_assert_int_ge(now - begin, 900 * MS);
	ck_assert_int_le(now - begin, 1300 * MS);
	compute(now + 3000 * MS, half);
	ck_assert_int_ge(s->turn.frozen_ns, 1700 * MS);
}
END_TEST

/* It starts, and then reads its input from a slow disk: at nobody's cost. */
START_TEST(step_that_waits_when_it_has_started_is_not_frozen)
{
	const double waits[] = {1, 1, 0.02};
	int64_t begin;

	begin_third();
	begin = now;
	for (int i = 0; i < 200; i++) {
		compute(begin + i * 10 * MS, waits);
		ck_assert(!frozen(3));
	}
}
END_TEST

START_TEST(steps_that_all_start_all_run)
{
	const double starts[] = {0.3, 0.3};
	int64_t begin = now;

	for (uint32_t i = 0; i < 2; i++) {
		add(i + 1)->start_mono_ns = begin;
		plan.slice[i].ms = 100;
		plan.slice[i].n_jobs = 1;
		plan.slice[i].job[0] = (int)i;
	}
	plan.n_jobs = plan.n_slices = 2;
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	rotate_run(d.levers, now, &next);
	for (int i = 0; i < 90; i++) {
		compute(begin + i * 10 * MS, starts);
		ck_assert(!frozen(1) && !frozen(2));
	}
	compute(begin + 1500 * MS, starts);
	ck_assert(frozen(1) != frozen(2));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("turns");
	TCase *tc;

	tc = tcase_create("who waits yields his slice");
	tcase_add_checked_fixture(tc, setup_programs, teardown);
	tcase_add_test(tc, waiting_step_yields_and_comes_back);
	tcase_add_test(tc, all_waiting_all_run);
	tcase_add_test(tc, bursts_run_one_after_another);
	tcase_add_test(tc, bursts_behind_a_foreground_run_one_after_another);
	tcase_add_test(tc, who_computes_in_bursts_keeps_the_length_of_his_slice);
	tcase_add_test(tc, wait_after_a_long_burst_is_seen);
	tcase_add_test(tc, bursts_take_no_more_than_a_share);
	tcase_add_test(tc, bursts_freeze_nobody_beyond_the_limit);
	tcase_add_loop_test(tc, lending_freezes_nobody_beyond_the_limit, 0, 3);
	suite_add_tcase(s, tc);
	tc = tcase_create("who starts is not frozen");
	tcase_add_checked_fixture(tc, setup_programs, teardown);
	tcase_add_test(tc, step_that_starts_is_not_frozen);
	tcase_add_test(tc, steps_that_all_start_all_run);
	tcase_add_test(tc, step_takes_turns_when_it_has_started_for_long_enough);
	tcase_add_test(tc, step_that_waits_when_it_has_started_is_not_frozen);
	suite_add_tcase(s, tc);
	return rotation_run(s);
}
