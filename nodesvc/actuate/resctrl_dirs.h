/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resctrl_dirs.h - how groups come and go; tests have directories that the kernel does not fill. */
#ifndef COLOC_ACTUATE_RESCTRL_DIRS_H
#define COLOC_ACTUATE_RESCTRL_DIRS_H

#include "common/fsroot.h"
#include "nodesvc/actuate/resctrl.h"

struct resctrl_dirs {
	int (*make)(const struct fsroot *root, const char *path);
	int (*remove)(const struct fsroot *root, const char *path);
};
void resctrl_set_dirs(struct resctrl *r, const struct resctrl_dirs *dirs);

#endif
