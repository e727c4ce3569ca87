/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hanging_fs.h - a file system with one file, as one that a user serves (FUSE): it has the bytes of
 * another, until it answers no read any more.
 */
#ifndef COLOC_TESTS_LIVE_HANGING_FS_H
#define COLOC_TESTS_LIVE_HANGING_FS_H

#include <sys/types.h>

struct hanging_fs {
	char path[64]; /* of its file */
	char dir[48];
	pid_t server;
	int *hang; /* shared with it: 1 asked for, 2 it does */
};

/* Mounts it, as one of @uid's; as root. 0, or -errno: this kernel has none. */
int hanging_fs_start(struct hanging_fs *f, const char *like, uid_t uid);
/* What is in memory of it goes, and reads hang until hanging_fs_stop(). */
void hanging_fs_hang(struct hanging_fs *f);
void hanging_fs_stop(struct hanging_fs *f);

#endif
