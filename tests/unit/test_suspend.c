/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who stopped and who goes on, and what becomes of the others: over files that stand for /proc and
 * the v1 freezer, in a dry run, so that nobody is moved. tests/live/suspend.sh has Slurm do it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/steps/steps.h"
#include "tests/unit/fstree.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/lifecycle_fixture.h"

static struct fstree tree;
static struct errbuf err;

static void put_v1(void)
{
	snprintf(tree.dir, sizeof(tree.dir), "%s", dir);
	fstree_put(&tree, "proc/self/mountinfo",
		"31 22 0:27 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
		"32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
}

/* The fixture's, with a v1 hierarchy. */
static void begin(void)
{
	setup_on(put_v1);
	d.conf->dry_run = true;
	ck_assert_int_eq(daemon_open_suspend(&d, &err), 0);
}

static void end(void)
{
	suspend_close(d.jobs->suspend);
	teardown();
}

/* Of task @pid, in that step. */
static void put_state(int pid, char state)
{
	char path[64], text[96];

	snprintf(text, sizeof(text), "%d (a (b) c) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100\n",
		pid, state);
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", pid, pid);
	fstree_put(&tree, path, text);
}

static void put_group(const char *step, const char *file, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "sys/fs/cgroup/%s/%s", step, file);
	fstree_put(&tree, path, text);
}

/* Two tasks, PIDs 10 x @job and one more, in JOB.0 or its shell. */
static struct step *launch_as(uint32_t job, uint32_t step, const char *name, const char *policy)
{
	char path[96], text[192];
	struct step *s;
	int pid = (int)job * 10 + (step == STEP_BATCH ? 5 : 0);

	for (int i = 0; i < 2; i++) {
		put_state(pid + i, 'R');
		snprintf(path, sizeof(path), "proc/%d/cgroup", pid + i);
		snprintf(text, sizeof(text),
			"9:cpuset:/slurm_n1/uid_0/job_%u/%s\n3:freezer:/slurm_n1/uid_0/job_%u/%s\n",
			job, name, job, name);
		fstree_put(&tree, path, text);
	}
	snprintf(path, sizeof(path), "cpuset/slurm_n1/uid_0/job_%u", job);
	put_group(path, "cpuset.cpus", "0-1\n");
	snprintf(path, sizeof(path), "cpuset/slurm_n1/uid_0/job_%u/%s", job, name);
	snprintf(text, sizeof(text), "%d\n%d\n", pid, pid + 1);
	put_group(path, "cpuset.cpus", "0-1\n");
	put_group(path, "tasks", text);
	put_group(path, "cgroup.procs", text);
	snprintf(path, sizeof(path), "freezer/slurm_n1/uid_0/job_%u/%s", job, name);
	put_group(path, "freezer.state", "THAWED\n");

	start(job, step);
	if (*policy)
		msg_put(&in, "policy", policy);
	if (step == STEP_BATCH)
		msg_put(&in, "batch", "1");
	ck_assert_str_eq(go(), "step_ok");
	for (int i = 0; i < 2; i++) {
		msg_init(&in, "task_start");
		msg_putf(&in, "job", "%u", job);
		msg_putf(&in, "step", "%u", step);
		msg_putf(&in, "task", "%d", i);
		msg_putf(&in, "pid", "%d", pid + i);
		arrival_task(&d, &in, &out);
		ck_assert_str_eq(msg_get(&out, "type"), "task_ok");
	}
	arrival_after_answer(&d);
	s = jobs_find(d.jobs, job, step, 0);
	ck_assert_ptr_nonnull(s);
	return s;
}

static struct step *launch(uint32_t job, const char *policy)
{
	return launch_as(job, 0, "step_0", policy);
}

static void write_freezer(uint32_t job, const char *state)
{
	char path[96];

	snprintf(path, sizeof(path), "freezer/slurm_n1/uid_0/job_%u/step_0", job);
	put_group(path, "freezer.state", state);
}

static void look(void)
{
	suspend_look(d.jobs->suspend, ipc_now_ns());
}

