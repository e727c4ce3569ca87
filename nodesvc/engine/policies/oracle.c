/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * best-static worst-static oracle - what could be had at best and at worst, by trying everything.
 * Never on a node: they need the truth (policy_cfg.truth, the simulator's model).
 *
 * With a truth: every balanced grouping of up to 12 jobs, when the set of jobs changes (static) or
 * at every decision (oracle). Without: the speed curves in the view are the truth, and the cores
 * are dealt for the least or the largest mean slow-down.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "nodesvc/engine/internal.h"

#define TRIED_MAX 200000 /* 12 jobs on 2 domains: 462; on 4: 15 400; 3 on each of 4: all */

enum variant { BEST_STATIC, WORST_STATIC, ORACLE };
static const char *const variant_name[] = {"best-static", "worst-static", "oracle"};

struct policy {
	enum variant variant;
	double (*truth)(void *ctx, const struct view *v, const struct plan *p);
	void *truth_ctx;
	struct shares shares;
	struct units units;
	struct allocate allocate;
	struct curve curve;
	int *trial, *chosen, *count, *room, *size;
	uint64_t set;
	long tried;
	double best;
};

static int create(
	struct policy *p, const struct policy_cfg *cfg, enum variant variant, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs, s = (size_t)cfg->topo->n_domains;

	p->variant = variant;
	p->truth = cfg->truth;
	p->truth_ctx = cfg->truth_ctx;
	shares_init(&p->shares, cfg);
	p->shares.in_place = true; /* it tries placements only */
	units_init(&p->units, cfg);
	allocate_init(&p->allocate, cfg->memory, cfg->max_jobs, cfg->topo->n_cores);
	p->trial = arena_alloc(cfg->memory, n, sizeof(int));
	p->chosen = arena_alloc(cfg->memory, n, sizeof(int));
	p->size = arena_alloc(cfg->memory, n, sizeof(int));
	p->count = arena_alloc(cfg->memory, s, sizeof(int));
	p->room = arena_alloc(cfg->memory, s, sizeof(int));
	return option_read(cfg, variant_name[variant], NULL, NULL, err);
}

static int best_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, BEST_STATIC, err);
}

static int worst_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, WORST_STATIC, err);
}

static int oracle_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, ORACLE, err);
}

static void judge_trial(struct policy *p, struct plan *ret)
{
	struct shares *c = &p->shares;
	double worth;

	shares_apply(c, p->trial, ret);
	worth = p->truth(p->truth_ctx, c->v, ret);
	if (p->variant == WORST_STATIC)
		worth = -worth;
	if (p->tried++ > 0 && !(worth > p->best + 1e-12))
		return;
	p->best = worth;
	memcpy(p->chosen, p->trial, (size_t)c->n * sizeof(int));
}

/* Every way to fill the domains' shares of jobs; empty equal domains are tried once. */
static void try_all(struct policy *p, int k, struct plan *ret)
{
	const struct shares *c = &p->shares;

	if (p->tried >= TRIED_MAX)
		return;
	if (k == c->n) {
		judge_trial(p, ret);
		return;
	}
	for (int d = 0; d < c->n_domains; d++) {
		bool mirror = false;

		for (int e = 0; e < d && !mirror; e++)
			mirror = p->room[d] == p->count[d] && p->room[e] == p->count[e] &&
				 p->count[d] == p->count[e] && c->capacity[d] == c->capacity[e];
		if (p->room[d] == 0 || mirror || !shares_allowed(c, k, d))
			continue;
		p->room[d]--;
		p->trial[k] = d;
		try_all(p, k + 1, ret);
		p->room[d]++;
	}
}

static int by_truth(struct policy *p, struct plan *ret)
{
	struct shares *c = &p->shares;
	uint64_t set = shares_set(c);

	if (shares_blocks(c, ret))
		return 0;
	if (p->variant == ORACLE || set != p->set) {
		shares_counts(c, p->count);
		memcpy(p->room, p->count, (size_t)c->n_domains * sizeof(int));
		p->tried = 0;
		try_all(p, 0, ret);
		if (p->tried == 0)
			shares_by_arrival(c, p->chosen);
	}
	p->set = set;
	shares_relabel(c, p->chosen);
	shares_apply(c, p->chosen, ret);
	ret->score = p->variant == WORST_STATIC ? -p->best : p->best;
	return 0;
}

/* Slow-down of job @k on @cores against its best width. */
static double slow_down(struct policy *p, const struct view_job *j, int cores)
{
	double peak = 0;

	p->curve.n = 0;
	for (int i = 0; i < j->n_speed; i++)
		curve_set(&p->curve, j->speed[i].cores, j->speed[i].speed);
	for (int u = 1; u <= p->units.n; u++) {
		int n = u * p->units.size < p->shares.total ? u * p->units.size : p->shares.total;

		peak = fmax(peak, curve_at(&p->curve, n));
	}
	return peak / fmax(curve_at(&p->curve, cores), 1e-9);
}

static int by_curves(struct policy *p, struct plan *ret, struct errbuf *err)
{
	struct shares *c = &p->shares;
	double sign = p->variant == WORST_STATIC ? -1 : 1;

	units_build(&p->units, c, UNIT_CORE);
	if (c->n > p->units.n)
		units_split(&p->units, c);
	for (int k = 0; k < c->n; k++) {
		const struct view_job *j = &c->v->job[c->job[k]];

		if (j->n_speed == 0)
			return err_set(err, -ENODATA,
				"job %s: speed is missing, policy '%s' needs it", j->id,
				variant_name[p->variant]);
		for (int u = 1; u <= p->units.n; u++) {
			int n = u * p->units.size < c->total ? u * p->units.size : c->total;

			*allocate_cost(&p->allocate, k, u) =
				sign * slow_down(p, j, n) +
				(n < j->min_cores ? 1e6 * (j->min_cores - n) : 0);
		}
	}
	ret->score =
		sign * allocate_best(&p->allocate, c->n, p->units.n, COMBINE_SUM, p->trial) / c->n;
	/* Units may differ (cores that are reserved or off): what the dealt ones really hold. */
	for (int k = 0, unit = 0; k < c->n; k++) {
		p->size[k] = 0;
		for (int u = 0; u < p->trial[k]; u++)
			p->size[k] += p->units.count[unit++];
	}
	shares_deal_sizes(c, p->size, ret);
	return 0;
}

static int oracle_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);

	(void)slot;
	if (rc || c->n == 0)
		return rc;
	if (p->truth)
		return by_truth(p, ret);
	if (c->shared || !c->uniform) {
		shares_equal(c, p->trial, ret);
		return 0;
	}
	return by_curves(p, ret, err);
}

#define ORACLE_OPS(ident, literal, function, text)                                                 \
	const struct policy_ops policy_##ident = {                                                 \
		.name = (literal),                                                                 \
		.summary = (text),                                                                 \
		.size = sizeof(struct policy),                                                     \
		.create = (function),                                                              \
		.decide = oracle_decide,                                                           \
	}

ORACLE_OPS(best_static, "best-static", best_create, "the best placement that never changes");
ORACLE_OPS(worst_static, "worst-static", worst_create, "the worst placement that never changes");
ORACLE_OPS(oracle, "oracle", oracle_create, "the best placement at every moment");
