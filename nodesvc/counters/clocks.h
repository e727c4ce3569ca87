/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clocks.h - cpu time of a step's processes by their clocks (clock_getcpuclockid(3)): one system
 * call a process and no file, some tenth of what a line of schedstat per thread costs. It tells
 * that a step runs as it did, not how long its threads waited to: that only schedstat has.
 *
 * One user at a time.
 */
#ifndef COLOC_COUNTERS_CLOCKS_H
#define COLOC_COUNTERS_CLOCKS_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct clocks {
	clockid_t *id; /* one per process; free() it, or clocks_done() */
	int n;
};

/* Those of @tid which are processes, not further threads of one. 0, -ENOMEM (@c as before). */
int clocks_set(struct clocks *c, const pid_t *tid, int n_tids);
/* Cpu time of all, ns, threads that ended included. -ESRCH: one has gone, make the list anew;
 * -ENOENT: no process in the list. */
int clocks_read(const struct clocks *c, int64_t *ret_ns);
/* Whose clock it is. */
pid_t clocks_pid(clockid_t id);
void clocks_done(struct clocks *c);

#endif
