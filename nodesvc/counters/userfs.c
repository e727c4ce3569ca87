/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/userfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/fsroot.h"

#define FUSE_DIR "/sys/fs/fuse"

bool userfs_serves(dev_t dev)
{
	char name[16];
	struct stat st;
	bool found;
	int dir;

	/* Else asking would load the module. */
	if (access(FUSE_DIR, F_OK) < 0)
		return false;
	dir = fsroot_mount_apart("fusectl");
	/* An older kernel, or no right to. */
	if (dir < 0)
		dir = open(FUSE_DIR "/connections", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	/* As the kernel numbers devices: fs/fuse/control.c. */
	snprintf(name, sizeof(name), "%u", major(dev) << 20 | minor(dev));
	found = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != 0;
	close(dir);
	return found;
}
