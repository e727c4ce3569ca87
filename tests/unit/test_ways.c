/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clusters of cache in the daemon: from the signals of two steps through engine and plan to resctrl
 * groups in a tree of files (resctrl_tree.h), and back at release, stop and after a crash.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/resctrl_tree.h"

#define CPUSET "sys/fs/cgroup/cpuset"
#define TOP    RESCTRL_TOP

static struct fstree tree;
static struct daemon d;
static struct errbuf err;

static void setup_bare(void)
{
	daemon_init(&d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	snprintf(d.conf->policy, sizeof(d.conf->policy), "dio,clusters=2");
	d.conf->min_dwell_s = 0;
	fstree_make(&tree);
	d.node->root = tree.root;
	fstree_put(&tree, "proc/self/mountinfo",
		"32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	fstree_put(&tree, CPUSET "/cpuset.cpus", "0-3\n");
	resctrl_tree_makes_left = -1;
	ck_assert_int_eq(topo_load(&d.node->topo, "pack:1 l3:1 core:4 pu:1", &err), 0);
	d.node->usable = d.node->topo->all;
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(record_open(&d.record, ":memory:", false, &err), 0);
	ck_assert_int_eq(
		actuate_open(&d.actuate, &d.node->root, d.ledger, &d.node->topo->all, &err), 0);
	levers_of(&d);
	counters_choose(&d.node->counters, "none", NULL);
	ck_assert_int_eq(daemon_open_rooms(&d, &err), 0);
	ck_assert_msg(daemon_open_choose(&d, &err) == 0, "%s", err.text);
	ways_open(d.levers);
}

static void put_tree(void)
{
	resctrl_tree_cache(&tree);
	fstree_put(&tree, TOP "/schemata", "    L3:0=7ff\n");
	fstree_put(&tree, TOP "/tasks", "");
	/* A plain file keeps the line written last: one resource at a time. test_resctrl.c writes
	 * bandwidth. */
	resctrl_tree_schemata = "L3:0=7ff\n";
}

static void teardown(void)
{
	ways_close(d.levers);
	jobs_done(d.jobs);
	daemon_close_choose(&d);
	daemon_close_rooms(&d);
	free(d.levers);
	actuate_close(d.actuate);
	record_close(d.record);
	ledger_close(d.ledger);
	loop_free(d.loop);
	topo_free(d.node->topo);
	fstree_remove(&tree);
}

static void setup(void)
{
	setup_bare();
	put_tree();
	ways_open(d.levers);
	ck_assert_msg(d.levers->ways.resctrl != NULL, "%s", d.levers->ways.why_not);
	resctrl_set_dirs(d.levers->ways.resctrl, &resctrl_tree_dirs);
}

/* A placed step of one thread, JOB * 10, on @cpus. */
static struct step *add(uint32_t job, const char *cpus, double refs, double ratio)
{
	struct step *s = jobs_add(d.jobs, job, 0, 0);
	char path[320], text[160];

	snprintf(s->cgroup.step_path, sizeof(s->cgroup.step_path),
		CPUSET "/slurm_n1/uid_0/job_%u/step_0", job);
	snprintf(text, sizeof(text), "%u\n", job * 10);
	snprintf(path, sizeof(path), "%s/tasks", s->cgroup.step_path);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "%s/cgroup.procs", s->cgroup.step_path);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%u/task/%u/stat", job * 10, job * 10);
	fstree_put(&tree, path, "1 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n");
	s->located = true;
	s->status = STATUS_PLACED;
	s->nnodes = s->ntasks = 1;
	ck_assert_int_eq(step_add_task(s, 0, (pid_t)(job * 10)), 0);
	s->envelope = d.node->topo->all;
	ck_assert_int_eq(coreset_parse(&s->coreset, cpus, &err), 0);
	s->signal[SIGNAL_LLC_REFS] = (struct signal){refs, PROVENANCE_HW};
	s->signal[SIGNAL_LLC_MISSES] = (struct signal){refs * ratio, PROVENANCE_HW};
	s->sample_no = 1;
	return s;
}

static void tick(void)
{
	decide_run(d.choose, EVENT_TICK, NULL, NULL);
}

static bool holds(const char *path, const char *word)
{
	char text[256] = "";

	fsroot_read(&tree.root, path, text, sizeof(text));
	return *word ? strstr(text, word) != NULL : *text == '\0';
}

START_TEST(node_without_resctrl_falls_back_and_says_why)
{
	struct step *s = add(1, "0-1", 1000, 0.9);

	add(2, "2-3", 1000, 0.1);
	tick();
	ck_assert_str_eq(d.choose->decided_by, "fair");
	ck_assert_ptr_nonnull(strstr(d.choose->fallback_why, "policy 'dio' asks for cache ways"));
	ck_assert_ptr_nonnull(strstr(d.choose->fallback_why, "no resctrl"));
	ck_assert_str_eq(s->policy, "fair");
}
END_TEST

START_TEST(clusters_become_groups_with_ways_bandwidth_and_threads)
{
	add(1, "0-1", 1000, 0.9);
	add(2, "2-3", 1000, 0.1);
	tick();
	ck_assert_str_eq(d.choose->decided_by, "dio");
	ck_assert_msg(d.levers->ways.n == 2, "%s", health_last_error());
	/* 0.8 and 0.2 of the nine ways that no other hardware shares. */
	ck_assert(holds(TOP "/coloc-0/schemata", "L3:0=7f"));
	ck_assert(holds(TOP "/coloc-1/schemata", "L3:0=180"));
	ck_assert(holds(TOP "/coloc-0/tasks", "20"));
	ck_assert(holds(TOP "/coloc-1/tasks", "10"));
	ck_assert_int_eq(ledger_count(d.ledger), 2);
}
END_TEST

START_TEST(release_takes_a_step_out_and_the_last_one_the_groups)
{
	struct step *a = add(1, "0-1", 1000, 0.9), *b = add(2, "2-3", 1000, 0.1);

	tick();
	ck_assert_int_eq(levers_restore(d.levers, a, STATUS_RELEASED, "release"), 0);
	ck_assert(holds(TOP "/tasks", "10"));
	ck_assert_int_eq(a->ways.cluster, 0);
	ck_assert_int_eq(levers_restore(d.levers, b, STATUS_RELEASED, "release"), 0);
	ck_assert(holds(TOP "/tasks", "20"));
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-1"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(stop_removes_the_groups)
{
	add(1, "0-1", 1000, 0.9);
	add(2, "2-3", 1000, 0.1);
	tick();
	ck_assert(fsroot_exists(&tree.root, TOP "/coloc-1"));
	ways_close(d.levers);
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-1"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(next_daemon_removes_what_a_killed_one_left)
{
	add(1, "0-1", 1000, 0.9);
	add(2, "2-3", 1000, 0.1);
	tick();
	resctrl_close(d.levers->ways.resctrl); /* killed: nothing is removed */
	memset(&d.levers->ways, 0, sizeof(d.levers->ways));
	/* The kernel removes a group's files with it; here it is done by hand. */
	for (int k = 0; k < 2; k++) {
		char path[64];

		snprintf(path, sizeof(path), TOP "/coloc-%d/schemata", k);
		unlinkat(tree.root.fd, path, 0);
		snprintf(path, sizeof(path), TOP "/coloc-%d/tasks", k);
		unlinkat(tree.root.fd, path, 0);
	}
	ways_open(d.levers);
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(what_cannot_be_set_is_told_once_and_the_steps_go_on)
{
	struct step *s = add(1, "0-1", 1000, 0.9);

	add(2, "2-3", 1000, 0.1);
	resctrl_tree_makes_left = 1; /* the second group is refused: the table is full */
	tick();
	ck_assert_int_eq(d.levers->ways.n, 0);
	ck_assert(d.levers->ways.failed);
	ck_assert_ptr_nonnull(strstr(health_last_error(), "no group is left"));
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	resctrl_tree_makes_left = -1;
	tick(); /* the same again is not tried */
	ck_assert_int_eq(d.levers->ways.n, 0);
	ck_assert_int_eq(s->status, STATUS_PLACED);
	ck_assert_str_eq(s->policy, "dio");
}
END_TEST

START_TEST(thread_of_others_groups_leaves_its_step_out)
{
	struct step *s = add(1, "0-1", 1000, 0.9);

	add(2, "2-3", 1000, 0.1);
	fstree_put(&tree, TOP "/theirs/schemata", "L3:0=3\n");
	fstree_put(&tree, TOP "/theirs/tasks", "10\n");
	tick();
	ck_assert_int_eq(s->ways.cluster, 0);
	ck_assert(s->ways.failed);
	ck_assert_ptr_nonnull(strstr(s->reason, "theirs"));
	ck_assert(holds(TOP "/coloc-0/tasks", "20"));
	ck_assert(holds(TOP "/theirs/tasks", "10"));
}
END_TEST

START_TEST(bandwidth_that_is_not_to_be_had_is_a_reason_to_fall_back)
{
	daemon_close_choose(&d);
	snprintf(d.conf->policy, sizeof(d.conf->policy), "dio,clusters=2,bandwidth=yes");
	ck_assert_msg(daemon_open_choose(&d, &err) == 0, "%s", err.text);
	add(1, "0-1", 1000, 0.9);
	add(2, "2-3", 1000, 0.1);
	tick();
	ck_assert_str_eq(d.choose->decided_by, "fair");
	ck_assert_ptr_nonnull(strstr(d.choose->fallback_why, "steps of bandwidth"));
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
}
END_TEST

START_TEST(dry_run_touches_nothing)
{
	d.conf->dry_run = true;
	add(1, "0-1", 1000, 0.9);
	add(2, "2-3", 1000, 0.1);
	tick();
	ck_assert(!fsroot_exists(&tree.root, TOP "/coloc-0"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ways");
	TCase *tc = tcase_create("a node without resctrl says so");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(tc, setup_bare, teardown);
	tcase_add_test(tc, node_without_resctrl_falls_back_and_says_why);
	suite_add_tcase(s, tc);
	tc = tcase_create("clusters become groups, and go again");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, clusters_become_groups_with_ways_bandwidth_and_threads);
	tcase_add_test(tc, release_takes_a_step_out_and_the_last_one_the_groups);
	tcase_add_test(tc, stop_removes_the_groups);
	tcase_add_test(tc, next_daemon_removes_what_a_killed_one_left);
	suite_add_tcase(s, tc);
	tc = tcase_create("what goes wrong hurts nobody");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_cannot_be_set_is_told_once_and_the_steps_go_on);
	tcase_add_test(tc, thread_of_others_groups_leaves_its_step_out);
	tcase_add_test(tc, bandwidth_that_is_not_to_be_had_is_a_reason_to_fall_back);
	tcase_add_test(tc, dry_run_touches_nothing);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
