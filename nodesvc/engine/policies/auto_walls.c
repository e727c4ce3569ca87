/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto_walls.c - clusters of the last-level cache, where they were seen to pay. First as clusters.c
 * makes them; what each job misses on its part of the cache then tells more of how that goes
 * (auto_model.c), and of few jobs every two clusters are weighed by it: what is better by that is
 * tried in their place.
 */
#include <math.h>
#include <string.h>

#include "nodesvc/engine/policies/auto.h"

#define REFERENCE 3     /* samples without them, of each job, before they are set */
#define TRY_S     1.6   /* so long, where nobody knows */
#define HOPE      0.001 /* ln: the least that a try must be able to gain */
#define SURE      0.5   /* deviations of the gain that must be left */
#define UNKNOWN   0.04  /* ln: what clusters may do to a phase ... */
#define CONTEXT   0.02  /* ... that has been in some ... */
#define MODEL_OFF 0.5   /* ... and so much of what is predicted */
#define NOISE     0.02  /* of a sample */
#define WRONG     0.004 /* of a mean of samples, however many */
#define WEIGHED   6     /* jobs of which all clusters are weighed */
#define PROMISED  4     /* jobs of which dealings are held against each other with clusters */
#define TRIES     3     /* of clusters by the model, of jobs that stay where they are */
#define AGAIN_S   2.0   /* between two looks for them */

void auto_walls_init(struct policy *p, const struct policy_cfg *cfg)
{
	struct auto_walls *w = &p->walls;

	clusters_init(&w->clusters, &(struct clusters_cfg){.most = p->cfg.clusters}, cfg);
	w->side = arena_alloc(cfg->memory, (size_t)cfg->max_jobs, sizeof(*w->side));
	w->best = arena_alloc(cfg->memory, (size_t)cfg->max_jobs, sizeof(*w->best));
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
		/* Slots are used again. */
		h = mix(h, (uint64_t)c->v->job[c->job[k]].order);
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

static struct auto_job *job_of(const struct policy *p, const int *slot, int k)
{
	return &p->model.job[slot[p->shares.job[k]]];
}

/* What the model says of @d, with w->side[] or without. */
static double worth(struct policy *p, const struct auto_deal *d, bool with)
{
	struct auto_walls *w = &p->walls;
	double value;

	p->search.side = with ? w->side : NULL;
	memcpy(p->search.ways, w->ways, sizeof(w->ways));
	value = auto_search_worth(&p->search, d->n);
	p->search.side = NULL;
	return value;
}

/* What is expected of the clusters at hand, before they are seen. */
static void expect(struct policy *p, const int *slot)
{
	struct auto_walls *w = &p->walls;
	struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++)
		w->side[k] = (signed char)job_of(p, slot, k)->side;
	worth(p, &p->deal[p->chosen], false);
	memcpy(p->heat, p->search.speed, (size_t)c->n * sizeof(double));
	if (w->ways[0] > 0)
		worth(p, &p->deal[p->chosen], true);
	for (int k = 0; k < c->n; k++) {
		struct auto_job *j = job_of(p, slot, k);
		double mean = p->search.speed[k] - p->heat[k];
		bool known = false;

		for (int i = 0; i < AUTO_WALLED; i++)
			known |= auto_phase_of(&p->model, slot[c->job[k]])->walled[i].n > 0;
		j->walled_prior = mean;
		j->walled_deviation = known ? hypot(CONTEXT, MODEL_OFF * mean) : UNKNOWN;
	}
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
	for (int x = 0; x < AUTO_SIDES; x++)
		w->ways[x] = w->clusters.n == AUTO_SIDES ? w->clusters.part[x].ways : 0;
	for (int k = 0; k < c->n; k++) {
		struct auto_job *j = job_of(p, slot, k);
		int side = w->clusters.n == AUTO_SIDES ? w->clusters.cluster[k] : -1;

		j->side = side >= 0 ? side : AUTO_NO_SIDE;
		j->walled = (struct auto_walled){0};
	}
	expect(p, slot);
	w->made = true;
}

/* --- clusters by the model */

/* Who meets nobody of the other cluster is in none; false: nobody is in one of them. */
static bool trim(struct policy *p, const struct auto_deal *d)
{
	const struct shares *c = &p->shares;
	signed char *side = p->walls.side;
	bool any[AUTO_SIDES] = {false}, in[AUTO_SIDES];

	for (int k = 0; k < c->n; k++) {
		bool meets = false;

		for (int e = 0; e < c->n_domains && side[k] != AUTO_NO_SIDE; e++) {
			in[0] = in[1] = false;
			for (int o = 0; o < c->n; o++)
				if (auto_cell(p, d, o)[e] && side[o] >= 0 &&
					side[o] != AUTO_NO_SIDE)
					in[side[o]] = true;
			meets |= auto_cell(p, d, k)[e] && in[0] && in[1];
		}
		if (side[k] != AUTO_NO_SIDE && meets)
			any[side[k]] = true;
		else if (side[k] != AUTO_NO_SIDE)
			side[k] = -1; /* and is nobody's company below, for it met none */
	}
	for (int k = 0; k < c->n; k++)
		if (side[k] < 0)
			side[k] = AUTO_NO_SIDE;
	return any[0] && any[1];
}

/* The two clusters under @d that are predicted to gain most over none, and more than @least:
 * w->best; the first one's part of the cache in *@ret_ways. Their gain; @least: there are none. */
