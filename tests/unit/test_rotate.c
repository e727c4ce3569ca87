/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who runs when: rotation over files that stand for /proc and the v1 freezer, at times the test
 * makes up. tests/live/gang.sh has real steps and a clock.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/daemon.h"
#include "nodesvc/log.h"
#include "tests/unit/fstree.h"

#define MS INT64_C(1000000)

static struct fstree tree;
static struct daemon d;
static struct plan plan;
static struct errbuf err;
static int64_t now, next;

int64_t __real_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void);

/* Made-up time, once it has begun: what rotate.c asks for itself must not depend on the machine. */
int64_t __wrap_ipc_now_ns(void)
{
	return now ? now : __real_ipc_now_ns();
}
static int first_ms;  /* run_programs(): the first one's slice */
static uint32_t idle; /* job whose threads sleep; 0 none */

static void put_run(uint32_t job, int64_t run_ms, int slices)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "proc/%u/schedstat", job * 10);
	snprintf(text, sizeof(text), "%lld 0 %d\n", (long long)run_ms * MS, slices);
	fstree_put(&tree, path, text);
}

static void setup(void)
{
	memset(&d, 0, sizeof(d));
	idle = 0;
	first_ms = 100;
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(&d.conf);
	fstree_make(&tree);
	d.root = tree.root;
	fstree_put(&tree, "proc/self/mountinfo",
		"31 22 0:27 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
		"32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
	ck_assert_int_eq(topo_load(&d.topo, "core:2 pu:1", &err), 0);
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(actuate_open(&d.actuate, &d.root, d.ledger, &d.topo->all, &err), 0);
	ck_assert_int_eq(plan_init(&plan, JOBS_MAX, &err), 0);
	ck_assert_int_eq(rotate_guard(&d, &err), 0);
	rotate_open(&d);
}

static void teardown(void)
{
	rotate_close(&d);
	jobs_done(&d.jobs);
	plan_done(&plan);
	actuate_close(d.actuate);
	ledger_close(d.ledger);
	loop_free(d.loop);
	topo_free(d.topo);
	fstree_remove(&tree);
}

static void freezer_file(uint32_t job, char *ret, size_t size)
{
	snprintf(
		ret, size, "sys/fs/cgroup/freezer/slurm_n1/uid_0/job_%u/step_0/freezer.state", job);
}

static bool frozen(uint32_t job)
{
	char path[128], text[16] = "";

	freezer_file(job, path, sizeof(path));
	ck_assert_int_gt(fsroot_read(&tree.root, path, text, sizeof(text)), 0);
	return strncmp(text, "FROZEN", 6) == 0;
}

static struct step *add(uint32_t job)
{
	struct step *s = jobs_add(&d.jobs, job, 0, 0);
	char path[160], text[160];

	freezer_file(job, path, sizeof(path));
	fstree_put(&tree, path, "THAWED\n");
	snprintf(path, sizeof(path), "proc/%u/cgroup", job * 10);
	snprintf(text, sizeof(text),
		"9:cpuset:/slurm_n1/uid_0/job_%u/step_0\n3:freezer:/slurm_n1/uid_0/job_%u/step_0\n",
		job, job);
	fstree_put(&tree, path, text);
	snprintf(text, sizeof(text), "%u\n", job * 10);
	snprintf(s->cgroup.step_path, sizeof(s->cgroup.step_path),
		"sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_%u/step_0", job);
	snprintf(path, sizeof(path), "%.120s/tasks", s->cgroup.step_path);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "%.120s/cgroup.procs", s->cgroup.step_path);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%u/task/%u/stat", job * 10, job * 10);
	fstree_put(&tree, path, "1 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100\n");
	put_run(job, 0, 1);
	s->cgroup.job_id = job;
	s->ntasks = 1;
	s->located = true;
	s->status = STATUS_PLACED;
	ck_assert_int_eq(step_add_task(s, 0, (pid_t)(job * 10)), 0);
	return s;
}

