/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grouping.c - the exact grouping for equal sizes.
 *
 * In a domain of k jobs sorted by R, the sum of |R_i - R_j| over pairs is the sum of
 * (2j - k - 1) * R_(j). All domains together hand out a multiset of such coefficients; matching
 * them sorted with R sorted is optimal (rearrangement inequality), and reachable because the
 * order inside each domain agrees. Equal coefficients form a tier; how a tier's jobs spread over
 * its domains does not change the score: that is where ties are broken.
 */
#include "nodesvc/engine/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void grouping_init(struct grouping *g, const struct policy_cfg *cfg)
{
	size_t n = (size_t)cfg->max_jobs, s = (size_t)cfg->topo->n_domains;

	memset(g, 0, sizeof(*g));
	g->max_jobs = cfg->max_jobs;
	g->max_domains = cfg->topo->n_domains;
	g->weight = arena_alloc(cfg->memory, n * n, sizeof(double));
	g->gain = arena_alloc(cfg->memory, n * s, sizeof(double));
	g->sum = arena_alloc(cfg->memory, s, sizeof(double));
	g->part = arena_alloc(cfg->memory, s, sizeof(double));
	g->extra = arena_alloc(cfg->memory, n * s, sizeof(double));
	g->sorted = arena_alloc(cfg->memory, n, sizeof(int));
	g->tier_of = arena_alloc(cfg->memory, n, sizeof(int));
	g->count = arena_alloc(cfg->memory, s, sizeof(int));
	g->load = arena_alloc(cfg->memory, s, sizeof(int));
	g->max = arena_alloc(cfg->memory, s, sizeof(int));
	g->label = arena_alloc(cfg->memory, s, sizeof(int));
	g->head = arena_alloc(cfg->memory, n, sizeof(int));
	g->trial = arena_alloc(cfg->memory, n, sizeof(int));
	g->best = arena_alloc(cfg->memory, n, sizeof(int));
	g->free_slot = arena_alloc(cfg->memory, 2 * n * s, 1);
}

struct key {
	double value;
	int idx;
};

/* Merges two runs of @from; equal values: those of the left run first. No branch on data. */
static void merge(const struct key *from, int left, int mid, int right, struct key *to)
{
	int a = left, b = mid;

	for (int i = left; a < mid && b < right; i++) {
		bool second = from[b].value < from[a].value;

		to[i] = from[second ? b : a];
		a += !second;
		b += second;
	}
	if (a < mid)
		memcpy(to + a + b - mid, from + a, (size_t)(mid - a) * sizeof(*to));
	else
		memcpy(to + a + b - mid, from + b, (size_t)(right - b) * sizeof(*to));
}

/* By merging: qsort() may allocate, and random values make every branch of others a miss. */
void grouping_sort(int *idx, int n, const double *value)
{
	struct key room[2][CHECK_JOBS_MAX], *from = room[0], *to = room[1];

	for (int i = 0; i < n; i++)
		from[i] = (struct key){value[i], i};
	for (int run = 1; run < n; run *= 2) {
		struct key *next = from;

		for (int left = 0; left < n; left += 2 * run) {
			int mid = left + run < n ? left + run : n;

			merge(from, left, mid, mid + run < n ? mid + run : n, to);
		}
		from = to;
		to = next;
	}
	for (int i = 0; i < n; i++)
		idx[i] = from[i].idx;
}

static bool has_coef(int count, int coef)
{
	return abs(coef) <= count - 1 && ((coef + count + 1) & 1) == 0;
}

/*
 * One tier: its jobs, largest @second first, each to the domain with the least sum so far. The
 * domains that take part are marked in load[].
 */
static void deal_tier(struct grouping *g, int n_domains, int *job, int n, const double *second,
	int *ret_domain_of)
{
	int *to = g->load, m = 0; /* marks are read before they are written over */

	/* A domain takes one job of a tier, so the order of sums holds to the tier's end. */
	for (int d = 0; d < n_domains; d++) {
		int at = m;

		if (!g->load[d])
			continue;
		for (; at > 0 && g->sum[d] < g->sum[to[at - 1]]; at--)
			to[at] = to[at - 1];
		to[at] = d;
		m++;
	}
	for (int i = 1; i < n; i++) {
		int k = job[i], at = i;

		for (; at > 0 && second[k] > second[job[at - 1]]; at--)
			job[at] = job[at - 1];
		job[at] = k;
	}
	for (int i = 0; i < n; i++) {
		g->sum[to[i]] += second[job[i]];
		ret_domain_of[job[i]] = to[i];
	}
}

static void deal_balanced(
	struct grouping *g, int n, int n_domains, const double *second, int *ret_domain_of)
{
	int coef = 0, left = n;

