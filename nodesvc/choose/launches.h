/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launches.h - the guard over the launch environment: settings that make a program slower are
 * noticed, and no more given to it.
 *
 * Before a program that recurs starts (the same user, executable, cores and class of arguments) it
 * is drawn whether it gets its settings, for all that share the node at a time: who comes while
 * others of the draw run is in it. What its launches took, by work where that is known, becomes
 * windows (engine/launch_pairs.h), judged as those of a policy (engine/verdict.h) and kept as a set
 * of one program under the policy "launch" (quarantine.h).
 *
 * Launches with fewer threads than Slurm has cores for (step.narrow) have a verdict of their own:
 * where those are slower, it is the width that is taken away first.
 *
 * A launch that ended by itself with an error tells nothing. One that was ended (cancelled, over
 * its time limit) counts with the time it ran, where that is more than the program takes on
 * average: it has taken that long already. What ran beside steps of a later draw with the other
 * side does not count. No speed is needed. What was seen so far is in the store: a daemon that is
 * started anew goes on with it. Loop thread only.
 */
#ifndef COLOC_NODESVC_LAUNCHES_H
#define COLOC_NODESVC_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct choose;
struct step;

#define LAUNCHES_POLICY "launch"
/* Programs that are followed at a time; the one that ended longest ago makes room. */
#define LAUNCHES_KEYS 256

/* With what the store has of this kind of node. */
int launches_open(struct choose *ch, struct errbuf *err);
void launches_close(struct choose *ch);

enum launch_draw {
	LAUNCH_SET,      /* with its settings */
	LAUNCH_CONTROL,  /* without, to compare */
	LAUNCH_WITHHELD, /* without: they made it slower */
};
/* Of a step that has just come, and has settings; @why: of the last, why. */
enum launch_draw launches_draw(struct choose *ch, struct step *s, char *why, size_t size);
/*
 * Before it begins it has another width (step.narrow) than launches_draw() saw: from here on it is
 * one of those launches. False: of those the settings are withheld, and it is as it was.
 */
bool launches_change_width(struct choose *ch, struct step *s);
/* It has ended; @end_unix_ns as it is accounted. Before its row is written. */
void launches_end(struct choose *ch, struct step *s, int64_t end_unix_ns);

#endif
