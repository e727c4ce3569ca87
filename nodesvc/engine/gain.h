/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gain.h - the estimators behind what is claimed: ratios of speeds with 95 % intervals. Pure.
 *
 * Ratios are averaged as logarithms: 2 and 1/2 cancel. No interval, no figure: below GAIN_MIN
 * observations everything is NAN.
 */
#ifndef COLOC_ENGINE_GAIN_H
#define COLOC_ENGINE_GAIN_H

#include <stdbool.h>

#define GAIN_MIN 3
/* A program that is so much faster or slower for a moment met something else than a placement, a
 * counter that jumped for one. (Seen: a spinning program at 1/41 of its speed for one neighbour
 * that wakes.) */
#define GAIN_RATIO_MAX 200.0

/* Running mean and spread (Welford). Zeroed: empty. */
struct gain_mean {
	int n;
	double mean, m2;
};
void gain_mean_add(struct gain_mean *m, double x);
/* Of the sample; NAN below two. */
double gain_mean_sd(const struct gain_mean *m);

struct gain_estimate {
	int n; /* observations behind it */
	double ratio, lo, hi;
};

/*
 * gain_abba - one paired window: speeds of the four stretches in the order A B B A. Logarithm of
 * A over B; a drift that is linear in time over the four (in the logarithm) falls out.
 * false: a speed is not above 0, or the ratio beyond GAIN_RATIO_MAX: nothing is to be learnt.
 */
bool gain_abba(const double speed[4], double *ret_log_ratio);

/* Mean of paired logarithms with Student's t interval. */
void gain_paired(const struct gain_mean *log_ratio, struct gain_estimate *ret);

/* Ratio of two independent groups of logarithms, @with over @without, with Welch's interval. */
void gain_unpaired(
	const struct gain_mean *with, const struct gain_mean *without, struct gain_estimate *ret);

/* Two-sided 95 % quantile of Student's t with @df degrees of freedom (real, >= 1). */
double gain_t95(double df);

#endif
