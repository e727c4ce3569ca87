/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto_deal.c - what others propose as dealings, and a dealing as a plan.
 */
#include <math.h>
#include <string.h>

#include "nodesvc/engine/policies/auto.h"

int auto_open_other(struct auto_other *o, const struct policy_ops *ops,
	const struct policy_cfg *cfg, struct errbuf *err)
{
	struct policy_cfg own = *cfg;

	own.option = NULL;
	own.n_options = 0;
	o->ops = ops;
	o->state = arena_alloc(cfg->memory, 1, o->ops->size);
	return o->state ? o->ops->create(o->state, &own, err) : 0;
}

/* Adds the cores of one job; false: somebody else has one of them, or it has none here. */
static bool add_cores(struct policy *p, struct auto_deal *d, int k, const struct coreset *set)
{
	struct shares *c = &p->shares;
	bool any = false;

	bits_for_each (pu, set, c->words) {
		int core = c->t->pu_core[pu];

		if (core < 0 || c->core_domain[core] < 0 ||
			(c->owner[core] >= 0 && c->owner[core] != k))
			return false;
		if (c->owner[core] < 0)
			auto_cell(p, d, k)[c->core_domain[core]]++;
		c->owner[core] = k;
		any = true;
	}
	return any;
}

void auto_clear_deal(struct policy *p, struct auto_deal *d)
{
	struct shares *c = &p->shares;

	d->there = false;
	memset(d->n, 0, (size_t)c->n * (size_t)c->n_domains * sizeof(short));
	for (int i = 0; i < c->t->n_cores; i++)
		c->owner[i] = -1;
}

/* Whose cores overlap is no dealing. */
static void read_plan(struct policy *p, const struct plan *from, struct auto_deal *d)
{
	auto_clear_deal(p, d);
	d->there = true;
	for (int k = 0; k < p->shares.n && d->there; k++)
		d->there = add_cores(p, d, k, &from->job[p->shares.job[k]].coreset);
}

/* What runs; who has come gets what is free, in equal parts. */
void auto_read_current(struct policy *p, struct auto_deal *d)
{
	struct shares *c = &p->shares;
	int n_new = 0, free = 0, next = 0;

	auto_clear_deal(p, d);
	for (int k = 0; k < c->n; k++) {
		const struct coreset *now = &c->v->job[c->job[k]].current;

		if (coreset_is_empty(now))
			n_new++;
		else if (!coreset_is_subset(now, c->envelope[k]) || !add_cores(p, d, k, now))
			return;
	}
	for (int i = 0; i < c->total; i++)
		free += c->owner[c->core[i]] < 0;
	if (n_new == c->n || free < n_new)
		return;
	for (int k = 0; k < c->n; k++) {
		int want = 0, min = c->v->job[c->job[k]].min_cores;

		if (n_new > 0 && coreset_is_empty(&c->v->job[c->job[k]].current)) {
			want = free / n_new + (free % n_new > 0);
			free -= want;
			n_new--;
		}
		for (; want > 0; next++)
			if (c->owner[c->core[next]] < 0) {
				auto_cell(p, d, k)[c->core_domain[c->core[next]]]++;
				want--;
			}
		want = 0;
		for (int e = 0; e < c->n_domains; e++)
			want += auto_cell(p, d, k)[e];
		if (want < min)
			return;
	}
	d->there = true;
}

static bool has_signals(const struct policy *p, const struct auto_other *o)
{
	for (int k = 0; k < p->shares.n; k++)
		for (uint32_t needs = o->ops->needs; needs; needs &= needs - 1)
			if (p->shares.v->job[p->shares.job[k]]
					.signal[__builtin_ctz(needs)]
					.provenance == PROVENANCE_NONE)
				return false;
	return true;
}

/* What another policy would do. */
void auto_ask_other(struct policy *p, int which, const int *slot)
{
	struct errbuf unused = {""};
	struct auto_other *o = &p->other[which];
	const struct view *v = p->shares.v;

	p->deal[which].there = false;
	if (!has_signals(p, o) || plan_reset(&p->scratch, v, p->shares.t, &unused) ||
		o->ops->decide(o->state, v, slot, &p->scratch, &unused))
		return;
	read_plan(p, &p->scratch, &p->deal[which]);
}

