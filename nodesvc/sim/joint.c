/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/drive_internal.h"
#include "nodesvc/sim/joint.h"

#define FLOOR      0.85 /* MAPPER's, and auto's default */
#define FLOOR_COST 10
#define DONOR      0.70 /* utilisation, as callisto */
#define STEPS_MAX  64
#define SLICE_S    0.1
#define MEMO_SLOTS 1024

enum loans { LOANS_NONE, LOANS_DOMAIN, LOANS_ALL, LOANS };

/* One way to run all jobs. */
struct way {
	short n[JOINT_JOBS][JOINT_DOMAINS]; /* cores of a job in a domain */
	uint32_t cluster;                   /* jobs of the first cluster; 0: no clusters */
	int quarters;                       /* of the ways, the first cluster's */
	enum loans loans;
	bool turns;
	double value;
};

struct joint {
	const struct drive *d;
	struct run *r;
	const struct topo *t;
	struct layout layout;
	struct solve_out *out;
	struct place *place; /* [n_jobs] */
	struct way trial, best[JOINT_BEST];
	int n_best, domain_of[JOINT_JOBS];
	long looks;
	bool cut; /* there would have been more */
	double floor[JOINT_JOBS];
};

/* --- a way as places --------------------------------------------------------------------- */

static void set_cores(struct joint *x, const struct way *w)
{
	for (int i = 0; i < x->d->n_jobs; i++)
		x->place[i] = (struct place){.active = x->r->job[i].present};
	for (int k = 0; k < x->t->n_domains; k++) {
		const struct topo_domain *td = &x->t->domain[k];
		int at = 0;

		for (int i = 0; i < x->d->n_jobs; i++)
			for (int c = 0; c < w->n[i][k] && at < td->n_cores; c++, at++)
				coreset_or(&x->place[i].own, &x->place[i].own,
					&x->t->core[x->t->domain_core[td->first_core + at]].pus);
	}
}

static bool are_near(const struct joint *x, const struct way *w, int a, int b)
{
	for (int k = 0; k < x->t->n_domains; k++)
		if (w->n[a][k] && w->n[b][k])
			return true;
	return false;
}

static double busy(const struct joint *x, int i)
{
	return program_utilization(x->r->job[i].spec.program, x->r->job[i].phase,
		topo_count_cores(x->t, &x->place[i].own));
}

static void set_loans(struct joint *x, const struct way *w)
{
	for (int i = 0; i < x->d->n_jobs && w->loans; i++) {
		struct place *p = &x->place[i];

		if (!p->active || busy(x, i) < DONOR)
			continue;
		for (int o = 0; o < x->d->n_jobs && p->n_lent < LENT_MAX; o++) {
			if (o == i || !x->place[o].active || busy(x, o) >= DONOR ||
				(w->loans == LOANS_DOMAIN && !are_near(x, w, i, o)))
				continue;
			p->lent[p->n_lent].coreset = x->place[o].own;
			p->lent[p->n_lent++].donor = o;
		}
	}
}

static void set_clusters(struct joint *x, const struct way *w)
{
	int ways = x->d->m->p.llc_ways, first = ways * w->quarters / 4;

	for (int i = 0; i < x->d->n_jobs && w->cluster; i++)
		x->place[i].levers.ways =
			w->cluster >> i & 1
				? (uint32_t)((UINT64_C(1) << first) - 1)
				: (uint32_t)((UINT64_C(1) << ways) - (UINT64_C(1) << first));
}

static void set_places(struct joint *x, const struct way *w)
{
	set_cores(x, w);
	set_loans(x, w);
	set_clusters(x, w);
}

/* --- what it is worth -------------------------------------------------------------------- */

static double floors_cost(const struct joint *x)
{
	double cost = 0;

	for (int i = 0; i < x->d->n_jobs; i++)
		if (x->r->job[i].present)
			cost += fmax(0, x->floor[i] - run_speed(x->r, i, x->out));
	return FLOOR_COST * cost;
}

static double worth(struct joint *x, const struct way *w)
{
	set_places(x, w);
	layout_set(&x->layout, x->place, x->d->n_jobs);
	solver_run(x->r->solver, &x->layout, x->r->in, x->out);
	x->looks++;
	return drive_instant_value(x->d, x->r, x->out) - floors_cost(x);
}

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
	x->trial.value = worth(x, &x->trial);
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

static void try_levers(struct joint *x, const struct way *from, struct way *best)
{
	uint32_t clusters = x->d->n_jobs <= 6 ? UINT32_C(1) << (x->d->n_jobs - 1) : 1;
	struct way w = *from;

	for (int loans = LOANS_NONE; loans < LOANS; loans++)
		for (uint32_t c = 0; c < clusters; c++)
			for (int quarters = 1; quarters <= (c ? 3 : 1); quarters++) {
				w.loans = (enum loans)loans;
				w.cluster = c;
				w.quarters = quarters;
				w.value = worth(x, &w);
				if (w.value > best->value)
					*best = w;
			}
}

