/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp_wait.c - how threads wait follows the grant, where their number must stand.
 *
 * A thread that reaches the end of a region spins for a while before it sleeps, for its partners
 * may be there in a moment. With fewer cores than threads they are not running, and the spinning is
 * what keeps them from it. libgomp knows that: while it has more threads than there were CPUs when
 * the program began it spins 100 times at most, not at all under OMP_WAIT_POLICY=passive (gcc 12,
 * libgomp/config/linux/wait.h, env.c). The CPUs it counts once (omp_cpus.c), but the threads
 * always: those of every thread that ever started a region.
 *
 * So for as long as a team has fewer cores than threads, a thread of ours has started a region, and
 * it and its team sleep until then: they are counted, and cost no time. When it ends libgomp ends
 * its team, and the program's threads wait as before. No size changes, no result.
 *
 * LLVM's runtime can be told how long its threads spin, by each thread that starts regions.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "nodesvc/runtime/omp.h"
#include "nodesvc/runtime/sleeper.h"

/* Sleeping threads that we start at most; a program for which that is not enough waits as ever. */
#define SLEEPERS_MAX 64
/* Threads that must start beyond those needed, for libgomp ends a program when one does not. */
#define SPARE 8

struct sleeper {
	sem_t end;
	unsigned int threads; /* of its team */
	void (*parallel)(void (*fn)(void *), void *data, unsigned int n, unsigned int flags);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sleeper *asleep; /* NULL none */

_Atomic unsigned int omp_widest;

static void *probe(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

/* True: @n threads and some more can exist beside those that do. */
static bool has_room(unsigned int n)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread[SLEEPERS_MAX + SPARE];
	unsigned int started = 0;

	pthread_mutex_lock(&gate);
	while (started < n + SPARE && pthread_create(&thread[started], NULL, probe, &gate) == 0)
		started++;
	pthread_mutex_unlock(&gate);
	for (unsigned int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return started == n + SPARE;
}

static void nothing(void *data)
{
	(void)data;
}

static void *sleep_counted(void *arg)
{
	struct sleeper *s = arg;

	/* Whom a thread starts has its name. */
	pthread_setname_np(pthread_self(), COLOC_SLEEPER);
	if (has_room(s->threads))
		s->parallel(nothing, NULL, s->threads, 0);
	while (sem_wait(&s->end) < 0 && errno == EINTR)
		;
	sem_destroy(&s->end);
	free(s);
	return NULL;
}

/* Stacks of a size that the user chose, in an address space that he bounded, may not fit: what the
 * probes cannot tell. */
static bool is_bounded(void)
{
	struct rlimit space;

	return getrlimit(RLIMIT_AS, &space) < 0 ||
	       (space.rlim_cur != RLIM_INFINITY &&
		       (getenv("OMP_STACKSIZE") || getenv("GOMP_STACKSIZE")));
}

static void start(struct omp_runtime *rt, unsigned int n)
{
	/* With the team of @n one more than the CPUs there were; none: it is so already. */
	int more = omp_cpus_first + 1 - (int)n;
	struct sleeper *s;
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	/* The one that starts the region is not counted. */
	if (more < 1 || more + 1 > SLEEPERS_MAX || is_bounded())
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	s->threads = (unsigned int)more + 1;
	s->parallel = (__typeof__(s->parallel))omp_real(rt, OMP_GOMP_parallel, 0);
	if (!s->parallel || sem_init(&s->end, 0, 0) < 0) {
		free(s);
		return;
	}
	/* The program's signals are not for these threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, sleep_counted, s) == 0) {
		asleep = s;
	} else {
		sem_destroy(&s->end);
		free(s);
	}
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* LLVM's way: no time at all while CPUs lack, afterwards what the program had. Of the calling
 * thread's teams. False: it is another runtime, or there is nothing to tell it. */
static bool follow_llvm(struct omp_runtime *rt, unsigned int n, unsigned int widest, int cpus)
{
	static __thread int before_ms = -1;
	bool lacks = cpus > 0 && n > (unsigned int)cpus;
	int (*get)(void);
	void (*set)(int);

	/* A symbol that is not there is looked for anew each time. */
	if (!lacks && before_ms < 0)
		return false;
	get = (int (*)(void))omp_real(rt, OMP_kmp_get_blocktime, 0);
	set = (void (*)(int))omp_real(rt, OMP_kmp_set_blocktime, 0);
	if (!get || !set)
		return false;
	if (lacks && before_ms < 0) {
		before_ms = get();
		set(0);
	} else if (before_ms >= 0 && (cpus <= 0 || widest <= (unsigned int)cpus)) {
		/* Not where the program has chosen another meanwhile. */
		if (get() == 0)
			set(before_ms);
		before_ms = -1;
	}
	return true;
}

void omp_wait_follow(struct omp_runtime *rt, unsigned int n, int cpus, uint32_t generation)
{
	static _Atomic uint32_t last;
	unsigned int widest = atomic_load_explicit(&omp_widest, memory_order_relaxed);

	/* Nobody tells, and libgomp counts on more than there may be. */
	if (cpus <= 0)
		cpus = omp_cpus_now();
	/* Of the teams under one grant the widest counts: regions of two sizes are no reason to
	 * start and end threads at each. */
	if (atomic_exchange(&last, generation) != generation || n > widest)
		widest = n;
	atomic_store_explicit(&omp_widest, widest, memory_order_relaxed);
	if (!rt || follow_llvm(rt, n, widest, cpus) || pthread_mutex_trylock(&lock) != 0)
		return;
	if (!asleep && cpus > 0 && n > (unsigned int)cpus) {
		start(rt, n);
	} else if (asleep && (cpus <= 0 || widest <= (unsigned int)cpus)) {
		sem_post(&asleep->end);
		asleep = NULL;
	}
	pthread_mutex_unlock(&lock);
}
