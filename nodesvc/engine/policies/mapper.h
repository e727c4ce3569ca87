/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper.h - between mapper.c (who gets what) and mapper_explore.c (what is to be measured); nobody
 * else includes it.
 */
#ifndef COLOC_ENGINE_POLICIES_MAPPER_H
#define COLOC_ENGINE_POLICIES_MAPPER_H

#include "nodesvc/engine/internal.h"

#define EXPLORE_JOB_S 30 /* at most one exploration per job in so long; ours */
/* Clocks are doubles: a time may be over a rounding early. */
#define ROUNDING_S 1e-6

/*
 * After SAM (USENIX ATC 2015, 2016), by what there are signals for. It also tells coherence traffic
 * within and between sockets: no source of ours counts that.
 */
enum bottleneck { NO_BOTTLENECK, WAITS, BANDWIDTH, CACHE };

struct config {
	double q;
};

struct job_state {
	bool known;
	struct curve curve;
	int fair;            /* cores of the fair share */
	int infeasible;      /* most cores at which q was missed; 0 none */
	bool keeps;          /* missed q: donates no more in this phase */
	double live_at_fair; /* live speed at the fair share; 0 unknown */
	int below;           /* live samples in a row under q */
	uint64_t sample_no;
	double explored_s;   /* when last; < 0 never */
	double not_before_s; /* no second width is asked for; a new phase is no licence */
	double used;         /* cores' worth of time at the last sample */
	int idle;            /* samples in a row with next to none */
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct job_state *state; /* [max_jobs] by slot */
	int *alloc, *n_min, *spare, *domain_of, *gives;
	int *owner; /* [topo.n_cores] */
	double *efficiency, *heat;
	bool *full;  /* [max_jobs] can have no more, or would not be faster */
	bool *reach; /* [max_jobs] whose cores a job could have */
	double explored_s;
	uint64_t set;
	double moved_s; /* the last reallocation; what it decided is kept in alloc[] for set */
	bool anew;      /* some job is below q, entered a phase or has another fair share */
};

enum bottleneck mapper_bottleneck(const struct view_job *j);
/* Fewest cores a job may have. */
int mapper_floor(const struct view_job *j);
/*
 * mapper_measure - into @ret, whose coresets are chosen, what is to be measured: the fair speed,
 * a second width before a job is judged, then more.
 */
void mapper_measure(struct policy *p, const struct view *v, const int *slot, struct plan *ret);

#endif
