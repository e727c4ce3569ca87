/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticks.h - what colocd says of its own work (work.h): rounds of looks, ticks, what they read. */
#ifndef COLOC_BENCH_LOAD_TICKS_H
#define COLOC_BENCH_LOAD_TICKS_H

#include "contrib/bench/load/node.h"

/* Times in ms, of the newest thousand; max of all. NAN: there was none. */
struct ticks_times {
	double n, p50, p99, max;
};

/* Counts since colocd started. */
struct ticks {
	struct ticks_times rounds, ticks;
	double looks, readings, clocks, threads;
};

/* NAN where colocd does not say (an older one). */
void ticks_read(const struct node *n, struct ticks *ret);

#endif
