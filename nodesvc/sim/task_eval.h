/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_eval.h - the same graph under several das-* policies, seed by seed, and what they gain.
 */
#ifndef COLOC_SIM_TASK_EVAL_H
#define COLOC_SIM_TASK_EVAL_H

#include "nodesvc/sim/stats.h"
#include "nodesvc/sim/task_run.h"

#define TASK_POLICIES_MAX    32
#define TASK_POLICY_TEXT_MAX 128
#define TASK_SEEDS_MAX       10000

struct task_eval {
	const struct task_machine *m;
	const struct task_graph *g;
	int n_policies, n_seeds;
	const char *policy[TASK_POLICIES_MAX];
	uint64_t seed; /* run k has a seed of its own, drawn from this one and k */
	double most_s;
	int workers; /* 0: one per online CPU */
	void (*progress)(int done, int all);
	enum task_when when;
};

struct task_summary {
	struct interval seconds, tasks_per_s;
	struct interval gain; /* tasks/s against a policy, minus 1, paired by seed */
	double steals;        /* mean of a run */
	int n_places;
	struct {
		struct task_place place;
		double all, high; /* part of all, of the critical tasks */
	} at[TASK_PLACES_MAX];
	double on_core[TASK_CORES_MAX], high_on_core[TASK_CORES_MAX];
	double busy_s[TASK_CORES_MAX]; /* in tasks, mean of a run */
};

/* @ret: [n_policies * n_seeds], by policy. Errors: the first; the text names policy and run. */
int task_eval_run(const struct task_eval *e, struct task_result *ret, struct errbuf *err);

/*
 * task_eval_sum - of policy @p against policy @base over all seeds. 95 % bootstrap intervals.
 * Errors: -ENOMEM.
 */
int task_eval_sum(const struct task_eval *e, const struct task_result *r, int p, int base,
	struct task_summary *ret, struct errbuf *err);

#endif
