/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/actuate/internal.h"
#include "tests/unit/fstree.h"

#define V1_TEXT                                                                                    \
	"11:freezer:/slurm_n1/uid_0/job_42/step_3\n"                                               \
	"6:cpu,cpuacct:/\n"                                                                        \
	"3:cpuset:/slurm_n1/uid_0/job_42/step_3\n"                                                 \
	"1:name=systemd:/system.slice/slurmd.service\n"
#define HYBRID_TEXT V1_TEXT "0::/system.slice/slurmd.service\n"
#define V2_TEXT     "0::/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task_0\n"

#define MOUNT_HEAD "22 1 0:5 / /proc rw - proc proc rw\n"
#define MOUNT_V1                                                                                   \
	"34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset\n"
#define MOUNT_V2 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

struct mount_case {
	const char *text, *mount, *root;
	int rc;
};

static const struct mount_case mounts[] = {
	{MOUNT_HEAD MOUNT_V1 MOUNT_V2, "sys/fs/cgroup/cpuset", "", 0},
	{"1 2 0:1 / /cg/cpu,cpuset rw - cgroup none rw,cpu,cpuset,clone_children\n",
		"cg/cpu,cpuset", "", 0},
	{"1 2 0:1 /docker/a\\040b /odd\\040place/\\134x rw a:1 b - cgroup c rw,cpuset\n",
		"odd place/\\x", "docker/a b", 0},
	/* Not it: v2, another controller, a word that only contains the name, the old cpuset fs. */
	{MOUNT_HEAD MOUNT_V2, NULL, NULL, -ENOENT},
	{"1 2 0:1 / /a rw - cgroup c rw,cpu\n", NULL, NULL, -ENOENT},
	{"1 2 0:1 / /a rw - cgroup c rw,xcpuset,cpusets\n", NULL, NULL, -ENOENT},
	{"1 2 0:1 / /a rw - cpuset none rw,cpuset\n", NULL, NULL, -ENOENT},
	{"", NULL, NULL, -ENOENT},
	{"1 2\n - cgroup c cpuset\nx - cgroup", NULL, NULL, -ENOENT},
};

START_TEST(mount_table)
{
	const struct mount_case *c = &mounts[_i];
	char mount[256], root[256];

	ck_assert_int_eq(
		locate_mounted(c->text, &hierarchies[0]->mount, mount, root, sizeof(mount)), c->rc);
	if (c->rc == 0) {
		ck_assert_str_eq(mount, c->mount);
		ck_assert_str_eq(root, c->root);
	}
}
END_TEST

START_TEST(mount_longer_than_buffer_is_refused)
{
	char mount[8], root[8];

	ck_assert_int_eq(
		locate_mounted(MOUNT_V1, &hierarchies[0]->mount, mount, root, sizeof(mount)),
		-ENAMETOOLONG);
}
END_TEST

START_TEST(cgroup_line_is_found_by_its_controller)
{
	char path[128];

	ck_assert_int_eq(locate_cgroup_path(HYBRID_TEXT, "cpuset", path, sizeof(path)), 0);
	ck_assert_str_eq(path, "/slurm_n1/uid_0/job_42/step_3");
	ck_assert_int_eq(locate_cgroup_path("5:cpu,cpuset:/a:b", "cpuset", path, sizeof(path)), 0);
	ck_assert_str_eq(path, "/a:b");
	ck_assert_int_eq(locate_cgroup_path(V2_TEXT, "cpuset", path, sizeof(path)), -ENOENT);
	ck_assert_int_eq(locate_cgroup_path("garbage", "cpuset", path, sizeof(path)), -ENOENT);
	ck_assert_int_eq(locate_cgroup_path(HYBRID_TEXT, "cpuset", path, 5), -ENAMETOOLONG);
}
END_TEST

struct step_case {
	const char *path, *node;
	uint32_t job_id, step_id;
	const char *job, *step;
};

