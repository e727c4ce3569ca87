/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/counters/callpick.h"

#define HIT_S 10e-6 /* in a virtual machine */
/* So many times that a team is held up by a call of its master's, and for how long all are by a
 * window besides. */
#define TEAM     3
#define WINDOW_S 2e-3
static const struct callpick_cfg cfg = {.budget = 0.005, .hit_cost_s = HIT_S};

/*
 * A function of a made-up program: between @from_s and @until_s it is called @per_s times a second
 * in the first @duty of each @period_s, and not in the rest.
 */
struct function {
	enum call_class class;
	double per_s, period_s, duty;
	double from_s, until_s;
	double before_per_s; /* before @from_s */
	double jitter;       /* of how many calls there are in each second, by its number */
};

static double noise(double second)
{
	double x = sin(second * 12.9898 + 78.233) * 43758.5453;

	return x - floor(x) - 0.5;
}

/* Its calls up to @t. */
static double calls_until(const struct function *f, double t)
{
	double until = f->until_s > 0 ? f->until_s : INFINITY, calls = 0, whole, before;

	before = floor(fmin(t, f->from_s) * f->before_per_s);
	t = fmin(t, until) - f->from_s;
	if (t <= 0)
		return before;
	if (f->period_s > 0) {
		whole = floor(t / f->period_s);
		t = whole * f->period_s * f->duty +
		    fmin(t - whole * f->period_s, f->duty * f->period_s);
		return before + floor(t * f->per_s);
	}
	if (f->jitter > 0) {
		for (double s = 0; s < t; s += 0.05)
			calls += f->per_s * fmin(0.05, t - s) * (1 + 2 * f->jitter * noise(s));
		return before + floor(calls);
	}
	return before + floor(t * f->per_s);
}

struct run {
	const struct function *f;
	int n, callers;
	double cores, t, last_t;
	double start_s; /* so long it waits for files */
	double awake;   /* the share of the time in which it is not frozen; 0: all */
	struct callpick pick;
	struct callpick_plan plan;
	double hits, windows_calls, windows_s;
	int windows;
};

static void begin(struct run *r, const struct function *f, int n, double cores)
{
	*r = (struct run){.f = f, .n = n, .cores = cores};
	callpick_init(&r->pick, 1);
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(callpick_candidate(&r->pick, f[i].class, true, 1), i);
}

static void check_plan(const struct run *r)
{
	const struct callpick_plan *p = &r->plan;
	int places = 0;

	ck_assert_int_ge(p->gap_ns, 0);
	ck_assert_int_le(p->n, CALLPICK_AT_ONCE);
	for (int i = 0; i < p->n; i++) {
		ck_assert_int_ge(p->candidate[i], 0);
		ck_assert_int_lt(p->candidate[i], r->n);
		ck_assert(!r->pick.candidate[p->candidate[i]].refused);
		places += r->pick.candidate[p->candidate[i]].places;
	}
	ck_assert_int_le(places, CALLPICK_AT_ONCE);
	if (p->what == CALLPICK_NONE)
		return;
	ck_assert_int_ge(p->n, 1);
	if (p->what != CALLPICK_ALWAYS)
		ck_assert(
			p->length_ns >= 20000000 && p->length_ns <= 2000000000 && p->max_hits > 0);
}

/* One step of what the daemon does with it. */
static void step(struct run *r)
{
	struct callpick_counted counted[CALLPICK_AT_ONCE];
	double from, length, awake = r->awake > 0 ? r->awake : 1;
	uint64_t all = 0;

	callpick_next(&r->pick, &cfg, &r->plan);
	check_plan(r);
	r->t += (double)r->plan.gap_ns * 1e-9 * awake;
	if (r->plan.what == CALLPICK_NONE)
		return;
	from = r->t;
	length = r->plan.what == CALLPICK_ALWAYS ? 0.2 : (double)r->plan.length_ns * 1e-9 * awake;
	for (double end = length;; end = length) {
		all = 0;
		for (int i = 0; i < r->plan.n; i++) {
			const struct function *f = &r->f[r->plan.candidate[i]];

			counted[i].candidate = r->plan.candidate[i];
			counted[i].per_s = NAN;
			counted[i].callers = r->callers;
			counted[i].calls =
				(uint64_t)(calls_until(f, from + end) - calls_until(f, from));
			all += counted[i].calls;
		}
		/* The worker sees it then, at its first look after some ms. */
		if (r->plan.what == CALLPICK_ALWAYS || all <= r->plan.max_hits || length <= 0.002)
			break;
		length = fmax(0.002, length * 0.9 * (double)r->plan.max_hits / (double)all);
	}
	r->t = from + length;
	r->hits += (double)all;
	if (r->plan.what == CALLPICK_WINDOWS) {
		r->windows++;
		r->windows_calls += (double)all;
		r->windows_s += length;
	}
	callpick_add(&r->pick, &cfg, length, r->t - r->last_t,
		length * (r->t < r->start_s ? 0.1 : r->cores), false, counted, r->plan.n);
	r->last_t = r->t;
}

static void run_until(struct run *r, double t)
{
	while (r->t < t)
		step(r);
}

