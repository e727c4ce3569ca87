/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory: follow, over files that stand for a machine of two memory nodes and v1 cpusets: when the
 * worker is started, what it leaves, and that a worker that hangs holds up nobody.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "tests/unit/fstree.h"
#include "tests/unit/levers_of.h"

#define JOB   "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_7"
#define STEP  JOB "/step_0"
#define NODES "sys/devices/system/node"

static struct fstree tree;
static struct daemon d;
static struct errbuf err;
static struct step *s;
static struct loop_source *poll_timer;
static const char *wanted; /* nodes, by the step's cpuset.mems */
static int polls_left;

static void put_node(int n, const char *cpus, int free_kib)
{
	char path[96], text[128];

	snprintf(path, sizeof(path), NODES "/node%d/cpulist", n);
	fstree_put(&tree, path, cpus);
	snprintf(path, sizeof(path), NODES "/node%d/meminfo", n);
	snprintf(text, sizeof(text), "Node %d MemTotal: 1000 kB\nNode %d MemFree: %d kB\n", n, n,
		free_kib);
	fstree_put(&tree, path, text);
}

static void on_poll(void *arg);

static void setup(void)
{
	daemon_init(&d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	d.conf->memory = MEMORY_FOLLOW;
	fstree_make(&tree);
	d.node->root = tree.root;
	fstree_put(&tree, "proc/self/mountinfo",
		"32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n");
	fstree_put(&tree, JOB "/cpuset.mems", "0-1\n");
	fstree_put(&tree, STEP "/cpuset.mems", "0-1\n");
	fstree_put(&tree, STEP "/cgroup.procs", "");
	fstree_put(&tree, NODES "/online", "0-1\n");
	put_node(0, "0-1\n", 900);
	put_node(1, "2-3\n", 900);
	ck_assert_int_eq(topo_load(&d.node->topo, "pack:2 core:2 pu:1", &err), 0);
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(loop_add_timer(d.loop, on_poll, NULL, &poll_timer, &err), 0);
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(
		actuate_open(&d.actuate, &d.node->root, d.ledger, &d.node->topo->all, &err), 0);
	levers_of(&d);
	s = jobs_add(d.jobs, 7, 0, 0);
	strcpy(s->cgroup.job_path, JOB);
	strcpy(s->cgroup.step_path, STEP);
	s->cgroup.step_inode = fsroot_inode(&d.node->root, STEP);
	s->located = true;
	s->status = STATUS_PLACED;
}

static void teardown(void)
{
	memory_close(d.levers);
	free(d.levers);
	jobs_done(d.jobs);
	actuate_close(d.actuate);
	ledger_close(d.ledger);
	loop_remove(d.loop, poll_timer);
	loop_free(d.loop);
	topo_free(d.node->topo);
	fstree_remove(&tree);
}

static void place(const char *cpus)
{
	ck_assert_int_eq(coreset_parse(&s->coreset, cpus, NULL), 0);
	memory_follow(d.levers, s);
}

static bool holds(const char *nodes)
{
	struct coreset want, now;
	char text[32] = "";

	fsroot_read(&tree.root, STEP "/cpuset.mems", text, sizeof(text));
	return coreset_parse(&want, nodes, NULL) == 0 && coreset_parse(&now, text, NULL) == 0 &&
	       coreset_is_equal(&want, &now);
}

static void on_poll(void *arg)
{
	(void)arg;
	if ((wanted ? holds(wanted) : s->memory.failed) || polls_left-- == 0)
		loop_stop(d.loop);
}

/* Lets the loop run until the step holds @nodes; false after 20 s. */
static bool comes_to(const char *nodes)
{
	wanted = nodes;
	polls_left = 2000;
	loop_set_timer(poll_timer, 10, 10);
	loop_run(d.loop);
	loop_set_timer(poll_timer, 0, 0);
	return holds(nodes);
}

static void comes_to_failed(void)
{
	wanted = NULL;
	polls_left = 2000;
	loop_set_timer(poll_timer, 10, 10);
	loop_run(d.loop);
	loop_set_timer(poll_timer, 0, 0);
}

/* Whoever lists the step's processes waits for ever. */
static void hang_worker(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" STEP "/cgroup.procs", tree.dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

START_TEST(placed_step_follows_and_is_put_back)
{
	place("2-3");
	ck_assert(s->memory.held);
	ck_assert_int_eq(ledger_count(d.ledger), 1);
	ck_assert(comes_to("1"));
	place("2"); /* the same node: nothing to do */
	ck_assert(!s->memory.waiting);
	memory_leave(d.levers, s, false);
	/* The worker may not have been reaped yet: then it is put back at its end. */
	ck_assert(comes_to("0-1"));
	memory_close(d.levers);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(hanging_worker_holds_up_nobody)
{
	int64_t t0 = ipc_now_ns();

	hang_worker();
	place("2-3");
	memory_leave(d.levers, s, false);
	jobs_remove(d.jobs, s);
	memory_close(d.levers); /* kills it */
	ck_assert_int_lt(ipc_now_ns() - t0, INT64_C(5000000000));
	ck_assert(holds("0-1"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(step_that_moves_on_takes_its_worker_along)
{
	hang_worker();
	place("2-3");
	/* The queue is not stuck behind the first move. */
	place("0-3");
	ck_assert_int_eq(unlinkat(tree.root.fd, STEP "/cgroup.procs", 0), 0);
	fstree_put(&tree, STEP "/cgroup.procs", "");
	ck_assert(s->memory.waiting);
	ck_assert(comes_to("0-1"));
}
END_TEST

START_TEST(stay_does_nothing)
{
	d.conf->memory = MEMORY_STAY;
	place("2-3");
	ck_assert_ptr_null(d.levers->memory);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	ck_assert_str_eq(memory_says(d.levers), "stay");
}
END_TEST

START_TEST(one_node_does_nothing_and_says_so)
{
	fstree_put(&tree, NODES "/online", "0\n");
	place("2-3");
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	ck_assert(!s->memory.waiting && !s->memory.held);
	ck_assert_str_eq(memory_says(d.levers), "follow, but there is one memory node");
}
END_TEST

START_TEST(full_nodes_leave_the_step_alone)
{
	put_node(1, "2-3\n", 50);
	place("2-3");
	comes_to_failed();
	ck_assert(s->memory.failed);
	ck_assert(holds("0-1"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

START_TEST(short_nodes_give_slurms_back)
{
	place("2-3");
	ck_assert(comes_to("1"));
	memory_tick(d.levers, INT64_C(1000000000));
	ck_assert(s->memory.held);
	put_node(1, "2-3\n", 49);
	memory_tick(d.levers, INT64_C(1100000000)); /* too soon after the last look */
	ck_assert(s->memory.held);
	memory_tick(d.levers, INT64_C(1300000000));
	ck_assert(s->memory.failed);
	ck_assert(comes_to("0-1"));
	place("0-1"); /* not again */
	ck_assert(!s->memory.waiting && !s->memory.held);
}
END_TEST

START_TEST(reload_to_stay_puts_back)
{
	place("2-3");
	ck_assert(comes_to("1"));
	d.conf->memory = MEMORY_STAY;
	memory_tick(d.levers, INT64_C(1000000000));
	ck_assert(comes_to("0-1"));
}
END_TEST

START_TEST(successor_puts_back)
{
	place("2-3");
	ck_assert(comes_to("1"));
	s->memory.held = false; /* as after a crash: only the ledger knows */
	memory_open(d.levers);
	ck_assert(holds("0-1"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	SRunner *sr = srunner_create(suite);
	TCase *tc;
	int failed;

	tc = tcase_create("a step's memory follows by a worker, and is put back");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, placed_step_follows_and_is_put_back);
	tcase_add_test(tc, successor_puts_back);
	tcase_add_test(tc, reload_to_stay_puts_back);
	suite_add_tcase(suite, tc);
	tc = tcase_create("a worker holds up nobody");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, hanging_worker_holds_up_nobody);
	tcase_add_test(tc, step_that_moves_on_takes_its_worker_along);
	suite_add_tcase(suite, tc);
	tc = tcase_create("where there is nothing to gain, or no room, nothing moves");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, stay_does_nothing);
	tcase_add_test(tc, one_node_does_nothing_and_says_so);
	tcase_add_test(tc, full_nodes_leave_the_step_alone);
	tcase_add_test(tc, short_nodes_give_slurms_back);
	suite_add_tcase(suite, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
