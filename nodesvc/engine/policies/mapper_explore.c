/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper_explore.c - what MAPPER measures of each job, when, and on whose cores.
 */
#include <stddef.h>

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/policies/mapper.h"

#define FAIR_MS      1000 /* speed at the fair share (section 2) */
#define EXPLORE_MS   700  /* 0.5 s after 0.2 s to settle; ours */
#define EXPLORE_STEP 0.25 /* of the fair share, up or down; ours */
#define EXPLORE_S    70   /* at most 1 % of the time; ours */
#define SAME_SPEED   0.02 /* as much as two measurements of one speed differ; ours */

/* What tells of a bottleneck; ours, where SAM has thresholds of its machine. */
#define WAITS_BELOW   0.80  /* of the time of its cores it runs; else utilisation */
#define BYTES_AT      1.0   /* of memory traffic, an instruction */
#define MISS_RATIO_AT 0.5   /* of references to the last-level cache, with at least ... */
#define MISSES_AT     0.001 /* ... so many misses an instruction */

/* Usable core @i of those of job @k that @x has not yet? @ret: what the job may use of it. */
static bool is_new(
	const struct policy *p, int k, int i, const struct plan_experiment *x, struct coreset *ret)
{
	const struct shares *c = &p->shares;

	coreset_and(ret, &c->t->core[c->core[i]].pus, c->envelope[k]);
	return !coreset_is_empty(ret) && !coreset_intersects(ret, &x->coreset);
}

/* @n more of the usable cores that touch @from and that @x has not yet; returns how many lack. */
static int add_cores(
	const struct policy *p, int k, const struct coreset *from, int n, struct plan_experiment *x)
{
	const struct shares *c = &p->shares;

	for (int i = 0; i < c->total && n > 0; i++) {
		struct coreset pus;

		if (!is_new(p, k, i, x, &pus) || !coreset_intersects(&pus, from))
			continue;
		coreset_or(&x->coreset, &x->coreset, &pus);
		n--;
	}
	return n;
}

/* Whose each usable core is by the plan, by competing job; -1 nobody's, -2 several jobs'. */
static void find_owners(struct policy *p, const struct plan *plan)
{
	const struct shares *c = &p->shares;

	for (int i = 0; i < c->t->n_cores; i++)
		p->owner[i] = -1;
	for (int k = 0; k < c->n; k++)
		bits_for_each (pu, &plan->job[c->job[k]].coreset, c->words) {
			int *owner = &p->owner[c->t->pu_core[pu]];

			*owner = *owner == -1 || *owner == k ? k : -2;
		}
}

/*
 * @n more cores, of nobody or of the other jobs, each of which keeps one; of those with most first,
 * so that nobody makes room alone. Returns how many lack.
 */
static int take_cores(
	struct policy *p, int k, int n, const struct plan *plan, struct plan_experiment *x)
{
	const struct shares *c = &p->shares;
	int *left = p->domain_of, *gives = p->gives; /* cores each may lose, and will */
	struct coreset pus;
	int lacks = n;

	find_owners(p, plan);
	for (int l = 0; l < c->n; l++) {
		left[l] = -1;
		gives[l] = 0;
	}
	for (int i = 0; i < c->total; i++) {
		int owner = p->owner[c->core[i]];

		if (owner >= 0)
			left[owner]++;
		else if (owner == -1 && is_new(p, k, i, x, &pus))
			lacks--;
	}
	for (; lacks > 0; lacks--) {
		int most = -1;

		for (int l = 0; l < c->n; l++)
			if (l != k && left[l] > 0 && (most < 0 || left[l] > left[most]))
				most = l;
		if (most < 0)
			return lacks;
		left[most]--;
		gives[most]++;
	}
	for (int i = 0; i < c->total && n > 0; i++) {
		int owner = p->owner[c->core[i]];

		if (owner == -2 || owner == k || (owner >= 0 && gives[owner] == 0) ||
			!is_new(p, k, i, x, &pus))
			continue;
		coreset_or(&x->coreset, &x->coreset, &pus);
		if (owner >= 0)
			gives[owner]--;
		n--;
	}
	return n;
}

/*
 * On the cores that the plan gives the job, as far as they go: the fair speed is measured where the
 * job runs, and nobody makes room. Every job in turn on the same cores would keep their owner from
 * running all the while, a second for each job of the node.
 */
static bool ask(struct policy *p, int k, int cores, int ms, struct plan *ret)
{
	struct plan_experiment *x;
	int job = p->shares.job[k];

	if (ret->n_experiments == PLAN_EXPERIMENTS_MAX)
		return false;
	x = &ret->experiment[ret->n_experiments];
	*x = (struct plan_experiment){.job = job, .cores = cores, .ms = ms};
	cores = add_cores(p, k, &ret->job[job].coreset, cores, x);
	if (cores && take_cores(p, k, cores, ret, x))
		return false;
	ret->n_experiments++;
	return true;
}

