/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup v2 on files that stand for it: trees as Slurm 22.05, 24.11 and 26.05 leave them, and what
 * a kernel does not do on demand. tests/guest has the true one.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/actuate/internal.h"
#include "tests/unit/fstree.h"
#include "tests/unit/ledger_mem.h"

#define CG    "sys/fs/cgroup"
#define SCOPE CG "/system.slice/n1_slurmstepd.scope"
#define MOUNT "30 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define N(t)  ((int)(sizeof(t) / sizeof((t)[0])))

static struct fstree tree;
static struct ledger *ledger;
static struct actuate *act;
static const struct actuate_ops *ops;
static struct step_cgroup step;
static struct errbuf err;
static struct coreset all = {{0xff}};

/* ---- paths --------------------------------------------------------------------------------- */

struct step_case {
	const char *path, *node, *sluid;
	uint32_t job_id, step_id;
	const char *job, *step;
};

static const struct step_case steps[] = {
	/* 22.05 without and with a limit on memory */
	{"/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task_special", "n1", "", 1, 0,
		"system.slice/n1_slurmstepd.scope/job_1",
		"system.slice/n1_slurmstepd.scope/job_1/step_0/user"},
	{"/system.slice/slurmstepd.scope/job_42/step_7/user/task_3", "", "", 42, 7,
		"system.slice/slurmstepd.scope/job_42",
		"system.slice/slurmstepd.scope/job_42/step_7/user"},
	/* 24.11: a batch script, an extern step */
	{"/system.slice/a_b_slurmstepd.scope/job_4294967293/step_batch/user/task_0", "a_b", "",
		4294967293u, ACTUATE_STEP_BATCH, "system.slice/a_b_slurmstepd.scope/job_4294967293",
		"system.slice/a_b_slurmstepd.scope/job_4294967293/step_batch/user"},
	{"/system.slice/n1_slurmstepd.scope/job_1/step_extern/user/task_0", "n1", "", 1,
		ACTUATE_STEP_EXTERN, "system.slice/n1_slurmstepd.scope/job_1",
		"system.slice/n1_slurmstepd.scope/job_1/step_extern/user"},
	/* 26.05: by SLUID; CgroupSlice=foo.slice */
	{"/system.slice/n1_slurmstepd.scope/sF7DM7XM43H300/step_0/user/task_0", "n1",
		"sF7DM7XM43H300", 0, 0, "system.slice/n1_slurmstepd.scope/sF7DM7XM43H300",
		"system.slice/n1_slurmstepd.scope/sF7DM7XM43H300/step_0/user"},
	{"/foo.slice/n1_slurmstepd.scope/sEKNKTV3WPV500/step_2/user", "n1", "sEKNKTV3WPV500", 0, 2,
		"foo.slice/n1_slurmstepd.scope/sEKNKTV3WPV500",
		"foo.slice/n1_slurmstepd.scope/sEKNKTV3WPV500/step_2/user"},
	/* no slice; in a container; a program that made groups of its own */
	{"/slurmstepd.scope/job_1/step_0/user", "", "", 1, 0, "slurmstepd.scope/job_1",
		"slurmstepd.scope/job_1/step_0/user"},
	{"/a.slice/docker-1.scope/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task_0/x/y",
		"n1", "", 1, 0, "a.slice/docker-1.scope/system.slice/n1_slurmstepd.scope/job_1",
		"a.slice/docker-1.scope/system.slice/n1_slurmstepd.scope/job_1/step_0/user"},
};

START_TEST(step_table)
{
	const struct step_case *c = &steps[_i];
	struct step_cgroup s;

	ck_assert_int_eq(locate_step_v2(c->path, &s), 0);
	ck_assert_str_eq(s.node, c->node);
	ck_assert_str_eq(s.sluid, c->sluid);
	ck_assert_uint_eq(s.job_id, c->job_id);
	ck_assert_uint_eq(s.step_id, c->step_id);
	ck_assert_str_eq(s.job_path, c->job);
	ck_assert_str_eq(s.step_path, c->step);
}
END_TEST

