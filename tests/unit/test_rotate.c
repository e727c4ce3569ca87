/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who runs when; test_turns has those that wait or start. tests/live/gang.sh has real steps and a
 * clock.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/levers/internal.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/rotation.h"

START_TEST(two_steps_take_turns)
{
	add(1);
	add(2);
	give((int[]){100, 100}, 2);
	ck_assert(frozen(1) != frozen(2));
	for (int i = 0; i < 20; i++) {
		bool was = frozen(1);
		int64_t to = now + 100 * MS;

		run_until(to, 1);
		ck_assert(frozen(1) != frozen(2));
		ck_assert(frozen(1) != was);
	}
}
END_TEST

START_TEST(shares_follow_the_slices)
{
	add(1);
	add(2);
	give((int[]){300, 100}, 2);
	ck_assert_int_eq(run_until(now + 4000 * MS, 1), 3000);
	ck_assert_int_eq(run_until(now + 40000 * MS, 2), 10000);
}
END_TEST

/* What it is told is what comes. */
START_TEST(next_slice_is_told)
{
	struct turn_told t;
	struct step *s;

	ck_assert(!rotate_tell(d.levers, add(1), now, &t));
	s = add(2);
	add(3);
	give((int[]){100, 200, 300}, 3);
	for (int i = 0; i < 20; i++) {
		ck_assert(rotate_tell(d.levers, s, now, &t));
		ck_assert_int_eq(t.runs, !frozen(2));
		ck_assert_int_eq(t.slice_ms, 200);
		ck_assert_int_eq(t.n_slices, 3);
		ck_assert_int_gt(t.next_ns, 0);
		if (t.runs) { /* after the two others' */
			ck_assert_int_gt(t.next_ns, 400 * MS);
			ck_assert_int_le(t.next_ns, 600 * MS);
		} else {
			run_until(now + t.next_ns + MS, 1);
			ck_assert(!frozen(2));
		}
		run_until(now + 70 * MS, 1);
	}
}
END_TEST

START_TEST(one_alone_is_never_frozen)
{
	struct step *two;

	add(1);
	give((int[]){100}, 1);
	ck_assert(!frozen(1));
	ck_assert_int_eq(next, 0);
	ck_assert_int_eq(ledger_count(d.ledger), 1);
	two = add(2);
	give((int[]){100, 100}, 2);
	ck_assert(frozen(1) || frozen(2));
	two->status = STATUS_RELEASED;
	rotate_leave(d.levers, two);
	plan.n_slices = 1;
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	ck_assert(!frozen(1));
	ck_assert(!frozen(2));
}
END_TEST

START_TEST(nobody_is_frozen_longer_than_the_limit)
{
	int ms[8];
	int64_t since = 0, longest = 0, end;

	for (uint32_t i = 0; i < 8; i++) {
		add(i + 1);
		ms[i] = 1000;
	}
	d.conf->freeze_max_ms = 2000;
	give(ms, 8);
	end = now + 10000 * MS;
	while (now < end) {
		turn();
		if (frozen(5) && !since)
			since = now;
		if (!frozen(5) && since) {
			longest = now - since > longest ? now - since : longest;
			since = 0;
		}
	}
	ck_assert_int_gt(longest, 0);
	ck_assert_int_le(longest, 2000 * MS);
}
END_TEST

START_TEST(step_that_cannot_be_frozen_runs_beside)
{
	struct step *batch;

	add(1);
	add(2);
	batch = add(3);
	batch->cgroup.step_id = ACTUATE_STEP_BATCH;
	give((int[]){100, 100, 100}, 3);
	ck_assert_ptr_nonnull(strstr(batch->reason, "never frozen"));
	for (int i = 0; i < 10; i++) {
		run_until(now + 50 * MS, 1);
		ck_assert(!frozen(3));
		ck_assert(frozen(1) != frozen(2));
	}
}
END_TEST

