/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slice that is much longer than the others: who waits in it, who lends it and comes back, and
 * what becomes of it when he ends. test_turns has slices of one length.
 */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/choose/internal.h"
#include "nodesvc/levers/internal.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/rotation.h"

/* One slice may be much longer than the others (gang's foreground). Jobs 1..n; to the start of 1's.
 */
static void begin_long_slice(int n)
{
	for (int i = 0; i < n; i++)
		add((uint32_t)i + 1);
	give((int[]){4000, 100, 100}, n);
	while (frozen(1))
		turn();
}

START_TEST(who_waits_in_a_long_slice_yields_soon)
{
	int64_t begin;

	begin_long_slice(2);
	begin = now;
	ck_assert(frozen(2));
	idle = 1;
	while (frozen(2))
		turn();
	ck_assert_int_le(now - begin, 30 * MS);
}
END_TEST

/* All of one process, and asleep. */
static void add_threads(uint32_t job, int n)
{
	char path[160], text[1024];
	int len = snprintf(text, sizeof(text), "%u\n", job * 10);

	for (uint32_t tid = job * 1000; n > 0; n--, tid++) {
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%u\n", tid);
		snprintf(path, sizeof(path), "proc/%u/task/%u/stat", job * 10, tid);
		fstree_put(&tree, path, "1 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100\n");
		snprintf(path, sizeof(path), "proc/%u/schedstat", tid);
		fstree_put(&tree, path, "0 0 1\n");
	}
	snprintf(path, sizeof(path), "%.120s/tasks", d.jobs->step[job - 1]->cgroup.step_path);
	fstree_put(&tree, path, text);
}

/* To read them all would take half a millisecond. */
START_TEST(many_threads_are_looked_at_seldom)
{
	int64_t begin;

	add(1);
	add_threads(1, 50);
	add(2);
	give((int[]){4000, 100}, 2);
	while (frozen(1))
		turn();
	run_until(now + 500 * MS, 1);
	ck_assert_int_eq(d.jobs->step[0]->turn.list.n, 51);
	begin = now;
	idle = 1;
	while (frozen(2))
		turn();
	ck_assert_int_ge(now - begin, 50 * MS);
	ck_assert_int_le(now - begin, 120 * MS);
}
END_TEST

/* A moment's wait is others', but not more than it. */
START_TEST(foreground_that_comes_back_goes_on_at_once)
{
	begin_long_slice(3);
	for (int k = 0; k < 5; k++) {
		run_until(now + 300 * MS, 1);
		ck_assert(frozen(2) && frozen(3));
		idle = 1;
		run_until(now + 60 * MS, 1);
		ck_assert(!frozen(1) && frozen(2) != frozen(3));
		idle = 0;
		run_until(now + 20 * MS, 1);
		ck_assert(!frozen(1) && frozen(2) && frozen(3));
	}
	ck_assert(!d.jobs->step[0]->turn.burst.known);
	/* Who is away for longer comes and goes: for the policy to say who goes first. */
	idle = 1;
	run_until(now + 250 * MS, 1);
	idle = 0;
	run_until(now + 20 * MS, 1);
	ck_assert(d.jobs->step[0]->turn.burst.known);
	ck_assert(!frozen(1) && frozen(2) && frozen(3));
}
END_TEST

static struct {
	int64_t wanted_ms, served_ms;
} sums[2];

/* Of jobs 1 and 2, since the last call. */
static void read_sums(void)
{
	static int64_t wanted_ns[2], served_ns[2];

	for (int i = 0; i < 2; i++) {
		int64_t wanted = turn_wanted_ns(&d.jobs->step[i]->turn, now);
		int64_t served = turn_served_ns(&d.jobs->step[i]->turn, now);

		sums[i].wanted_ms = (wanted - wanted_ns[i]) / MS;
		sums[i].served_ms = (served - served_ns[i]) / MS;
		wanted_ns[i] = wanted;
		served_ns[i] = served;
	}
}