/* Until something is chosen: when that was. */
static double choose(struct run *r, double at_most)
{
	while (r->t < at_most && r->pick.chosen < 0)
		step(r);
	if (r->pick.chosen >= 0)
		callpick_next(&r->pick, &cfg, &r->plan);
	return r->t;
}

/* So many pay for its calls at the same time. */
static double payers(const struct run *r)
{
	return fmin(r->cores, r->callers > 1 ? r->callers : 1);
}

/* What it has cost, in seconds of processor time, beyond the budget. */
static double beyond(const struct run *r)
{
	return r->hits * HIT_S - cfg.budget * payers(r) * r->t;
}

static const char *why(const struct run *r)
{
	static char text[160];

	return callpick_why(&r->pick, &cfg, text, sizeof(text));
}

START_TEST(steady_regions_are_taken_within_two_seconds)
{
	const struct function f[] = {
		{.class = CALL_WAIT, .per_s = 150}, {.class = CALL_REGION, .per_s = 100}};
	struct run r;

	begin(&r, f, 2, 2);
	ck_assert_str_ne(why(&r), "");
	ck_assert(choose(&r, 60) < 2);
	ck_assert_int_eq(r.pick.chosen, 1);
	ck_assert_int_eq(r.plan.what, CALLPICK_ALWAYS);
	ck_assert_str_eq(why(&r), "");
}
END_TEST

START_TEST(what_the_site_names_is_taken_if_it_will_do)
{
	const struct function f[] = {{.class = CALL_REGION, .per_s = 200},
		{.class = CALL_OWN, .per_s = 20, .jitter = 0.05}};
	struct run r;

	begin(&r, f, 2, 2);
	choose(&r, 60);
	ck_assert_int_eq(r.pick.chosen, 1);
}
END_TEST

START_TEST(what_varies_is_left_for_what_is_steady)
{
	const struct function f[] = {{.class = CALL_REGION, .per_s = 400, .jitter = 0.9},
		{.class = CALL_SEND, .per_s = 100},
		{.class = CALL_COLLECTIVE, .per_s = 40, .period_s = 0.7, .duty = 0.3}};
	struct run r;

	begin(&r, f, 3, 2);
	ck_assert(choose(&r, 60) < 3);
	ck_assert_int_eq(r.pick.chosen, 1);
}
END_TEST

/* As LAMMPS: each 20 steps a line of output, told by collectives. Beside neighbours half a second
 * has one of them, or two. */
START_TEST(what_is_so_rare_that_it_tells_little_is_left)
{
	const struct function f[] = {{.class = CALL_SEND, .per_s = 900, .jitter = 0.6},
		{.class = CALL_COLLECTIVE, .per_s = 10, .from_s = -0.09}};
	struct run r;

	begin(&r, f, 2, 2);
	r.callers = 2;
	choose(&r, 60);
	ck_assert_int_eq(r.pick.chosen, 0);
}
END_TEST

/* As GROMACS: 2 500 regions a second would take a tenth of its time. */
START_TEST(what_is_called_often_is_counted_in_windows_within_the_budget)
{
	const struct function f[] = {{.class = CALL_REGION, .per_s = 2500}};
	struct run r;

	begin(&r, f, 1, 2);
	ck_assert(choose(&r, 60) < 2);
	ck_assert_int_eq(r.plan.what, CALLPICK_WINDOWS);
	run_until(&r, 120);
	ck_assert_int_gt(r.windows, 100);
	ck_assert(fabs(r.windows_calls / r.windows_s / 2500 - 1) < 0.01);
	r.hits = r.hits * TEAM + r.windows * WINDOW_S / HIT_S;
	ck_assert(beyond(&r) < 0.1 * cfg.budget * payers(&r) * 60);
}
END_TEST

/* A team of sixteen waits for its master, and sleeps meanwhile; sixteen ranks do not wait for each
 * other's traps. */
START_TEST(what_one_of_a_team_calls_costs_the_time_of_all)
{
	for (int callers = 1; callers <= 16; callers += 15) {
		const struct function f[] = {
			{.class = callers > 1 ? CALL_COLLECTIVE : CALL_REGION, .per_s = 10000}};
		double most = cfg.budget * callers * 120, spent;
		struct run r;

		begin(&r, f, 1, 16);
		r.callers = callers;
		run_until(&r, 120);
		ck_assert_int_eq(r.pick.chosen, 0);
		spent = r.hits * HIT_S * (callers > 1 ? 1 : TEAM) + r.windows * WINDOW_S * callers;
		ck_assert_msg(spent < 1.2 * most, "of %d: %.2f s", callers, spent);
		ck_assert_msg(spent > 0.5 * most, "of %d: %.2f s", callers, spent);
	}
}
END_TEST

/* An MPI program that sends often: its solver's collective is found without waiting for windows of
 * each of the dear ones, which take the budget of half a minute. */
