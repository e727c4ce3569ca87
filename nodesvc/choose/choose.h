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
#include "nodesvc/books/books.h"
#include "nodesvc/choose/quarantine.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/engine/view.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/node/node.h"
#include "nodesvc/steps/jobs.h"

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
	uint64_t number; /* of the last decision (recent.h) */
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

#endif
