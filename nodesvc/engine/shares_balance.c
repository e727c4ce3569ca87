/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares_balance.c - how many jobs and cores each domain takes: what is right, and what a grouping
 * comes to.
 */
#include <string.h>

#include "nodesvc/engine/internal.h"

void shares_counts(const struct shares *c, int *ret_count)
{
	int left = c->n;

	for (int d = 0; d < c->n_domains; d++) {
		ret_count[d] = c->n * c->capacity[d] / c->total;
		left -= ret_count[d];
	}
	for (; left > 0; left--) {
		int best = -1;
		long best_rest = -1;

		for (int d = 0; d < c->n_domains; d++) {
			/* Remainder of n*capacity/total after what it has; in units of 1/total. */
			long rest = (long)c->n * c->capacity[d] - (long)ret_count[d] * c->total;

			if (!c->shared && ret_count[d] >= c->capacity[d])
				continue;
			/* Of remainders that are alike the smaller domain's: it may be empty else.
			 */
			if (best < 0 || rest > best_rest ||
				(rest == best_rest && ret_count[d] == 0 && ret_count[best] > 0)) {
				best = d;
				best_rest = rest;
			}
		}
		if (best < 0)
			best = 0;
		ret_count[best]++;
	}
}

bool shares_balanced(const struct shares *c, const int *load)
{
	long sum = c->equal ? c->n : c->sum, biggest = c->equal ? 1 : c->biggest;
	long least = 0, most = 0; /* above the domain's share, times total */

	for (int d = 0; d < c->n_domains; d++) {
		long above = (long)load[d] * c->total - sum * c->capacity[d];

		least = d == 0 || above < least ? above : least;
		most = d == 0 || above > most ? above : most;
	}
	return most - least <= biggest * c->total;
}

bool shares_fits(const struct shares *c, const int *domain_of)
{
	int *load = c->scratch;

	memset(load, 0, (size_t)c->n_domains * sizeof(int));
	for (int k = 0; k < c->n; k++)
		load[domain_of[k]] += c->size[k];
	for (int d = 0; d < c->n_domains; d++)
		if (load[d] > c->capacity[d])
			return false;
	return true;
}

void shares_list_members(struct shares *c, const int *domain_of)
{
	int *first = c->first_member;

	memset(first, 0, (size_t)(c->n_domains + 1) * sizeof(int));
	for (int k = 0; k < c->n; k++)
		first[domain_of[k] + 1]++;
	for (int d = 0; d < c->n_domains; d++)
		first[d + 1] += first[d];
	/* From the end, so that first[d + 1] ends up where d + 1 starts; then all move up one. */
	for (int k = c->n - 1; k >= 0; k--)
		c->member[--first[domain_of[k] + 1]] = k;
	memmove(first, first + 1, (size_t)c->n_domains * sizeof(int));
	first[c->n_domains] = c->n;
}
