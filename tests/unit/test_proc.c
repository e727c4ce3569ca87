/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/actuate/internal.h"
#include "tests/unit/fstree.h"

/* The fields after comm up to starttime, as the kernel writes them. */
#define REST(ppid, start)                                                                          \
	" S " ppid " 1 1 0 -1 4194560 100 0 0 0 5 6 0 0 20 0 3 0 " start " 1000 200 184467\n"

struct stat_case {
	const char *text, *comm;
	pid_t ppid;
	uint64_t start;
	int rc;
};

static const struct stat_case stats[] = {
	{"12 (app)" REST("7", "123456"), "app", 7, 123456, 0},
	{"12 (a) R 1 2 (b))" REST("7", "9"), "a) R 1 2 (b)", 7, 9, 0},
	{"12 (new\nline)" REST("1", "18446744073709551615"), "new\nline", 1, 18446744073709551615u,
		0},
	{"12 ()" REST("0", "0"), "", 0, 0, 0},
	{"12 (kworker/u8:2-events_unbound)" REST("2", "44"), "kworker/u8:2-events_unbound", 2, 44,
		0},
	{"", NULL, 0, 0, -EINVAL},
	{"12 (app", NULL, 0, 0, -EINVAL},
	{"12 )app(" REST("7", "1"), NULL, 0, 0, -EINVAL},
	{"12 (app) S 7 1 1 0", NULL, 0, 0, -EINVAL},
	{"12 (app) S x 1 1", NULL, 0, 0, -EINVAL},
};

START_TEST(stat_table)
{
	const struct stat_case *c = &stats[_i];
	struct proc_stat st = {.ppid = 77};

	ck_assert_int_eq(proc_stat_parse(c->text, &st), c->rc);
	if (c->rc < 0) {
		ck_assert_int_eq(st.ppid, 77);
		return;
	}
	ck_assert_str_eq(st.comm, c->comm);
	ck_assert_int_eq(st.ppid, c->ppid);
	ck_assert_uint_eq(st.start_ticks, c->start);
	ck_assert_int_eq(st.state, 'S');
}
END_TEST

START_TEST(stat_of_this_process_and_of_none)
{
	struct fsroot root;
	struct proc_stat st;

	ck_assert_int_eq(fsroot_open(&root, NULL, NULL), 0);
	ck_assert_int_eq(proc_stat_read(&root, getpid(), getpid(), &st), 0);
	ck_assert_int_eq(st.ppid, getppid());
	ck_assert_uint_gt(st.start_ticks, 0);
	ck_assert_int_eq(proc_stat_read(&root, getpid(), 0x7ffffffe, &st), -ESRCH);
	fsroot_close(&root);
}
END_TEST

/* ---- scan ---------------------------------------------------------------------------------- */

static struct fstree tree;

static void setup(void)
{
	fstree_make(&tree);
}

static void teardown(void)
{
	fstree_remove(&tree);
}

static void put_process(pid_t pid, pid_t ppid, const char *comm, const pid_t *tid, int n)
{
	char path[64], text[256];

	snprintf(text, sizeof(text),
		"%d (%s) S %d 1 1 0 -1 0 0 0 0 0 5 6 0 0 20 0 3 0 %d 1000 200\n", (int)pid, comm,
		(int)ppid, (int)pid * 10);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)pid, (int)tid[i]);
		fstree_put(&tree, path, text);
	}
}

