/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tmpdir.h - a directory of a test's own, and files in it.
 */
#ifndef COLOC_TESTS_UNIT_TMPDIR_H
#define COLOC_TESTS_UNIT_TMPDIR_H

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct tmpdir {
	char dir[64];
	char path[256]; /* of the last tmpdir_path() */
};

static inline void tmpdir_create(struct tmpdir *t)
{
	snprintf(t->dir, sizeof(t->dir), "/tmp/coloc-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(t->dir));
}

static inline const char *tmpdir_path(struct tmpdir *t, const char *name)
{
	snprintf(t->path, sizeof(t->path), "%s/%s", t->dir, name);
	return t->path;
}

static inline int tmpdir_rm_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void tmpdir_remove(struct tmpdir *t)
{
	nftw(t->dir, tmpdir_rm_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Replaces the file's text. */
static inline void tmpdir_write(struct tmpdir *t, const char *name, const char *text)
{
	FILE *f = fopen(tmpdir_path(t, name), "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

#endif
