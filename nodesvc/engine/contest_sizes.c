/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contest_sizes.c - for policies that choose sizes and leave the where to the contest: with one
 * envelope for all, domains are filled; where envelopes overlap but differ, which sizes can be
 * dealt at all is told by augmenting paths. Those are the independent sets of a polymatroid (Hall's
 * condition), so growing the best job by one core while that is possible is exact for any convex
 * cost.
 */
#include "nodesvc/engine/bits.h"
#include "nodesvc/engine/contest.h"

static bool may_use(const struct contest *c, int k, int core)
{
	return c->uniform || bits_intersect(&c->t->core[core].pus, c->envelope[k], c->words);
}

static bool runs_on(const struct contest *c, int k, int core)
{
	if (c->running[core] >= -1)
		return c->running[core] == k;
	return bits_intersect(&c->t->core[core].pus, &c->v->job[c->job[k]].current, c->words);
}

/* One core more for job @k by an augmenting path (Kuhn); those it runs on first. */
static bool augment(struct contest *c, int k, const int *order, int *seen, int mark)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < c->total; i++) {
			int core = order[i];

			if (seen[core] == mark || c->owner[core] == k || !may_use(c, k, core) ||
				(pass == 0 && (c->owner[core] >= 0 || !runs_on(c, k, core))))
				continue;
			seen[core] = mark;
			if (c->owner[core] < 0 || augment(c, c->owner[core], order, seen, mark)) {
				c->owner[core] = k;
				return true;
			}
		}
	return false;
}

void contest_mixed_start(struct contest *c)
{
	int *seen = c->scratch + (size_t)2 * c->max_jobs;

	for (int i = 0; i < c->t->n_cores; i++) {
		c->owner[i] = -1;
		seen[i] = -1;
	}
	c->mark = 0;
}

bool contest_mixed_grow(struct contest *c, int k, const int *order)
{
	return augment(
		c, k, order ? order : c->core, c->scratch + (size_t)2 * c->max_jobs, c->mark++);
}

void contest_mixed_give(struct contest *c, struct plan *p)
{
	int *list = c->scratch + (size_t)2 * c->max_jobs;

	for (int k = 0; k < c->n; k++) {
		int n = 0;

		for (int i = 0; i < c->total; i++)
			if (c->owner[c->core[i]] == k)
				list[n++] = c->core[i];
		contest_give(c, k, list, n, p);
	}
}

bool contest_mixed_fits(struct contest *c, const int *size, const int *order)
{
	contest_mixed_start(c);
	for (int k = 0; k < c->n; k++)
		for (int i = 0; i < size[k]; i++)
			if (!contest_mixed_grow(c, k, order))
				return false;
	return true;
}

/* As grow, but nothing is kept. */
bool contest_mixed_room(struct contest *c, int k)
{
	int *keep = c->scratch + (size_t)2 * c->max_jobs + c->t->n_cores;
	bool room;

	for (int i = 0; i < c->t->n_cores; i++)
		keep[i] = c->owner[i];
	room = contest_mixed_grow(c, k, NULL);
	for (int i = 0; i < c->t->n_cores; i++)
		c->owner[i] = keep[i];
	return room;
}

bool contest_mixed_sizes(struct contest *c, int *ret_size)
{
	bool grew = true;

	contest_mixed_start(c);
	for (int k = 0; k < c->n; k++) {
		if (!contest_mixed_grow(c, k, NULL))
			return false;
		ret_size[k] = 1;
	}
	while (grew) {
		grew = false;
		for (int k = 0; k < c->n; k++)
			if (ret_size[k] < c->size[k] && contest_mixed_grow(c, k, NULL)) {
				ret_size[k]++;
				grew = true;
			}
	}
	/* Shares are rounded down: what is left goes to the smallest that can have it. */
	while (!c->given) {
		int best = -1;

		for (int k = 0; k < c->n; k++)
			if (c->v->job[c->job[k]].cores == 0 &&
				(best < 0 || ret_size[k] < ret_size[best]) &&
				contest_mixed_room(c, k))
				best = k;
		if (best < 0)
			break;
		contest_mixed_grow(c, best, NULL);
		ret_size[best]++;
	}
	return true;
}

