/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * allocate.h - U equal units among N jobs, each at least one, so that a sum (or the largest) of
 * per-job costs is least.
 */
#ifndef COLOC_ENGINE_ALLOCATE_H
#define COLOC_ENGINE_ALLOCATE_H

#include <stdbool.h>

#include "common/err.h"

enum combine { COMBINE_SUM, COMBINE_MAX };

/* Of a search, some ns each. */
#define ALLOCATE_STEPS_MAX 4000000

struct allocate {
	int max_jobs, max_units;
	bool cut; /* the last search would have taken more steps: its result is good, not the best
		   */
	double *cost;  /* [max_jobs * (max_units + 1)]: of job i at u units, filled by the caller */
	double *value; /* [max_jobs * (max_units + 1)] */
	short *choice; /* [max_jobs * (max_units + 1)] */
};

int allocate_init(struct allocate *a, int max_jobs, int max_units, struct errbuf *err);
void allocate_done(struct allocate *a);

static inline double *allocate_cost(const struct allocate *a, int job, int units)
{
	return &a->cost[(unsigned long)job * (unsigned long)(a->max_units + 1) +
			(unsigned long)units];
}

/*
 * allocate_best - exact; all @units are dealt. Convex sums greedily (exact there), anything else
 * by dynamic programming over units, O(N U^2), where that is no more than ALLOCATE_STEPS_MAX;
 * beyond, greedily, the slowest first where the largest counts. Ties: the smaller part grows, then
 * the lower job. Returns the sum or largest of the costs. Needs 1 <= @n <= @units.
 */
double allocate_best(struct allocate *a, int n, int units, enum combine how, int *ret_units);

/*
 * allocate_climb - as published (SBMP section 3.1, after Cazorla et al.): from equal parts the
 * best transfer of one unit, as long as it gains more than 1e-9 and steps are left; ties to the
 * lowest pair. Nobody has fewer than @least units, [@n] of at least 1 (NULL: 1 each), where those
 * are @units at most: from equal parts a minimum may be out of reach.
 */
double allocate_climb(
	struct allocate *a, int n, int units, enum combine how, const int *least, int *ret_units);

#endif
