/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - where jobs run, in the terms of the machine: how many hardware threads, in which
 * caches, and who shares cores with whom.
 *
 * Jobs whose coresets touch form a pool that shares its cores by time. That is exact where sets
 * are equal or disjoint, as every plan's are; sets that overlap in part (only while nobody places
 * jobs) count as one pool over their union.
 */
#ifndef COLOC_SIM_LAYOUT_H
#define COLOC_SIM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "nodesvc/sim/machine.h"

#define LENT_MAX 8

/*
 * What a node's resctrl and cpufreq can set for one job; 0 everywhere: nothing is set. A plan's
 * clusters set ways and bandwidth.
 */
struct levers {
	uint32_t ways;    /* of each last-level cache, one bit each (CAT) */
	double bandwidth; /* part of a memory node's bandwidth it may draw there, 0..1 (MBA) */
	double clock;     /* its cores', relative to the machine's */
};

/* Where one job runs. */
struct place {
	bool active; /* false: frozen, or not there */
	struct levers levers;
	struct coreset own;
	int n_lent;
	struct {
		struct coreset coreset; /* runs there only in the donor's idle time */
		int donor;              /* index of the job */
	} lent[LENT_MAX];
};

struct layout_job {
	bool active;
	int pus, cores, pool;
	struct levers levers; /* as they act: no zeros */
	double *share;        /* [n_caches] of its width; sums to 1 */
	int n_lent;
	struct {
		int donor;
		double part;   /* of the donor's PUs */
		double *share; /* [n_caches] */
	} lent[LENT_MAX];
};

struct layout {
	const struct machine *m;
	int max_jobs, n_jobs, n_pools;
	struct layout_job *job;
	struct {
		int pus, cores, jobs;
	} * pool;       /* [max_jobs] */
	double *shares; /* behind every share */
	uint64_t hash;  /* of all that matters: equal places, equal hash */
};

/* Errors: -ENOMEM. */
int layout_init(struct layout *l, const struct machine *m, int max_jobs, struct errbuf *err);
void layout_done(struct layout *l);
void layout_set(struct layout *l, const struct place *place, int n_jobs);

#endif
