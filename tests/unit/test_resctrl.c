/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache ways and bandwidth by resctrl, on a tree made by hand in the format of the kernel's
 * Documentation/arch/x86/resctrl.rst (not recorded from a machine): two sockets of 11 ways, the
 * two highest shared with other hardware, bandwidth in tens of percent, 8 groups.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/actuate/actuate.h"
#include "tests/unit/fstree.h"
#include "tests/unit/ledger_mem.h"
#include "tests/unit/resctrl_tree.h"

#define TOP  RESCTRL_TOP
#define STEP "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_7/step_0"

static struct fstree tree;
static struct ledger *ledger;
static struct actuate *act;
static struct resctrl *ctl;
static struct errbuf err;
static struct step_cgroup step;
static const struct resctrl_cluster two[] = {{0.75, 0}, {0.25, 0}};

static void open_ctl(void)
{
	ck_assert_msg(resctrl_open(&ctl, &tree.root, ledger, &err) == 0, "%s", err.text);
	resctrl_set_dirs(ctl, &resctrl_tree_dirs);
}

static void setup_bare(void)
{
	fstree_make(&tree);
	fstree_put(&tree, "proc/self/mountinfo",
		"32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-7\n");
	ledger_mem_adds_left = -1;
	resctrl_tree_makes_left = -1;
	ctl = NULL;
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(
		actuate_open(&act, &tree.root, ledger, &(struct coreset){{0xff}}, &err), 0);
	memset(&step, 0, sizeof(step));
	strcpy(step.step_path, STEP);
}

static void setup(void)
{
	setup_bare();
	resctrl_tree_cache(&tree);
	fstree_put(&tree, TOP "/schemata", "    L3:0=7ff;1=7ff\n");
	fstree_put(&tree, TOP "/tasks", "");
	fstree_put(&tree, TOP "/theirs/schemata", "    L3:0=3;1=3\n");
	fstree_put(&tree, TOP "/theirs/tasks", "4711\n");
	resctrl_tree_schemata = "    L3:0=7ff;1=7ff\n";
	open_ctl();
}

static void teardown(void)
{
	resctrl_close(ctl);
	actuate_close(act);
	ledger_close(ledger);
	fstree_remove(&tree);
}

