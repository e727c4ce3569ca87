/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbmp_deal.c - SBMP's second half: from curves to units, coresets, slices and loans.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/policies/sbmp.h"

#define DONEE_WEIGHT     1    /* of 100: "much lower" priority (section 3.4) */
#define GREEN_TABLE_HALF 0.60 /* ours: relative performance on half the cores ... */
#define GREEN_SPEEDUP    0.60 /* ... and speed-up per core that make a job Green */
#define GREEN_UNITS      4

int sbmp_cores(const struct policy *p, int units)
{
	int n = units * p->units.size;

	return n < p->shares.total ? n : p->shares.total;
}

int sbmp_least(const struct policy *p, int k)
{
	int min = p->shares.v->job[p->shares.job[k]].min_cores;

	return min > 1 ? (min + p->units.size - 1) / p->units.size : 1;
}

void sbmp_fill_peaks(struct policy *p, const int *slot)
{
	for (int k = 0; k < p->shares.n; k++) {
		const struct job_state *s = &p->state[slot[p->shares.job[k]]];

		p->peak[k] = 0;
		for (int u = 1; s->has_fit && u <= p->most[k]; u++)
			p->peak[k] = fmax(p->peak[k], scalability_speed(&s->fit, sbmp_cores(p, u)));
	}
}

/* Relative performance against the job's best width. */
double sbmp_table(const struct policy *p, int k, const struct job_state *s, int cores)
{
	return scalability_speed(&s->fit, cores) / p->peak[k];
}

/*
 * Almost linear jobs lose by any partition and are better run alone, in turns (section 3.1), "by
 * checking the scalability-table" (4.3). The paper gives no bound; these are ours, and paper goes
 * by the table alone.
 */
void sbmp_find_green(struct policy *p, const int *slot)
{
	const struct shares *c = &p->shares;
	bool freezable = true;
	int n = 1;

	/* Whoever is not run alone is frozen meanwhile, which no step of several nodes is. */
	for (int k = 0; k < c->n; k++)
		freezable = freezable && c->v->job[c->job[k]].nodes <= 1;
	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		/* Half of the slices: polling jobs may have the others. */
		p->is_green[k] = c->n > 1 && n < PLAN_SLICES_MAX / 2 && p->cfg.green && freezable &&
				 p->units.n >= 2 &&
				 sbmp_table(p, k, s, c->total / 2) <= GREEN_TABLE_HALF &&
				 (p->cfg.green == GREEN_PAPER ||
					 (p->units.n >= GREEN_UNITS &&
						 scalability_speed(&s->fit, c->total) >=
							 GREEN_SPEEDUP * c->total));
		n += p->is_green[k];
	}
}

static double cost(const struct policy *p, int k, const struct job_state *s, int units)
{
	int n = sbmp_cores(p, units), min = p->shares.v->job[p->shares.job[k]].min_cores;

	/* Far above any slow-down: taken only where no dealing avoids it. */
	if (n < min)
		return 1e6 * (min - n);
	switch (p->cfg.objective) {
	case OBJECTIVE_STP:
		return -sbmp_table(p, k, s, n);
	case OBJECTIVE_WSPEEDUP:
		return -scalability_speed(&s->fit, n) / scalability_speed(&s->fit, p->shares.total);
	default:
		return 1 / sbmp_table(p, k, s, n);
	}
}

/* Units for every job that is not Green; returns the objective's value. */
double sbmp_allocate(struct policy *p, const int *slot)
{
	const struct shares *c = &p->shares;
	enum combine how = p->cfg.objective == OBJECTIVE_WORST ? COMBINE_MAX : COMBINE_SUM;
	int *units = c->scratch, *least = p->given, n = 0, most = p->units.n + 2;
	double value;

	/* Everybody has one: nobody more than the rest, and one is looked at beyond that. */
	for (int k = 0; k < c->n; k++)
		most -= !p->is_green[k];
	for (int k = 0; k < c->n; k++) {
		if (p->is_green[k])
			continue;
		for (int u = 1; u <= most && u <= p->units.n; u++)
			*allocate_cost(&p->allocate, n, u) =
				cost(p, k, &p->state[slot[c->job[k]]], u);
		least[n++] = sbmp_least(p, k);
	}
	if (n == 0)
		return NAN;
	value = p->cfg.search ? allocate_climb(&p->allocate, n, p->units.n, how, least, units)
			      : allocate_best(&p->allocate, n, p->units.n, how, units);
	n = 0;
	for (int k = 0; k < c->n; k++)
		p->given[k] = p->is_green[k] ? 0 : units[n++];
	if (p->cfg.objective == OBJECTIVE_ANTT)
		return value / n;
	return p->cfg.objective == OBJECTIVE_WORST ? value : -value;
}

