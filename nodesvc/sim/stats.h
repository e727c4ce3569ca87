/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats.h - means with bootstrap confidence intervals (Efron 1979), paired by combination. */
#ifndef COLOC_SIM_STATS_H
#define COLOC_SIM_STATS_H

#include <stdint.h>

struct interval {
	double mean, low, high; /* 95 % */
};

/* Of @n values; resampled 2000 times. The same seed resamples the same indices. */
struct interval stats_mean(const double *value, int n, uint64_t seed);
/* Of value[i]/base[i] - 1: how much better than @base, combination by combination. */
struct interval stats_gain(const double *value, const double *base, int n, uint64_t seed);

#endif
