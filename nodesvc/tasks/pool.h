/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.h - the threads of libcoloc_tasks and what they share.
 *
 * Each core has a queue of ready tasks (its own thread takes the newest, a thief the oldest), one
 * of ready critical tasks, which are not stolen, and the assembly queue of the tasks whose place
 * holds it. Source: Chen et al., ICPP Workshops 2020, sections 3.2 and 4.1.2.
 *
 * Locks, from the outside in: engine, a worker's, several workers' by ascending core.
 */
#ifndef COLOC_TASKS_POOL_H
#define COLOC_TASKS_POOL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/topo.h"
#include "nodesvc/tasks/coloc_tasks.h"
#include "nodesvc/tasks/grant.h"
#include "nodesvc/tasks/spec.h"
#include "nodesvc/tasks/task_place.h"

/* A task in the assembly queue of one core of its place. */
struct member {
	struct coloc_task *task;
	struct member *next;
};

/* That one task waits for another. */
struct task_edge {
	struct coloc_task *after;
	struct task_edge *next;
};

struct coloc_task {
	struct coloc_tasks *pool;
	const char *type;
	bool critical;
	coloc_task_fn *fn;
	void *arg;
	atomic_int waits; /* tasks before it, and its submission */
	_Atomic(struct task_edge *) edges;
	struct coloc_task *newer, *older; /* in a queue of ready tasks */
	bool placed;
	struct task_place place;
	struct member own, *members; /* members: of a place of several cores */
	atomic_int came, left;
	double begin, leader_s;
	atomic_bool ended;
	struct coloc_task *next; /* of all tasks of the pool */
};

struct ready {
	struct coloc_task *newest, *oldest;
};

struct worker {
	struct coloc_tasks *pool;
	int core;
	unsigned int random;
	double busy; /* time of the last work */
	pthread_t thread;
	bool started;
	atomic_bool active; /* its core may be used; else it only runs what was assembled here */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t cond;
	struct ready low, high;
	struct member *first, **last; /* assembly queue */
	atomic_int n_low;             /* may be read without */
	atomic_bool asleep;           /* likewise */
	bool poked;                   /* there may be something to steal */
	bool rebind;
	struct coreset mask;
};

struct core_count {
	uint64_t ended, critical;
};

struct coloc_tasks {
	struct topo *topo;
	struct tasks_spec spec;
	struct worker *worker; /* [topo->n_cores] */
	double begin;
	atomic_int home; /* worker of tasks that none of our threads releases: an active one */
	atomic_int stealable, n_asleep, unfinished;
	atomic_bool ending;
	atomic_uint generation; /* of the grant in use */
	atomic_uint_fast64_t stolen;
	_Atomic(struct coloc_task *) tasks;

	pthread_mutex_t engine; /* of all below */
	struct task_placer placer;
	struct grant grant;
	struct core_count all, *count; /* [topo->n_cores] */

	pthread_mutex_t lock; /* of whoever waits for the end */
	pthread_cond_t done;
};

/* The mark of a task that nobody can wait for any more. */
extern struct task_edge pool_ended;

/* Threads for the cores that may be used now. -errno: there is not one. */
int pool_use(struct coloc_tasks *p);
/* Another grant is put into effect; any thread, without locks. */
void pool_follow(struct coloc_tasks *p);
/* Nothing is before @t any more. */
void pool_release(struct coloc_task *t);
/* Whether the calling thread is one of the pool's. */
bool pool_is_inside(const struct coloc_tasks *p);
/* Ends and joins the threads. */
void pool_stop(struct coloc_tasks *p);

/* coloc_tasks_open() on another machine's topology, which the pool frees, also on errors: for
 * tests. */
int pool_open(struct coloc_tasks **ret, const struct tasks_spec *spec, struct topo *topo,
	struct errbuf *err);

#endif
