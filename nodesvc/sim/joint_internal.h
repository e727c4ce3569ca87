/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * joint_internal.h - between joint.c (the bounded search), joint_search.c (its last part),
 * joint_exact.c (every way of a set) and joint_way.c (what a way is worth); tests look at them.
 */
#ifndef COLOC_SIM_JOINT_INTERNAL_H
#define COLOC_SIM_JOINT_INTERNAL_H

#include "nodesvc/sim/drive_internal.h"
#include "nodesvc/sim/joint.h"

#define JOINT_SLICE_S 0.1

/* One way to run all jobs. */
struct way {
	short n[JOINT_JOBS][JOINT_DOMAINS]; /* cores of a job in a domain; where more are given in
					       all than it has, those jobs share its first ones */
	uint32_t lent[JOINT_JOBS];          /* whose idle time a job gets, one bit each */
	signed char loans;                  /* which of joint_lend() these are, or part of them */
	uint32_t cluster;                   /* jobs of the first cluster; 0: no clusters */
	int quarters;                       /* of the ways, the first cluster's */
	int n_turns;                        /* equal slices; 0: all run at once */
	signed char turn[JOINT_JOBS];       /* its slice */
	double value;
};

struct joint {
	const struct drive *d;
	struct run *r;
	const struct topo *t;
	struct layout layout;
	struct solve_out *out, *part; /* [n_jobs] */
	struct place *place;          /* [n_jobs] */
	struct way trial, best[JOINT_BEST];
	int n_best, domain_of[JOINT_JOBS];
	long looks;
	bool cut; /* there would have been more */
	double floor[JOINT_JOBS];
	struct exact *exact; /* NULL: too many jobs, or no machine for it */
	bool all_exact;      /* every search so far */
};

/* Errors: as joint_run(). */
int joint_create(struct joint **ret, const struct drive *d, struct errbuf *err);
void joint_free(struct joint *x);
/* The best for the phases at hand of x->r. Returns whether it is the best of the set. */
bool joint_find(struct joint *x, const struct statics *s, struct way *ret);
/* Cores of job @i in all. */
int joint_size(const struct joint *x, const struct way *w, int i);
/* x->place as @w has it; @turn: whose slice it is, where there are any. */
void joint_set_places(struct joint *x, const struct way *w, int turn);
/* Takes into @best what is better than it of @from with any loans and clusters. */
void joint_levers(struct joint *x, const struct way *from, struct way *best);
/* Takes into @best what is better, from x->best[] on; JOINT_SEARCH solutions. */
void joint_search(struct joint *x, struct way *best);
/* What @w is worth in these phases; x->out has the rates. */
double joint_worth(struct joint *x, const struct way *w);
/* The same for one job at so many times its speed alone on its share; joint_worth() sums it up. */
double joint_job_worth(const struct joint *x, int i, double speed);
/* Of a slice, per job that is in it: the part of the time. */
double joint_part(const struct joint *x, int n_turns);
/*
 * Loan number @how of JOINT_LOANS: none; idle time of those that leave much of theirs to the others
 * in their domains, and everywhere; of all to all in their domains, and everywhere.
 */
#define JOINT_LOANS 5
void joint_lend(const struct joint *x, int how, struct way *ret);
/* Its cores: the first of each domain, from @at[domain] on, which moves on. */
void joint_cores(const struct joint *x, const short *n, int *at, struct coreset *ret);

/* NULL: not for so many jobs, or not on such a machine; -ENOMEM is that, too. */
struct exact *exact_create(struct joint *x);
void exact_free(struct exact *e);
/* The best of the set joint.h tells, if it is better than @best. false: there were too many. */
bool exact_search(struct exact *e, struct way *best);

#endif
