/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares_mixed.c - for policies that choose sizes and leave the where to us: with one
 * envelope for all, domains are filled; where envelopes overlap but differ, which sizes can be
 * dealt at all is told by augmenting paths. Those are the independent sets of a polymatroid (Hall's
 * condition), so growing the best job by one core while that is possible is exact for any convex
 * cost.
 */
#include <string.h>

#include "nodesvc/engine/internal.h"

static bool may_use(const struct shares *c, int k, int core)
{
	return c->uniform || bits_has(&c->reach[k], c->place[core]);
}

static bool runs_on(const struct shares *c, int k, int core)
{
	if (c->running[core] >= -1)
		return c->running[core] == k;
	return bits_intersect(&c->t->core[core].pus, &c->v->job[c->job[k]].current, c->words);
}

void shares_mixed_start(struct shares *c)
{
	coreset_zero(&c->free);
	for (int i = 0; i < c->total; i++)
		c->free.w[i / 64] |= UINT64_C(1) << (i % 64);
	for (int i = 0; i < c->t->n_cores; i++)
		c->owner[i] = -1;
}

static int first_of(const struct shares *c, const struct coreset *a, const struct coreset *b)
{
	for (int w = 0; w < c->words; w++)
		if (a->w[w] & b->w[w])
			return w * 64 + __builtin_ctzll(a->w[w] & b->w[w]);
	return -1;
}

/* A place of core[] in @from that job @k may use: where it runs, else the first; -1 none. */
static int pick(const struct shares *c, int k, const struct coreset *from)
{
	int at = first_of(c, from, &c->here[k]);

	return at >= 0 ? at : first_of(c, from, &c->reach[k]);
}

/* Job @k of a search takes place @at; what it was reached by goes to who reached it, and so on. */
static void apply_path(struct shares *c, int k, int at)
{
	for (;;) {
		c->owner[c->core[at]] = k;
		if (c->before[k] < 0)
			return;
		at = c->via[k];
		k = c->before[k];
	}
}

/*
 * Breadth first from job @k over whose cores its could become: to a free place (>= 0, of
 * *@ret_job), or to a core of job @from (-1 nobody's); -1 neither. Each job and each core is looked
 * at once, so a search is O(cores + jobs). @ret_seen, where not NULL: the jobs it came by.
 */
static int search(struct shares *c, int k, int from, int *ret_job, bool *ret_seen)
{
	struct coreset left;
	int n = 0;

	memset(&left, 0xff, sizeof(left));
	for (int l = 0; l < c->n; l++)
		c->via[l] = -2;
	c->before[k] = c->via[k] = -1;
	c->queue[n++] = k;
	for (int i = 0; i < n; i++) {
		int j = c->queue[i], at = ret_seen || from >= 0 ? -1 : pick(c, j, &c->free);

		*ret_job = j;
		if (at >= 0)
			return at;
		for (int w = 0; w < c->words; w++) {
			uint64_t new = left.w[w] & c->reach[j].w[w] & ~c->free.w[w];

			for (left.w[w] &= ~new; new; new &= new - 1) {
				int o;

				at = w * 64 + __builtin_ctzll(new);
				o = c->owner[c->core[at]];
				if (o == from)
					return at;
				if (c->via[o] != -2)
					continue;
				c->before[o] = j;
				c->via[o] = at;
				c->queue[n++] = o;
			}
		}
	}
	for (int i = 0; ret_seen && i < n; i++)
		ret_seen[c->queue[i]] = true;
	return -1;
}

static void take(struct shares *c, int k, int at)
{
	c->free.w[at / 64] &= ~(UINT64_C(1) << (at % 64));
	apply_path(c, k, at);
}

bool shares_mixed_grow(struct shares *c, int k)
{
	int j, at = search(c, k, -1, &j, NULL);

	if (at >= 0)
		take(c, j, at);
	return at >= 0;
}

bool shares_mixed_take(struct shares *c, int k, int d)
{
	struct coreset here = c->free;
	int at;

	if (d >= 0)
		bits_clip(&here, c->first_core[d], c->first_core[d] + c->capacity[d]);
	at = pick(c, k, &here);
	c->before[k] = -1;
	if (at >= 0)
		take(c, k, at);
	return at >= 0;
}

