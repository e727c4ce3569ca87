/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priority.h - which threads have high priority on the cores of a node, and which low: Callisto's
 * scheduler of threads, in whatever time its caller brings.
 *
 * A job has a slot for each CPU of its own. One of its threads is high there, its processes' main
 * threads first; all others are low and run where nobody high wants to. When the owner of a slot
 * has been blocked for as long as the hysteresis, a low thread is high in its place (its guest) and
 * the owner low; it is high again when it has been runnable for as long.
 *
 * Source: Callisto (EuroSys 2014) as LIRA, ROSS 2015, section 5.1, has it: "If a high priority
 * thread blocks for longer than a fixed number of processor cycles, it is stopped and a low
 * priority thread allowed to run. The high priority thread is only allowed to run again after it
 * has been runnable for sufficiently many processor cycles", "typically around 10ms". Ours: time
 * for cycles; what a look can see for what a runtime is told; guests first from the owner's own
 * job, so that helper threads that sleep do not cost it a core, then from the others in turn.
 * Pure: no clock, no system call; the caller looks at threads.
 */
#ifndef COLOC_ENGINE_PRIORITY_H
#define COLOC_ENGINE_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"

/* Low threads that are asked for at one look at most: each costs the caller a reading. */
#define PRIORITY_ASKS 16

/* What holds, until the opposite has been seen for long enough. Zeroed: owner runs, no look yet. */
struct hysteresis {
	bool lent;       /* the owner has blocked: a guest has its slot */
	bool against;    /* the last look showed the opposite of that ... */
	int64_t from_ns; /* ... since */
	int64_t last_ns; /* the last look; 0 none */
};

/*
 * hysteresis_look - one look at the owner, at @now_ns. @wants: it runs, waits for a core, or ran
 * since the last look; so one that does not has been blocked for all that time, while one that does
 * counts as runnable from this look on. True: h->lent has changed.
 */
bool hysteresis_look(struct hysteresis *h, int64_t now_ns, bool wants, int64_t hysteresis_ns);

struct priority_thread {
	int64_t id;         /* unique; the caller's */
	int job;            /* 0.. */
	bool leader;        /* its process's main thread */
	struct coreset cpu; /* where it may run */
	bool high;          /* set by priority_assign() and priority_look() */
	int slot;           /* owner or guest of; -1 none */
};

struct priority_slot {
	int job, pu;      /* whose, and the CPU */
	int64_t owner_id; /* 0: fewer threads than CPUs */
	int owner, guest; /* into thread[]; -1 none */
	int64_t guest_id; /* 0 none */
	int last_job;     /* the last guest's */
	struct hysteresis h;
};

struct priority {
	struct priority_slot *slot;
	int n_slots;
	struct priority_thread *thread; /* by job, in order of arrival; a job's in order of birth */
	int n_threads, n_jobs;
	int next; /* thread to be asked next */
};

/*
 * priority_assign - after thread[] or slot[] were made anew: keeps owners and guests that are still
 * there (slots and threads are known by pu and id), gives every other slot an owner, and says who
 * is high. A slot whose job or owner has changed begins anew.
 */
void priority_assign(struct priority *p);

/*
 * priority_look - one look at all slots. @wants tells, of a thread by index, what hysteresis_look()
 * wants to know; it is asked of all owners and guests, and of at most PRIORITY_ASKS others.
 * Returns the number of threads whose priority has changed.
 */
int priority_look(struct priority *p, int64_t now_ns, int64_t hysteresis_ns,
	bool (*wants)(void *arg, int thread), void *arg);

#endif