/* To the looks' 10 ms. */
START_TEST(sums_are_of_what_was_wanted)
{
	begin_long_slice(2);
	read_sums();
	run_until(now + 500 * MS, 1);
	read_sums();
	ck_assert_int_eq(sums[0].wanted_ms, 500);
	ck_assert_int_eq(sums[0].served_ms, 500);
	ck_assert_int_eq(sums[1].wanted_ms, 500);
	ck_assert_int_eq(sums[1].served_ms, 0);
	/* A wait is neither had nor kept waiting for, and the other has it. */
	idle = 1;
	run_until(now + 300 * MS, 1);
	idle = 0;
	read_sums();
	ck_assert_int_le(sums[0].wanted_ms, 30);
	ck_assert_int_eq(sums[0].served_ms, sums[0].wanted_ms);
	ck_assert_int_eq(sums[1].wanted_ms, 300);
	ck_assert_int_eq(sums[1].served_ms, 300 - sums[0].wanted_ms);
	run_until(now + 200 * MS, 1);
	read_sums();
	ck_assert_int_ge(sums[0].wanted_ms, 180);
	ck_assert_int_eq(sums[0].served_ms, sums[0].wanted_ms);
	ck_assert_int_eq(sums[1].wanted_ms, 200);
	ck_assert_int_eq(sums[1].served_ms, 200 - sums[0].wanted_ms);
}
END_TEST

/* Nobody would give it back: a job of more weight keeps its slice over a moment's wait. */
START_TEST(slice_that_is_only_longer_is_not_lent)
{
	for (uint32_t i = 1; i <= 3; i++)
		add(i);
	give((int[]){400, 100, 100}, 3);
	while (frozen(1))
		turn();
	run_until(now + 110 * MS, 1);
	idle = 1;
	run_until(now + 60 * MS, 1);
	ck_assert(!frozen(1) && frozen(2) && frozen(3));
	ck_assert(!d.jobs->step[0]->turn.lent);
}
END_TEST

START_TEST(foreground_that_stays_away_is_not_looked_at_closely_for_ever)
{
	int64_t begin;
	int looks = 0;

	begin_long_slice(3);
	run_until(now + 300 * MS, 1);
	idle = 1;
	run_until(now + 2500 * MS, 1);
	begin = now;
	while (now - begin < 1000 * MS) {
		turn();
		looks++;
	}
	ck_assert_int_le(looks, 25);
}
END_TEST

START_TEST(who_wakes_in_a_long_slice_gets_in_line)
{
	begin_long_slice(2);
	idle = 2;
	run_until(now + 9000 * MS, 1);
	ck_assert(!frozen(1) && !frozen(2));
	idle = 0;
	/* Beside the other's slice for as long as one look takes, and no longer. */
	ck_assert_int_le(run_until(now + 4000 * MS, 2), 500);
}
END_TEST

START_TEST(slice_that_another_plan_shortens_ends_by_it)
{
	int64_t begin;

	begin_long_slice(2);
	begin = now;
	run_until(now + 500 * MS, 1);
	plan.slice[0].ms = 100;
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_run(d.levers, now, &next);
	ck_assert(frozen(1));
	ck_assert(!frozen(2));
	ck_assert_int_le(now - begin, 500 * MS);
}
END_TEST

/* Job 1 has had its long slice, now 2 gets one: 3 stood still all the time. */
START_TEST(long_slices_one_after_another_freeze_nobody_beyond_the_limit)
{
	int64_t since;

	begin_long_slice(3);
	since = now - 1;
	run_until(now + 3900 * MS, 1);
	plan.slice[0].ms = 100;
	plan.slice[1].ms = 4000;
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_run(d.levers, now, &next);
	ck_assert(!frozen(2));
	while (frozen(3))
		turn();
	ck_assert_int_lt(now - since, 5000 * MS);
}
END_TEST

/* The one whose slice it is ends; the next plan gives that slice to another. */
START_TEST(who_follows_one_that_ended_does_not_wait_for_his_slice_to_end)
{
	begin_long_slice(3);
	run_until(now + 500 * MS, 1);
	ck_assert(frozen(2) && frozen(3));
	rotate_leave(d.levers, d.jobs->step[0]);
	d.jobs->step[0]->status = STATUS_RELEASED;
	plan.n_slices = 2;
	plan.slice[0].job[0] = 1;
	plan.slice[1].job[0] = 2;
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	ck_assert(frozen(2) != frozen(3));
}
END_TEST

/* Windows are due, and one has a speed to compare. */
static void begin_windows(void)
{
	static struct choose choose;
	struct errbuf err;

	begin_long_slice(2);
	d.conf->baseline_fraction = 0.5;
	choose = (struct choose){.loop = d.loop,
		.conf = d.conf,
		.node = d.node,
		.jobs = d.jobs,
		.actuate = d.actuate,
		.measure = d.measure,
		.levers = d.levers};
	d.choose = &choose;
	ck_assert_int_eq(trial_open(d.choose, &err), 0);
	d.jobs->step[0]->seen.has_last = true;
	d.choose->trial.next_window_ns = 1;
}