START_TEST(frozen_step_leaves_its_cores_to_the_others)
{
	struct step *one = launch(1, ""), *two = launch(2, "");

	look();
	ck_assert_str_eq(coreset_of(1), "0");
	ck_assert_str_eq(coreset_of(2), "1");
	write_freezer(1, "FROZEN\n");
	look();
	ck_assert_str_eq(step_status_name(one->status), "suspended");
	ck_assert_str_eq(coreset_of(2), "0-1");
	ck_assert_ptr_nonnull(strstr(step_reason(one), "frozen"));
	ck_assert_str_eq(step_get_decision(one, 0)->event, "suspend");
	ck_assert_str_eq(step_get_decision(two, 0)->event, "end");
	/* Where it is, it stays. */
	ck_assert_str_eq(coreset_of(1), "0");
	write_freezer(1, "THAWED\n");
	look();
	ck_assert_str_eq(step_status_name(one->status), "observed");
	ck_assert(!coreset_intersects(&one->coreset, &two->coreset));
	ck_assert_int_eq(coreset_count(&one->coreset), 1);
	ck_assert_int_eq(coreset_count(&two->coreset), 1);
	ck_assert_str_eq(step_reason(one), "");
}
END_TEST

/* Slurm's SIGTSTP comes two seconds before it freezes. */
START_TEST(so_does_one_whose_processes_are_stopped)
{
	struct step *one = launch(1, "");

	launch(2, "");
	put_state(10, 'T');
	look();
	ck_assert_str_eq(step_status_name(one->status), "observed");
	put_state(11, 'T');
	look();
	ck_assert_str_eq(step_status_name(one->status), "suspended");
	ck_assert_ptr_nonnull(strstr(step_reason(one), "stopped"));
	ck_assert_str_eq(coreset_of(2), "0-1");
	write_freezer(1, "FROZEN\n");
	put_state(10, 'D');
	put_state(11, 'D');
	look();
	ck_assert_ptr_nonnull(strstr(step_reason(one), "frozen"));
	ck_assert_str_eq(coreset_of(2), "0-1");
	/* Thawed, but not woken yet. */
	write_freezer(1, "THAWED\n");
	put_state(10, 'T');
	put_state(11, 'T');
	look();
	ck_assert_str_eq(step_status_name(one->status), "suspended");
	put_state(11, 'S');
	look();
	look();
	ck_assert_str_eq(step_status_name(one->status), "observed");
	ck_assert_str_eq(coreset_of(2), "1");
}
END_TEST

/* A zombie does not run; a traced process may at any time. */
START_TEST(dead_ones_do_not_count_and_traced_ones_run)
{
	struct step *one = launch(1, "");

	put_state(10, 't');
	put_state(11, 'T');
	look();
	ck_assert_str_eq(step_status_name(one->status), "observed");
	put_state(10, 'Z');
	look();
	ck_assert_str_eq(step_status_name(one->status), "suspended");
	put_state(11, 'Z');
	look();
	ck_assert_str_eq(step_status_name(one->status), "observed");
}
END_TEST

START_TEST(who_comes_beside_a_suspended_one_has_all_cores)
{
	struct step *two;

	launch(1, "");
	write_freezer(1, "FROZEN\n");
	look();
	two = launch(2, "");
	ck_assert_str_eq(coreset_of(2), "0-1");
	ck_assert_str_eq(two->partners, "");
	write_freezer(1, "THAWED\n");
	look();
	ck_assert_int_eq(coreset_count(&two->coreset), 1);
	ck_assert_str_eq(two->partners, "1.0");
}
END_TEST

START_TEST(one_alone_is_resumed_to_all_cores)
{
	launch(1, "");
	write_freezer(1, "FROZEN\n");
	look();
	ck_assert_int_eq(jobs_count_managed(d.jobs), 0);
	daemon_tick(&d);
	write_freezer(1, "THAWED\n");
	daemon_tick(&d);
	ck_assert_int_eq(jobs_count_managed(d.jobs), 1);
	ck_assert_str_eq(coreset_of(1), "0-1");
}
END_TEST

