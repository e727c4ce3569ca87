/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

struct snake {
	const struct shares *c;
	const double *value;
	double *sum;
	int *load; /* jobs, or cores where sizes differ */
	int *domain_of;
};

static int size_of(const struct snake *s, int k)
{
	return s->c->equal ? 1 : s->c->size[k];
}

/* Fewest and most of a domain: floor and ceil of its share of the jobs; its cores else. */
static int least(const struct snake *s, int d)
{
	return s->c->equal ? s->c->n * s->c->capacity[d] / s->c->total : s->c->capacity[d];
}

static int most(const struct snake *s, int d)
{
	return s->c->equal ? (s->c->n * s->c->capacity[d] + s->c->total - 1) / s->c->total
			   : s->c->capacity[d];
}

static void put(struct snake *s, int k, int d)
{
	s->domain_of[k] = d;
	s->sum[d] += s->value[k];
	s->load[d] += size_of(s, k);
}

/* One job: below its least share first, then the smallest sum. */
static void put_alone(struct snake *s, int k)
{
	int best = -1, best_rank = 0;

	for (int d = 0; d < s->c->n_domains; d++) {
		int after = s->load[d] + size_of(s, k);
		int rank = after <= least(s, d) ? 2 : after <= most(s, d) ? 1 : 0;

		if (!shares_allowed(s->c, k, d))
			continue;
		if (best < 0 || rank > best_rank ||
			(rank == best_rank && s->sum[d] < s->sum[best])) {
			best = d;
			best_rank = rank;
		}
	}
	put(s, k, best);
}

static bool has_room(const struct snake *s, int d, int a, int b)
{
	return s->load[d] + size_of(s, a) + size_of(s, b) <= least(s, d) &&
	       shares_allowed(s->c, a, d) && shares_allowed(s->c, b, d);
}

void snake_group(const struct shares *c, const double *value, bool strict, int *sorted, double *sum,
	int *load, int *ret_domain_of)
{
	struct snake s = {c, value, sum, load, ret_domain_of};
	int low = 0, high = c->n - 1, pass = 0, open;

	grouping_sort(sorted, c->n, value);
	for (int d = 0; d < c->n_domains; d++) {
		sum[d] = 0;
		load[d] = 0;
	}
	if (strict && c->uniform) {
		for (int d = 0; low < high; d = (d + 1) % c->n_domains, low++, high--) {
			put(&s, sorted[low], d);
			put(&s, sorted[high], d);
			pass = d + 1;
		}
		if (low == high)
			put(&s, sorted[low], pass % c->n_domains);
		return;
	}
	/* Full rounds only: every domain with room for a pair gets one. */
	for (;; pass++) {
		open = 0;
		for (int d = 0; d < c->n_domains && low < high; d++)
			open += has_room(&s, d, sorted[low], sorted[high]);
		if (open == 0 || (high - low + 1) / 2 < open)
			break;
		for (int i = 0; i < c->n_domains && low < high; i++) {
			int d = c->n_domains > 2 && pass % 2 ? c->n_domains - 1 - i : i;

			if (!has_room(&s, d, sorted[low], sorted[high]))
				continue;
			put(&s, sorted[low++], d);
			put(&s, sorted[high--], d);
		}
	}
	for (; low < high; low++, high--) {
		put_alone(&s, sorted[high]);
		put_alone(&s, sorted[low]);
	}
	if (low == high)
		put_alone(&s, sorted[low]);
}
