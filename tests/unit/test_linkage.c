/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/runtimes.h"
#include "nodesvc/launch/linkage.h"

static char dir[] = "/tmp/coloc-linkage-XXXXXX";
static char path[4][64];

/* Of a file with an absolute name. */
static uint32_t ask(struct linkage *l, const char *name, uid_t uid, int64_t now_ns)
{
	const struct command c = {.name = name};

	/* 5 s: the answer is what is tested here, not the time. */
	return linkage_of(l, &c, uid, 5000, now_ns);
}

/* @command with "D" in place of the folder; false: it failed. */
static bool shell(const char *command)
{
	char text[1024];

	setenv("D", dir, 1);
	snprintf(text, sizeof(text), "cd $D && { %s; } >/dev/null 2>&1", command);
	return system(text) == 0;
}

static void setup(void)
{
	strcpy(dir, "/tmp/coloc-linkage-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	for (int i = 0; i < 4; i++)
		snprintf(path[i], sizeof(path[i]), "%s/p%d", dir, i);
	/* Libraries by name only: one that needs a runtime, and programs that need it. */
	if (!shell("echo 'int f(void) { return 0; } int g(void) { return 0; }' >f.c &&"
		   "echo 'int f(void); int main(void) { return f(); }' >m.c &&"
		   "mkdir sub && cc -shared -fPIC -Wl,-soname,libgomp.so.1 -o libgomp.so.1 f.c &&"
		   "cc -shared -fPIC -Wl,-soname,libmpi.so.40 -o libmpi.so.40 f.c &&"
		   "cc -shared -fPIC -Wl,--no-as-needed -Wl,-soname,libin.so -o sub/libin.so f.c "
		   "./libgomp.so.1 &&"
		   "cc -Wl,--no-as-needed -o p0 m.c ./libmpi.so.40 -Wl,-rpath,'$ORIGIN' &&"
		   "cc -Wl,--no-as-needed -o p1 m.c sub/libin.so -Wl,-rpath,/none:'$ORIGIN/sub' "
		   "-Wl,--allow-shlib-undefined -Wl,-rpath-link,. &&"
		   "cc -o p2 m.c f.c &&"
		   "cc -shared -fPIC -Wl,--no-as-needed -Wl,-soname,libopenblas.so.0 "
		   "-o libopenblas.so.0 f.c ./libgomp.so.1 -Wl,-rpath,'$ORIGIN' &&"
		   "cc -Wl,--no-as-needed -o p3 m.c ./libopenblas.so.0 -Wl,-rpath,'$ORIGIN' "
		   "-Wl,--allow-shlib-undefined"))
		path[0][0] = '\0'; /* no compiler */
}

static void teardown(void)
{
	shell("rm -rf \"$D\"");
}

START_TEST(reads_what_is_needed_directly_and_through_libraries)
{
	if (!path[0][0])
		return;
	ck_assert_uint_eq(linkage_read(path[0]), RUNTIME_OPENMPI);
	ck_assert_uint_eq(linkage_read(path[1]), RUNTIME_LIBGOMP);
	ck_assert_uint_eq(linkage_read(path[2]), 0);
	/* Whose threads linear algebra has is a matter of how it was built. */
	ck_assert_uint_eq(linkage_read(path[3]), RUNTIME_OPENBLAS | RUNTIME_LIBGOMP);
}
END_TEST

START_TEST(anything_else_is_not_known)
{
	char name[128];
	int fd;

	ck_assert_uint_eq(linkage_read("/nonexistent"), 0);
	ck_assert_uint_eq(linkage_read(dir), 0);
	ck_assert_uint_eq(linkage_read("/dev/zero"), 0);
	snprintf(name, sizeof(name), "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(name, 0600), 0);
	ck_assert_uint_eq(linkage_read(name), 0);
	snprintf(name, sizeof(name), "%s/script", dir);
	fd = open(name, O_CREAT | O_WRONLY, 0755);
	ck_assert_int_eq(write(fd, "#!/bin/sh\n", 10), 10);
	close(fd);
	ck_assert_uint_eq(linkage_read(name), 0);
}
END_TEST

/* Whatever bytes an executable holds, it is read within its bounds. */
START_TEST(damaged_files_do_no_harm)
{
	static unsigned char whole[1 << 20], cut[1 << 20];
	char name[128];
	ssize_t n;
	int fd;

	if (!path[0][0])
		return;
	fd = open(path[1], O_RDONLY);
	n = read(fd, whole, sizeof(whole));
	close(fd);
	ck_assert_int_gt(n, 1000);
	snprintf(name, sizeof(name), "%s/damaged", dir);
	srand(1);
	for (int k = 0; k < 300; k++) {
		ssize_t len = k % 3 ? n : rand() % n;

		memcpy(cut, whole, (size_t)n);
		for (int i = 0; i < k % 20; i++)
			cut[rand() % (k % 2 ? 1024 : n)] = (unsigned char)rand();
		fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0755);
		ck_assert_int_eq(write(fd, cut, (size_t)len), len);
		close(fd);
		linkage_read(name);
	}
}
END_TEST

START_TEST(asks_apart_and_remembers)
{
	struct linkage *l = linkage_new();

	if (path[0][0]) {
		ck_assert_uint_eq(ask(l, path[0], getuid(), 1), RUNTIME_OPENMPI);
		ck_assert_int_eq(unlink(path[0]), 0);
		ck_assert_uint_eq(ask(l, path[0], getuid(), 2), RUNTIME_OPENMPI);
		ck_assert_uint_eq(ask(l, path[0], getuid(), INT64_C(1) << 60), 0);
		/* What it stands for is not known. */
		ck_assert_uint_eq(ask(l, "p1", getuid(), 2), 0);
		ck_assert_uint_eq(ask(l, "./p1", getuid(), 2), 0);
	}
	linkage_free(l);
}
END_TEST

/* On a busy node a reading takes longer than a launch waits: here each that is not done at once. */
START_TEST(an_answer_that_is_late_is_that_of_the_next_launch)
{
	static char search[8000];
	const struct command c = {"p0", NULL, search};
	const int64_t s = INT64_C(1000000000);
	struct linkage *l = linkage_new();

	/* Some thousand folders in which it is not: that takes a while. Each time others. */
	for (int k = 1; path[0][0] && k <= 20; k++) {
		uint32_t links = 0;

		*search = '\0';
		for (size_t n = 0; n + strlen(dir) + 4 < sizeof(search) - (size_t)k * 3; n += 3)
			memcpy(search + n, "/x:", 4);
		strcat(search, dir);
		linkage_of(l, &c, getuid(), 0, 1);
		for (int i = 0; i < 500 && links == 0; i++) {
			usleep(10000);
			links = linkage_of(l, &c, getuid(), 0, 2);
		}
		ck_assert_uint_eq(links, RUNTIME_OPENMPI);
	}
	/* As long as any answer, and from when it was asked for, whoever takes it. */
	if (path[0][0]) {
		search[0] = '/';
		search[1] = 'y';
		linkage_of(l, &c, getuid(), 0, 1);
		sleep(1);
		linkage_refresh(l, 0, 300 * s);
		ck_assert_int_eq(unlink(path[0]), 0);
		ck_assert_uint_eq(linkage_of(l, &c, getuid(), 5000, 3), RUNTIME_OPENMPI);
		ck_assert_uint_eq(linkage_of(l, &c, getuid(), 5000, 301 * s), 0);
	}
	linkage_free(l);
}
END_TEST

START_TEST(what_is_in_use_is_read_anew_between_launches)
{
	const int64_t s = INT64_C(1000000000);
	struct linkage *l = linkage_new();

	if (path[0][0]) {
		ck_assert_uint_eq(ask(l, path[0], getuid(), 1), RUNTIME_OPENMPI);
		ck_assert_int_eq(unlink(path[0]), 0);
		/* Not asked for again: it is let grow old. */
		linkage_refresh(l, 5000, 50 * s);
		ck_assert_uint_eq(ask(l, path[0], getuid(), 20 * s), RUNTIME_OPENMPI);
		/* Young yet. */
		linkage_refresh(l, 5000, 25 * s);
		ck_assert_uint_eq(ask(l, path[0], getuid(), 26 * s), RUNTIME_OPENMPI);
		linkage_refresh(l, 5000, 31 * s);
		ck_assert_uint_eq(ask(l, path[0], getuid(), 32 * s), 0);
		/* From then on it is kept: no launch asks. */
		ck_assert_int_eq(symlink(path[1], path[0]), 0);
		ck_assert_uint_eq(ask(l, path[0], getuid(), 90 * s), 0);
	}
	linkage_free(l);
	linkage_refresh(NULL, 5000, 1);
}
END_TEST

START_TEST(reads_with_the_rights_of_the_steps_owner)
{
	struct linkage *l = linkage_new();

	if (path[0][0] && geteuid() == 0) {
		ck_assert_int_eq(chmod(path[0], 0700), 0);
		ck_assert_uint_eq(ask(l, path[0], 65534, 1), 0);
		ck_assert_uint_eq(ask(l, path[0], 0, 1), RUNTIME_OPENMPI);
	}
	linkage_free(l);
}
END_TEST

/* @want is a file of the folder, NULL: it is not to be known. */
static void check_found(const char *name, const char *cwd, const char *search, const char *want)
{
	const struct command c = {name, cwd, search};
	char found[512], whole[128];
	int rc = command_find(&c, found, sizeof(found));

	ck_assert_int_eq(rc, want ? 0 : -ENOENT);
	if (!want)
		return;
	snprintf(whole, sizeof(whole), "%s/%s", dir, want);
	ck_assert_str_eq(found, whole);
}

START_TEST(a_name_stands_for_what_slurm_executes)
{
	char search[256], absolute[128], tiny[8];
	struct command c = {.name = "./p2"};

	ck_assert(shell(
		"mkdir -p bin other/p2 && : >bin/p2 && : >p2 && mkdir bin/sub && : >bin/sub/p2"));
	snprintf(search, sizeof(search), "::/nonexistent:%s/other:%s/bin:%s", dir, dir, dir);
	snprintf(absolute, sizeof(absolute), "%s/p2", dir);
	check_found(absolute, NULL, NULL, "p2");
	/* Below the working directory; that need not be in PATH. */
	check_found("./p2", dir, NULL, "./p2");
	check_found("./p2", NULL, search, NULL);
	check_found("./p2", "elsewhere", search, NULL);
	/* The first in PATH that is no folder; empty ones are passed over. */
	check_found("p2", NULL, search, "bin/p2");
	check_found("sub/p2", dir, search, "bin/sub/p2");
	check_found("p9", dir, search, NULL);
	check_found("p2", dir, NULL, NULL);
	check_found("p2", dir, "", NULL);
	check_found("", dir, search, NULL);
	/* Behind a relative one nothing is certain, before it is. */
	snprintf(search, sizeof(search), "%s/bin:.", dir);
	check_found("p2", dir, search, "bin/p2");
	snprintf(search, sizeof(search), ".:%s/bin", dir);
	check_found("p2", dir, search, NULL);
	c.cwd = dir;
	ck_assert_int_eq(command_find(&c, tiny, sizeof(tiny)), -ENAMETOOLONG);
}
END_TEST

START_TEST(programs_are_read_by_whatever_name)
{
	const struct command in_path = {"p0", NULL, dir}, here = {"./p0", dir, NULL};
	const struct command elsewhere = {"p0", NULL, "/nonexistent"};
	static char longest[9000];
	struct linkage *l = linkage_new();

	if (path[0][0]) {
		ck_assert_uint_eq(linkage_of(l, &elsewhere, getuid(), 5000, 1), 0);
		ck_assert_uint_eq(linkage_of(l, &in_path, getuid(), 5000, 1), RUNTIME_OPENMPI);
		ck_assert_uint_eq(linkage_of(l, &here, getuid(), 5000, 1), RUNTIME_OPENMPI);
		/* Remembered each for itself. */
		ck_assert_int_eq(unlink(path[0]), 0);
		ck_assert_uint_eq(linkage_of(l, &in_path, getuid(), 5000, 2), RUNTIME_OPENMPI);
		ck_assert_uint_eq(linkage_of(l, &here, getuid(), 5000, 2), RUNTIME_OPENMPI);
		ck_assert_uint_eq(linkage_of(l, &elsewhere, getuid(), 5000, 2), 0);
		/* Not known, and nothing else is forgotten. */
		memset(longest, 'x', sizeof(longest) - 1);
		ck_assert_uint_eq(
			linkage_of(l, &(struct command){"p0", NULL, longest}, getuid(), 5000, 2),
			0);
		ck_assert_uint_eq(
			linkage_of(l, &(struct command){.name = ""}, getuid(), 5000, 2), 0);
		ck_assert_uint_eq(linkage_of(l, &in_path, getuid(), 5000, 3), RUNTIME_OPENMPI);
	}
	linkage_free(l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("linkage");
	TCase *tc = tcase_create("linkage");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, reads_what_is_needed_directly_and_through_libraries);
	tcase_add_test(tc, anything_else_is_not_known);
	tcase_add_test(tc, damaged_files_do_no_harm);
	tcase_add_test(tc, asks_apart_and_remembers);
	tcase_add_test(tc, an_answer_that_is_late_is_that_of_the_next_launch);
	tcase_add_test(tc, what_is_in_use_is_read_anew_between_launches);
	tcase_add_test(tc, reads_with_the_rights_of_the_steps_owner);
	tcase_add_test(tc, a_name_stands_for_what_slurm_executes);
	tcase_add_test(tc, programs_are_read_by_whatever_name);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
