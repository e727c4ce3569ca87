/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the ledger holds for nobody: every kind of row has a way back, which is tried again until it
 * succeeds, and a row goes only with an owner who is known to be gone.
 */
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "tests/unit/fstree.h"
#include "tests/unit/levers_of.h"

#define CPUSET "sys/fs/cgroup/cpuset"
#define JOB    CPUSET "/slurm_n1/uid_0/job_7"
#define STEP   JOB "/step_0"
#define FROZEN "sys/fs/cgroup/freezer/slurm_n1/uid_0/job_7/step_0"
#define GROUP  "sys/fs/resctrl/coloc-0"
#define POLL   "sys/module/haltpoll/parameters"

static struct fstree tree;
static struct daemon d;
static struct errbuf err;

/* One row of each kind: where, what, what is there now and what was there before. */
static const struct {
	const char *path, *what, *file, *now, *before;
} rows[LEDGER_KINDS] = {
	[LEDGER_CPUSET] = {STEP, NULL, STEP "/cpuset.cpus", "1", "0-1"},
	[LEDGER_CPU_IDLE] = {JOB, "cpu.idle", JOB "/cpu.idle", "1", "0"},
	[LEDGER_SCHED] = {STEP, "sched 100 5", NULL, NULL, "0"},
	[LEDGER_AUTOGROUP] = {STEP, "autogroup 100 5", "proc/100/autogroup", "/autogroup-1", "3"},
	[LEDGER_MEMS] = {STEP, "cpuset.mems", STEP "/cpuset.mems", "1", "0"},
	[LEDGER_FREEZER] = {FROZEN, "freezer", FROZEN "/freezer.state", "FROZEN", "THAWED"},
	[LEDGER_RESCTRL] = {GROUP, "resctrl", GROUP "/schemata", "L3:0=1", ""},
	[LEDGER_HALTPOLL] = {POLL, "guest_halt_poll_ns", POLL "/guest_halt_poll_ns", "200000", "0"},
};

