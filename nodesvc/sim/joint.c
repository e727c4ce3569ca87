/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/joint_internal.h"

#define FLOOR      0.85 /* MAPPER's, and auto's default */
#define STEPS_MAX  64
#define MEMO_SLOTS 1024

static void keep(struct joint *x, const struct way *w)
{
	int at = x->n_best;

	while (at > 0 && x->best[at - 1].value < w->value) {
		if (at < JOINT_BEST)
			x->best[at] = x->best[at - 1];
		at--;
	}
	if (at == JOINT_BEST)
		return;
	x->best[at] = *w;
	if (x->n_best < JOINT_BEST)
		x->n_best++;
}

static void look(struct joint *x)
{
	if (x->looks >= JOINT_LOOKS) {
		x->cut = true;
		return;
	}
	x->trial.value = joint_worth(x, &x->trial);
	keep(x, &x->trial);
}

/* --- every dealing ----------------------------------------------------------------------- */

/* Every split of domain @k among its jobs from @job on, and of the domains after it. */
static void split(struct joint *x, int k, int job, int left)
{
	int last = -1;

	if (x->cut)
		return;
	if (k == x->t->n_domains) {
		look(x);
		return;
	}
	for (int i = job; i < x->d->n_jobs; i++)
		if (x->domain_of[i] == k)
			last = i;
	for (int i = job; i <= last; i++) {
		int after = 0;

		if (x->domain_of[i] != k)
			continue;
		for (int o = i + 1; o <= last; o++)
			after += x->domain_of[o] == k;
		for (int n = i == last ? left : 1; n <= left - after; n++) {
			x->trial.n[i][k] = (short)n;
			split(x, i == last ? k + 1 : k, i == last ? 0 : i + 1,
				i == last && k + 1 < x->t->n_domains ? x->t->domain[k + 1].n_cores
								     : left - n);
			x->trial.n[i][k] = 0;
		}
		return;
	}
	/* Nobody is here. */
	split(x, k + 1, 0, k + 1 < x->t->n_domains ? x->t->domain[k + 1].n_cores : 0);
}

static void assign(struct joint *x, int job)
{
	if (x->cut)
		return;
	if (job == x->d->n_jobs) {
		for (int k = 0; k < x->t->n_domains; k++) {
			int members = 0;

			for (int i = 0; i < job; i++)
				members += x->domain_of[i] == k;
			if (members == 0 || members > x->t->domain[k].n_cores)
				return;
		}
		split(x, 0, 0, x->t->domain[0].n_cores);
		return;
	}
	for (int k = 0; k < x->t->n_domains; k++) {
		x->domain_of[job] = k;
		assign(x, job + 1);
	}
}

static void from_place(const struct joint *x, const struct place *p, struct way *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < x->d->n_jobs; i++)
		for (int k = 0; k < x->t->n_domains; k++) {
			struct coreset both;

			coreset_and(&both, &p[i].own, &x->t->domain[k].pus);
			ret->n[i][k] = (short)topo_count_cores(x->t, &both);
		}
}

/* --- from the best on -------------------------------------------------------------------- */

static void climb(struct joint *x, struct way *best)
{
	for (int step = 0; step < STEPS_MAX; step++) {
		struct way from = *best, w;

		for (int a = 0; a < x->d->n_jobs; a++)
			for (int b = 0; b < x->d->n_jobs; b++)
				for (int k = 0; k < x->t->n_domains; k++) {
					if (a == b || from.n[a][k] < 1 ||
						joint_size(x, &from, a) < 2)
						continue;
					w = from;
					w.n[a][k]--;
					w.n[b][k]++;
					w.value = joint_worth(x, &w);
					if (w.value > best->value + 1e-6)
						*best = w;
				}
		if (best->value <= from.value + 1e-6)
			return;
	}
}

/* The whole machine to each in turn. */
static void try_turns(struct joint *x, struct way *best)
{
	struct way w = {0};

	for (int i = 0; i < x->d->n_jobs; i++) {
		for (int k = 0; k < x->t->n_domains; k++)
			w.n[i][k] = (short)x->t->domain[k].n_cores;
		w.turn[i] = (signed char)w.n_turns;
		w.n_turns += x->r->job[i].present;
	}
	w.value = joint_worth(x, &w);
	if (w.n_turns > 1 && w.value > best->value)
		*best = w;
}

