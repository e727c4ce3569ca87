/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disturb.h - how much of the machine others used while something was measured: cpu time of
 * processes that are not of the benchmark or of its Slurm node, and steal.
 *
 * Cpu time of foreign processes comes from /proc/PID/stat, with that of children they waited for,
 * summed over short looks, so that compilers started by a foreign make count although none lives
 * from one look to the next. What an orphan did between two looks is missed.
 */
#ifndef COLOC_REALMIX_DISTURB_H
#define COLOC_REALMIX_DISTURB_H

#include <stdint.h>

/* A time between two looks that sees most and costs under 1 % of a core. */
#define DISTURB_LOOK_MS 500

struct disturb;

/*
 * @proc: "/proc", a made-up tree in tests. @node: Slurm's node name, found in the cgroup paths of
 * what is ours. NULL: out of memory.
 */
struct disturb *disturb_start(const char *proc, const char *node);
void disturb_look(struct disturb *d);
/* Ratio of the machine's cpu time since the start that went to others or was stolen. Looks. */
double disturb_ratio(struct disturb *d);
/* The foreign process that used most, for people; "" none. Valid until disturb_free(). */
const char *disturb_worst(const struct disturb *d);
void disturb_free(struct disturb *d);

#endif