/* What a further core is worth to job @k: the slowest first where the largest counts; whom more
 * cores would slow down, last. */
static double mixed_gain(const struct policy *p, int k, const struct job_state *s)
{
	double now = cost(p, k, s, p->given[k]), gain = now - cost(p, k, s, p->given[k] + 1);

	return p->cfg.objective == OBJECTIVE_WORST && gain >= 0 ? now : gain;
}

/*
 * Every core to the job it helps most among those that can have one more. The costs of the mean and
 * the largest slow-down are convex in cores, and sizes that can be dealt form a polymatroid: exact.
 */
int sbmp_allocate_mixed(struct policy *p, const int *slot, struct plan *ret, struct errbuf *err)
{
	struct shares *c = &p->shares;
	bool *full = p->taken;
	double value = 0, most = 0;

	if ((p->cfg.objective != OBJECTIVE_ANTT && p->cfg.objective != OBJECTIVE_WORST) ||
		p->cfg.search || p->cfg.green)
		return err_set(err, -ENOTSUP,
			"job %s: envelope: differs from others'; sbmp then knows only the "
			"objectives antt and worst, exact search and no Green jobs",
			c->v->job[c->job[1]].id);
	shares_mixed_start(c);
	for (int k = 0; k < c->n; k++) {
		shares_mixed_grow(c, k); /* it can: shares_mixed_sizes() has seen to it */
		p->given[k] = 1;
		full[k] = p->most[k] <= 1;
		p->gain[k] = mixed_gain(p, k, &p->state[slot[c->job[k]]]);
	}
	for (;;) {
		int best = -1;
		double best_gain = 0;

		for (int k = 0; k < c->n; k++) {
			double gain = p->gain[k];

			if (full[k])
				continue;
			if (best < 0 || gain > best_gain + 1e-12 ||
				(gain >= best_gain - 1e-12 && p->given[k] < p->given[best])) {
				best = k;
				best_gain = gain;
			}
		}
		if (best < 0)
			break;
		if (!shares_mixed_grow_or_full(c, best, full))
			continue;
		full[best] = ++p->given[best] >= p->most[best];
		p->gain[best] = mixed_gain(p, best, &p->state[slot[c->job[best]]]);
	}
	for (int k = 0; k < c->n; k++) {
		double slow = cost(p, k, &p->state[slot[c->job[k]]], p->given[k]);

		value += slow / c->n;
		most = fmax(most, slow);
	}
	ret->score = p->cfg.objective == OBJECTIVE_WORST ? most : value;
	shares_mixed_give(c, ret);
	return 0;
}

static bool owns_unit(const struct policy *p, int k, int unit)
{
	const struct shares *c = &p->shares;
	const struct coreset *now = &c->v->job[c->job[k]].current;

	for (int i = 0; i < p->units.count[unit]; i++)
		if (!coreset_intersects(
			    now, &c->t->core[p->units.core[p->units.first[unit] + i]].pus))
			return false;
	return true;
}

/* Jobs by the first unit where each runs; who runs nowhere, last. */
static void order_jobs(struct policy *p)
{
	const struct shares *c = &p->shares;
	int *unit_of = p->unit_owner, *first = p->domain_of, n = 0;

	for (int i = 0; i < c->t->n_cores; i++)
		unit_of[i] = p->units.n;
	for (int u = 0; u < p->units.n; u++)
		for (int i = 0; i < p->units.count[u]; i++)
			unit_of[p->units.core[p->units.first[u] + i]] = u;
	for (int k = 0; k < c->n; k++) {
		int at = n;

		first[k] = p->units.n;
		bits_for_each (pu, &c->v->job[c->job[k]].current, c->words) {
			int core = c->t->pu_core[pu];

			if (core >= 0 && unit_of[core] < first[k])
				first[k] = unit_of[core];
		}
		if (p->given[k] == 0)
			continue;
		for (; at > 0 && first[p->order[at - 1]] > first[k]; at--)
			p->order[at] = p->order[at - 1];
		p->order[at] = k;
		n++;
	}
	p->n_order = n;
}

static int package_of(const struct policy *p, int unit)
{
	return p->shares.t->core[p->units.core[p->units.first[unit]]].package;
}

/* Packages that the jobs have a part of, together, dealt in this order. */
static int count_parts(const struct policy *p)
{
	int parts = 0, unit = 0;

	for (int i = 0; i < p->n_order; i++)
		for (int u = 0; u < p->given[p->order[i]]; u++, unit++)
			parts += u == 0 || package_of(p, unit) != package_of(p, unit - 1);
	return parts;
}

