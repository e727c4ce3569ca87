/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clusters.h - two to four clusters of jobs for the ways of the last-level cache, and for steps of
 * memory bandwidth, beside whatever placement a policy has chosen.
 *
 * Jobs that share a cache are grouped by how much it does for them: their miss ratio, cut where
 * neighbours are furthest apart. A cluster gets ways by the hits of its jobs, which is what it
 * would lose, and at least an eighth of the cache.
 *
 * Source: El-Sayed et al., KPart, HPCA 2018: few clusters, since a partition for each job hurts.
 * KPart groups by miss curves; where nobody measures them live, the miss ratio is the one point of
 * the curve that is known. That, the shares, the bounds and the hysteresis are ours.
 */
#ifndef COLOC_ENGINE_CLUSTERS_H
#define COLOC_ENGINE_CLUSTERS_H

#include "nodesvc/engine/shares.h"

struct clusters_cfg {
	int most;       /* clusters at most, 2..PLAN_CLUSTERS_MAX; 0, 1: off */
	bool bandwidth; /* and steps of bandwidth */
};

struct cluster_job;

struct clusters {
	struct clusters_cfg cfg;
	struct cluster_job *job; /* [max_jobs] by slot */
	int *shared, *cluster;   /* [max_jobs] competing jobs; by competing job */
	uint64_t *caches;        /* [max_jobs] by competing job: a bit each */
	uint64_t placed;         /* who was where when it was decided; 0 never */
	double decided_s;
	int n;
	struct plan_cluster part[PLAN_CLUSTERS_MAX];
};

/* Errors: -ENOMEM. */
int clusters_init(struct clusters *s, const struct clusters_cfg *cfg, int max_jobs);
void clusters_done(struct clusters *s);
void clusters_forget(struct clusters *s, int slot);

/*
 * clusters_decide - into @p, whose coresets are chosen. A job without references and misses, or
 * that has the cache to itself or only beside its own cluster, is in none. Decided anew when a job
 * comes, goes or moves, and when a smoothed miss ratio has moved by a tenth, then at most every 10
 * s.
 */
void clusters_decide(struct clusters *s, const struct shares *c, const int *slot, struct plan *p);

#endif
