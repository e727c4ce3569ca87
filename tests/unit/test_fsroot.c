/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/fstree.h"

static struct fstree tree;

static void setup(void)
{
	fstree_make(&tree);
	fstree_put(&tree, "a/b", "hello\n");
}

static void teardown(void)
{
	fstree_remove(&tree);
}

START_TEST(open_of_no_directory_names_it)
{
	struct fsroot r = {.fd = -1};
	struct errbuf err;

	ck_assert_int_eq(fsroot_open(&r, "/nonexistent/x", &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/x"));
	ck_assert_int_eq(fsroot_open(&r, "/proc/self/stat", &err), -ENOTDIR);
	ck_assert_int_eq(r.fd, -1);
	fsroot_close(&r); /* closed already: fine */
	ck_assert_int_eq(fsroot_open(&r, NULL, &err), 0);
	ck_assert(fsroot_exists(&r, "proc/self/stat"));
	fsroot_close(&r);
	ck_assert_int_eq(r.fd, -1);
}
END_TEST

START_TEST(paths_stay_below_the_root)
{
	static const char *const bad[] = {"..", "../etc/passwd", "a/../../etc", "a/..", "/.."};
	static const char *const good[] = {"a/b", "/a/b", "//a/b", "./a/b", "a/./b", "", "/"};
	char buf[16];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(fsroot_openat(&tree.root, bad[i], O_RDONLY), -EINVAL);
		ck_assert_int_eq(fsroot_read(&tree.root, bad[i], buf, sizeof(buf)), -EINVAL);
		ck_assert_int_eq(fsroot_write(&tree.root, bad[i], "x"), -EINVAL);
		ck_assert(!fsroot_exists(&tree.root, bad[i]));
		ck_assert_uint_eq(fsroot_inode(&tree.root, bad[i]), 0);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(fsroot_exists(&tree.root, good[i]), "'%s'", good[i]);
	/* Two dots within a name are a name. */
	fstree_put(&tree, "a..b/..c", "x");
	ck_assert(fsroot_exists(&tree.root, "a..b/..c"));
}
END_TEST

START_TEST(descriptors_close_on_exec)
{
	int fd = fsroot_openat(&tree.root, "a/b", O_RDONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}
END_TEST

START_TEST(read_gives_length_and_end)
{
	char buf[64], *text = NULL;

	ck_assert_int_eq(fsroot_read(&tree.root, "a/b", buf, sizeof(buf)), 6);
	ck_assert_str_eq(buf, "hello\n");
	ck_assert_int_eq(fsroot_read(&tree.root, "a/b", buf, 7), 6);
	ck_assert_int_eq(fsroot_read(&tree.root, "a/b", buf, 6), -EFBIG);
	ck_assert_str_eq(buf, "hello");
	ck_assert_int_eq(fsroot_read(&tree.root, "a/b", buf, 1), -EFBIG);
	ck_assert_str_eq(buf, "");
	ck_assert_int_eq(fsroot_read(&tree.root, "a/none", buf, sizeof(buf)), -ENOENT);
	ck_assert_int_eq(fsroot_read(&tree.root, "a", buf, sizeof(buf)), -EISDIR);
	ck_assert_int_eq(fsroot_read_alloc(&tree.root, "a/none", &text), -ENOENT);
	ck_assert_ptr_null(text);
	fstree_put(&tree, "empty", "");
	ck_assert_int_eq(fsroot_read(&tree.root, "empty", buf, sizeof(buf)), 0);
	ck_assert_str_eq(buf, "");
}
END_TEST

START_TEST(read_alloc_takes_any_length)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 70000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *big = malloc(sizes[i] + 1), *text = NULL;

		ck_assert_ptr_nonnull(big);
		memset(big, 'x', sizes[i]);
		big[sizes[i]] = '\0';
		fstree_put(&tree, "big", big);
		ck_assert_int_eq(fsroot_read_alloc(&tree.root, "big", &text), (ssize_t)sizes[i]);
		ck_assert_str_eq(text, big);
		free(text);
		free(big);
	}
}
END_TEST

/* Wherever it stands, also across what one read gives. */
START_TEST(find_finds_it_anywhere)
{
	static const char *const text[] = {"/libgomp", "/libmpi.so"};
	static char big[9001];

	for (size_t at = 0; at + strlen(text[1]) < sizeof(big);
		at += at < 4000 || at > 4300 ? 50 : 1) {
		memset(big, 'x', sizeof(big) - 1);
		memcpy(big + at, text[1], strlen(text[1]));
		fstree_put(&tree, "big", big);
		ck_assert_msg(fsroot_find(&tree.root, "big", text, 2), "at %zu", at);
		ck_assert(!fsroot_find(&tree.root, "big", text, 1));
	}
	ck_assert(!fsroot_find(&tree.root, "none", text, 2));
}
END_TEST

START_TEST(a_threads_line_begins_behind_its_name)
{
	static const struct {
		const char *line, *want;
	} of[] = {
		{"7 (sh) S 1 7", "S 1 7"},
		{"7 (a) R 1) (b) D 2", "D 2"},
		{"7 (\n) \n) Z 0\n", "Z 0\n"},
		{"7 (cut", NULL},
		{"7 (cut)", NULL},
		{"7 (cut) ", NULL},
		{"", NULL},
	};
	char buf[512];

	fstree_put(&tree, "proc/7/stat", "7 (sh) T 1 7");
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const char *got;

		fstree_put(&tree, "proc/7/task/7/stat", of[i].line);
		got = fsroot_task_stat(&tree.root, 7, buf, sizeof(buf));
		ck_assert_pstr_eq(got, of[i].want);
	}
	ck_assert_ptr_null(fsroot_task_stat(&tree.root, 8, buf, sizeof(buf)));
}
END_TEST

START_TEST(write_needs_the_file)
{
	char buf[16];

	ck_assert_int_eq(fsroot_write(&tree.root, "a/b", "HE"), 0);
	fsroot_read(&tree.root, "a/b", buf, sizeof(buf));
	ck_assert_str_eq(buf, "HEllo\n"); /* as to a kernel file: no truncation */
	ck_assert_int_eq(fsroot_write(&tree.root, "a/none", "x"), -ENOENT);
	ck_assert(!fsroot_exists(&tree.root, "a/none"));
}
END_TEST

START_TEST(inode_tells_directories_apart)
{
	struct stat st;
	char path[128];

	snprintf(path, sizeof(path), "%s/a", tree.dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(fsroot_inode(&tree.root, "a"), st.st_ino);
	ck_assert_uint_ne(fsroot_inode(&tree.root, "a"), fsroot_inode(&tree.root, "a/b"));
	ck_assert_uint_eq(fsroot_inode(&tree.root, "none"), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsroot");
	TCase *tc = tcase_create("nothing outside the root can be reached");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, open_of_no_directory_names_it);
	tcase_add_test(tc, paths_stay_below_the_root);
	tcase_add_test(tc, descriptors_close_on_exec);
	suite_add_tcase(s, tc);
	tc = tcase_create("small files are read and written whole");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, read_gives_length_and_end);
	tcase_add_test(tc, read_alloc_takes_any_length);
	tcase_add_test(tc, find_finds_it_anywhere);
	tcase_add_test(tc, a_threads_line_begins_behind_its_name);
	tcase_add_test(tc, write_needs_the_file);
	tcase_add_test(tc, inode_tells_directories_apart);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