START_TEST(what_can_be_counted_always_is_looked_for_first)
{
	const struct function f[] = {{.class = CALL_SEND, .per_s = 60000},
		{.class = CALL_RECEIVE, .per_s = 60000}, {.class = CALL_WAIT, .per_s = 50000},
		{.class = CALL_SEND, .per_s = 40000}, {.class = CALL_WAIT, .per_s = 30000},
		{.class = CALL_BARRIER, .per_s = 300, .jitter = 0.1}};
	struct run r;

	begin(&r, f, 6, 2);
	r.callers = 2;
	ck_assert(choose(&r, 60) < 2.5);
	ck_assert_int_eq(r.pick.chosen, 5);
	ck_assert_int_eq(r.plan.what, CALLPICK_ALWAYS);
}
END_TEST

/* As Quantum ESPRESSO, small: all that it calls often is known when one is that holds it up least.
 */
START_TEST(of_what_is_called_often_the_rarest_is_looked_at)
{
	const struct function f[] = {{.class = CALL_COLLECTIVE, .per_s = 25000, .jitter = 0.1},
		{.class = CALL_COLLECTIVE, .per_s = 14000, .jitter = 0.1},
		{.class = CALL_COLLECTIVE, .per_s = 6000, .jitter = 0.1},
		{.class = CALL_BARRIER, .per_s = 16000, .jitter = 0.1}};
	struct run r;

	begin(&r, f, 4, 2);
	r.callers = 2;
	ck_assert(choose(&r, 60) < 3);
	ck_assert_int_eq(r.pick.chosen, 2);
	for (int k = 0; k < 4; k++)
		ck_assert_int_eq(r.pick.candidate[k].n > 0, k == 2);
}
END_TEST

/* It is called once in each of a solver's steps: a glance most often misses it. */
START_TEST(a_rare_one_that_the_glance_missed_is_taken_before_a_dear_one)
{
	const struct function f[] = {
		{.class = CALL_BARRIER, .per_s = 16000}, {.class = CALL_COLLECTIVE, .per_s = 25}};
	struct run r;

	begin(&r, f, 2, 2);
	r.callers = 2;
	ck_assert(choose(&r, 60) < 3);
	ck_assert_int_eq(r.pick.chosen, 1);
	ck_assert_int_eq(r.plan.what, CALLPICK_ALWAYS);
}
END_TEST

/* As LAMMPS of two ranks: none of them can be counted always with another, all can for a while. */
START_TEST(some_hundred_calls_a_second_each_are_looked_at_together)
{
	const struct function f[] = {{.class = CALL_SEND, .per_s = 900, .jitter = 0.1},
		{.class = CALL_RECEIVE, .per_s = 900, .jitter = 0.1},
		{.class = CALL_WAIT, .per_s = 900, .jitter = 0.1},
		{.class = CALL_COLLECTIVE, .per_s = 40, .jitter = 0.3}, {.class = CALL_COLLECTIVE},
		{.class = CALL_BARRIER}};
	struct run r;

	begin(&r, f, 6, 2);
	r.callers = 2;
	ck_assert(choose(&r, 60) < 1.2);
	ck_assert_int_le(r.pick.chosen, 2);
	run_until(&r, 20);
	ck_assert(beyond(&r) < 6 * cfg.budget * payers(&r));
}
END_TEST

/* As ScaLAPACK's LU: it deals out its matrix by sends, which go on; what goes with its work, and
 * costs little, begins after that. What the first windows have of its start is not how it runs. */
START_TEST(sends_of_the_start_do_not_take_the_budget_of_what_follows)
{
	static const struct {
		double from_s, known_s;
	} cases[] = {{0.5, 3}, {1.5, 6}, {6, 12}};
	const double from_s = cases[_i].from_s;
	const struct function f[] = {{.class = CALL_SEND, .per_s = 100000, .from_s = 0.05},
		{.class = CALL_RECEIVE, .per_s = 100000, .from_s = 0.05},
		{.class = CALL_COLLECTIVE, .per_s = 2500, .from_s = from_s},
		{.class = CALL_BARRIER, .per_s = 900, .from_s = from_s}, {.class = CALL_COLLECTIVE},
		{.class = CALL_COLLECTIVE}, {.class = CALL_WAIT}, {.class = CALL_WAIT},
		{.class = CALL_ONESIDED}, {.class = CALL_SEND}, {.class = CALL_RECEIVE}};
	struct run r;

	begin(&r, f, 11, 2);
	r.callers = 2;
	r.start_s = 0.3;
	while (r.t < 60 && r.pick.chosen != 2 && r.pick.chosen != 3)
		step(&r);
	ck_assert_msg(r.t < cases[_i].known_s, "known after %.1f s", r.t);
	run_until(&r, 60);
	ck_assert(r.pick.chosen == 2 || r.pick.chosen == 3);
	ck_assert(beyond(&r) < 6 * cfg.budget * payers(&r));
}
END_TEST