START_TEST(scan_groups_threads_by_process_and_tells_slurmstepd)
{
	struct proc_thread *t;
	int n;

	/* slurmd 50 → slurmstepd 100 → 200 forked, not exec'ed; 300 a program; 301 named alike. */
	put_process(50, 1, "slurmd", (pid_t[]){50}, 1);
	put_process(100, 50, "slurmstepd", (pid_t[]){90, 100}, 2);
	put_process(200, 100, "slurmstepd", (pid_t[]){200}, 1);
	put_process(300, 100, "app", (pid_t[]){290, 300, 310}, 3);
	/* A thread that was moved elsewhere, and one that ended after `tasks` was read. */
	fstree_put(&tree, "cg/tasks", "90\n100\n200\n290\n300\n777\n300\n");
	fstree_put(&tree, "cg/cgroup.procs", "100\n200\n300\n300\n777\n");
	ck_assert_int_eq(proc_scan_known(&tree.root, "cg", NULL, &t, &n), 0);
	ck_assert_int_eq(n, 5);
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(t[i].foreign, t[i].tgid == 100);
		ck_assert_int_ne(t[i].tid, 310);
		/* The leader comes before its threads. */
		if (t[i].tid != t[i].tgid)
			ck_assert_int_eq(t[i - 1].tid, t[i].tgid);
	}
	free(t);
}
END_TEST

START_TEST(scan_of_an_empty_and_of_no_directory)
{
	struct proc_thread *t;
	int n;

	fstree_put(&tree, "cg/tasks", "");
	fstree_put(&tree, "cg/cgroup.procs", "");
	ck_assert_int_eq(proc_scan_known(&tree.root, "cg", NULL, &t, &n), 0);
	ck_assert_int_eq(n, 0);
	free(t);
	ck_assert_int_eq(proc_scan_known(&tree.root, "gone", NULL, &t, &n), -ENOENT);
}
END_TEST

/* Who is found, as "tid/tgid" with "!" for slurmstepd's. */
static const char *found(struct proc_known *known)
{
	static char text[256];
	struct proc_thread *t = NULL;
	int n = 0, at = 0;

	ck_assert_int_eq(proc_scan_known(&tree.root, "cg", known, &t, &n), 0);
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		/* A leader's start is read with its name. */
		if (known && t[i].tid == t[i].tgid)
			ck_assert_uint_eq(t[i].start_ticks, (uint64_t)t[i].tid * 10);
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%d/%d%s", i ? " " : "",
			(int)t[i].tid, (int)t[i].tgid, t[i].foreign ? "!" : "");
	}
	free(t);
	return text;
}

START_TEST(who_is_known_is_not_asked_about_again)
{
	struct proc_known known = {.v = NULL};

	put_process(50, 1, "slurmd", (pid_t[]){50}, 1);
	put_process(100, 50, "slurmstepd", (pid_t[]){90, 100}, 2);
	put_process(300, 100, "app", (pid_t[]){290, 300}, 2);
	put_process(400, 100, "app", (pid_t[]){400}, 1);
	fstree_put(&tree, "cg/tasks", "90\n100\n290\n300\n400\n");
	fstree_put(&tree, "cg/cgroup.procs", "100\n300\n400\n");
	ck_assert_str_eq(found(&known), "100/100! 90/100! 300/300 290/300 400/400");
	/* Nothing but the list of threads is read, and who ended is not there. */
	fstree_put(&tree, "cg/cgroup.procs", "none\n");
	fstree_put(&tree, "proc/300/task/300/stat", "none\n");
	fstree_put(&tree, "cg/tasks", "90\n100\n290\n300\n");
	ck_assert_str_eq(found(&known), "100/100! 90/100! 300/300 290/300");
	proc_known_free(&known);
}
END_TEST

START_TEST(who_is_new_or_no_slurmstepd_any_more_has_all_read_again)
{
	struct proc_known known = {.v = NULL};

	/* 200 was forked by a slurmstepd that is not in the list. */
	put_process(50, 1, "slurmd", (pid_t[]){50}, 1);
	put_process(100, 50, "slurmstepd", (pid_t[]){100}, 1);
	put_process(200, 50, "slurmstepd", (pid_t[]){200}, 1);
	put_process(300, 100, "app", (pid_t[]){300, 310}, 2);
	fstree_put(&tree, "cg/tasks", "100\n200\n300\n");
	fstree_put(&tree, "cg/cgroup.procs", "100\n200\n300\n");
	ck_assert_str_eq(found(&known), "100/100! 200/200! 300/300");
	put_process(200, 50, "app", (pid_t[]){200}, 1);
	ck_assert_str_eq(found(&known), "100/100! 200/200 300/300");
	fstree_put(&tree, "cg/tasks", "100\n200\n300\n310\n");
	ck_assert_str_eq(found(&known), "100/100! 200/200 300/300 310/300");
	ck_assert_str_eq(found(NULL), "100/100! 200/200 300/300 310/300");
	proc_known_free(&known);
}
END_TEST

