/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often a step is read (sample.c). A file tree stands for the step's cgroup and for schedstat;
 * its one process is a real child of the test, so that its clock is real. The tests bring their
 * own time.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/steps/steps.h"
#include "tests/unit/fstree.h"
#include "tests/unit/levers_of.h"

#define MS       INT64_C(1000000)
#define STEP_DIR "sys/fs/cgroup/cpuset/slurm_n/uid_0/job_1/step_0"

static struct daemon d;
static struct step *s;
static struct errbuf err;
static struct fstree tree;
static int64_t now_ns;
static pid_t child;
static uint64_t run_ns, wait_ns;
static double waiting; /* how much of the time each of its threads waits for a core */

int64_t __wrap_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void)
{
	return now_ns;
}

static void put(const char *path, const char *text)
{
	fstree_put(&tree, path, text);
}

/* So much cpu time as @running cores make of the time that passes. */
static void pass_ms(int ms, double running)
{
	char path[64], text[64];

	now_ns += ms * MS;
	run_ns += (uint64_t)(running * ms * (double)MS);
	wait_ns += (uint64_t)(waiting * ms * (double)MS);
	snprintf(path, sizeof(path), "proc/%d/schedstat", (int)child);
	snprintf(text, sizeof(text), "%llu %llu 5\n", (unsigned long long)run_ns,
		(unsigned long long)wait_ns);
	put(path, text);
	put("proc/1234567/schedstat", text); /* another thread, where a test has one */
}

static void list_tasks(const char *more)
{
	char text[128];

	snprintf(text, sizeof(text), "%d\n%s", (int)child, more);
	put(STEP_DIR "/tasks", text);
	put(STEP_DIR "/cgroup.procs", text);
}

static void setup(void)
{
	char path[96], text[128];

	daemon_init(&d);
	fstree_make(&tree);
	d.node->root = tree.root;
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	d.conf->interval_ms = 100;
	/* Blocked: its clock stands, which is what a step that runs as before looks like here. */
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	put("proc/self/mountinfo",
		"30 20 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	put("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
	put("sys/fs/cgroup/cpuset/slurm_n/uid_0/job_1/cpuset.cpus", "0-1\n");
	put(STEP_DIR "/cpuset.cpus", "0-1\n");
	snprintf(path, sizeof(path), "proc/%d/cgroup", (int)child);
	put(path, "4:cpuset:/slurm_n/uid_0/job_1/step_0\n");
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)child, (int)child);
	snprintf(text, sizeof(text), "%d (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n",
		(int)child);
	put(path, text);
	list_tasks("");
	now_ns = INT64_C(1000000000000);
	waiting = 0;
	pass_ms(0, 0);
	ck_assert_int_eq(topo_load(&d.node->topo, "core:2 pu:1", &err), 0);
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(record_open(&d.record, ":memory:", false, &err), 0);
	ck_assert_int_eq(
		actuate_open(&d.actuate, &d.node->root, d.ledger, &d.node->topo->all, &err), 0);
	levers_of(&d);
	counters_choose(&d.node->counters, "none", NULL);
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(daemon_open_rooms(&d, &err), 0);
	s = jobs_add(d.jobs, 1, 0, 0);
	ck_assert_ptr_nonnull(s);
	ck_assert_msg(find_by_pid(d.jobs, d.actuate, s, child, &err) == 0, "%s", err.text);
	reading_open(d.measure, s);
}

static void teardown(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	jobs_done(d.jobs);
	daemon_close_rooms(&d);
	free(d.levers);
	loop_free(d.loop);
	actuate_close(d.actuate);
	record_close(d.record);
	ledger_close(d.ledger);
	topo_free(d.node->topo);
	fstree_remove(&tree);
}

static void put_another(void)
{
	char path[96];

	snprintf(path, sizeof(path), "proc/%d/task/1234567/stat", (int)child);
	put(path, "1234567 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n");
	list_tasks("1234567\n");
}

/* Rounds at the interval with so many cores run on; how many of them read the step. */
static int rounds(int n, double running)
{
	uint64_t before = s->sample_no;

	for (int i = 0; i < n; i++) {
		pass_ms(100, running);
		sampler_round(d.measure, now_ns);
	}
	return (int)(s->sample_no - before);
}

START_TEST(new_step_is_read_at_each_interval)
{
	reading_unsettle(s);
	ck_assert_int_eq(rounds(6, 0), 6);
}
END_TEST

START_TEST(step_that_stays_the_same_is_read_every_two_seconds)
{
	reading_unsettle(s);
	rounds(30, 0);
	ck_assert_int_ge(rounds(60, 0), 2);
	ck_assert_int_le(rounds(40, 0), 3);
}
END_TEST