static const char *const no_steps[] = {
	"",
	"/",
	"/system.slice/n1_slurmstepd.scope",
	"/system.slice/n1_slurmstepd.scope/system",
	"/system.slice/n1_slurmstepd.scope/slurmd",
	"/system.slice/n1_slurmstepd.scope/job_1",
	"/system.slice/n1_slurmstepd.scope/job_1/step_0",
	/* slurmstepd itself */
	"/system.slice/n1_slurmstepd.scope/job_1/step_0/slurm",
	"/system.slice/n1_slurmstepd.scope/job_1/step_0/users",
	"/system.slice/n1_slurmstepd.scope/job_x/step_0/user",
	"/system.slice/n1_slurmstepd.scope/job_1/step_/user",
	"/system.slice/n1_slurmstepd.scope/job_1/step_-1/user",
	"/system.slice/n1_slurmstepd.scope/job_1/x/step_0/user",
	"/system.slice/n1_slurmstepd.scope/job_4294967296/step_0/user",
	/* not 14 characters, small letters, another first one */
	"/system.slice/n1_slurmstepd.scope/sF7DM7XM43H30/step_0/user",
	"/system.slice/n1_slurmstepd.scope/sF7DM7XM43H3000/step_0/user",
	"/system.slice/n1_slurmstepd.scope/sF7dM7XM43H300/step_0/user",
	"/system.slice/n1_slurmstepd.scope/FF7DM7XM43H300/step_0/user",
	"/system.slice/xslurmstepd.scope/job_1/step_0/user",
	"/system.slice/_slurmstepd.scope/job_1/step_0/user",
	"/system.slice/n1_slurmstepd.scope.d/job_1/step_0/user",
	"/system.slice/slurmd.service",
	"/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task_0 (deleted)",
	"/system.slice//n1_slurmstepd.scope/job_1/step_0/user",
	"system.slice/n1_slurmstepd.scope/job_1/step_0/user",
	"/slurm_n1/uid_0/job_42/step_3",
};

START_TEST(no_step_table)
{
	struct step_cgroup s = {.job_id = 99};

	ck_assert_msg(locate_step_v2(no_steps[_i], &s) == -ENOENT, "'%s'", no_steps[_i]);
	ck_assert_uint_eq(s.job_id, 99);
}
END_TEST

START_TEST(step_longer_than_any_path_is_refused)
{
	char path[600] = "/";
	struct step_cgroup s;

	memset(path + 1, 'n', 80);
	strcat(path, "_slurmstepd.scope/job_1/step_0/user");
	ck_assert_int_eq(locate_step_v2(path, &s), -ENOENT);
	memset(path + 1, 'n', 500);
	strcpy(path + 501, "/slurmstepd.scope/job_1/step_0/user");
	ck_assert_int_eq(locate_step_v2(path, &s), -ENOENT);
}
END_TEST

/* ---- trees --------------------------------------------------------------------------------- */

static void put(const char *dir, const char *file, const char *text)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fstree_put(&tree, path, text);
}

static void put_level(const char *dir, const char *cpus, const char *effective, const char *pids)
{
	put(dir, "cpuset.cpus", cpus);
	put(dir, "cpuset.cpus.effective", effective);
	put(dir, "cgroup.procs", pids);
	put(dir, "cgroup.threads", pids);
}

static void put_process(int pid, const char *comm, const char *cgroup)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
	snprintf(text, sizeof(text), "0::%s\n", cgroup);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", pid, pid);
	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n",
		pid, comm, 10 * pid);
	fstree_put(&tree, path, text);
}

/* As the kernel shows a step of @job below the scope: one task, 5000, and slurmstepd, 4999. */
static void put_step(const char *job, const char *step_name, const char *task)
{
	char dir[300];

	snprintf(dir, sizeof(dir), SCOPE "/%s", job);
	put_level(dir, "0-3\n", "0-3\n", "");
	snprintf(dir, sizeof(dir), SCOPE "/%s/%s", job, step_name);
	put_level(dir, "\n", "0-3\n", "");
	snprintf(dir, sizeof(dir), SCOPE "/%s/%s/slurm", job, step_name);
	put_level(dir, "\n", "0-3\n", "4999\n");
	put_process(4999, "slurmstepd", dir + strlen(CG));
	snprintf(dir, sizeof(dir), SCOPE "/%s/%s/user", job, step_name);
	put_level(dir, "0-3\n", "0-3\n", "");
	snprintf(dir, sizeof(dir), SCOPE "/%s/%s/user/%s", job, step_name, task);
	put_level(dir, "\n", "0-3\n", "5000\n");
	put_process(5000, "slurmstepd", dir + strlen(CG));
}

