/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drive.h - one run of a set of jobs under one way of placing them: a policy of the engine, fed
 * as on a node, or one of the simulator's own references.
 */
#ifndef COLOC_SIM_DRIVE_H
#define COLOC_SIM_DRIVE_H

#include "nodesvc/engine/plan.h"
#include "nodesvc/sim/run.h"
#include "nodesvc/sim/sensor.h"
#include "nodesvc/sim/statics.h"

/* Hears of every decision, as on a node a recorder would (run_cmd.c: traces; tests). */
struct drive_watch {
	void *ctx;
	/* @refused: the ruling engine's error, then @p is the fallback's plan; else NULL. */
	void (*decided)(void *ctx, const struct view *v, const struct plan *p, const char *refused);
};

/*
 * Phase changes that the driver tells (EVENT_PHASE), found in the utilisation its sensors show by
 * engine/phase.h, never in the program. sbmp-pp and sbmp-cd look for themselves, too.
 */
enum phase_events { PHASES_WIDTH, PHASES_PAPER, PHASES_NONE };

enum objective { OBJECTIVE_STP, OBJECTIVE_ANTT };

/*
 * References: "linux" (every job may use every core), "serial" (one program after another has the
 * node), "alternate" (statics_alternate()),
 * "best-static", "mean-static", "worst-static" (of all static placements, by the objective),
 * "oracle" (the best static placement for the phases at hand, moves paid for, or the best static
 * one where that ends better), "joint-oracle" (joint.h). With @fill jobs of one domain run at low
 * priority in each other's idle time there, as under lira (ROSS 2015, section 5.2). Anything else:
 * a policy.
 */
struct drive {
	const struct machine *m;
	const struct run_spec *spec;
	int n_jobs;
	const char *policy;
	uint64_t seed;
	enum objective objective;
	double most_s; /* ends then, or when every job has completed min_runs */
	int min_runs;
	double sample_s;          /* counters are read */
	double decide_s;          /* the policy is asked; 0: after every reading */
	enum phase_events phases; /* who looks for phase changes besides the policy */
	const char *fallback;     /* decides while signals are missing; NULL: fair */
	bool stored; /* the programs have been profiled: rates are known from a start on */
	bool fill;   /* the static references and the oracle fill idle time inside domains */
	struct sensor_params sensor;
	const struct drive_watch *watch; /* hears of every decision; NULL nobody */
	bool shuffle; /* hand every job another one's counters (a test of the tests) */
};

#define DRIVE_JOBS_MAX 256

/* Whether joint-oracle looked at everything it may (joint.h), in all phases. */
enum search { SEARCH_NONE, SEARCH_EXACT, SEARCH_BOUNDED };
const char *drive_search_name(enum search s); /* "exact", "bounded"; NULL none */

struct drive_result {
	double elapsed_s;
	double moves_per_s;
	double decisions, fallbacks;
	int chosen; /* best- and worst-static: number in statics_list() */
	enum search search;
	int n_jobs;
	struct {
		int runs;
		double mean_run_s; /* NAN: none completed */
		/* Normalised turnaround times: against alone on all cores, alone on the best
		 * width, alone on the equal share. */
		double ntt_all, ntt_best, ntt_share;
	} job[DRIVE_JOBS_MAX];
};

/* Defaults: 300 s, three runs, a sample and a decision every 0.2 s, PHASES_WIDTH. */
void drive_defaults(struct drive *d);
/* "width", "paper", "none"; -EINVAL unknown. */
int drive_phases(const char *name, enum phase_events *ret);
/* Errors: -ENOENT, -EINVAL the policy's; -E2BIG too many placements; -ENOMEM. */
int drive_run(const struct drive *d, struct drive_result *ret, struct errbuf *err);
/* Checks name and options of a policy without running anything. */
int drive_check(const char *policy, const struct topo *t, int n_jobs, struct errbuf *err);
/* One of the simulator's own, which no engine decides. */
bool drive_is_reference(const char *policy);

/* Sums over the jobs of a result; @ntt: pointer to the first of the wanted kind. */
enum ntt_base { NTT_ALL, NTT_BEST, NTT_SHARE };
double drive_ntt(const struct drive_result *r, int i, enum ntt_base base);
double drive_stp(const struct drive_result *r, enum ntt_base base);
double drive_antt(const struct drive_result *r, enum ntt_base base);
double drive_worst_ntt(const struct drive_result *r, enum ntt_base base);
/* Speed of job @i over its speed alone on its equal share: what MAPPER (PPoPP 2019) guarantees
 * 0.85 of. */
double drive_of_fair(const struct drive_result *r, int i);

#endif