/* Steps of 42 ms, a third of which without a call: windows of 60 ms have one such third, or two. */
START_TEST(windows_that_differ_grow_and_cost_no_more)
{
	const struct function f[] = {
		{.class = CALL_COLLECTIVE, .per_s = 9000, .period_s = 0.042, .duty = 0.66}};
	struct run r;
	int windows;

	begin(&r, f, 1, 2);
	r.callers = 2;
	run_until(&r, 20);
	ck_assert_int_eq(r.plan.what, CALLPICK_WINDOWS);
	ck_assert_int_gt(r.plan.length_ns, 100000000);
	windows = r.windows;
	run_until(&r, 120);
	ck_assert_int_gt(r.windows - windows, 50);
	ck_assert(callpick_spread(&r.pick, 0) < 0.1);
	ck_assert(fabs(r.windows_calls / r.windows_s / (9000 * 0.66) - 1) < 0.01);
	ck_assert(beyond(&r) < 0.1 * cfg.budget * payers(&r) * 60);
}
END_TEST

/* Seen of ScaLAPACK's LU: in each step of some 70 ms a burst of barriers, beside sends that are too
 * many. Windows of about that length have one burst or two. */
START_TEST(one_that_is_called_in_bursts_is_found_by_longer_windows)
{
	for (int i = 0; i < 15; i++) {
		double period = 0.05 + 0.005 * i;
		const struct function f[] = {{.class = CALL_SEND, .per_s = 80000},
			{.class = CALL_RECEIVE, .per_s = 80000}, {.class = CALL_WAIT},
			{.class = CALL_BARRIER,
				.per_s = 200 / 0.1,
				.period_s = period,
				.duty = 0.1}};
		struct run r;

		begin(&r, f, 4, 2);
		ck_assert_msg(choose(&r, 60) < 6, "steps of %.3f s: %.1f s", period, r.t);
		ck_assert_int_eq(r.pick.chosen, 3);
	}
}
END_TEST

/* With any period of the program's, near the windows' own distance and far from it. */
START_TEST(no_period_of_the_program_beats_with_the_windows)
{
	for (double period = 0.03; period < 2; period *= 1.07) {
		const struct function f[] = {
			{.class = CALL_REGION, .per_s = 5000, .period_s = period, .duty = 0.5}};
		struct run r;

		begin(&r, f, 1, 2);
		callpick_prefer(&r.pick, &cfg, 0, 0, NAN);
		run_until(&r, 2000);
		ck_assert_int_gt(r.windows, 500);
		ck_assert_msg(fabs(r.windows_calls / r.windows_s / 2500 - 1) < 0.12,
			"period %.3f s: %.0f a second", period, r.windows_calls / r.windows_s);
	}
}
END_TEST

START_TEST(without_a_steady_function_none_is_chosen_and_the_reason_told)
{
	const struct function uneven[] = {
		{.class = CALL_SEND, .per_s = 300, .period_s = 0.9, .duty = 0.2}};
	const struct function hot[] = {{.class = CALL_TASK, .per_s = 2e6}};
	const struct function none[] = {{.class = CALL_REGION}, {.class = CALL_BARRIER}};
	struct run r;

	begin(&r, uneven, 1, 2);
	while (r.t < 20 && !strstr(why(&r), "steadily"))
		step(&r);
	ck_assert_ptr_nonnull(strstr(why(&r), "steadily: sends vary by "));
	ck_assert_int_lt(r.pick.chosen, 0);
	run_until(&r, 600);
	ck_assert(beyond(&r) < 0);
	begin(&r, hot, 1, 2);
	choose(&r, 20);
	ck_assert_ptr_nonnull(strstr(why(&r), "tasks are too many to be counted cheaply: "));
	run_until(&r, 600);
	ck_assert(beyond(&r) < 0);
	begin(&r, none, 2, 2);
	choose(&r, 20);
	ck_assert_str_eq(why(&r), "none of its 2 functions that could be counted is called");
	begin(&r, NULL, 0, 2);
	step(&r);
	ck_assert_int_eq(r.plan.what, CALLPICK_NONE);
}
END_TEST

START_TEST(where_there_is_nothing_to_choose_it_is_chosen_at_once)
{
	const struct function one[] = {{.class = CALL_REGION, .per_s = 300, .jitter = 0.2},
		{.class = CALL_BARRIER}, {.class = CALL_WAIT}};
	const struct function uneven[] = {
		{.class = CALL_SEND, .per_s = 300, .period_s = 0.9, .duty = 0.2}};
	struct run r;

	begin(&r, one, 3, 2);
	ck_assert(choose(&r, 60) < 0.6);
	ck_assert_int_eq(r.pick.chosen, 0);
	run_until(&r, 60);
	ck_assert_int_eq(r.pick.chosen, 0);
	/* Until it is seen to vary. */
	begin(&r, uneven, 1, 2);
	run_until(&r, 20);
	ck_assert_int_lt(r.pick.chosen, 0);
}
END_TEST

/* Seen of LAMMPS in one of twelve starts: its setup sends its input around when the glances at what
 * its work calls are over, and the same function is called at each output. */
