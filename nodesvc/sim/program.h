/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h - what the simulated machine knows of a program: phases, each with its scalability,
 * its share of busy time and its use of the memory system.
 *
 * These are properties of the program alone. What it gets of caches and bandwidth beside others
 * is the machine's business (solve.h). Loads per instruction are only counted, never felt: a
 * policy that steers by load rate finds no term in the model made for it.
 */
#ifndef COLOC_SIM_PROGRAM_H
#define COLOC_SIM_PROGRAM_H

#include <stdbool.h>

#include "common/err.h"

#define PROGRAM_NAME_MAX   32
#define PROGRAM_PHASES_MAX 16
#define PROGRAM_POINTS_MAX 8
/* From here on a node finds a phase coupled. */
#define PHASE_COUPLED 0.5

/* What its threads do while they wait for one another; measured: machine.c. */
enum waits {
	WAITS_ASLEEP,
	WAITS_YIELDING, /* run, and give way to whoever wants the core */
	WAITS_POLLING,  /* run, looking for messages (MPI) */
	WAITS_SPINNING, /* run, at barriers (OpenMP) */
	WAITS_COUNT,
};

struct phase {
	double seconds; /* alone on all cores of the machine it is run on */
	bool io;        /* waits for a device: the same wall time anywhere, nearly no cpu time */

	/* Speed on n cores relative to one: 1/(alpha + beta/n + gamma*n). Sasaki et al., SBMP,
	 * PACT 2012, eq. 2; alpha + beta + gamma = 1. */
	double alpha, beta, gamma;

	double cpi;               /* cycles per instruction while nothing misses the last cache */
	double loads, refs;       /* load instructions and last-level references per instruction */
	double miss_lo, miss_hi;  /* miss ratio with the whole working set cached, and with none */
	double working_set_bytes; /* where the miss ratio is half way between them */
	double mlp;               /* misses that overlap */

	double sync; /* 0..1: how much the threads wait for each other when cores are shared */
	double comm; /* 0..1: what is lost when threads talk across caches only */
	double wait; /* of the time lost to imperfect scaling, the part that threads sleep */
	double utilization_scale; /* on the program's table of utilisation; 0 counts as 1 */
	/* 0..1: how closely its threads wait for one another, and how they do. */
	double coupled;
	enum waits waits;
	/* Computes with all threads (beta), then all of them sleep (alpha), again and again: what
	 * it waits for does not take longer on fewer cores. gamma is 0. */
	bool bursty;
};

struct program {
	char name[PROGRAM_NAME_MAX];
	int n_phases;
	struct phase phase[PROGRAM_PHASES_MAX];
	/* Measured utilisation at given widths, ascending; none: from `wait`. */
	int n_points;
	struct {
		int cores;
		double utilization;
	} point[PROGRAM_POINTS_MAX];
};

/* Speed on @n >= 0 cores relative to one; fractions are parts of a core's time. */
double phase_speedup(const struct phase *f, double n);
/* Part of the time of @n cores that threads want to run, 0..1. */
double program_utilization(const struct program *p, int phase, double n);
/* Fewest cores, up to @most, on which the program uses @busy cores' worth of time. */
double program_width(const struct program *p, int phase, double busy, double most);
/* Last-level miss ratio with @cached bytes of a working set of @working_set bytes. */
double phase_miss_ratio(const struct phase *f, double cached_bytes, double working_set_bytes);

/* Phase without wishes: one instruction stream that scales perfectly and misses nothing. */
void phase_init(struct phase *f);
/* "asleep", "yielding", "polling", "spinning"; -EINVAL unknown. */
int program_waits(const char *name, enum waits *ret);
/* Errors: -EINVAL, the text names phase and field. */
int program_check(const struct program *p, struct errbuf *err);

#endif