/* One turn of the rotation, at the time it asked for; who is not idle has run meanwhile. */
static void turn(void)
{
	static int64_t ran_ms;

	ran_ms += 100000;
	for (int i = 0; i < d.jobs.n; i++)
		if (d.jobs.step[i]->job_id != idle)
			put_run(d.jobs.step[i]->job_id, ran_ms, 1);
	now = next;
	rotate_run(&d, now, &next);
}

/* Jobs 1..n, each in a slice of its own, of these lengths; then to the start of a slice. */
static void give(const int *ms, int n)
{
	bool was;

	plan.n_jobs = n;
	plan.n_slices = n;
	for (int i = 0; i < n; i++) {
		snprintf(plan.job[i].id, sizeof(plan.job[i].id), "%d.0", i + 1);
		plan.slice[i].ms = ms[i];
		plan.slice[i].n_jobs = 1;
		plan.slice[i].job[0] = i;
	}
	rotate_plan(&d, &plan, d.jobs.step);
	rotate_update(&d);
	now = ipc_now_ns();
	rotate_run(&d, now, &next);
	for (was = frozen(1); next && frozen(1) == was;)
		turn();
}

/* Time goes on to @until by the deadlines asked for; thawed time of @job meanwhile, ms. */
static int64_t run_until(int64_t until, uint32_t job)
{
	int64_t ran = 0;

	while (next && next <= until) {
		if (!frozen(job))
			ran += next - now;
		turn();
	}
	if (!frozen(job))
		ran += until - now;
	now = until;
	return ran / MS;
}

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
	rotate_leave(&d, two);
	plan.n_slices = 1;
	rotate_plan(&d, &plan, d.jobs.step);
	rotate_update(&d);
	ck_assert(!frozen(1));
	ck_assert(!frozen(2));
}
END_TEST

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
	return d.jobs.step[i]->turn.frozen_since_ns != 0;
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
		rotate_run(&d, t, &next);
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
	start = now = ipc_now_ns();
	rotate_plan(&d, &plan, d.jobs.step);
	rotate_update(&d);
	rotate_run(&d, now, &next);
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
	ck_assert_int_eq(p[0].cuts, 1);
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

START_TEST(bursts_freeze_nobody_beyond_the_limit)
{
	struct program p[3] = {{.burst_ms = 2000, .wait_ms = 900}, {.burst_ms = 1, .wait_ms = 0},
		{.burst_ms = 1, .wait_ms = 0}};
	int64_t since = 0, longest = 0;

	d.conf.freeze_max_ms = 400;
	run_programs(p, 3, 1, 1);
	for (int64_t end = now + 10000 * MS; now < end;) {
		now = live_on(p, 3, now);
		if (!is_held(1))
			since = 0;
		else if (!since)
			since = now;
		else if (now - since > longest)
			longest = now - since;
	}
	ck_assert_int_gt(longest, 0);
	ck_assert_int_le(longest, 400 * MS);
}
END_TEST

START_TEST(all_waiting_all_run)
{
	add(1);
	add(2);
	give((int[]){100, 100}, 2);
	for (int i = 0; i < 10; i++) { /* nobody's account grows */
		now = next;
		rotate_run(&d, now, &next);
	}
	ck_assert(!frozen(1) && !frozen(2));
	ck_assert_int_gt(next, now);
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
	d.conf.freeze_max_ms = 2000;
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
	ck_assert_int_le(now - begin, 250 * MS);
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
	rotate_plan(&d, &plan, d.jobs.step);
	rotate_run(&d, now, &next);
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
	rotate_plan(&d, &plan, d.jobs.step);
	rotate_run(&d, now, &next);
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
	rotate_leave(&d, d.jobs.step[0]);
	d.jobs.step[0]->status = STATUS_RELEASED;
	plan.n_slices = 2;
	plan.slice[0].job[0] = 1;
	plan.slice[1].job[0] = 2;
	rotate_plan(&d, &plan, d.jobs.step);
	rotate_update(&d);
	ck_assert(frozen(2) != frozen(3));
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
	int64_t before, t0, ran;

	add(2);
	give((int[]){100, 100}, 2);
	t0 = now;
	before = rotate_frozen_ns(s, now);
	ran = run_until(now + 1000 * MS, 1);
	ck_assert_int_eq((rotate_frozen_ns(s, now) - before) / MS, (now - t0) / MS - ran);
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
	rotate_plan(&d, &plan, d.jobs.step);
	for (int i = 0; i < 6; i++)
		turn();
	ck_assert_int_ne(frozen(1), frozen(2));
	ck_assert_int_ge(next - now, 10 * MS);
	/* Nobody takes turns any more, which is still to be done. */
	plan.n_slices = 0;
	rotate_plan(&d, &plan, d.jobs.step);
	turn();
	ck_assert(!frozen(1) && !frozen(2));
	rotate_update(&d);
	rotate_run(&d, now, &next);
	ck_assert_int_eq(next, 0);
}
END_TEST

