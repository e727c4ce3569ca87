/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stats.h - system throughput and normalized turnaround time from run times, with intervals by
 * bootstrap. Source of both: Eyerman & Eeckhout, IEEE Micro 28(3), 2008.
 */
#ifndef COLOC_REALMIX_STATS_H
#define COLOC_REALMIX_STATS_H

#include <stdint.h>

struct times {
	double *s; /* run times in seconds */
	int n;
};

struct score {
	double stp, stp_lo, stp_hi; /* sum of solo / corun; higher is better */
	double antt;                /* mean of corun / solo; lower is better */
	double worst_ntt;           /* largest corun / solo */
};

double stats_mean(const double *v, int n);   /* NAN for none */
double stats_median(const double *v, int n); /* NAN for none */

/*
 * stats_score - @solo[i] and @corun[i] are program i's runs; solo time is their median, corun time
 * their mean. The interval is the middle 95 % of @resamples draws of the runs with replacement;
 * with few runs it says how far they differ, not more.
 * Returns 0, -EINVAL a program without runs, -ENOMEM.
 */
int stats_score(struct score *ret, const struct times *solo, const struct times *corun,
	int n_programs, int resamples, uint64_t seed);

#endif