START_TEST(unplaced_and_dry_steps_take_no_part)
{
	add(1)->dry_run = true;
	add(2)->status = STATUS_PENDING;
	add(3)->n_tasks = 0;
	give((int[]){100, 100, 100}, 3);
	ck_assert_int_eq(next, 0);
	ck_assert(!frozen(1) && !frozen(2) && !frozen(3));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(frozen_time_is_counted)
{
	struct step *s = add(1);
	int64_t before, t0, ran, wanted, served;

	add(2);
	give((int[]){100, 100}, 2);
	t0 = now;
	before = turn_frozen_ns(&s->turn, now);
	wanted = turn_wanted_ns(&s->turn, now);
	served = turn_served_ns(&s->turn, now);
	ran = run_until(now + 1000 * MS, 1);
	ck_assert_int_eq((turn_frozen_ns(&s->turn, now) - before) / MS, (now - t0) / MS - ran);
	ck_assert_int_eq(turn_wanted_ns(&s->turn, now) - wanted, now - t0);
	ck_assert_int_eq((turn_served_ns(&s->turn, now) - served) / MS, ran);
}
END_TEST

/* In the midst of a freeze and of a turn, and long after. */
START_TEST(frozen_time_up_to_a_moment_stays_what_it_was)
{
	struct step *s = add(1);
	int64_t at[20], was[20];

	add(2);
	give((int[]){100, 100}, 2);
	for (int i = 0; i < 20; i++) {
		run_until(now + 70 * MS, 1);
		at[i] = now;
		was[i] = turn_frozen_ns(&s->turn, now);
	}
	ck_assert_int_gt(was[19], was[0]);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(turn_frozen_ns(&s->turn, at[i]), was[i]);
	ck_assert_int_eq(turn_clock(&s->turn, at[5]), at[5] - was[5]);
}
END_TEST

/* What a plan means is done when the step it is for has been launched; the rotation goes on until
 * then, at the times of its timer. */
START_TEST(turns_go_on_while_a_plan_waits_to_be_done)
{
	const int two[] = {100, 100};

	add(1);
	add(2);
	give(two, 2);
	/* One who is about to come gets the first turn: the last slice has never been there. */
	plan.n_jobs = plan.n_slices = 3;
	for (int i = 0; i < 3; i++) {
		plan.slice[i].ms = 100;
		plan.slice[i].n_jobs = 1;
		plan.slice[i].job[0] = (i + 2) % 3;
	}
	add(3)->status = STATUS_PENDING;
	rotate_plan(d.levers, &plan, d.jobs->step);
	for (int i = 0; i < 6; i++)
		turn();
	ck_assert_int_ne(frozen(1), frozen(2));
	ck_assert_int_ge(next - now, 10 * MS);
	/* Nobody takes turns any more, which is still to be done. */
	plan.n_slices = 0;
	rotate_plan(d.levers, &plan, d.jobs->step);
	turn();
	ck_assert(!frozen(1) && !frozen(2));
	rotate_update(d.levers);
	rotate_run(d.levers, now, &next);
	ck_assert_int_eq(next, 0);
}
END_TEST

/* Another process writes it. */
static void slurm_writes(uint32_t job, const char *state)
{
	char path[128];
	pid_t slurm;

	freezer_file(job, path, sizeof(path));
	slurm = fork();
	if (slurm == 0)
		_exit(fsroot_write(&tree.root, path, state) == 0 ? 0 : 1);
	waitpid(slurm, NULL, 0);
}

/* What Slurm keeps it from is no turn that it wanted. */
START_TEST(suspended_one_is_owed_no_turn)
{
	struct step *one = add(1);
	int64_t begin, wanted, served;

	add(2);
	give((int[]){100, 100}, 2);
	while (frozen(1))
		run_until(now + 50 * MS, 1);
	slurm_writes(1, "FROZEN");
	turn();
	wanted = turn_wanted_ns(&one->turn, now);
	served = turn_served_ns(&one->turn, now);
	run_until(now + 500 * MS, 2);
	ck_assert_int_eq(turn_wanted_ns(&one->turn, now), wanted);
	ck_assert_int_eq(turn_served_ns(&one->turn, now), served);
	slurm_writes(1, "THAWED");
	turn();
	begin = now;
	wanted = turn_wanted_ns(&one->turn, now);
	run_until(now + 500 * MS, 1);
	ck_assert_int_eq(turn_wanted_ns(&one->turn, now) - wanted, now - begin);
}
END_TEST

/* Slurm suspends a step of the rotation; before the loop hears of it the step leaves. */
START_TEST(leaving_undoes_no_suspend)
{
	struct step *one = add(1);

	add(2);
	give((int[]){100, 100}, 2);
	while (!frozen(1))
		run_until(now + 50 * MS, 1);
	slurm_writes(1, "FROZEN");
	rotate_leave(d.levers, one);
	ck_assert(frozen(1));
	ck_assert_int_eq(ledger_count(d.ledger), 1); /* the other's */
}
END_TEST

START_TEST(end_of_a_step_leaves_nothing_behind)
{
	struct step *one = add(1);

	add(2);
	give((int[]){100, 100}, 2);
	while (!frozen(1))
		run_until(now + 50 * MS, 1);
	rotate_leave(d.levers, one);
	ck_assert(!frozen(1));
	ck_assert_int_eq(ledger_count(d.ledger), 1);
	jobs_remove(d.jobs, one);
	rotate_close(d.levers);
	ck_assert(!frozen(2));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

/* 1 and 2, a slice each, have a CPU each: two cores, or two hardware threads of one. */
static void give_cpu_each(const char *topology)
{
	struct errbuf err;

	topo_free(d.node->topo);
	ck_assert_int_eq(topo_load(&d.node->topo, topology, &err), 0);
	ck_assert_int_eq(coreset_parse(&add(1)->coreset, "0", &err), 0);
	ck_assert_int_eq(coreset_parse(&add(2)->coreset, "1", &err), 0);
	plan.n_jobs = plan.n_slices = 2;
	for (int i = 0; i < 2; i++) {
		plan.slice[i].ms = 100;
		plan.slice[i].n_jobs = 1;
		plan.slice[i].job[0] = i;
	}
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	rotate_run(d.levers, now, &next);
}

START_TEST(who_stands_in_nobodys_way_runs_beside)
{
	int64_t begin, wanted;

	give_cpu_each("core:2 pu:1");
	begin = now;
	wanted = turn_wanted_ns(&d.jobs->step[0]->turn, now);
	for (int i = 0; i < 6; i++) {
		turn();
		ck_assert(!frozen(1) && !frozen(2));
	}
	/* Its turns are those it has, not those of the plan. */
	ck_assert_int_eq(turn_wanted_ns(&d.jobs->step[0]->turn, now) - wanted, now - begin);
	ck_assert_int_eq(turn_served_ns(&d.jobs->step[0]->turn, now),
		turn_wanted_ns(&d.jobs->step[0]->turn, now));
}
END_TEST

START_TEST(threads_of_one_core_are_not_beside_each_other)
{
	give_cpu_each("core:1 pu:2");
	for (int i = 0; i < 6; i++) {
		turn();
		ck_assert_int_ne(frozen(1), frozen(2));
	}
}
END_TEST

/* Two on each CPU: 1 and 2 on the first, 3 and 4 on the second. */
static void give_groups(void)
{
	static const char *const cpus[] = {"0", "0", "1", "1"};
	struct errbuf err;

	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(coreset_parse(&add(i + 1)->coreset, cpus[i], &err), 0);
	plan.n_jobs = 4;
	plan.n_slices = 2;
	for (int i = 0; i < 2; i++) {
		plan.slice[i].ms = 100;
		plan.slice[i].n_jobs = 2;
		plan.slice[i].job[0] = i;
		plan.slice[i].job[1] = i + 2;
	}
	rotate_plan(d.levers, &plan, d.jobs->step);
	rotate_update(d.levers);
	rotate_run(d.levers, now, &next);
	turn();
}

START_TEST(groups_take_turns_side_by_side)
{
	int64_t ran[5] = {0};

	give_groups();
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(frozen(1), frozen(3));
		ck_assert_int_eq(frozen(2), frozen(4));
		ck_assert_int_ne(frozen(1), frozen(2));
		for (uint32_t job = 1; job <= 4; job++)
			ran[job] += frozen(job) ? 0 : next - now;
		turn();
	}
	ck_assert_int_eq(ran[1], ran[3]);
	ck_assert_int_eq(ran[2], ran[4]);
}
END_TEST

/* 1 sleeps in its slice: 2 gets their CPU at once, and 3 and 4 go on taking turns on theirs. */
START_TEST(who_waits_leaves_his_cpus_to_those_who_share_them)
{
	int64_t ran[5] = {0}, from;

	give_groups();
	idle = 1;
	run_until(now + 1000 * MS, 1);
	from = now;
	while (now < from + 2000 * MS) {
		ck_assert(!frozen(2));
		ck_assert_int_ne(frozen(3), frozen(4));
		for (uint32_t job = 1; job <= 4; job++)
			ran[job] += frozen(job) ? 0 : next - now;
		turn();
	}
	ck_assert_int_ge(ran[2], 2000 * MS);
	ck_assert_int_ge(ran[3], 900 * MS);
	ck_assert_int_ge(ran[4], 900 * MS);
	/* And back. */
	idle = 0;
	run_until(now + 400 * MS, 1);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_ne(frozen(1), frozen(2));
		turn();
	}
}
END_TEST