static const char *text_of(const char *path)
{
	static char text[256];

	text[0] = '\0';
	fsroot_read(&tree.root, path, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* A step of these threads, which are nobody's. */
static void put_step(const char *tids)
{
	char path[96];

	fstree_put(&tree, STEP "/tasks", tids);
	fstree_put(&tree, STEP "/cgroup.procs", tids);
	step.step_inode = fsroot_inode(&tree.root, STEP);
	for (const char *p = tids; *p; p = strchr(p, '\n') + 1) {
		snprintf(path, sizeof(path), "proc/%d/task/%d/stat", atoi(p), atoi(p));
		fstree_put(&tree, path, "1 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n");
	}
}

/* ---- what there is ------------------------------------------------------------------------- */

START_TEST(node_without_resctrl_says_why)
{
	struct resctrl *none = NULL;

	ck_assert_int_eq(resctrl_open(&none, &tree.root, ledger, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "no /sys/fs/resctrl"));
	fstree_put(&tree, TOP "/x", "");
	ck_assert_int_eq(resctrl_open(&none, &tree.root, ledger, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "is not mounted"));
	fstree_put(&tree, TOP "/schemata", "    L2:0=ff\n");
	ck_assert_int_eq(resctrl_open(&none, &tree.root, ledger, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "neither ways of an L3 nor bandwidth"));
	resctrl_tree_cache(&tree);
	fstree_put(&tree, TOP "/schemata", "    L3:0=7ff\n");
	fstree_put(&tree, TOP "/info/L3/num_closids", "2\n");
	ck_assert_int_eq(resctrl_open(&none, &tree.root, ledger, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "2 groups"));
	ck_assert_ptr_null(none);
}
END_TEST

START_TEST(levers_are_read)
{
	const struct resctrl_caps *c;

	resctrl_tree_cache(&tree);
	resctrl_tree_bandwidth(&tree);
	fstree_put(&tree, TOP "/schemata", "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n");
	open_ctl();
	c = resctrl_get_caps(ctl);
	ck_assert_int_eq(c->n_ways, 11);
	ck_assert_uint_eq(c->ways, 0x7ff);
	ck_assert_uint_eq(c->shareable, 0x600);
	ck_assert_int_eq(c->min_ways, 1);
	ck_assert_int_eq(c->n_groups, 8); /* the fewer of the two */
	ck_assert_int_eq(c->bandwidth_step, 10);
	ck_assert_int_eq(c->bandwidth_least, 10);
	ck_assert_int_eq(c->n_caches, 2);
	ck_assert_int_eq(c->cache[1], 1);
	ck_assert_int_eq(c->n_domains, 2);
	ck_assert(!c->code_data);
}
END_TEST

START_TEST(bandwidth_that_is_no_percent_is_not_used)
{
	resctrl_tree_cache(&tree);
	resctrl_tree_bandwidth(&tree);
	fstree_put(&tree, TOP "/schemata", "    MB:0=2048;1=2048\n    L3:0=7ff;1=7ff\n");
	open_ctl();
	ck_assert_int_eq(resctrl_get_caps(ctl)->bandwidth_step, 0);
	ck_assert_int_eq(resctrl_get_caps(ctl)->n_ways, 11);
}
END_TEST

/* ---- shares -------------------------------------------------------------------------------- */

START_TEST(masks_are_contiguous_and_disjoint)
{
	static const struct {
		uint32_t ways, shareable;
		int least, n;
		struct resctrl_cluster c[4];
		uint32_t want[4];
	} rows[] = {
		{0x7ff, 0, 1, 2, {{0.5, 0}, {0.5, 0}}, {0x3f, 0x7c0}},
		{0x7ff, 0x600, 1, 2, {{0.75, 0}, {0.25, 0}}, {0x7f, 0x180}},
		{0x7ff, 0, 1, 4, {{0.7, 0}, {0.1, 0}, {0.1, 0}, {0.1, 0}},
			{0xff, 0x100, 0x200, 0x400}},
		{0x7ff, 0, 2, 3, {{0.98, 0}, {0.01, 0}, {0.01, 0}}, {0x7f, 0x180, 0x600}},
		{0x7ff, 0, 1, 2, {{0.25, 0}, {0.25, 0}}, {0x7, 0x18}},
		/* Shared ways in the middle leave no contiguous rest: then all count. */
		{0xff, 0x18, 1, 2, {{0.5, 0}, {0.5, 0}}, {0xf, 0xf0}},
		{0xfffff, 0xc0000, 1, 2, {{0.5, 0}, {0.5, 0}}, {0x1ff, 0x3fe00}},
		{0xf0, 0, 1, 2, {{0.5, 0}, {0.5, 0}}, {0x30, 0xc0}},
		{0xffffffff, 0, 1, 2, {{0.5, 0}, {0.5, 0}}, {0xffff, 0xffff0000}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resctrl_caps caps = {.ways = rows[i].ways,
			.shareable = rows[i].shareable,
			.min_ways = rows[i].least,
			.n_ways = __builtin_popcount(rows[i].ways)};
		uint32_t mask[4];

		ck_assert_msg(resctrl_masks(&caps, rows[i].c, rows[i].n, mask, &err) == 0,
			"row %zu: %s", i, err.text);
		for (int k = 0; k < rows[i].n; k++)
			ck_assert_msg(mask[k] == rows[i].want[k], "row %zu: cluster %d: %x", i, k,
				mask[k]);
	}
}
END_TEST

START_TEST(parts_that_make_no_sense_are_refused)
{
	static const struct resctrl_cluster over[] = {{0.75, 0}, {0.5, 0}},
					    nil[] = {{0, 0}, {1, 0}}, band[] = {{0.5, 2}, {0.5, 0}};
	struct resctrl_caps few = {.ways = 0x3, .min_ways = 2, .n_ways = 2};
	uint32_t mask[4] = {9, 9, 9, 9};

	ck_assert_int_eq(resctrl_masks(&few, over, 2, mask, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "sum to 1.25"));
	ck_assert_int_eq(resctrl_masks(&few, nil, 2, mask, &err), -EINVAL);
	ck_assert_int_eq(resctrl_masks(&few, band, 2, mask, &err), -EINVAL);
	ck_assert_int_eq(resctrl_masks(&few, two, 1, mask, &err), -EINVAL);
	ck_assert_int_eq(resctrl_masks(&few, two, 5, mask, &err), -EINVAL);
	ck_assert_int_eq(resctrl_masks(&few, two, 2, mask, &err), -ERANGE);
	ck_assert_uint_eq(mask[0], 9);
}
END_TEST

START_TEST(bandwidth_goes_in_steps)
{
	static const struct {
		int step, least;
		double part;
		int want;
	} rows[] = {
		{10, 10, 0.5, 50},
		{10, 10, 0.44, 40},
		{10, 10, 0.01, 10},
		{10, 20, 0.1, 20},
		{10, 10, 1, 100},
		{30, 10, 1, 90},
		{1, 1, 0.333, 33},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resctrl_caps caps = {
			.bandwidth_step = rows[i].step, .bandwidth_least = rows[i].least};

		ck_assert_int_eq(resctrl_bandwidth(&caps, rows[i].part), rows[i].want);
	}
}
END_TEST

/* ---- groups -------------------------------------------------------------------------------- */

START_TEST(groups_are_made_and_go)
{
	ck_assert_msg(resctrl_set(ctl, two, 2, &err) == 0, "%s", err.text);
	ck_assert_str_eq(text_of(TOP "/coloc-0/schemata"), "L3:0=7f;1=7f");
	ck_assert_str_eq(text_of(TOP "/coloc-1/schemata"), "L3:0=180;1=180");
	ck_assert_int_eq(ledger_count(ledger), 2);
	ck_assert_int_eq(
		resctrl_set(ctl, (struct resctrl_cluster[]){{.2, 0}, {.2, 0}, {.2, 0}}, 3, &err),
		0);
	ck_assert_int_eq(ledger_count(ledger), 3);
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), 0);
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-2"));
	ck_assert_int_eq(ledger_count(ledger), 2);
	/* A successor after a crash. */
	resctrl_close(ctl);
	open_ctl();
	ck_assert_int_eq(resctrl_clear(ctl, &err), 2);
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert_str_eq(text_of(TOP "/theirs/schemata"), "    L3:0=3;1=3");
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(group_of_the_same_name_is_left_alone)
{
	fstree_put(&tree, TOP "/coloc-1/schemata", "    L3:0=1;1=1\n");
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, "coloc-1 is not ours"));
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert_str_eq(text_of(TOP "/coloc-1/schemata"), "    L3:0=1;1=1");
	ck_assert_int_eq(resctrl_clear(ctl, &err), 0);
	ck_assert(fsroot_exists(&tree.root, TOP "/coloc-1"));
}
END_TEST

