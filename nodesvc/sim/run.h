/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run.h - jobs on the simulated machine, and its clock.
 *
 * Between events (a phase ends, a warm-up ends, someone places jobs anew) every rate is constant,
 * so time jumps from event to event and nothing depends on a step length.
 *
 * A job starts its program again as soon as it has ended (the sustained protocol of SBMP, PACT
 * 2012, section 4.3, and LIRA, ROSS 2015, section 6.1), unless it was given a number of runs.
 */
#ifndef COLOC_SIM_RUN_H
#define COLOC_SIM_RUN_H

#include "nodesvc/sim/solve.h"

struct run_spec {
	const struct program *program;
	int threads;          /* 0: one per PU of the node */
	double arrival_s;     /* 0: from the start */
	int runs;             /* then it leaves; 0: never */
	struct levers levers; /* wherever it is placed, unless the place sets its own */
	int owner;            /* as view_job has it */
};

/* True cumulative counts: the sensor adds what measuring does to them. */
struct run_counts {
	double instr, loads, refs, misses, bytes;
	double utilization_s; /* integral of utilisation over time */
	double executed_s;    /* PU seconds it had on its own cores ... */
	double own_s;         /* ... of so many, while it was not frozen */
};

struct run_job {
	struct run_spec spec;
	int threads;
	bool present;
	int phase;
	double done; /* of the phase, 0..1 */
	int runs;    /* completed */
	double started_s, present_s;
	double run_sum_s; /* wall time of completed runs */
	struct run_counts counts;
	double warm_until_s, warm_part;
	double *home; /* [n_memories]; NULL: follows */
	bool has_home;
	/* What it would have taken for the same progress: alone on all cores; alone on the best
	 * width; alone on its equal share. */
	double all_s, best_s, share_s;
	/* Per phase: instructions, and solo seconds in those three settings. */
	double instr[PROGRAM_PHASES_MAX];
	double phase_all_s[PROGRAM_PHASES_MAX], phase_best_s[PROGRAM_PHASES_MAX],
		phase_share_s[PROGRAM_PHASES_MAX];
	double phase_domain_s[PROGRAM_PHASES_MAX]; /* alone on the first domain: profiles */
};

enum run_event { RUN_UNTIL, RUN_PHASE, RUN_ENDED, RUN_ARRIVED };

struct run_slice {
	const bool *active; /* [n_jobs] */
	double seconds;
};

struct run {
	const struct machine *m;
	struct solver *solver;
	int n_jobs;
	struct run_job *job;
	double now_s;
	int moves; /* jobs given other cores */

	/* room */
	struct place *place;
	struct layout *layout; /* [n_layouts] one per slice */
	int n_layouts, max_layouts;
	double *weight; /* [n_layouts] */
	struct solve_in *in;
	struct solve_out *out, *part;
	double *homes;
	bool stale;
	uint64_t home_hash;
	struct memo *memo;
};

#define RUN_SLICES_MAX 32

/* @spec is copied, programs are not. Errors: -EINVAL a program is not sound, -ENOMEM. */
int run_create(struct run **ret, const struct machine *m, const struct run_spec *spec, int n_jobs,
	struct errbuf *err);
void run_free(struct run *r);

/* Puts jobs on cores; what moves pays for it. Slices: 0 for none. */
void run_place(struct run *r, const struct place *place, const struct run_slice *slice, int n);
/* Goes on to @until_s or the first event before it; *ret_job: whose. */
enum run_event run_advance(struct run *r, double until_s, int *ret_job);
/* The job is gone for good (its runs are done). */
bool run_is_over(const struct run *r, int i);
/* Present rates, for oracles and tests; valid until the next call. */
const struct solve_out *run_rates(struct run *r);
/* Rate of progress relative to its equal share, of job @i under rates @o. */
double run_speed(const struct run *r, int i, const struct solve_out *o);

/* Equal share number @k of @n: whole cores in a row, in the order of the domains. */
void run_share_coreset(const struct topo *t, int k, int n, struct coreset *ret);

#endif
