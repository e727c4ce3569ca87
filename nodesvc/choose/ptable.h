/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ptable.h - of the room's own: the performance trace table of the das policies at the grain of
 * steps: how long programs took at places of this node. Kept across steps, engines and restarts, in
 * STORE/trace-table.json; a file that cannot be read is said, put aside and done without.
 *
 * Source: Chen et al., ICPP Workshops 2020, section 4.1.1. Loop thread only.
 */
#ifndef COLOC_NODESVC_PTABLE_H
#define COLOC_NODESVC_PTABLE_H

#include "common/err.h"
#include "nodesvc/engine/view.h"

struct choose;
struct step;

/*
 * ptable_note - a step has ended. One that did all its work, under a das policy, at one place and
 * with that to itself is a sample: true, and *@ret is the event of it (its type is the table's, and
 * holds until the next call).
 */
bool ptable_note(struct choose *ch, const struct step *s, struct event *ret);
/* The table for a new engine's first view; nothing for policies that have no use for it. */
void ptable_tell(struct choose *ch, const char *policy, struct view *v);

#endif
