/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel does not do on demand: cpuset files that take a value and hold another, threads
 * that do not follow. Files stand for the cpuset; the thread is this one. See live_actuate.c for
 * the true kernel.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/actuate/internal.h"
#include "tests/unit/fstree.h"
#include "tests/unit/ledger_mem.h"

#define JOB  "cg/slurm/uid_0/job_1"
#define STEP JOB "/step_0"

static struct fstree tree;
static struct ledger *ledger;
static struct actuate *act;
static const struct actuate_ops *ops;
static struct step_cgroup step;
static struct errbuf err;
static struct coreset mask;
static char cpus[CORESET_STR_MAX];

static void put_text(const char *fmt, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), fmt, (int)getpid(), (int)getpid());
	fstree_put(&tree, path, text);
}

static void setup(void)
{
	char text[128];

	fstree_make(&tree);
	ledger_mem_adds_left = -1;
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(proc_get_mask(0, &mask), 0);
	coreset_format(&mask, cpus, sizeof(cpus));
	fstree_put(&tree, "proc/self/mountinfo", "1 2 0:1 / /cg rw - cgroup c rw,cpuset\n");
	fstree_put(&tree, "cg/cpuset.cpus", cpus);
	fstree_put(&tree, JOB "/cpuset.cpus", "0-9\n");
	fstree_put(&tree, STEP "/cpuset.cpus", "0-9\n");
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	fstree_put(&tree, STEP "/tasks", text);
	fstree_put(&tree, STEP "/cgroup.procs", text);
	put_text("proc/%d/cgroup", "3:cpuset:/slurm/uid_0/job_1/step_0\n");
	snprintf(text, sizeof(text), "%d (test) R 1 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 3 0 55 1 2\n",
		(int)getpid());
	put_text("proc/%d/task/%d/stat", text);
	coreset_add_range(&mask, 0, 9);
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &mask, &err), 0);
	ops = actuate_get_ops(act);
	ck_assert_msg(ops->locate(act, getpid(), &step, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
	actuate_close(act);
	ledger_close(ledger);
	fstree_remove(&tree);
}

static int apply(const char *text)
{
	struct coreset set;
	struct actuate_result r;

	ck_assert_int_eq(coreset_parse(&set, text, NULL), 0);
	return ops->apply(act, &step, &set, &r, &err);
}

START_TEST(another_value_than_written_is_an_error_with_both)
{
	/* A plain file keeps the tail of what it held: "4" over "0-9" reads "4-9". */
	ck_assert_int_eq(apply("4"), -EIO);
	ck_assert_str_eq(err.text, STEP "/cpuset.cpus: wrote '4', reads '4-9'");
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_int_eq(actuate_restore_all(act, &err), 0);
}
END_TEST

START_TEST(threads_that_do_not_follow_are_an_error_and_undone)
{
	struct coreset now, before;

	/* "9" over "0-9" reads "9-9"; this thread's mask is not moved by a file. */
	ck_assert_int_eq(proc_get_mask(0, &before), 0);
	ck_assert_int_eq(apply("9"), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(err.text, "still change their masks"));
	ck_assert_ptr_null(strstr(err.text, "not undone"));
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_int_eq(cpus_read(&tree.root, STEP, &now, &err), 0);
	ck_assert_int_eq(coreset_count(&now), 10);
	ck_assert_int_eq(proc_get_mask(0, &now), 0);
	ck_assert(coreset_is_equal(&now, &before));
}
END_TEST

START_TEST(a_failed_move_out_of_the_job_leaves_nothing)
{
	/* The hierarchy's memory nodes cannot be read: no directory of ours can be made. */
	actuate_allow_outside(act, true);
	fstree_put(&tree, JOB "/cpuset.cpus", "0-3\n");
	ck_assert_int_eq(apply("9"), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "cg/cpuset.mems"));
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert(!fsroot_exists(&tree.root, "cg/coloc"));
	/* What was ours before is still to be put back. */
	ck_assert_int_eq(ledger_add(ledger,
				 &(struct ledger_cpuset){.path = STEP,
					 .inode = (uint64_t)fsroot_inode(&tree.root, STEP),
					 .cpus = "0-3"},
				 NULL, 0, &err),
		0);
	ck_assert_int_eq(apply("9"), -ENOENT);
	ck_assert_int_gt(ledger_count(ledger), 0);
}
END_TEST

