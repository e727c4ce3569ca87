/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choose.h - from the steps to a plan: the engines and who rules (ruling.c), the decision
 * (decide.c), trials to learn from (trial.c), what makes programs slower (quarantine.c), what the
 * das policies learnt (ptable.c), and what all of it leaves to be made again (recording.c). The
 * levers make it true. Loop thread only.
 */
#ifndef COLOC_NODESVC_CHOOSE_H
#define COLOC_NODESVC_CHOOSE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/books/books.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/engine/view.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/node/node.h"
#include "nodesvc/record/record.h"
#include "nodesvc/steps/jobs.h"

struct step;

struct choose;
struct measure;
struct record;

/* What it works with; all of it outlives it. */
struct choose_uses {
	struct loop *loop;
	const struct conf *conf;
	const struct node *node;
	struct jobs *jobs;
	struct actuate *actuate;
	struct record *record;
	struct measure *measure;
	struct books *books;
	struct levers *levers;
};

/* A function may be NULL. */
struct choose_events {
	/* Something is about to be measured: who stands still is to be known first. */
	void (*before_trial)(void *arg);
	/* A trial is over, and showed what a decision is to hear of. */
	void (*trial_over)(void *arg);
	void *arg;
};

/* ---- choose.c ---- */

/* The engines as the configuration has them. Copies both. */
int choose_open(struct choose **ret, const struct choose_uses *u, const struct choose_events *e,
	struct errbuf *err);
/* NULL is fine. */
void choose_close(struct choose *ch);

/* What status, explain and metrics tell of it. Texts are its own. */
struct choose_state {
	const char *policy, *ruling; /* its name; with its options */
	const char *ruling_by;       /* step whose request rules; "" the configuration */
	const char *decided_by;      /* policy of the last plan; NULL none yet */
	uint64_t decisions, rebinds;
	uint64_t number; /* of the last decision (trace.h) */
	const struct metrics_times *times;
};
void choose_get_state(const struct choose *ch, struct choose_state *ret);

/* ---- ruling.c ---- */

/* Starts the ruling policy for a step that asks for @spec ("": the default). 0: it rules or may
 * join; *ret_reason tells a joiner that another policy rules. -EPERM refused with the reason. */
int ruling_admit(struct choose *ch, const char *spec, const char *step_id, char *ret_reason,
	size_t size, struct errbuf *err);
/* Rebuilds the default after the configuration changed. */
int ruling_reconfigure(struct choose *ch, struct errbuf *err);
/* Both engines anew, with nothing remembered. */
int ruling_renew(struct choose *ch, struct errbuf *err);

/* ---- decide.c ---- */

/*
 * decide_run - view, engine, plan, and the plan made true for all steps but @later (its tasks
 * have not started: its part is made true by decide_place(), the others' by decide_finish(),
 * which the caller must call).
 */
void decide_run(struct choose *ch, enum event_type type, const char *about_id, struct step *later);
/* The rest of decide_run() with @later: the other steps' moves, the record. Where nobody comes to
 * call it (a launch that got stuck), the next tick does. */
void decide_finish(struct choose *ch);
/* Makes the last plan true for a step whose first task just started. */
int decide_place(struct choose *ch, struct step *s, struct errbuf *err);
/* Cores that are a step's by right under the last plan, 1 at least: its coreset's, dealt to all who
 * are on it at the same time; 0 it has none. */
int decide_granted(const struct choose *ch, const struct step *s);
/* Notes that, and what of it is its own where others share it, as of now (step_note_cores()). */
void decide_note_cores(const struct choose *ch, struct step *s, int64_t now_ns);
/* It has done all its work: a policy may learn of it. */
void decide_note_done(struct choose *ch, const struct step *s);

/* ---- trial.c ---- */

bool trial_is_on(const struct choose *ch);
/* Steps are where the plan does not have them: samples say nothing of it. */
bool trial_displaces(const struct choose *ch);
/* Puts everybody where the plan has him; results that nobody heard are lost. */
void trial_abort(struct choose *ch);
/* At a tick: starts a window when one is due. */
void trial_consider(struct choose *ch, int64_t now_ns);

/* ---- recording.c: the recent decisions, for explain --save-view, and colocctl record ---- */

/* recent_page() with the head of this node. */
int recording_page(struct choose *ch, uint64_t from, uint64_t to, json_object **ret,
	uint64_t *ret_next, struct errbuf *err);
/* @path without '/': in the store. -EBUSY one is on, -EEXIST the file is there. */
int recording_start(struct choose *ch, const char *path, uint64_t max_bytes, struct errbuf *err);
bool recording_is_on(const struct choose *ch);
/* -ENOENT none is on; else it is over, and an error is the first that writing met. */
int recording_stop(
	struct choose *ch, uint64_t *ret_decisions, uint64_t *ret_bytes, struct errbuf *err);
/* Ends a recording that failed or is full. */
void recording_check(struct choose *ch);

