/* SPDX-License-Identifier: GPL-2.0-or-later */
/* internal.h - what the files of this room share. */
#ifndef COLOC_NODESVC_CHOOSE_INTERNAL_H
#define COLOC_NODESVC_CHOOSE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/engine/view.h"
#include "nodesvc/record/record.h"
#include "nodesvc/trace/trace.h"

struct loop_source;
struct plan;
struct step;
struct view;

struct launches;
struct ptable;
struct quarantine;

/* options.c: what the configuration says of a policy. */

/* The configured options of @spec's policy, at most @max; how many. They point into the
 * configuration, and to what the next call overwrites with the same. */
int options_of(const struct conf *c, const char *spec, struct policy_option *ret, int max);

/* ruling.c: of the room's own: the engines. What others may ask of it is in choose.h. */

/* The recent decisions, and both engines as the configuration has them. */
int ruling_open(struct choose *ch, struct errbuf *err);
void ruling_close(struct choose *ch);

/*
 * settled.c: ticks that need no decision: the policies say that they go by who is there and what
 * was asked for alone (policy.h: settles), and nothing of that is other than at the last tick,
 * which moved nobody. Such a tick is not among the recent decisions; the decisions before and
 * after it are the same with it.
 *
 * One thread, one table: it is decide.c's.
 */

/* The decision over @v, of a tick and nothing else, moved nobody. @fallback: that decided. */
void settled_note(const struct choose *ch, const struct view *v, bool fallback);
/* Would the same come of @v? *ret_fallback: who would say so. Not while decisions are recorded: a
 * trace has every tick. */
bool settled_is(const struct choose *ch, const struct view *v, bool *ret_fallback);
/* Something else happened: an event, a new engine. */
void settled_forget(void);

/* recording.c: of the room's own: what is kept of a decision, and a recording that is on. */

/* A decision: its view, then the answer of each engine that was asked (a plan, or why not). */
void recording_begin(struct choose *ch, const struct view *v);
void recording_answer(
	struct choose *ch, bool fallback, const struct plan *p, const struct errbuf *why);
void recording_end(struct choose *ch);
/* An engine was made anew. */
void recording_engine(struct choose *ch, bool fallback);
/* @path without '/': in the store. @renew makes both engines anew, with nothing remembered: what
 * they remember is in no trace. -EBUSY one is on, -EEXIST the file is there. */
int recording_begin_file(struct choose *ch, const char *path, uint64_t max_bytes,
	int (*renew)(struct choose *ch, struct errbuf *err), struct errbuf *err);

/*
 * ptable.c: of the room's own: the performance trace table of the das policies at the grain of
 * steps: how long programs took at places of this node. Kept across steps, engines and restarts,
 * in STORE/trace-table.json; a file that cannot be read is said, put aside and done without.
 *
 * Source: Chen et al., ICPP Workshops 2020, section 4.1.1. Loop thread only.
 */

/*
 * ptable_note - a step has ended. One that did all its work, under a das policy, at one place and
 * with that to itself is a sample: true, and *@ret is the event of it (its type is the table's, and
 * holds until the next call).
 */
bool ptable_note(struct choose *ch, const struct step *s, struct event *ret);
/* The table for a new engine's first view; nothing for policies that have no use for it. */
void ptable_tell(struct choose *ch, const char *policy, struct view *v);

/* trial.c: of the room's own: trials, and what decide.c has them do. */

enum trial_kind { TRIAL_NONE, TRIAL_EXPERIMENT, TRIAL_WINDOW };
struct trial_experiment {
	char job[JOB_ID_MAX];
	int cores, ms;
	struct coreset coreset;
};
struct trial {
	enum trial_kind kind;
	int stage, tries;
	bool displaced; /* steps are where the plan does not have them */
	bool in_company;
	bool unmoved; /* the subject is not where it is to be tried */
	struct loop_source *timer;
	int n, at;
	struct trial_experiment x[PLAN_EXPERIMENTS_MAX];
	int64_t next_window_ns; /* 0: none considered yet */
	int stretch_ms; /* of this window: how long all are under Slurm's placement, once, */
	int placed_ms;  /* and under the plan's */
};

int trial_open(struct choose *ch, struct errbuf *err);
/* The speed of a window's stretch from @a to @b; NAN: it has none to tell, or too few calls. */
double trial_speed(const struct seen_work *a, const struct seen_work *b);
void trial_close(struct choose *ch);
/* Why the plan's experiments cannot be carried out; NULL they can. */
const char *trial_refuses(struct choose *ch, const struct plan *p, char *buf, size_t size);
void trial_experiments(struct choose *ch, const struct plan *p);

struct choose {
	/* choose_uses */
	struct loop *loop;
	const struct conf *conf;
	const struct node *node;
	struct jobs *jobs;
	struct actuate *actuate;
	struct record *record;
	struct measure *measure;
	struct books *books;
	struct levers *levers;
	struct choose_events on;

	/* ruling.c */
	struct engine *engine, *fallback;
	unsigned generation;        /* engines made so far */
	bool engine_is_new;         /* it has seen no view, and so no table */
	char ruling[128];           /* spec of the ruling policy */
	char ruling_by[JOB_ID_MAX]; /* step whose request rules; "" the configuration */

	/* recording.c */
	struct recent *recent;      /* what the engines were asked since they were made */
	struct trace_writer *trace; /* colocctl record; NULL not recording */

	struct quarantine *quarantine; /* NULL: nothing is judged */
	struct launches *launches;     /* NULL: no launch is drawn */
	struct ptable *ptable;         /* of the das policies; NULL none */

	/* trial.c */
	struct trial trial;
	/* What experiments showed, for the next decision; ids are the live steps'. */
	struct event result[PLAN_EXPERIMENTS_MAX];
	int n_results;

	/* decide.c */
	struct plan plan;
	struct event task_done; /* for the next decision */
	bool has_task_done;
	const char *decided_by; /* policy of the last plan: the ruling one or the fallback */
	char fallback_why[256]; /* last reason logged */
	bool fell_back;         /* the last plan was the fallback's */
	bool new_whys;          /* who decides is another, or why: told though nobody moves */
	struct metrics_times decision_times;
	uint64_t n_decisions, n_rebinds;
};

#endif
