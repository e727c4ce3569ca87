/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp.h - what the files of libcoloc_omp share: which OpenMP runtime a call is meant for, and how
 * many threads a region gets. Nothing of it is exported.
 *
 * The library stands before the OpenMP runtime (LD_PRELOAD). It never raises a team above what the
 * runtime would have made, and touches only regions of the outermost level that leave their size
 * open. Called by the program's threads, several at once.
 */
#ifndef COLOC_RUNTIME_OMP_H
#define COLOC_RUNTIME_OMP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum omp_symbol {
#define OMP_SYMBOL(name) OMP_##name,
#include "nodesvc/runtime/omp_symbols.h"
#undef OMP_SYMBOL
	OMP_N_SYMBOLS,
};

/* The OpenMP runtime that one module of the process (program or library) calls. */
struct omp_runtime {
	uintptr_t from, to; /* the module's addresses */
	void *handle;       /* to look symbols up; RTLD_NEXT for the program itself */
	/*
	 * What the last question came to: the grant's generation << 32 | omp_epoch << 16 |
	 * OMP_KNOWN | threads, 0 "let the runtime choose". 0: not asked.
	 */
	_Atomic uint64_t verdict;
	_Atomic(void *) symbol[OMP_N_SYMBOLS];
};

#define OMP_KNOWN       0x8000u
#define OMP_THREADS_MAX 0x7fffu

/* Modules that start regions; programs have one to three. */
#define OMP_MODULES_MAX 32
extern struct omp_runtime omp_module[OMP_MODULES_MAX];
extern _Atomic int omp_n_modules;

/* The generation of the grant, in the page shared with the service. */
extern const uint32_t *_Atomic omp_generation;
/* Another number whenever the program asked, or chose a size itself: then verdicts are void. */
extern _Atomic uint16_t omp_epoch;
/* Regions that this thread may start before it looks whether the service is still there. */
extern __thread int omp_unasked __attribute__((tls_model("initial-exec")));

struct omp_runtime *omp_add(const void *caller);
void *omp_look_up(struct omp_runtime *rt, enum omp_symbol symbol, int required);
unsigned int omp_ask(struct omp_runtime *rt);

/*
 * omp_find - the runtime behind the code at @caller, found as the loader does it for that module:
 * a process may have several, and each must get its own calls. Remembered per module. NULL: there
 * are too many modules.
 */
static inline struct omp_runtime *omp_find(const void *caller)
{
	int n = atomic_load_explicit(&omp_n_modules, memory_order_acquire);

	for (struct omp_runtime *rt = omp_module; rt < omp_module + n; rt++)
		if ((uintptr_t)caller - rt->from < rt->to - rt->from)
			return rt;
	return omp_add(caller);
}

/* The runtime's own function; NULL it has none (@required: the process ends, as it would have at
 * its start). @rt NULL: of the first runtime after us. */
static inline void *omp_real(struct omp_runtime *rt, enum omp_symbol symbol, int required)
{
	void *fn = rt ? atomic_load_explicit(&rt->symbol[symbol], memory_order_acquire) : NULL;

	return fn ? fn : omp_look_up(rt, symbol, required);
}

/*
 * omp_team - threads for a region that left its size open, 0: let the runtime choose.
 *
 * Between regions only: what is in a region sees one size. After the program has asked for
 * omp_get_max_threads(), every team is as large as it was told, until it asks again: work that was
 * cut by that number is all done.
 *
 * While nothing changes this is a handful of loads and compares: a region must not get dearer.
 */
static inline unsigned int omp_team(struct omp_runtime *rt)
{
	uint64_t verdict, now;
	unsigned int n;

	if (!rt || --omp_unasked < 0)
		return omp_ask(rt);
	verdict = atomic_load_explicit(&rt->verdict, memory_order_relaxed);
	now = (uint64_t)__atomic_load_n(
		      atomic_load_explicit(&omp_generation, memory_order_relaxed), __ATOMIC_RELAXED)
		      << 16 |
	      atomic_load_explicit(&omp_epoch, memory_order_relaxed);
	if (verdict >> 16 != now || !(verdict & OMP_KNOWN))
		return omp_ask(rt);
	n = verdict & OMP_THREADS_MAX;
	if (n == 0)
		return 0;
	return ((int (*)(void))omp_real(rt, OMP_omp_get_level, 1))() > 0 ? 0 : n;
}

/* The grant's generation when a team of a given size was last looked at, and the widest since. */
extern _Atomic uint32_t omp_heeded;
extern _Atomic unsigned int omp_widest;
void omp_heed(struct omp_runtime *rt, unsigned int n);

/* omp_given - a region of @n threads starts, a size that stands: only how they wait may follow. */
static inline void omp_given(struct omp_runtime *rt, unsigned int n)
{
	uint32_t now;

	if (!rt || n <= 1)
		return;
	now = __atomic_load_n(
		atomic_load_explicit(&omp_generation, memory_order_relaxed), __ATOMIC_RELAXED);
	if (--omp_unasked < 0 || now != atomic_load_explicit(&omp_heeded, memory_order_relaxed) ||
		n > atomic_load_explicit(&omp_widest, memory_order_relaxed))
		omp_heed(rt, n);
}

/*
 * omp_wait_follow - how threads are to wait (omp_wait.c), for a team of @n threads of this
 * process on @cpus CPUs, 0 unknown, under the grant of @generation. Does nothing while another
 * thread is at it: the next region that asks will.
 */
void omp_wait_follow(struct omp_runtime *rt, unsigned int n, int cpus, uint32_t generation);

/* CPUs that libgomp counted when it was loaded (omp_cpus.c); 0 not known. */
extern int omp_cpus_first;
/* CPUs of the calling thread, where libgomp was told of more than there were; else 0. */
int omp_cpus_now(void);

/* omp_get_max_threads() as the program is to see it. */
int omp_tell_max(struct omp_runtime *rt);
/*
 * omp_processes_here - processes that the step has on this node, by what srun, Open MPI's or
 * MPICH's mpirun put into the environment; 1 unless known.
 */
int omp_processes_here(void);
/* The program has chosen a size itself: hands off from here on. */
void omp_hands_off(void);

#pragma GCC visibility pop

#endif
