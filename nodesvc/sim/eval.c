/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/sensitivity.h"

#define WORKERS_MAX 64

struct pool {
	const struct eval *e;
	struct drive_result *ret;
	atomic_int next, done, failed;
	pthread_mutex_t lock;
	struct errbuf err;
	int rc;
};

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
		sensitivity_program(e->change, e->change_factor, &program[i]);
	for (int i = 0; i < e->n_jobs && !rc; i++)
		spec[i] = (struct run_spec){.program = &program[i], .threads = e->threads};
	d.m = e->m;
	d.spec = spec;
	d.n_jobs = e->n_jobs;
	d.policy = e->policy[p];
	d.objective = e->population->objective;
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

static void *work(void *arg)
{
	struct pool *pool = arg;
	const struct eval *e = pool->e;
	int all = e->n_policies * e->n_combos;

	for (int i; (i = atomic_fetch_add(&pool->next, 1)) < all && !pool->failed;) {
		struct errbuf err = {""};
		int rc = run_one(e, i % e->n_policies, i / e->n_policies,
			&pool->ret[(i % e->n_policies) * e->n_combos + i / e->n_policies], &err);

		if (rc) {
			pthread_mutex_lock(&pool->lock);
			if (!pool->rc) {
				pool->rc = rc;
				pool->err = err;
			}
			pthread_mutex_unlock(&pool->lock);
			pool->failed = 1;
		}
		rc = atomic_fetch_add(&pool->done, 1) + 1;
		if (e->progress)
			e->progress(rc, all);
	}
	return NULL;
}

int eval_run(const struct eval *e, struct drive_result *ret, struct errbuf *err)
{
	struct pool pool = {.e = e, .ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t thread[WORKERS_MAX];
	long workers = e->workers > 0 ? e->workers : sysconf(_SC_NPROCESSORS_ONLN);
	int started = 0;

	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	while (started < workers - 1 && pthread_create(&thread[started], NULL, work, &pool) == 0)
		started++;
	work(&pool);
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	if (pool.rc)
		return err_set(err, pool.rc, "%s", pool.err.text);
	return 0;
}
