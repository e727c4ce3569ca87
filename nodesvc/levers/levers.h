/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * levers.h - what makes a plan true on the node, and takes it back.
 *
 * Each lever is one row of a table (levers.c), in the order in which they take hold; they let go in
 * the reverse of it, whatever the occasion: a step's end, its release, a move out of the set, the
 * daemon's stop. So nobody is frozen, or looked at, while it is put back, and who borrowed cores
 * has the lowest priority until it is off them.
 *
 * Nothing here decides, and nothing calls up: what others want to know they are told by the
 * handlers. Loop thread only.
 */
#ifndef COLOC_NODESVC_LEVERS_H
#define COLOC_NODESVC_LEVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/node/node.h"
#include "nodesvc/steps/jobs.h"

struct actuate;
struct ledger;
struct levers;
struct loop;
struct resctrl_caps;

/* Each may be NULL. */
struct levers_events {
	/* The step's processes may use @set from now on. */
	void (*grant)(void *arg, struct step *s, const struct coreset *set);
	/* It is on @set; @why may be NULL. For its history. */
	void (*note)(void *arg, struct step *s, const struct coreset *set, const char *why);
	/* Somebody else stopped a step, or had it go on: who suspends is to be looked at soon. */
	void (*suspended)(void *arg);
	/* A step's way back goes on: putback_go_on() is to be called until it has none. */
	void (*goes_on)(void *arg);
};

/* ---- from start to stop ---- */

/* All pointers stay the caller's, and are to outlive it. -ENOMEM. */
int levers_create(struct levers **ret, const struct conf *conf, const struct node *node,
	struct jobs *jobs, const struct levers_events *on, void *arg);
/* What a former daemon left is put back, but for cpusets: who still runs is not known yet. What
 * cannot be had on this node is said where it is asked for. */
void levers_open(
	struct levers *lv, struct loop *loop, struct ledger *ledger, struct actuate *actuate);
/* All is as it was. The steps are still in the table. NULL is fine. */
void levers_close(struct levers *lv);

/* ---- the plan ---- */

/* POLICY_ASKS_* that this node cannot do. */
uint32_t levers_lack(const struct levers *lv);
/* What @p asks for that cannot be done here, for people; NULL all can. Good until the next call. */
const char *levers_cannot(const struct levers *lv, const struct plan *p);
/* Of the last-level caches, that clusters of jobs can be given here; 0 none. */
int levers_cache_ways(const struct levers *lv);
/* Takes @p, whose job i is @step[i]; in force with levers_apply(). True: a time slice is of another
 * length. Where the steps are is levers_place()'s. */
bool levers_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* @paused: a trial compares placements; what stands on them (loans, priorities, cache ways) is not
 * given meanwhile. Cheap when nothing changed. */
void levers_apply(struct levers *lv, bool paused);
/* At a tick: what goes by time. */
void levers_tick(struct levers *lv, int64_t now_ns);

/* ---- one step ---- */

/*
 * levers_place - writes the step's coreset into the kernel (unless dry). On an error it is left to
 * Slurm's placement from now on, but for -ENOENT and -ESRCH: it has ended.
 */
int levers_place(struct levers *lv, struct step *s, struct errbuf *err);
/* Back to Slurm's placement; the step goes on with @status. @why may be NULL. */
int levers_restore(struct levers *lv, struct step *s, enum step_status status, const char *why);
/* It has ended, or is about to be forgotten. */
void levers_end(struct levers *lv, struct step *s);
/* For a moment on @set, or where Slurm put it (NULL); its coreset stays. Back: on its coreset.
 * False: none of it is there, as it hardly runs, or cannot be moved. */
bool levers_displace(struct levers *lv, struct step *s, const struct coreset *set);
/* Release of all: whatever any lever holds of the node, or of any step, is let go. The steps'
 * cpusets are levers_restore()'s. */
void levers_release(struct levers *lv);

/* ---- rotate.c: who takes turns ---- */

/* Forks the guard: before anything is opened that it must not hold. Without it nobody takes turns;
 * then the error says why. */
int rotate_guard(struct levers *lv, struct errbuf *err);
/* NULL: steps can take turns. */
const char *rotate_why_not(const struct levers *lv);
/* Out of its turns, until a plan has it in them again. */
int rotate_end(struct levers *lv, struct step *s, bool ended);
/* One of its tasks has ended. With the last of them its slice ends, too: Slurm takes another 0.1 s
 * and more to tell the step's end (measured, 22.05). */
void rotate_task_exited(struct levers *lv, struct step *s);
/* One step goes before the others for a while: how fast each is now says little. */
bool rotate_has_foreground(const struct levers *lv);
/* So long until all have had their turn, if nobody gives up any of it; 0: nobody takes turns. */
int rotate_round_ms(const struct levers *lv);

/* A step's part in the turns, for who looks at it. */
struct turn_told {
	bool runs;       /* the current slice is its own */
	int slice_ms;    /* its next slice */
	int n_slices;    /* of the round */
	int64_t next_ns; /* until it begins, where everybody has what is theirs; may be later where
			    somebody goes on for what he gave up, sooner where others wait */
};
/* False: it takes no turns now. */
bool rotate_tell(
	const struct levers *lv, const struct step *s, int64_t now_ns, struct turn_told *ret);

/* ---- the other levers ---- */

/* A tick may wait: no step is moved again within its dwell, nor more often than configured. */
bool place_must_wait(const struct conf *c, const struct step *s, int64_t now_ns);
void place_count_move(struct step *s, int64_t now_ns);
/* Its way back, for a moment; its end, and what failed, are in the log. */
void putback_go_on(struct levers *lv, struct step *s);
/* @s was placed, or adopted where it was: its memory is queued if its nodes are others. Only ever
 * fails in words. */
void memory_follow(struct levers *lv, struct step *s);
/* Steps that count on CPUs that poll have come, gone or stopped. Cheap when nothing changed. */
void idlepoll_update(struct levers *lv);
/* Will idle CPUs poll for a step that is launched now, as launch_env.idle has it? */
bool idlepoll_is_on(const struct levers *lv);

/* ---- owed.c: what is owed ---- */

/* Some way back failed, or has to be looked at again: at each tick from now on, until none is left.
 * @why: of the error; NULL none. */
void owed_note(struct levers *lv, const char *why);
/* Tries all that is owed now (release, start). 0: nothing is any more; else the error of the first
 * that failed. What is only to be looked at again is no error. @whose: for the log. */
int owed_pass(struct levers *lv, const char *whose, struct errbuf *err);

/* For status and metrics. */
struct levers_state {
	const char *memory; /* "stay", "follow", or why it cannot */
	const char *idle;   /* how CPUs idle; may point to idle_text */
	char idle_text[256];
	const struct resctrl_caps *cache; /* NULL: cache_why_not says why */
	const char *cache_why_not;
	int n_clusters;
	int owed; /* ways back that failed, or are not over */
	const char *owed_why;
};
void levers_get_state(const struct levers *lv, struct levers_state *ret);

#endif
