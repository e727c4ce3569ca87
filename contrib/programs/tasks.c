/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/sim/task_queue.h"
#include "contrib/programs/tasks.h"

struct worker {
	struct pool *pool;
	int core;
	unsigned int random;
	pthread_mutex_t lock; /* of the three queues */
	struct task_queue low, high, assembly;
};

struct live_task {
	atomic_int waits, left, came;
	double begin; /* of the first core to come; read by the last one out */
	struct task_place place;
};

struct pool {
	const struct tasks_graph *g;
	const struct topo *topo;
	struct worker *worker;
	struct live_task *live;
	int n;
	double begin;
	atomic_int done, steals, started, failed;
	pthread_mutex_t engine; /* placer, result, error */
	struct task_placer placer;
	struct tasks_result result;
	struct errbuf err;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The first failure ends the run: every loop looks at it. */
static void fail(struct pool *p, int rc, const char *text)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&p->failed, &none, rc) && text)
		err_set(&p->err, rc, "%s", text);
}

static void decide(struct pool *p, int task, int core)
{
	const struct tasks_task *t = &p->g->task[task];
	struct errbuf err = {""};
	int rc;

	pthread_mutex_lock(&p->engine);
	rc = task_placer_decide(
		&p->placer, now() - p->begin, t->type, t->high, core, &p->live[task].place, &err);
	if (rc)
		fail(p, rc, err.text);
	pthread_mutex_unlock(&p->engine);
}

static void push(struct pool *p, struct worker *w, struct task_queue *q, int task)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = task_queue_push(q, task);
	pthread_mutex_unlock(&w->lock);
	if (rc)
		fail(p, rc, "out of memory");
}

static void release(struct pool *p, int task, int core)
{
	decide(p, task, core);
	if (p->failed)
		return;
	if (p->g->task[task].high && !p->placer.ignores_priority) {
		struct worker *w = &p->worker[p->live[task].place.core];

		push(p, w, &w->high, task);
	} else {
		push(p, &p->worker[core], &p->worker[core].low, task);
	}
}

/* All members' queues at once: two tasks come to all cores they share in the same order. */
static void dispatch(struct pool *p, int task)
{
	struct task_place at = p->live[task].place;
	int rc = 0;

	for (int c = at.core; c < at.core + at.width; c++)
		pthread_mutex_lock(&p->worker[c].lock);
	for (int c = at.core; c < at.core + at.width && !rc; c++)
		rc = task_queue_push(&p->worker[c].assembly, task);
	for (int c = at.core; c < at.core + at.width; c++)
		pthread_mutex_unlock(&p->worker[c].lock);
	if (rc)
		fail(p, rc, "out of memory");
}

/*
 * The table gets the time from the first core in to the last one out. The paper's leader times its
 * own part; on a core that others share it may come when the work is done, or hold the last block
 * for a time slice, and would call both short.
 */
static void report(struct pool *p, int task)
{
	const struct tasks_task *t = &p->g->task[task];
	struct task_place at = p->live[task].place;
	double end = now();
	struct errbuf err = {""};
	int rc;

	pthread_mutex_lock(&p->engine);
	rc = task_placer_report(
		&p->placer, end - p->begin, t->type, at, end - p->live[task].begin, &err);
	if (rc)
		fail(p, rc, err.text);
	p->result.n_high += t->high;
	for (int c = at.core; c < at.core + at.width; c++)
		p->result.high_on_core[c] += t->high;
	pthread_mutex_unlock(&p->engine);
}

static void execute(struct worker *w, int task)
{
	struct pool *p = w->pool;
	const struct tasks_task *t = &p->g->task[task];
	struct live_task *l = &p->live[task];

	if (atomic_fetch_add(&l->came, 1) == 0)
		l->begin = now();
	p->g->run(p->g->ctx, task);
	if (atomic_fetch_sub(&l->left, 1) > 1)
		return;
	report(p, task);
	for (int i = 0; i < t->n_children && !p->failed; i++) {
		int child = p->g->child[t->first_child + i];

		if (atomic_fetch_sub(&p->live[child].waits, 1) == 1)
			release(p, child, w->core);
	}
	atomic_fetch_add(&p->done, 1);
}