static const struct step_case steps[] = {
	{"/slurm_n1/uid_0/job_42/step_3", "n1", 42, 3, "slurm_n1/uid_0/job_42",
		"slurm_n1/uid_0/job_42/step_3"},
	{"/slurm/uid_1000/job_7/step_batch", "", 7, ACTUATE_STEP_BATCH, "slurm/uid_1000/job_7",
		"slurm/uid_1000/job_7/step_batch"},
	{"/slurm/uid_1/job_7/step_extern", "", 7, ACTUATE_STEP_EXTERN, "slurm/uid_1/job_7",
		"slurm/uid_1/job_7/step_extern"},
	{"/slurm/uid_1/job_7/step_interactive", "", 7, ACTUATE_STEP_INTERACTIVE,
		"slurm/uid_1/job_7", "slurm/uid_1/job_7/step_interactive"},
	{"/slurm_a-b.c/uid_0/job_1/step_0/task_12", "a-b.c", 1, 0, "slurm_a-b.c/uid_0/job_1",
		"slurm_a-b.c/uid_0/job_1/step_0"},
	{"/slurm_x/uid_4294967294/job_4294967293/step_4294967290", "x", 4294967293u, 4294967290u,
		"slurm_x/uid_4294967294/job_4294967293",
		"slurm_x/uid_4294967294/job_4294967293/step_4294967290"},
};

START_TEST(step_table)
{
	const struct step_case *c = &steps[_i];
	struct step_cgroup s;

	ck_assert_int_eq(locate_step(c->path, &s), 0);
	ck_assert_str_eq(s.node, c->node);
	ck_assert_uint_eq(s.job_id, c->job_id);
	ck_assert_uint_eq(s.step_id, c->step_id);
	ck_assert_str_eq(s.job_path, c->job);
	ck_assert_str_eq(s.step_path, c->step);
}
END_TEST

static const char *const no_steps[] = {
	"/",
	"",
	"/slurm_n1",
	"/slurm_n1/uid_0/job_42",
	"/slurm_n1/uid_0/job_42/",
	"/slurm_/uid_0/job_1/step_0",
	"/slurmd/uid_0/job_1/step_0",
	"/user/slurm_n1/uid_0/job_1/step_0",
	"/slurm_n1/uid_/job_1/step_0",
	"/slurm_n1/uid_0/job_x/step_0",
	"/slurm_n1/uid_0/job_1/step_",
	"/slurm_n1/uid_0/job_1/step_-1",
	"/slurm_n1/uid_0/job_1/step_ 1",
	"/slurm_n1/uid_0/job_1/step_0x1",
	"/slurm_n1/uid_0/job_4294967296/step_0",
	"/slurm_n1/uid_0/job_1/step_0 (deleted)",
	"/slurm_n1/uid_0/job_1/step_0/task_0 (deleted)",
	"/slurm_n1/uid_0/../job_1/step_0",
	"//slurm_n1/uid_0/job_1/step_0",
	"slurm_n1/uid_0/job_1/step_0",
	"/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task_0",
};

START_TEST(no_step_table)
{
	struct step_cgroup s = {.job_id = 99};

	ck_assert_msg(locate_step(no_steps[_i], &s) == -ENOENT, "'%s'", no_steps[_i]);
	ck_assert_uint_eq(s.job_id, 99);
}
END_TEST

START_TEST(step_longer_than_any_path_is_refused)
{
	struct step_cgroup s;
	char path[600] = "/slurm_";

	memset(path + 7, 'n', 90);
	strcat(path, "/uid_0/job_1/step_0");
	ck_assert_int_eq(locate_step(path, &s), -ENOENT);
	memset(path, '/', 1);
	memset(path + 1, 'a', 500);
	ck_assert_int_eq(locate_step(path, &s), -ENOENT);
}
END_TEST

/* ---- through the backend, on a tree -------------------------------------------------------- */

static struct fstree tree;
static struct actuate *act;
static struct errbuf err;

static void setup(void)
{
	fstree_make(&tree);
}

static void teardown(void)
{
	actuate_close(act);
	act = NULL;
	fstree_remove(&tree);
}

static void open_on(const char *mountinfo)
{
	struct coreset all = {{3}};

	fstree_put(&tree, "proc/self/mountinfo", mountinfo);
	ck_assert_int_eq(actuate_open(&act, &tree.root, NULL, &all, &err), 0);
}

