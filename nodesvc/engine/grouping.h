/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grouping.h - which jobs go to which domain so that the sum over domains of |R_i - R_j| over the
 * pairs in it is largest, among groupings balanced by number of jobs, or by cores where sizes were
 * asked for.
 *
 * Equal sizes: exact in O(N log N) by tiers of coefficients (rearrangement inequality). Unequal
 * sizes (pairs weigh c_i*c_j / smallest c squared) are NP-hard: exhaustive up to 8 jobs, else
 * first fit by size and at most two rounds of one-job moves and swaps.
 * Source: Collins et al., LIRA, ROSS 2015, section 5 (score for two sockets of two programs); the
 * generalisation is ours, proven against brute force in the tests.
 */
#ifndef COLOC_ENGINE_GROUPING_H
#define COLOC_ENGINE_GROUPING_H

#include "nodesvc/engine/shares.h"

enum grouping_tie {
	TIE_AUTO,    /* missbal where every job has it, else balance */
	TIE_BALANCE, /* equal sums of R */
	TIE_FIRST,   /* the first of the best in order of arrival */
	TIE_MISSBAL, /* equal sums of LLC misses */
};

struct grouping {
	int max_jobs, max_domains;
	bool per_domain;    /* divide a domain's sum by its jobs less one (norm=per_socket) */
	bool anchored;      /* some jobs are pinned, or pieces of large jobs stand in domains */
	const int *pin;     /* [n] domain a job must have, -1 any; NULL nobody */
	double *extra;      /* [max_jobs * max_domains] what a job adds beside a domain's pieces */
	double fixed;       /* pieces beside pieces */
	bool weighted;      /* pairs weigh c_i*c_j (sizes differ and fit); set by grouping_best() */
	double *weight;     /* [max_jobs^2] value of a pair */
	double *gain;       /* [max_jobs * max_domains] value of a job beside those of a domain */
	double *sum, *part; /* [max_domains] */
	int *sorted;        /* [max_jobs] */
	int *tier_of;       /* [max_jobs] */
	int *count, *load, *max, *label; /* [max_domains] */
	int *trial, *best, *head;        /* [max_jobs] */
	unsigned char *free_slot;        /* [2 * max_jobs * max_domains] */
};

int grouping_init(struct grouping *g, const struct policy_cfg *cfg, struct errbuf *err);
void grouping_done(struct grouping *g);

/*
 * grouping_best - fills @ret_domain_of[0..n-1] and returns the score.
 * @value: R by competing job; @second: what a tie balances (value or misses);
 * @tie: TIE_FIRST or TIE_BALANCE.
 */
double grouping_best(struct grouping *g, struct shares *c, const double *value,
	const double *second, enum grouping_tie tie, int *ret_domain_of);

/*
 * grouping_anchor - before grouping_best(), where it applies: pins, and the figures of the
 * pieces (@piece_value by piece). With anchors the search for different sizes is used.
 */
void grouping_anchor(struct grouping *g, const struct shares *c, const double *value,
	const int *pin, const double *piece_value);

/* @idx := 0..n-1 ascending by value, then arrival; allocates nothing. */
void grouping_sort(int *idx, int n, const double *value);

/* Score of any grouping of the same values, weighted as the last grouping_best() was. */
double grouping_score(
	struct grouping *g, const struct shares *c, const double *value, const int *domain_of);

/* --- of grouping_search.c */

/* Cores of the smallest job or piece: pairs weigh c_i*c_j over its square. */
double grouping_smallest(const struct shares *c);

/*
 * First fit and local search; false: no grouping fits. @second NULL: ties go to
 * the first in order of arrival.
 */
bool grouping_search(struct grouping *g, struct shares *c, const double *value,
	const double *second, int *ret_domain_of);

#endif