/* Slurm's gang: one for the other, within one look. */
START_TEST(slices_of_slurms_gang_change_places)
{
	launch(1, "");
	launch(2, "");
	for (int i = 0; i < 4; i++) {
		write_freezer(1, i % 2 ? "THAWED\n" : "FROZEN\n");
		write_freezer(2, i % 2 ? "FROZEN\n" : "THAWED\n");
		look();
		ck_assert_str_eq(coreset_of(i % 2 ? 1 : 2), "0-1");
		ck_assert_int_eq(jobs_count_managed(d.jobs), 1);
	}
}
END_TEST

START_TEST(end_of_a_suspended_one_changes_nothing_for_the_others)
{
	launch(1, "");
	launch(2, "");
	write_freezer(1, "FROZEN\n");
	look();
	finish(1, 0);
	ck_assert_ptr_null(jobs_find(d.jobs, 1, 0, 0));
	ck_assert_str_eq(coreset_of(2), "0-1");
	ck_assert_int_eq(d.jobs->n, 1);
}
END_TEST

START_TEST(excluded_one_stays_excluded)
{
	struct step *one = launch(1, "");

	one->status = STATUS_EXCLUDED;
	launch(2, "");
	ck_assert_int_eq(d.choose->plan.n_jobs, 2);
	write_freezer(1, "FROZEN\n");
	look();
	ck_assert_str_eq(step_status_name(one->status), "suspended");
	ck_assert_int_eq(d.choose->plan.n_jobs, 1);
	write_freezer(1, "THAWED\n");
	look();
	ck_assert_str_eq(step_status_name(one->status), "excluded");
	ck_assert_int_eq(d.choose->plan.n_jobs, 2);
}
END_TEST

START_TEST(released_one_stays_released)
{
	struct step *one = launch(1, "");

	write_freezer(1, "FROZEN\n");
	look();
	levers_restore(d.levers, one, STATUS_RELEASED, "colocctl release");
	look();
	ck_assert_str_eq(step_status_name(one->status), "suspended");
	write_freezer(1, "THAWED\n");
	look();
	ck_assert_str_eq(step_status_name(one->status), "released");
	ck_assert_str_eq(coreset_of(1), "");
}
END_TEST

/* Whose set is empty may bring his policy; who goes on joins the set there is. */
START_TEST(policy_of_one_that_does_not_run_rules_nobody)
{
	struct step *one = launch(1, "spread"), *two;

	ck_assert_str_eq(d.choose->ruling, "spread");
	write_freezer(1, "FROZEN\n");
	look();
	two = launch(2, "fair");
	ck_assert_str_eq(d.choose->ruling, "fair");
	ck_assert_str_eq(two->reason, "");
	write_freezer(1, "THAWED\n");
	look();
	ck_assert_ptr_nonnull(strstr(one->reason, "asked for spread; fair rules"));
	ck_assert_str_eq(one->policy, "fair");
	write_freezer(1, "FROZEN\n");
	look();
	finish(2, 0);
	write_freezer(1, "THAWED\n");
	look();
	ck_assert_str_eq(d.choose->ruling, "spread");
	ck_assert_str_eq(one->reason, "");
}
END_TEST

START_TEST(nothing_measured_reaches_over_a_stop)
{
	struct step *one = launch(1, "");
	int64_t t0 = ipc_now_ns();

	one->seen.has_last = one->seen.busy.started = true;
	one->seen.rate = 5;
	one->seen.first_ns = one->pace.read_ns = one->pace.run_at_ns = t0;
	one->has_sample = true;
	one->signal[SIGNAL_UTILIZATION] = (struct signal){0.5, PROVENANCE_OS};
	suspend_look(d.jobs->suspend, t0);
	write_freezer(1, "FROZEN\n");
	suspend_look(d.jobs->suspend, t0 + 1000);
	ck_assert(!one->seen.has_last && !one->seen.busy.started && !one->has_sample);
	ck_assert(one->seen.rate != one->seen.rate);
	ck_assert_int_eq(one->seen.first_ns, 0);
	ck_assert_int_eq(one->pace.read_ns, 0);
	ck_assert_int_eq(one->pace.run_at_ns, 0);
	ck_assert_int_eq(one->signal[SIGNAL_UTILIZATION].provenance, PROVENANCE_NONE);
	/* Nor is it read meanwhile. */
	sampler_round(d.measure, t0 + 2000);
	ck_assert_int_eq(one->pace.read_ns, 0);
	ck_assert(jobs_is_alone(d.jobs, one));
	suspend_look(d.jobs->suspend, t0 + 500000);
	ck_assert_int_eq(step_suspended_ns(one, t0 + 1001000), 1000000);
	write_freezer(1, "THAWED\n");
	suspend_look(d.jobs->suspend, t0 + 2001000);
	ck_assert_int_eq(step_suspended_ns(one, t0 + 9000000), 2000000);
	ck_assert_int_gt(one->seen.skip, 0);
}
END_TEST

