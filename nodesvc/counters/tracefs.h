/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracefs.h - places in files at which the kernel counts who comes by: names in a group of our own
 * in tracefs, which perf opens by their number. A name alone traps nobody; it holds the file, so
 * that its file system cannot be unmounted.
 *
 * Nothing is mounted anywhere: where the machine has no tracefs the kernel gives one that only its
 * descriptor leads to. Whoever has the same @owner has the same group; a daemon's is its socket.
 * Blocks as the kernel does: registering waits for all CPUs. Not for the loop.
 */
#ifndef COLOC_COUNTERS_TRACEFS_H
#define COLOC_COUNTERS_TRACEFS_H

#include <stdint.h>

#include "common/err.h"
#include "common/fsroot.h"

struct tracefs {
	int dir, events; /* -1 closed; its root, uprobe_events */
	char group[32];
};

/* -ENOTSUP: this kernel has none; else -errno. */
int tracefs_open(
	struct tracefs *ret, const struct fsroot *root, const char *owner, struct errbuf *err);
/* Names stay. */
void tracefs_close(struct tracefs *t);

/*
 * tracefs_add - the place @offset bytes into the file that the descriptor @fd of this process has.
 * @name: letters, digits, "_"; this process's number follows it in tracefs, for the kernel lets
 * nobody have a name again while an event of it is open, and who was killed may still wait, with
 * all its descriptors, for a file system that does not answer. *@ret_id: what
 * perf_event_attr.config wants.
 */
int tracefs_add(struct tracefs *t, const char *name, int fd, uint64_t offset, uint64_t *ret_id,
	struct errbuf *err);
/* -EBUSY: somebody still has it open; -ENOENT. */
int tracefs_remove(struct tracefs *t, const char *name);
/* All names of our group but those of other processes of our program; how many went. What one of
 * them has open stays in any case: the kernel refuses. */
int tracefs_sweep(struct tracefs *t);

#endif
