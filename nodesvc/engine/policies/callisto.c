/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callisto - equal cores by right, side by side, so that a job's are generally in one domain; which
 * job gets which is drawn anew whenever one comes or goes. Idle time is lent to all who are busy.
 *
 * Source: Harris, Maas, Marathe: Callisto, EuroSys 2014, as LIRA (ROSS 2015, sections 2, 5.1 and
 * 5.2) describes it: "the sets of 4 cores will generally be in the same socket, but there is no
 * control over specifically which program gets which set". The 10 ms of hysteresis between a core
 * falling idle and its being lent is the low weight of the lent cores here; a donor stays one until
 * its utilisation is well above the bound, and for a while. With threads=yes it is the paper's, of
 * threads (priority.c): a plan says whose cores are whose and where the others' threads are low.
 */
#include <stddef.h>

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

struct config {
	bool threads;
	int hysteresis_ms;
};

static const struct option_spec options[] = {
	{"threads", OPTION_BOOL, offsetof(struct config, threads), 0, 0, NULL},
	{"hysteresis_ms", OPTION_INT, offsetof(struct config, hysteresis_ms), 1,
		PLAN_HYSTERESIS_MAX, NULL},
	{0},
};

/* What is known of one job's idle time, by slot. */
struct idling {
	bool known, lends;
	uint64_t sample_no;
	double utilization;      /* smoothed */
	double since_s, dwell_s; /* of the last change */
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct idling *idling; /* [max_jobs] by slot */
	int *order;            /* [max_jobs] competing jobs as they are dealt cores */
	int *domain_of;
	uint64_t set;
};

static int callisto_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	p->cfg.hysteresis_ms = 10; /* "typically around 10ms", ROSS 2015, section 5.1 */
	rc = option_read(cfg, "callisto", options, &p->cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	p->idling = arena_alloc(cfg->memory, n, sizeof(*p->idling));
	p->order = arena_alloc(cfg->memory, n, sizeof(int));
	p->domain_of = arena_alloc(cfg->memory, n, sizeof(int));
	return 0;
}

static uint64_t next_random(uint64_t *x)
{
	*x += 0x9e3779b97f4a7c15u; /* splitmix64 */
	uint64_t z = *x;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Every job on @size[k] cores of its own now, as this policy would have dealt them? */
static bool still_holds(struct shares *c)
{
	for (int i = 0; i < c->t->n_cores; i++)
		c->owner[i] = -1;
	for (int k = 0; k < c->n; k++) {
		const struct coreset *now = &c->v->job[c->job[k]].current;

		if (topo_count_cores(c->t, now) != c->size[k] ||
			!coreset_is_subset(now, c->envelope[k]))
			return false;
		bits_for_each (pu, now, c->words) {
			int core = c->t->pu_core[pu];

			if (core < 0 || c->core_domain[core] < 0 ||
				(c->owner[core] >= 0 && c->owner[core] != k))
				return false;
			c->owner[core] = k;
		}
	}
	return true;
}

/* The cores in one row, socket after socket, cut into pieces; the jobs get them in random order. */
static void map_at_random(struct policy *p, const struct view *v, struct plan *ret)
{
	struct shares *c = &p->shares;
	/* The seed holds for a whole run: who came last makes each draw another one. */
	uint64_t x = v->seed ^ ((uint64_t)v->job[c->job[c->n - 1]].order << 32) ^ (uint64_t)c->n;
	int at = 0;

	for (int i = 0; i < c->n; i++) {
		int j = (int)(next_random(&x) % (uint64_t)(i + 1));

		p->order[i] = p->order[j];
		p->order[j] = i;
	}
	/* Which core a job can have is no longer free to draw. */
	if (!c->uniform) {
		shares_mixed_fits(c, c->size);
		shares_mixed_give(c, ret);
		return;
	}
	for (int i = 0; i < c->n; i++) {
		shares_give(c, p->order[i], c->core + at, c->size[p->order[i]], ret);
		at += c->size[p->order[i]];
	}
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

/* Every job's further threads may run on all others' cores, below whoever has them by right. */
static void fill_by_threads(struct policy *p, struct plan *ret)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		struct plan_job *j = &ret->job[c->job[k]];

		for (int d = 0; d < c->n; d++)
			if (d != k)
				coreset_or(&j->low, &j->low, &ret->job[c->job[d]].coreset);
		coreset_and(&j->low, &j->low, c->envelope[k]);
		if (!coreset_is_empty(&j->low))
			ret->hysteresis_ms = p->cfg.hysteresis_ms;
	}
}

/* Low-priority filling: all busy jobs may run where a job is idle. */
static void lend(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;
	bool any_busy = false;

	for (int k = 0; k < c->n; k++) {
		struct idling *d = &p->idling[slot[c->job[k]]];

		look_at(d, &v->job[c->job[k]], v->now_s);
		any_busy = any_busy || !d->lends;
	}
	for (int k = 0; k < c->n && any_busy; k++) {
		struct plan_job *j = &ret->job[c->job[k]];

		if (p->idling[slot[c->job[k]]].lends)
			continue;
		for (int d = 0; d < c->n && j->n_lent < PLAN_LENT_MAX; d++) {
			struct plan_job *dj = &ret->job[c->job[d]];

			struct coreset lent;

			coreset_and(&lent, &dj->coreset, c->envelope[k]);
			if (!p->idling[slot[c->job[d]]].lends || coreset_is_empty(&lent))
				continue;
			dj->role = ROLE_DONOR;
			j->role = ROLE_DONEE;
			j->lent[j->n_lent++] = (struct plan_lent){
				.coreset = lent,
				.donor = c->job[d],
				.weight = WEIGHT,
			};
		}
	}
}

static int callisto_decide(struct policy *p, const struct view *v, const int *slot,
	struct plan *ret, struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);
	uint64_t set;

	if (rc || c->n == 0)
		return rc;
	if (c->shared || (!c->uniform && !shares_mixed_sizes(c, p->domain_of))) {
		shares_equal(c, p->domain_of, ret);
		return 0;
	}
	for (int k = 0; k < c->n && !c->uniform; k++)
		c->size[k] = p->domain_of[k];
	set = shares_set(c);
	if (set != p->set || !still_holds(c))
		map_at_random(p, v, ret);
	p->set = set;
	for (int k = 0; k < c->n; k++)
		plan_why(ret, c->job[k],
			"%d cores side by side, which ones by chance, until a job comes or goes%s",
			c->size[k],
			p->cfg.threads ? "; its further threads at low priority on the others'"
				       : "");
	if (p->cfg.threads)
		fill_by_threads(p, ret);
	else
		lend(p, v, slot, ret);
	return 0;
}

static void callisto_forget(struct policy *p, int slot)
{
	p->idling[slot] = (struct idling){.known = false};
}

const struct policy_ops policy_callisto = {
	.name = "callisto",
	.summary = "equal cores, which ones by chance; idle time lent to busy jobs (Callisto)",
	.options = "threads=yes|no hysteresis_ms=N",
	.on_node = true,
	.asks = POLICY_ASKS_LENT,
	.size = sizeof(struct policy),
	.create = callisto_create,
	.decide = callisto_decide,
	.forget = callisto_forget,
};