START_TEST(neighbour_that_stops_is_no_company)
{
	struct step *one = launch(1, ""), *two = launch(2, "");

	one->status = two->status = STATUS_PLACED;
	ck_assert(!jobs_is_alone(d.jobs, two));
	write_freezer(1, "FROZEN\n");
	look();
	ck_assert(jobs_is_alone(d.jobs, two));
}
END_TEST

START_TEST(time_of_a_stop_outlives_the_daemon)
{
	struct step *one = launch(1, ""), *two = launch(2, "");
	static struct msg m;

	/* Not all of it: a list of threads may be under way. */
	one->stop.kind = STOP_FROZEN;
	one->stop.carried = true;
	one->stop.ns = 5000;
	carry_save(one, &m);
	ck_assert_int_eq(carry_load(two, &m, &err), 0);
	suspend_adopt(two, ipc_unix_ns() - INT64_C(3000000000));
	ck_assert_int_ge(two->stop.ns, INT64_C(3000005000));
	ck_assert_int_lt(two->stop.ns, INT64_C(60000000000));
	one->stop.carried = false;
	carry_save(one, &m);
	ck_assert_int_eq(carry_load(two, &m, &err), 0);
	suspend_adopt(two, ipc_unix_ns() - INT64_C(3000000000));
	ck_assert_int_eq(two->stop.ns, 5000);
}
END_TEST

/* srun has its own way with Slurm's SIGTSTP. */
START_TEST(shell_with_a_stopped_script_does_not_run)
{
	struct step *shell = launch_as(1, STEP_BATCH, "step_batch", "");

	launch(2, "");
	put_state(15, 'T');
	put_state(16, 'R');
	look();
	ck_assert_str_eq(step_status_name(shell->status), "observed");
	put_state(16, 'S');
	look();
	ck_assert_str_eq(step_status_name(shell->status), "suspended");
	ck_assert_str_eq(coreset_of(2), "0-1");
	look();
	ck_assert_str_eq(step_status_name(shell->status), "suspended");
	put_state(15, 'S');
	look();
	ck_assert_str_eq(step_status_name(shell->status), "observed");
}
END_TEST

START_TEST(who_registers_meets_who_runs_now)
{
	launch(1, "");
	write_freezer(1, "FROZEN\n");
	launch(2, ""); /* before any tick */
	ck_assert_str_eq(coreset_of(2), "0-1");
	ck_assert_int_eq(jobs_find(d.jobs, 2, 0, 0)->rebinds, 0);
}
END_TEST

static int copy_reason(const struct step_row *row, void *arg)
{
	snprintf(arg, 128, "%s", row->reason ? row->reason : "");
	return 0;
}

START_TEST(record_says_for_how_long)
{
	struct step_filter all = {.from_ns = 0, .to_ns = INT64_MAX};
	struct step *one = launch(1, "");
	char reason[128];

	account_put(d.books, one, STEP_RUNNING, 0);
	ck_assert_int_eq(record_step_list(d.record, &all, copy_reason, reason, &err), 0);
	ck_assert_str_eq(reason, "");
	one->stop.ns = INT64_C(34500000000);
	finish(1, 0);
	ck_assert_int_eq(record_step_list(d.record, &all, copy_reason, reason, &err), 0);
	ck_assert_str_eq(reason, "suspended for 34.5 s, which are in no figure but the time");
}
END_TEST

