/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rotate.h - a plan's slices on the node: whole steps take turns, by the freezer.
 *
 * At each switch the steps of the next slice are thawed and all others that take part are frozen.
 * Deadlines are absolute, so shares do not drift. A step that waits (for I/O, asleep) yields: its
 * slice ends early and it stays thawed, at nobody's cost, until it wants a core again and gets its
 * turn. So does one that has just been started: messages back and forth, files, hardly any
 * processor time, and a freeze in between puts off all of the rest. One that waits for long again
 * and again may then go on beyond its slice for what it gave up (engine/burst.h), and is looked at
 * more often: each look costs a line of schedstat per thread. Steps that cannot be frozen (batch,
 * extern, another's dry run) run beside every slice.
 *
 * Nobody stays frozen longer than freeze_max_ms: slices are shortened where there are too many, and
 * the guard thaws what a late daemon does not. Loop thread only.
 */
#ifndef COLOC_NODESVC_ROTATE_H
#define COLOC_NODESVC_ROTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/actuate/freeze.h"
#include "nodesvc/actuate/thread_list.h"
#include "nodesvc/engine/burst.h"
#include "nodesvc/engine/plan.h"

struct daemon;
struct step;
struct utilization;

/* A step's part in the rotation. */
struct turn {
	uint32_t slices; /* bit s: runs in slice s; 0: takes no part */
	struct freezer_hold *hold;
	bool waiting;                       /* wants no core: thawed in every slice */
	bool lent;                          /* waits, and goes on in its slice when it comes back */
	int64_t look_ns;                    /* at all its threads, while it goes first */
	bool refused;                       /* cannot be frozen; the step's reason says why */
	int64_t frozen_since_ns, frozen_ns; /* CLOCK_MONOTONIC; sum of ended freezes */
	bool wants;                         /* a core, since; it was in the rotation then */
	int64_t noted_ns, wanted_ns;        /* ... and until then so long in all */
	int64_t off_until_ns;               /* left alone so long: Slurm is ending it */
	/* It starts, and is thawed in every slice, until it computes or then; 0 it has started. */
	int64_t start_until_ns;
	int64_t start_look_ns; /* when it was looked at for that */
	int busy_looks;        /* so many, up to the last, found it computing */
	struct utilization *util;
	struct burst burst;
	struct thread_list list; /* at the last look */
};

/* rotate_guard - forks the guard; before the daemon opens anything it must not hold. */
int rotate_guard(struct daemon *d, struct errbuf *err);
/*
 * rotate_open - the freezer, the timer; thaws what a former daemon left. Never fails: without a
 * freezer rotate_why_not() says why, and plans with slices go to the fallback.
 */
void rotate_open(struct daemon *d);
/* Thaws everything and ends the guard. */
void rotate_close(struct daemon *d);
const char *rotate_why_not(const struct daemon *d); /* NULL: steps can take turns */

/* The slices of @p, whose job i is @step[i]. Who joins and who leaves is done at update; until then
 * those who are in it take their turns by the new slices. True: some slice is of another length. */
bool rotate_plan(struct daemon *d, const struct plan *p, struct step *const *step);
/* Steps join (placed, all tasks there) and leave. Cheap when nothing changed. */
void rotate_update(struct daemon *d);
/* Thaws and takes it out for now: before its placement is put back, at its end. */
void rotate_leave(struct daemon *d, struct step *s);
/* One of its tasks has ended. With the last of them its slice ends, too: Slurm takes another 0.1 s
 * and more to tell the step's end (measured, 22.05). */
void rotate_task_exited(struct daemon *d, struct step *s);
/* One goes before the others for a while: how fast each is now says little of how fast they are. */
bool rotate_has_foreground(const struct daemon *d);
/* How long it was in the rotation and wanted a core so far, ns; and of that was not frozen. Waits
 * and its start are not in it, nor what it was suspended for. */
int64_t rotate_wanted_ns(const struct step *s, int64_t now_ns);
int64_t rotate_served_ns(const struct step *s, int64_t now_ns);

/* What the timer calls; *ret_next_ns: when next, 0 never. For tests, which bring their own time. */
void rotate_run(struct daemon *d, int64_t now_ns, int64_t *ret_next_ns);

/* Is a step of this directory of the freezer's held in turns? And a row of the ledger that nobody
 * holds, put back: owed.c. Also where nobody can take turns. */
bool rotate_holds(const struct daemon *d, const char *path);
int rotate_restore_path(struct daemon *d, const char *path, struct errbuf *err);

#endif
