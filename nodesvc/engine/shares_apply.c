/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares_apply.c - from groupings by domain to coresets.
 */
#include <string.h>

#include "nodesvc/engine/internal.h"

static bool may_use(const struct shares *c, int k, int core)
{
	return c->uniform || bits_has(&c->reach[k], c->place[core]);
}

static bool runs_on(const struct shares *c, int k, int core)
{
	if (c->running[core] >= -1)
		return c->running[core] == k;
	return bits_intersect(&c->t->core[core].pus, shares_current(c, k), c->words);
}

void shares_give(const struct shares *c, int k, const int *core, int n, struct plan *p)
{
	struct coreset set;

	coreset_zero(&set);
	for (int i = 0; i < n; i++)
		bits_add(&set, &c->t->core[core[i]].pus, c->words);
	coreset_and(&p->job[c->job[k]].coreset, &set, c->envelope[k]);
}

void shares_seat(
	const struct shares *c, int k, const struct coreset *pus, int group, struct plan *p)
{
	struct coreset mine, theirs, part;
	const struct coreset *all_of = NULL, *some_of = &mine;

	coreset_and(&mine, pus, c->envelope[k]);
	part = mine;
	for (int l = 0; l < c->n; l++) {
		const struct plan_job *j = &p->job[c->job[l]];

		if (l == k || j->group != group)
			continue;
		if (!all_of && bits_subset(&j->coreset, &mine, c->words))
			all_of = &j->coreset;
		if (bits_intersect(&j->coreset, &mine, c->words))
			some_of = &j->coreset;
		coreset_andnot(&part, &part, &j->coreset);
	}
	p->job[c->job[k]].group = group;
	if (!coreset_is_empty(&part)) { /* threads that nobody has */
		p->job[c->job[k]].coreset = part;
		return;
	}
	if (all_of) { /* in common */
		p->job[c->job[k]].coreset = *all_of;
		return;
	}
	/* One has more than @k may use: @k gets what it may of that, and who was there the rest. */
	theirs = *some_of;
	coreset_and(&p->job[c->job[k]].coreset, &theirs, &mine);
	coreset_andnot(&part, &theirs, &mine);
	for (int l = 0; l < c->n; l++)
		if (l != k && p->job[c->job[l]].group == group &&
			coreset_is_equal(&p->job[c->job[l]].coreset, &theirs))
			p->job[c->job[l]].coreset = part;
}

bool shares_blocks(struct shares *c, struct plan *p)
{
	int *block_of = c->scratch, first = 0;

	for (int k = 0; k < c->n && c->n > 1; k++)
		if (c->v->job[c->job[k]].cores > 0 || c->v->job[c->job[k]].min_cores > 1)
			return false;
	if (c->n > c->n_domains || !c->uniform || c->n == 0)
		return false;
	/* So many domains each are no equal parts. */
	if (c->uneven && c->n > 1) {
		shares_deal_row(c, p);
		return true;
	}
	/* Block b goes to the job that has most of it now, else to the earliest without one. */
	for (int k = 0; k < c->n; k++)
		block_of[k] = -1;
	for (int b = 0; b < c->n; b++) {
		int width = c->n_domains / c->n + (b < c->n_domains % c->n);
		int n_cores = 0, best = -1, best_overlap = -1;

		for (int d = first; d < first + width; d++)
			n_cores += c->capacity[d];
		for (int k = 0; k < c->n; k++) {
			int overlap = 0;

			if (block_of[k] >= 0)
				continue;
			for (int i = 0; i < n_cores; i++)
				overlap += runs_on(c, k, c->core[c->first_core[first] + i]);
			if (overlap > best_overlap) {
				best = k;
				best_overlap = overlap;
			}
		}
		block_of[best] = b;
		c->size[best] = n_cores;
		shares_give(c, best, c->core + c->first_core[first], n_cores, p);
		if (c->n == 1)
			plan_why(p, c->job[best], "alone: its whole envelope");
		else
			plan_why(
				p, c->job[best], "no more jobs than domains: a block of %d", width);
		first += width;
	}
	return true;
}

/* Cores of each job in domain @d when sizes do not fit it: equal, the earliest get the rest. */
static void share_domain(const struct shares *c, int d, int *want)
{
	const int *member = c->member + c->first_member[d];
	int members = c->first_member[d + 1] - c->first_member[d];

	for (int i = 0; i < members; i++)
		want[member[i]] = c->capacity[d] / members + (i < c->capacity[d] % members);
}

/*
 * Would sharing out each domain leave everybody its minimum, and, where domains differ, equal
 * parts? Jobs in groups have no own cores.
 */