START_TEST(full_table_leaves_nothing_behind)
{
	resctrl_tree_makes_left = 1;
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, "no group is left"));
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(without_a_ledger_nothing_is_made)
{
	ledger_mem_adds_left = 0;
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), -EIO);
	ledger_mem_adds_left = -1;
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
}
END_TEST

/* A kernel that takes a line and holds nothing of it. */
static int make_deaf(const struct fsroot *root, const char *path)
{
	char file[128];

	snprintf(file, sizeof(file), "%s/tasks", path);
	fstree_put(&tree, file, "");
	snprintf(file, sizeof(file), "%s/schemata", path);
	return symlinkat("/dev/null", root->fd, file) < 0 ? -errno : 0;
}

static int remove_deaf(const struct fsroot *root, const char *path)
{
	return resctrl_tree_dirs.remove(root, path);
}

START_TEST(what_the_kernel_does_not_hold_is_an_error)
{
	static const struct resctrl_dirs deaf = {make_deaf, remove_deaf};

	resctrl_set_dirs(ctl, &deaf);
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), -EIO);
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
}
END_TEST

START_TEST(bandwidth_is_written)
{
	static const struct resctrl_cluster c[] = {{0.5, 0.34}, {0.5, 0}};

	ck_assert_int_eq(resctrl_set(ctl, c, 2, &err), -ENOTSUP); /* L3 only */
	ck_assert_ptr_nonnull(strstr(err.text, "no bandwidth"));
	resctrl_close(ctl);
	ck_assert_int_eq(unlinkat(tree.root.fd, TOP "/info/L3/cbm_mask", 0), 0);
	resctrl_tree_bandwidth(&tree);
	fstree_put(&tree, TOP "/schemata", "    MB:0=100;1=100\n");
	resctrl_tree_schemata = "    MB:0=100;1=100\n";
	open_ctl();
	ck_assert_msg(resctrl_set(ctl, c, 2, &err) == 0, "%s", err.text);
	ck_assert_str_eq(text_of(TOP "/coloc-0/schemata"), "MB:0=30;1=30");
	ck_assert_str_eq(text_of(TOP "/coloc-1/schemata"), "MB:0=100;1=100");
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------- */

START_TEST(threads_go_into_a_group_and_back)
{
	put_step("4712\n");
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), 0);
	ck_assert_msg(resctrl_assign(ctl, act, &step, 1, &err) == 0, "%s", err.text);
	ck_assert_str_eq(text_of(TOP "/coloc-1/tasks"), "4712");
	ck_assert_str_eq(text_of(TOP "/coloc-0/tasks"), "");
	ck_assert_int_eq(resctrl_assign(ctl, act, &step, -1, &err), 0);
	ck_assert_str_eq(text_of(TOP "/tasks"), "4712");
}
END_TEST