/* The same within the slice in which it ends, whose other one goes on. */
START_TEST(who_ends_leaves_his_cpus_within_the_slice)
{
	char path[160];

	give_groups();
	while (frozen(1))
		turn();
	ck_assert(frozen(2));
	snprintf(path, sizeof(path), "%.120s/tasks", d.jobs->step[0]->cgroup.step_path);
	fstree_put(&tree, path, "");
	rotate_task_exited(d.levers, d.jobs->step[0]);
	ck_assert(!frozen(2));
	ck_assert(!frozen(3) && frozen(4));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rotate");
	TCase *tc;

	tc = tcase_create("whole steps take turns");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, two_steps_take_turns);
	tcase_add_test(tc, shares_follow_the_slices);
	tcase_add_test(tc, next_slice_is_told);
	tcase_add_test(tc, one_alone_is_never_frozen);
	tcase_add_test(tc, frozen_time_is_counted);
	tcase_add_test(tc, frozen_time_up_to_a_moment_stays_what_it_was);
	suite_add_tcase(s, tc);

	tc = tcase_create("groups");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, who_stands_in_nobodys_way_runs_beside);
	tcase_add_test(tc, threads_of_one_core_are_not_beside_each_other);
	tcase_add_test(tc, groups_take_turns_side_by_side);
	tcase_add_test(tc, who_waits_leaves_his_cpus_to_those_who_share_them);
	tcase_add_test(tc, who_ends_leaves_his_cpus_within_the_slice);
	suite_add_tcase(s, tc);
	tc = tcase_create("nobody stays frozen, and not everybody is");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nobody_is_frozen_longer_than_the_limit);
	tcase_add_test(tc, step_that_cannot_be_frozen_runs_beside);
	tcase_add_test(tc, unplaced_and_dry_steps_take_no_part);
	tcase_add_test(tc, turns_go_on_while_a_plan_waits_to_be_done);
	tcase_add_test(tc, suspended_one_is_owed_no_turn);
	tcase_add_test(tc, leaving_undoes_no_suspend);
	tcase_add_test(tc, end_of_a_step_leaves_nothing_behind);
	suite_add_tcase(s, tc);
	return rotation_run(s);
}
