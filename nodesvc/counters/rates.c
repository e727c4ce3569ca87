/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rates.c - cumulative counts to rates per thread, and a stored solo profile to what a running
 * step is likely to do now. What is not known is NAN with provenance none, never 0; what cannot be
 * (view.h) is unknown, too.
 */
#include <math.h>

#include "nodesvc/counters/counters.h"

static const struct {
	enum counter_id counter;
	enum signal_id signal;
} rate_of[] = {
	{COUNTER_INSTRUCTIONS, SIGNAL_INSTRUCTIONS},
	{COUNTER_LOADS, SIGNAL_LOADS},
	{COUNTER_LLC_REFS, SIGNAL_LLC_REFS},
	{COUNTER_LLC_MISSES, SIGNAL_LLC_MISSES},
	{COUNTER_MEM_BYTES, SIGNAL_MEM_BYTES},
};
#define N_RATES (sizeof(rate_of) / sizeof(rate_of[0]))

static void clear(struct signal ret[SIGNAL_COUNT])
{
	for (size_t i = 0; i < N_RATES; i++)
		ret[rate_of[i].signal] = (struct signal){NAN, PROVENANCE_NONE};
	ret[SIGNAL_LLC_MISS_RATIO] = (struct signal){NAN, PROVENANCE_NONE};
}

/* A value that cannot be stays, for whoever says why the signal is unknown. */
static void set(struct signal ret[SIGNAL_COUNT], enum signal_id id, double value, enum provenance p)
{
	ret[id] = (struct signal){value, signal_is_sane(id, value) ? p : PROVENANCE_NONE};
}

void counters_rates(const struct sample *before, const struct sample *after, int n_threads,
	struct signal ret[SIGNAL_COUNT])
{
	double elapsed_s = (double)(after->t_ns - before->t_ns) / 1e9;
	uint32_t valid = before->valid & after->valid;
	double refs, misses;

	clear(ret);
	if (elapsed_s <= 0 || n_threads <= 0)
		return;
	for (size_t i = 0; i < N_RATES; i++) {
		enum counter_id c = rate_of[i].counter;

		if (!(valid & COUNTER_BIT(c)) || after->count[c] < before->count[c])
			continue;
		set(ret, rate_of[i].signal,
			(double)(after->count[c] - before->count[c]) / elapsed_s / n_threads,
			PROVENANCE_HW);
	}
	if (ret[SIGNAL_LLC_REFS].provenance == PROVENANCE_NONE ||
		ret[SIGNAL_LLC_MISSES].provenance == PROVENANCE_NONE)
		return;
	refs = ret[SIGNAL_LLC_REFS].value;
	misses = ret[SIGNAL_LLC_MISSES].value;
	/* Two counters that take turns on one register may disagree: no ratio above 1. */
	if (refs > 0)
		ret[SIGNAL_LLC_MISS_RATIO] =
			(struct signal){fmin(misses / refs, 1.0), PROVENANCE_HW};
}

void profile_scale(
	const struct profile *p, double live_utilization, struct signal ret[SIGNAL_COUNT])
{
	double factor = live_utilization / p->utilization;

	clear(ret);
	if (!(p->utilization > 0) || !(live_utilization >= 0) || !isfinite(factor))
		return;
	for (size_t i = 0; i < N_RATES; i++) {
		enum signal_id s = rate_of[i].signal;

		if (isfinite(p->rate[s]))
			set(ret, s, p->rate[s] * factor, PROVENANCE_PROFILE);
	}
	if (isfinite(p->rate[SIGNAL_LLC_MISS_RATIO]))
		set(ret, SIGNAL_LLC_MISS_RATIO, p->rate[SIGNAL_LLC_MISS_RATIO], PROVENANCE_PROFILE);
}
