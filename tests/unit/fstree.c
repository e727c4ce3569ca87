/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/fstree.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void die(const char *what)
{
	perror(what);
	exit(2);
}

void fstree_make(struct fstree *t)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(t->dir, sizeof(t->dir), "%.40s/coloc-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(t->dir) || fsroot_open(&t->root, t->dir, NULL) < 0)
		die(t->dir);
}

void fstree_put(struct fstree *t, const char *path, const char *text)
{
	char full[600];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", t->dir, path);
	for (char *p = full + strlen(t->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			die(full);
		*p = '/';
	}
	f = fopen(full, "w");
	if (!f || fputs(text, f) == EOF || fclose(f))
		die(full);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

void fstree_remove(struct fstree *t)
{
	fsroot_close(&t->root);
	nftw(t->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