/* A batch shell that makes room does so still when its job goes on. */
START_TEST(shell_goes_on_as_it_was)
{
	struct step *shell = launch_as(1, STEP_BATCH, "step_batch", "");
	struct step *one = launch(1, "");

	ck_assert_str_eq(step_status_name(shell->status), "aside");
	write_freezer(1, "FROZEN\n");
	put_group("freezer/slurm_n1/uid_0/job_1/step_batch", "freezer.state", "FROZEN\n");
	look();
	ck_assert_str_eq(step_status_name(shell->status), "suspended");
	write_freezer(1, "THAWED\n");
	put_group("freezer/slurm_n1/uid_0/job_1/step_batch", "freezer.state", "THAWED\n");
	look();
	ck_assert_str_eq(step_status_name(shell->status), "aside");
	ck_assert_str_eq(step_status_name(one->status), "observed");
}
END_TEST

/* Others are moved each time: not as often as its user likes. */
START_TEST(one_that_stops_again_and_again_keeps_its_cores)
{
	struct step *one = launch(1, "");
	int64_t now_ns = ipc_now_ns();
	int stops = 0;

	launch(2, "");
	for (int i = 0; i < 40; i++, now_ns += 1000000) {
		write_freezer(1, i % 2 ? "THAWED\n" : "FROZEN\n");
		suspend_look(d.jobs->suspend, now_ns);
		stops += one->status == STATUS_SUSPENDED;
	}
	ck_assert_int_eq(stops, 12);
	ck_assert_str_eq(coreset_of(2), "1");
	write_freezer(1, "FROZEN\n");
	suspend_look(d.jobs->suspend, now_ns + INT64_C(61000000000));
	ck_assert_str_eq(step_status_name(one->status), "suspended");
	ck_assert_str_eq(coreset_of(2), "0-1");
}
END_TEST

/* With more of them than are asked at once each has its turn. */
START_TEST(all_of_many_idle_steps_are_asked_in_turn)
{
	int suspended = 0;

	for (uint32_t job = 1; job <= 40; job++)
		launch(job, "");
	for (uint32_t job = 1; job <= 40; job += 2)
		write_freezer(job, "FROZEN\n");
	for (int i = 0; i < 4; i++)
		look();
	for (int i = 0; i < d.jobs->n; i++)
		suspended += d.jobs->step[i]->status == STATUS_SUSPENDED;
	ck_assert_int_eq(suspended, 20);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend");
	TCase *tc = tcase_create("suspend");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, frozen_step_leaves_its_cores_to_the_others);
	tcase_add_test(tc, so_does_one_whose_processes_are_stopped);
	tcase_add_test(tc, dead_ones_do_not_count_and_traced_ones_run);
	tcase_add_test(tc, who_comes_beside_a_suspended_one_has_all_cores);
	tcase_add_test(tc, one_alone_is_resumed_to_all_cores);
	tcase_add_test(tc, slices_of_slurms_gang_change_places);
	tcase_add_test(tc, end_of_a_suspended_one_changes_nothing_for_the_others);
	tcase_add_test(tc, excluded_one_stays_excluded);
	tcase_add_test(tc, released_one_stays_released);
	tcase_add_test(tc, policy_of_one_that_does_not_run_rules_nobody);
	tcase_add_test(tc, nothing_measured_reaches_over_a_stop);
	tcase_add_test(tc, neighbour_that_stops_is_no_company);
	tcase_add_test(tc, time_of_a_stop_outlives_the_daemon);
	tcase_add_test(tc, record_says_for_how_long);
	tcase_add_test(tc, shell_with_a_stopped_script_does_not_run);
	tcase_add_test(tc, who_registers_meets_who_runs_now);
	tcase_add_test(tc, shell_goes_on_as_it_was);
	tcase_add_test(tc, one_that_stops_again_and_again_keeps_its_cores);
	tcase_add_test(tc, all_of_many_idle_steps_are_asked_in_turn);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