bool joint_find(struct joint *x, const struct statics *s, struct way *ret)
{
	bool exact;

	run_rates(x->r); /* brings r->in up to date */
	for (int i = 0; i < x->d->n_jobs; i++)
		x->floor[i] = 0;
	x->n_best = 0;
	x->cut = false;
	ret->value = -INFINITY;
	for (int k = 0; k < s->n; k++) {
		from_place(x, &s->place[(size_t)k * (size_t)x->d->n_jobs], &x->trial);
		x->trial.value = joint_worth(x, &x->trial);
		if (x->trial.value > ret->value)
			*ret = x->trial;
	}
	joint_worth(x, ret);
	for (int i = 0; i < x->d->n_jobs; i++)
		x->floor[i] = fmin(FLOOR, run_speed(x->r, i, x->out));
	keep(x, ret);
	memset(&x->trial, 0, sizeof(x->trial));
	x->looks = 0;
	if (x->d->n_jobs > x->t->n_domains)
		assign(x, 0);
	else
		for (int k = 0; k < s->n; k++) {
			from_place(x, &s->place[(size_t)k * (size_t)x->d->n_jobs], &x->trial);
			look(x);
		}
	*ret = x->best[0];
	for (int i = 0; i < x->n_best; i++)
		joint_levers(x, &x->best[i], ret);
	climb(x, ret);
	try_turns(x, ret);
	exact = x->exact && exact_search(x->exact, ret);
	if (!exact)
		joint_search(x, ret);
	else if (ret->n_turns == 0)
		climb(x, ret);
	return exact;
}

static void go(struct joint *x, const struct way *w)
{
	struct run_slice slice[JOINT_JOBS];
	struct coreset own[JOINT_JOBS] = {0};
	bool active[JOINT_JOBS][JOINT_JOBS] = {{false}};
	int n = w->n_turns, who;

	for (int turn = 0; turn < n; turn++) {
		joint_set_places(x, w, turn);
		for (int i = 0; i < x->d->n_jobs; i++) {
			active[turn][i] = x->place[i].active;
			if (x->place[i].active)
				own[i] = x->place[i].own;
		}
		slice[turn] = (struct run_slice){active[turn], JOINT_SLICE_S};
	}
	if (n == 0)
		joint_set_places(x, w, 0);
	for (int i = 0; i < x->d->n_jobs && n > 0; i++) {
		x->place[i].active = x->r->job[i].present;
		x->place[i].own = own[i];
	}
	run_place(x->r, x->place, slice, n);
	run_advance(x->r, x->d->most_s, &who);
}

static uint64_t phases_key(const struct run *r)
{
	uint64_t key = 1;

	for (int i = 0; i < r->n_jobs; i++)
		key = rng_mix(key + (uint64_t)r->job[i].phase * 2 + r->job[i].present);
	return key | 1;
}

struct memo {
	uint64_t key;
	struct way way;
};

void joint_free(struct joint *x)
{
	if (!x)
		return;
	exact_free(x->exact);
	layout_done(&x->layout);
	run_free(x->r);
	free(x->out);
	free(x->part);
	free(x->place);
	free(x);
}

int joint_create(struct joint **ret, const struct drive *d, struct errbuf *err)
{
	struct joint *x;
	int rc = 0;

	if (d->n_jobs > JOINT_JOBS || d->m->topo->n_domains > JOINT_DOMAINS)
		return err_set(err, -E2BIG, "joint-oracle: %d jobs on %d domains: at most %d on %d",
			d->n_jobs, d->m->topo->n_domains, JOINT_JOBS, JOINT_DOMAINS);
	x = calloc(1, sizeof(*x));
	if (!x)
		return err_set(err, -ENOMEM, "out of memory");
	x->d = d;
	x->t = d->m->topo;
	x->all_exact = true;
	x->out = calloc((size_t)d->n_jobs, sizeof(*x->out));
	x->part = calloc((size_t)d->n_jobs, sizeof(*x->part));
	x->place = calloc((size_t)d->n_jobs, sizeof(*x->place));
	if (!x->out || !x->part || !x->place)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = run_create(&x->r, d->m, d->spec, d->n_jobs, err);
	if (!rc)
		rc = layout_init(&x->layout, d->m, d->n_jobs, err);
	if (rc) {
		joint_free(x);
		return rc;
	}
	x->exact = exact_create(x);
	*ret = x;
	return 0;
}

int joint_run(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct joint *x = NULL;
	struct memo *memo = calloc(MEMO_SLOTS, sizeof(*memo));
	struct statics s = {0};
	int rc = memo ? joint_create(&x, d, err) : err_set(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = statics_list(&s, d->m->topo, d->n_jobs, err);
	if (!rc)
		run_place(x->r, s.place, NULL, 0);
	while (!rc && !drive_is_over(d, x->r)) {
		uint64_t key = phases_key(x->r);
		struct memo *m = &memo[(key >> 32) % MEMO_SLOTS];

		if (m->key != key) {
			m->key = key;
			x->all_exact &= joint_find(x, &s, &m->way);
		}
		go(x, &m->way);
	}
	if (!rc) {
		drive_results(d, x->r, ret);
		ret->search = x->all_exact ? SEARCH_EXACT : SEARCH_BOUNDED;
	}
	statics_done(&s);
	free(memo);
	joint_free(x);
	return rc;
}
