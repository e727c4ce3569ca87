/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/runtime/coloc.h"
#include "nodesvc/tasks/pool.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 400

/* What the service grants: nobody here knows more of libcoloc than these two calls. */
static struct {
	pthread_mutex_t lock;
	int n, cpu[16];
	uint32_t generation;
} granted = {.lock = PTHREAD_MUTEX_INITIALIZER};

int __wrap_coloc_granted(struct coloc *c, uint32_t *ret_generation);
int __wrap_coloc_cores(struct coloc *c, int *cpus, int max);

int __wrap_coloc_granted(struct coloc *c, uint32_t *ret_generation)
{
	int n;

	(void)c;
	pthread_mutex_lock(&granted.lock);
	n = granted.n;
	*ret_generation = granted.generation;
	pthread_mutex_unlock(&granted.lock);
	return n;
}

int __wrap_coloc_cores(struct coloc *c, int *cpus, int max)
{
	int n;

	(void)c;
	pthread_mutex_lock(&granted.lock);
	n = granted.n;
	for (int i = 0; i < n && i < max; i++)
		cpus[i] = granted.cpu[i];
	pthread_mutex_unlock(&granted.lock);
	return n;
}

static void grant(int first, int n)
{
	pthread_mutex_lock(&granted.lock);
	granted.n = n;
	granted.generation += 2;
	for (int i = 0; i < n; i++)
		granted.cpu[i] = first + i;
	pthread_mutex_unlock(&granted.lock);
}

/* Two caches of four cores, whatever this machine has: a thread that cannot be bound runs, too. */
static struct coloc_tasks *open_eight(const char *text)
{
	struct errbuf err = {""};
	struct coloc_tasks *p = NULL;
	struct topo *topo = NULL;
	struct tasks_spec spec;

	ck_assert_msg(spec_parse(&spec, text, &err) == 0, "%s", err.text);
	ck_assert_msg(topo_load(&topo, "pack:2 l3:1 core:4 pu:1", &err) == 0, "%s", err.text);
	ck_assert_msg(pool_open(&p, &spec, topo, &err) == 0, "%s: %s", text, err.text);
	return p;
}

struct job {
	struct coloc_task *task;
	atomic_int calls;
	atomic_uint members; /* a bit each */
	int width;
	atomic_int order;
};

static struct job job[N];
static atomic_int order_now, wide;

static void note(void *arg, int member, int width)
{
	struct job *j = arg;

	/* Two neighbouring cores may take turns on one here. */
	if (atomic_fetch_add(&j->calls, 1) == 0)
		j->order = ++order_now;
	atomic_fetch_or(&j->members, 1u << member);
	if (member == 0) {
		j->width = width;
		wide += width > 1;
	}
}

static void check_jobs(int n)
{
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(job[i].calls, job[i].width);
		ck_assert_uint_eq(job[i].members, (1u << job[i].width) - 1);
	}
}

static void clear_jobs(void)
{
	memset(job, 0, sizeof(job));
	order_now = wide = 0;
}

/* Task i waits for (i - 1) / 2: a binary tree; every fifth is critical. */
static void submit_tree(struct coloc_tasks *p, int n)
{
	for (int i = 0; i < n; i++) {
		job[i].task = coloc_task_new(
			p, i % 3 ? "a" : "b", i % 5 ? 0 : COLOC_TASK_CRITICAL, note, &job[i]);
		ck_assert_ptr_nonnull(job[i].task);
		if (i > 0)
			ck_assert_int_eq(coloc_task_after(job[i].task, job[(i - 1) / 2].task), 0);
	}
	for (int i = n - 1; i >= 0; i--)
		coloc_task_submit(job[i].task);
}

static const char *const das[] = {"das-rws", "das-rwsm-c", "das-fa,fast=0-1", "das-fam-c,fast=all",
	"das-da", "das-dam-c", "das-dam-p"};

