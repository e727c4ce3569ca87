/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drive_internal.h - between drive.c and joint.c (references), drive_policy.c (the engine) and
 * drive_result.c. */
#ifndef COLOC_SIM_DRIVE_INTERNAL_H
#define COLOC_SIM_DRIVE_INTERNAL_H

#include "nodesvc/sim/drive.h"

static inline bool drive_is_over(const struct drive *d, const struct run *r)
{
	bool all = true, left = false;

	if (r->now_s >= d->most_s)
		return true;
	for (int i = 0; i < r->n_jobs; i++) {
		all &= r->job[i].runs >= d->min_runs || run_is_over(r, i);
		left |= !run_is_over(r, i);
	}
	return all || !left;
}

/* What has come out so far. */
void drive_results(const struct drive *d, const struct run *r, struct drive_result *ret);
/* What rates are worth in the present phases, by the objective; higher is better. */
double drive_instant_value(const struct drive *d, const struct run *r, const struct solve_out *o);
/* Of one job, at @speed times its speed alone on its share. */
double drive_job_value(const struct drive *d, const struct run_job *j, double speed);

int drive_policy_run(
	const struct drive *d, struct run *r, struct drive_result *ret, struct errbuf *err);

#endif
