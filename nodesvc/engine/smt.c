/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

#include <math.h>

/* One domain's members by falling value, and the cores they hold together. */
struct pairing {
	struct shares *c;
	const double *value;
	double *sum;
	int *member, n; /* competing jobs */
	int *core, m;   /* core_lx */
	int *threads;   /* [n] hardware threads of each member */
	int width;      /* hardware threads of a core */
	struct plan *p;
};

static int nth_thread(const struct shares *c, int core, int n)
{
	int pu = coreset_next(&c->t->core[core].pus, 0);

	while (n-- > 0)
		pu = coreset_next(&c->t->core[core].pus, pu + 1);
	return pu;
}

/* Members and cores of domain @d; false: nothing to pair. */
static bool collect(struct pairing *x, const int *domain_of, int d)
{
	struct shares *c = x->c;
	int threads = 0;

	x->n = x->m = 0;
	for (int k = 0; k < c->n; k++) {
		int at = x->n;

		if (domain_of[k] != d)
			continue;
		for (; at > 0 && x->value[x->member[at - 1]] < x->value[k]; at--)
			x->member[at] = x->member[at - 1];
		x->member[at] = k;
		x->n++;
	}
	for (int i = 0; i < c->capacity[d]; i++) {
		int core = c->core[c->first_core[d] + i];
		bool held = false;

		for (int j = 0; j < x->n && !held; j++)
			held = bits_intersect(&c->t->core[core].pus,
				&x->p->job[c->job[x->member[j]]].coreset, c->words);
		if (!held)
			continue;
		/* Half a pair outside the envelope, or cores of two kinds: left alone. */
		if (!bits_subset(&c->t->core[core].pus, c->envelope[0], c->words) ||
			(x->m > 0 && coreset_count(&c->t->core[core].pus) != x->width))
			return false;
		x->width = coreset_count(&c->t->core[core].pus);
		x->core[x->m++] = core;
	}
	for (int j = 0; j < x->n; j++) {
		x->threads[j] = coreset_count(&x->p->job[c->job[x->member[j]]].coreset);
		threads += x->threads[j];
	}
	/* Fewer cores than threads: a job has some in another domain. */
	return x->n > 1 && x->width > 1 && threads == x->m * x->width;
}

/* Sum over the cores of what their threads' jobs differ by; -1: not a dealing of these threads. */
static double running_score(const struct pairing *x)
{
	const struct shares *c = x->c;
	double score = 0;

	for (int j = 0; j < x->n; j++) {
		const struct coreset *now = &c->v->job[c->job[x->member[j]]].current;

		if (coreset_count(now) != x->threads[j])
			return -1;
	}
	for (int i = 0; i < x->m; i++)
		for (int a = 0; a < x->width; a++) {
			int pu = nth_thread(c, x->core[i], a), owner = -1;

			for (int j = 0; j < x->n; j++)
				if (coreset_has(&c->v->job[c->job[x->member[j]]].current,
					    (unsigned int)pu)) {
					if (owner >= 0)
						return -1;
					owner = x->member[j];
				}
			if (owner < 0)
				return -1;
			for (int b = 0; b < a; b++)
				for (int j = 0; j < x->n; j++)
					if (coreset_has(&c->v->job[c->job[x->member[j]]].current,
						    (unsigned int)nth_thread(c, x->core[i], b)))
						score += fabs(
							x->value[owner] - x->value[x->member[j]]);
		}
	return score;
}

/*
 * Threads by falling value fill the cores layer by layer, each core one thread a layer: the tiers
 * of grouping.c. In a layer the largest goes where the sum is least. Returns the score.
 */
static double deal(struct pairing *x, bool give)
{
	struct shares *c = x->c;
	double score = 0;
	int at = 0, left = x->threads[0];

	for (int i = 0; i < x->m; i++)
		x->sum[x->core[i]] = 0;
	for (int j = 0; j < x->n && give; j++)
		coreset_zero(&x->p->job[c->job[x->member[j]]].coreset);
	for (int layer = 0; layer < x->width; layer++) {
		for (int i = 0; i < x->m; i++)
			c->owner[x->core[i]] = -1;
		for (int n = 0; n < x->m; n++) {
			int to = -1, k;

			while (left == 0 && at + 1 < x->n)
				left = x->threads[++at];
			left--;
			k = x->member[at];
			for (int i = 0; i < x->m; i++)
				if (c->owner[x->core[i]] < 0 &&
					(to < 0 || x->sum[x->core[i]] < x->sum[to]))
					to = x->core[i];
			c->owner[to] = k;
			x->sum[to] += x->value[k];
			score += (x->width - 1 - 2 * layer) * x->value[k];
			if (give)
				coreset_add(&x->p->job[c->job[k]].coreset,
					(unsigned int)nth_thread(c, to, layer));
		}
	}
	return score;
}

void smt_pair(struct shares *c, const int *domain_of, const double *value, double h, double *sum,
	struct plan *p)
{
	struct pairing x = {.c = c, .value = value, .sum = sum, .p = p};

	x.member = c->scratch;
	x.threads = x.member + c->max_jobs;
	x.core = x.threads + c->max_jobs;
	for (int d = 0; d < c->n_domains && c->uniform && !c->shared; d++) {
		double running, best;

		if (!collect(&x, domain_of, d))
			continue;
		running = running_score(&x);
		best = deal(&x, false);
		if (running >= 0 && running * (1 + h) >= best) {
			for (int j = 0; j < x.n; j++)
				p->job[c->job[x.member[j]]].coreset =
					c->v->job[c->job[x.member[j]]].current;
			continue;
		}
		deal(&x, true);
		for (int j = 0; j < x.n; j++)
			plan_why(p, c->job[x.member[j]],
				"%d hardware threads of domain %d, beside the most different of %d "
				"others",
				x.threads[j], c->domain[d], x.n - 1);
	}
}