	for (int d = 0; d < n_domains; d++) {
		coef = g->count[d] > coef ? g->count[d] : coef;
		g->sum[d] = 0;
	}
	for (; left > 0; coef--) {
		int size = 0;

		for (int d = 0; d < n_domains; d++) {
			g->load[d] = has_coef(g->count[d], coef);
			size += g->load[d];
		}
		/* Descending, equal values: the later arrival first. */
		for (int i = 0; i < size; i++)
			g->trial[i] = g->sorted[left - 1 - i];
		deal_tier(g, n_domains, g->trial, size, second, ret_domain_of);
		left -= size;
	}
}

/* Jobs in order of arrival, each to the first domain with room in its tier. */
static void take_slots(struct grouping *g, int n, int n_domains, int *ret_domain_of)
{
	for (int k = 0; k < n; k++) {
		unsigned char *slot = g->free_slot + (size_t)g->tier_of[k] * (size_t)n_domains;
		int d = 0;

		while (!slot[d])
			d++;
		slot[d]--;
		ret_domain_of[k] = d;
	}
}

static void deal_first(struct grouping *g, int n, int n_domains, int *ret_domain_of)
{
	int coef = 0, left = n, tier = 0;
	size_t stride = (size_t)n_domains;

	for (int d = 0; d < n_domains; d++)
		coef = g->count[d] > coef ? g->count[d] : coef;
	for (; left > 0; coef--, tier++)
		for (int d = 0; d < n_domains; d++) {
			bool has = has_coef(g->count[d], coef);

			g->free_slot[(size_t)tier * stride + (size_t)d] = has;
			if (has)
				g->tier_of[g->sorted[--left]] = tier;
		}
	take_slots(g, n, n_domains, ret_domain_of);
}

/*
 * Each domain's sum over its jobs less one: coefficients (2j - k - 1) / (k - 1), else the same.
 * @second NULL: ties to the first in order of arrival.
 */
static void deal_per_domain(
	struct grouping *g, int n, int n_domains, const double *second, int *ret_domain_of)
{
	double *coef = g->gain;
	int *slot = g->best, *domain = g->head, m = 0, tier = 0;

	for (int d = 0; d < n_domains; d++) {
		int k = g->count[d];

		g->sum[d] = 0;
		for (int j = 1; j <= k; j++, m++) {
			coef[m] = k > 1 ? (2 * j - k - 1) / (double)(k - 1) : 0;
			domain[m] = d;
		}
	}
	grouping_sort(slot, m, coef);
	for (int left = n, size; left > 0; left -= size, tier++) {
		/* Equal fractions are equal doubles. */
		for (int d = 0; d < n_domains; d++)
			g->load[d] = 0;
		for (size = 0; size < left && coef[slot[left - 1 - size]] == coef[slot[left - 1]];
			size++) {
			g->load[domain[slot[left - 1 - size]]]++;
			g->trial[size] = g->sorted[left - 1 - size];
		}
		if (second) {
			deal_tier(g, n_domains, g->trial, size, second, ret_domain_of);
			continue;
		}
		for (int d = 0; d < n_domains; d++)
			g->free_slot[(size_t)tier * (size_t)n_domains + (size_t)d] =
				(unsigned char)g->load[d];
		for (int i = 0; i < size; i++)
			g->tier_of[g->trial[i]] = tier;
	}
	if (!second)
		take_slots(g, n, n_domains, ret_domain_of);
}

/* tier_of[k] := the first job that looks like k does; returns whether any do. */
static bool find_alike(struct grouping *g, int n, const double *value, const double *second)
{
	bool any = false;

	for (int i = 0, first = 0; i < n; i++) {
		int k = g->sorted[i];

		if (value[k] != value[g->sorted[first]])
			first = i;
		g->tier_of[k] = k;
		for (int j = first; j < i && g->tier_of[k] == k; j++)
			if (second[g->sorted[j]] == second[k])
				g->tier_of[k] = g->tier_of[g->sorted[j]];
		any = any || g->tier_of[k] != k;
	}
	return any;
}

/*
 * Jobs that look alike may be exchanged at no cost: do so until the grouping is the first in
 * order of arrival.
 */
static void order_alike(struct grouping *g, int n, int n_domains, const double *value,
	const double *second, int *domain_of)
{
	const int *class = g->tier_of;
	int n_labels = 0, *next = g->best, *head = g->head, *least = g->head;

	if (!find_alike(g, n, value, second))
		return;
	for (int d = 0; d < n_domains; d++) {
		g->label[d] = -1;
		g->load[d] = n; /* earliest member that has no double */
	}
	for (int k = 0; k < n; k++)
		g->trial[k] = 0;
	for (int k = 0; k < n; k++)
		g->trial[class[k]]++;
	/* next[k]: the job after k of the same class; head[] starts the chains. */
	for (int k = 0; k < n; k++)
		head[k] = -1;
	for (int k = n - 1; k >= 0; k--) {
		if (g->trial[class[k]] == 1)
			g->load[domain_of[k]] = k;
		next[k] = head[class[k]];
		head[class[k]] = k;
	}
	/* From here on: the lowest label there can still be in a class. */
	memset(least, 0, (size_t)n * sizeof(int));
	for (int k = 0; k < n; k++) {
		int pick = k, best_rank = n_domains + n + 1, d;

		for (int l = k; l >= 0 && best_rank > least[class[k]]; l = next[l]) {
			int at = domain_of[l], rank;

			rank = g->label[at] >= 0 ? g->label[at] : n_domains + g->load[at];
			if (rank < best_rank) {
				pick = l;
				best_rank = rank;
			}
		}
		least[class[k]] = best_rank < n_domains ? best_rank : 0;
		d = domain_of[pick];
		domain_of[pick] = domain_of[k];
		domain_of[k] = d;
		if (g->label[d] < 0)
			g->label[d] = n_labels++;
	}
}