static void setup(void)
{
	const struct coreset all = {{3}};

	daemon_init(&d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	d.conf->tick_ms = 20;
	fstree_make(&tree);
	d.node->root = tree.root;
	fstree_put(&tree, "proc/self/mountinfo",
		"32 22 0:28 / /" CPUSET " rw - cgroup cgroup rw,cpuset\n"
		"33 22 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
	fstree_put(&tree, CPUSET "/cpuset.cpus", "0-1\n");
	fstree_put(&tree, CPUSET "/slurm_n1/uid_0/cpuset.cpus", "0-1\n");
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	ck_assert_int_eq(ledger_open(&d.ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(actuate_open(&d.actuate, &d.node->root, d.ledger, &all, &err), 0);
	levers_of(&d);
}

static void teardown(void)
{
	owed_close(d.levers);
	free(d.levers);
	jobs_done(d.jobs);
	actuate_close(d.actuate);
	ledger_close(d.ledger);
	loop_free(d.loop);
	fstree_remove(&tree);
}

/* The step and all else that the rows are about. */
static void put_owners(void)
{
	fstree_put(&tree, JOB "/cpuset.cpus", "0-1\n");
	fstree_put(&tree, JOB "/cpuset.mems", "0-1\n");
	fstree_put(&tree, STEP "/tasks", "");
	fstree_put(&tree, STEP "/cgroup.procs", "");
	fstree_put(&tree, "proc/100/task/100/stat",
		"100 (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5\n");
	for (int k = 0; k < LEDGER_KINDS; k++)
		if (rows[k].file)
			fstree_put(&tree, rows[k].file, rows[k].now);
}

static void add_row(int k)
{
	struct ledger_setting s = {.inode = fsroot_inode(&tree.root, rows[k].path)};
	struct ledger_cpuset cs = {.inode = s.inode};

	if (!s.inode)
		cs.inode = s.inode = 4711; /* gone */
	snprintf(cs.path, sizeof(cs.path), "%s", rows[k].path);
	snprintf(cs.cpus, sizeof(cs.cpus), "%s", rows[k].before);
	snprintf(s.path, sizeof(s.path), "%s", rows[k].path);
	snprintf(s.what, sizeof(s.what), "%s", rows[k].what ? rows[k].what : "");
	snprintf(s.value, sizeof(s.value), "%s", rows[k].before);
	ck_assert_msg((rows[k].what ? ledger_setting_add(d.ledger, &s, 1, &err)
				    : ledger_add(d.ledger, &cs, NULL, 0, &err)) == 0,
		"%s", err.text);
}

static void add_rows(void)
{
	for (int k = 0; k < LEDGER_KINDS; k++)
		add_row(k);
	ck_assert_int_eq(ledger_count(d.ledger), LEDGER_KINDS);
}

static bool reads(const char *path, const char *text)
{
	char now[64] = "";

	fsroot_read(&tree.root, path, now, sizeof(now));
	return strncmp(now, text, strlen(text)) == 0;
}

START_TEST(every_kind_has_a_name_of_its_own)
{
	for (int k = 0; k < LEDGER_KINDS; k++) {
		ck_assert_ptr_nonnull(d.levers->owed.kind_of[k].name);
		for (int i = 0; i < k; i++)
			ck_assert_str_ne(
				d.levers->owed.kind_of[i].name, d.levers->owed.kind_of[k].name);
	}
}
END_TEST

START_TEST(row_goes_when_its_owner_is_gone)
{
	add_row(_i);
	ck_assert_msg(owed_pass(d.levers, "a test", &err) == 0, "%s", err.text);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	ck_assert_int_eq(d.levers->owed.n, 0);
}
END_TEST

START_TEST(row_goes_when_all_is_back)
{
	put_owners();
	add_row(_i);
	if (_i == LEDGER_RESCTRL) { /* the kernel's files go with the directory */
		char file[300];

		snprintf(file, sizeof(file), "%s/%s", tree.dir, rows[_i].file);
		ck_assert_int_eq(unlink(file), 0);
	}
	ck_assert_msg(owed_pass(d.levers, "a test", &err) == 0, "%s", err.text);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	if (_i == LEDGER_RESCTRL)
		ck_assert(!fsroot_exists(&tree.root, GROUP));
	else if (rows[_i].file)
		ck_assert(reads(rows[_i].file, rows[_i].before));
}
END_TEST

/* No descriptor is left: nobody knows what is there, and nobody is taken for gone. */
START_TEST(without_descriptors_all_rows_stay)
{
	struct rlimit was, none;

	if (_i)
		put_owners();
	add_rows();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_lt(owed_pass(d.levers, "a test", &err), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
	/* Of a thread, and of a group of resctrl's, no descriptor is needed to know. */
	ck_assert_int_ge(ledger_count(d.ledger), LEDGER_KINDS - 4);
	for (int k = 0; k < LEDGER_KINDS; k++) {
		char **path;
		int n;

		if (k == LEDGER_RESCTRL || k == LEDGER_SCHED || k == LEDGER_HALTPOLL ||
			k == LEDGER_AUTOGROUP)
			continue;
		ck_assert_int_eq(ledger_owners(d.ledger, (enum ledger_kind)k, &path, &n, &err), 0);
		ck_assert_msg(n == 1, "the row of %s is gone", d.levers->owed.kind_of[k].name);
		free(path[0]);
		free(path);
	}
	ck_assert_int_gt(d.levers->owed.n, 0);
	ck_assert_ptr_nonnull(strstr(d.levers->owed.why, "Too many open files"));
}
END_TEST

static void stop_when_back(void *arg)
{
	(void)arg;
	if (d.levers->owed.n == 0)
		loop_stop(d.loop);
}

START_TEST(what_failed_is_tried_again_until_it_is_back)
{
	struct loop_source *look;
	char file[300], away[300];

	put_owners();
	add_row(LEDGER_FREEZER);
	snprintf(file, sizeof(file), "%s/" FROZEN "/freezer.state", tree.dir);
	snprintf(away, sizeof(away), "%s/away", tree.dir);
	ck_assert_int_eq(rename(file, away), 0);
	ck_assert_int_eq(mkdir(file, 0755), 0); /* EISDIR for who writes */
	ck_assert_int_lt(owed_pass(d.levers, "a test", &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "freezer"));
	ck_assert_int_eq(d.levers->owed.n, 1);
	ck_assert_int_eq(ledger_count(d.ledger), 1);
	ck_assert_int_eq(rmdir(file), 0);
	ck_assert_int_eq(rename(away, file), 0);
	ck_assert_int_eq(loop_add_timer(d.loop, stop_when_back, NULL, &look, &err), 0);
	loop_set_timer(look, 5, 5);
	loop_run(d.loop);
	loop_remove(d.loop, look);
	ck_assert(reads(FROZEN "/freezer.state", "THAWED"));
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	ck_assert(!d.levers->owed.armed);
	ck_assert_str_eq(d.levers->owed.why, "");
}
END_TEST

/* The rows of a step that goes on are not owed. */
START_TEST(rows_in_use_are_left_alone)
{
	struct step *s = jobs_add(d.jobs, 7, 0, 0);

	put_owners();
	for (int k = 0; k <= LEDGER_MEMS; k++)
		add_row(k);
	s->located = true;
	s->status = STATUS_PLACED;
	s->memory.held = true;
	coreset_add(&s->lent, 1);
	snprintf(s->cgroup.step_path, sizeof(s->cgroup.step_path), STEP);
	snprintf(s->cgroup.job_path, sizeof(s->cgroup.job_path), JOB);
	d.levers->idlepoll.on = true;
	add_row(LEDGER_HALTPOLL);
	d.levers->ways.n = 1;
	add_row(LEDGER_RESCTRL);
	ck_assert_msg(owed_pass(d.levers, "a test", &err) == 0, "%s", err.text);
	ck_assert_int_eq(ledger_count(d.ledger), LEDGER_KINDS - 1);
	ck_assert(reads(STEP "/cpuset.cpus", "1"));
}
END_TEST

/* Of another boot nothing is left; of this one every kind is counted. */
START_TEST(no_kind_is_forgotten_by_the_ledger_itself)
{
	struct ledger_setting none = {.path = STEP, .what = "a new kind", .inode = 1};
	struct ledger *mine = d.ledger;
	char path[300];

	snprintf(path, sizeof(path), "%s/ledger.db", tree.dir);
	ck_assert_int_eq(ledger_open(&d.ledger, path, "boot", &err), 0);
	add_rows();
	ck_assert_int_eq(ledger_setting_add(d.ledger, &none, 1, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "a new kind"));
	for (int k = 0; k < LEDGER_KINDS; k++) {
		char **owner;
		int n;

		ck_assert_int_eq(ledger_owners(d.ledger, (enum ledger_kind)k, &owner, &n, &err), 0);
		ck_assert_int_eq(n, 1);
		ck_assert_str_eq(owner[0], rows[k].path);
		free(owner[0]);
		free(owner);
	}
	ledger_close(d.ledger);
	ck_assert_int_eq(ledger_open(&d.ledger, path, "another boot", &err), 0);
	ck_assert_int_eq(ledger_count(d.ledger), 0);
	ledger_close(d.ledger);
	d.ledger = mine;
}
END_TEST

static void add_case(Suite *s, const char *name, const TTest *test, int n)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test, 0, n);
	suite_add_tcase(s, t);
}

int main(void)
{
	Suite *s = suite_create("owed");
	SRunner *r;
	int failed;

	add_case(s, "every kind has a name", every_kind_has_a_name_of_its_own, 1);
	add_case(s, "who is gone is owed nothing", row_goes_when_its_owner_is_gone, LEDGER_KINDS);
	add_case(s, "every kind has a way back", row_goes_when_all_is_back, LEDGER_KINDS);
	add_case(s, "what cannot be read is not gone", without_descriptors_all_rows_stay, 2);
	add_case(s, "what failed is tried again", what_failed_is_tried_again_until_it_is_back, 1);
	add_case(s, "what is in use stays", rows_in_use_are_left_alone, 1);
	add_case(s, "the ledger knows its kinds", no_kind_is_forgotten_by_the_ledger_itself, 1);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
