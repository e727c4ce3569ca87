/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/runtime/omp.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "common/ipc.h"
#include "nodesvc/runtime/client.h"
#include "nodesvc/runtime/coloc.h"
#include "nodesvc/runtime/page.h"

/* Of a thread's regions: so many start unasked at most, and for about so long. */
#define UNASKED_MAX 128
#define UNASKED_NS  INT64_C(250000000)

static const uint32_t no_generation;
const uint32_t *_Atomic omp_generation = &no_generation;
_Atomic uint16_t omp_epoch;
__thread int omp_unasked;

static _Atomic(struct coloc *) grant;
static _Atomic int asked_for_grant; /* 0 not yet, 1 somebody does, 2 done */
static _Atomic int hands_off;
static _Atomic int told;    /* what omp_get_max_threads() said; 0 never asked */
static bool strict;         /* told once is told for ever */
static int n_processes = 1; /* of the step, on this node */

_Atomic uint32_t omp_heeded;

/* From its first pages on a change is seen at the next region. */
static void follow(const struct coloc *c)
{
	const uint32_t *generation = client_generation(c);

	if (generation)
		atomic_store_explicit(&omp_generation, generation, memory_order_relaxed);
}

static void attach(void)
{
	struct coloc *c;

	strict = getenv("COLOC_OMP_STRICT") != NULL;
	if (getenv("COLOC_OMP_KEEP_THREADS"))
		omp_hands_off();
	n_processes = omp_processes_here();
	c = coloc_attach();
	follow(c);
	atomic_store_explicit(&grant, c, memory_order_release);
}

/* Cores of this process, if those of its step share alike; 0 unknown. *@ret_generation: of the
 * grant it was read from. False: ask again next time. */
static bool granted(int *ret_cores, uint32_t *ret_generation)
{
	struct coloc *c;
	int none = 0;

	*ret_cores = 0;
	*ret_generation = 0;
	/* At the first region, not at the start: a shell under us never asks. */
	if (atomic_compare_exchange_strong(&asked_for_grant, &none, 1)) {
		if (getauxval(AT_SECURE))
			omp_hands_off();
		else
			attach();
		atomic_store(&asked_for_grant, 2);
	} else if (none == 1) {
		return false;
	}
	c = atomic_load_explicit(&grant, memory_order_acquire);
	*ret_cores = coloc_granted(c, ret_generation);
	if (*ret_cores > 0)
		*ret_cores = *ret_cores > n_processes ? *ret_cores / n_processes : 1;
	/* The service may have answered later than at the first region. */
	follow(c);
	return true;
}

/* CPUs of this process, of which a core of @cores may have several: threads that have one each wait
 * for partners that run. 0 unknown. */
static int cpus_of(int cores)
{
	int n = cores > 0 ? coloc_cores(atomic_load_explicit(&grant, memory_order_acquire), NULL, 0)
			  : 0;

	n /= n_processes;
	return n > cores ? n : cores;
}

/* What the runtime says, inside whose region; false: not ours to change. */
static bool is_open(struct omp_runtime *rt, int *ret_max)
{
	int (*level)(void), (*max)(void);

	level = (int (*)(void))omp_real(rt, OMP_omp_get_level, 0);
	max = (int (*)(void))omp_real(rt, OMP_omp_get_max_threads, 0);
	if (!level || !max || level() > 0)
		return false;
	*ret_max = max();
	return true;
}

/* Regions of this thread that the service has not been told of. */
static __thread unsigned int uncounted;

static void tell_regions(void)
{
	struct coloc *c = atomic_load_explicit(&grant, memory_order_acquire);

	if (!c || !uncounted)
		return;
	client_counted(c, COLOC_REGIONS, uncounted);
	uncounted = 0;
}

/* A thread that starts a thousand regions in a second asks at each 128th, one that starts two at
 * each: a service that went away is missed as soon. */
static void set_unasked(void)
{
	static __thread int64_t last_ns;
	static __thread int last = 1;
	int64_t now_ns = ipc_now_ns(), elapsed_ns = now_ns - last_ns;
	int64_t n = elapsed_ns > 0 ? last * UNASKED_NS / elapsed_ns : UNASKED_MAX;

	uncounted += (unsigned int)last;
	tell_regions();
	last = n < 1 ? 1 : n > UNASKED_MAX ? UNASKED_MAX : (int)n;
	last_ns = now_ns;
	omp_unasked = last - 1;
}

unsigned int omp_ask(struct omp_runtime *rt)
{
	uint16_t epoch = atomic_load(&omp_epoch);
	uint32_t generation;
	int max = 0, n, cores, promised;
	bool known, open;

	if (omp_unasked < 0)
		set_unasked();
	open = is_open(rt, &max);
	if (!open && !atomic_load(&hands_off))
		return 0;
	known = granted(&cores, &generation);
	n = cores;
	promised = atomic_load_explicit(&told, memory_order_relaxed);
	if (promised)
		n = promised;
	if (atomic_load(&hands_off) || n <= 0 || n >= max || n > (int)OMP_THREADS_MAX)
		n = 0;
	if (known && open)
		omp_wait_follow(rt, (unsigned int)(n ? n : max), cpus_of(cores), generation);
	/* A grant that cannot be read, half changed, is none to remember. */
	if (known && rt)
		atomic_store_explicit(&rt->verdict,
			(uint64_t)generation << 32 | (uint64_t)epoch << 16 | OMP_KNOWN |
				(unsigned int)n,
			memory_order_relaxed);
	return (unsigned int)n;
}

void omp_heed(struct omp_runtime *rt, unsigned int n)
{
	uint32_t generation;
	int cores;

	if (omp_unasked < 0)
		set_unasked();
	if (!granted(&cores, &generation))
		return;
	omp_wait_follow(rt, n, cpus_of(cores), generation);
	atomic_store_explicit(&omp_heeded, generation, memory_order_relaxed);
}

int omp_tell_max(struct omp_runtime *rt)
{
	int (*real)(void) = (int (*)(void))omp_real(rt, OMP_omp_get_max_threads, 1);
	int max, n, before = atomic_load_explicit(&told, memory_order_relaxed);
	uint32_t generation;

	if (atomic_load(&hands_off) || !is_open(rt, &max))
		return real();
	granted(&n, &generation);
	/* The first question of all is where it is found out. */
	if (atomic_load(&hands_off))
		return max;
	if (n <= 0 || n > max)
		n = max;
	if (strict && before)
		n = before;
	if (n != before) {
		atomic_store(&told, n);
		atomic_fetch_add(&omp_epoch, 1);
	}
	return n < max ? n : max;
}

void omp_hands_off(void)
{
	atomic_store(&hands_off, 1);
	atomic_fetch_add(&omp_epoch, 1);
}
