/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict.h - is one way of placing jobs better or worse than another, judged anew after every
 * paired window of speeds? Pure: the windows' moments in, a verdict out.
 *
 * A window is one number: the logarithm of the speed under the first way over that under the
 * second, measured at the same time on the same jobs (gain.h: A B B A). The daemon compares the
 * ruling policy with Slurm's own placement; any two ways would do.
 *
 * Looking after every window and stopping when one likes what one sees is what ordinary intervals
 * do not allow: looked at often enough, a 95 % interval misses the truth with certainty. So this
 * is a confidence sequence: with probability 1 - error *all* its intervals, over any number of
 * windows, hold the true mean. Hence, of sets of jobs that the first way does not slow down, at
 * most a share `error` is ever called worse.
 *
 * What that rests on: windows that are independent and scatter as a normal distribution with any
 * spread. tests/unit/test_verdict.c measures the rate for these and for windows with heavy tails,
 * and what is left of it where each window resembles the one before.
 *
 * Source: H. Wang, A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means
 * with unknown variance", Sequential Analysis 44 (2025), arXiv:2310.03722: the t-test's likelihood
 * ratio, a normal distribution over the effect, and Ville's inequality; after T. L. Lai, "On
 * confidence sequences", Annals of Statistics 4 (1976).
 */
#ifndef COLOC_ENGINE_VERDICT_H
#define COLOC_ENGINE_VERDICT_H

#include <stdbool.h>

enum verdict {
	VERDICT_UNKNOWN, /* it may be either */
	VERDICT_BETTER,
	VERDICT_WORSE,
};
const char *verdict_name(enum verdict v); /* "unknown" "better" "worse" */

struct verdict_cfg {
	double error;    /* of all sets that are not worse, called worse: at most; (0, 1) */
	double margin;   /* a difference from which on it matters: 0.05 is 5 %; [0, 1) */
	int min_windows; /* below it everything is unknown; at least 2 */
};

struct judgement {
	enum verdict verdict; /* the interval does not hold 1 */
	bool matters;         /* and the estimate differs from 1 by the margin, too */
	int windows;
	double ratio;  /* estimate, speed under the first over the second; NAN without windows */
	double lo, hi; /* the sequence's interval now; 0 and infinity: nothing is bounded yet */
};

/*
 * verdict_judge - after @n windows with mean @mean and sum of squared deviations @m2 of their
 * logarithms (gain_mean's). Anything that is no number is unknown.
 */
void verdict_judge(
	const struct verdict_cfg *cfg, int n, double mean, double m2, struct judgement *ret);

#endif
