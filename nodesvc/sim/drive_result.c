/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drive_result.c - what a run has come to, and what rates are worth meanwhile.
 */
#include <math.h>

#include "nodesvc/sim/drive_internal.h"

/*
 * Turnaround as time present over what the same progress takes alone. Unlike the mean of
 * completed runs it counts the run that was cut off, and tends to it with their number.
 */
void drive_results(const struct drive *d, const struct run *r, struct drive_result *ret)
{
	ret->n_jobs = r->n_jobs;
	ret->elapsed_s = r->now_s;
	ret->moves_per_s = r->now_s > 0 ? r->moves / r->now_s : 0;
	for (int i = 0; i < r->n_jobs; i++) {
		const struct run_job *j = &r->job[i];

		ret->job[i].runs = j->runs;
		ret->job[i].mean_run_s = j->runs > 0 ? j->run_sum_s / j->runs : NAN;
		ret->job[i].ntt_all = j->present_s / j->all_s;
		ret->job[i].ntt_best = j->present_s / j->best_s;
		ret->job[i].ntt_share = j->present_s / j->share_s;
	}
	(void)d;
}

const char *drive_search_name(enum search s)
{
	return s == SEARCH_EXACT ? "exact" : s == SEARCH_BOUNDED ? "bounded" : NULL;
}

double drive_job_value(const struct drive *d, const struct run_job *j, double speed)
{
	if (d->objective == OBJECTIVE_STP)
		return speed;
	return -j->phase_best_s[j->phase] / j->phase_share_s[j->phase] / speed;
}

double drive_instant_value(const struct drive *d, const struct run *r, const struct solve_out *o)
{
	double sum = 0;

	for (int i = 0; i < r->n_jobs; i++)
		if (r->job[i].present)
			sum += drive_job_value(d, &r->job[i], run_speed(r, i, o));
	return sum;
}
