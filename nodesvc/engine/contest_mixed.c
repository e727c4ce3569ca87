/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contest_mixed.c - policies that choose sizes, where envelopes overlap but differ: which sizes can
 * be dealt at all, and dealing them. Sizes that can be dealt are the independent sets of a
 * polymatroid (Hall's condition), so growing the best job by one core while that is possible is
 * exact for any convex cost.
 */
#include "nodesvc/engine/bits.h"
#include "nodesvc/engine/contest.h"

static bool may_use(const struct contest *c, int k, int core)
{
	return c->uniform || bits_intersect(&c->t->core[core].pus, c->envelope[k], c->words);
}

static bool runs_there(const struct contest *c, int k, int core)
{
	return bits_intersect(&c->t->core[core].pus, &c->v->job[c->job[k]].current, c->words);
}

/* One core more for job @k by an augmenting path (Kuhn); those it runs on first. */
static bool augment(struct contest *c, int k, const int *order, int *seen, int mark)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < c->total; i++) {
			int core = order[i];

			if (seen[core] == mark || c->owner[core] == k || !may_use(c, k, core) ||
				(pass == 0 && (c->owner[core] >= 0 || !runs_there(c, k, core))))
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
	int *seen = c->scratch + 2 * c->max_jobs;

	for (int i = 0; i < c->t->n_cores; i++) {
		c->owner[i] = -1;
		seen[i] = -1;
	}
	c->mark = 0;
}

bool contest_mixed_grow(struct contest *c, int k, const int *order)
{
	return augment(c, k, order ? order : c->core, c->scratch + 2 * c->max_jobs, c->mark++);
}

void contest_mixed_give(struct contest *c, struct plan *p)
{
	int *list = c->scratch + 2 * c->max_jobs;

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
	int *keep = c->scratch + 2 * c->max_jobs + c->t->n_cores;
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