static void setup(void)
{
	fstree_make(&tree);
	ledger_mem_adds_left = -1;
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	fstree_put(&tree, "proc/self/mountinfo", MOUNT);
	fstree_put(&tree, CG "/cgroup.controllers", "cpuset cpu io memory pids\n");
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &all, &err), 0);
	ops = actuate_get_ops(act);
	ck_assert_str_eq(ops->name, "cgroup-v2");
	ck_assert_str_eq(actuate_why_not(act), "");
}

static void teardown(void)
{
	actuate_close(act);
	act = NULL;
	ledger_close(ledger);
	fstree_remove(&tree);
}

struct layout {
	const char *job, *step, *task, *sluid;
	uint32_t job_id, step_id;
};

static const struct layout layouts[] = {
	{"job_1", "step_0", "task_special", "", 1, 0},                  /* 22.05 */
	{"job_1", "step_0", "task_0", "", 1, 0},                        /* 22.05, 24.11 */
	{"job_17", "step_batch", "task_0", "", 17, ACTUATE_STEP_BATCH}, /* 24.11 */
	{"sF7DM7XM43H300", "step_0", "task_0", "sF7DM7XM43H300", 0, 0}, /* 26.05 */
	{"sF7DM7XM43H300", "step_3", "task_special", "sF7DM7XM43H300", 0, 3},
};

START_TEST(layout_table)
{
	const struct layout *l = &layouts[_i];
	struct coreset job, own, four = {{0xf}};
	char path[256];
	pid_t *tid;
	int n;

	put_step(l->job, l->step, l->task);
	ck_assert_msg(ops->locate(act, 5000, &step, &err) == 0, "%s", err.text);
	ck_assert_str_eq(step.node, "n1");
	ck_assert_str_eq(step.sluid, l->sluid);
	ck_assert_uint_eq(step.job_id, l->job_id);
	ck_assert_uint_eq(step.step_id, l->step_id);
	snprintf(path, sizeof(path), SCOPE "/%s", l->job);
	ck_assert_str_eq(step.job_path, path);
	snprintf(path, sizeof(path), SCOPE "/%s/%s/user", l->job, l->step);
	ck_assert_str_eq(step.step_path, path);
	ck_assert_uint_eq(step.step_inode, fsroot_inode(&tree.root, path));
	/* A task that has not exec'ed bears slurmstepd's name and is one of the step's. */
	ck_assert_int_eq(ops->threads(act, &step, &tid, &n), 0);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(tid[0], 5000);
	free(tid);
	ck_assert_int_eq(ops->allocation(act, &step, &job, &own, &err), 0);
	ck_assert(coreset_is_equal(&job, &four));
	ck_assert(coreset_is_equal(&own, &four));
	ck_assert_int_eq(ops->locate(act, 4999, &step, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/slurm', no Slurm step"));
}
END_TEST

START_TEST(unconstrained_cores_read_as_what_is_in_force)
{
	struct coreset job, own;

	put_step("job_1", "step_0", "task_0");
	put_level(SCOPE "/job_1", "\n", "0-7\n", "");
	put_level(SCOPE "/job_1/step_0/user", "\n", "0-7\n", "");
	ck_assert_int_eq(ops->locate(act, 5000, &step, &err), 0);
	ck_assert_int_eq(ops->allocation(act, &step, &job, &own, &err), 0);
	ck_assert(coreset_is_equal(&job, &all));
	ck_assert(coreset_is_equal(&own, &all));
}
END_TEST

START_TEST(part_of_the_hierarchy_is_resolved)
{
	actuate_close(act);
	fstree_put(&tree, "proc/self/mountinfo", "1 2 0:1 /box /cg rw - cgroup2 c rw\n");
	fstree_put(&tree, "cg/cgroup.controllers", "cpuset\n");
	fstree_put(&tree, "cg/slurmstepd.scope/job_1/step_0/user/cgroup.procs", "");
	put_process(100, "a", "/box/slurmstepd.scope/job_1/step_0/user");
	put_process(101, "a", "/slurmstepd.scope/job_1/step_0/user");
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &all, &err), 0);
	ck_assert_msg(ops->locate(act, 100, &step, &err) == 0, "%s", err.text);
	ck_assert_str_eq(step.step_path, "cg/slurmstepd.scope/job_1/step_0/user");
	ck_assert_int_eq(ops->locate(act, 101, &step, &err), -ENOENT);
}
END_TEST

