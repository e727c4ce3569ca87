/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/statics.h"

struct listing {
	struct statics *s;
	const struct topo *t;
	int room; /* placements allocated */
	int *domain_of, *count, *units;
	bool equal; /* all domains have as many cores */
	int rc;
};

static struct place *append(struct listing *x)
{
	struct statics *s = x->s;
	size_t jobs = (size_t)s->n_jobs;

	if (s->n == STATICS_MAX) {
		x->rc = -E2BIG;
		return NULL;
	}
	if (s->n == x->room) {
		int more = x->room ? 2 * x->room : 16;
		struct place *p = realloc(s->place, (size_t)more * jobs * sizeof(*p));

		if (!p) {
			x->rc = -ENOMEM;
			return NULL;
		}
		s->place = p;
		x->room = more;
	}
	memset(&s->place[(size_t)s->n * jobs], 0, jobs * sizeof(*s->place));
	return &s->place[(size_t)s->n++ * jobs];
}

static void take_cores(const struct topo *t, int domain, int first, int n, struct coreset *ret)
{
	const struct topo_domain *d = &t->domain[domain];

	for (int i = first; i < first + n && i < d->n_cores; i++)
		coreset_or(ret, ret, &t->core[t->domain_core[d->first_core + i]].pus);
}

static void add_grouping(struct listing *x)
{
	struct place *p = append(x);

	if (!p)
		return;
	for (int d = 0; d < x->t->n_domains; d++) {
		int cores = x->t->domain[d].n_cores, members = x->count[d], k = 0;

		for (int i = 0; i < x->s->n_jobs; i++) {
			int base = cores / members, rest = cores % members;

			if (x->domain_of[i] != d)
				continue;
			p[i].active = true;
			if (base == 0) /* more members than cores: they share the domain */
				take_cores(x->t, d, 0, cores, &p[i].own);
			else
				take_cores(x->t, d, k * base + (k < rest ? k : rest),
					base + (k < rest), &p[i].own);
			k++;
		}
	}
}

static void group(struct listing *x, int job)
{
	int n = x->s->n_jobs, domains = x->t->n_domains, most = (n + domains - 1) / domains;
	int full = 0, may_be_full = n % domains == 0 ? domains : n % domains;

	if (x->rc)
		return;
	if (job == n) {
		add_grouping(x);
		return;
	}
	for (int d = 0; d < domains; d++)
		full += x->count[d] == most;
	for (int d = 0; d < domains; d++) {
		int size = x->count[d];

		/* floor or ceil(N/S) each: only so many domains take the larger number. */
		if (size == most || (size == most - 1 && full == may_be_full))
			continue;
		x->domain_of[job] = d;
		x->count[d]++;
		group(x, job + 1);
		x->count[d]--;
		/* An empty domain is like any other empty one. */
		if (x->equal && size == 0)
			break;
	}
}

/* One placement: job i has units[i] whole domains in a row. */
static void add_dealt(struct listing *x)
{
	struct place *p = append(x);
	int d = 0;

	for (int i = 0; p && i < x->s->n_jobs; i++) {
		p[i].active = true;
		for (int k = 0; k < x->units[i]; k++, d++)
			take_cores(x->t, d, 0, x->t->domain[d].n_cores, &p[i].own);
	}
}

static void deal(struct listing *x, int job, int left)
{
	int n = x->s->n_jobs;

	if (x->rc)
		return;
	if (job == n - 1) {
		x->units[job] = left;
		add_dealt(x);
		return;
	}
	for (int u = 1; u <= left - (n - 1 - job); u++) {
		x->units[job] = u;
		deal(x, job + 1, left - u);
	}
}

static int open_listing(struct listing *x, struct statics *s, const struct topo *t, int n_jobs)
{
	*x = (struct listing){.s = s, .t = t, .equal = true};
	memset(s, 0, sizeof(*s));
	s->n_jobs = n_jobs;
	x->domain_of = calloc((size_t)n_jobs, sizeof(int));
	x->units = calloc((size_t)n_jobs, sizeof(int));
	x->count = calloc((size_t)t->n_domains, sizeof(int));
	if (!x->domain_of || !x->units || !x->count)
		x->rc = -ENOMEM;
	return x->rc;
}

static int close_listing(struct listing *x)
{
	free(x->domain_of);
	free(x->units);
	free(x->count);
	if (x->rc)
		statics_done(x->s);
	return x->rc;
}

int statics_alternate(struct place *ret, const struct topo *t, int n_jobs, struct errbuf *err)
{
	struct statics s;
	struct listing x;
	int domains = t->n_domains;

	if (!open_listing(&x, &s, t, n_jobs)) {
		for (int i = 0; i < n_jobs; i++) {
			x.domain_of[i] = i % domains;
			x.count[i % domains]++;
			x.units[i] = domains / n_jobs + (i < domains % n_jobs);
		}
		if (n_jobs > domains)
			add_grouping(&x);
		else
			add_dealt(&x);
	}
	if (!x.rc)
		memcpy(ret, s.place, (size_t)n_jobs * sizeof(*ret));
	if (close_listing(&x))
		return err_set(err, -ENOMEM, "out of memory");
	statics_done(&s);
	return 0;
}

int statics_list(struct statics *ret, const struct topo *t, int n_jobs, struct errbuf *err)
{
	struct listing x;

	open_listing(&x, ret, t, n_jobs);
	for (int d = 1; d < t->n_domains; d++)
		x.equal &= t->domain[d].n_cores == t->domain[0].n_cores;
	if (!x.rc && n_jobs > t->n_domains)
		group(&x, 0);
	else if (!x.rc)
		deal(&x, 0, t->n_domains);
	if (close_listing(&x) == -E2BIG)
		return err_set(err, x.rc, "%d jobs on %d domains: more than %d static placements",
			n_jobs, t->n_domains, STATICS_MAX);
	return x.rc ? err_set(err, x.rc, "out of memory") : 0;
}

static bool share_domain(const struct topo *t, const struct place *a, const struct place *b)
{
	for (int d = 0; d < t->n_domains; d++)
		if (coreset_is_subset(&a->own, &t->domain[d].pus) &&
			coreset_is_subset(&b->own, &t->domain[d].pus))
			return true;
	return false;
}

void statics_fill(struct statics *s, const struct topo *t)
{
	for (int k = 0; k < s->n; k++) {
		struct place *place = &s->place[(size_t)k * (size_t)s->n_jobs];

		for (int i = 0; i < s->n_jobs; i++)
			for (int d = 0; d < s->n_jobs && place[i].n_lent < LENT_MAX; d++) {
				/* Who shares cores has their idle time already. */
				if (coreset_intersects(&place[i].own, &place[d].own) ||
					!share_domain(t, &place[i], &place[d]))
					continue;
				place[i].lent[place[i].n_lent].coreset = place[d].own;
				place[i].lent[place[i].n_lent++].donor = d;
			}
	}
}

void statics_done(struct statics *s)
{
	free(s->place);
	memset(s, 0, sizeof(*s));
}
