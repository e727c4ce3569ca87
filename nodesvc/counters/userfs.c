/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/userfs.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FUSE_DIR "/sys/fs/fuse"

/* Where it is mounted, or by a mount of nowhere. */
static int open_connections(void)
{
	int fs = (int)syscall(SYS_fsopen, "fusectl", FSOPEN_CLOEXEC), dir = -1;

	if (fs >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		dir = (int)syscall(
			SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (fs >= 0)
		close(fs);
	return dir >= 0 ? dir : open(FUSE_DIR "/connections", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool userfs_serves(dev_t dev)
{
	char name[16];
	struct stat st;
	bool found;
	int dir;

	/* Else asking would load the module. */
	if (access(FUSE_DIR, F_OK) < 0)
		return false;
	dir = open_connections();
	if (dir < 0)
		return false;
	/* As the kernel numbers devices: fs/fuse/control.c. */
	snprintf(name, sizeof(name), "%u", major(dev) << 20 | minor(dev));
	found = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != 0;
	close(dir);
	return found;
}
