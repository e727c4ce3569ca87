/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file stands for the kernel's: what is written there is what the kernel would be told. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/counters/tracefs.h"
#include "tests/unit/fstree.h"

#define EVENTS "sys/kernel/tracing/uprobe_events"

static struct fstree tree;
static char text[4096];

static void setup(void)
{
	fstree_make(&tree);
}

static void teardown(void)
{
	fstree_remove(&tree);
}

static const char *told(void)
{
	ck_assert_int_ge(fsroot_read(&tree.root, EVENTS, text, sizeof(text)), 0);
	return text;
}

START_TEST(open_without_tracefs_says_so)
{
	struct tracefs t;
	struct errbuf err;

	ck_assert_int_eq(tracefs_open(&t, &tree.root, "/run/a", &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "no tracefs"));
}
END_TEST

START_TEST(owners_have_groups_of_their_own)
{
	struct tracefs a, b, again;
	struct errbuf err;

	fstree_put(&tree, EVENTS, "");
	ck_assert_int_eq(tracefs_open(&a, &tree.root, "/run/a", &err), 0);
	ck_assert_int_eq(tracefs_open(&b, &tree.root, "/run/b", &err), 0);
	ck_assert_int_eq(tracefs_open(&again, &tree.root, "/run/a", &err), 0);
	ck_assert_str_ne(a.group, b.group);
	ck_assert_str_eq(a.group, again.group);
	ck_assert_int_eq(strncmp(a.group, "coloc_", 6), 0);
	tracefs_close(&a);
	tracefs_close(&b);
	tracefs_close(&again);
}
END_TEST

START_TEST(add_writes_the_place_and_reads_its_number)
{
	struct tracefs t;
	struct errbuf err;
	char want[256], path[256];
	uint64_t id = 0;

	fstree_put(&tree, EVENTS, "");
	ck_assert_int_eq(tracefs_open(&t, &tree.root, "/run/a", &err), 0);
	snprintf(path, sizeof(path), "sys/kernel/tracing/events/%s/p1_%d/id", t.group,
		(int)getpid());
	fstree_put(&tree, path, "1234\n");
	ck_assert_int_eq(tracefs_add(&t, "p1", 0, 0x14070, &id, &err), 0);
	ck_assert_uint_eq(id, 1234);
	snprintf(want, sizeof(want), "-:%s/p1_%d\np:%s/p1_%d /proc/self/fd/0:0x14070\n", t.group,
		(int)getpid(), t.group, (int)getpid());
	ck_assert_str_eq(told(), want);
	tracefs_close(&t);
}
END_TEST

START_TEST(add_without_a_number_takes_the_name_back)
{
	struct tracefs t;
	struct errbuf err;
	char want[64];
	uint64_t id = 7;

	fstree_put(&tree, EVENTS, "");
	ck_assert_int_eq(tracefs_open(&t, &tree.root, "/run/a", &err), 0);
	ck_assert_int_eq(tracefs_add(&t, "p1", 0, 16, &id, &err), -ENOENT);
	ck_assert_uint_eq(id, 7);
	snprintf(want, sizeof(want), "-:%s/p1_%d\n", t.group, (int)getpid());
	told();
	ck_assert_str_eq(text + strlen(text) - strlen(want), want);
	tracefs_close(&t);
}
END_TEST

/* The number of a process that has ended. */
static int nobody(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return (int)pid;
}

START_TEST(sweep_takes_the_names_of_its_own_group_only)
{
	struct tracefs t;
	struct errbuf err;
	char list[512], want[256];
	int killed = nobody();

	fstree_put(&tree, EVENTS, "");
	ck_assert_int_eq(tracefs_open(&t, &tree.root, "/run/a", &err), 0);
	snprintf(list, sizeof(list),
		"p:%s/p0_%d /usr/lib/libgomp.so.1:0x00014070\n"
		"p:coloc_00000000/p0_%d /usr/lib/libgomp.so.1:0x00014070\n"
		"p:perf/malloc /usr/lib/libc.so.6:0x1000\n"
		"p:%s/p0_%d /usr/lib/libgomp.so.1:0x00014070\n"
		"r:%s/p33_%d /usr/lib/libmpi.so:0x20\n",
		t.group, killed, killed, t.group, (int)getppid(), t.group, (int)getpid());
	fstree_put(&tree, EVENTS, list);
	ck_assert_int_eq(tracefs_sweep(&t), 2);
	snprintf(want, sizeof(want), "-:%s/p0_%d\n-:%s/p33_%d\n", t.group, killed, t.group,
		(int)getpid());
	ck_assert_str_eq(told() + strlen(list), want);
	tracefs_close(&t);
}
END_TEST

/* A process of another program. */
static int another(void)
{
	int fd[2], pid;
	char c;

	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	close(fd[1]);
	/* It has executed it: nobody has the other end any more. */
	ck_assert_int_eq(read(fd[0], &c, 1), 0);
	close(fd[0]);
	return pid;
}

START_TEST(sweep_takes_names_whose_maker_another_program_follows)
{
	struct tracefs t;
	struct errbuf err;
	char list[128], want[256];
	int pid = another();

	fstree_put(&tree, EVENTS, "");
	ck_assert_int_eq(tracefs_open(&t, &tree.root, "/run/a", &err), 0);
	snprintf(list, sizeof(list), "p:%s/p0_%d /usr/lib/libgomp.so.1:0x00014070\n", t.group, pid);
	fstree_put(&tree, EVENTS, list);
	ck_assert_int_eq(tracefs_sweep(&t), 1);
	snprintf(want, sizeof(want), "-:%s/p0_%d\n", t.group, pid);
	ck_assert_str_eq(told() + strlen(list), want);
	tracefs_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tracefs");
	TCase *t = tcase_create("two owners on one machine do not meet");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, owners_have_groups_of_their_own);
	tcase_add_test(t, sweep_takes_the_names_of_its_own_group_only);
	tcase_add_test(t, sweep_takes_names_whose_maker_another_program_follows);
	suite_add_tcase(s, t);
	t = tcase_create("a place is told to the kernel whole, or not at all");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, open_without_tracefs_says_so);
	tcase_add_test(t, add_writes_the_place_and_reads_its_number);
	tcase_add_test(t, add_without_a_number_takes_the_name_back);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
