/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares_current.c - the grouping that runs now: is it one that could be chosen, and how a
 * new one stays close to it.
 */
#include <string.h>

#include "nodesvc/engine/internal.h"

int shares_current_domain(const struct shares *c, int k)
{
	const struct coreset *now = shares_current(c, k);
	int domain = -1;

	bits_for_each (pu, now, c->words) {
		int core = c->t->pu_core[pu];
		int d = core >= 0 ? c->core_domain[core] : -1;

		if (d < 0 || (domain >= 0 && d != domain))
			return -1;
		domain = d;
	}
	return domain;
}

/* Has @k, which runs on @core, all of it that its envelope has? */
static bool has_whole(const struct shares *c, int k, int core)
{
	const struct coreset *now = shares_current(c, k), *pus = &c->t->core[core].pus;

	for (int w = 0; w < c->words && !c->t->pu_is_core; w++)
		if (pus->w[w] & c->envelope[k]->w[w] & ~now->w[w])
			return false;
	return true;
}

/* Cores that @k runs on; @l->overlap where another job was there before. */
static int take_current(struct shares *c, int k, struct shares_load *l)
{
	const struct coreset *now = shares_current(c, k);
	int cores = 0;

	bits_for_each (pu, now, c->words) {
		int core = c->t->pu_core[pu];

		if (c->owner[core] == k)
			continue;
		l->overlap = l->overlap || c->owner[core] >= 0;
		l->partial = l->partial || !has_whole(c, k, core);
		c->owner[core] = k;
		cores++;
	}
	return cores;
}

static bool could_be_dealt(const struct shares *c, const struct shares_load *l, int d)
{
	int capacity = c->capacity[d];

	if (l->partial)
		return false;
	if (shares_owns_as_group(c, d, l->members))
		return l->least == capacity && (c->uniform || !l->overlap); /* all share all */
	/* Disjoint, and all dealt out as evenly as sizes are. */
	if (l->overlap || l->sum > capacity)
		return false;
	return l->members == 0 || c->given ||
	       (l->sum == capacity && (!c->equal || l->most - l->least <= 1));
}

/*
 * Do the current cores of all jobs make shares that could have been dealt? Each job runs inside
 * its domain.
 */
static bool domains_are_dealt(struct shares *c, const int *domain_of)
{
	int least = c->total, most = 0, sum = 0;

	for (int i = 0; i < c->t->n_cores; i++)
		c->owner[i] = -1;
	for (int d = 0; d < c->n_domains; d++)
		c->load[d] = (struct shares_load){.least = c->total};
	for (int k = 0; k < c->n; k++) {
		struct shares_load *l = &c->load[domain_of[k]];
		int cores = take_current(c, k, l);

		if (c->given && cores != c->size[k])
			return false;
		l->members++;
		l->sum += cores;
		l->least = cores < l->least ? cores : l->least;
		l->most = cores > l->most ? cores : l->most;
		least = cores < least ? cores : least;
		most = cores > most ? cores : most;
		sum += cores;
	}
	if (c->uneven && c->even && !c->shared && (most - least > 1 || sum != c->total))
		return false;
	for (int d = 0; d < c->n_domains; d++)
		if (!could_be_dealt(c, &c->load[d], d))
			return false;
	return true;
}

/* Every domain within floor/ceil of its share of the jobs, or balanced by cores. */
static bool is_balanced(const struct shares *c, const int *domain_of)
{
	bool by_count = true, alone = true;
	int *load = c->scratch, *count = load + c->n_domains;

	memset(load, 0, 2 * (size_t)c->n_domains * sizeof(int));
	for (int k = 0; k < c->n; k++) {
		load[domain_of[k]] += c->equal ? 1 : c->size[k];
		count[domain_of[k]]++;
	}
	for (int d = 0; d < c->n_domains; d++) {
		by_count = by_count && count[d] >= c->n * c->capacity[d] / c->total &&
			   count[d] <= (c->n * c->capacity[d] + c->total - 1) / c->total;
		alone = alone && count[d] <= 1;
	}
	if (c->uniform && c->n <= c->n_domains)
		return alone;
	return by_count || (!c->equal && shares_balanced(c, load));
}

bool shares_grouped(struct shares *c, int *ret_domain_of)
{
	for (int k = 0; k < c->n; k++) {
		ret_domain_of[k] = shares_current_domain(c, k);
		if (ret_domain_of[k] < 0 ||
			!bits_subset(shares_current(c, k), c->envelope[k], c->words))
			return false;
	}
	return is_balanced(c, ret_domain_of);
}

bool shares_incumbent(struct shares *c, int *ret_domain_of)
{
	if (!shares_grouped(c, ret_domain_of))
		return false;
	for (int k = 0; k < c->n && !c->shared; k++) {
		int min = c->v->job[c->job[k]].min_cores;

		if (min > 1 && topo_count_cores(c->t, shares_current(c, k)) < min)
			return false;
	}
	return domains_are_dealt(c, ret_domain_of);
}

void shares_keep(struct shares *c, const int *domain_of, const char *why, struct plan *p)
{
	int *members = c->scratch;

	memset(members, 0, (size_t)c->n_domains * sizeof(int));
	for (int k = 0; k < c->n; k++)
		members[domain_of[k]]++;
	for (int k = 0; k < c->n; k++) {
		int d = domain_of[k];

		/* Its coreset is the current one already: shares_build() leaves it. */
		p->job[c->job[k]].group = shares_owns_as_group(c, d, members[d]) ? d : -1;
		plan_why(p, c->job[k], "%s", why);
	}
}

/* Bytes of the jobs of group @g whose memory is on the NUMA node of domain @d. */
static double at_home(const struct shares *c, int g, int d)
{
	int numa = c->t->domain[c->domain[d]].numa;
	double bytes = 0;

	for (int m = c->first_member[g]; m < c->first_member[g + 1]; m++) {
		const struct view_job *j = &c->v->job[c->job[c->member[m]]];

		if (j->home_numa >= 0 && j->home_numa == numa)
			bytes += j->rss_bytes > 0 ? j->rss_bytes : 1;
	}
	return bytes;
}

void shares_relabel(struct shares *c, int *domain_of)
{
	int *label = c->scratch, *taken = label + c->n_domains, *overlap = taken + c->n_domains;

	if (!c->uniform)
		return;
	shares_list_members(c, domain_of);
	for (int d = 0; d < c->n_domains; d++)
		label[d] = taken[d] = -1;
	for (int k = 0; k < c->n; k++) {
		int g = domain_of[k], best = -1;

		if (label[g] >= 0)
			continue;
		/* Where most of the group's cores are now, among domains of the same size. */
		memset(overlap, 0, (size_t)c->n_domains * sizeof(int));
		for (int m = c->first_member[g]; m < c->first_member[g + 1]; m++) {
			const struct coreset *now = shares_current(c, c->member[m]);

			bits_for_each (pu, now, c->words) {
				int core = c->t->pu_core[pu];

				if (core >= 0 && c->core_domain[core] >= 0)
					overlap[c->core_domain[core]]++;
			}
		}
		for (int d = 0; d < c->n_domains; d++)
			if (taken[d] < 0 && c->capacity[d] == c->capacity[g] &&
				(best < 0 || overlap[d] > overlap[best] ||
					(overlap[d] == overlap[best] &&
						at_home(c, g, d) > at_home(c, g, best))))
				best = d;
		label[g] = best;
		taken[best] = g;
	}
	for (int k = 0; k < c->n; k++)
		domain_of[k] = label[domain_of[k]];
}
