/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill.c - idle time of some jobs' cores for the threads of others, at low priority.
 */
#include "nodesvc/engine/internal.h"

#define DONOR_BELOW 0.70 /* as sbmp */
#define DONOR_UNTIL 0.80
#define WEIGHT      1 /* of 100 */
/* Against flapping under a noisy utilisation, all ours: a quarter per sample, as lira; who lends or
 * has stopped does so for 2 s, twice as long at each change within five minutes of the one before.
 */
#define SMOOTH      0.25
#define DWELL_S     2.0
#define DWELL_MAX_S 64.0
#define CALM_S      300.0

/* What is known of one job's idle time, by slot. */
struct idling {
	bool known, lends;
	uint64_t sample_no;
	double utilization;      /* smoothed */
	double since_s, dwell_s; /* of the last change */
};

void fill_init(struct fill *f, const struct fill_cfg *own, const struct policy_cfg *cfg)
{
	f->cfg = *own;
	f->idling = arena_alloc(cfg->memory, (size_t)cfg->max_jobs, sizeof(*f->idling));
}

void fill_forget(struct fill *f, int slot)
{
	f->idling[slot] = (struct idling){.known = false};
}

static void look_at(struct idling *d, const struct view_job *j, double now_s)
{
	const struct signal *u = &j->signal[SIGNAL_UTILIZATION];
	bool lends;

	if (u->provenance == PROVENANCE_NONE) {
		*d = (struct idling){.known = false};
		return;
	}
	if (!d->known)
		d->utilization = u->value;
	else if (d->sample_no != j->sample_no)
		d->utilization += SMOOTH * (u->value - d->utilization);
	d->sample_no = j->sample_no;
	lends = d->utilization < (d->lends ? DONOR_UNTIL : DONOR_BELOW);
	if (!d->known || (lends != d->lends && now_s - d->since_s >= d->dwell_s)) {
		d->dwell_s = !d->known || now_s - d->since_s >= CALM_S ? DWELL_S
			     : d->dwell_s < DWELL_MAX_S                ? 2 * d->dwell_s
								       : DWELL_MAX_S;
		d->lends = lends;
		d->since_s = now_s;
	}
	d->known = true;
}

/* Where job @k may be a guest: its envelope, within the domains it runs in itself. */
static void find_reach(const struct fill *f, const struct shares *c, int k, const struct plan *p,
	struct coreset *ret)
{
	const struct coreset *own = &p->job[c->job[k]].coreset;

	*ret = *c->envelope[k];
	if (!f->in_domain)
		return;
	coreset_zero(ret);
	for (int d = 0; d < c->t->n_domains; d++)
		if (bits_intersect(own, &c->t->domain[d].pus, c->words))
			bits_add(ret, &c->t->domain[d].pus, c->words);
	coreset_and(ret, ret, c->envelope[k]);
}

/* Members of a group have their cores in common already. */
static bool may_lend(const struct shares *c, const struct plan_job *from, const struct plan_job *to)
{
	return !bits_intersect(&from->coreset, &to->coreset, c->words);
}

/* Every job's further threads may run on the others' cores, below whoever has them by right. */
static void fill_by_threads(struct fill *f, const struct shares *c, struct plan *p)
{
	for (int k = 0; k < c->n; k++) {
		struct plan_job *j = &p->job[c->job[k]];
		struct coreset reach;

		find_reach(f, c, k, p, &reach);
		for (int d = 0; d < c->n; d++)
			if (d != k && may_lend(c, &p->job[c->job[d]], j))
				bits_add(&j->low, &p->job[c->job[d]].coreset, c->words);
		coreset_and(&j->low, &j->low, &reach);
		if (!coreset_is_empty(&j->low))
			p->hysteresis_ms = f->cfg.hysteresis_ms;
	}
}

static void borrow(struct fill *f, const struct shares *c, const int *slot, int k, struct plan *p)
{
	struct plan_job *j = &p->job[c->job[k]];
	struct coreset reach;

	find_reach(f, c, k, p, &reach);
	for (int d = 0; d < c->n && j->n_lent < PLAN_LENT_MAX; d++) {
		struct plan_job *donor = &p->job[c->job[d]];
		struct coreset lent;

		if (!f->idling[slot[c->job[d]]].lends || !may_lend(c, donor, j))
			continue;
		coreset_and(&lent, &donor->coreset, &reach);
		if (coreset_is_empty(&lent))
			continue;
		donor->role = ROLE_DONOR;
		j->role = ROLE_DONEE;
		j->lent[j->n_lent++] = (struct plan_lent){
			.coreset = lent,
			.donor = c->job[d],
			.weight = WEIGHT,
		};
	}
}

static void fill_by_jobs(struct fill *f, const struct shares *c, const struct view *v,
	const int *slot, struct plan *p)
{
	bool any_busy = false, any_idle = false;

	for (int k = 0; k < c->n; k++) {
		struct idling *d = &f->idling[slot[c->job[k]]];

		look_at(d, &v->job[c->job[k]], v->now_s);
		any_busy = any_busy || !d->lends;
		any_idle = any_idle || d->lends;
	}
	for (int k = 0; k < c->n && any_busy && any_idle; k++)
		if (!f->idling[slot[c->job[k]]].lends)
			borrow(f, c, slot, k, p);
}

void fill_plan(struct fill *f, const struct shares *c, const struct view *v, const int *slot,
	struct plan *p)
{
	if (f->cfg.how == FILL_THREADS)
		fill_by_threads(f, c, p);
	else if (f->cfg.how == FILL_JOBS)
		fill_by_jobs(f, c, v, slot, p);
}
