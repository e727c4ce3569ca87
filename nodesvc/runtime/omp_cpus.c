/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp_cpus.c - how many CPUs libgomp counts when the program begins.
 *
 * It counts them once (gcc 12, libgomp/config/linux/proc.c, gomp_init_num_threads()), and while it
 * has more threads than that it hardly spins (omp_wait.c). A step that another one kept on fewer
 * cores when it began would wait so until its end, also when all of its cores are its own again.
 * So this one question is answered with as many CPUs as the step may ever get. Where the step is
 * narrow now omp_wait.c says so to libgomp, for as long as that lasts.
 *
 * Only the number counts: where the user places or binds OpenMP threads, which also asks for the
 * CPUs themselves, the answer is the kernel's, as all others are (omp_get_num_procs()).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/runtime/omp.h"

#define CPUS_MAX 65536

int omp_cpus_first;
/* The answer was ours. */
static bool told;

/* 0: not there, or not a number. "4,2" is 4, as OMP_NUM_THREADS has it for the outermost level. */
static long number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (!text)
		return 0;
	n = strtol(text, &end, 10);
	return end != text && (!*end || *end == ',') && n > 0 && n <= CPUS_MAX ? n : 0;
}

/* What its threads are to be, as far as Slurm gave it CPUs for them. */
static int may_get(void)
{
	long threads = number("OMP_NUM_THREADS"), cpus = number("SLURM_CPUS_ON_NODE");

	return (int)(threads < cpus ? threads : cpus);
}

static bool is_placed_by_user(void)
{
	static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]))
			return true;
	return false;
}

static bool is_libgomp(const void *at)
{
	const char *name;
	Dl_info info;

	if (!dladdr(at, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	return strncmp(name ? name + 1 : info.dli_fname, "libgomp.so", 10) == 0;
}

static void widen(size_t size, cpu_set_t *set)
{
	int n = CPU_COUNT_S(size, set), want = may_get();

	if (want > n && !is_placed_by_user()) {
		told = true;
		for (size_t i = 0; i < size * 8 && n < want; i++)
			if (!CPU_ISSET_S(i, size, set)) {
				CPU_SET_S(i, size, set);
				n++;
			}
	}
	omp_cpus_first = n;
}

int omp_cpus_now(void)
{
	cpu_set_t set;

	return told && sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

/* A libgomp that asks in another way counts what the kernel says. */
__attribute__((constructor)) static void count(void)
{
	cpu_set_t set;

	/* Not known: as if there were more threads than CPUs, and nothing is done. */
	if (!omp_cpus_first && sched_getaffinity(0, sizeof(set), &set) == 0)
		omp_cpus_first = CPU_COUNT(&set);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
__attribute__((visibility("default"))) int pthread_getaffinity_np(
	pthread_t thread, size_t size, cpu_set_t *set)
{
	static _Atomic(void *) known;
	static atomic_flag answered = ATOMIC_FLAG_INIT;
	int (*real)(pthread_t, size_t, cpu_set_t *) =
		(__typeof__(real))atomic_load_explicit(&known, memory_order_acquire);
	int rc;

	if (!real) {
		real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_getaffinity_np");
		if (!real)
			return ENOSYS;
		atomic_store_explicit(&known, (void *)real, memory_order_release);
	}
	rc = real(thread, size, set);
	/* It asks with a larger set where this one was too small. */
	if (rc == 0 && is_libgomp(__builtin_return_address(0)) &&
		!atomic_flag_test_and_set(&answered))
		widen(size, set);
	return rc;
}