static double find_best(struct policy *p, const int *slot, const struct auto_deal *d, double least,
	double *ret_ways)
{
	static const double part[] = {0.25, 0.5, 0.75};
	struct auto_walls *w = &p->walls;
	struct shares *c = &p->shares;
	double none, best = least, kept = w->ways[0];
	uint32_t computes = 0;
	bool any = false;

	for (int k = 0; k < c->n; k++) {
		const struct auto_phase *f = auto_phase_of(&p->model, slot[c->job[k]]);

		if (!f->idle && isfinite(f->held))
			computes |= UINT32_C(1) << k;
		any |= f->theta > 0;
	}
	if (!any)
		return least;
	none = worth(p, d, false);
	/* One of a pair is as good as the other: the first job is in the first. */
	for (uint32_t set = 1; set < UINT32_C(1) << c->n; set += 2)
		for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
			double gain;

			for (int k = 0; k < c->n; k++)
				w->side[k] = !(computes >> k & 1) ? AUTO_NO_SIDE : !(set >> k & 1);
			w->ways[0] = part[i];
			w->ways[1] = 1 - part[i];
			if (!trim(p, d))
				break;
			gain = worth(p, d, true) - none;
			if (gain <= best)
				continue;
			best = gain;
			*ret_ways = part[i];
			memcpy(w->best, w->side, (size_t)c->n * sizeof(*w->best));
		}
	w->ways[0] = kept;
	w->ways[1] = kept > 0 ? 1 - kept : 0;
	return best;
}

double auto_walls_promise(
	struct policy *p, const struct view *v, const int *slot, const struct auto_deal *d)
{
	double ways;

	if (p->cfg.clusters < 2 || v->cache_ways < 2 || p->shares.n > PROMISED)
		return 0;
	return find_best(p, slot, d, 0, &ways);
}

double auto_walls_gain(const struct policy *p)
{
	return p->walls.on ? p->walls.gain : 0;
}

static bool pick(struct policy *p, const int *slot, double least)
{
	struct auto_walls *w = &p->walls;
	struct shares *c = &p->shares;
	double ways = 0;

	if (find_best(p, slot, &p->deal[p->chosen], least, &ways) <= least)
		return false;
	for (int k = 0; k < c->n; k++) {
		struct auto_job *j = job_of(p, slot, k);

		j->old_side = j->side;
		j->old_walled = j->walled;
		j->side = w->best[k];
		j->walled = (struct auto_walled){0};
	}
	w->old_ways = w->ways[0];
	w->ways[0] = ways;
	w->ways[1] = 1 - ways;
	return true;
}

static void take_old(struct policy *p, const int *slot)
{
	struct auto_walls *w = &p->walls;

	for (int k = 0; k < p->shares.n; k++) {
		struct auto_job *j = job_of(p, slot, k);

		j->side = j->old_side;
		j->walled = j->old_walled;
	}
	w->ways[0] = w->old_ways;
	w->ways[1] = 1 - w->old_ways;
}

/* --- whether they are set */

/* What they are worth by what was seen of each: gain and sd. True: nobody falls below his floor. */
static bool weigh(struct policy *p, const int *slot)
{
	struct auto_walls *w = &p->walls;
	struct shares *c = &p->shares;
	double sum = 0, variance = 0;
	bool kept = true;
	int n = 0;

	worth(p, &p->deal[p->chosen], false);
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
	if (w->ways[0] <= 0 && w->clusters.n < 2) {
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

/* Better ones than those at hand, which were tried; or those before, if these are not. True: there
 * are others now. */
static bool change(struct policy *p, const struct view *v, const int *slot, bool on)
{
	struct auto_walls *w = &p->walls;
	double gain = on ? w->gain : 0;

	if (!w->made || (on && v->now_s < w->try_until_s) || w->tries == TRIES ||
		w->clusters.n > AUTO_SIDES || p->shares.n > WEIGHED ||
		v->now_s - w->looked_s < AGAIN_S)
		return false;
	w->looked_s = v->now_s;
	if (w->has_old && w->old_gain > gain) {
		take_old(p, slot);
		w->has_old = false;
		w->tries = TRIES;
	} else if (pick(p, slot, gain + HOPE)) {
		w->has_old = on;
		w->old_gain = gain;
		w->try_until_s = -1;
		w->tries++;
	} else {
		return false;
	}
	w->hurts = false;
	expect(p, slot);
	return true;
}

static void put(const struct policy *p, const int *slot, struct plan *ret)
{
	const struct auto_walls *w = &p->walls;

	if (w->ways[0] <= 0) {
		clusters_put(&w->clusters, &p->shares, slot, ret);
		return;
	}
	ret->n_clusters = AUTO_SIDES;
	for (int x = 0; x < AUTO_SIDES; x++)
		ret->cluster[x] = (struct plan_cluster){.ways = w->ways[x]};
	for (int k = 0; k < p->shares.n; k++) {
		int side = job_of(p, slot, k)->side;

		ret->job[p->shares.job[k]].cluster = side != AUTO_NO_SIDE ? side : -1;
	}
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
		w->made = w->on = w->hurts = w->has_old = false;
		w->tries = 0;
		w->looked_s = -INFINITY;
		w->try_until_s = -1;
		w->key = key;
	}
	if (!w->made && is_seen(p, slot))
		make(p, slot, ret);
	w->on = decide(p, v, slot);
	if (change(p, v, slot, w->on)) {
		w->on = decide(p, v, slot);
		fresh = true;
	}
	if (w->on != was || (w->on && fresh))
		w->changed_s = v->now_s;
	if (w->on)
		put(p, slot, ret);
}
