/* SPDX-License-Identifier: GPL-2.0-or-later */
/* internal.h - what the files of this room share. */
#ifndef COLOC_NODESVC_CHOOSE_INTERNAL_H
#define COLOC_NODESVC_CHOOSE_INTERNAL_H

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/choose/trial.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/record/record.h"
#include "nodesvc/trace/trace.h"
#include "nodesvc/trace/recent.h"

struct launches;
struct ptable;
struct quarantine;

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
	const char *unrecorded; /* event of a plan that is not in the record yet */
	struct metrics_times decision_times;
	uint64_t n_decisions, n_rebinds;
};

#endif
