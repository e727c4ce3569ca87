/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/tasks/coloc_tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/tasks/pool.h"

#define DEFAULT_SPEC "das-dam-c"
/* Who waits looks at the grant so often: it may be that all threads are in long tasks. */
#define LOOK_AT_GRANT_NS 100000000

static int init_worker(struct coloc_tasks *p, int core)
{
	struct worker *w = &p->worker[core];
	pthread_condattr_t attr;
	int rc;

	w->pool = p;
	w->core = core;
	w->random = (unsigned int)p->spec.seed * 2654435761u + (unsigned int)core;
	w->last = &w->first;
	rc = pthread_mutex_init(&w->lock, NULL);
	if (rc)
		return -rc;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = pthread_cond_init(&w->cond, &attr);
	pthread_condattr_destroy(&attr);
	return -rc;
}

static void free_pool(struct coloc_tasks *p)
{
	struct coloc_task *t = p->tasks;

	while (t) {
		struct coloc_task *next = t->next;
		struct task_edge *e = t->edges;

		/* Of tasks that were never submitted. */
		while (e && e != &pool_ended) {
			struct task_edge *after = e->next;

			free(e);
			e = after;
		}
		free(t->members);
		free(t);
		t = next;
	}
	task_placer_done(&p->placer);
	grant_close(&p->grant);
	for (int c = 0; p->worker && c < p->topo->n_cores; c++) {
		pthread_mutex_destroy(&p->worker[c].lock);
		pthread_cond_destroy(&p->worker[c].cond);
	}
	pthread_mutex_destroy(&p->engine);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->done);
	free(p->worker);
	free(p->count);
	topo_free(p->topo);
	free(p);
}

static bool needs_fast(const char *policy)
{
	return strncmp(policy, "das-fa", 6) == 0; /* das-fam-c, too */
}

static void init_condition(struct coloc_tasks *p)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&p->engine, NULL);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->done, &attr);
	pthread_condattr_destroy(&attr);
}

int pool_open(struct coloc_tasks **ret, const struct tasks_spec *spec, struct topo *topo,
	struct errbuf *err)
{
	struct coloc_tasks *p = calloc(1, sizeof(*p));
	struct timespec t;
	int rc = 0;

	if (!p) {
		topo_free(topo);
		return err_set(err, -ENOMEM, "out of memory");
	}
	p->topo = topo;
	p->spec = *spec;
	clock_gettime(CLOCK_MONOTONIC, &t);
	p->begin = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	init_condition(p);
	p->worker = calloc((size_t)topo->n_cores, sizeof(*p->worker));
	p->count = calloc((size_t)topo->n_cores, sizeof(*p->count));
	if (!p->worker || !p->count)
		rc = err_set(err, -ENOMEM, "out of memory");
	for (int c = 0; c < topo->n_cores && !rc; c++)
		rc = init_worker(p, c);
	if (!rc && needs_fast(spec->policy) && !spec->all_fast && coreset_is_empty(&spec->fast))
		rc = err_set(
			err, -ENODATA, "policy '%s': needs fast=all, or fast=CPUs", spec->policy);
	if (!rc)
		rc = task_placer_init(&p->placer, spec->policy, topo,
			p->spec.all_fast ? &topo->all : &p->spec.fast, spec->seed, err);
	if (!rc) {
		grant_open(&p->grant);
		p->generation = p->grant.generation;
		pthread_mutex_lock(&p->engine);
		rc = pool_use(p);
		pthread_mutex_unlock(&p->engine);
		if (rc) {
			err_set(err, rc, "no thread could be made: %s", strerror(-rc));
			pool_stop(p);
		}
	}
	if (rc)
		free_pool(p);
	else
		*ret = p;
	return rc;
}

