/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared_turns.h - jobs that a plan lets share cores take turns there, where that serves them.
 *
 * Where several threads of a job share a core, one of them waits at each barrier, and what the
 * kernel runs next is as likely another job's thread as the job's own: caches and translations are
 * filled anew several times per region. In turns each has them for a whole slice. Measured on two
 * cores (contrib/bench/rebind: four OpenMP programs of two threads, two to a core, 2.9 MB grids,
 * regions of 0.26 ms): 0.98 of one thread each, side by side 0.76.
 *
 * Ours. That jobs of fine-grained synchronization gain by running as a whole: Feitelson & Rudolph,
 * J. Parallel Distrib. Comput. 16(4), 1992; there it is the waiting that is saved, here the caches.
 */
#ifndef COLOC_ENGINE_SHARED_TURNS_H
#define COLOC_ENGINE_SHARED_TURNS_H

#include "common/topo.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/view.h"

/* Room for a node's jobs; nothing is kept from one plan to the next. */
struct shared_turns {
	int n_groups;
	int *sorted; /* view jobs of the last plan by arrival: a guess for the next */
	int n_sorted;
	int *rank;   /* [view job] so many of its group came before it */
	int *count;  /* [group] how many share; 0: they take no turns */
	int *cores;  /* [group] */
	int *first;  /* [group] view job */
	bool *waits; /* [group] one has several threads */
};

/* -ENOMEM; then shared_turns_done(), too. */
int shared_turns_init(struct shared_turns *c, const struct topo *t, int max_jobs);
void shared_turns_done(struct shared_turns *c);

/*
 * shared_turns_plan - slices for the groups of @p, each group by itself and all at once: of those
 * whose jobs are all coupled (view.h), or, where the policy asked for all (plan.all_turn), of every
 * group with a job of several threads. Only where each job has at least as many threads as the
 * group has cores: a turn leaves none idle. Nothing where the plan has slices, or asks for what
 * does not go with them.
 */
void shared_turns_plan(
	struct shared_turns *c, const struct topo *t, const struct view *v, struct plan *p);

#endif