START_TEST(step_that_stays_the_same_for_long_is_read_every_four_then_eight)
{
	reading_unsettle(s);
	rounds(160, 0);
	/* 12 s */
	ck_assert_int_ge(rounds(120, 0), 2);
	ck_assert_int_le(rounds(120, 0), 4);
	/* Half a minute, and then every eight: 24 s. */
	rounds(60, 0);
	ck_assert_int_ge(rounds(240, 0), 2);
	ck_assert_int_le(rounds(240, 0), 4);
	/* A change of what it does is seen within 0.6 s all the same. */
	s->pace.run_ns -= 1000 * MS;
	ck_assert_int_ge(rounds(6, 0), 1);
	/* And as any other when it was moved. */
	reading_disturb(s);
	ck_assert_int_eq(rounds(6, 0), 6);
	rounds(20, 0);
	ck_assert_int_ge(rounds(60, 0), 2);
}
END_TEST

START_TEST(utilization_is_of_all_the_time_since_the_last_reading)
{
	reading_unsettle(s);
	rounds(30, 0);
	/* Its clock is not asked what schedstat says: nobody looks before the two seconds. */
	rounds(20, 0.5);
	ck_assert_int_eq((int)s->signal[SIGNAL_UTILIZATION].provenance, (int)PROVENANCE_OS);
	rounds(20, 0.5);
	ck_assert_double_eq_tol(s->signal[SIGNAL_UTILIZATION].value, 0.5, 0.02);
}
END_TEST

START_TEST(moved_step_is_read_at_each_interval_again)
{
	reading_unsettle(s);
	rounds(30, 0);
	reading_disturb(s);
	ck_assert_int_eq(rounds(6, 0), 6);
}
END_TEST

START_TEST(new_thread_is_found_at_the_next_reading)
{
	reading_unsettle(s);
	rounds(30, 0);
	ck_assert_int_eq(s->threads, 1);
	put_another();
	rounds(21, 0);
	ck_assert_int_eq(s->threads, 2);
}
END_TEST

