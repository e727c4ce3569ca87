/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/tasks/pool.h"

/* A thread looks so long for work before it sleeps: longer than a wake-up takes, and less than its
 * core would be missed by others. */
#define LOOK_S 100e-6
/* While tasks run, sleepers look at the grant so often. */
#define LOOK_AT_GRANT_NS 100000000

struct task_edge pool_ended;

static __thread struct worker *self;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool pool_is_inside(const struct coloc_tasks *p)
{
	return self && self->pool == p;
}

/* Queues, under the worker's lock. */

static void push_ready(struct ready *q, struct coloc_task *t)
{
	t->older = q->newest;
	t->newer = NULL;
	*(q->newest ? &q->newest->newer : &q->oldest) = t;
	q->newest = t;
}

static void take(struct ready *q, struct coloc_task *t)
{
	*(t->newer ? &t->newer->older : &q->newest) = t->older;
	*(t->older ? &t->older->newer : &q->oldest) = t->newer;
}

static void push_low(struct worker *w, struct coloc_task *t)
{
	push_ready(&w->low, t);
	atomic_fetch_add(&w->n_low, 1);
	atomic_fetch_add(&w->pool->stealable, 1);
}

static struct coloc_task *take_low(struct worker *w, struct coloc_task *t)
{
	if (!t)
		return NULL;
	take(&w->low, t);
	atomic_fetch_sub(&w->n_low, 1);
	atomic_fetch_sub(&w->pool->stealable, 1);
	return t;
}

static struct coloc_task *take_own(struct worker *w)
{
	struct coloc_task *t = w->high.newest;

	if (!t)
		return take_low(w, w->low.newest);
	take(&w->high, t);
	return t;
}

static void push_member(struct worker *w, struct member *m)
{
	m->next = NULL;
	*w->last = m;
	w->last = &m->next;
	if (w->asleep)
		pthread_cond_signal(&w->cond);
}

static struct member *take_member(struct worker *w)
{
	struct member *m = w->first;

	if (m && !(w->first = m->next))
		w->last = &w->first;
	return m;
}

/* Sleepers. */

static void wake_thief(struct coloc_tasks *p)
{
	if (p->n_asleep == 0)
		return;
	for (int c = 0; c < p->topo->n_cores; c++) {
		struct worker *w = &p->worker[c];
		bool found = false;

		if (!w->asleep || !w->active)
			continue;
		pthread_mutex_lock(&w->lock);
		if (w->asleep && !w->poked) {
			w->poked = found = true;
			pthread_cond_signal(&w->cond);
		}
		pthread_mutex_unlock(&w->lock);
		if (found)
			return;
	}
}

static void wake(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->poked = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static void sleep_on(struct worker *w)
{
	struct coloc_tasks *p = w->pool;
	struct timespec until;

	pthread_mutex_lock(&w->lock);
	/* Before it looks a last time: who pushes after that sees a sleeper. */
	w->asleep = true;
	atomic_fetch_add(&p->n_asleep, 1);
	if (!w->first && !w->high.newest && !w->low.newest && !w->poked && !w->rebind &&
		!p->ending && !(w->active && p->stealable > 0)) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_AT_GRANT_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (p->unfinished > 0)
			pthread_cond_timedwait(&w->cond, &w->lock, &until);
		else
			pthread_cond_wait(&w->cond, &w->lock);
	}
	w->poked = false;
	w->asleep = false;
	atomic_fetch_sub(&p->n_asleep, 1);
	pthread_mutex_unlock(&w->lock);
}

/* Places. */

static bool is_usable(const struct coloc_tasks *p, struct task_place at)
{
	for (int c = at.core; c < at.core + at.width; c++)
		if (c < 0 || c >= p->topo->n_cores || !p->worker[c].active)
			return false;
	return at.width > 0;
}

/* Whatever the engine says to it, the task runs: in doubt on the core that asks. */
static void decide(struct worker *w, struct coloc_task *t)
{
	struct coloc_tasks *p = w->pool;
	struct task_place at = {0, 0};

	pthread_mutex_lock(&p->engine);
	if (task_placer_decide(
		    &p->placer, now() - p->begin, t->type, t->critical, w->core, &at, NULL))
		at.width = 0;
	pthread_mutex_unlock(&p->engine);
	t->place = at.width > 0 ? at : (struct task_place){w->core, 1};
	t->placed = true;
}

