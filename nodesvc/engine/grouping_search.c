/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grouping_search.c - jobs of different sizes, or with different envelopes: first fit by size,
 * two rounds of moves and swaps; with few jobs every grouping is tried as well.
 */
#include <math.h>
#include <string.h>

#include "nodesvc/engine/internal.h"

#define EXHAUSTIVE_JOBS  8
#define EXHAUSTIVE_NODES 20000 /* groupings of 8 jobs in 4 domains: 2 795; bounds odd envelopes */
#define ROUNDS           2
/* Looks at a domain or a pair, some ns each: what a decision has for each of the two searches.
 * Eight jobs in 32 domains, and 512 jobs of one size in as many, stay far below. */
#define STEPS_MAX 4000000
#define BETTER    1e-9 /* below: rounding of sums taken in another order */

struct search {
	struct grouping *g;
	struct shares *c;
	const double *second;
	double best_score, best_spread;
	long nodes, steps;
	bool found;
	bool loose; /* no balanced grouping fits: any that fits */
};

static double pair(const struct grouping *g, int i, int j)
{
	return g->weight[(size_t)i * (size_t)g->max_jobs + (size_t)j];
}

static double *gain_at(const struct grouping *g, int k, int d)
{
	return &g->gain[(size_t)k * (size_t)g->max_domains + (size_t)d];
}

static double extra(const struct grouping *g, int k, int d)
{
	return g->anchored ? g->extra[(size_t)k * (size_t)g->max_domains + (size_t)d] : 0;
}

/* Jobs of equal size are counted, others measured in cores. */
static int size_of(const struct shares *c, int k)
{
	return c->equal ? 1 : c->size[k];
}

static bool allowed(const struct search *s, int k, int d)
{
	return shares_allowed(s->c, k, d) &&
	       (!s->g->anchored || !s->g->pin || s->g->pin[k] < 0 || s->g->pin[k] == d);
}

double grouping_smallest(const struct shares *c)
{
	int smallest = c->n ? c->size[0] : 1;

	for (int k = 1; k < c->n && !c->equal; k++)
		smallest = c->size[k] < smallest ? c->size[k] : smallest;
	for (int i = 0; i < c->n_pieces; i++)
		smallest = c->piece[i].size < smallest ? c->piece[i].size : smallest;
	return smallest;
}

static void fill_weights(struct grouping *g, const struct shares *c, const double *value)
{
	double smallest = grouping_smallest(c);

	for (int i = 0; i < c->n; i++)
		for (int j = 0; j < c->n; j++)
			g->weight[(size_t)i * (size_t)g->max_jobs + (size_t)j] =
				fabs(value[i] - value[j]) *
				(g->weighted ? c->size[i] * c->size[j] / (smallest * smallest) : 1);
}

/* No more jobs than domains: one each. Else balanced by cores. */
static bool has_room(const struct search *s, int d, int load, int size)
{
	const struct shares *c = s->c;

	if (!s->loose && c->uniform && c->n <= c->n_domains && load > 0)
		return false;
	return load + size <= s->g->max[d];
}

/* Largest first, each to the domain with most room left. */
static bool first_fit(struct search *s, int *domain_of)
{
	struct grouping *g = s->g;
	struct shares *c = s->c;

	for (int k = 0; k < c->n; k++) {
		int j = k;

		for (; j > 0 && size_of(c, g->sorted[j - 1]) < size_of(c, k); j--)
			g->sorted[j] = g->sorted[j - 1];
		g->sorted[j] = k;
	}
	memset(g->load, 0, (size_t)c->n_domains * sizeof(int));
	for (int i = 0; i < c->n; i++) {
		int k = g->sorted[i], to = -1;

		for (int d = 0; d < c->n_domains; d++)
			if (allowed(s, k, d) && has_room(s, d, g->load[d], size_of(c, k)) &&
				(to < 0 || g->max[d] - g->load[d] > g->max[to] - g->load[to]))
				to = d;
		if (to < 0)
			return false;
		domain_of[k] = to;
		g->load[to] += size_of(c, k);
	}
	return true;
}

/* May @by cores more go to @a, as many less to @b, and balance not be lost? */
static bool loads_ok(struct search *s, int a, int b, int by)
{
	struct grouping *g = s->g;
	bool ok;

	if (g->load[a] + by > g->max[a] || g->load[b] - by > g->max[b])
		return false;
	if (s->loose || by == 0)
		return true;
	s->steps += 2L * s->c->n_domains;
	ok = !shares_balanced(s->c, g->load);
	g->load[a] += by;
	g->load[b] -= by;
	ok = ok || shares_balanced(s->c, g->load);
	g->load[a] -= by;
	g->load[b] += by;
	return ok;
}