START_TEST(a_cpuset_that_reads_nonsense_is_named)
{
	fstree_put(&tree, STEP "/cpuset.cpus", "none\n");
	ck_assert_int_eq(apply("9"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, STEP));
	ck_assert_ptr_nonnull(strstr(err.text, "is not a list of CPUs"));
	fstree_put(&tree, JOB "/cpuset.cpus", "0-9000\n");
	ck_assert_int_eq(apply("9"), -ERANGE);
}
END_TEST

START_TEST(none_keeps_what_another_backend_recorded)
{
	struct ledger_cpuset cs = {.inode = 1, .cpus = "0-1"};

	actuate_close(act);
	fstree_put(&tree, "proc/self/mountinfo", "");
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &mask, &err), 0);
	ck_assert_int_eq(actuate_restore_all(act, &err), 0);
	strcpy(cs.path, STEP);
	ck_assert_int_eq(ledger_add(ledger, &cs, NULL, 0, &err), 0);
	ck_assert_int_eq(actuate_restore_all(act, &err), -ENOTSUP);
	ck_assert_str_eq(err.text, STEP ": cgroup-v1: no cgroup v1 cpuset hierarchy is mounted; "
					"cgroup-v2: no cgroup v2 hierarchy is mounted");
	ck_assert_int_eq(ledger_count(ledger), 1);
}
END_TEST

static void share_is(const char *part, const char *whole, const char *set, const char *want)
{
	struct coreset p, w, s, got;

	ck_assert_int_eq(coreset_parse(&p, part, &err), 0);
	ck_assert_int_eq(coreset_parse(&w, whole, &err), 0);
	ck_assert_int_eq(coreset_parse(&s, set, &err), 0);
	ranks_share(&got, &p, &w, &s);
	ck_assert_str_eq(coreset_format(&got, cpus, sizeof(cpus)), want);
}

START_TEST(a_rank_keeps_its_part_of_the_set)
{
	/* As many CPUs elsewhere, more, fewer. */
	share_is("0-1", "0-3", "4-7", "4-5");
	share_is("2-3", "0-3", "4-7", "6-7");
	share_is("1", "0-1", "0-7", "4-7");
	share_is("2-3", "0-3", "6-7", "7");
	/* Siblings 0,4 and 1,5: a core goes on a core. */
	share_is("0,4", "0-7", "2-3,6-7", "2,6");
	/* No even division: neighbours overlap, nobody is left out. */
	share_is("0", "0-1", "0-2", "0-1");
	share_is("1", "0-1", "0-2", "1-2");
	share_is("1", "0-3", "9", "9");
	share_is("4", "0-3", "0-1", "");
	share_is("0", "0-1", "", "");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("actuate");
	TCase *tc = tcase_create("what the kernel took is read back");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, another_value_than_written_is_an_error_with_both);
	tcase_add_test(tc, threads_that_do_not_follow_are_an_error_and_undone);
	tcase_add_test(tc, a_cpuset_that_reads_nonsense_is_named);
	suite_add_tcase(s, tc);
	tc = tcase_create("a step that cannot be moved out is where it was");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_failed_move_out_of_the_job_leaves_nothing);
	suite_add_tcase(s, tc);
	tc = tcase_create("originals are never dropped without being put back");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, none_keeps_what_another_backend_recorded);
	suite_add_tcase(s, tc);
	tc = tcase_create("ranks stay side by side");
	tcase_add_test(tc, a_rank_keeps_its_part_of_the_set);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
