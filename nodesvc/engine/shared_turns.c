/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared_turns.c - a job of one thread has no barrier to wait at and gains nothing by turns; one
 * with fewer threads than the group has cores would leave some idle in its own. So all of a group
 * take turns or none does.
 */
#include "nodesvc/engine/internal.h"

#include "nodesvc/engine/policy.h"

void shared_turns_init(struct shared_turns *c, const struct policy_cfg *cfg)
{
	size_t jobs = (size_t)cfg->max_jobs, groups;
	const struct topo *t = cfg->topo;
	int n = cfg->max_jobs;

	/* Named by a job, a core or a domain. */
	n = t->n_cores > n ? t->n_cores : n;
	n = t->n_domains > n ? t->n_domains : n;
	groups = (size_t)n;
	*c = (struct shared_turns){
		.n_groups = n,
		.sorted = arena_alloc(cfg->memory, jobs, sizeof(int)),
		.rank = arena_alloc(cfg->memory, jobs, sizeof(int)),
		.count = arena_alloc(cfg->memory, groups, sizeof(int)),
		.cores = arena_alloc(cfg->memory, groups, sizeof(int)),
		.first = arena_alloc(cfg->memory, groups, sizeof(int)),
		.waits = arena_alloc(cfg->memory, groups, sizeof(bool)),
	};
}

/* By arrival; mostly they are so already. */
static void sort(struct shared_turns *c, const struct view *v)
{
	if (c->n_sorted != v->n_jobs)
		for (int i = 0; i < v->n_jobs; i++)
			c->sorted[i] = i;
	c->n_sorted = v->n_jobs;
	for (int n = 1; n < v->n_jobs; n++) {
		int i = c->sorted[n], at = n;

		for (; at > 0 && view_is_earlier(v, i, c->sorted[at - 1]); at--)
			c->sorted[at] = c->sorted[at - 1];
		c->sorted[at] = i;
	}
}

static bool has_group(const struct shared_turns *c, const struct plan *p, int i)
{
	return p->job[i].group >= 0 && p->job[i].group < c->n_groups;
}

/* Who shares cores with whom. */
static void find(
	struct shared_turns *c, const struct topo *t, const struct view *v, const struct plan *p)
{
	sort(c, v);
	for (int i = 0; i < v->n_jobs; i++)
		if (has_group(c, p, i))
			c->count[p->job[i].group] = 0;
	for (int n = 0; n < v->n_jobs; n++) {
		int i = c->sorted[n], g = p->job[i].group;

		if (!has_group(c, p, i))
			continue;
		if (c->count[g] == 0) {
			c->first[g] = i;
			c->cores[g] = topo_count_cores(t, &p->job[i].coreset);
			c->waits[g] = false;
		}
		c->rank[i] = c->count[g]++;
		c->waits[g] |= v->job[i].threads > 1;
	}
}

static bool may_turn(
	const struct shared_turns *c, const struct view *v, const struct plan *p, int i)
{
	const struct view_job *j = &v->job[i];
	int g = p->job[i].group;

	return (p->all_turn || j->coupled) && j->threads >= c->cores[g] && j->nodes <= 1 &&
	       p->job[i].role == ROLE_OWNER &&
	       coreset_is_equal(&p->job[i].coreset, &p->job[c->first[g]].coreset);
}

/* Leaves a count only where turns are worth their while. */
static void drop_others(struct shared_turns *c, const struct view *v, const struct plan *p)
{
	for (int i = 0; i < v->n_jobs; i++) {
		int g = p->job[i].group;

		if (has_group(c, p, i) &&
			(c->count[g] < 2 || !c->waits[g] || !may_turn(c, v, p, i)))
			c->count[g] = 0;
	}
}

static int common_multiple(int a, int b)
{
	int x = a, y = b;

	while (y) {
		int rest = x % y;

		x = y;
		y = rest;
	}
	return a / x * b;
}

/* As many as give all in a group as many turns, or as there may be: then some have one more. */
static int count_slices(const struct shared_turns *c, const struct view *v, const struct plan *p)
{
	int n = 1;

	for (int i = 0; i < v->n_jobs && n < PLAN_SLICES_MAX; i++)
		if (has_group(c, p, i) && c->count[p->job[i].group] > 0)
			n = common_multiple(n, c->count[p->job[i].group]);
	return n < PLAN_SLICES_MAX ? n : PLAN_SLICES_MAX;
}

static bool goes_with_turns(const struct plan *p)
{
	return p->may_turn && p->n_slices == 0 && p->n_experiments == 0 && p->hysteresis_ms == 0;
}

static bool any_coupled(const struct view *v)
{
	for (int i = 0; i < v->n_jobs; i++)
		if (v->job[i].coupled)
			return true;
	return false;
}

void shared_turns_plan(
	struct shared_turns *c, const struct topo *t, const struct view *v, struct plan *p)
{
	int slice_ms = p->turns_ms > 0 ? p->turns_ms : view_slice_ms(v), n;

	if (!goes_with_turns(p) || (!p->all_turn && !any_coupled(v)))
		return;
	find(c, t, v, p);
	drop_others(c, v, p);
	n = count_slices(c, v, p);
	if (n < 2)
		return;
	p->n_slices = n;
	for (int s = 0; s < n; s++) {
		p->slice[s].n_jobs = 0;
		p->slice[s].ms = slice_ms;
	}
	for (int k = 0; k < v->n_jobs; k++) {
		int i = c->sorted[k], g = p->job[i].group, count;

		if (!has_group(c, p, i) || c->count[g] == 0)
			continue;
		count = c->count[g];
		/* More than there are slices: some run together. */
		for (int s = c->rank[i] % n; s < n; s += count)
			p->slice[s].job[p->slice[s].n_jobs++] = i;
		p->job[i].role = ROLE_GANG;
		plan_why(p, i, "%s: shares %d with %d others, in turns of %d ms",
			p->all_turn ? "more jobs than cores" : "threads wait for one another",
			c->cores[g], count - 1, slice_ms);
	}
}