/* Free cores of a domain that @k may use. */
static int free_in(const struct contest *c, int k, int d)
{
	int n = 0;

	for (int i = 0; i < c->capacity[d]; i++) {
		int core = c->core[c->first_core[d] + i];

		n += c->owner[core] < 0 && may_use(c, k, core);
	}
	return n;
}

/* Takes up to @want free cores of a domain; returns how many. */
static int take_in(struct contest *c, int k, int d, int want)
{
	int n = 0;

	for (int i = 0; i < c->capacity[d] && n < want; i++) {
		int core = c->core[c->first_core[d] + i];

		if (c->owner[core] < 0 && may_use(c, k, core)) {
			c->owner[core] = k;
			n++;
		}
	}
	return n;
}

/* What a domain's cores that are dealt already weigh. */
static double weight_in(const struct contest *c, int d, const double *heat)
{
	double sum = 0;

	for (int i = 0; i < c->capacity[d]; i++) {
		int o = c->owner[c->core[c->first_core[d] + i]];

		sum += o >= 0 ? heat[o] : 0;
	}
	return sum;
}

/*
 * Domain for @want cores: one @k is in already, then of those that fit the one with the least
 * @heat (where given), then the tightest, then the roomiest.
 */
static int pick_domain(const struct contest *c, int k, int want, const double *heat)
{
	int best = -1, best_rank = 0;
	double best_heat = 0;

	for (int d = 0; d < c->n_domains; d++) {
		int room = free_in(c, k, d), mine = 0, rank;
		double now = 0;
		bool fits = room >= want, better;

		if (room == 0)
			continue;
		for (int i = 0; i < c->capacity[d]; i++)
			mine += c->owner[c->core[c->first_core[d] + i]] == k;
		rank = fits ? 2 * c->total - room : room;
		rank += mine ? 4 * c->total : 0;
		if (heat && fits && !mine)
			now = weight_in(c, d, heat);
		better = rank > best_rank;
		if (heat && fits && !mine && best_rank > c->total && best_rank < 4 * c->total &&
			now != best_heat)
			better = now < best_heat;
		if (better) {
			best = d;
			best_rank = rank;
			best_heat = now;
		}
	}
	return best;
}

void contest_deal_sizes(struct contest *c, const int *size, struct plan *p)
{
	contest_deal_apart(c, size, NULL, p);
}

void contest_deal_apart(struct contest *c, const int *size, const double *heat, struct plan *p)
{
	int *left = c->scratch;

	for (int i = 0; i < c->t->n_cores; i++)
		c->owner[i] = -1;
	for (int k = 0; k < c->n; k++) {
		left[k] = size[k];
		for (int i = 0; i < c->total && left[k] > 0; i++)
			if (c->owner[c->core[i]] < 0 && runs_on(c, k, c->core[i]) &&
				may_use(c, k, c->core[i])) {
				c->owner[c->core[i]] = k;
				left[k]--;
			}
	}
	/* The largest wants are hardest to keep in one domain: first, and to the end. */
	for (;;) {
		int k = -1;

		for (int l = 0; l < c->n; l++)
			if (left[l] > 0 &&
				(k < 0 || left[l] > left[k] ||
					(heat && left[l] == left[k] && heat[l] > heat[k])))
				k = l;
		if (k < 0)
			break;
		while (left[k] > 0) {
			int d = pick_domain(c, k, left[k], heat);

			/* No domain: its envelope has no more. */
			left[k] = d < 0 ? 0 : left[k] - take_in(c, k, d, left[k]);
		}
	}
	contest_mixed_give(c, p);
}
