/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resctrl_tree.h - a made-up /sys/fs/resctrl in an fstree, in the format of the kernel's
 * Documentation/arch/x86/resctrl.rst, and the kernel's part in making and removing groups.
 */
#ifndef COLOC_TESTS_RESCTRL_TREE_H
#define COLOC_TESTS_RESCTRL_TREE_H

#include "nodesvc/actuate/internal.h"
#include "tests/unit/fstree.h"

#define RESCTRL_TOP "sys/fs/resctrl"

/* What a new group's schemata holds, and how many more may be made (-1: as many as one likes). */
extern const char *resctrl_tree_schemata;
extern int resctrl_tree_makes_left;
/* They act on the tree of the last resctrl_tree_cache() or _bandwidth(). */
extern const struct resctrl_dirs resctrl_tree_dirs;

/* 11 ways, the two highest shared with other hardware, 16 groups. */
void resctrl_tree_cache(struct fstree *t);
/* Bandwidth in tens of percent, 8 groups. */
void resctrl_tree_bandwidth(struct fstree *t);

#endif