void grouping_anchor(struct grouping *g, const struct shares *c, const double *value,
	const int *pin, const double *piece_value)
{
	double smallest;
	bool equal = c->equal;

	g->pin = NULL;
	g->anchored = c->n_pieces > 0;
	g->fixed = 0;
	for (int k = 0; pin && k < c->n; k++)
		g->anchored = g->anchored || pin[k] >= 0;
	if (!g->anchored)
		return;
	g->pin = pin;
	smallest = grouping_smallest(c);
	for (int i = 0; i < c->n_pieces; i++)
		equal = equal && (c->even || c->piece[i].size == c->size[0]);
	g->weighted = !equal;
	for (int k = 0; k < c->n; k++)
		for (int d = 0; d < c->n_domains; d++)
			g->extra[(size_t)k * (size_t)g->max_domains + (size_t)d] = 0;
	for (int i = 0; i < c->n_pieces; i++) {
		const struct shares_piece *a = &c->piece[i];

		for (int k = 0; k < c->n; k++)
			g->extra[(size_t)k * (size_t)g->max_domains + (size_t)a->domain] +=
				fabs(value[k] - piece_value[i]) *
				(equal ? 1 : c->size[k] * a->size / (smallest * smallest));
		for (int j = 0; j < i; j++)
			if (c->piece[j].domain == a->domain)
				g->fixed += fabs(piece_value[j] - piece_value[i]) *
					    (equal ? 1
						   : c->piece[j].size * a->size /
								    (smallest * smallest));
	}
}

double grouping_score(
	struct grouping *g, const struct shares *c, const double *value, const int *domain_of)
{
	double score = g->anchored ? g->fixed : 0, smallest = grouping_smallest(c);
	double *weight = g->gain;
	int *members = g->load;

	for (int d = 0; d < c->n_domains; d++) {
		g->sum[d] = weight[d] = g->part[d] = 0;
		members[d] = 0;
	}
	/* Ascending: against all before it in its domain a job is the larger of the pair. */
	for (int i = 0; i < c->n; i++) {
		int k = g->sorted[i], d = domain_of[k];
		double w = g->weighted ? c->size[k] / smallest : 1;

		g->part[d] += w * (value[k] * weight[d] - g->sum[d]);
		weight[d] += w;
		g->sum[d] += w * value[k];
		members[d]++;
		if (g->anchored)
			score += g->extra[(size_t)k * (size_t)g->max_domains + (size_t)d];
	}
	for (int d = 0; d < c->n_domains; d++)
		score += g->per_domain && members[d] > 1 ? g->part[d] / (members[d] - 1)
							 : g->part[d];
	return score;
}

double grouping_best(struct grouping *g, struct shares *c, const double *value,
	const double *second, enum grouping_tie tie, int *ret_domain_of)
{
	if (!g->anchored)
		g->weighted = !c->equal;
	grouping_sort(g->sorted, c->n, value);
	if (!c->equal || !c->uniform || g->anchored || g->any) {
		bool found = grouping_search(
			g, c, value, tie == TIE_FIRST ? NULL : second, ret_domain_of);

		grouping_sort(g->sorted, c->n, value);
		if (found)
			return grouping_score(g, c, value, ret_domain_of);
		/* Sizes fit no grouping: by number of jobs, cores are shared out inside. */
		g->weighted = g->anchored = false;
		if (!c->uniform) {
			shares_by_arrival(c, ret_domain_of);
			return grouping_score(g, c, value, ret_domain_of);
		}
	}
	shares_counts(c, g->count);
	if (g->per_domain)
		deal_per_domain(
			g, c->n, c->n_domains, tie == TIE_FIRST ? NULL : second, ret_domain_of);
	else if (tie == TIE_FIRST)
		deal_first(g, c->n, c->n_domains, ret_domain_of);
	else
		deal_balanced(g, c->n, c->n_domains, second, ret_domain_of);
	if (tie != TIE_FIRST)
		order_alike(g, c->n, c->n_domains, value, second, ret_domain_of);
	return grouping_score(g, c, value, ret_domain_of);
}
