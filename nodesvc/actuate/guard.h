/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard.h - a process of its own that thaws what the daemon froze, when the daemon cannot: killed
 * (the socket between them ends) or hung (a group stays frozen past its deadline).
 *
 * libc only; forked before the daemon opens anything, so it holds no lock, socket or database. It
 * shares one table with the daemon: which files, what to write into them, until when. It sleeps
 * while nothing is frozen and survives SIGTERM, SIGINT and SIGHUP; SIGKILL to it alone is seen by
 * the daemon (guard_fd), which thaws, and starts it again. Called from the daemon's loop only.
 */
#ifndef COLOC_ACTUATE_GUARD_H
#define COLOC_ACTUATE_GUARD_H

#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/fsroot.h"

struct guard;

/*
 * @max: files at once. @root outlives it. @mark: a file below it that the guard makes when the
 * daemon has gone and all that was frozen is thawed; "" none.
 */
int guard_start(struct guard **ret, const struct fsroot *root, const char *mark, int max,
	struct errbuf *err);
/*
 * guard_take_mark - 1: a guard of before thawed what its daemon left, so that whatever is frozen
 * now is so by another hand; 0: none says so. Takes the mark away, without which this daemon's own
 * end would be misread: <0 it could not.
 */
int guard_take_mark(const struct guard *g);
/* Forks it anew after it died; what was armed stays armed. */
int guard_restart(struct guard *g, struct errbuf *err);
/* Ends it; it thaws first whatever is still armed. NULL is fine. */
void guard_stop(struct guard *g);

pid_t guard_pid(const struct guard *g);
/* A pidfd: readable when the process has gone. */
int guard_fd(const struct guard *g);

/* guard_add - a slot for @file (below the fsroot) which @thaw written into it thaws. Returns the
 * slot; -ENOSPC, -ENAMETOOLONG. */
int guard_add(struct guard *g, const char *file, const char *thaw);
/* Before the file is frozen: thaw it if the daemon ends, or at @until_ns (CLOCK_MONOTONIC). */
void guard_arm(struct guard *g, int slot, int64_t until_ns);
/* After it was thawed, or when the freeze became another's. */
void guard_disarm(struct guard *g, int slot);
void guard_remove(struct guard *g, int slot);
/* Instead of that, where it could not be thawed: the guard does, at once and as often as it takes,
 * and then frees the slot. */
void guard_leave(struct guard *g, int slot);

#endif
