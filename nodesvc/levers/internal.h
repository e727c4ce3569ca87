/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * internal.h - each lever's own, and what they share. What has the same name in each: open at the
 * start, close at the stop, plan takes a plan (job i is @step[i]) in force with update, which is
 * cheap when nothing changed; end, or leave, lets a step go; holds and restore_path are of a row of
 * the ledger (owed_kind). Loop thread only.
 */
#ifndef COLOC_NODESVC_LEVERS_INTERNAL_H
#define COLOC_NODESVC_LEVERS_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/record/ledger.h"

struct actuate_result;
struct guard;
struct loop_source;
struct memory;
struct rotate;
struct threads;

/*
 * owed.c: what the ledger holds and nobody uses: ways back that failed, or that are to be looked
 * at once more. Each is tried again at each tick until it is back, or its owner known to be gone;
 * status, check and the metrics say how many are left, and why.
 */

/* One kind of row (enum ledger_kind); levers.c has the table of them. */
struct owed_kind {
	const char *name; /* "CPUs", "freezer": for people */
	/* Is the row of @path in use? Then it is none of ours. */
	bool (*is_held)(const struct levers *lv, const char *path);
	/* 0 back or gone, and forgotten; 1 to be looked at again; <0. */
	int (*restore)(struct levers *lv, const char *path, struct errbuf *err);
};

struct owed {
	const struct owed_kind *kind_of; /* [LEDGER_KINDS] */
	struct loop_source *timer;       /* NULL until first needed */
	bool armed, noted; /* the timer is set; something was noted since the pass began */
	int n;             /* ways back that failed at the last pass, or are not over */
	char why[240];     /* the first of them; "" none */
	/* The pass that is going on. */
	int kind;
	char after[256]; /* the last path of it that was tried */
	int failed, waiting;
	char first[240];
};

void owed_close(struct levers *lv);

/*
 * place.c: the lever of CPUs: a step's coreset into the kernel, for good or for a moment, and the
 * way back; and how often it may move.
 */

/* An error of place_write() for want of what others use up and give back: no fault of the step's.
 */
bool place_passes(int rc);
/* The step's coreset; a way back that was under way is stopped. */
int place_write(struct levers *lv, struct step *s, struct actuate_result *ret, struct errbuf *err);
/* For a trial: @set, or NULL where Slurm put it. A failure is nobody's but the trial's. *ret_there:
 * some of it is there. */
int place_aside(struct levers *lv, struct step *s, const struct coreset *set, bool *ret_there);
/* The way back of many threads goes on aside (putback.c), unless the step has @ended. */
int place_leave(struct levers *lv, struct step *s, bool ended);
void place_close(struct levers *lv);

/* Is the directory its own, one that a container runtime made below, or its job's? */
bool place_is_of(const struct step *s, const char *path);
bool place_holds(const struct levers *lv, const char *path);
int place_restore_path(struct levers *lv, const char *path, struct errbuf *err);

/*
 * putback.c: the way back of a step of many threads, aside (common/aside.h): the loop goes on
 * meanwhile. The ledger has the originals until it is through, for the next daemon and for whoever
 * tries again.
 */

/*
 * putback_begin - 1: it has begun, and goes on with putback_go_on(); 0: it is through; <0 it
 * failed, with the text. One of this step that was under way is stopped.
 */
int putback_begin(struct levers *lv, struct step *s, struct errbuf *err);
/* Before anything else is done to the step's threads. What was not put back stays in the ledger. */
void putback_stop(struct step *s);

/*
 * rotate.c: a plan's slices on the node: whole steps take turns, by the freezer.
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
 * Nobody stays frozen longer than freeze_max_ms: slices are shortened where there are too many,
 * and the guard thaws what a late daemon does not.
 */

/*
 * rotate_open - the freezer, the timer; thaws what a former daemon left. Never fails: without a
 * freezer rotate_why_not() says why, and plans with slices go to the fallback.
 */
void rotate_open(struct levers *lv);
/* Thaws everything and ends the guard. */
void rotate_close(struct levers *lv);

/* The slices of @p, whose job i is @step[i]. Who joins and who leaves is done at update; until then
 * those who are in it take their turns by the new slices. True: some slice is of another length. */
bool rotate_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Steps join (placed, all tasks there) and leave. */
void rotate_update(struct levers *lv);
/* Thaws and takes it out for now: before its placement is put back, at its end. */
void rotate_leave(struct levers *lv, struct step *s);
/* What the timer calls; *ret_next_ns: when next, 0 never. For tests, which bring their own time. */
void rotate_run(struct levers *lv, int64_t now_ns, int64_t *ret_next_ns);

/* By the freezer's directory; restores also where nobody can take turns. */
bool rotate_holds(const struct levers *lv, const char *path);
int rotate_restore_path(struct levers *lv, const char *path, struct errbuf *err);

/*
 * turns.c: of a rotation (rotate.c): who wants a turn, who waits and yields, who goes on for what
 * he gave up. Looks at steps and keeps account; freezes nobody.
 */

#define MS INT64_C(1000000)

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

