/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * userfs.h - file systems that answer when a user wants them to (FUSE). Who waits for one in the
 * kernel waits as long as that user likes, not to be killed, and with whatever locks it holds: no
 * probe is put into a file there.
 */
#ifndef COLOC_COUNTERS_USERFS_H
#define COLOC_COUNTERS_USERFS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * userfs_serves - is @dev, a file's st_dev, a FUSE mount of another than root's, in whatever mount
 * namespace? Asks the kernel's list of connections (Documentation/filesystems/fuse.rst: fusectl),
 * never the file system. An overlay above one is not seen.
 */
bool userfs_serves(dev_t dev);

#endif
