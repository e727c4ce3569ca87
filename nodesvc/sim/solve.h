/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve.h - how fast each job runs, given where all run and which phase each is in: shares of
 * cores, caches and memory that agree with each other.
 */
#ifndef COLOC_SIM_SOLVE_H
#define COLOC_SIM_SOLVE_H

#include "nodesvc/sim/layout.h"
#include "nodesvc/sim/program.h"

struct solve_in {
	const struct program *program;
	int phase;
	int threads;
	const double *home; /* [n_memories] where its pages are; NULL: where it runs */
};

struct solve_out {
	double instr_per_s; /* all threads */
	double io_rate;     /* seconds of an I/O phase done per second: 1, or 0 */
	double width;       /* effective cores */
	double utilization; /* part of its own width's time that threads ran or wanted to */
	double busy;        /* cores' worth of time used, lent time included */
	double lent_busy;   /* of that, on others' cores */
	double misses_per_s, bytes_per_s;
};

struct solver;

/* Errors: -ENOMEM. */
int solver_create(struct solver **ret, const struct machine *m, int max_jobs, struct errbuf *err);
void solver_free(struct solver *s);
/* @ret: [n_jobs]. Pure: the same input gives the same output. */
void solver_run(
	struct solver *s, const struct layout *l, const struct solve_in *in, struct solve_out *ret);
/*
 * No faster than that, in instructions per second, is a job anywhere: on @width cores, whose
 * threads take @cpi times their cycles for sharing cores among themselves, @memories of them in
 * reach. solver_run()'s for it alone is less.
 */
double solver_most(
	const struct machine *m, const struct phase *f, double width, double cpi, int memories);
/* Factor on the cycles of a job's threads that keep @busy PUs busy of @pus on @cores. */
double solver_smt(const struct machine *m, int pus, int cores, double busy);
/* Of the last run: bytes job @i held of cache @c; iterations taken. */
double solver_occupancy(const struct solver *s, int i, int c);
int solver_iterations(const struct solver *s);

#endif