bool shares_mixed_reach(struct shares *c, int k, bool *ret_from)
{
	int unused;

	for (int l = 0; l < c->n; l++)
		ret_from[l] = false;
	search(c, k, -1, &unused, ret_from);
	ret_from[k] = false;
	for (int l = 0; l < c->n; l++)
		if ((l == k || ret_from[l]) && bits_intersect(&c->reach[l], &c->free, c->words))
			return true;
	return false;
}

void shares_mixed_exchange(struct shares *c, int from, int k)
{
	int j, at = search(c, k, from, &j, NULL);

	if (at >= 0)
		apply_path(c, j, at);
}

void shares_mixed_give(struct shares *c, struct plan *p)
{
	for (int k = 0; k < c->n; k++)
		coreset_zero(&p->job[c->job[k]].coreset);
	for (int i = 0; i < c->total; i++) {
		int k = c->owner[c->core[i]];

		if (k >= 0)
			bits_add(&p->job[c->job[k]].coreset, &c->t->core[c->core[i]].pus, c->words);
	}
	for (int k = 0; k < c->n; k++)
		coreset_and(&p->job[c->job[k]].coreset, &p->job[c->job[k]].coreset, c->envelope[k]);
}

bool shares_mixed_fits(struct shares *c, const int *size)
{
	shares_mixed_start(c);
	for (int k = 0; k < c->n; k++)
		for (int i = 0; i < size[k]; i++)
			if (!shares_mixed_grow(c, k))
				return false;
	return true;
}

bool shares_mixed_grow_or_full(struct shares *c, int k, bool *full)
{
	if (shares_mixed_grow(c, k))
		return true;
	/* Nobody whom the search came by leads to a free core, and no later path leads through
	 * them: they have each other's cores only. */
	for (int l = 0; l < c->n; l++)
		full[l] = full[l] || c->via[l] != -2;
	return false;
}

void shares_mixed_fill(struct shares *c, int *size)
{
	bool grew = true;

	for (int k = 0; k < c->n; k++)
		c->full[k] = size[k] == 0;
	while (grew) {
		grew = false;
		for (int k = 0; k < c->n; k++) {
			if (c->full[k] || size[k] >= c->size[k])
				continue;
			if (!shares_mixed_grow_or_full(c, k, c->full))
				continue;
			size[k]++;
			grew = true;
		}
	}
	/* Shares are rounded down: what is left goes to the smallest that can have it. */
	while (!c->given) {
		int best = -1;

		for (int k = 0; k < c->n; k++)
			if (c->v->job[c->job[k]].cores == 0 && !c->full[k] &&
				(best < 0 || size[k] < size[best]))
				best = k;
		if (best < 0)
			break;
		size[best] += shares_mixed_grow_or_full(c, best, c->full);
	}
}

bool shares_mixed_sizes(struct shares *c, int *ret_size)
{
	shares_mixed_start(c);
	for (int k = 0; k < c->n; k++) {
		if (!shares_mixed_grow(c, k))
			return false;
		ret_size[k] = 1;
	}
	shares_mixed_fill(c, ret_size);
	return true;
}

/* Free cores of a domain that @k may use. */
static int free_in(const struct shares *c, int k, int d)
{
	int n = 0;

	for (int i = 0; i < c->capacity[d]; i++) {
		int core = c->core[c->first_core[d] + i];

		n += c->owner[core] < 0 && may_use(c, k, core);
	}
	return n;
}

/* Takes up to @want free cores of a domain; returns how many. */
static int take_in(struct shares *c, int k, int d, int want)
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
static double weight_in(const struct shares *c, int d, const double *heat)
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
static int pick_domain(const struct shares *c, int k, int want, const double *heat)
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

void shares_deal_sizes(struct shares *c, const int *size, struct plan *p)
{
	shares_deal_apart(c, size, NULL, p);
}

void shares_deal_apart(struct shares *c, const int *size, const double *heat, struct plan *p)
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
	shares_mixed_give(c, p);
}
