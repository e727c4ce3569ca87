/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callisto - equal cores by right, side by side, so that a job's are generally in one domain; which
 * job gets which is drawn anew whenever one comes or goes. Idle time is lent to all who are busy.
 *
 * Source: Harris, Maas, Marathe: Callisto, EuroSys 2014, as LIRA (ROSS 2015, sections 2, 5.1 and
 * 5.2) describes it: "the sets of 4 cores will generally be in the same socket, but there is no
 * control over specifically which program gets which set". Who lends to whom: fill.c.
 */
#include <stddef.h>

#include "nodesvc/engine/internal.h"

struct config {
	bool threads;
	struct fill_cfg fill;
};

static const struct option_spec options[] = {
	{"threads", OPTION_BOOL, offsetof(struct config, threads), 0, 0, NULL},
	{"hysteresis_ms", OPTION_INT, offsetof(struct config, fill.hysteresis_ms), 1,
		PLAN_HYSTERESIS_MAX, NULL},
	{0},
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct fill fill;
	int *order; /* [max_jobs] competing jobs as they are dealt cores */
	int *domain_of;
	uint64_t set;
};

static int callisto_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	p->cfg.fill.hysteresis_ms = FILL_HYSTERESIS_MS;
	rc = option_read(cfg, "callisto", options, &p->cfg, err);
	if (rc)
		return rc;
	p->cfg.fill.how = p->cfg.threads ? FILL_THREADS : FILL_JOBS;
	shares_init(&p->shares, cfg);
	fill_init(&p->fill, &p->cfg.fill, cfg);
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
	fill_plan(&p->fill, c, v, slot, ret);
	return 0;
}

static void callisto_forget(struct policy *p, int slot)
{
	fill_forget(&p->fill, slot);
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
