/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto_walls.c - clusters of the last-level cache, as clusters.c makes them, where they were seen
 * to pay. What ways of its own do to a job is nowhere in the model: that takes curves of misses,
 * which nobody measures live. So it is seen instead.
 */
#include <math.h>

#include "nodesvc/engine/policies/auto.h"

#define REFERENCE 3     /* samples without them, of each job, before they are set */
#define TRY_S     1.6   /* so long, where nobody knows */
#define HOPE      0.01  /* ln: the least that a try must be able to gain */
#define SURE      0.5   /* deviations of the gain that must be left */
#define UNKNOWN   0.04  /* ln: what clusters may do to a phase ... */
#define CONTEXT   0.02  /* ... whose like was seen in others */
#define NOISE     0.02  /* of a sample */
#define WRONG     0.004 /* of a mean of samples, however many */

void auto_walls_init(struct policy *p, const struct policy_cfg *cfg)
{
	struct auto_walls *w = &p->walls;

	clusters_init(&w->clusters, &(struct clusters_cfg){.most = p->cfg.clusters}, cfg);
	w->changed_s = -INFINITY;
	w->why = "";
}

void auto_walls_drop(struct policy *p, const struct view *v)
{
	if (p->walls.on)
		p->walls.changed_s = v->now_s;
	p->walls.on = false;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* Who is where, in which phase. */
static uint64_t key_of(const struct policy *p, const int *slot)
{
	const struct shares *c = &p->shares;
	uint64_t h = 1;

	for (int k = 0; k < c->n; k++) {
		int s = slot[c->job[k]];

		h = mix(h, (uint64_t)s << 8 | (uint64_t)p->model.job[s].phase);
		for (int e = 0; e < c->n_domains; e++)
			h = mix(h, (uint64_t)auto_cell(p, &p->deal[p->chosen], k)[e]);
	}
	return h;
}

static const struct auto_seen *without(const struct policy *p, const int *slot, int k)
{
	const struct auto_deal *d = &p->deal[p->chosen];
	const struct auto_seen *o = auto_seen_own(auto_phase_of(&p->model, slot[p->shares.job[k]]),
		auto_size(p, d, k), auto_search_beside(&p->search, d->n, k));

	return o && o->n >= REFERENCE ? o : NULL;
}

/* All that compute were seen without clusters, as they are now. */
static bool is_seen(const struct policy *p, const int *slot)
{
	for (int k = 0; k < p->shares.n; k++) {
		const struct auto_phase *f = auto_phase_of(&p->model, slot[p->shares.job[k]]);

		if (!f->idle && (!without(p, slot, k) || f->llc_samples < REFERENCE))
			return false;
	}
	return true;
}

static void make(struct policy *p, const int *slot, const struct plan *plan)
{
	struct auto_walls *w = &p->walls;
	struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		int s = slot[c->job[k]];
		const struct auto_phase *f = auto_phase_of(&p->model, s);

		clusters_know(&w->clusters, s, f->idle ? -1 : f->llc_refs, f->llc_misses);
	}
	clusters_make(&w->clusters, c, slot, plan);
	for (int k = 0; k < c->n; k++) {
		struct auto_job *j = &p->model.job[slot[c->job[k]]];
		const struct auto_walled *r;
		int side = w->clusters.cluster[k];

		j->side = side >= 0 && side < 2 ? side : 2;
		r = &auto_phase_of(&p->model, slot[c->job[k]])->walled[j->side];
		j->walled = (struct auto_walled){0};
		j->walled_prior = r->n > 0 ? r->mean : 0;
		j->walled_deviation = r->n > 0 ? hypot(CONTEXT, NOISE / sqrt(r->n)) : UNKNOWN;
	}
	w->made = true;
}

/* What they are worth by what was seen of each: gain and sd. True: nobody falls below his floor. */
static bool weigh(struct policy *p, const int *slot)
{
	struct auto_walls *w = &p->walls;
	struct shares *c = &p->shares;
	double sum = 0, variance = 0;
	bool kept = true;
	int n = 0;

	auto_search_worth(&p->search, p->deal[p->chosen].n);
	for (int k = 0; k < c->n; k++) {
		const struct auto_job *j = &p->model.job[slot[c->job[k]]];
		double v = j->walled_deviation * j->walled_deviation, mean = j->walled_prior;

		if (auto_phase_of(&p->model, slot[c->job[k]])->idle)
			continue;
		if (j->walled.n > 0) {
			const struct auto_seen *o = without(p, slot, k);
			double own = NOISE * NOISE * (1 / j->walled.n + (o ? 1 / o->n : 1)) +
				     WRONG * WRONG;

			mean = (mean / v + j->walled.mean / own) / (1 / v + 1 / own);
			v = 1 / (1 / v + 1 / own);
		}
		kept &= p->search.speed[k] + mean >= p->search.floor[k] - 2 * NOISE || mean > 0;
		sum += mean;
		variance += v;
		n++;
	}
	w->gain = n ? sum / n : 0;
	w->sd = n ? sqrt(variance) / n : 0;
	return kept && n > 0;
}

static bool decide(struct policy *p, const struct view *v, const int *slot)
{
	struct auto_walls *w = &p->walls;

	w->gain = w->sd = 0;
	if (!w->made) {
		w->why = "not all have been seen without them";
		return false;
	}
	if (w->clusters.n < 2) {
		w->why = "the cache does as much for all";
		return false;
	}
	if (!weigh(p, slot) || w->hurts) {
		w->why = "a job would be below its floor";
		return false;
	}
	if (w->gain - SURE * w->sd > 0) {
		w->why = "they pay";
		return true;
	}
	if (w->gain + w->sd > HOPE && (w->try_until_s < 0 || v->now_s < w->try_until_s)) {
		if (w->try_until_s < 0)
			w->try_until_s = v->now_s + TRY_S;
		w->why = "a trial: they may pay";
		return true;
	}
	w->why = "they are not seen to pay";
	return false;
}

void auto_walls_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	struct auto_walls *w = &p->walls;
	uint64_t key;
	bool was = w->on, fresh;

	if (p->cfg.clusters < 2 || v->cache_ways < 2)
		return;
	ret->clusters_asked = true;
	key = key_of(p, slot);
	fresh = key != w->key;
	if (fresh) {
		w->made = w->on = w->hurts = false;
		w->try_until_s = -1;
		w->key = key;
	}
	if (!w->made && is_seen(p, slot))
		make(p, slot, ret);
	w->on = decide(p, v, slot);
	if (w->on != was || (w->on && fresh))
		w->changed_s = v->now_s;
	if (w->on)
		clusters_put(&w->clusters, &p->shares, slot, ret);
}
