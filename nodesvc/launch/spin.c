/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spin.c - a spin count is a number of looks, and what a look takes is the processor's: 1000 were
 * 13 us on one machine and 27 us on another (doc/launch-environment.md). What matters is the time.
 */
#include "nodesvc/launch/spin.h"

#include <stdint.h>

#include "common/ipc.h"

#define LOOKS   500
#define BATCHES 60

/* libgomp's do_spin() and cpu_relax() (gcc 12, libgomp/config/linux). */
static void look(const int *at, int until)
{
	for (int i = 0; i < LOOKS; i++) {
		if (__atomic_load_n(at, __ATOMIC_RELAXED) == until)
			return;
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#else
		__asm__ volatile("" ::: "memory");
#endif
	}
}

/* Nanoseconds of a look: those of the batch that nothing came between. */
static double look_ns(void)
{
	static double known;
	int64_t best = INT64_MAX;
	int word = 0;

	if (known > 0)
		return known;
	for (int i = 0; i < BATCHES; i++) {
		int64_t start = ipc_now_ns(), took;

		look(&word, 1);
		took = ipc_now_ns() - start;
		best = took < best ? took : best;
	}
	known = (double)(best > 0 ? best : 1) / LOOKS;
	return known;
}

long spin_count(int us)
{
	double n = us * 1000.0 / look_ns(), unit = 1;

	if (us == 0)
		return 0;
	while (n / unit >= 100)
		unit *= 10;
	n = (double)(long)(n / unit + 0.5) * unit;
	return n >= 1 ? (long)n : 1;
}
