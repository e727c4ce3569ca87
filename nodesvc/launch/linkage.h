/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linkage.h - which parallel runtimes an executable links, by its ELF dynamic section and those of
 * the libraries it needs: what the launch environment is chosen by.
 *
 * Files are read by a child with a deadline: a file system that does not answer must not hold up
 * the daemon, and so all launches.
 */
#ifndef COLOC_LAUNCH_LINKAGE_H
#define COLOC_LAUNCH_LINKAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/command.h"

/* So long the daemon waits for an answer. */
#define LINKAGE_WAIT_MS 20

/*
 * linkage_read - the runtimes (common/runtimes.h) that the file @path links, here and now; 0 none,
 * or not to be known: a script, no ELF of this machine, unreadable. Libraries are looked for where
 * DT_RUNPATH says and in the system's folders. Blocks as the file system does.
 */
uint32_t linkage_read(const char *path);

/* Remembers what it has read, for a minute. Loop thread only. */
struct linkage;
struct linkage *linkage_new(void); /* NULL: out of memory; owner: linkage_free() */
void linkage_free(struct linkage *l);
/* What programs were seen to load; NULL where @l is. */
struct learned;
struct learned *linkage_learned(const struct linkage *l);
/*
 * linkage_of - the same of the file that Slurm will execute for @c (command.h), found and read with
 * the rights of @uid and within @timeout_ms, else what it was when it was read last, or 0: an
 * answer that comes later is that of the next launch. Also 0 where @c's texts have more than 8 KiB.
 */
uint32_t linkage_of(
	struct linkage *l, const struct command *c, uid_t uid, int timeout_ms, int64_t now_ns);

/*
 * linkage_refresh - reads one of those anew that are half as old as that and are in use, if there
 * is one: between launches, so that none waits for it (some 3 ms: two forks of the daemon).
 */
void linkage_refresh(struct linkage *l, int timeout_ms, int64_t now_ns);

#endif
