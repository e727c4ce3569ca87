/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settled.h - ticks that need no decision: the policies say that they go by who is there and what
 * was asked for alone (policy.h: settles), and nothing of that is other than at the last tick,
 * which moved nobody. Such a tick is not among the recent decisions; the decisions before and after
 * it are the same with it.
 *
 * One thread, one table: it is decide.c's.
 */
#ifndef COLOC_NODESVC_CHOOSE_SETTLED_H
#define COLOC_NODESVC_CHOOSE_SETTLED_H

#include <stdbool.h>

struct choose;
struct view;

/* The decision over @v, of a tick and nothing else, moved nobody. @fallback: that decided. */
void settled_note(const struct choose *ch, const struct view *v, bool fallback);
/* Would the same come of @v? *ret_fallback: who would say so. Not while decisions are recorded: a
 * trace has every tick. */
bool settled_is(const struct choose *ch, const struct view *v, bool *ret_fallback);
/* Something else happened: an event, a new engine. */
void settled_forget(void);

#endif
