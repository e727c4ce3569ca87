/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure.h - what characterise runs: a program under cachegrind, once per size of the last level,
 * and natively, at several widths. Fills counts and native of a model; fits nothing.
 *
 * Blocks until all runs are over; not thread-safe (it waits for children).
 */
#ifndef COLOC_BENCH_MODEL_MEASURE_H
#define COLOC_BENCH_MODEL_MEASURE_H

#include <stdint.h>

#include "nodesvc/sim/model.h"

struct measure {
	uint64_t private_bytes; /* of the simulated cache in front of the last level */
	int n_llc;
	uint64_t llc[MODEL_POINTS_MAX]; /* ascending, as cachegrind takes them */
	int n_widths;
	int width[MODEL_POINTS_MAX]; /* ascending, from 1 */
	int runs, tries;
	double limit; /* foreign time and steal that make a try not count */
	void (*say)(const char *text);
};

/* Errors: -EINVAL, -ENOENT, -ECHILD, -EPROTO as profile_run()'s; @m is changed at success only. */
int measure_counts(const struct measure *s, struct model *m, struct errbuf *err);
int measure_native(const struct measure *s, struct model *m, struct errbuf *err);

/* "a {n} b" with @width for every {n}. Errors: -E2BIG. */
int measure_command(char *ret, size_t size, const char *command, int width, struct errbuf *err);

/*
 * Cycles per second of a core that runs now: a chain of additions takes one cycle each on every
 * processor of the last decades. Best of a hundred; takes 150 ms.
 */
double measure_clock(void);

#endif
