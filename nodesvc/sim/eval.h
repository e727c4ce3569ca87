/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eval.h - many runs: combinations of a population under each policy, spread over cores.
 *
 * Every run depends on its own seed only, so figures do not depend on how many threads there are.
 */
#ifndef COLOC_SIM_EVAL_H
#define COLOC_SIM_EVAL_H

#include "nodesvc/sim/drive.h"
#include "nodesvc/sim/population.h"

#define EVAL_POLICIES_MAX 32

struct eval {
	const struct population *population;
	const struct machine *m;
	uint64_t seed;
	int n_combos, n_jobs;
	int threads; /* of a program; 0: the population's */
	int n_policies;
	const char *policy[EVAL_POLICIES_MAX];
	struct drive drive; /* horizon, sensor, shuffle: taken over into every run */
	int workers;        /* 0: one per online CPU */
	void (*progress)(int done, int all);
	/* Property of every program that is multiplied (parameter.h); 0 none. */
	int change;
	double change_factor;
};

/*
 * eval_run - @ret: [n_policies * n_combos], by policy.
 * Errors: the first one that happened; the text names combination and policy.
 */
int eval_run(const struct eval *e, struct drive_result *ret, struct errbuf *err);

#endif