int coloc_tasks_open(struct coloc_tasks **ret, const char *spec, char *why, size_t why_size)
{
	const char *environment = secure_getenv("COLOC_TASKS");
	struct errbuf err = {""};
	struct topo *topo = NULL;
	struct tasks_spec s;
	int rc;

	if (!spec)
		spec = environment && *environment ? environment : DEFAULT_SPEC;
	rc = spec_parse(&s, spec, &err);
	if (!rc)
		rc = topo_load(&topo, NULL, &err);
	if (!rc)
		rc = pool_open(ret, &s, topo, &err);
	if (rc && why && why_size > 0)
		snprintf(why, why_size, "%s", err.text);
	return rc;
}

struct coloc_task *coloc_task_new(
	struct coloc_tasks *p, const char *type, unsigned int flags, coloc_task_fn *fn, void *arg)
{
	struct coloc_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->pool = p;
	t->type = type;
	t->critical = flags & COLOC_TASK_CRITICAL;
	t->fn = fn;
	t->arg = arg;
	t->waits = 1;
	t->next = p->tasks;
	while (!atomic_compare_exchange_weak(&p->tasks, &t->next, t))
		;
	return t;
}

int coloc_task_after(struct coloc_task *t, struct coloc_task *before)
{
	struct task_edge *e = malloc(sizeof(*e)), *head = before->edges;

	if (!e)
		return -ENOMEM;
	e->after = t;
	/* First: @before may end, and count it back, at once. */
	atomic_fetch_add(&t->waits, 1);
	do {
		if (head == &pool_ended) {
			atomic_fetch_sub(&t->waits, 1);
			free(e);
			return 0;
		}
		e->next = head;
	} while (!atomic_compare_exchange_weak(&before->edges, &head, e));
	return 0;
}

void coloc_task_submit(struct coloc_task *t)
{
	atomic_fetch_add(&t->pool->unfinished, 1);
	if (atomic_fetch_sub(&t->waits, 1) == 1)
		pool_release(t);
}

/* Tasks that ended; what was not submitted yet stays. */
static void free_ended(struct coloc_tasks *p)
{
	struct coloc_task *t = atomic_exchange(&p->tasks, NULL);

	while (t) {
		struct coloc_task *next = t->next;

		if (t->ended) {
			free(t);
		} else {
			t->next = p->tasks;
			while (!atomic_compare_exchange_weak(&p->tasks, &t->next, t))
				;
		}
		t = next;
	}
}

int coloc_tasks_wait(struct coloc_tasks *p)
{
	struct timespec until;

	if (pool_is_inside(p))
		return -EDEADLK;
	pthread_mutex_lock(&p->lock);
	while (p->unfinished > 0) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_AT_GRANT_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&p->done, &p->lock, &until);
		pthread_mutex_unlock(&p->lock);
		pool_follow(p);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	free_ended(p);
	return 0;
}

void coloc_tasks_close(struct coloc_tasks *p)
{
	if (!p)
		return;
	coloc_tasks_wait(p);
	pool_stop(p);
	free_pool(p);
}

int coloc_tasks_cpus(struct coloc_tasks *p, int *cpus, int max)
{
	int n = 0;

	pthread_mutex_lock(&p->engine);
	for (int c = 0; c < p->topo->n_cores; c++) {
		struct coreset mine;

		coreset_and(&mine, &p->topo->core[c].pus, &p->placer.usable);
		if (coreset_is_empty(&mine))
			continue;
		if (n < max)
			cpus[n] = coreset_next(&mine, 0);
		n++;
	}
	pthread_mutex_unlock(&p->engine);
	return n;
}

uint64_t coloc_tasks_count(struct coloc_tasks *p, enum coloc_tasks_count what, int cpu)
{
	int core = cpu >= 0 && cpu < CORESET_MAX ? p->topo->pu_core[cpu] : -1;
	uint64_t n = 0;

	if (what == COLOC_TASKS_STOLEN)
		return cpu < 0 ? p->stolen : 0;
	pthread_mutex_lock(&p->engine);
	if (cpu < 0)
		n = what == COLOC_TASKS_ENDED_CRITICAL ? p->all.critical : p->all.ended;
	else if (core >= 0)
		n = what == COLOC_TASKS_ENDED_CRITICAL ? p->count[core].critical
						       : p->count[core].ended;
	pthread_mutex_unlock(&p->engine);
	return n;
}
