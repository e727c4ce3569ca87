/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/parameter.h"
#include "nodesvc/sim/pool.h"

/* One run: combination @k under policy @p. */
static int run_one(const struct eval *e, int p, int k, struct drive_result *ret, struct errbuf *err)
{
	struct program *program = calloc((size_t)e->n_jobs, sizeof(*program));
	struct run_spec *spec = calloc((size_t)e->n_jobs, sizeof(*spec));
	struct drive d = e->drive;
	int rc = 0;

	if (!program || !spec)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = population_combo(e->population, e->seed, k, e->n_jobs, program, err);
	for (int i = 0; i < e->n_jobs && !rc; i++)
		parameter_change_program(e->change, e->change_factor, &program[i]);
	for (int i = 0; i < e->n_jobs && !rc; i++)
		spec[i] = (struct run_spec){
			.program = &program[i],
			.threads = e->threads > 0 ? e->threads : e->population->threads,
		};
	d.m = e->m;
	d.spec = spec;
	d.n_jobs = e->n_jobs;
	d.policy = e->policy[p];
	d.objective = e->population->objective;
	d.fill = e->population->fill;
	/* The same noise for every policy: differences are paired. */
	d.seed = rng_mix(e->seed * 1000003 + (uint64_t)k);
	if (!rc)
		rc = drive_run(&d, ret, err);
	if (rc)
		err_wrap(err, rc, "combination %d, policy '%s'", k, e->policy[p]);
	free(program);
	free(spec);
	return rc;
}

struct eval_ctx {
	const struct eval *e;
	struct drive_result *ret;
};

static int run_nth(void *arg, int i, struct errbuf *err)
{
	const struct eval_ctx *c = arg;
	int p = i % c->e->n_policies, k = i / c->e->n_policies;

	return run_one(c->e, p, k, &c->ret[p * c->e->n_combos + k], err);
}

int eval_run(const struct eval *e, struct drive_result *ret, struct errbuf *err)
{
	struct eval_ctx ctx = {e, ret};
	struct pool pool = {
		.n = e->n_policies * e->n_combos,
		.workers = e->workers,
		.run = run_nth,
		.ctx = &ctx,
		.progress = e->progress,
	};

	return pool_run(&pool, err);
}