static bool shares_suffice(const struct shares *c, int *want)
{
	int least = c->total, most = 0, sum = 0;

	if (c->shared)
		return true;
	for (int d = 0; d < c->n_domains; d++)
		share_domain(c, d, want);
	for (int k = 0; k < c->n; k++) {
		if (want[k] < c->v->job[c->job[k]].min_cores && c->v->job[c->job[k]].min_cores > 1)
			return false;
		least = want[k] < least ? want[k] : least;
		most = want[k] > most ? want[k] : most;
		sum += want[k];
	}
	/* A domain without a job would be idle. */
	return !c->uneven || (c->even && least > 0 && most - least <= 1 && sum == c->total);
}

static void give_whole_domain(struct shares *c, int d, struct plan *p)
{
	for (int m = c->first_member[d]; m < c->first_member[d + 1]; m++) {
		int k = c->member[m];

		shares_give(c, k, c->core + c->first_core[d], c->capacity[d], p);
		p->job[c->job[k]].group = d;
		plan_why(p, c->job[k], "more jobs than cores: shares domain %d with its group",
			c->domain[d]);
	}
}

/* The first of the members that runs on a core and wants more, -1 none. */
static int first_runner(
	const struct shares *c, int core, const int *member, int members, const int *want)
{
	for (int m = 0; m < members; m++)
		if (want[member[m]] > 0 && runs_on(c, member[m], core))
			return member[m];
	return -1;
}

/*
 * Owners of a row of cores among @member, which are in order of arrival: current cores first, an
 * earlier job's before a later one's; then the lowest free. @want is used up; of all other jobs it
 * must be 0, or they must run on none of these cores.
 */
static void deal_row(struct shares *c, const int *core, int n, const int *member, int members,
	const int *domain_of, int d, int *want)
{
	int at = 0;

	for (int i = 0; i < n; i++) {
		int k = c->running[core[i]];

		if (k == -2)
			k = first_runner(c, core[i], member, members, want);
		else if (k >= 0 && ((domain_of && domain_of[k] != d) || want[k] <= 0))
			k = -1;
		c->owner[core[i]] = k;
		if (k >= 0)
			want[k]--;
	}
	for (int m = 0; m < members; m++)
		for (; at < n && want[member[m]] > 0; at++)
			if (c->owner[core[at]] < 0) {
				c->owner[core[at]] = member[m];
				want[member[m]]--;
			}
}

/* The cores of a row become the coresets of their owners, which are all among @member. */
static void give_row(
	struct shares *c, const int *core, int n, const int *member, int members, struct plan *p)
{
	for (int m = 0; m < members; m++)
		coreset_zero(&p->job[c->job[member[m]]].coreset);
	for (int i = 0; i < n; i++)
		if (c->owner[core[i]] >= 0)
			bits_add(&p->job[c->job[c->owner[core[i]]]].coreset,
				&c->t->core[core[i]].pus, c->words);
	for (int m = 0; m < members; m++) {
		struct coreset *set = &p->job[c->job[member[m]]].coreset;

		for (int w = 0; w < c->words; w++)
			set->w[w] &= c->envelope[member[m]]->w[w];
	}
}

/* The cores of all domains in one row to all members in their order. */
static void deal_all(struct shares *c, struct plan *p)
{
	int *want = c->scratch;

	memcpy(want, c->size, (size_t)c->n * sizeof(int));
	deal_row(c, c->core, c->total, c->member, c->n, NULL, 0, want);
	give_row(c, c->core, c->total, c->member, c->n, p);
	for (int k = 0; k < c->n && p->want_explain; k++)
		plan_why(p, c->job[k], "fair share of %d among %d jobs: %d cores", c->total, c->n,
			c->size[k] - want[k]);
}

void shares_deal_row(struct shares *c, struct plan *p)
{
	if (c->uneven) { /* a row would be cut where small domains are filled to the last core */
		shares_deal_sizes(c, c->size, p);
		for (int k = 0; k < c->n; k++)
			plan_why(p, c->job[k],
				"fair share of %d among %d jobs: %d cores, domains differ",
				c->total, c->n, c->size[k]);
		return;
	}
	for (int k = 0; k < c->n; k++)
		c->member[k] = k;
	deal_all(c, p);
}

/* A job no core is left for shares one with the job that has it; who has no second one, or the path
 * of Kuhn's algorithm would have ended there. */
