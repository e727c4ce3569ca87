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
#include "nodesvc/engine/plan.h"

struct levers;
struct step;

/* rotate_guard - forks the guard; before the daemon opens anything it must not hold. */
int rotate_guard(struct levers *lv, struct errbuf *err);
/*
 * rotate_open - the freezer, the timer; thaws what a former daemon left. Never fails: without a
 * freezer rotate_why_not() says why, and plans with slices go to the fallback.
 */
void rotate_open(struct levers *lv);
/* Thaws everything and ends the guard. */
void rotate_close(struct levers *lv);
const char *rotate_why_not(const struct levers *lv); /* NULL: steps can take turns */

/* The slices of @p, whose job i is @step[i]. Who joins and who leaves is done at update; until then
 * those who are in it take their turns by the new slices. True: some slice is of another length. */
bool rotate_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Steps join (placed, all tasks there) and leave. Cheap when nothing changed. */
void rotate_update(struct levers *lv);
/* Thaws and takes it out for now: before its placement is put back, at its end. */
void rotate_leave(struct levers *lv, struct step *s);
/* The same, and its slices are no longer its. */
int rotate_end(struct levers *lv, struct step *s, bool ended);
/* One of its tasks has ended. With the last of them its slice ends, too: Slurm takes another 0.1 s
 * and more to tell the step's end (measured, 22.05). */
void rotate_task_exited(struct levers *lv, struct step *s);
/* One goes before the others for a while: how fast each is now says little of how fast they are. */
bool rotate_has_foreground(const struct levers *lv);
/* What the timer calls; *ret_next_ns: when next, 0 never. For tests, which bring their own time. */
void rotate_run(struct levers *lv, int64_t now_ns, int64_t *ret_next_ns);

/* Is a step of this directory of the freezer's held in turns? And a row of the ledger that nobody
 * holds, put back: owed.h. Also where nobody can take turns. */
bool rotate_holds(const struct levers *lv, const char *path);
int rotate_restore_path(struct levers *lv, const char *path, struct errbuf *err);

#endif