START_TEST(a_rare_one_is_not_taken_for_the_only_one)
{
	const struct function lammps[] = {{.class = CALL_COLLECTIVE, .per_s = 90, .from_s = 0.5},
		{.class = CALL_COLLECTIVE, .per_s = 13}, {.class = CALL_REGION},
		{.class = CALL_SEND, .per_s = 1000, .from_s = 0.5}};
	const struct function alone[] = {
		{.class = CALL_COLLECTIVE, .per_s = 13, .jitter = 0.1}, {.class = CALL_WAIT}};
	struct run r;

	for (int i = 0; i < 20; i++) {
		begin(&r, lammps, 4, 2);
		r.callers = 2;
		r.t = 0.4 + 0.01 * i;
		for (int k = 0; k < 4; k++)
			r.pick.candidate[k].glanced = k != 1;
		ck_assert(choose(&r, 60) < 5);
		ck_assert(r.pick.chosen == 0 || r.pick.chosen == 3);
	}
	begin(&r, alone, 2, 2);
	ck_assert(choose(&r, 60) < 2);
	ck_assert_int_eq(r.pick.chosen, 0);
}
END_TEST

/* Seen: a loop of a program's start, whose work begins half a second later. */
START_TEST(what_only_the_start_calls_is_not_held_on_to)
{
	for (int i = 0; i < 20; i++) {
		const struct function f[] = {
			{.class = CALL_WORKSHARE, .per_s = 300, .until_s = 0.03 + 0.01 * i},
			{.class = CALL_REGION, .per_s = 4000, .from_s = 0.6}};
		struct run r;

		begin(&r, f, 2, 2);
		while (r.t < 10 && r.pick.chosen != 1)
			step(&r);
		ck_assert(r.t < 3);
	}
}
END_TEST

START_TEST(a_function_that_begins_later_is_found)
{
	const struct function f[] = {{.class = CALL_REGION, .per_s = 100, .from_s = 30}};
	struct run r;

	begin(&r, f, 1, 1);
	ck_assert(choose(&r, 60) < 30 + 15);
	ck_assert_int_eq(r.pick.chosen, 0);
}
END_TEST

START_TEST(a_chosen_one_that_falls_silent_is_replaced)
{
	const struct function f[] = {{.class = CALL_REGION, .per_s = 100, .until_s = 20},
		{.class = CALL_COLLECTIVE, .per_s = 50, .from_s = 20}};
	struct run r;

	begin(&r, f, 2, 1);
	choose(&r, 60);
	ck_assert_int_eq(r.pick.chosen, 0);
	run_until(&r, 20);
	while (r.t < 60 && r.pick.chosen != 1)
		step(&r);
	ck_assert_int_eq(r.pick.chosen, 1);
}
END_TEST

START_TEST(what_was_chosen_before_is_taken_as_soon_as_it_calls)
{
	const struct function f[] = {{.class = CALL_REGION, .per_s = 300},
		{.class = CALL_WAIT, .per_s = 500, .jitter = 0.3}};
	struct run r;

	begin(&r, f, 2, 1);
	callpick_prefer(&r.pick, &cfg, 1, 0, NAN);
	ck_assert(choose(&r, 60) < 0.5);
	ck_assert_int_eq(r.pick.chosen, 1);
	/* It cannot be counted any more. */
	callpick_refuse(&r.pick, 1);
	ck_assert(choose(&r, 60) < 3);
	ck_assert_int_eq(r.pick.chosen, 0);
}
END_TEST

/* A fifth of a second of all its calls takes the budget of ten seconds: a program's start says
 * little of how often it is called. */
START_TEST(what_was_called_often_before_is_not_counted_for_long_at_a_start)
{
	static const double before_per_s[] = {0, 4, 40, 120};
	const struct function f[] = {{.class = CALL_REGION,
					     .per_s = 8000,
					     .from_s = 0.6,
					     .before_per_s = before_per_s[_i]},
		{.class = CALL_WAIT, .per_s = 2}};
	double last = 1, apart = 0;
	struct run r;

	begin(&r, f, 2, 1);
	callpick_prefer(&r.pick, &cfg, 0, 8000, NAN);
	while (r.t < 20) {
		int windows = r.windows;

		step(&r);
		ck_assert_int_ne(r.plan.what, CALLPICK_ALWAYS);
		if (r.windows == windows || r.t < 1)
			continue;
		apart = fmax(apart, r.t - last);
		last = r.t;
	}
	ck_assert_msg(apart < 4, "%.1f s without a window", apart);
	ck_assert_int_eq(r.pick.chosen, 0);
}
END_TEST

/* As LAMMPS: its input is told by collectives, and its first sends come after that; or it sends no
 * more, with another input. */
START_TEST(what_was_chosen_before_is_waited_for_a_while)
{
	static const struct {
		double awake, from_s, known_s; /* of its own time */
		int chosen;
	} cases[] = {{1, 1.2, 2, 0}, {1, 1000, 5, 1}, {0.25, 1.2, 2, 0}, {0.25, 1000, 5, 1}};
	const struct function f[] = {{.class = CALL_SEND, .per_s = 200, .from_s = cases[_i].from_s},
		{.class = CALL_COLLECTIVE, .per_s = 20}};
	struct run r;

	begin(&r, f, 2, 2);
	r.awake = cases[_i].awake;
	callpick_prefer(&r.pick, &cfg, 0, 0, NAN);
	ck_assert(choose(&r, 60) < cases[_i].known_s);
	ck_assert_int_eq(r.pick.chosen, cases[_i].chosen);
}
END_TEST