/* Who fills whole packages before those who do not; else as before. */
static void whole_first(struct policy *p)
{
	int per = 1, n = 0, rest = 0, *later = p->domain_of;

	while (per < p->units.n && package_of(p, per) == package_of(p, 0))
		per++;
	for (int i = 0; i < p->n_order; i++) {
		int k = p->order[i];

		if (p->given[k] % per == 0)
			p->order[n++] = k;
		else
			later[rest++] = k;
	}
	memcpy(p->order + n, later, (size_t)rest * sizeof(int));
}

/*
 * Figure 3 (b): each job in one piece, one unit after another. In the order in which they lie, so
 * that few move, but for who spans fewer packages in another.
 */
static void centralise(struct policy *p)
{
	int parts, unit = 0;

	order_jobs(p);
	parts = count_parts(p);
	whole_first(p);
	if (count_parts(p) >= parts)
		order_jobs(p);
	for (int u = 0; u < p->units.n; u++)
		p->unit_owner[u] = -1;
	for (int i = 0; i < p->n_order; i++)
		for (int u = 0; u < p->given[p->order[i]]; u++)
			p->unit_owner[unit++] = p->order[i];
}

/* Units a job has stay its own; the rest are filled one after another. */
static void keep_units(struct policy *p, int *left)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		left[k] = p->given[k];
		for (int u = 0; u < p->units.n && left[k] > 0; u++)
			if (p->unit_owner[u] < 0 && owns_unit(p, k, u)) {
				p->unit_owner[u] = k;
				left[k]--;
			}
	}
	for (int k = 0; k < c->n; k++)
		for (int u = 0; u < p->units.n && left[k] > 0; u++)
			if (p->unit_owner[u] < 0) {
				p->unit_owner[u] = k;
				left[k]--;
			}
}

/* Section 2: "we use the centralized assignment of cores throughout this work". */
void sbmp_place(struct policy *p, struct plan *ret)
{
	struct shares *c = &p->shares;
	int *left = c->scratch, *list = left + c->max_jobs;

	for (int u = 0; u < p->units.n; u++)
		p->unit_owner[u] = -1;
	if (p->cfg.place == PLACE_CENTRALISED)
		centralise(p);
	else
		keep_units(p, left);
	for (int k = 0; k < c->n; k++) {
		int n = 0;

		for (int u = 0; u < p->units.n; u++)
			for (int i = 0; p->unit_owner[u] == k && i < p->units.count[u]; i++)
				list[n++] = p->units.core[p->units.first[u] + i];
		if (n)
			shares_give(c, k, list, n, ret);
	}
}

/* Green jobs one at a time on everything, the others together in between. */
void sbmp_gang_green(struct policy *p, struct plan *ret)
{
	struct shares *c = &p->shares;
	struct plan_slice *rest = &ret->slice[0];
	int n_green = 0, left = 0, s;

	for (int k = 0; k < c->n; k++)
		n_green += p->is_green[k];
	if (n_green == 0)
		return;
	/* Polling jobs may have made slices; then the first has everybody who does not poll. */
	if (ret->n_slices == 0) {
		rest->n_jobs = 0;
		for (int k = 0; k < c->n; k++)
			rest->job[rest->n_jobs++] = c->job[k];
		ret->n_slices = 1;
	}
	for (int k = 0; k < c->n; k++) {
		int i = c->job[k];

		if (!p->is_green[k])
			continue;
		shares_give(c, k, c->core, c->total, ret);
		ret->job[i].role = ROLE_GANG;
		s = ret->n_slices++;
		ret->slice[s].n_jobs = 1;
		ret->slice[s].job[0] = i;
		ret->slice[s].ms = p->cfg.slice_ms;
		plan_why(ret, i, "scales almost linearly: the whole node, in turns");
	}
	for (int l = 0; l < rest->n_jobs; l++)
		if (ret->job[rest->job[l]].role != ROLE_GANG)
			rest->job[left++] = rest->job[l];
	rest->n_jobs = left;
	rest->ms = p->cfg.slice_ms * left;
	if (left > 0)
		return;
	/* Nobody is left for the first one. */
	s = --ret->n_slices;
	rest->n_jobs = 1;
	rest->job[0] = ret->slice[s].job[0];
	rest->ms = ret->slice[s].ms;
}

/* Gain of donee @k from @cores more, by its table; not recomputed after the first donor. */
static double gain(const struct policy *p, int k, const struct job_state *s, int have, int cores)
{
	int n = have + cores < p->shares.total ? have + cores : p->shares.total;

	return sbmp_table(p, k, s, n) / sbmp_table(p, k, s, have);
}