START_TEST(hybrid_node_is_v1_where_v1_has_the_cpusets)
{
	actuate_close(act);
	fstree_put(&tree, "proc/self/mountinfo",
		"1 2 0:1 / /cg rw - cgroup2 c rw\n3 2 0:2 / /cpu rw - cgroup c rw,cpuset\n");
	fstree_put(&tree, "cg/cgroup.controllers", "hugetlb xcpuset cpusets\n");
	fstree_put(&tree, "cpu/cpuset.cpus", "0-7\n");
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &all, &err), 0);
	ck_assert_str_eq(actuate_get_ops(act)->name, "cgroup-v1");
	actuate_close(act);
	/* Mounted nowhere in v1 and not in v2 either: neither. */
	fstree_put(&tree, "proc/self/mountinfo", "1 2 0:1 / /cg rw - cgroup2 c rw\n");
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &all, &err), 0);
	ck_assert_str_eq(actuate_get_ops(act)->name, "none");
	ck_assert_ptr_nonnull(strstr(actuate_why_not(act),
		"cgroup-v2: the cpuset controller is not in /cg/cgroup.controllers"));
}
END_TEST

/* ---- what the kernel took ------------------------------------------------------------------ */

/* A step without threads: what is written into files is all there is to see. */
static void setup_empty(void)
{
	setup();
	put_step("job_1", "step_0", "task_0");
	put_level(SCOPE "/job_1/step_0/user/task_0", "\n", "0-3\n", "");
	ck_assert_int_eq(ops->locate(act, 5000, &step, &err), 0);
}

static int apply(const char *cpus)
{
	struct coreset set;
	struct actuate_result r;

	ck_assert_int_eq(coreset_parse(&set, cpus, NULL), 0);
	return ops->apply(act, &step, &set, &r, &err);
}

static void reads(const char *dir, const char *cpus)
{
	struct coreset now, want;

	ck_assert_int_eq(coreset_parse(&want, cpus, NULL), 0);
	ck_assert_int_eq(cpus_read(&tree.root, dir, &now, &err), 0);
	ck_assert_msg(coreset_is_equal(&now, &want), "%s", dir);
}

START_TEST(taken_but_not_in_force_is_an_error_and_undone)
{
	ck_assert_int_eq(apply("1-3"), -EIO);
	ck_assert_str_eq(err.text,
		SCOPE "/job_1/step_0/user/cpuset.cpus.effective: wrote '1-3', reads '0-3'");
	reads(SCOPE "/job_1/step_0/user", "0-3");
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(a_set_inside_the_job_leaves_the_job_level_alone)
{
	struct coreset set = {{0xe}}, job, own, four = {{0xf}};

	put(SCOPE "/job_1/step_0/user", "cpuset.cpus.effective", "1-3\n");
	ck_assert_msg(apply("1-3") == 0, "%s", err.text);
	ck_assert_int_eq(ledger_count(ledger), 1);
	ck_assert_int_eq(ops->verify(act, &step, &set), 0);
	/* A new step makes Slurm write the job level: the step's own value stays, not its force. */
	put(SCOPE "/job_1/step_0/user", "cpuset.cpus.effective", "1\n");
	ck_assert_int_eq(ops->verify(act, &step, &set), 1);
	ck_assert_int_eq(ops->allocation(act, &step, &job, &own, &err), 0);
	ck_assert(coreset_is_equal(&job, &four));
	put(SCOPE "/job_1/step_0/user", "cpuset.cpus.effective", "0-3\n");
	ck_assert_msg(ops->restore(act, &step, &err) == 0, "%s", err.text);
	reads(SCOPE "/job_1/step_0/user", "0-3");
	reads(SCOPE "/job_1", "0-3");
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(a_job_that_cannot_be_widened_is_as_before)
{
	/* In force stays 0-3, as if the scope had no more. */
	ck_assert_int_eq(apply("4-7"), -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "'4-7' is not inside '0-3', all that its job"));
	reads(SCOPE "/job_1", "0-3");
	reads(SCOPE "/job_1/step_0/user", "0-3");
	ck_assert_int_eq(ledger_count(ledger), 0);
	put(SCOPE "/job_1", "cpuset.cpus", "\n");
	ck_assert_int_eq(apply("4-7"), -ERANGE);
	ck_assert_int_eq(apply(""), -EINVAL);
	ck_assert_int_eq(apply("0-9"), -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "not within the node's CPUs"));
}
END_TEST