static int size_of(const struct joint *x, const struct way *w, int i)
{
	int n = 0;

	for (int k = 0; k < x->t->n_domains; k++)
		n += w->n[i][k];
	return n;
}

static void climb(struct joint *x, struct way *best)
{
	for (int step = 0; step < STEPS_MAX; step++) {
		struct way from = *best, w;

		for (int a = 0; a < x->d->n_jobs; a++)
			for (int b = 0; b < x->d->n_jobs; b++)
				for (int k = 0; k < x->t->n_domains; k++) {
					if (a == b || from.n[a][k] < 1 || size_of(x, &from, a) < 2)
						continue;
					w = from;
					w.n[a][k]--;
					w.n[b][k]++;
					w.value = worth(x, &w);
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
	struct way w = {.turns = true};
	double part = (SLICE_S - x->d->m->p.gang_switch_s) / SLICE_S / x->d->n_jobs;
	struct solve_out sum[JOINT_JOBS] = {0};

	for (int i = 0; i < x->d->n_jobs; i++) {
		for (int o = 0; o < x->d->n_jobs; o++)
			x->place[o] = (struct place){
				.active = o == i && x->r->job[i].present, .own = x->t->all};
		layout_set(&x->layout, x->place, x->d->n_jobs);
		solver_run(x->r->solver, &x->layout, x->r->in, x->out);
		sum[i] = x->out[i];
		sum[i].instr_per_s *= part;
		sum[i].io_rate *= part;
	}
	memcpy(x->out, sum, (size_t)x->d->n_jobs * sizeof(*sum));
	w.value = drive_instant_value(x->d, x->r, x->out) - floors_cost(x);
	if (w.value > best->value)
		*best = w;
}

/* The best for the phases at hand. */
static void find(struct joint *x, const struct statics *s, struct way *ret)
{
	double best = -INFINITY;

	run_rates(x->r); /* brings r->in up to date */
	for (int i = 0; i < x->d->n_jobs; i++)
		x->floor[i] = 0;
	x->n_best = 0;
	x->looks = 0;
	x->cut = false;
	for (int k = 0; k < s->n; k++) {
		const struct place *p = &s->place[(size_t)k * (size_t)x->d->n_jobs];

		from_place(x, p, &x->trial);
		x->trial.value = worth(x, &x->trial);
		if (x->trial.value <= best)
			continue;
		best = x->trial.value;
		*ret = x->trial;
	}
	worth(x, ret);
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
		try_levers(x, &x->best[i], ret);
	climb(x, ret);
	try_turns(x, ret);
}

static void go(struct joint *x, const struct way *w)
{
	struct run_slice slice[JOINT_JOBS];
	bool active[JOINT_JOBS][JOINT_JOBS] = {{false}};
	int n = w->turns ? x->d->n_jobs : 0, who;

	set_places(x, w);
	for (int i = 0; i < n; i++) {
		x->place[i] = (struct place){.active = x->r->job[i].present, .own = x->t->all};
		active[i][i] = true;
		slice[i] = (struct run_slice){active[i], SLICE_S};
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

int joint_run(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct joint *x = calloc(1, sizeof(*x));
	struct memo *memo = calloc(MEMO_SLOTS, sizeof(*memo));
	struct statics s = {0};
	int rc = 0;

	if (d->n_jobs > JOINT_JOBS || d->m->topo->n_domains > JOINT_DOMAINS)
		rc = err_set(err, -E2BIG, "joint-oracle: %d jobs on %d domains: at most %d on %d",
			d->n_jobs, d->m->topo->n_domains, JOINT_JOBS, JOINT_DOMAINS);
	if (!rc)
		rc = statics_list(&s, d->m->topo, d->n_jobs, err);
	if (!rc && x) {
		x->d = d;
		x->t = d->m->topo;
		x->out = calloc((size_t)d->n_jobs, sizeof(*x->out));
		x->place = calloc((size_t)d->n_jobs, sizeof(*x->place));
	}
	if (!rc && (!x || !memo || !x->out || !x->place))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = run_create(&x->r, d->m, d->spec, d->n_jobs, err);
	if (!rc)
		rc = layout_init(&x->layout, d->m, d->n_jobs, err);
	if (!rc)
		run_place(x->r, s.place, NULL, 0);
	while (!rc && !drive_is_over(d, x->r)) {
		uint64_t key = phases_key(x->r);
		struct memo *m = &memo[(key >> 32) % MEMO_SLOTS];

		if (m->key != key) {
			m->key = key;
			find(x, &s, &m->way);
		}
		go(x, &m->way);
	}
	if (!rc)
		drive_results(d, x->r, ret);
	statics_done(&s);
	free(memo);
	if (x) {
		layout_done(&x->layout);
		run_free(x->r);
		free(x->out);
		free(x->place);
	}
	free(x);
	return rc;
}
