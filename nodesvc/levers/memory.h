/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.h - "memory: follow": when a placed step's cores belong to other memory nodes than
 * before, its pages go there, then its cpuset.mems. A forked worker moves them, one step at a time;
 * the loop never waits for it. Where the nodes run short of memory, the step has all of Slurm's
 * again. Loop thread only.
 */
#ifndef COLOC_NODESVC_MEMORY_H
#define COLOC_NODESVC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct levers;
struct step;

/* At start: what a former daemon left. */
void memory_open(struct levers *lv);
/* At stop: ends the worker, puts everything back. */
void memory_close(struct levers *lv);
/* After @s was placed: queues it if its nodes are others. Only ever fails in words. */
void memory_follow(struct levers *lv, struct step *s);
/* Puts its cpuset.mems back: at its end, or before it is left to Slurm's placement. Its pages stay
 * where they are. */
int memory_leave(struct levers *lv, struct step *s, bool ended);
/* At a tick: gives Slurm's nodes back to steps whose own run short. */
void memory_tick(struct levers *lv, int64_t now_ns);
/* For status: "stay", "follow", or why it cannot. */
const char *memory_says(const struct levers *lv);
/* Has the step of this directory memory nodes of ours, or a worker that may write them? */
bool memory_holds(const struct levers *lv, const char *step_path);
int memory_restore_path(struct levers *lv, const char *path, struct errbuf *err);

#endif