/*
 * lend.c: core donation on the node: a donee also runs on its donors' cores, at a priority at
 * which a donor that wants them has them at once.
 *
 * Source: SBMP section 3.4 (affinity: own and donor's cores, "nice much lower"); Callisto's low
 * priority threads.
 */

/* Both put back whatever priorities anybody of ours changed. */
void lend_open(struct levers *lv);
void lend_close(struct levers *lv);

bool lend_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Gives (first idle, then wider) and takes back (first narrower, then as it was). */
void lend_update(struct levers *lv);
/* Its own priority again; who calls places or restores the step itself. */
int lend_end(struct levers *lv, struct step *s, bool ended);
/* Priorities of single threads too: they are the same kind. */
bool lend_holds(const struct levers *lv, const char *path);
int lend_restore_path(struct levers *lv, const char *path, struct errbuf *err);

/*
 * threads.c: a plan's priorities of threads on the node: on each CPU of a step one of its threads
 * has the class it came with, all others have SCHED_IDLE and may run there and on the CPUs of the
 * others (engine/priority.c says which, and when that changes).
 *
 * A timer looks at the threads that own a CPU once in the plan's hysteresis, and only while a plan
 * asks for it. What a look can see: cpu time that has grown, and the state in /proc (running or
 * waiting for a core; asleep). Masks stay as they are: the kernel spreads the high ones over the
 * CPUs, and a program's own pins decide which thread owns which CPU.
 */

bool threads_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Steps join, leave, have new threads. */
void threads_update(struct levers *lv);
/* All its threads as they were; who calls places or restores the step itself, or it has ended. */
int threads_end(struct levers *lv, struct step *s, bool ended);
void threads_close(struct levers *lv);

/*
 * memory.c: "memory: follow": when a placed step's cores belong to other memory nodes than before,
 * its pages go there, then its cpuset.mems. A forked worker moves them, one step at a time; the
 * loop never waits for it. Where the nodes run short of memory, the step has all of Slurm's again.
 */

/* At start: what a former daemon left. */
void memory_open(struct levers *lv);
/* At stop: ends the worker, puts everything back. */
void memory_close(struct levers *lv);
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

/*
 * ways.c: a plan's clusters on the node: ways of the last-level caches and steps of bandwidth for
 * groups of steps, by resctrl (actuate/resctrl.c).
 *
 * Steps in no cluster stay in the default group. Where resctrl is not to be had ways_lack() says
 * why, and plans that ask for clusters go to the fallback.
 */

struct ways {
	struct resctrl *resctrl; /* NULL: why_not says why */
	char why_not[160];
	int n, n_wanted; /* clusters as they are set, and as the plan has them */
	struct resctrl_cluster cluster[RESCTRL_CLUSTERS_MAX], wanted[RESCTRL_CLUSTERS_MAX];
	bool failed; /* what is wanted could not be set */
};

/* What there is; groups of a former daemon go. Never fails. */
void ways_open(struct levers *lv);
/* Removes all groups of ours: all steps share the whole cache again. */
void ways_close(struct levers *lv);
/* What @p asks for and this node has not; NULL: nothing. */
const char *ways_lack(const struct levers *lv, const struct plan *p);
bool ways_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Makes groups, moves steps into them and out. */
void ways_update(struct levers *lv);
/* Back into the default group: before its placement is put back, or it has ended. */
int ways_end(struct levers *lv, struct step *s, bool ended);
/* All groups of ours go, and all steps are in the default one. */
int ways_clear(struct levers *lv);
bool ways_hold(const struct levers *lv, const char *path);
int ways_restore_path(struct levers *lv, const char *path, struct errbuf *err);

/*
 * idlepoll.c: idle CPUs poll for a moment before they halt, as long as there are steps whose
 * threads were told to spin for a moment only, so that short spins cost a step nothing when it has
 * its cores to itself.
 *
 * libgomp's threads spin, then sleep. Whoever shares cores wants short spins; whoever is alone
 * pays for each sleep what it takes to wake a CPU (launch.c; doc/results/waitpolicy.md has both,
 * measured). A CPU that still polls (actuate/wakeup.c) wakes at once and hands its core to anybody
 * at once, so both can have short spins.
 */

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
void idlepoll_tick(struct levers *lv, int64_t now_ns);
/* As the ledger has it, also what an earlier time could not put back; 0 or -errno. The next update
 * may tell them anew. */
int idlepoll_clear(struct levers *lv);
bool idlepoll_holds(const struct levers *lv, const char *path);
int idlepoll_restore_path(struct levers *lv, const char *path, struct errbuf *err);
const char *idlepoll_says(const struct levers *lv, char *buf, size_t size);

struct levers {
	const struct conf *conf;
	const struct node *node;
	struct jobs *jobs;
	const struct levers_events *on; /* never NULL */
	void *arg;
	struct loop *loop;
	struct ledger *ledger;
	struct actuate *actuate;

	struct owed owed;
	struct rotate *rotate;   /* NULL: no guard, so no rotation */
	struct threads *threads; /* NULL until first needed */
	struct memory *memory;   /* NULL until first needed */
	struct ways ways;
	struct idlepoll idlepoll;
};

/* What levers_open() does first. */
void levers_attach(
	struct levers *lv, struct loop *loop, struct ledger *ledger, struct actuate *actuate);

#endif
