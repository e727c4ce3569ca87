/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/sim/sensitivity.h"

/* Higher is better; one figure for each combination. */
static void figures(const struct eval *e, const struct drive_result *r, double *ret)
{
	enum ntt_base base = e->population->base;

	for (int k = 0; k < e->n_combos; k++)
		ret[k] = e->population->objective == OBJECTIVE_STP ? drive_stp(&r[k], base)
								   : 1 / drive_antt(&r[k], base);
}

/* Which of each pair is ahead: +1 the first, -1 the second, 0 not told apart. */
static void pairs(const struct eval *e, const double *v, int *ret)
{
	int n = e->n_policies;

	for (int p = 0; p < n; p++) {
		for (int q = 0; q < n; q++) {
			struct interval g = stats_gain(v + (size_t)p * (size_t)e->n_combos,
				v + (size_t)q * (size_t)e->n_combos, e->n_combos, e->seed);

			ret[p * n + q] = p == q ? 0 : g.low > 0 ? 1 : g.high < 0 ? -1 : 0;
		}
	}
}

static int sign(double x)
{
	return (x > 0) - (x < 0);
}

static double kendall(const struct sensitivity_row *a, const struct sensitivity_row *b, int n)
{
	int sum = 0;

	for (int p = 0; p < n; p++)
		for (int q = p + 1; q < n; q++)
			sum += sign(a->gain[p].mean - a->gain[q].mean) *
			       sign(b->gain[p].mean - b->gain[q].mean);
	return n > 1 ? sum / (0.5 * n * (n - 1)) : 1;
}

static void rank(struct sensitivity_row *row, int n)
{
	for (int p = 0; p < n; p++) {
		row->rank[p] = 1;
		for (int q = 0; q < n; q++)
			row->rank[p] += row->gain[q].mean > row->gain[p].mean;
	}
}

struct study {
	const struct eval *e;
	const struct topo *t;
	const struct machine_params *params;
	struct drive_result *r;
	double *v; /* [n_policies * n_combos] */
	int *order, *first_order;
};

static int one_row(struct study *s, struct sensitivity_row *row, struct errbuf *err)
{
	struct eval e = *s->e;
	struct machine_params params = *s->params;
	size_t combos = (size_t)e.n_combos;
	struct machine m;
	int rc;

	/* The cache may be the topology's: it needs a number to be multiplied. */
	if (params.llc_bytes <= 0 && s->t->llc_bytes)
		params.llc_bytes = (double)s->t->llc_bytes;
	parameter_change_machine(row->parameter, row->factor, &params);
	rc = machine_init(&m, s->t, &params, err);
	if (rc)
		return rc;
	e.m = &m;
	e.change = row->parameter;
	e.change_factor = row->factor;
	rc = eval_run(&e, s->r, err);
	machine_done(&m);
	if (rc)
		return err_wrap(
			err, rc, "%s times %g", parameter_name(row->parameter), row->factor);
	for (int p = 0; p < e.n_policies; p++)
		figures(&e, s->r + (size_t)p * combos, s->v + (size_t)p * combos);
	for (int p = 0; p < e.n_policies; p++)
		row->gain[p] = stats_gain(s->v + (size_t)p * combos, s->v, e.n_combos, e.seed);
	rank(row, e.n_policies);
	pairs(&e, s->v, s->order);
	return 0;
}

static int reversals(const struct study *s)
{
	int n = s->e->n_policies, sum = 0;

	for (int p = 0; p < n; p++)
		for (int q = p + 1; q < n; q++)
			sum += s->order[p * n + q] * s->first_order[p * n + q] < 0;
	return sum;
}

int sensitivity_run(const struct eval *e, const struct topo *t, const struct machine_params *params,
	double by, struct sensitivity_row **ret_rows, int *ret_n, struct errbuf *err)
{
	int n_parameters = parameter_count();
	size_t n = (size_t)e->n_policies, all = n * (size_t)e->n_combos;
	cleanup_free struct sensitivity_row *row = calloc(2 * (size_t)n_parameters, sizeof(*row));
	cleanup_free struct drive_result *r = calloc(all, sizeof(*r));
	cleanup_free double *v = calloc(all, sizeof(*v));
	cleanup_free int *order = calloc(2 * n * n, sizeof(*order));
	struct study s = {e, t, params, r, v, order, NULL};
	int k = 0, rc = 0;

	if (!row || !r || !v || !order)
		return err_set(err, -ENOMEM, "out of memory");
	s.first_order = order + n * n;
	for (int p = 0; p < n_parameters && !rc; p++) {
		for (int up = 0; up < (p == 0 ? 1 : 2) && !rc; up++, k++) {
			row[k].parameter = p;
			row[k].factor = p == 0 ? 1 : up ? 1 + by : 1 - by;
			rc = one_row(&s, &row[k], err);
			if (k == 0)
				memcpy(s.first_order, order, n * n * sizeof(*order));
			row[k].tau = kendall(&row[0], &row[k], (int)n);
			row[k].reversals = reversals(&s);
		}
	}
	if (rc)
		return rc;
	*ret_n = k;
	*ret_rows = take_ptr(row);
	return 0;
}
