/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idlepoll.h - idle CPUs poll for a moment before they halt, as long as there are steps whose
 * threads were told to spin for a moment only, so that short spins cost a step nothing when it has
 * its cores to itself.
 *
 * libgomp's threads spin, then sleep. Whoever shares cores wants short spins; whoever is alone pays
 * for each sleep what it takes to wake a CPU (launch.c; doc/results/waitpolicy.md has both,
 * measured). A CPU that still polls (actuate/wakeup.h) wakes at once and hands its core to anybody
 * at once, so both can have short spins. Loop thread only.
 */
#ifndef COLOC_NODESVC_IDLEPOLL_H
#define COLOC_NODESVC_IDLEPOLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct levers;

struct idlepoll {
	bool can;          /* wakeup_probe() */
	bool by_itself;    /* they do: nothing is to be told */
	bool failed;       /* it was tried, in vain: not again */
	bool on;           /* told so, by us */
	char why_not[160]; /* not can, or failed */
};

/* What this node can; what a former daemon told CPUs is taken back. Never fails. */
void idlepoll_open(struct levers *lv);
/* CPUs as they were. */
void idlepoll_close(struct levers *lv);
/* Will CPUs poll for a step that is launched now, as launch_env.idle has it? */
bool idlepoll_is_on(const struct levers *lv);
/* They do while a placed step counts on it. Cheap when nothing changed. */
void idlepoll_update(struct levers *lv);
void idlepoll_tick(struct levers *lv, int64_t now_ns);
/* As the ledger has it, also what an earlier time could not put back; 0 or -errno. The next update
 * may tell them anew. */
int idlepoll_clear(struct levers *lv);
/* A row of the ledger: owed.h. */
bool idlepoll_holds(const struct levers *lv, const char *path);
int idlepoll_restore_path(struct levers *lv, const char *path, struct errbuf *err);
/* For status. */
const char *idlepoll_says(const struct levers *lv, char *buf, size_t size);

#endif
