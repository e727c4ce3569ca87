/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idlepoll.h - idle CPUs poll for a moment before they halt, as long as there are steps whose
 * threads were told to spin for a moment only, so that short spins cost a step nothing when it has
 * its cores to itself.
 *
 * libgomp's threads spin, then sleep. Whoever shares cores wants short spins; whoever is alone pays
 * for each sleep what it takes to wake a CPU (launch.c; doc/launch-environment.md has both,
 * measured). A CPU that still polls (actuate/wakeup.h) wakes at once and hands its core to anybody
 * at once, so both can have short spins. Loop thread only.
 */
#ifndef COLOC_NODESVC_IDLEPOLL_H
#define COLOC_NODESVC_IDLEPOLL_H

#include <stdbool.h>
#include <stddef.h>

struct daemon;

struct idlepoll {
	bool can;          /* wakeup_probe() */
	bool by_itself;    /* they do: nothing is to be told */
	bool failed;       /* it was tried, in vain: not again */
	bool on;           /* told so, by us */
	char why_not[160]; /* not can, or failed */
};

/* What this node can; what a former daemon told CPUs is taken back. Never fails. */
void idlepoll_open(struct daemon *d);
/* CPUs as they were. */
void idlepoll_close(struct daemon *d);
/* Will CPUs poll for a step that is launched now, as launch_env.idle has it? */
bool idlepoll_is_on(const struct daemon *d);
/* They do while a placed step counts on it. Cheap when nothing changed. */
void idlepoll_update(struct daemon *d);
/* As the ledger has it, also what an earlier time could not put back; 0 or -errno, and last_error
 * has it. The next update may tell them anew. */
int idlepoll_clear(struct daemon *d);
/* For status. */
const char *idlepoll_says(const struct daemon *d, char *buf, size_t size);

#endif