static void release_at(struct worker *w, struct coloc_task *t)
{
	struct coloc_tasks *p = w->pool;
	bool critical = t->critical && !p->placer.ignores_priority;

	if (p->spec.at_wakeup) {
		decide(w, t);
		if (critical)
			w = &p->worker[t->place.core];
	}
	pthread_mutex_lock(&w->lock);
	if (critical)
		push_ready(&w->high, t);
	else
		push_low(w, t);
	if (w->asleep)
		pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
	if (!critical)
		wake_thief(p);
}

void pool_release(struct coloc_task *t)
{
	struct coloc_tasks *p = t->pool;

	release_at(pool_is_inside(p) && self->active ? self : &p->worker[atomic_load(&p->home)], t);
}

/* All members' queues at once: two tasks come to all cores that they share in the same order. */
static void dispatch(struct coloc_tasks *p, struct coloc_task *t)
{
	struct task_place at = t->place;
	struct member *m = &t->own;

	if (at.width > 1) {
		m = t->members = calloc((size_t)at.width, sizeof(*m));
		if (!m) {
			t->place.width = at.width = 1;
			m = &t->own;
		}
	}
	atomic_store(&t->left, at.width);
	for (int i = 0; i < at.width; i++)
		pthread_mutex_lock(&p->worker[at.core + i].lock);
	for (int i = 0; i < at.width; i++) {
		m[i].task = t;
		push_member(&p->worker[at.core + i], &m[i]);
	}
	for (int i = 0; i < at.width; i++)
		pthread_mutex_unlock(&p->worker[at.core + i].lock);
}

/* @t was taken out of a queue by @w. */
static void start(struct worker *w, struct coloc_task *t, bool stolen)
{
	/* Section 4.1.2: a thief looks again. So does who finds a place that is no longer ours. */
	if (!t->placed || stolen || !is_usable(w->pool, t->place))
		decide(w, t);
	dispatch(w->pool, t);
}

/* What the trace table gets, and who may look at how many ran where. */
static void report(struct coloc_tasks *p, struct coloc_task *t, double end)
{
	double seconds = p->spec.leader_time ? t->leader_s : end - t->begin;

	pthread_mutex_lock(&p->engine);
	/* A leader that came when all was done has measured nothing. */
	if (seconds > 0)
		task_placer_report(&p->placer, end - p->begin, t->type, t->place, seconds, NULL);
	p->all.ended++;
	p->all.critical += t->critical;
	for (int c = t->place.core; c < t->place.core + t->place.width; c++) {
		p->count[c].ended++;
		p->count[c].critical += t->critical;
	}
	pthread_mutex_unlock(&p->engine);
}

/* Those after it get its core's queue, in the order in which they were made to wait. */
static void release_after(struct coloc_task *t)
{
	struct task_edge *e = atomic_exchange(&t->edges, &pool_ended), *first = NULL;

	while (e) {
		struct task_edge *next = e->next;

		e->next = first;
		first = e;
		e = next;
	}
	while (first) {
		struct task_edge *next = first->next;

		if (atomic_fetch_sub(&first->after->waits, 1) == 1)
			pool_release(first->after);
		free(first);
		first = next;
	}
}

static void run(struct worker *w, struct member *m)
{
	struct coloc_tasks *p = w->pool;
	struct coloc_task *t = m->task;
	int member = w->core - t->place.core;
	double begin = now(), end;

	if (atomic_fetch_add(&t->came, 1) == 0)
		t->begin = begin;
	t->fn(t->arg, member, t->place.width);
	end = now();
	w->busy = end;
	if (member == 0)
		t->leader_s = end - begin;
	/* From here on @t is the last one's out. */
	if (atomic_fetch_sub(&t->left, 1) > 1)
		return;
	report(p, t, end);
	release_after(t);
	free(t->members);
	t->members = NULL;
	atomic_store(&t->ended, true);
	if (atomic_fetch_sub(&p->unfinished, 1) == 1) {
		pthread_mutex_lock(&p->lock);
		pthread_cond_broadcast(&p->done);
		pthread_mutex_unlock(&p->lock);
	}
}

static struct coloc_task *steal(struct worker *w)
{
	struct coloc_tasks *p = w->pool;
	int n = p->topo->n_cores, from = rand_r(&w->random) % n;

