/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sensitivity.h - does the order of the policies hold when a constant is off? Every constant of the
 * machine and every property of the programs is multiplied by 1 - by and 1 + by, one at a time.
 */
#ifndef COLOC_SIM_SENSITIVITY_H
#define COLOC_SIM_SENSITIVITY_H

#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/parameter.h"
#include "nodesvc/sim/stats.h"

struct sensitivity_row {
	int parameter;
	double factor;
	/* Of each policy against the first: STP where the population's objective is STP, else
	 * turnaround (ANTT before over ANTT after); ratio minus 1, higher is better. */
	struct interval gain[EVAL_POLICIES_MAX];
	int rank[EVAL_POLICIES_MAX]; /* 1: best */
	/* Kendall's tau of the order against that of the first row: 1 the same, -1 reversed. */
	double tau;
	/* Pairs whose order turned round although both rows tell them apart (95 % intervals of the
	 * paired gain on one side of 0 here, on the other there). */
	int reversals;
};

/*
 * sensitivity_run - @e as eval_run() takes it, without a machine: it is made from @t and @params.
 * The first row is without a change. *ret_rows: *ret_n rows, free() it.
 * Errors: eval_run()'s, -ENOMEM.
 */
int sensitivity_run(const struct eval *e, const struct topo *t, const struct machine_params *params,
	double by, struct sensitivity_row **ret_rows, int *ret_n, struct errbuf *err);

#endif