/* One that costs little was chosen since it was steady: what its windows were beside others, or at
 * its end, says nothing against it. */
START_TEST(what_was_called_often_and_unsteadily_before_is_not_preferred)
{
	static const struct {
		double per_s;
		int chosen;
	} cases[] = {{8000, 0}, {500, 1}};
	const struct function f[] = {{.class = CALL_REGION, .per_s = 300},
		{.class = CALL_WAIT, .per_s = cases[_i].per_s, .jitter = 0.3}};
	struct run r;

	begin(&r, f, 2, 1);
	callpick_prefer(&r.pick, &cfg, 1, cases[_i].per_s, 0.5);
	ck_assert(choose(&r, 60) < 3);
	ck_assert_int_eq(r.pick.chosen, cases[_i].chosen);
}
END_TEST

/* As pw.x: of collectives that come in bursts one window each says little, and one for all much. */
START_TEST(of_bursts_that_are_called_often_the_rarest_is_chosen)
{
	const struct function f[] = {
		{.class = CALL_COLLECTIVE, .per_s = 14000, .period_s = 0.12, .duty = 0.6},
		{.class = CALL_COLLECTIVE, .per_s = 25000, .period_s = 0.12, .duty = 0.6},
		{.class = CALL_COLLECTIVE, .per_s = 8000, .period_s = 0.12, .duty = 0.6}};

	for (int seed = 1; seed <= 40; seed++) {
		struct run r;

		begin(&r, f, 3, 2);
		r.pick.seed = (uint64_t)seed;
		r.callers = 2;
		ck_assert(choose(&r, 60) < 4);
		run_until(&r, 20);
		ck_assert_msg(r.pick.chosen == 2, "seed %d: %d", seed, r.pick.chosen);
	}
}
END_TEST

/* What a program reads its input by is not what it works by. */
START_TEST(of_what_is_called_often_the_rarest_of_the_work_is_chosen)
{
	const struct function f[] = {
		{.class = CALL_COLLECTIVE, .per_s = 18000, .from_s = 1.5, .before_per_s = 5000},
		{.class = CALL_COLLECTIVE, .per_s = 5000, .from_s = 1.5, .before_per_s = 15000}};

	for (int seed = 1; seed <= 20; seed++) {
		struct run r;

		begin(&r, f, 2, 2);
		r.pick.seed = (uint64_t)seed;
		r.callers = 2;
		run_until(&r, 30);
		ck_assert_msg(r.pick.chosen == 1, "seed %d: %d", seed, r.pick.chosen);
		run_until(&r, 120);
		ck_assert_int_eq(r.pick.chosen, 1);
		ck_assert(beyond(&r) < 6 * cfg.budget * payers(&r));
	}
}
END_TEST

/* The window that saw both of them was of its start. One that takes two thirds of its callers' time
 * while it is counted is compared, too. */
START_TEST(dearest_one_is_left_for_a_cheaper_one)
{
	for (int i = 0; i < 40; i++) {
		struct function f[10] = {{.class = CALL_REGION,
						 .per_s = 22000,
						 .from_s = 0.1 + 0.01 * i,
						 .before_per_s = 600},
			{.class = CALL_BARRIER, .per_s = 6000}};
		struct run r;

		for (int k = 2; k < 10; k++)
			f[k].class = CALL_REGION;
		begin(&r, f, 10, 2);
		run_until(&r, 20);
		ck_assert_int_eq(r.pick.chosen, 1);
	}
}
END_TEST

/* A window that compares and catches too little of the bursts is not followed by another: the work
 * goes by those of the chosen one. */
START_TEST(what_is_compared_in_vain_has_its_windows_meanwhile)
{
	struct callpick p;
	struct callpick_plan plan;
	int compared = 0, in_a_row = 0;

	callpick_init(&p, 1);
	callpick_candidate(&p, CALL_COLLECTIVE, true, 1);
	callpick_candidate(&p, CALL_SEND, true, 1);
	for (int i = 0; i < 80; i++) {
		struct callpick_counted counted[CALLPICK_AT_ONCE];
		double length;
		bool compares;

		callpick_next(&p, &cfg, &plan);
		length = (double)plan.length_ns * 1e-9;
		compares = p.chosen >= 0 && plan.what == CALLPICK_TRY && plan.n == 2;
		compared += compares;
		in_a_row = compares ? in_a_row + 1 : 0;
		ck_assert_int_le(in_a_row, 1);
		for (int k = 0; k < plan.n; k++)
			counted[k] = (struct callpick_counted){plan.candidate[k],
				compares ? 5 : (uint64_t)(8000 * length), NAN, 2};
		callpick_add(&p, &cfg, length, (double)plan.gap_ns * 1e-9 + length, 2 * length,
			false, counted, plan.n);
	}
	ck_assert_int_ge(compared, 5);
}
END_TEST