static void shift(struct grouping *g, struct shares *c, int *domain_of, int k, int to)
{
	int from = domain_of[k];

	for (int l = 0; l < c->n; l++) {
		*gain_at(g, l, from) -= pair(g, k, l);
		*gain_at(g, l, to) += pair(g, k, l);
	}
	g->load[from] -= size_of(c, k);
	g->load[to] += size_of(c, k);
	domain_of[k] = to;
}

static bool try_moves(struct search *s, int *domain_of, int k)
{
	struct grouping *g = s->g;
	struct shares *c = s->c;
	int from = domain_of[k], best = -1;
	double best_gain = BETTER;

	for (int d = 0; d < c->n_domains; d++) {
		double gain = *gain_at(g, k, d) - *gain_at(g, k, from);

		if (d != from && allowed(s, k, d) && gain > best_gain &&
			has_room(s, d, g->load[d], size_of(c, k)) &&
			loads_ok(s, d, from, size_of(c, k))) {
			best = d;
			best_gain = gain;
		}
	}
	if (best < 0)
		return false;
	shift(g, c, domain_of, k, best);
	return true;
}

static bool try_swaps(struct search *s, int *domain_of, int i)
{
	struct grouping *g = s->g;
	struct shares *c = s->c;
	int best = -1;
	double best_gain = BETTER;

	for (int j = i + 1; j < c->n; j++) {
		int a = domain_of[i], b = domain_of[j], by = size_of(c, j) - size_of(c, i);
		double gain = *gain_at(g, i, b) - *gain_at(g, i, a) + *gain_at(g, j, a) -
			      *gain_at(g, j, b) - 2 * pair(g, i, j);

		if (a != b && gain > best_gain && allowed(s, i, b) && allowed(s, j, a) &&
			loads_ok(s, a, b, by)) {
			best = j;
			best_gain = gain;
		}
	}
	if (best < 0)
		return false;
	{
		int a = domain_of[i], b = domain_of[best];

		shift(g, c, domain_of, i, b);
		shift(g, c, domain_of, best, a);
	}
	return true;
}

static void improve(struct search *s, int *domain_of)
{
	struct grouping *g = s->g;
	struct shares *c = s->c;

	for (int k = 0; k < c->n; k++)
		for (int d = 0; d < c->n_domains; d++)
			*gain_at(g, k, d) = extra(g, k, d);
	for (int k = 0; k < c->n; k++)
		for (int l = 0; l < c->n; l++)
			*gain_at(g, k, domain_of[l]) += pair(g, k, l);
	s->steps = 0;
	for (int round = 0; round < ROUNDS; round++) {
		bool any = false;

		for (int k = 0; k < c->n && s->steps < STEPS_MAX; k++) {
			any |= try_moves(s, domain_of, k);
			any |= try_swaps(s, domain_of, k);
			s->steps += c->n_domains + 4L * c->n;
		}
		if (!any)
			break;
	}
}

static double pair_sum(const struct grouping *g, const struct shares *c, const int *domain_of)
{
	double sum = 0;

	for (int i = 0; i < c->n; i++)
		sum += extra(g, i, domain_of[i]);
	for (int i = 0; i < c->n; i++)
		for (int j = i + 1; j < c->n; j++)
			if (domain_of[i] == domain_of[j])
				sum += pair(g, i, j);
	return sum;
}

static bool balanced(const struct search *s, const int *domain_of)
{
	struct grouping *g = s->g;

	memset(g->label, 0, (size_t)s->c->n_domains * sizeof(int));
	for (int k = 0; k < s->c->n; k++)
		g->label[domain_of[k]] += size_of(s->c, k);
	for (int d = 0; d < s->c->n_domains; d++)
		if (g->label[d] > g->max[d])
			return false;
	return s->loose || shares_balanced(s->c, g->label);
}

/* Largest minus smallest sum of @second (by core) over the domains: what a tie is broken by. */
static double spread(const struct search *s, const int *domain_of)
{
	double least = INFINITY, most = -INFINITY;

	if (!s->second)
		return 0;
	for (int d = 0; d < s->c->n_domains; d++) {
		double sum = 0;

		for (int k = 0; k < s->c->n; k++)
			if (domain_of[k] == d)
				sum += s->second[k] * size_of(s->c, k);
		least = sum < least ? sum : least;
		most = sum > most ? sum : most;
	}
	return most - least;
}

