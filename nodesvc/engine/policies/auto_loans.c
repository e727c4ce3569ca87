/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto_loans.c - who lends idle time and who borrows it, for a job cannot do both: as callisto's
 * loans, but for whom the model expects to gain by them.
 */
#include <math.h>
#include <string.h>

#include "nodesvc/engine/policies/auto.h"

/* What little an owner leaves is of use, and he hardly loses by it. Measured on a virtual machine
 * of two cores, eight pairs of half a second each: where he worked 9.5 ms of 10, 1.3 % (0.4
 * to 2.1), where 0.85 of 1 or 8.5 of 10, nothing that can be told. */
#define LEND_BELOW   0.95
#define LEND_DWELL_S 2.0
#define LEND_WEIGHT  1
#define LEND_FILL    0.65  /* of what is idle; the part that a donee was seen to get is not known */
#define LEND_FAR     0.5   /* of what that is worth elsewhere: its caches are not the borrower's */
#define LEND_GAINS   0.002 /* ln speed by one core more */
#define LENT_SEEN    2     /* samples of a lender ... */
#define LENT_SLACK   0.01  /* ln: ... that may be off by that; a floor has 3 % to spare */

static const struct auto_phase *phase_of(const struct policy *p, const int *slot, int k)
{
	return auto_phase_of(&p->model, slot[p->shares.job[k]]);
}

/* The part of its cores that a job leaves idle, if that is worth lending. */
static double idle_part(const struct auto_phase *f)
{
	if (f->idle)
		return 1;
	return f->utilization < LEND_BELOW ? 1 - f->utilization : 0;
}

/* ln: what @more cores do for a job beyond its own. */
static double gain_by(const struct policy *p, const int *slot, int k, double more)
{
	const float *curve =
		p->model.curve + (size_t)slot[p->shares.job[k]] * (size_t)p->model.stride;
	double n = p->size[k] + more;
	int low = n < p->model.most ? (int)n : p->model.most;

	if (low == p->model.most)
		return curve[low] - curve[p->size[k]];
	return curve[low] + (curve[low + 1] - curve[low]) * (n - low) - curve[p->size[k]];
}

/* Threads that wait for one another wait for the one whose core the owner has just then. */
static bool may_borrow(const struct policy *p, const int *slot, int k)
{
	const struct view_job *j = &p->shares.v->job[p->shares.job[k]];

	return !phase_of(p, slot, k)->idle && !j->coupled && j->polling == 0 &&
	       gain_by(p, slot, k, 1) > LEND_GAINS;
}

/* ln: what those with @borrows gain, all together: who lends does so to those in his domains, in
 * equal parts, else to all. */
static double worth(struct policy *p, const int *slot, const bool *borrows)
{
	const struct shares *c = &p->shares;
	const struct auto_deal *d = &p->deal[p->chosen];
	double *idle = p->idle, far = 0, sum = 0;
	int *takers = p->domains, all = 0;

	memset(idle, 0, (size_t)c->n_domains * sizeof(*idle));
	memset(takers, 0, (size_t)c->n_domains * sizeof(*takers));
	for (int k = 0; k < c->n; k++) {
		double part = borrows[k] ? 0 : LEND_FILL * idle_part(phase_of(p, slot, k));

		all += borrows[k];
		for (int e = 0; e < c->n_domains; e++) {
			int n = auto_cell(p, d, k)[e];

			takers[e] += borrows[k] && n > 0;
			idle[e] += part * n;
		}
	}
	for (int e = 0; e < c->n_domains; e++)
		far += takers[e] ? 0 : LEND_FAR * idle[e];
	for (int k = 0; k < c->n; k++) {
		double more = borrows[k] ? far / all : 0;

		for (int e = 0; e < c->n_domains && borrows[k]; e++)
			more += auto_cell(p, d, k)[e] ? idle[e] / takers[e] : 0;
		if (more > 0)
			sum += gain_by(p, slot, k, more);
	}
	return sum;
}

/* Was it seen below its floor while others borrowed of it? Their threads fill its caches. */
static bool is_hurt(const struct policy *p, const int *slot, int k)
{
	const struct auto_deal *d = &p->deal[p->chosen];
	const struct auto_phase *f = phase_of(p, slot, k);
	const struct auto_seen *lent =
		auto_seen_own(f, p->size[k], auto_search_beside(&p->search, d->n, k) ^ AUTO_LENT);

	return !f->idle && lent && lent->n >= LENT_SEEN &&
	       lent->speed - auto_search_span(&p->search, d->n, k) <
		       p->search.floor[k] - LENT_SLACK;
}

/* Has it been seen there while nobody did? Its floor follows from that. Who has no speed has none,
 * and under clusters nothing counts as seen. */
