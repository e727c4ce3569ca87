/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_run.h - one graph on one machine under one das-* policy, in virtual time.
 *
 * The runtime modelled is XiTAO's: a core runs what its assembly queue holds, else takes the
 * newest task of its work-stealing queue (critical ones first), else steals the oldest from a
 * victim of its node drawn at random. A task is given its place when the last task before it ends,
 * a stolen one again by its thief (section 4.1.2: what the paper measured); or when it is taken out
 * of a queue (section 3.2). It then enters the assembly queues of all cores of its place, and these
 * run it without waiting for each other. The leader times its own part. The last core out
 * releases what comes after. Critical tasks wait at the leader of their place, or (3.2) where they
 * were released, and are not stolen. Each node has a runtime and a trace table of its own.
 * Source: Chen et al., ICPP Workshops 2020, sections 3.2 and 4.1.2 and figure 3.
 */
#ifndef COLOC_SIM_TASK_RUN_H
#define COLOC_SIM_TASK_RUN_H

#include "nodesvc/tasks/task_place.h"
#include "nodesvc/sim/task_graph.h"

#define TASK_PLACES_MAX (TASK_CORES_MAX * 8)

enum task_when {
	TASK_AT_WAKEUP,  /* section 4.1.2 */
	TASK_AT_DEQUEUE, /* section 3.2 */
};

enum task_step {
	TASK_STEP_PLACED, /* core: who decided */
	TASK_STEP_STOLEN, /* core: the thief */
	TASK_STEP_BEGUN,  /* by core, as a member of its place */
	TASK_STEP_ENDED,  /* by the last core out */
};

struct task_trace {
	enum task_step step;
	double at_s;
	int task, core;
	struct task_place place;
};

struct task_run {
	const struct task_machine *m;
	const struct task_graph *g;
	const char *policy;
	uint64_t seed;
	double most_s; /* a run that is not done by then fails */
	/* Every step in order of time; NULL none. */
	void (*trace)(void *ctx, const struct task_trace *t);
	void *trace_ctx;
	enum task_when when; /* tasks get their places */
};

struct task_count {
	struct task_place place;
	int all, high;
};

struct task_result {
	double seconds; /* until the last task ended */
	double tasks_per_s;
	int n_tasks, n_high, steals;
	uint64_t decisions;
	int n_places;
	struct task_count count[TASK_PLACES_MAX]; /* places that were used, by (core, width) */
	double work[TASK_CORES_MAX];              /* tasks done by each core, with parts */
	double busy_s[TASK_CORES_MAX];            /* in tasks */
};

/*
 * task_run - @ret untouched on errors: -EINVAL a policy that is none, -ETIME not done after
 * most_s, -ENOMEM.
 */
int task_run(const struct task_run *run, struct task_result *ret, struct errbuf *err);

/* Part of the critical (@high) or all tasks whose place holds @core. */
double task_result_on_core(const struct task_result *r, int core, bool high);

#endif
