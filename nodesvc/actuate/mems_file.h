/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mems_file.h - between mems.c (cpuset.mems) and mems_move.c (pages). */
#ifndef COLOC_ACTUATE_MEMS_FILE_H
#define COLOC_ACTUATE_MEMS_FILE_H

#include "nodesvc/actuate/internal.h"

#define MEMS_FILE "cpuset.mems"

/* The nodes in force in directory @path. */
int mems_read(const struct actuate *a, const char *path, struct coreset *ret, struct errbuf *err);
/* Writes directory @path's nodes and reads back what is in force. -ENOENT gone, -EIO other. */
int mems_write(
	const struct actuate *a, const char *path, const struct coreset *nodes, struct errbuf *err);

/* One mapping of a line of /proc/PID/numa_maps. */
struct mems_vma {
	uint64_t start;
	uint64_t foreign; /* pages of 4 KiB (or what a page is) on other nodes than those wanted */
	bool is_file;     /* of a file on disk: others may map it too */
};
/* False: nothing of it is elsewhere, or it cannot be moved (huge pages of their own kind). */
bool mems_vma_parse(const char *line, const struct coreset *nodes, struct mems_vma *ret);

#endif
