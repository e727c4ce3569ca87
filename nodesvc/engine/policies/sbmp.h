/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbmp.h - between sbmp.c (what is known of each job) and sbmp_deal.c (who gets what); nobody
 * else includes it.
 */
#ifndef COLOC_ENGINE_POLICIES_SBMP_H
#define COLOC_ENGINE_POLICIES_SBMP_H

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/phase.h"
#include "nodesvc/engine/engine.h"

#define KNOWN_PHASES 4

enum objective { OBJECTIVE_ANTT, OBJECTIVE_STP, OBJECTIVE_WSPEEDUP, OBJECTIVE_WORST };
enum variant { SBMP_BASE, SBMP_PP, SBMP_CD };
enum green { GREEN_NO, GREEN_YES, GREEN_PAPER };
enum place { PLACE_CENTRALISED, PLACE_KEEP };

struct config {
	int objective, search, phase, green, place;
	int sample_ms, slice_ms;
	double donor;
};

struct known_phase {
	struct scalability fit;
	int n;
	struct {
		int cores;
		double utilization;
	} seen[4];
};

struct job_state {
	bool known, has_fit, sampling;
	uint64_t told; /* which speeds the view told last; 0 none */
	bool fresh;    /* it told new ones just now */
	struct speed_point point[SCALABILITY_POINTS];
	int n_points;
	struct scalability fit;
	uint64_t sample_no;
	bool new_fit; /* since units were dealt last */
	/* By which donors are chosen: an epoch's mean; and of the epoch so far. */
	bool has_mean, has_utilization;
	double sum, mean, utilization;
	int n;
	struct phase phase;
	struct known_phase phases[KNOWN_PHASES];
	int n_phases, phase_now;
};

struct policy {
	enum variant variant;
	struct config cfg;
	struct phase_cfg phase_cfg;
	struct shares shares;
	struct units units;
	struct allocate allocate;
	struct job_state *state; /* [max_jobs] by slot */
	int *given, *unit_owner, *domain_of;
	bool *is_green, *taken;
	double *peak; /* [max_jobs] best speed of the job's table */
	double *gain; /* [max_jobs] what a further core is worth to the job */
	int *most;    /* [max_jobs] units a job may have */
	int *order;   /* [max_jobs] */
	int n_order;
	uint64_t set;
	double epoch_s, epoch_length_s;
	bool first_epoch; /* after a partitioning */
};

/* Best speed of each job's table; before anything below. */
void sbmp_fill_peaks(struct policy *p, const int *slot);
/* Marks the jobs that are better run alone (option green). */
void sbmp_find_green(struct policy *p, const int *slot);
/* Units for every job that is not Green; returns the objective's value, NAN for none. */
double sbmp_allocate(struct policy *p, const int *slot);
/* sbmp_allocate() and sbmp_place() where envelopes differ: cores; -ENOTSUP says why not. */
int sbmp_allocate_mixed(struct policy *p, const int *slot, struct plan *ret, struct errbuf *err);
/* Units become coresets, by option place; then slices for Green jobs, then donors and donees. */
void sbmp_place(struct policy *p, struct plan *ret);
void sbmp_gang_green(struct policy *p, struct plan *ret);
void sbmp_donate(struct policy *p, const int *slot, struct plan *ret);
void sbmp_explain(const struct policy *p, const int *slot, bool allocated, struct plan *ret);
/* Cores of so many units; relative performance of a job on so many cores. */
int sbmp_cores(const struct policy *p, int units);
/* Units that hold job @k's minimum of cores, at least 1. */
int sbmp_least(const struct policy *p, int k);
double sbmp_table(const struct policy *p, int k, const struct job_state *s, int cores);

#endif