/* Section 3.4: one donee per donor; a job is one or the other. */
void sbmp_donate(struct policy *p, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;
	bool *donor = p->taken;
	int busiest = -1, n_high = 0;

	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		donor[k] = s->has_utilization && s->utilization < p->cfg.donor;
		n_high += !donor[k];
		if (donor[k] &&
			(busiest < 0 ||
				s->utilization > p->state[slot[c->job[busiest]]].utilization))
			busiest = k;
	}
	/* Nobody is busy: the busiest of them is the donee. */
	if (n_high == 0 && busiest >= 0)
		donor[busiest] = false;
	for (int k = 0; k < c->n; k++) {
		struct plan_job *dj = &ret->job[c->job[k]], *rj;
		struct coreset lent;
		int best = -1, cores = topo_count_cores(c->t, &dj->coreset);
		double best_gain = 1 - 1e-9; /* more cores may harm: then nobody borrows */

		for (int r = 0; donor[k] && r < c->n; r++) {
			const struct job_state *s = &p->state[slot[c->job[r]]];
			double g;

			if (donor[r] || p->is_green[r] || p->is_green[k] ||
				ret->job[c->job[r]].n_lent == PLAN_LENT_MAX ||
				!coreset_intersects(&dj->coreset, c->envelope[r]))
				continue;
			g = gain(p, r, s, sbmp_cores(p, p->given[r]), cores);
			if (g > best_gain + 1e-12) {
				best = r;
				best_gain = g;
			}
		}
		if (best < 0)
			continue;
		rj = &ret->job[c->job[best]];
		dj->role = ROLE_DONOR;
		rj->role = ROLE_DONEE;
		coreset_and(&lent, &dj->coreset, c->envelope[best]);
		rj->lent[rj->n_lent++] = (struct plan_lent){
			.coreset = lent,
			.donor = c->job[k],
			.weight = DONEE_WEIGHT,
		};
		plan_why(ret, c->job[k], "uses under %.0f %% of its cores: lends them to %s",
			100 * p->cfg.donor, rj->id);
		plan_why(ret, c->job[best], "gains %.0f %% from the idle time of %s",
			100 * (best_gain - 1), dj->id);
	}
}

/* C(U-1, N-1): how many ways there are to deal the units (section 3.1). */
static double assignments(int units, int jobs)
{
	double n = 1;

	for (int i = 1; i < jobs; i++)
		n = n * (units - i) / i;
	return round(n);
}

static void explain_curve(
	struct explain *x, const struct policy *p, const int *slot, const char *key, size_t offset)
{
	const struct shares *c = &p->shares;

	explain_object(x, key);
	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];
		double coefficient;

		memcpy(&coefficient, (const char *)&s->fit + offset, sizeof(coefficient));
		if (s->has_fit)
			explain_number(x, c->v->job[c->job[k]].id, coefficient);
	}
	explain_end(x);
}

void sbmp_explain(const struct policy *p, const int *slot, bool allocated, struct plan *ret)
{
	const struct shares *c = &p->shares;
	struct explain x;
	double antt = 0;

	explain_open(&x, ret);
	if (!x.plan)
		return;
	explain_curve(&x, p, slot, "alpha", offsetof(struct scalability, alpha));
	explain_curve(&x, p, slot, "beta", offsetof(struct scalability, beta));
	explain_curve(&x, p, slot, "gamma", offsetof(struct scalability, gamma));
	explain_object(&x, "table");
	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		if (!s->has_fit)
			continue;
		explain_object(&x, c->v->job[c->job[k]].id);
		for (int u = 1, last = 0; u <= p->most[k]; u++) {
			int cores = sbmp_cores(p, u);
			char key[16];

			snprintf(key, sizeof(key), "%d", cores);
			if (cores != last)
				explain_number(&x, key, sbmp_table(p, k, s, cores));
			last = cores;
		}
		explain_end(&x);
	}
	explain_end(&x);
	for (int k = 0; k < c->n && allocated; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		antt += p->is_green[k] ? c->n
				       : 1 / sbmp_table(p, k, s, sbmp_cores(p, p->given[k])) / c->n;
	}
	if (allocated)
		explain_number(&x, "antt", antt);
	if (allocated && p->allocate.cut)
		explain_bool(
			&x, "cut", true); /* beyond the bound on steps: not the best there is */
	explain_number(&x, "unit", p->units.size);
	explain_number(&x, "assignments", assignments(p->units.n, c->n));
	explain_close(&x);
}