START_TEST(list_of_threads_that_is_none_is_refused)
{
	static const char *const bad[] = {"10 23 0:26 / /sys\n", "1\n2 3\n", "x\n", "1\n\n2x\n"};

	fstree_put(&tree, "cg/cgroup.procs", "1\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct proc_thread *t = NULL;
		int n = 0;

		fstree_put(&tree, "cg/tasks", bad[i]);
		ck_assert_msg(
			proc_scan_known(&tree.root, "cg", NULL, &t, &n) == -EINVAL, "%s", bad[i]);
	}
}
END_TEST

START_TEST(masks_of_this_thread_and_of_none)
{
	struct coreset mask, none;

	coreset_zero(&none);
	ck_assert_int_eq(proc_get_mask(0, &mask), 0);
	ck_assert(!coreset_is_empty(&mask));
	ck_assert_int_eq(proc_set_mask(0, &mask), 0);
	ck_assert_int_eq(proc_set_mask(0, &none), -EINVAL);
	ck_assert_int_eq(proc_get_mask(0x7ffffffe, &mask), -ESRCH);
}
END_TEST

/* ---- rows ---------------------------------------------------------------------------------- */

START_TEST(rows_are_found_by_tid_and_start)
{
	static const int tids[] = {5, 9, 7, 1, 7, 100, 8};
	struct rows r = {.v = NULL};

	for (int i = 0; i < 7; i++) {
		struct ledger_thread t = {.tid = tids[i], .start_ticks = (uint64_t)i};

		ck_assert_int_eq(rows_put(&r, &t), 0);
	}
	for (int i = 0; i < 7; i++)
		ck_assert_ptr_nonnull(rows_find(&r, tids[i], (uint64_t)i));
	for (int i = 1; i < r.n; i++)
		ck_assert_int_le(r.v[i - 1].tid, r.v[i].tid);
	ck_assert_ptr_null(rows_find(&r, 7, 99)); /* a tid that was given again */
	ck_assert_ptr_null(rows_find(&r, 6, 0));
	ck_assert_ptr_null(rows_find(&r, 1000, 0));
	rows_free(&r);
	ck_assert_ptr_null(rows_find(&r, 5, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proc");
	TCase *tc = tcase_create("a name cannot confuse /proc/TID/stat");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, stat_table, 0, (int)(sizeof(stats) / sizeof(stats[0])));
	tcase_add_test(tc, stat_of_this_process_and_of_none);
	suite_add_tcase(s, tc);
	tc = tcase_create("the threads of a cpuset are found by process");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, scan_groups_threads_by_process_and_tells_slurmstepd);
	tcase_add_test(tc, scan_of_an_empty_and_of_no_directory);
	tcase_add_test(tc, list_of_threads_that_is_none_is_refused);
	suite_add_tcase(s, tc);
	tc = tcase_create("within a change, who is known stays known");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, who_is_known_is_not_asked_about_again);
	tcase_add_test(tc, who_is_new_or_no_slurmstepd_any_more_has_all_read_again);
	suite_add_tcase(s, tc);
	tc = tcase_create("masks are read and set as coresets");
	tcase_add_test(tc, masks_of_this_thread_and_of_none);
	suite_add_tcase(s, tc);
	tc = tcase_create("a reused tid is not taken for the old one");
	tcase_add_test(tc, rows_are_found_by_tid_and_start);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