static int steal(struct worker *w)
{
	struct pool *p = w->pool;
	struct worker *victim;
	int task;

	if (p->n < 2)
		return -1;
	victim = &p->worker[(w->core + 1 + rand_r(&w->random) % (p->n - 1)) % p->n];
	pthread_mutex_lock(&victim->lock);
	task = task_queue_oldest(&victim->low);
	pthread_mutex_unlock(&victim->lock);
	if (task >= 0) {
		atomic_fetch_add(&p->steals, 1);
		decide(p, task, w->core);
	}
	return task;
}

static void step(struct worker *w)
{
	struct pool *p = w->pool;
	int run, task = -1;

	pthread_mutex_lock(&w->lock);
	run = task_queue_oldest(&w->assembly);
	if (run < 0)
		task = task_queue_newest(&w->high);
	if (run < 0 && task < 0)
		task = task_queue_newest(&w->low);
	pthread_mutex_unlock(&w->lock);
	if (run >= 0) {
		execute(w, run);
		return;
	}
	if (task < 0)
		task = steal(w);
	if (task < 0) {
		sched_yield();
		return;
	}
	if (p->failed)
		return;
	atomic_store(&p->live[task].left, p->live[task].place.width);
	dispatch(p, task);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	cpu_set_t set;
	int rc;

	CPU_ZERO(&set);
	CPU_SET((size_t)coreset_next(&p->topo->core[w->core].pus, 0), &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (rc)
		fail(p, -rc, "a thread cannot be bound to its core");
	atomic_fetch_add(&p->started, 1);
	while (p->started < p->n && !p->failed)
		sched_yield();
	while (p->done < p->g->n_tasks && !p->failed)
		step(w);
	return NULL;
}

static int start(struct pool *p)
{
	pthread_t thread[TASKS_CORES_MAX];
	int n = 0, rc = 0;

	p->begin = now();
	for (int i = 0; i < p->g->n_tasks; i++)
		atomic_store(&p->live[i].waits, p->g->task[i].n_before);
	for (int i = 0; i < p->g->n_tasks && !p->failed; i++)
		if (p->g->task[i].n_before == 0)
			release(p, i, 0);
	for (; n < p->n && !rc; n++)
		rc = pthread_create(&thread[n], NULL, work, &p->worker[n]);
	if (rc) {
		fail(p, -rc, "a thread cannot be made");
		n--;
	}
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	p->result.seconds = now() - p->begin;
	p->result.steals = p->steals;
	return p->failed;
}

static void free_pool(struct pool *p)
{
	for (int i = 0; p->worker && i < p->n; i++) {
		task_queue_done(&p->worker[i].low);
		task_queue_done(&p->worker[i].high);
		task_queue_done(&p->worker[i].assembly);
		pthread_mutex_destroy(&p->worker[i].lock);
	}
	free(p->worker);
	free(p->live);
	free(p);
}

int tasks_run(const struct tasks_graph *g, const char *policy, const struct topo *topo,
	const struct coreset *fast, uint64_t seed, struct tasks_result *ret, struct errbuf *err)
{
	struct pool *p;
	int rc;

	if (topo->n_cores > TASKS_CORES_MAX)
		return err_set(err, -EINVAL, "%d cores: at most %d are used", topo->n_cores,
			TASKS_CORES_MAX);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->g = g;
	p->topo = topo;
	p->n = topo->n_cores;
	p->worker = calloc((size_t)p->n, sizeof(*p->worker));
	p->live = calloc((size_t)g->n_tasks + 1, sizeof(*p->live));
	if (!p->worker || !p->live) {
		free(p->worker);
		p->worker = NULL;
		free_pool(p);
		return err_set(err, -ENOMEM, "out of memory");
	}
	pthread_mutex_init(&p->engine, NULL);
	for (int i = 0; i < p->n; i++) {
		p->worker[i].pool = p;
		p->worker[i].core = i;
		p->worker[i].random = (unsigned int)seed * 2654435761u + (unsigned int)i;
		pthread_mutex_init(&p->worker[i].lock, NULL);
	}
	rc = task_placer_init(&p->placer, policy, topo, fast, seed, err);
	if (!rc) {
		rc = start(p);
		if (rc)
			err_set(err, rc, "%s", p->err.text);
		else
			*ret = p->result;
		task_placer_done(&p->placer);
	}
	pthread_mutex_destroy(&p->engine);
	free_pool(p);
	return rc;
}
