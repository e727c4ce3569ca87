/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fstree.h - a throw-away directory that stands for "/" in tests that read /proc and /sys through
 * an fsroot.
 */
#ifndef COLOC_TESTS_FSTREE_H
#define COLOC_TESTS_FSTREE_H

#include "common/fsroot.h"

struct fstree {
	char dir[64];
	struct fsroot root;
};

/* Both end the program on failure: a test without its tree has no meaning. */
void fstree_make(struct fstree *t);
/* Writes a file and the directories above it; @path as for an fsroot. */
void fstree_put(struct fstree *t, const char *path, const char *text);
void fstree_remove(struct fstree *t);

#endif
