/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns.h - of a rotation (rotate.h): who wants a turn, who waits and yields, who goes on for what
 * he gave up. Looks at steps and keeps account; freezes nobody. Loop thread only.
 */
#ifndef COLOC_NODESVC_TURNS_H
#define COLOC_NODESVC_TURNS_H

#include "nodesvc/levers/rotate.h"

#define MS INT64_C(1000000)

struct guard;
struct loop_source;

struct rotate {
	struct guard *guard;
	struct freezer *freezer;
	char why_not[256]; /* "" all is well */
	struct loop_source *timer, *watch, *guard_watch;

	int n_slices, asked_ms[PLAN_SLICES_MAX]; /* of the adopted plan */
	int ms[PLAN_SLICES_MAX];                 /* what they get: freeze_max_ms */
	int n_turns;                             /* steps that are held */
	int slice;                               /* current; -1: everybody runs */
	int64_t start_ns, end_ns, look_ns;       /* of the slice; look 0: done */
	int64_t due_ns;                          /* its end, had nobody gone on */
	int64_t wake_ns;           /* look at those that wait; 0: when the slice ends */
	int64_t wake_all_ns;       /* at all of them, in a long slice; 0: when it ends */
	int skip[PLAN_SLICES_MAX]; /* so many more slices without a look */
	int behind;                /* the last slice that began while a foreground waited */
	bool on;
	bool stale; /* who is in which slice, or there at all, has changed since they were made true
		     */
};

/* The shortest slice: how often to look, and what bursts are measured by. One may be much longer.
 */
int64_t turns_slice_ns(const struct rotate *r);
/* The latest end of the current slice that leaves all in line time for theirs before freeze_max_ms.
 */
int64_t turns_latest_end(const struct levers *lv, int64_t now_ns);

/* One slice is more than two thirds of the round. */
bool turns_have_foreground(const struct rotate *r);
/* Whoever goes first left his slice for a moment, and is back: it is his again at once. */
bool turns_foreground_is_back(const struct levers *lv, int64_t now_ns);
/* Takes a turn now: not suspended, not being ended, and it wants a core. */
bool turns_wanted_by(const struct step *s, int64_t now_ns);
bool turns_slice_is_wanted(const struct levers *lv, int slice, int64_t now_ns);
/*
 * The next slice that somebody wants; -1 none. While a foreground (a slice of more than two thirds
 * of the round) waits, the others go on in turn where they were when it last did: what they have
 * beside it is too short for a burst.
 */
int turns_next_slice(const struct levers *lv, int64_t now_ns);
/* It joins. One that has just been started counts as waiting until it computes, or for a second. */
void turns_join(struct levers *lv, struct step *s, int64_t now_ns);
/* The current slice has just begun. */
void turns_slice_begins(struct levers *lv, int64_t now_ns);

/* It takes turns and has no thread any more: from now on it waits, until its end is told. */
bool turns_has_ended(struct levers *lv, struct step *s, int64_t now_ns);
/* Within a slice: does nobody in it want to run? @ret_some: somebody does not any more. */
bool turns_slice_waits(struct levers *lv, int64_t now_ns, bool *ret_some);
/*
 * Steps that waited were thawed all along: those that want a core again get in line. @some: only
 * those that are looked at often: bursty, starting, or a foreground. True: one did.
 */
bool turns_wake(struct levers *lv, bool some, int64_t now_ns);
/* How far apart to look at bursty steps: @waiting ones (and a foreground that waits), or those of
 * the slice; 0: there are none. */
int64_t turns_close_look_ns(const struct levers *lv, bool waiting, int64_t now_ns);
/* The first look in the slice that just began, at those of it; 0: none in this one. */
int64_t turns_first_look(struct levers *lv, int64_t now_ns);
/* The next one, after a look at which somebody ran; 0: none in this one. */
int64_t turns_next_look(const struct levers *lv, int64_t now_ns);
/* The next look at those that wait, and whether it is due at all of them. */
void turns_set_wake(struct levers *lv, int64_t now_ns);
bool turns_wake_all(const struct rotate *r, int64_t now_ns);

/* The slice is over. Does whoever has it go on, for turns that he gave up? Then its end is put off.
 */
bool turns_go_on(struct levers *lv, int64_t now_ns);
/* It has ended: into everybody's account. */
void turns_settle(struct levers *lv, int64_t now_ns);

#endif