START_TEST(locate_v1_gives_paths_below_the_root)
{
	const struct actuate_ops *ops;
	struct step_cgroup s;

	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
	fstree_put(&tree, "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_42/step_3/tasks", "");
	fstree_put(&tree, "proc/100/cgroup", HYBRID_TEXT);
	fstree_put(&tree, "proc/101/cgroup", "3:cpuset:/\n");
	fstree_put(&tree, "proc/102/cgroup", "3:cpuset:/slurm_n1/uid_0/job_42/step_9\n");
	open_on(MOUNT_HEAD MOUNT_V1);
	ops = actuate_get_ops(act);
	ck_assert_str_eq(ops->name, "cgroup-v1");
	ck_assert_str_eq(actuate_why_not(act), "");
	ck_assert_msg(ops->locate(act, 100, &s, &err) == 0, "%s", err.text);
	ck_assert_str_eq(s.job_path, "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_42");
	ck_assert_str_eq(s.step_path, "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_42/step_3");
	ck_assert_uint_eq(s.step_inode, fsroot_inode(&tree.root, s.step_path));
	ck_assert_int_eq(ops->locate(act, 101, &s, &err), -ENOENT);
	ck_assert_str_eq(err.text, "process 101 is in '/', no Slurm step");
	ck_assert_int_eq(ops->locate(act, 102, &s, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "step_9: the step has ended"));
	ck_assert_int_eq(ops->locate(act, 103, &s, &err), -ENOENT);
	ck_assert_uint_eq(s.job_id, 42);
}
END_TEST

/* By its directory, which it is known by, or by its ids: without any process. */
START_TEST(step_is_found_without_its_tasks)
{
	static const struct {
		const char *mountinfo, *mount_file, *step;
	} node[] = {
		{MOUNT_HEAD MOUNT_V1, "sys/fs/cgroup/cpuset/cpuset.cpus",
			"sys/fs/cgroup/cpuset/slurm_n%d/uid_7/job_42/step_3"},
		{"30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/cgroup.controllers",
			"sys/fs/cgroup/system.slice/n%d_slurmstepd.scope/job_42/step_3/user"},
	};
	const struct actuate_ops *ops;
	struct step_cgroup s, found[4];
	char path[200], file[240];

	fstree_put(&tree, node[_i].mount_file, "cpuset\n");
	if (_i == 0)
		fstree_put(&tree, node[_i].mount_file, "0-1\n");
	snprintf(path, sizeof(path), node[_i].step, 1);
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	fstree_put(&tree, file, "");
	open_on(node[_i].mountinfo);
	ops = actuate_get_ops(act);
	ck_assert_msg(ops->locate_dir(act, path, fsroot_inode(&tree.root, path), &s, &err) == 0,
		"%s", err.text);
	ck_assert_uint_eq(s.job_id, 42);
	ck_assert_uint_eq(s.step_id, 3);
	ck_assert_str_eq(s.node, "n1");
	ck_assert_str_eq(s.step_path, path);
	ck_assert_uint_eq(s.step_inode, fsroot_inode(&tree.root, path));
	ck_assert_int_eq(ops->locate_dir(act, path, 1, &s, &err), -ENOENT);
	ck_assert_int_eq(ops->locate_ids(act, 42, 3, found, 4, &err), 1);
	ck_assert_mem_eq(&found[0], &s, sizeof(s));
	ck_assert_int_eq(ops->locate_ids(act, 42, 4, found, 4, &err), 0);
	ck_assert_int_eq(ops->locate_ids(act, 43, 3, found, 4, &err), 0);
	/* Another node of the same kernel. */
	snprintf(path, sizeof(path), node[_i].step, 2);
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	fstree_put(&tree, file, "");
	ck_assert_int_eq(ops->locate_ids(act, 42, 3, found, 4, &err), 2);
	ck_assert_int_eq(ops->locate_ids(act, 42, 3, found, 1, &err), 1);
}
END_TEST