START_TEST(every_task_runs_after_the_one_before)
{
	static const char *const more[] = {"", ",at=wakeup", ",time=leader,explore=0.2"};

	grant(0, 8);
	for (int k = 0; k < 3; k++) {
		struct coloc_tasks *p;
		char spec[100];

		snprintf(spec, sizeof(spec), "%s%s", das[_i], more[k]);
		p = open_eight(spec);
		for (int round = 0; round < 3; round++) {
			clear_jobs();
			submit_tree(p, N);
			ck_assert_int_eq(coloc_tasks_wait(p), 0);
			check_jobs(N);
			for (int i = 1; i < N; i++)
				ck_assert_int_gt(job[i].order, job[(i - 1) / 2].order);
		}
		ck_assert_uint_eq(coloc_tasks_count(p, COLOC_TASKS_ENDED, -1), 3 * N);
		ck_assert_uint_eq(coloc_tasks_count(p, COLOC_TASKS_ENDED_CRITICAL, -1), 3 * N / 5);
		/* Every width was tried at least once where the policy has widths. */
		ck_assert(strncmp(spec, "das-dam", 7) != 0 ||
			  coloc_tasks_count(p, COLOC_TASKS_ENDED, 0) > 0);
		coloc_tasks_close(p);
	}
}
END_TEST

START_TEST(a_wide_task_is_called_once_by_each_member)
{
	struct coloc_tasks *p = open_eight("das-dam-p");

	grant(0, 8);
	clear_jobs();
	/* One after another: each search finds a place that was never tried, until all were. */
	for (int i = 0; i < 40; i++) {
		job[i].task = coloc_task_new(p, "a", COLOC_TASK_CRITICAL, note, &job[i]);
		coloc_task_submit(job[i].task);
		ck_assert_int_eq(coloc_tasks_wait(p), 0);
	}
	check_jobs(40);
	/* Two sockets with two pairs and all four each. */
	ck_assert_int_ge(wide, 2 * 3);
	coloc_tasks_close(p);
}
END_TEST

static struct coloc_tasks *pool;
static atomic_int deadlock;

static void make_more(void *arg, int member, int width)
{
	struct job *j = arg;

	note(arg, member, width);
	if (member > 0 || j != &job[0])
		return;
	deadlock = coloc_tasks_wait(pool);
	for (int i = 1; i < N; i++) {
		job[i].task = coloc_task_new(pool, "b", 0, note, &job[i]);
		coloc_task_after(job[i].task, job[0].task);
		coloc_task_submit(job[i].task);
	}
	/* Nothing of it runs before we have ended. */
	ck_assert_int_eq(order_now, 1);
}

START_TEST(a_task_may_make_tasks_and_not_wait)
{
	grant(0, 8);
	pool = open_eight("das-dam-c");
	clear_jobs();
	job[0].task = coloc_task_new(pool, "a", 0, make_more, &job[0]);
	coloc_task_submit(job[0].task);
	ck_assert_int_eq(coloc_tasks_wait(pool), 0);
	ck_assert_int_eq(deadlock, -EDEADLK);
	check_jobs(N);
	coloc_tasks_close(pool);
}
END_TEST

static atomic_int go;

static void hold(void *arg, int member, int width)
{
	note(arg, member, width);
	while (!go)
		sched_yield();
}

START_TEST(who_has_ended_is_not_waited_for)
{
	struct coloc_tasks *p = open_eight("das-rws");

	grant(0, 8);
	clear_jobs();
	go = 0;
	job[0].task = coloc_task_new(p, "a", 0, note, &job[0]);
	job[1].task = coloc_task_new(p, "a", 0, hold, &job[1]);
	job[2].task = coloc_task_new(p, "a", 0, note, &job[2]);
	job[3].task = coloc_task_new(p, "a", 0, note, &job[3]);
	coloc_task_submit(job[0].task);
	coloc_task_submit(job[1].task);
	while (!job[0].task->ended || job[1].calls == 0)
		sched_yield();
	ck_assert_int_eq(coloc_task_after(job[2].task, job[0].task), 0);
	ck_assert_int_eq(coloc_task_after(job[3].task, job[1].task), 0);
	coloc_task_submit(job[3].task);
	coloc_task_submit(job[2].task);
	while (!job[2].task->ended)
		sched_yield();
	ck_assert_int_eq(job[3].calls, 0);
	go = 1;
	coloc_tasks_wait(p);
	ck_assert_int_eq(job[3].calls, 1);
	/* One that is never submitted, with one that waits for it in vain. */
	job[4].task = coloc_task_new(p, "a", 0, note, &job[4]);
	job[5].task = coloc_task_new(p, "a", 0, note, &job[5]);
	coloc_task_after(job[5].task, job[4].task);
	coloc_tasks_close(p);
	ck_assert_int_eq(job[4].calls + job[5].calls, 0);
	coloc_tasks_close(NULL);
}
END_TEST