static double ratio(const struct view_job *j, enum signal_id a, enum signal_id b)
{
	const struct signal *x = &j->signal[a], *y = &j->signal[b];

	return x->provenance != PROVENANCE_NONE && y->provenance != PROVENANCE_NONE && y->value > 0
		       ? x->value / y->value
		       : 0;
}

enum bottleneck mapper_bottleneck(const struct view_job *j)
{
	const struct signal *u = &j->signal[SIGNAL_UTILIZATION],
			    *m = &j->signal[SIGNAL_LLC_MISS_RATIO];
	double busy = j->has_executed                    ? j->executed
		      : u->provenance != PROVENANCE_NONE ? u->value
							 : 1;

	if (ratio(j, SIGNAL_MEM_BYTES, SIGNAL_INSTRUCTIONS) >= BYTES_AT)
		return BANDWIDTH;
	if (m->provenance != PROVENANCE_NONE && m->value >= MISS_RATIO_AT &&
		ratio(j, SIGNAL_LLC_MISSES, SIGNAL_INSTRUCTIONS) >= MISSES_AT)
		return CACHE;
	return busy < WAITS_BELOW ? WAITS : NO_BOTTLENECK;
}

/* A quarter of the fair share, in pairs from two on, one at least. */
static int step_of(const struct job_state *s)
{
	int cores = (int)(EXPLORE_STEP * s->fair + 0.5);

	if (cores < 2)
		return 1;
	return cores - cores % 2;
}

int mapper_floor(const struct view_job *j)
{
	return j->min_cores > 1 ? j->min_cores : 1;
}

/* The next width below; 0: fewer are known to be slower, or too few. */
static int width_below(const struct view_job *j, const struct job_state *s)
{
	const struct speed_point *at = s->curve.point;
	int least = at[0].cores < s->fair ? at[0].cores : s->fair, cores = least - step_of(s);

	if (least < s->fair && at[0].speed < at[1].speed * (1 - SAME_SPEED))
		return 0;
	cores = cores > mapper_floor(j) ? cores : mapper_floor(j);
	return cores < least ? cores : 0;
}

/* The next width above; 0: more are known not to help, or not to be had. */
static int width_above(const struct policy *p, int k, const struct job_state *s)
{
	const struct speed_point *at = &s->curve.point[s->curve.n - 1];
	int most = at->cores > s->fair ? at->cores : s->fair, cores = most + step_of(s);
	int room = p->shares.total - (p->shares.n - 1);

	if (!p->shares.uniform) {
		int mine = topo_count_cores(p->shares.t, p->shares.envelope[k]);

		room = mine < room ? mine : room;
	}
	if (most > s->fair && at->speed <= at[-1].speed * (1 + SAME_SPEED))
		return 0;
	cores = cores < room ? cores : room;
	return cores > most ? cores : 0;
}

/* Where there is a bottleneck, first down: cores may be saved; else up: it may use more. */
static int next_width(const struct policy *p, int k, const struct job_state *s)
{
	const struct view_job *j = &p->shares.v->job[p->shares.job[k]];
	int below = width_below(j, s), above = width_above(p, k, s);

	if (s->curve.n == CURVE_POINTS)
		return 0;
	if (mapper_bottleneck(j) != NO_BOTTLENECK)
		return below ? below : above;
	return above ? above : below;
}

static bool explore(struct policy *p, int k, const int *slot, double now_s, struct plan *ret)
{
	struct job_state *s = &p->state[slot[p->shares.job[k]]];
	int cores = next_width(p, k, s);

	if (!cores || !ask(p, k, cores, EXPLORE_MS, ret))
		return false;
	s->explored_s = p->explored_s = now_s;
	return true;
}

/* One rare disturbance (section 2.2), of the job whose last is longest ago. */
static void explore_one(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;
	struct job_state *best = NULL;
	int at = -1;

	if (p->explored_s >= 0 && v->now_s - p->explored_s < EXPLORE_S - ROUNDING_S)
		return;
	for (int k = 0; k < c->n; k++) {
		struct job_state *s = &p->state[slot[c->job[k]]];

		if (s->curve.n < 2 || s->idle || (best && s->explored_s >= best->explored_s) ||
			(s->explored_s >= 0 && v->now_s - s->explored_s < EXPLORE_JOB_S) ||
			!next_width(p, k, s))
			continue;
		best = s;
		at = k;
	}
	/* Whoever cannot have the cores lets the others go first. */
	if (best && !explore(p, at, slot, v->now_s, ret))
		best->explored_s = v->now_s;
}

void mapper_measure(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		if (s->idle)
			continue;
		if (!curve_covers(&s->curve, s->fair))
			ask(p, k, s->fair, FAIR_MS, ret);
		else if (s->curve.n == 1 && v->now_s >= s->not_before_s)
			explore(p, k, slot, v->now_s, ret);
	}
	if (ret->n_experiments == 0)
		explore_one(p, v, slot, ret);
}
