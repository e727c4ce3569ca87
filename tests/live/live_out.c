/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_out - a step that is moved out of Slurm's cpusets and back, and that nothing of it stays.
 * Needs root, cgroup v1 cpusets and CPUs 0 and 1; exits 77 otherwise.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/actuate/actuate.h"
#include "tests/live/step_fixture.h"
#include "tests/unit/ledger_mem.h"

#define STEP "uid_0/job_1/step_0"

static char top[64], out[128]; /* out: the step's directory outside */
static struct fsroot root = {.fd = -1};
static struct ledger *ledger;
static struct actuate *act;
static const struct actuate_ops *ops;
static struct coreset all_pus;
static struct worker task, stepd;
static struct step_cgroup step;
static struct errbuf err;

static void sweep(void)
{
	snprintf(out, sizeof(out), "coloc/%s+uid_0+job_1+step_0", top);
	step_tree_sweep(out);
	step_tree_sweep(top);
}

static bool is_out(void)
{
	char path[200];

	snprintf(path, sizeof(path), "/sys/fs/cgroup/cpuset/%s", out);
	return access(path, F_OK) == 0;
}

/* A job with CPU 0, of a node with 0 and 1. */
static void setup(void)
{
	ledger_mem_adds_left = -1;
	sweep();
	step_tree_make(top, "0");
	ck_assert_int_eq(fsroot_open(&root, NULL, &err), 0);
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(actuate_open(&act, &root, ledger, &all_pus, &err), 0);
	actuate_allow_outside(act, true);
	ops = actuate_get_ops(act);
	task = worker_start(top, STEP, "app", NULL, 2, WORKER_IDLE);
	stepd = worker_start(top, STEP, "slurmstepd", NULL, 1, WORKER_IDLE);
	ck_assert_msg(ops->locate(act, task.pid, &step, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
	actuate_close(act);
	ledger_close(ledger);
	fsroot_close(&root);
	sweep();
}

static int apply(const char *cpus)
{
	struct actuate_result r;
	struct coreset set;

	ck_assert_int_eq(coreset_parse(&set, cpus, NULL), 0);
	return ops->apply(act, &step, &set, &r, &err);
}

static void is_as_before(void)
{
	ck_assert(!is_out());
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_str_eq(step_read(top, STEP), "0");
	ck_assert_str_eq(mask_of(task.pid), "0");
}

START_TEST(out_and_back)
{
	ck_assert_msg(apply("1") == 0, "%s", err.text);
	ck_assert(is_out());
	ck_assert_str_eq(mask_of(task.tid[1]), "1");
	ck_assert_str_eq(mask_of(stepd.pid), "0");
	ck_assert_str_eq(step_read(top, STEP), "0");
	ck_assert_msg(ops->restore(act, &step, &err) == 0, "%s", err.text);
	is_as_before();
}
END_TEST

START_TEST(levels_that_were_made_below_go_with_it)
{
	ck_assert_msg(apply("1") == 0, "%s", err.text);
	/* As a container runtime makes them. */
	step_tree_mkdir(out, "box", "1");
	step_tree_mkdir(out, "box/inner", "1");
	ck_assert_msg(ops->restore(act, &step, &err) == 0, "%s", err.text);
	is_as_before();
}
END_TEST

START_TEST(a_step_that_ends_slowly_is_cleaned_up_later)
{
	struct worker slow;

	ck_assert_msg(apply("1") == 0, "%s", err.text);
	slow = worker_start(out, "", "app", NULL, 1, WORKER_IDLE);
	/* Slurm has removed the step; what was moved out outlives it. */
	step_tree_sweep(top);
	ck_assert_int_eq(ops->restore(act, &step, &err), -EBUSY);
	ck_assert_ptr_nonnull(strstr(err.text, out));
	ck_assert_int_gt(ledger_count(ledger), 0);
	worker_stop(&slow);
	worker_stop(&task);
	ck_assert_msg(ops->restore(act, &step, &err) == 0, "%s", err.text);
	ck_assert(!is_out());
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("live_out");
	TCase *tc = tcase_create("moved out of Slurm's cpusets");
	int status;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, out_and_back);
	tcase_add_test(tc, levels_that_were_made_below_go_with_it);
	tcase_add_test(tc, a_step_that_ends_slowly_is_cleaned_up_later);
	suite_add_tcase(s, tc);
	status = step_tree_main(s, top, sizeof(top), &all_pus);
	if (status != 77)
		sweep();
	return status;
}