/* Short windows have a burst, or two, or hardly any: longer ones tell whether it is steady. */
START_TEST(bursts_are_no_reason_to_leave_it_before_its_windows_are_long)
{
	const struct function f[] = {
		{.class = CALL_COLLECTIVE, .per_s = 20000, .period_s = 0.2, .duty = 0.6},
		{.class = CALL_COLLECTIVE, .per_s = 36000, .period_s = 0.2, .duty = 0.6}};
	int left = 0, told = 0;

	for (int seed = 1; seed <= 40; seed++) {
		struct run r;
		int was = -1, changes = 0;

		begin(&r, f, 2, 2);
		r.pick.seed = (uint64_t)seed;
		r.callers = 2;
		while (r.t < 200) {
			step(&r);
			changes += r.pick.chosen != was;
			was = r.pick.chosen;
			told += was >= 0 && callpick_chosen_spread(&r.pick, &cfg) > 0.3;
		}
		left += changes > 1;
	}
	ck_assert_int_le(left, 4);
	/* So that a later run takes it over. */
	ck_assert_int_eq(told, 0);
}
END_TEST

/* As pw.x: broadcasts tell its input, and come again with its work, seconds later. */
START_TEST(what_was_chosen_before_is_taken_again_when_it_calls_again)
{
	const struct function f[] = {{.class = CALL_COLLECTIVE, .per_s = 100, .from_s = 9},
		{.class = CALL_REGION, .per_s = 50}};
	struct run r;

	begin(&r, f, 2, 2);
	callpick_prefer(&r.pick, &cfg, 0, 0, NAN);
	choose(&r, 60);
	ck_assert_int_eq(r.pick.chosen, 1);
	run_until(&r, 9);
	ck_assert_int_eq(r.pick.chosen, 1);
	run_until(&r, 15);
	ck_assert_int_eq(r.pick.chosen, 0);
	run_until(&r, 60);
	ck_assert_int_eq(r.pick.chosen, 0);
}
END_TEST

/* It is no reason to leave off counting the other. */
START_TEST(who_never_calls_is_looked_for_less_and_less)
{
	const struct function f[] = {{.class = CALL_COLLECTIVE, .per_s = 100, .from_s = 1e6},
		{.class = CALL_REGION, .per_s = 50}};
	double looked_s[2] = {0}; /* in the first minute; later */
	struct run r;

	begin(&r, f, 2, 2);
	callpick_prefer(&r.pick, &cfg, 0, 0, NAN);
	choose(&r, 60);
	while (r.t < 600) {
		double from = r.t;

		step(&r);
		if (r.plan.candidate[0] == 0)
			looked_s[from > 60] += r.t - from;
		ck_assert(r.t < 400 || r.plan.candidate[0] == 1);
		ck_assert_int_eq(r.pick.chosen, 1);
	}
	ck_assert_msg(looked_s[0] > 1 && looked_s[0] < 2 && looked_s[1] < 2, "%.1f s, %.1f s",
		looked_s[0], looked_s[1]);
}
END_TEST

/* As pw.x: steps that last longer than a window. A gain is told by what is attended, an NTT by the
 * same function as alone. */
START_TEST(windows_made_longer_are_no_reason_to_leave_it)
{
	const struct function f[] = {
		{.class = CALL_COLLECTIVE, .per_s = 8000, .period_s = 1.3, .duty = 0.8},
		{.class = CALL_WAIT, .per_s = 20}};
	int longest = 0;
	struct run r;

	begin(&r, f, 2, 2);
	r.callers = 2;
	callpick_prefer(&r.pick, &cfg, 0, 0, NAN);
	choose(&r, 60);
	while (r.t < 200) {
		step(&r);
		longest = r.pick.stretch > longest ? r.pick.stretch : longest;
		ck_assert_int_eq(r.pick.chosen, 0);
		ck_assert(callpick_bears_attention(&r.pick, &cfg));
	}
	ck_assert_int_eq(longest, 2);
}
END_TEST

/* On one core or two: what its calls cost is now below, now above what is far apart. */
START_TEST(one_that_was_left_for_its_cost_is_not_taken_again)
{
	const struct function f[] = {
		{.class = CALL_COLLECTIVE, .per_s = 40000}, {.class = CALL_WAIT, .per_s = 20}};
	struct run r;
	int changes = 0;

	begin(&r, f, 2, 1);
	r.callers = 2;
	callpick_prefer(&r.pick, &cfg, 0, 0, NAN);
	while (r.t < 300) {
		int before = r.pick.chosen;

		r.cores = fmod(r.t, 40) < 20 ? 1 : 2;
		step(&r);
		changes += before >= 0 && r.pick.chosen != before;
	}
	ck_assert_int_le(changes, 1);
}
END_TEST

/* A neighbour halves what it runs, now and then: its calls per second of processor time stay. */
START_TEST(neighbours_do_not_make_a_function_unsteady)
{
	struct callpick p;
	struct callpick_plan plan;
	double share;

	callpick_init(&p, 7);
	callpick_candidate(&p, CALL_REGION, true, 1);
	for (int i = 0; i < CALLPICK_KEPT + 5; i++) {
		callpick_next(&p, &cfg, &plan);
		share = i % 2 ? 0.3 : 1;
		callpick_add(&p, &cfg, 0.1, 0.15, 0.1 * share, false,
			&(struct callpick_counted){0, (uint64_t)(40 * share), NAN, 1}, 1);
	}
	ck_assert_int_eq(p.chosen, 0);
	ck_assert(callpick_spread(&p, 0) < 0.01);
}
END_TEST