START_TEST(threads_of_others_groups_stay_there)
{
	put_step("4711\n");
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), 0);
	ck_assert_int_eq(resctrl_assign(ctl, act, &step, 0, &err), -EBUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "4711"));
	ck_assert_ptr_nonnull(strstr(err.text, "theirs"));
	ck_assert_str_eq(text_of(TOP "/coloc-0/tasks"), "");
}
END_TEST

START_TEST(threads_that_do_not_settle_are_given_up)
{
	/* These files keep the last writer only: one thread is always missing. */
	put_step("4712\n4713\n");
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), 0);
	ck_assert_int_eq(resctrl_assign(ctl, act, &step, 0, &err), -EAGAIN);
}
END_TEST

START_TEST(ended_step_is_told)
{
	strcpy(step.step_path, "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_8/step_0");
	ck_assert_int_eq(resctrl_set(ctl, two, 2, &err), 0);
	ck_assert_int_eq(resctrl_assign(ctl, act, &step, 0, &err), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("resctrl");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("a node says what it has, or why not");
	tcase_add_checked_fixture(tc, setup_bare, teardown);
	tcase_add_test(tc, node_without_resctrl_says_why);
	tcase_add_test(tc, levers_are_read);
	tcase_add_test(tc, bandwidth_that_is_no_percent_is_not_used);
	suite_add_tcase(s, tc);
	tc = tcase_create("parts become ways and steps that the hardware has");
	tcase_add_test(tc, masks_are_contiguous_and_disjoint);
	tcase_add_test(tc, parts_that_make_no_sense_are_refused);
	tcase_add_test(tc, bandwidth_goes_in_steps);
	suite_add_tcase(s, tc);
	tc = tcase_create("groups of ours come and go, others' stay");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, groups_are_made_and_go);
	tcase_add_test(tc, group_of_the_same_name_is_left_alone);
	tcase_add_test(tc, full_table_leaves_nothing_behind);
	tcase_add_test(tc, without_a_ledger_nothing_is_made);
	tcase_add_test(tc, what_the_kernel_does_not_hold_is_an_error);
	tcase_add_test(tc, bandwidth_is_written);
	suite_add_tcase(s, tc);
	tc = tcase_create("threads go into a group, and others' do not");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, threads_go_into_a_group_and_back);
	tcase_add_test(tc, threads_of_others_groups_stay_there);
	tcase_add_test(tc, threads_that_do_not_settle_are_given_up);
	tcase_add_test(tc, ended_step_is_told);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