START_TEST(ended_process_has_the_step_read_at_once)
{
	reading_unsettle(s);
	rounds(30, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* Its look is due within three rounds. */
	ck_assert_int_ge(rounds(3, 0), 1);
}
END_TEST

START_TEST(step_that_runs_otherwise_is_read_at_its_next_look)
{
	reading_unsettle(s);
	rounds(30, 0);
	/* What its clock showed is less than what it will show: as if it had run since. */
	s->pace.run_ns -= 1000 * MS;
	ck_assert_int_ge(rounds(3, 0), 1);
}
END_TEST

/* Whether they poll is not asked of /proc here: what maps an MPI library is known. */
START_TEST(ranks_that_poll_as_before_are_read_like_others)
{
	put_another();
	s->polling = (struct polling){.ranks = 2, .wait = 1000, .n_tids = 2};
	waiting = 1;
	reading_unsettle(s);
	rounds(30, 0);
	ck_assert(s->polling.on);
	ck_assert_int_le(rounds(100, 0), 6);
	/* What no clock shows is seen at its next reading, and is told by 20 in a row. */
	waiting = 0;
	for (int i = 0; i < 80 && !polling_is_unsure(&s->polling); i++)
		rounds(1, 0);
	ck_assert(s->polling.on);
	ck_assert_int_eq(rounds(19, 0), 19);
	ck_assert(!s->polling.on);
	rounds(80, 0);
	ck_assert_int_le(rounds(100, 0), 4);
	/* And by three in a row, when they poll again. */
	waiting = 1;
	for (int i = 0; i < 80 && !polling_is_unsure(&s->polling); i++)
		rounds(1, 0);
	ck_assert_int_eq(rounds(2, 0), 2);
	ck_assert(s->polling.on);
}
END_TEST

START_TEST(short_turns_are_no_phases)
{
	/* In line for 95 of each 100 ms; twice in twenty it gets going late. */
	for (int i = 0; i < 100; i++) {
		reading_unsettle(s);
		s->turn.frozen_ns += 95 * MS;
		pass_ms(100, i % 20 >= 18 ? 0.015 : 0.049);
		sampler_round(d.measure, now_ns);
	}
	ck_assert_int_eq(s->seen.changes, 0);
	/* What it did is in the mean over its own time all the same. */
	ck_assert_double_ge(s->signal[SIGNAL_UTILIZATION].value, 0.7);
	/* A true change is still seen. */
	for (int i = 0; i < 100; i++) {
		reading_unsettle(s);
		s->turn.frozen_ns += 75 * MS;
		pass_ms(100, 0.08);
		sampler_round(d.measure, now_ns);
	}
	ck_assert_int_ge(s->seen.changes, 1);
}
END_TEST

static void stop_loop(void *loop)
{
	loop_stop(loop);
}

static void run_loop_ms(int ms)
{
	struct loop_source *end;

	ck_assert_int_eq(loop_add_timer(d.loop, stop_loop, d.loop, &end, &err), 0);
	loop_set_timer(end, ms, 0);
	loop_run(d.loop);
	loop_remove(d.loop, end);
}

/* The sampler stops at its first round without steps, the tick at its own, which is later. */
START_TEST(step_that_comes_before_the_tick_has_stopped_is_sampled)
{
	d.conf->interval_ms = 20;
	d.conf->tick_ms = 60000;
	ck_assert_int_eq(loop_add_timer(d.loop, daemon_tick, &d, &d.course->timer, &err), 0);
	daemon_start_ticking(&d);
	jobs_done(d.jobs);
	run_loop_ms(100);
	ck_assert_int_eq((int)sampler_rounds(d.measure), 0);
	ck_assert_ptr_nonnull(jobs_add(d.jobs, 2, 0, 0));
	daemon_start_ticking(&d);
	for (int i = 0; i < 100 && sampler_rounds(d.measure) == 0; i++)
		run_loop_ms(50);
	ck_assert_int_gt((int)sampler_rounds(d.measure), 0);
	loop_remove(d.loop, d.course->timer);
}
END_TEST

/* Its list has so many threads, each a process of which nothing can be read. */
static void grow(int n)
{
	char *text = malloc((size_t)n * 8 + 1), *at = text;

	ck_assert_ptr_nonnull(text);
	for (int i = 0; i < n; i++)
		at += sprintf(at, "%d\n", 1000000 + i);
	put("sys/fs/cgroup/cpuset/slurm_n/uid_0/job_2/step_0/tasks", text);
	put("sys/fs/cgroup/cpuset/slurm_n/uid_0/job_2/step_0/cgroup.procs", text);
	free(text);
}

START_TEST(a_step_that_grows_faster_than_it_is_read_leaves_the_others_theirs)
{
	struct step *other;
	char path[96];

	put("sys/fs/cgroup/cpuset/slurm_n/uid_0/job_2/cpuset.cpus", "0-1\n");
	put("sys/fs/cgroup/cpuset/slurm_n/uid_0/job_2/step_0/cpuset.cpus", "0-1\n");
	grow(2000);
	other = jobs_add(d.jobs, 2, 0, 0);
	ck_assert_ptr_nonnull(other);
	snprintf(path, sizeof(path), "proc/1000000/cgroup");
	put(path, "4:cpuset:/slurm_n/uid_0/job_2/step_0\n");
	ck_assert_msg(find_by_pid(d.jobs, d.actuate, other, 1000000, &err) == 0, "%s", err.text);
	reading_open(d.measure, other);
	/* The new one is before the other in each round, too. */
	other->order = 0;
	s->order = 1;
	d.jobs->step[0] = other;
	d.jobs->step[1] = s;
	for (int i = 0; i < 8; i++) {
		uint64_t before = d.course->work.threads, read = s->sample_no;

		reading_unsettle(s);
		reading_unsettle(other);
		grow(2000 * (i + 2));
		pass_ms(100, 0.5);
		sampler_round(d.measure, now_ns);
		ck_assert_int_eq((int)(s->sample_no - read), 1);
		ck_assert_int_le((int)(d.course->work.threads - before), 1024 + 1);
	}
	ck_assert_double_eq_tol(s->signal[SIGNAL_UTILIZATION].value, 0.5, 0.02);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pace");
	TCase *t = tcase_create("a step is read often only while something changes");
	SRunner *r = srunner_create(suite);
	int failed;

	/* Hundreds of rounds, each of which writes the files of a tree. */
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, new_step_is_read_at_each_interval);
	tcase_add_test(t, step_that_stays_the_same_is_read_every_two_seconds);
	tcase_add_test(t, step_that_stays_the_same_for_long_is_read_every_four_then_eight);
	tcase_add_test(t, utilization_is_of_all_the_time_since_the_last_reading);
	tcase_add_test(t, moved_step_is_read_at_each_interval_again);
	tcase_add_test(t, new_thread_is_found_at_the_next_reading);
	tcase_add_test(t, ended_process_has_the_step_read_at_once);
	tcase_add_test(t, step_that_runs_otherwise_is_read_at_its_next_look);
	tcase_add_test(t, ranks_that_poll_as_before_are_read_like_others);
	tcase_add_test(t, short_turns_are_no_phases);
	tcase_add_test(t, step_that_comes_before_the_tick_has_stopped_is_sampled);
	tcase_add_test(t, a_step_that_grows_faster_than_it_is_read_leaves_the_others_theirs);
	suite_add_tcase(suite, t);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