	for (int i = 0; i < n && p->stealable > 0; i++) {
		struct worker *victim = &p->worker[(from + i) % n];
		struct coloc_task *t;

		if (victim == w || victim->n_low == 0)
			continue;
		pthread_mutex_lock(&victim->lock);
		t = take_low(victim, victim->low.oldest);
		pthread_mutex_unlock(&victim->lock);
		if (t) {
			atomic_fetch_add(&p->stolen, 1);
			return t;
		}
	}
	return NULL;
}

/* The core is no longer ours: its ready tasks go to one that is. */
static void hand_over(struct worker *w)
{
	struct worker *to = &w->pool->worker[atomic_load(&w->pool->home)];
	struct coloc_task *t;

	while (to != w) {
		bool critical;

		pthread_mutex_lock(&w->lock);
		critical = w->high.newest != NULL;
		t = take_own(w);
		pthread_mutex_unlock(&w->lock);
		if (!t)
			return;
		pthread_mutex_lock(&to->lock);
		if (critical)
			push_ready(&to->high, t);
		else
			push_low(to, t);
		if (to->asleep)
			pthread_cond_signal(&to->cond);
		pthread_mutex_unlock(&to->lock);
	}
}

/* A mask that the kernel refuses leaves the thread where it is. */
static void bind_to(const struct coreset *mask)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	coreset_for_each (pu, mask)
		CPU_SET((size_t)pu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void step(struct worker *w)
{
	struct coloc_task *t = NULL;
	struct member *m;
	struct coreset mask;
	bool active = w->active, rebind, stolen = false;

	pthread_mutex_lock(&w->lock);
	rebind = w->rebind;
	w->rebind = false;
	mask = w->mask;
	m = take_member(w);
	if (!m && active)
		t = take_own(w);
	pthread_mutex_unlock(&w->lock);
	if (rebind)
		bind_to(&mask);
	if (!m && !active)
		hand_over(w);
	if (!m && !t && active) {
		t = steal(w);
		stolen = t;
	}
	if (m) {
		run(w, m);
	} else if (t) {
		start(w, t, stolen);
		w->busy = now();
	} else if (active && now() - w->busy < LOOK_S) {
		sched_yield();
	} else {
		sleep_on(w);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	self = w;
	w->busy = now();
	while (!w->pool->ending) {
		pool_follow(w->pool);
		step(w);
	}
	return NULL;
}

/* Our threads are nobody's to send signals to. */
static int start_thread(struct worker *w)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->started = rc == 0;
	return -rc;
}

static void set_mask(struct worker *w, const struct coreset *mask, bool active)
{
	pthread_mutex_lock(&w->lock);
	w->mask = *mask;
	w->rebind = true;
	w->poked = true;
	w->active = active;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

int pool_use(struct coloc_tasks *p)
{
	const struct topo *topo = p->topo;
	struct coreset usable = {{0}}, here;
	int home = -1, rc = -ENODEV;

	coreset_and(&here, &topo->all, &p->grant.cpus);
	if (coreset_is_empty(&here)) /* all of it is new to us: as before, or any core */
		here = p->placer.usable;
	if (coreset_is_empty(&here))
		here = topo->all;
	for (int c = 0; c < topo->n_cores; c++) {
		struct worker *w = &p->worker[c];
		struct coreset mask;

		coreset_and(&mask, &topo->core[c].pus, &here);
		if (coreset_is_empty(&mask))
			continue;
		set_mask(w, &mask, true);
		if (!w->started)
			rc = start_thread(w);
		if (!w->started) {
			w->active = false;
			continue;
		}
		coreset_or(&usable, &usable, &mask);
		home = home < 0 ? c : home;
	}
	if (home < 0)
		return rc;
	p->placer.usable = usable;
	p->home = home;
	for (int c = 0; c < topo->n_cores; c++)
		if (!coreset_intersects(&topo->core[c].pus, &usable))
			set_mask(&p->worker[c], &here, false);
	return 0;
}

void pool_follow(struct coloc_tasks *p)
{
	if (!p->grant.c || !grant_is_news(&p->grant, p->generation))
		return;
	pthread_mutex_lock(&p->engine);
	if (grant_read(&p->grant))
		pool_use(p);
	p->generation = p->grant.generation;
	pthread_mutex_unlock(&p->engine);
}

void pool_stop(struct coloc_tasks *p)
{
	p->ending = true;
	for (int c = 0; c < p->topo->n_cores; c++)
		wake(&p->worker[c]);
	for (int c = 0; c < p->topo->n_cores; c++)
		if (p->worker[c].started)
			pthread_join(p->worker[c].thread, NULL);
}
