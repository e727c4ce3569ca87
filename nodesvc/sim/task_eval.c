/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/sim/pool.h"
#include "nodesvc/sim/rng.h"

struct eval_ctx {
	const struct task_eval *e;
	struct task_result *ret;
};

static int run_nth(void *arg, int i, struct errbuf *err)
{
	const struct eval_ctx *c = arg;
	const struct task_eval *e = c->e;
	int p = i % e->n_policies, k = i / e->n_policies;
	struct task_run run = {
		.m = e->m,
		.g = e->g,
		.policy = e->policy[p],
		/* The same for every policy: differences are paired. */
		.seed = rng_mix(e->seed * 1000003 + (uint64_t)k),
		.most_s = e->most_s,
		.when = e->when,
	};
	int rc = task_run(&run, &c->ret[p * e->n_seeds + k], err);

	return rc ? err_wrap(err, rc, "run %d, policy '%s'", k, e->policy[p]) : 0;
}

int task_eval_run(const struct task_eval *e, struct task_result *ret, struct errbuf *err)
{
	struct eval_ctx ctx = {e, ret};
	struct pool pool = {
		.n = e->n_policies * e->n_seeds,
		.workers = e->workers,
		.run = run_nth,
		.ctx = &ctx,
		.progress = e->progress,
	};

	return pool_run(&pool, err);
}

static void add_place(struct task_summary *s, const struct task_result *r, int i, int n)
{
	const struct task_count *c = &r->count[i];
	int at = 0;

	while (at < s->n_places &&
		(s->at[at].place.core != c->place.core || s->at[at].place.width != c->place.width))
		at++;
	if (at == s->n_places)
		s->at[s->n_places++].place = c->place;
	s->at[at].all += (double)c->all / r->n_tasks / n;
	if (r->n_high > 0)
		s->at[at].high += (double)c->high / r->n_high / n;
}

static int compare_places(const void *a, const void *b)
{
	const struct task_place *x = a, *y = b; /* a place is what at[] begins with */

	return x->core != y->core ? x->core - y->core : x->width - y->width;
}

int task_eval_sum(const struct task_eval *e, const struct task_result *r, int p, int base,
	struct task_summary *ret, struct errbuf *err)
{
	int n = e->n_seeds;
	cleanup_free double *value = calloc((size_t)n * 3, sizeof(*value));
	double *other, *seconds;

	if (!value)
		return err_set(err, -ENOMEM, "out of memory");
	other = value + n;
	seconds = other + n;
	memset(ret, 0, sizeof(*ret));
	for (int k = 0; k < n; k++) {
		const struct task_result *x = &r[p * n + k];

		value[k] = x->tasks_per_s;
		seconds[k] = x->seconds;
		other[k] = r[base * n + k].tasks_per_s;
		ret->steals += (double)x->steals / n;
		for (int i = 0; i < x->n_places; i++)
			add_place(ret, x, i, n);
		for (int c = 0; c < e->m->n_cores; c++) {
			ret->on_core[c] += task_result_on_core(x, c, false) / n;
			ret->high_on_core[c] += task_result_on_core(x, c, true) / n;
			ret->busy_s[c] += x->busy_s[c] / n;
		}
	}
	qsort(ret->at, (size_t)ret->n_places, sizeof(ret->at[0]), compare_places);
	ret->seconds = stats_mean(seconds, n, 1);
	ret->tasks_per_s = stats_mean(value, n, 1);
	ret->gain = stats_gain(value, other, n, 1);
	return 0;
}