static void end_windows(void)
{
	trial_abort(d.choose);
	loop_remove(d.loop, d.choose->trial.timer);
}

/* Beside the first one's 98 % and the second's 2 the geometric mean is far below equal turns'. */
START_TEST(no_speeds_are_compared_while_one_goes_first)
{
	begin_windows();
	trial_consider(d.choose, now);
	ck_assert(!trial_is_on(d.choose));
	plan.slice[0].ms = 100;
	rotate_plan(d.levers, &plan, d.jobs->step);
	trial_consider(d.choose, now);
	ck_assert(trial_is_on(d.choose));
	end_windows();
}
END_TEST

/* As long as twenty calls of the slowest take, between half a second and two. */
START_TEST(stretches_are_as_long_as_calls_are_rare)
{
	static const struct {
		enum provenance basis;
		double rate;
		int ms;
	} cases[] = {{PROVENANCE_CALLS, 200, 500}, {PROVENANCE_CALLS, 20, 1000},
		{PROVENANCE_CALLS, 2, 2000}, {PROVENANCE_CALLS, NAN, 500},
		{PROVENANCE_APP, 2, 500}};

	begin_windows();
	plan.slice[0].ms = 100;
	rotate_plan(d.levers, &plan, d.jobs->step);
	d.jobs->step[0]->seen.last.basis = cases[_i].basis;
	d.jobs->step[0]->seen.rate = cases[_i].rate;
	trial_consider(d.choose, now);
	ck_assert(trial_is_on(d.choose));
	ck_assert_int_eq(d.choose->trial.stretch_ms, cases[_i].ms);
	end_windows();
}
END_TEST

/* Each has his share of the turns in it. */
START_TEST(stretches_in_turns_are_of_whole_rounds)
{
	static const struct {
		int slice_ms[2], ms;
	} cases[] = {{{100, 100}, 1000}, {{100, 140}, 1200}, {{600, 800}, 1400}};

	begin_windows();
	for (int k = 0; k < 2; k++)
		plan.slice[k].ms = cases[_i].slice_ms[k];
	rotate_plan(d.levers, &plan, d.jobs->step);
	trial_consider(d.choose, now);
	ck_assert(trial_is_on(d.choose));
	ck_assert_int_eq(d.choose->trial.placed_ms, cases[_i].ms);
	end_windows();
}
END_TEST

static void stop(void *loop)
{
	loop_stop(loop);
}

/* They are there some tens of milliseconds later: an older figure ends elsewhere in a round. */
START_TEST(a_window_begins_when_calls_are_counted)
{
	struct loop_source *timer;
	struct seen_work *mark;
	struct errbuf err;

	begin_windows();
	plan.slice[0].ms = 100;
	rotate_plan(d.levers, &plan, d.jobs->step);
	mark = &d.jobs->step[0]->trial_mark;
	mark->count = 7;
	trial_consider(d.choose, now);
	ck_assert(trial_is_on(d.choose));
	ck_assert_uint_eq(mark->count, 7);
	ck_assert_int_eq(loop_add_timer(d.loop, stop, d.loop, &timer, &err), 0);
	loop_set_timer(timer, 200, 0);
	ck_assert_int_eq(loop_run(d.loop), 0);
	loop_remove(d.loop, timer);
	ck_assert_uint_ne(mark->count, 7);
	ck_assert(!trial_displaces(d.choose));
	end_windows();
}
END_TEST

/* Nine calls of half a second are eight or ten in the next; what a program publishes is no count.
 */
START_TEST(a_stretch_of_few_calls_tells_nothing)
{
	struct seen_work a = {.basis = PROVENANCE_CALLS, .total = 100, .count = 1},
			 b = {.basis = PROVENANCE_CALLS, .total = 109, .count = 7};

	a.t_ns = 1000 * MS;
	b.t_ns = 3000 * MS;
	ck_assert(isnan(trial_speed(&a, &b)));
	b.total = 110;
	ck_assert_double_eq_tol(trial_speed(&a, &b), 5, 1e-9);
	a.basis = b.basis = PROVENANCE_APP;
	b.total = 109;
	ck_assert_double_eq_tol(trial_speed(&a, &b), 4.5, 1e-9);
}
END_TEST