static void squeeze_in(const struct shares *c, int k, struct plan *p)
{
	for (int i = 0; i < c->total; i++) {
		int core = c->core[i];

		if (c->owner[core] < 0 || !may_use(c, k, core))
			continue;
		p->job[c->job[c->owner[core]]].group = core;
		shares_seat(c, k, &c->t->core[core].pus, core, p);
		plan_why(p, c->job[k], "no core of its envelope is free: shares core %d", core);
		return;
	}
}

/*
 * Envelopes differ: one core each by matching, then growth over free cores, inside the wished
 * domain first; then whatever exchanges make room for, so that no core is left that a job without a
 * size may use.
 */
static void apply_mixed(struct shares *c, const int *domain_of, int *size, struct plan *p)
{
	bool grew = true;

	shares_mixed_start(c);
	for (int k = 0; k < c->n; k++)
		size[k] = shares_mixed_take(c, k, domain_of[k]) || shares_mixed_grow(c, k);
	while (grew) {
		grew = false;
		for (int k = 0; k < c->n; k++)
			if (size[k] > 0 && size[k] < c->size[k] &&
				(shares_mixed_take(c, k, domain_of[k]) ||
					shares_mixed_take(c, k, -1))) {
				size[k]++;
				grew = true;
			}
	}
	shares_mixed_fill(c, size);
	shares_mixed_give(c, p);
	for (int k = 0; k < c->n; k++)
		if (size[k] == 0)
			squeeze_in(c, k, p);
}

void shares_apply(struct shares *c, const int *domain_of, struct plan *p)
{
	bool fits = c->uniform && shares_fits(c, domain_of);
	int *want = c->scratch;

	if (!c->uniform) {
		apply_mixed(c, domain_of, want, p);
		return;
	}
	memcpy(want, c->size, (size_t)c->n * sizeof(int));
	shares_list_members(c, domain_of);
	if (!fits && !shares_suffice(c, want)) {
		/* Each group's jobs side by side, so in its domain as far as that goes. */
		if (c->uneven)
			deal_all(c, p);
		else
			shares_deal_row(c, p);
		return;
	}
	for (int d = 0; d < c->n_domains; d++) {
		const int *member = c->member + c->first_member[d];
		const int *core = c->core + c->first_core[d];
		int members = c->first_member[d + 1] - c->first_member[d];

		if (shares_owns_as_group(c, d, members)) {
			give_whole_domain(c, d, p);
			continue;
		}
		if (members == 0)
			continue;
		if (!fits)
			share_domain(c, d, want);
		deal_row(c, core, c->capacity[d], member, members, domain_of, d, want);
		give_row(c, core, c->capacity[d], member, members, p);
		for (int m = 0; m < members && p->want_explain; m++)
			plan_why(p, c->job[member[m]], "%d cores of domain %d, beside %d others",
				topo_count_cores(c->t, &p->job[c->job[member[m]]].coreset),
				c->domain[d], members - 1);
	}
}

void shares_by_arrival(struct shares *c, int *ret_domain_of)
{
	int *room = c->scratch, *count = room + c->n_domains;
	bool by_size = !c->shared;

	for (int pass = by_size ? 0 : 1; pass < 2; pass++) {
		bool placed_all = true;

		shares_counts(c, count);
		for (int d = 0; d < c->n_domains; d++)
			room[d] = pass == 0 ? c->capacity[d] : count[d];
		for (int k = 0; k < c->n; k++) {
			int now = shares_current_domain(c, k), need = pass == 0 ? c->size[k] : 1;

			ret_domain_of[k] = -1;
			if (now >= 0 && room[now] >= need && shares_allowed(c, k, now)) {
				ret_domain_of[k] = now;
				room[now] -= need;
			}
		}
		for (int k = 0; k < c->n; k++) {
			int need = pass == 0 ? c->size[k] : 1;

			for (int d = 0; d < c->n_domains && ret_domain_of[k] < 0; d++)
				if (room[d] >= need && shares_allowed(c, k, d)) {
					ret_domain_of[k] = d;
					room[d] -= need;
				}
			for (int d = 0; d < c->n_domains && ret_domain_of[k] < 0 && pass == 1; d++)
				if (shares_allowed(c, k, d))
					ret_domain_of[k] = d;
			placed_all = placed_all && ret_domain_of[k] >= 0;
		}
		if (placed_all)
			return;
	}
}

void shares_equal(struct shares *c, int *domain_of, struct plan *p)
{
	if (shares_blocks(c, p))
		return;
	shares_by_arrival(c, domain_of);
	if (c->uniform && !c->shared && !shares_fits(c, domain_of))
		shares_deal_row(c, p);
	else
		shares_apply(c, domain_of, p);
}