static void consider(struct search *s, const int *domain_of, double score)
{
	double sp;

	if (!balanced(s, domain_of) || (s->found && score < s->best_score - BETTER))
		return;
	sp = spread(s, domain_of);
	if (s->found && score <= s->best_score + BETTER && sp >= s->best_spread - BETTER)
		return;
	s->found = true;
	s->best_score = score;
	s->best_spread = sp;
	memcpy(s->g->best, domain_of, (size_t)s->c->n * sizeof(int));
}

/* Each domain's sum over its jobs less one; what pieces add is not divided. */
static double normed(const struct search *s, const int *domain_of)
{
	const struct grouping *g = s->g;
	double score = 0;

	for (int i = 0; i < s->c->n; i++) {
		double sum = 0;
		int others = 0;

		for (int j = 0; j < s->c->n; j++)
			if (j != i && domain_of[j] == domain_of[i]) {
				sum += pair(g, i, j);
				others++;
			}
		score += extra(g, i, domain_of[i]) + (others ? sum / 2 / others : 0);
	}
	return score;
}

/* Is there an earlier empty domain of the same capacity? Then @d would only repeat it. */
static bool is_mirror(const struct search *s, int d)
{
	const struct shares *c = s->c;

	if (!c->uniform || s->g->anchored || s->g->load[d])
		return false;
	for (int e = 0; e < d; e++)
		if (!s->g->load[e] && c->capacity[e] == c->capacity[d])
			return true;
	return false;
}

static void try_all(struct search *s, int k, double score)
{
	struct grouping *g = s->g;
	struct shares *c = s->c;

	s->steps += (long)c->n_domains * (c->n_domains / 2 + c->n);
	if (++s->nodes > EXHAUSTIVE_NODES || s->steps > STEPS_MAX)
		return;
	if (k == c->n) {
		consider(s, g->trial, g->per_domain ? normed(s, g->trial) : score);
		return;
	}
	for (int d = 0; d < c->n_domains; d++) {
		double add = extra(g, k, d);

		if (!allowed(s, k, d) || !has_room(s, d, g->load[d], size_of(c, k)) ||
			is_mirror(s, d))
			continue;
		for (int l = 0; l < k; l++)
			if (g->trial[l] == d)
				add += pair(g, k, l);
		g->trial[k] = d;
		g->load[d] += size_of(c, k);
		try_all(s, k + 1, score + add);
		g->load[d] -= size_of(c, k);
	}
}

bool grouping_search(struct grouping *g, struct shares *c, const double *value,
	const double *second, int *ret_domain_of)
{
	struct search s = {.g = g, .c = c, .second = second};

	fill_weights(g, c, value);
	/* First among those balanced by cores, then wherever there is room. */
	for (int pass = g->any; pass < 2 && !s.found; pass++) {
		s.loose = pass == 1;
		for (int d = 0; d < c->n_domains; d++) {
			/* No balanced grouping has more in a domain: see shares_balanced(). */
			int most = c->equal ? (c->n * c->capacity[d] + c->total) / c->total
					    : (c->sum * c->capacity[d] + c->biggest * c->total) /
						      c->total;

			g->max[d] = g->any && c->equal     ? c->capacity[d]
				    : c->shared || c->even ? c->n
				    : c->equal             ? c->capacity[d] / c->size[0]
							   : c->capacity[d];
			if (!s.loose && most < g->max[d])
				g->max[d] = most;
		}
		if (c->n <= EXHAUSTIVE_JOBS) {
			s.nodes = s.steps = 0;
			memset(g->load, 0, (size_t)c->n_domains * sizeof(int));
			try_all(&s, 0, 0);
		}
		if ((c->n > EXHAUSTIVE_JOBS || s.nodes > EXHAUSTIVE_NODES || s.steps > STEPS_MAX) &&
			first_fit(&s, g->trial)) {
			improve(&s, g->trial);
			consider(&s, g->trial,
				g->per_domain ? normed(&s, g->trial) : pair_sum(g, c, g->trial));
		}
	}
	if (s.found)
		memcpy(ret_domain_of, g->best, (size_t)c->n * sizeof(int));
	return s.found;
}
