/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_levels - the v1 actuator where each task sits in a level of its own below its step, as Slurm
 * 24.11 and 26.05 make them. Needs root, cgroup v1 cpusets and CPUs 0 and 1; exits 77 otherwise.
 */
#include <stdio.h>
#include <string.h>

#include "nodesvc/actuate/actuate.h"
#include "tests/live/step_fixture.h"
#include "tests/unit/ledger_mem.h"

#define STEP "uid_0/job_1/step_0"

static char top[64];
static struct fsroot root = {.fd = -1};
static struct ledger *ledger;
static struct actuate *act;
static const struct actuate_ops *ops;
static struct coreset all_pus;
static struct worker task[2], stepd;
static struct step_cgroup step;
static struct errbuf err;

static void open_backend(void)
{
	ck_assert_int_eq(actuate_open(&act, &root, ledger, &all_pus, &err), 0);
	ops = actuate_get_ops(act);
	ck_assert_str_eq(ops->name, "cgroup-v1");
}

/* Two tasks, bound by Slurm to a core each; slurmstepd above them. */
static void setup(void)
{
	ledger_mem_adds_left = -1;
	step_tree_sweep(top);
	step_tree_make(top, "0-1");
	step_tree_mkdir(top, STEP "/task_0", "0-1");
	step_tree_mkdir(top, STEP "/task_1", "0-1");
	ck_assert_int_eq(fsroot_open(&root, NULL, &err), 0);
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	open_backend();
	task[0] = worker_start(top, STEP "/task_0", "app", "0", 2, WORKER_IDLE);
	task[1] = worker_start(top, STEP "/task_1", "app", "1", 2, WORKER_IDLE);
	stepd = worker_start(top, STEP, "slurmstepd", NULL, 2, WORKER_IDLE);
	ck_assert_msg(ops->locate(act, task[0].pid, &step, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
	actuate_close(act);
	ledger_close(ledger);
	fsroot_close(&root);
	step_tree_sweep(top);
}

static void levels_are(const char *cpus)
{
	ck_assert_str_eq(step_read(top, STEP), cpus);
	ck_assert_str_eq(step_read(top, STEP "/task_0"), cpus);
	ck_assert_str_eq(step_read(top, STEP "/task_1"), cpus);
}

static struct actuate_result apply(const char *cpus)
{
	struct coreset set;
	struct actuate_result r;

	ck_assert_int_eq(coreset_parse(&set, cpus, NULL), 0);
	ck_assert_msg(ops->apply(act, &step, &set, &r, &err) == 0, "%s", err.text);
	ck_assert_int_eq(ops->verify(act, &step, &set), 0);
	return r;
}

static void masks_are(const char *first, const char *second)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(mask_of(task[0].tid[i]), first);
		ck_assert_str_eq(mask_of(task[1].tid[i]), second);
	}
}

START_TEST(task_levels_follow_their_step)
{
	static const char *const sets[] = {"1", "0", "0-1", "0", "1"};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct actuate_result r = apply(sets[i]);

		ck_assert_int_eq(r.threads, task[0].n + task[1].n);
		ck_assert_int_eq(r.foreign, stepd.n);
		levels_are(sets[i]);
		/* Ranks of a core each stay side by side where there is room. */
		if (strcmp(sets[i], "0-1") == 0)
			masks_are("0", "1");
		else
			masks_are(sets[i], sets[i]);
	}
	ck_assert_msg(ops->restore(act, &step, &err) == 0, "%s", err.text);
	ck_assert_int_eq(ledger_count(ledger), 0);
	levels_are("0-1");
	masks_are("0", "1");
}
END_TEST

START_TEST(a_crash_between_the_levels_is_undone)
{
	apply("1");
	/* On the way to CPU 0: the step is wide, one task has moved. */
	ck_assert_int_eq(step_write(top, STEP, "0-1"), 0);
	ck_assert_int_eq(step_write(top, STEP "/task_0", "0"), 0);
	actuate_close(act);
	open_backend();
	ck_assert_int_ge(actuate_restore_all(act, &err), 1);
	ck_assert_int_eq(ledger_count(ledger), 0);
	levels_are("0-1");
	masks_are("0", "1");
}
END_TEST

START_TEST(a_task_that_comes_later_has_the_steps_set)
{
	apply("1");
	step_tree_mkdir(top, STEP "/task_2", "1"); /* a copy of what the step has */
	apply("0");
	ck_assert_str_eq(step_read(top, STEP "/task_2"), "0");
	ck_assert_msg(ops->restore(act, &step, &err) == 0, "%s", err.text);
	ck_assert_str_eq(step_read(top, STEP "/task_2"), "0-1");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("live_levels");
	TCase *tc = tcase_create("levels of tasks");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, task_levels_follow_their_step);
	tcase_add_test(tc, a_crash_between_the_levels_is_undone);
	tcase_add_test(tc, a_task_that_comes_later_has_the_steps_set);
	suite_add_tcase(s, tc);
	return step_tree_main(s, top, sizeof(top), &all_pus);
}
