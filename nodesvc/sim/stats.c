/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "nodesvc/sim/rng.h"
#include "nodesvc/sim/stats.h"

#define RESAMPLES 2000

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct interval stats_mean(const double *value, int n, uint64_t seed)
{
	static const struct interval none = {NAN, NAN, NAN};
	double mean[RESAMPLES], sum = 0;
	struct rng r;

	if (n < 1)
		return none;
	rng_init(&r, seed, 77);
	for (int i = 0; i < n; i++)
		sum += value[i];
	for (int k = 0; k < RESAMPLES; k++) {
		mean[k] = 0;
		for (int i = 0; i < n; i++)
			mean[k] += value[rng_below(&r, n)] / n;
	}
	qsort(mean, RESAMPLES, sizeof(mean[0]), compare);
	return (struct interval){
		sum / n,
		mean[RESAMPLES / 40],
		mean[RESAMPLES - 1 - RESAMPLES / 40],
	};
}

struct interval stats_gain(const double *value, const double *base, int n, uint64_t seed)
{
	double *gain = calloc((size_t)(n > 0 ? n : 1), sizeof(*gain));
	struct interval ret = {NAN, NAN, NAN};

	if (!gain)
		return ret;
	for (int i = 0; i < n; i++)
		gain[i] = value[i] / base[i] - 1;
	ret = stats_mean(gain, n, seed);
	free(gain);
	return ret;
}