/* Its only task has ended; Slurm has yet to tell so. */
static void end_task(uint32_t job)
{
	char path[160];

	snprintf(path, sizeof(path), "%.120s/tasks", d.jobs->step[job - 1]->cgroup.step_path);
	fstree_put(&tree, path, "");
	snprintf(path, sizeof(path), "proc/%u/schedstat", job * 10);
	ck_assert_int_eq(unlinkat(tree.root.fd, path, 0), 0);
	idle = job;
}

/* Another thread computes, the one that did does not. */
static void hand_over(uint32_t job, int64_t run_ms)
{
	char path[160], text[64];

	snprintf(path, sizeof(path), "%.120s/tasks", d.jobs->step[job - 1]->cgroup.step_path);
	snprintf(text, sizeof(text), "%u\n%u\n", job * 10, job * 10 + 1);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%u/task/%u/stat", job * 10, job * 10 + 1);
	fstree_put(&tree, path, "1 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100\n");
	snprintf(path, sizeof(path), "proc/%u/schedstat", job * 10 + 1);
	snprintf(text, sizeof(text), "%lld 0 %d\n", (long long)run_ms * MS, 1);
	fstree_put(&tree, path, text);
	idle = job;
}

START_TEST(another_thread_that_computes_keeps_the_slice)
{
	begin_long_slice(3);
	run_until(now + 500 * MS, 1);
	/* As it was at the first look, at the second both are known. */
	for (int k = 1; k <= 80; k++) {
		hand_over(1, 10 * k);
		run_until(now + 10 * MS, 1);
		ck_assert_msg(frozen(2) && frozen(3), "after %d0 ms", k);
	}
}
END_TEST

START_TEST(who_has_no_thread_left_yields)
{
	begin_long_slice(3);
	run_until(now + 500 * MS, 1);
	ck_assert(frozen(2) && frozen(3));
	end_task(1);
	run_until(now + 250 * MS, 1);
	ck_assert(frozen(2) != frozen(3));
	/* Beside everybody's slice, not in a turn of its own. */
	ck_assert_int_eq(run_until(now + 2000 * MS, 1), 2000);
	ck_assert(frozen(2) != frozen(3));
}
END_TEST

START_TEST(the_end_of_the_last_task_ends_the_slice)
{
	struct step *one;

	begin_long_slice(3);
	run_until(now + 500 * MS, 1);
	one = d.jobs->step[0];
	/* One of several: others are still there. */
	rotate_task_exited(d.levers, one);
	rotate_run(d.levers, now, &next);
	ck_assert(frozen(2) && frozen(3));
	end_task(1);
	/* Another's is not its. */
	rotate_task_exited(d.levers, d.jobs->step[1]);
	rotate_run(d.levers, now, &next);
	ck_assert(frozen(2) && frozen(3));
	rotate_task_exited(d.levers, one);
	rotate_run(d.levers, now, &next);
	ck_assert(frozen(2) != frozen(3));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("foreground");
	TCase *tc;

	tc = tcase_create("one slice is much longer than the others");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, who_waits_in_a_long_slice_yields_soon);
	tcase_add_test(tc, many_threads_are_looked_at_seldom);
	tcase_add_test(tc, foreground_that_comes_back_goes_on_at_once);
	tcase_add_test(tc, sums_are_of_what_was_wanted);
	tcase_add_test(tc, slice_that_is_only_longer_is_not_lent);
	tcase_add_test(tc, foreground_that_stays_away_is_not_looked_at_closely_for_ever);
	tcase_add_test(tc, who_wakes_in_a_long_slice_gets_in_line);
	tcase_add_test(tc, slice_that_another_plan_shortens_ends_by_it);
	tcase_add_test(tc, who_follows_one_that_ended_does_not_wait_for_his_slice_to_end);
	tcase_add_test(tc, no_speeds_are_compared_while_one_goes_first);
	tcase_add_loop_test(tc, stretches_are_as_long_as_calls_are_rare, 0, 5);
	tcase_add_loop_test(tc, stretches_in_turns_are_of_whole_rounds, 0, 3);
	tcase_add_test(tc, a_window_begins_when_calls_are_counted);
	tcase_add_test(tc, a_stretch_of_few_calls_tells_nothing);
	tcase_add_test(tc, who_has_no_thread_left_yields);
	tcase_add_test(tc, another_thread_that_computes_keeps_the_slice);
	tcase_add_test(tc, the_end_of_the_last_task_ends_the_slice);
	tcase_add_test(tc, long_slices_one_after_another_freeze_nobody_beyond_the_limit);
	suite_add_tcase(s, tc);
	return rotation_run(s);
}