/* Any programs: bounds hold, and over time the budget does. */
START_TEST(whatever_the_program_the_budget_holds)
{
	for (int seed = 0; seed < 60; seed++) {
		struct function f[CALLPICK_MAX] = {0};
		struct run r;
		int n = 1 + seed % CALLPICK_MAX;

		for (int i = 0; i < n; i++) {
			double x = noise(seed * 100 + i) + 0.5, y = noise(seed * 1000 + i) + 0.5;

			f[i] = (struct function){.class = (enum call_class)(i % (CALL_TASK + 1)),
				.per_s = x < 0.2 ? 0 : pow(10, 6 * y),
				.period_s = x > 0.7 ? 2 * y : 0,
				.duty = 0.4,
				.from_s = x > 0.5 ? 20 * y : 0};
		}
		begin(&r, f, n, 0.5 + seed % 4);
		run_until(&r, 900);
		/* Some seconds of it are spent ahead, once. */
		ck_assert_msg(beyond(&r) < 6 * cfg.budget * payers(&r), "seed %d: %.3f s", seed,
			beyond(&r));
	}
}
END_TEST

START_TEST(there_is_an_end_to_candidates)
{
	struct callpick p;

	callpick_init(&p, 1);
	for (int i = 0; i < CALLPICK_MAX; i++)
		ck_assert_int_eq(callpick_candidate(&p, CALL_SEND, false, 1), i);
	ck_assert_int_eq(callpick_candidate(&p, CALL_SEND, false, 1), -1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("callpick");
	TCase *tc = tcase_create("the function that marks the work is found");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, steady_regions_are_taken_within_two_seconds);
	tcase_add_test(tc, what_the_site_names_is_taken_if_it_will_do);
	tcase_add_test(tc, what_varies_is_left_for_what_is_steady);
	tcase_add_test(tc, without_a_steady_function_none_is_chosen_and_the_reason_told);
	tcase_add_test(tc, where_there_is_nothing_to_choose_it_is_chosen_at_once);
	tcase_add_test(tc, a_rare_one_is_not_taken_for_the_only_one);
	tcase_add_test(tc, what_only_the_start_calls_is_not_held_on_to);
	tcase_add_test(tc, a_function_that_begins_later_is_found);
	tcase_add_test(tc, a_chosen_one_that_falls_silent_is_replaced);
	tcase_add_test(tc, what_was_chosen_before_is_taken_as_soon_as_it_calls);
	tcase_add_test(tc, some_hundred_calls_a_second_each_are_looked_at_together);
	tcase_add_loop_test(tc, what_was_chosen_before_is_waited_for_a_while, 0, 4);
	tcase_add_test(tc, what_was_chosen_before_is_taken_again_when_it_calls_again);
	tcase_add_test(tc, who_never_calls_is_looked_for_less_and_less);
	tcase_add_test(tc, windows_made_longer_are_no_reason_to_leave_it);
	tcase_add_test(tc, one_that_was_left_for_its_cost_is_not_taken_again);
	tcase_add_test(tc, neighbours_do_not_make_a_function_unsteady);
	tcase_add_test(tc, there_is_an_end_to_candidates);
	tcase_add_loop_test(tc, what_was_called_often_and_unsteadily_before_is_not_preferred, 0, 2);
	tcase_add_test(tc, of_bursts_that_are_called_often_the_rarest_is_chosen);
	tcase_add_test(tc, of_what_is_called_often_the_rarest_of_the_work_is_chosen);
	tcase_add_test(tc, dearest_one_is_left_for_a_cheaper_one);
	tcase_add_test(tc, what_is_compared_in_vain_has_its_windows_meanwhile);
	tcase_add_test(tc, bursts_are_no_reason_to_leave_it_before_its_windows_are_long);
	tcase_add_loop_test(
		tc, what_was_called_often_before_is_not_counted_for_long_at_a_start, 0, 4);
	suite_add_tcase(s, tc);
	tc = tcase_create("counting has a budget");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_is_so_rare_that_it_tells_little_is_left);
	tcase_add_test(tc, what_is_called_often_is_counted_in_windows_within_the_budget);
	tcase_add_test(tc, what_one_of_a_team_calls_costs_the_time_of_all);
	tcase_add_test(tc, what_can_be_counted_always_is_looked_for_first);
	tcase_add_test(tc, one_that_is_called_in_bursts_is_found_by_longer_windows);
	tcase_add_test(tc, no_period_of_the_program_beats_with_the_windows);
	tcase_add_test(tc, of_what_is_called_often_the_rarest_is_looked_at);
	tcase_add_test(tc, a_rare_one_that_the_glance_missed_is_taken_before_a_dear_one);
	tcase_add_loop_test(tc, sends_of_the_start_do_not_take_the_budget_of_what_follows, 0, 3);
	tcase_add_test(tc, windows_that_differ_grow_and_cost_no_more);
	tcase_add_test(tc, whatever_the_program_the_budget_holds);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