START_TEST(locate_v1_in_a_part_of_the_hierarchy)
{
	const struct actuate_ops *ops;
	struct step_cgroup s;

	fstree_put(&tree, "cg/cpuset.cpus", "0-1\n");
	fstree_put(&tree, "cg/slurm/uid_0/job_1/step_0/tasks", "");
	fstree_put(&tree, "proc/100/cgroup", "3:cpuset:/box/slurm/uid_0/job_1/step_0\n");
	fstree_put(&tree, "proc/101/cgroup", "3:cpuset:/slurm/uid_0/job_1/step_0\n");
	fstree_put(&tree, "proc/102/cgroup", "3:cpuset:/boxslurm/uid_0/job_1/step_0\n");
	open_on("1 2 0:1 /box /cg rw - cgroup c rw,cpuset\n");
	ops = actuate_get_ops(act);
	ck_assert_msg(ops->locate(act, 100, &s, &err) == 0, "%s", err.text);
	ck_assert_str_eq(s.step_path, "cg/slurm/uid_0/job_1/step_0");
	ck_assert_int_eq(ops->locate(act, 101, &s, &err), -ENOENT);
	ck_assert_int_eq(ops->locate(act, 102, &s, &err), -ENOENT);
}
END_TEST

START_TEST(without_v1_nothing_is_changed_and_the_reason_known)
{
	struct coreset set = {{1}}, all = {{3}};
	const struct actuate_ops *ops;
	struct actuate_result r;
	struct step_cgroup s;

	fstree_put(&tree, "proc/100/cgroup", "7:freezer:/slurm/uid_0/job_5/step_batch\n0::/\n");
	fstree_put(&tree, "proc/101/cgroup", "0::/\n");
	open_on(MOUNT_HEAD MOUNT_V2);
	ops = actuate_get_ops(act);
	ck_assert_str_eq(ops->name, "none");
	ck_assert_str_eq(actuate_why_not(act),
		"cgroup-v1: no cgroup v1 cpuset hierarchy is mounted; cgroup-v2: "
		"/sys/fs/cgroup/unified/cgroup.controllers: No such file or directory");
	ck_assert_int_eq(ops->locate(act, 100, &s, &err), 0);
	ck_assert_uint_eq(s.job_id, 5);
	ck_assert_uint_eq(s.step_id, ACTUATE_STEP_BATCH);
	ck_assert_int_eq(ops->locate(act, 101, &s, &err), -ENOENT);
	ck_assert_int_eq(ops->apply(act, &s, &set, &r, &err), 0);
	ck_assert(coreset_is_equal(&r.coreset, &all));
	ck_assert_int_eq(ops->verify(act, &s, &set), 0);
	ck_assert_int_eq(ops->restore(act, &s, &err), 0);
}
END_TEST

START_TEST(a_hierarchy_that_cannot_be_seen_is_said_so)
{
	open_on(MOUNT_V1);
	ck_assert_str_eq(actuate_get_ops(act)->name, "none");
	ck_assert_str_eq(actuate_why_not(act),
		"cgroup-v1: /sys/fs/cgroup/cpuset/cpuset.cpus is not there; "
		"cgroup-v2: no cgroup v2 hierarchy is mounted");
}
END_TEST

#define N(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *s = suite_create("locate");
	TCase *tc = tcase_create("the mount of v1 cpusets is read from mountinfo");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, mount_table, 0, N(mounts));
	tcase_add_test(tc, mount_longer_than_buffer_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("a process's cpuset is read from its cgroup file");
	tcase_add_test(tc, cgroup_line_is_found_by_its_controller);
	suite_add_tcase(s, tc);
	tc = tcase_create("a path says node, job and step");
	tcase_add_loop_test(tc, step_table, 0, N(steps));
	suite_add_tcase(s, tc);
	tc = tcase_create("what is no Slurm step is refused");
	tcase_add_loop_test(tc, no_step_table, 0, N(no_steps));
	tcase_add_test(tc, step_longer_than_any_path_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("locate resolves below the root it was given");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, locate_v1_gives_paths_below_the_root);
	tcase_add_test(tc, locate_v1_in_a_part_of_the_hierarchy);
	tcase_add_loop_test(tc, step_is_found_without_its_tasks, 0, 2);
	suite_add_tcase(s, tc);
	tc = tcase_create("without v1 cpusets the backend is none");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, without_v1_nothing_is_changed_and_the_reason_known);
	tcase_add_test(tc, a_hierarchy_that_cannot_be_seen_is_said_so);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
