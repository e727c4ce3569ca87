/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h - the engine's only output, and the one checker of what every plan must hold.
 *
 * A plan owns its arrays, sized once by plan_init(); deciding allocates nothing.
 */
#ifndef COLOC_ENGINE_PLAN_H
#define COLOC_ENGINE_PLAN_H

#include "common/coreset.h"
#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/engine/view.h"

#define PLAN_LENT_MAX        8
#define PLAN_WHY_MAX         160
#define PLAN_SLICES_MAX      32
#define PLAN_EXPERIMENTS_MAX 32
#define PLAN_EXPLAIN_MAX     16384
#define PLAN_HYSTERESIS_MAX  1000 /* ms */
#define PLAN_CLUSTERS_MAX    4
#define CHECK_JOBS_MAX       1024 /* more live jobs than one node ever has cores for */

enum plan_role {
	ROLE_OWNER,    /* its coreset is its own, or its group's */
	ROLE_DONEE,    /* also runs on lent_from[] at low weight */
	ROLE_DONOR,    /* lends its idle time */
	ROLE_GANG,     /* runs in slices */
	ROLE_EXCLUDED, /* not moved */
};
const char *plan_role_name(enum plan_role r);

struct plan_lent {
	struct coreset coreset;
	int donor;  /* index of the donor in the plan (= in the view) */
	int weight; /* relative to 100 of the owner */
};

/* Jobs that have ways of the last-level caches to themselves (clusters.c). */
struct plan_cluster {
	double ways;      /* part of each cache, (0, 1]; all clusters' together at most 1 */
	double bandwidth; /* part of the bandwidth its cores may draw, (0, 1]; 0: no limit */
};

struct plan_job {
	char id[JOB_ID_MAX];
	struct coreset coreset; /* where it runs by right */
	int cores;
	enum plan_role role;
	int cluster; /* into plan.cluster[]; -1: the whole cache, with the others */
	/*
	 * Jobs of one group share one coreset, or, where their envelopes leave them nothing else,
	 * the hardware threads of one core; -1 alone.
	 */
	int group;
	int place_core, place_width; /* das-*: leader core_lx and width; -1 none */
	/*
	 * Others' CPUs on which those of its threads run, at low priority, that have no CPU of its
	 * own to themselves (priority.c); empty: priorities are nobody's threads' own.
	 */
	struct coreset low;
	int n_lent;
	char why[PLAN_WHY_MAX]; /* one sentence for explain */
	/* Last: rarely used, and a decision should touch little memory. */
	struct plan_lent lent[PLAN_LENT_MAX];
};

struct plan_slice {
	int n_jobs;
	int *job; /* [max_jobs] indices into job[] */
	int ms;
};

struct plan_experiment {
	int job; /* index */
	int cores;
	int ms;
	struct coreset coreset;
};

struct plan {
	int max_jobs;
	int n_jobs; /* as many, and in the same order, as in the view */
	struct plan_job *job;
	/*
	 * A job gets back what it must have: at once, whatever the driver has to keep moves rare.
	 * Not part of a recorded plan.
	 */
	bool urgent;
	bool keep;      /* nothing to change: coresets equal the view's current ones */
	bool observe;   /* nobody is moved; overlaps are not ours (policy none) */
	double score;   /* the policy's own objective; NAN none */
	int n_clusters; /* 0, or 2 to PLAN_CLUSTERS_MAX */
	struct plan_cluster cluster[PLAN_CLUSTERS_MAX];
	/* The policy wants to set clusters, now or later. Not part of a recorded plan. */
	bool clusters_asked;
	int hysteresis_ms; /* of threads' priorities where jobs have low CPUs; else 0 */
	/*
	 * Jobs that share cores may take turns there (shared_turns.c): those that are coupled, or
	 * all; for turns_ms, 0: the view's slice. Not part of a recorded plan; what becomes of it
	 * is.
	 */
	bool may_turn, all_turn;
	int turns_ms;
	int moves; /* jobs whose coreset differs from view_job.current */
	int n_slices;
	struct plan_slice slice[PLAN_SLICES_MAX];
	int n_experiments;
	struct plan_experiment experiment[PLAN_EXPERIMENTS_MAX];
	bool want_explain;              /* set by the caller: fill explain and every why */
	char explain[PLAN_EXPLAIN_MAX]; /* one JSON object, the policy's own figures */
};

int plan_init(struct plan *p, int max_jobs, struct errbuf *err);
void plan_done(struct plan *p);
/* Empties it and takes over ids from the view; every coreset := current (or envelope). */
int plan_reset(struct plan *p, const struct view *v, const struct topo *t, struct errbuf *err);

/* What a job may ever get: its envelope (empty: the node) without the reserved PUs. */
void plan_base_coreset(
	struct coreset *ret, const struct view *v, const struct topo *t, const struct view_job *j);

/*
 * plan_check - the invariants every plan must hold, also in production: coresets inside the
 * envelope and outside reserved PUs, not empty; owners' coresets equal inside a group or
 * disjoint; capacity; minimum cores; donor xor donee; SMT siblings whole (unless @share_smt, or
 * shared inside a group); excluded jobs unmoved. Errors: -EINVAL, the text names the job and the
 * rule.
 */
int plan_check(const struct plan *p, const struct view *v, const struct topo *t, bool share_smt,
	struct errbuf *err);

#endif