/* Slurm suspends a step of the rotation; before the loop hears of it the step leaves. */
START_TEST(leaving_undoes_no_suspend)
{
	struct step *one = add(1);
	char path[128];
	pid_t slurm;

	add(2);
	give((int[]){100, 100}, 2);
	while (!frozen(1))
		run_until(now + 50 * MS, 1);
	freezer_file(1, path, sizeof(path));
	slurm = fork();
	if (slurm == 0)
		_exit(fsroot_write(&tree.root, path, "FROZEN") == 0 ? 0 : 1);
	waitpid(slurm, NULL, 0);
	rotate_leave(&d, one);
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
	rotate_leave(&d, one);
	ck_assert(!frozen(1));
	ck_assert_int_eq(ledger_count(d.ledger), 1);
	jobs_remove(&d.jobs, one);
	rotate_close(&d);
	ck_assert(!frozen(2));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rotate");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	/* Not as root there is no fanotify, and then no rotation: nothing to see here. */
	if (geteuid() != 0) {
		printf("needs root: fanotify\n");
		return 77;
	}
	tc = tcase_create("whole steps take turns");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, two_steps_take_turns);
	tcase_add_test(tc, shares_follow_the_slices);
	tcase_add_test(tc, one_alone_is_never_frozen);
	tcase_add_test(tc, frozen_time_is_counted);
	suite_add_tcase(s, tc);
	tc = tcase_create("who waits yields his slice");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, waiting_step_yields_and_comes_back);
	tcase_add_test(tc, all_waiting_all_run);
	tcase_add_test(tc, bursts_run_one_after_another);
	tcase_add_test(tc, bursts_behind_a_foreground_run_one_after_another);
	tcase_add_test(tc, wait_after_a_long_burst_is_seen);
	tcase_add_test(tc, bursts_take_no_more_than_a_share);
	tcase_add_test(tc, bursts_freeze_nobody_beyond_the_limit);
	suite_add_tcase(s, tc);
	tc = tcase_create("one slice is much longer than the others");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, who_waits_in_a_long_slice_yields_soon);
	tcase_add_test(tc, who_wakes_in_a_long_slice_gets_in_line);
	tcase_add_test(tc, slice_that_another_plan_shortens_ends_by_it);
	tcase_add_test(tc, who_follows_one_that_ended_does_not_wait_for_his_slice_to_end);
	tcase_add_test(tc, long_slices_one_after_another_freeze_nobody_beyond_the_limit);
	suite_add_tcase(s, tc);
	tc = tcase_create("nobody stays frozen, and not everybody is");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, nobody_is_frozen_longer_than_the_limit);
	tcase_add_test(tc, step_that_cannot_be_frozen_runs_beside);
	tcase_add_test(tc, unplaced_and_dry_steps_take_no_part);
	tcase_add_test(tc, turns_go_on_while_a_plan_waits_to_be_done);
	tcase_add_test(tc, leaving_undoes_no_suspend);
	tcase_add_test(tc, end_of_a_step_leaves_nothing_behind);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