/* Of where the jobs are it knows what it did itself: what it is held against, and falls back to,
 * does not follow what was moved meanwhile. */
void auto_ask_fair(struct policy *p, const int *slot)
{
	struct errbuf unused = {""};
	struct auto_other *o = &p->other[AUTO_FAIR];
	struct view v = *p->shares.v;

	for (int i = 0; i < v.n_jobs; i++) {
		p->fair_job[i] = v.job[i];
		if (!v.job[i].excluded)
			p->fair_job[i].current = p->fair_now[slot[i]];
	}
	v.job = p->fair_job;
	p->deal[AUTO_FAIR].there = false;
	if (plan_reset(&p->scratch, &v, p->shares.t, &unused) ||
		o->ops->decide(o->state, &v, slot, &p->scratch, &unused))
		return;
	for (int i = 0; i < v.n_jobs; i++)
		p->fair_now[slot[i]] = p->scratch.job[i].coreset;
	read_plan(p, &p->scratch, &p->deal[AUTO_FAIR]);
}

int auto_size(const struct policy *p, const struct auto_deal *d, int k)
{
	int n = 0;

	for (int e = 0; e < p->shares.n_domains; e++)
		n += auto_cell(p, d, k)[e];
	return n;
}

/* Sizes by the curves alone, exactly; then where, the heavy on memory apart. */
void auto_allocate(struct policy *p, const int *slot)
{
	struct shares *c = &p->shares;
	const struct auto_deal *fair = &p->deal[AUTO_FAIR];
	int most = c->total - c->n + 1;
	double least = log(p->cfg.q);

	for (int k = 0; k < c->n; k++) {
		const struct auto_phase *f = auto_phase_of(&p->model, slot[c->job[k]]);
		const float *curve =
			p->model.curve + (size_t)slot[c->job[k]] * (size_t)p->model.stride;
		int min = c->v->job[c->job[k]].min_cores, at_fair = auto_size(p, fair, k);

		p->heat[k] = f->idle ? 0 : f->bytes * exp(f->level);
		for (int u = 1; u <= c->total; u++) {
			bool ruled_out = u > most || u < min ||
					 (p->search.fixed[k] && u != at_fair) ||
					 curve[u] - curve[at_fair] < least;

			*allocate_cost(&p->allocate, k, u) = ruled_out ? 1e6 + u : -curve[u];
		}
	}
	auto_clear_deal(p, &p->deal[AUTO_EXACT]);
	if (allocate_best(&p->allocate, c->n, c->total, COMBINE_SUM, p->size) > 1e5)
		return;
	shares_deal_apart(c, p->size, p->heat, &p->scratch);
	read_plan(p, &p->scratch, &p->deal[AUTO_EXACT]);
}

/* Current cores first, then the lowest free ones of each domain. */
void auto_deal_out(struct policy *p, const struct auto_deal *d, struct plan *ret)
{
	struct shares *c = &p->shares;
	int *want = c->scratch, *list = want + c->n;

	for (int i = 0; i < c->t->n_cores; i++)
		c->owner[i] = -1;
	for (int e = 0; e < c->n_domains; e++) {
		const int *core = c->core + c->first_core[e];
		int at = 0;

		for (int k = 0; k < c->n; k++)
			want[k] = auto_cell(p, d, k)[e];
		for (int i = 0; i < c->capacity[e]; i++) {
			int k = c->running[core[i]];

			if (k >= 0 && want[k] > 0) {
				c->owner[core[i]] = k;
				want[k]--;
			}
		}
		for (int k = 0; k < c->n; k++)
			for (; at < c->capacity[e] && want[k] > 0; at++)
				if (c->owner[core[at]] < 0) {
					c->owner[core[at]] = k;
					want[k]--;
				}
	}
	for (int k = 0; k < c->n; k++) {
		int n = 0;

		for (int i = 0; i < c->total; i++)
			if (c->owner[c->core[i]] == k)
				list[n++] = c->core[i];
		shares_give(c, k, list, n, ret);
	}
}