/* ---- ptable.c ---- */

/* The table that the store has; never fails for the file's sake. -ENOMEM. */
int ptable_open(struct choose *ch, struct errbuf *err);
/* Writes what is new and frees it; NULL is fine, and then nothing is learnt. */
void ptable_close(struct choose *ch);
/* Writes it when it changed. */
void ptable_flush(struct choose *ch);

/*
 * quarantine.c: the guard over policies: one that makes the programs that run together slower than
 * Slurm's own placement is noticed, and left alone with them.
 *
 * trial.c takes windows, engine/verdict.c judges what they show of a set of programs under a
 * policy, over all their runs; the store remembers it across restarts. When a policy makes a set
 * worse, by the threshold at least, it is quarantined for this set: the steps go back to Slurm's
 * placement, and stay there whenever the same programs meet again under this policy, until
 * guard.quarantine_h has passed, or the operator forgets it. Then it is tried anew, and nothing of
 * before counts.
 *
 * A set is the programs, each with its user and the cores of its allocation, on a type of node;
 * their order does not matter. The user is part of it so that nobody, by publishing progress that
 * is none, takes a policy away from programs of others that he does not run beside.
 *
 * Speeds are known of programs that publish their progress, or of single threads with hardware
 * counters. Where one step of a set tells none, the verdict is unknown and nothing is done: it may
 * gain what the others lose. Loop thread only. Functions do nothing before quarantine_open().
 */

/* More sets than a node meets in a quarantine's time; some 200 KiB. The one that was measured
 * longest ago makes room. */
#define QUARANTINE_SETS_MAX 500
/* The text of a set; what does not fit, some 100 different programs, is not judged. */
#define QUARANTINE_MEMBERS_MAX 4096

/* Reads what former daemons judged. Errors are the record's; without it nothing is known. */
int quarantine_open(struct choose *ch, struct errbuf *err);
void quarantine_close(struct choose *ch);

/* Steps came or went, or another policy rules: who is asked next looks anew. */
void quarantine_stale(struct choose *ch);

/*
 * quarantine_holds - is the policy that just planned (@fallback: the fallback, because the ruling
 * one had no plan) in quarantine for the steps that run now? Also where the ruling one is: who
 * stands in for it is not tried in its place.
 */
bool quarantine_holds(struct choose *ch, bool fallback);
/* All managed steps to Slurm's placement, and told why; cheap where they are. @event: what was
 * decided on. */
void quarantine_hold(struct choose *ch, const char *event);
/* A policy rules them again; @moves: one that places. */
void quarantine_let_go(struct choose *ch, bool moves);

/* One window of all placed steps. */
struct quarantine_window {
	int steps, known; /* all; those whose speed is known on both sides */
	double sum_log;   /* of the known: logarithm of speed under the policy over Slurm's */
	uint32_t bases;   /* bit per enum provenance of the known */
};
/* Adds it to what is known of the set. True: the policy was quarantined, decide again. */
bool quarantine_window(struct choose *ch, const struct quarantine_window *w);

/* ---- for the guard over launches (launches.c): sets of one program ---- */

/* "gmx@ada:8": its program, user, and cores of its allocation. */
void quarantine_name_member(const struct choose *ch, const struct step *s, char *buf, size_t size);
/* What is known of @members under @policy on this node; NULL nothing (@make: no memory, or nothing
 * is judged). Until another is made. */
struct judged *quarantine_row(
	struct choose *ch, const char *policy, const char *members, bool make);
/* Is it in quarantine? One that has passed is over, and nothing of before counts. */
bool quarantine_keeps_away(struct choose *ch, struct judged *j);
/* One window more, @x the logarithm of a ratio of speeds, known by @basis. True: it was
 * quarantined. */
bool quarantine_note(struct choose *ch, struct judged *j, double x, const char *basis);

/* ---- what is told ---- */

struct quarantine_says {
	const struct judged *set; /* NULL: nothing is known of what runs now */
	struct judgement judged;
	bool held;
	char why[160]; /* why the verdict is unknown; "" else */
};
/* Of the steps that run now. */
void quarantine_say(struct choose *ch, struct quarantine_says *ret);

int quarantine_count(const struct choose *ch);
const struct judged *quarantine_get(const struct choose *ch, int i);
bool quarantine_is_active(const struct judged *j);
void quarantine_judge(const struct choose *ch, const struct judged *j, struct judgement *ret);
/* "1a2b3c4d": the same at every start. */
uint32_t quarantine_id(const struct judged *j);
/* Forgets the set with this id, or all (NULL): it is as if it was never measured. Returns how many.
 */
int quarantine_forget(struct choose *ch, const uint32_t *id);

/* For metrics.c: windows that were judged, and quarantines that began, since the start. */
void quarantine_totals(const struct choose *ch, uint64_t *ret_windows, uint64_t *ret_begun);

#endif
