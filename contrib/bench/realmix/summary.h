/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.h - what the rows of a state folder say together: means over rounds, ratios of arms
 * paired by round. Intervals are 95 %, by Student's t on logarithms; one round has none (NAN).
 * Rows that others disturbed are left out.
 */
#ifndef COLOC_REALMIX_SUMMARY_H
#define COLOC_REALMIX_SUMMARY_H

#include "contrib/bench/realmix/state.h"

#define ARMS_MAX 32

struct estimate {
	double mean, lo, hi; /* NAN unknown */
	int n;
};

struct cell {
	const struct arm *arm;
	int rounds, n_disturbed;
	double makespan_s[ROUNDS_MAX + 1]; /* by round, from 1; NAN none */
	bool cut;                          /* makespan is at least that */
	struct estimate makespan, work;
	/* At once: submission to end over solo, mean and worst program, mean over rounds. */
	struct estimate antt, worst_ntt;
	struct estimate time[PROGRAMS_MAX]; /* of each program, from its submission to its end */
	double service_s;                   /* of colocd's processor time, mean; NAN not known */
	char policy[32], reason[160];       /* ruling; "" not known */
	/* Restarted until each has run often enough; stp.mean NAN: not measured. */
	struct estimate stp; /* interval by bootstrap over runs (stats.h) */
	double sustained_antt, sustained_worst;
};

struct summary {
	const struct mix *mix;
	double solo_s[PROGRAMS_MAX], solo_sum_s; /* medians; NAN not measured */
	struct solo solo[PROGRAMS_MAX];
	struct cell cell[ARMS_MAX]; /* that have rows */
	int n;
};

/* 0, also when nothing is there (n 0); -EINVAL a damaged file. */
int summary_read(struct summary *ret, const char *dir, const struct mix *mix, struct errbuf *err);
/* NULL: not measured, or disturbed each time. */
const struct cell *summary_find(const struct summary *s, const char *arm);
/* The arm of a kind with the shortest makespan that was not cut; NULL none. */
const struct cell *summary_best(const struct summary *s, enum arm_kind kind);

/* Geometric mean of positive values and its interval. */
struct estimate estimate_of(const double *v, int n);
/*
 * work of @a over work of @b, by rounds that both have. *ret_bound: 1 at least that (b was cut),
 * -1 at most that (a was cut), else 0.
 */
struct estimate summary_ratio(const struct cell *a, const struct cell *b, int *ret_bound);

#endif