static bool may_lend(const struct policy *p, const int *slot, int k)
{
	const struct auto_deal *d = &p->deal[p->chosen];
	const struct auto_phase *f = phase_of(p, slot, k);
	const struct auto_seen *own;

	if (f->idle || p->walls.on || !p->model.job[slot[p->shares.job[k]]].has_speed)
		return true;
	own = auto_seen_own(f, p->size[k], auto_search_beside(&p->search, d->n, k));
	return own && own->n >= LENT_SEEN;
}

/* Who has nothing to lend borrows; of the others whoever gains most by a core first, as long as
 * that is worth more than what he lends. */
static void choose(struct policy *p, const int *slot, bool *borrows)
{
	const struct shares *c = &p->shares;
	double best;

	for (int k = 0; k < c->n; k++) {
		bool may = may_borrow(p, slot, k), lends = idle_part(phase_of(p, slot, k)) > 0;

		borrows[k] = may && !lends;
		p->heat[k] = may && lends ? gain_by(p, slot, k, 1) : 0;
	}
	best = worth(p, slot, borrows);
	for (;;) {
		int next = 0;
		double with;

		for (int k = 1; k < c->n; k++)
			if (p->heat[k] > p->heat[next])
				next = k;
		if (!(p->heat[next] > 0))
			return;
		p->heat[next] = 0;
		borrows[next] = true;
		with = worth(p, slot, borrows);
		borrows[next] = with > best;
		best = fmax(with, best);
	}
}

static void look(struct policy *p, const int *slot, double now_s)
{
	const struct shares *c = &p->shares;

	/* A trial of clusters is of nothing else. */
	if (p->walls.on && now_s < p->walls.try_until_s)
		return;
	choose(p, slot, p->borrows);
	for (int k = 0; k < c->n; k++) {
		struct auto_job *j = &p->model.job[slot[c->job[k]]];
		bool hurt = is_hurt(p, slot, k);
		bool lends = !p->borrows[k] && idle_part(phase_of(p, slot, k)) > 0 && !hurt &&
			     may_lend(p, slot, k);

		if (lends == j->lends || (now_s - j->lends_s < LEND_DWELL_S && !hurt))
			continue;
		j->lends = lends;
		j->lends_s = now_s;
	}
}

/* Domains of which @set has cores; how many. */
static int domains_of(const struct shares *c, const struct coreset *set, int *ret)
{
	int n = 0;

	for (int d = 0; d < c->n_domains; d++)
		if (coreset_intersects(set, &c->t->domain[c->domain[d]].pus))
			ret[n++] = d;
	return n;
}

static bool is_in_one(const struct shares *c, const int *domain, int n, const struct coreset *set)
{
	for (int i = 0; i < n; i++)
		if (coreset_intersects(set, &c->t->domain[c->domain[domain[i]]].pus))
			return true;
	return false;
}

/* To those of its domains who borrow, else to all who do; false: there is nobody. */
static bool lend_of(struct policy *p, const int *slot, int donor, struct plan *ret)
{
	struct shares *c = &p->shares;
	struct plan_job *dj = &ret->job[c->job[donor]];
	double idle = p->size[donor] * idle_part(phase_of(p, slot, donor));
	int n_own = domains_of(c, &dj->coreset, p->domains), near = 0, far = 0;

	for (int k = 0; k < c->n; k++) {
		const struct plan_job *j = &ret->job[c->job[k]];

		p->takes[k] = TAKES_NOTHING;
		if (j->n_lent == PLAN_LENT_MAX || p->model.job[slot[c->job[k]]].lends ||
			!may_borrow(p, slot, k))
			continue;
		p->takes[k] = is_in_one(c, p->domains, n_own, &j->coreset) ? TAKES_NEAR : TAKES_FAR;
		*(p->takes[k] == TAKES_NEAR ? &near : &far) += 1;
	}
	for (int k = 0; k < c->n; k++) {
		struct plan_job *j = &ret->job[c->job[k]];

		if (p->takes[k] != (near ? TAKES_NEAR : TAKES_FAR))
			continue;
		dj->role = ROLE_DONOR;
		j->role = ROLE_DONEE;
		j->lent[j->n_lent++] = (struct plan_lent){
			.coreset = dj->coreset,
			.donor = c->job[donor],
			.weight = LEND_WEIGHT,
		};
		p->borrowed[slot[c->job[k]]] += LEND_FILL * idle / (near ? near : far);
	}
	return near || far;
}

void auto_lend(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		int i = c->job[k];

		p->borrowed[slot[i]] = 0;
		p->size[k] = topo_count_cores(c->t, &ret->job[i].coreset);
	}
	if (!p->cfg.lend)
		return;
	look(p, slot, v->now_s);
	for (int k = 0; k < c->n; k++) {
		struct auto_job *j = &p->model.job[slot[c->job[k]]];
		bool lent = j->lends && lend_of(p, slot, k, ret);

		if (lent != j->lent)
			j->lent_s = v->now_s;
		j->lent = lent;
	}
}