static void run_many(struct coloc_tasks *p, int n)
{
	clear_jobs();
	submit_tree(p, n);
	ck_assert_int_eq(coloc_tasks_wait(p), 0);
	check_jobs(n);
}

static uint64_t on_cpus(struct coloc_tasks *p, int first, int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += coloc_tasks_count(p, COLOC_TASKS_ENDED, first + i);
	return sum;
}

START_TEST(tasks_stay_on_the_granted_cores)
{
	static const char *const policy[] = {"das-rws", "das-dam-c", "das-dam-p,at=wakeup"};
	struct coloc_tasks *p;
	int cpu[8];

	grant(2, 2);
	p = open_eight(policy[_i]);
	ck_assert_int_eq(coloc_tasks_cpus(p, cpu, 8), 2);
	ck_assert_int_eq(cpu[0], 2);
	ck_assert_int_eq(cpu[1], 3);
	run_many(p, N);
	ck_assert_uint_eq(on_cpus(p, 0, 2) + on_cpus(p, 4, 4), 0);
	ck_assert_uint_ge(on_cpus(p, 2, 2), N);
	coloc_tasks_close(p);
}
END_TEST

START_TEST(a_grant_that_changes_is_followed)
{
	static const char *const policy[] = {"das-rws", "das-dam-c", "das-dam-p,at=wakeup"};
	struct coloc_tasks *p;
	uint64_t before, other;
	int cpu[8];

	grant(0, 8);
	p = open_eight(policy[_i]);
	run_many(p, N);
	/* One core, then others: what runs after the change is on them alone. */
	grant(5, 1);
	run_many(p, 8);
	ck_assert_int_eq(coloc_tasks_cpus(p, cpu, 8), 1);
	ck_assert_int_eq(cpu[0], 5);
	before = on_cpus(p, 5, 1);
	other = on_cpus(p, 0, 5) + on_cpus(p, 6, 2);
	run_many(p, N);
	ck_assert_uint_eq(on_cpus(p, 5, 1), before + N);
	ck_assert_uint_eq(on_cpus(p, 0, 5) + on_cpus(p, 6, 2), other);
	grant(0, 4);
	run_many(p, 8);
	ck_assert_int_eq(coloc_tasks_cpus(p, cpu, 8), 4);
	other = on_cpus(p, 4, 4);
	run_many(p, N);
	ck_assert_uint_eq(on_cpus(p, 4, 4), other);
	coloc_tasks_close(p);
}
END_TEST

START_TEST(a_grant_may_change_at_any_time)
{
	struct coloc_tasks *p;

	grant(0, 8);
	p = open_eight(_i ? "das-dam-p" : "das-dam-p,at=wakeup");
	for (int round = 0; round < 40; round++) {
		clear_jobs();
		submit_tree(p, N);
		grant(round * 5 % 8, 1 + round % (8 - round * 5 % 8));
		ck_assert_int_eq(coloc_tasks_wait(p), 0);
		check_jobs(N);
	}
	coloc_tasks_close(p);
}
END_TEST

/* All threads in a long task: who waits sees the new grant, and a thread is made for it. */
START_TEST(a_grant_that_grows_is_seen_while_a_task_runs)
{
	struct coloc_tasks *p;

	grant(0, 1);
	p = open_eight("das-rws");
	clear_jobs();
	go = 0;
	job[0].task = coloc_task_new(p, "a", 0, hold, &job[0]);
	coloc_task_submit(job[0].task);
	while (job[0].calls == 0)
		sched_yield();
	grant(0, 2);
	job[1].task = coloc_task_new(p, "a", 0, note, &job[1]);
	coloc_task_submit(job[1].task);
	pool_follow(p);
	while (job[1].calls == 0)
		sched_yield();
	ck_assert_uint_eq(on_cpus(p, 0, 1), 0);
	go = 1;
	coloc_tasks_close(p);
}
END_TEST

static const struct {
	const char *text;
	int rc;
	const char *why;
} refusals[] = {
	{"fair", -EINVAL, "policy 'fair': tasks are placed by das-* only"},
	{"das-nobody", -ENOENT, NULL},
	{"das-dam-c,weight=9", -EINVAL, NULL},
	{"das-dam-c,at=now", -EINVAL, "at=now: dequeue or wakeup expected"},
	{"das-dam-c,time=", -EINVAL, "time=: task or leader expected"},
	{"das-dam-c,seed=-1", -EINVAL, "seed=-1: a whole number expected"},
	{"das-dam-c,seed=1x", -EINVAL, "seed=1x: a whole number expected"},
	{"das-fa,fast=x", -EINVAL, "fast=x: all, or CPUs like 0,2-3 expected"},
	{"das-fa", -ENODATA, "policy 'das-fa': needs fast=all, or fast=CPUs"},
	{"das-fam-c,weight=2", -ENODATA,
		"policy 'das-fam-c,weight=2': needs fast=all, or fast=CPUs"},
	{"", -EINVAL, NULL},
};

