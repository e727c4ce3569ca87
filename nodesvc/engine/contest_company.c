/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contest_company.c - jobs that share cores take turns there: each group by itself, all at once.
 *
 * Where several threads of a job share a core, one of them waits at each barrier, and what the
 * kernel runs next is as likely another job's thread as the job's own: caches and translations are
 * filled anew several times per region. In turns each has them for a whole slice. Measured on two
 * cores (contrib/bench/rebind: four OpenMP programs of two threads, two to a core, 2.9 MB grids,
 * regions of 0.26 ms): 0.98 of one thread each, side by side 0.76.
 *
 * A job of one thread has no barrier to wait at and gains nothing; one with fewer threads than the
 * group has cores would leave some idle in its turn. So all of a group take turns or none does.
 */
#include "nodesvc/engine/contest.h"
#include "nodesvc/engine/explain.h"

/* Who shares cores with whom; in room of the contest's. */
struct company {
	int *first; /* [n] the first job on the same cores; itself alone or first */
	int *rank;  /* [n] so many of them come before it */
	int *count; /* [n] of a first one: how many share; 0: they take no turns */
	int *cores; /* [n] */
};

static bool share(const struct contest *c, const struct plan *p, int a, int b)
{
	const struct plan_job *ja = &p->job[c->job[a]], *jb = &p->job[c->job[b]];

	return ja->group >= 0 && ja->group == jb->group &&
	       coreset_is_equal(&ja->coreset, &jb->coreset);
}

static void find(const struct contest *c, const struct plan *p, struct company *of)
{
	for (int k = 0; k < c->n; k++) {
		int first = 0;

		while (first < k && !(of->first[first] == first && share(c, p, first, k)))
			first++;
		of->first[k] = first;
		of->rank[k] = first < k ? of->count[first]++ : 0;
		of->count[k] = first == k;
		of->cores[k] = topo_count_cores(c->t, &p->job[c->job[k]].coreset);
	}
}

/* Leaves a count only where turns are worth their while. */
static void drop_others(const struct contest *c, struct company *of)
{
	for (int first = 0; first < c->n; first++) {
		bool all_fill = true, any_waits = false;

		for (int k = first; k < c->n; k++) {
			int threads = c->v->job[c->job[k]].threads;

			if (of->first[k] != first)
				continue;
			all_fill &= threads >= of->cores[k];
			any_waits |= threads > 1;
		}
		if (of->count[first] < 2 || !all_fill || !any_waits)
			of->count[first] = 0;
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
static int count_slices(const struct contest *c, const struct company *of)
{
	int n = 1;

	for (int k = 0; k < c->n; k++) {
		if (of->count[k] == 0)
			continue;
		n = common_multiple(n, of->count[k]);
		if (n >= PLAN_SLICES_MAX)
			return PLAN_SLICES_MAX;
	}
	return n;
}

void contest_company_turns(const struct contest *c, int slice_ms, struct plan *p)
{
	size_t most = (size_t)c->max_jobs;
	struct company of = {
		c->scratch, c->scratch + most, c->scratch + 2 * most, c->scratch + 3 * most};
	int n;

	/* Somebody polls and has slices already (contest_turns.c). */
	if (p->n_slices > 0 || c->n < 2)
		return;
	find(c, p, &of);
	drop_others(c, &of);
	n = count_slices(c, &of);
	if (n < 2)
		return;
	p->n_slices = n;
	for (int s = 0; s < n; s++) {
		p->slice[s].n_jobs = 0;
		p->slice[s].ms = slice_ms;
	}
	for (int k = 0; k < c->n; k++) {
		int count = of.count[of.first[k]], i = c->job[k];

		if (count == 0)
			continue;
		/* More than there are slices: some run together. */
		for (int s = of.rank[k] % n; s < n; s += count)
			p->slice[s].job[p->slice[s].n_jobs++] = i;
		p->job[i].role = ROLE_GANG;
		plan_why(p, i, "more jobs than cores: shares %d with %d others, in turns of %d ms",
			of.cores[k], count - 1, slice_ms);
	}
}
