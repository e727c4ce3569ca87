/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/resctrl_tree.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

const char *resctrl_tree_schemata;
int resctrl_tree_makes_left = -1;
static struct fstree *tree;

static int make_dir(const struct fsroot *root, const char *path)
{
	char file[128];

	(void)root;
	if (resctrl_tree_makes_left-- == 0)
		return -ENOSPC;
	snprintf(file, sizeof(file), "%s/schemata", path);
	fstree_put(tree, file, resctrl_tree_schemata);
	snprintf(file, sizeof(file), "%s/tasks", path);
	fstree_put(tree, file, "");
	return 0;
}

static int remove_dir(const struct fsroot *root, const char *path)
{
	char file[128];

	if (!fsroot_exists(root, path))
		return -ENOENT;
	snprintf(file, sizeof(file), "%s/schemata", path);
	unlinkat(root->fd, file, 0);
	snprintf(file, sizeof(file), "%s/tasks", path);
	unlinkat(root->fd, file, 0);
	return fsroot_rmdir(root, path);
}

const struct resctrl_dirs resctrl_tree_dirs = {make_dir, remove_dir};

void resctrl_tree_cache(struct fstree *t)
{
	tree = t;
	fstree_put(t, RESCTRL_TOP "/info/L3/cbm_mask", "7ff\n");
	fstree_put(t, RESCTRL_TOP "/info/L3/min_cbm_bits", "1\n");
	fstree_put(t, RESCTRL_TOP "/info/L3/num_closids", "16\n");
	fstree_put(t, RESCTRL_TOP "/info/L3/shareable_bits", "600\n");
}

void resctrl_tree_bandwidth(struct fstree *t)
{
	tree = t;
	fstree_put(t, RESCTRL_TOP "/info/MB/bandwidth_gran", "10\n");
	fstree_put(t, RESCTRL_TOP "/info/MB/min_bandwidth", "10\n");
	fstree_put(t, RESCTRL_TOP "/info/MB/delay_linear", "1\n");
	fstree_put(t, RESCTRL_TOP "/info/MB/num_closids", "8\n");
}