START_TEST(what_is_not_understood_is_refused)
{
	struct coloc_tasks *p = (struct coloc_tasks *)&job;
	char why[256] = "", small[8];

	grant(0, 1);
	ck_assert_int_eq(
		coloc_tasks_open(&p, refusals[_i].text, why, sizeof(why)), refusals[_i].rc);
	ck_assert_ptr_eq(p, &job);
	ck_assert(why[0]);
	if (refusals[_i].why)
		ck_assert_str_eq(why, refusals[_i].why);
	ck_assert_int_eq(
		coloc_tasks_open(&p, refusals[_i].text, small, sizeof(small)), refusals[_i].rc);
	ck_assert_int_eq(strlen(small), 7);
	ck_assert_int_eq(coloc_tasks_open(&p, refusals[_i].text, NULL, 0), refusals[_i].rc);
}
END_TEST

START_TEST(a_text_has_the_engines_keys_and_ours)
{
	struct errbuf err = {""};
	struct tasks_spec s;
	char text[300];

	ck_assert_int_eq(spec_parse(&s, "das-fa,fast=0,2-3,weight=2,at=wakeup,seed=7", &err), 0);
	ck_assert_str_eq(s.policy, "das-fa,weight=2");
	ck_assert_int_eq(coreset_count(&s.fast), 3);
	ck_assert(s.at_wakeup && !s.leader_time && !s.all_fast);
	ck_assert_uint_eq(s.seed, 7);
	ck_assert_int_eq(spec_parse(&s, "das-dam-c", &err), 0);
	ck_assert(!s.at_wakeup && !s.leader_time);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(spec_parse(&s, text, &err), -EINVAL);
}
END_TEST

/* The user's word, where the program says nothing. */
START_TEST(the_environment_chooses_for_a_program)
{
	struct coloc_tasks *p;
	char why[100];

	grant(0, 1);
	setenv("COLOC_TASKS", "das-nobody", 1);
	ck_assert_int_eq(coloc_tasks_open(&p, NULL, why, sizeof(why)), -ENOENT);
	ck_assert_int_eq(coloc_tasks_open(&p, "das-da", why, sizeof(why)), 0);
	coloc_tasks_close(p);
	setenv("COLOC_TASKS", "", 1);
	ck_assert_int_eq(coloc_tasks_open(&p, NULL, why, sizeof(why)), 0);
	ck_assert_str_eq(p->spec.policy, "das-dam-c");
	run_many(p, 20);
	coloc_tasks_close(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tasks");
	TCase *order = tcase_create("a graph runs in order under every policy");
	TCase *life = tcase_create("tasks may be made at any time");
	TCase *follow = tcase_create("tasks run on the granted cores");
	TCase *bad = tcase_create("what cannot run is refused");
	SRunner *sr;
	int failed;

	tcase_set_timeout(order, 60);
	tcase_set_timeout(life, 60);
	tcase_set_timeout(follow, 60);
	tcase_add_loop_test(order, every_task_runs_after_the_one_before, 0, 7);
	tcase_add_test(order, a_wide_task_is_called_once_by_each_member);
	tcase_add_test(life, a_task_may_make_tasks_and_not_wait);
	tcase_add_test(life, who_has_ended_is_not_waited_for);
	tcase_add_loop_test(follow, tasks_stay_on_the_granted_cores, 0, 3);
	tcase_add_loop_test(follow, a_grant_that_changes_is_followed, 0, 3);
	tcase_add_loop_test(follow, a_grant_may_change_at_any_time, 0, 2);
	tcase_add_test(follow, a_grant_that_grows_is_seen_while_a_task_runs);
	tcase_add_loop_test(
		bad, what_is_not_understood_is_refused, 0, sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_test(bad, a_text_has_the_engines_keys_and_ours);
	tcase_add_test(bad, the_environment_chooses_for_a_program);
	suite_add_tcase(s, order);
	suite_add_tcase(s, life);
	suite_add_tcase(s, follow);
	suite_add_tcase(s, bad);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