START_TEST(a_widened_job_without_steps_goes_back)
{
	struct ledger_cpuset cs = {.path = SCOPE "/job_1", .cpus = "0-3"};

	/* As a daemon leaves it that was killed when the step had just ended. */
	cs.inode = fsroot_inode(&tree.root, cs.path);
	put(SCOPE "/job_1", "cpuset.cpus", "0-7\n");
	ck_assert_int_eq(ledger_add(ledger, &cs, NULL, 0, &err), 0);
	ck_assert_msg(actuate_restore_all(act, &err) == 1, "%s", err.text);
	reads(SCOPE "/job_1", "0-3");
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(a_level_below_with_cpus_of_its_own_is_named)
{
	put(SCOPE "/job_1/step_0/user/task_0", "cpuset.cpus", "0\n");
	ck_assert_int_eq(apply("1-3"), -EBUSY);
	ck_assert_ptr_nonnull(
		strstr(err.text, "a level below holds '0': " SCOPE "/job_1/step_0/user/task_0"));
	ck_assert_int_eq(ledger_count(ledger), 0);
	reads(SCOPE "/job_1/step_0/user", "0-3");
}
END_TEST

START_TEST(an_ended_step_is_told)
{
	struct coreset set = {{0xf}};
	pid_t *tid;
	int n;

	fstree_remove(&tree);
	fstree_make(&tree);
	fstree_put(&tree, CG "/cgroup.controllers", "cpuset\n");
	ck_assert_int_eq(ops->threads(act, &step, &tid, &n), -ENOENT);
	ck_assert_int_eq(ops->verify(act, &step, &set), -ENOENT);
	ck_assert_int_eq(apply("0-3"), -ENOENT);
	ck_assert_int_eq(ops->restore(act, &step, &err), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("v2");
	TCase *tc = tcase_create("a path says node, job or SLUID, and step");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, step_table, 0, N(steps));
	suite_add_tcase(s, tc);
	tc = tcase_create("what is no Slurm step is refused");
	tcase_add_loop_test(tc, no_step_table, 0, N(no_steps));
	tcase_add_test(tc, step_longer_than_any_path_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("steps are found in the trees of 22.05, 24.11 and 26.05");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, layout_table, 0, N(layouts));
	tcase_add_test(tc, unconstrained_cores_read_as_what_is_in_force);
	tcase_add_test(tc, part_of_the_hierarchy_is_resolved);
	suite_add_tcase(s, tc);
	tc = tcase_create("the hierarchy that has the cpusets is chosen");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, hybrid_node_is_v1_where_v1_has_the_cpusets);
	suite_add_tcase(s, tc);
	tc = tcase_create("what counts is what is in force");
	tcase_add_checked_fixture(tc, setup_empty, teardown);
	tcase_add_test(tc, taken_but_not_in_force_is_an_error_and_undone);
	tcase_add_test(tc, a_set_inside_the_job_leaves_the_job_level_alone);
	tcase_add_test(tc, a_job_that_cannot_be_widened_is_as_before);
	tcase_add_test(tc, a_widened_job_without_steps_goes_back);
	tcase_add_test(tc, a_level_below_with_cpus_of_its_own_is_named);
	tcase_add_test(tc, an_ended_step_is_told);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
