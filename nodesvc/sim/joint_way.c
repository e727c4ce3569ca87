/* SPDX-License-Identifier: GPL-2.0-or-later */
/* joint_way.c - a way to run all jobs, as places, and what it is worth. */
#include <math.h>
#include <string.h>

#include "nodesvc/sim/joint_internal.h"

#define FLOOR_COST 1000 /* of speed: more than anybody gains by it */
#define DONOR      0.70 /* utilisation, as callisto */

/* --- a way as places --------------------------------------------------------------------- */

static bool is_present(const struct joint *x, int i)
{
	return x->r->job[i].present;
}

void joint_cores(const struct joint *x, const short *n, int *at, struct coreset *ret)
{
	coreset_zero(ret);
	for (int k = 0; k < x->t->n_domains; k++) {
		const struct topo_domain *td = &x->t->domain[k];

		for (int c = 0; c < n[k] && at[k] < td->n_cores; c++, at[k]++)
			coreset_or(ret, ret,
				&x->t->core[x->t->domain_core[td->first_core + at[k]]].pus);
	}
}

static bool is_on(const struct joint *x, const struct way *w, int i, int turn)
{
	return is_present(x, i) && (w->n_turns < 2 || w->turn[i] == turn);
}

static void set_cores(struct joint *x, const struct way *w, int turn)
{
	int at[JOINT_DOMAINS] = {0}, all[JOINT_DOMAINS] = {0};

	for (int k = 0; k < x->t->n_domains; k++)
		for (int i = 0; i < x->d->n_jobs; i++)
			all[k] += is_on(x, w, i, turn) ? w->n[i][k] : 0;
	for (int i = 0; i < x->d->n_jobs; i++) {
		x->place[i] = (struct place){.levers = x->r->job[i].spec.levers};
		if (!is_on(x, w, i, turn))
			continue;
		x->place[i].active = true;
		joint_cores(x, w->n[i], at, &x->place[i].own);
		for (int k = 0; k < x->t->n_domains; k++)
			if (all[k] > x->t->domain[k].n_cores)
				at[k] = 0;
	}
}

static bool are_near(const struct joint *x, const struct way *w, int a, int b)
{
	for (int k = 0; k < x->t->n_domains; k++)
		if (w->n[a][k] && w->n[b][k])
			return true;
	return false;
}

int joint_size(const struct joint *x, const struct way *w, int i)
{
	int n = 0;

	for (int k = 0; k < x->t->n_domains; k++)
		n += w->n[i][k];
	return n;
}

static double busy(const struct joint *x, const struct way *w, int i)
{
	return program_utilization(
		x->r->job[i].spec.program, x->r->job[i].phase, joint_size(x, w, i));
}

void joint_lend(const struct joint *x, int how, struct way *ret)
{
	bool all = how > 2, anywhere = how == 2 || how == 4;

	ret->loans = (signed char)how;
	memset(ret->lent, 0, sizeof(ret->lent));
	for (int i = 0; i < x->d->n_jobs && how > 0; i++)
		for (int o = 0; o < x->d->n_jobs; o++) {
			if (o == i || !is_present(x, i) || !is_present(x, o))
				continue;
			if (!all && (busy(x, ret, i) < DONOR || busy(x, ret, o) >= DONOR))
				continue;
			if (anywhere || are_near(x, ret, i, o))
				ret->lent[i] |= UINT32_C(1) << o;
		}
}

static void set_loans(struct joint *x, const struct way *w)
{
	for (int i = 0; i < x->d->n_jobs; i++) {
		struct place *p = &x->place[i];

		for (int o = 0; o < x->d->n_jobs && p->n_lent < LENT_MAX; o++)
			if (w->lent[i] >> o & 1) {
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

void joint_set_places(struct joint *x, const struct way *w, int turn)
{
	set_cores(x, w, turn);
	set_loans(x, w);
	set_clusters(x, w);
}

/* --- what it is worth -------------------------------------------------------------------- */

double joint_part(const struct joint *x, int n_turns)
{
	return n_turns < 2 ? 1
			   : (JOINT_SLICE_S - x->d->m->p.gang_switch_s) / JOINT_SLICE_S / n_turns;
}

double joint_job_worth(const struct joint *x, int i, double speed)
{
	const struct run_job *j = &x->r->job[i];
	double short_of = fmax(0, x->floor[i] - speed);

	if (!j->present)
		return 0;
	return drive_job_value(x->d, j, speed) - FLOOR_COST * short_of;
}

double joint_worth(struct joint *x, const struct way *w)
{
	double sum = 0, part = joint_part(x, w->n_turns);

	memset(x->out, 0, (size_t)x->d->n_jobs * sizeof(*x->out));
	for (int turn = 0; turn == 0 || turn < w->n_turns; turn++) {
		joint_set_places(x, w, turn);
		layout_set(&x->layout, x->place, x->d->n_jobs);
		solver_run(x->r->solver, &x->layout, x->r->in, x->part);
		x->looks++;
		for (int i = 0; i < x->d->n_jobs; i++) {
			if (!x->place[i].active)
				continue;
			x->out[i] = x->part[i];
			x->out[i].instr_per_s *= part;
			x->out[i].io_rate *= part;
		}
	}
	for (int i = 0; i < x->d->n_jobs; i++)
		if (is_present(x, i))
			sum += joint_job_worth(x, i, run_speed(x->r, i, x->out));
	return sum;
}
