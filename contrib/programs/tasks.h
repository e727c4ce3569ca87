/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.h - runs a graph of tasks on this process' own threads, one per core, scheduled by the
 * engine's das-* policies: what the simulator's task level models, on real cores.
 * Source: Chen et al., ICPP Workshops 2020, sections 3.2 and 4.1.2; but the trace table gets whole
 * tasks, from the first core in to the last one out, where the paper's gets the leader's part.
 */
#ifndef COLOC_CONTRIB_PROGRAMS_TASKS_H
#define COLOC_CONTRIB_PROGRAMS_TASKS_H

#include <stdbool.h>

#include "nodesvc/sim/task_place.h"

#define TASKS_CORES_MAX  64
#define TASKS_PLACES_MAX (TASKS_CORES_MAX * 8)

struct tasks_task {
	const char *type;
	bool high;
	int n_before;                /* tasks it waits for */
	int first_child, n_children; /* in child[], later tasks all */
};

struct tasks_graph {
	int n_tasks;
	const struct tasks_task *task;
	const int *child;
	/*
	 * A core's part of @task; returns when no part is left to take. Called once by each core of
	 * the place, at any time, from its thread.
	 */
	void (*run)(void *ctx, int task);
	void *ctx;
};

struct tasks_result {
	double seconds; /* from the first task to the last one's end */
	int steals;
	int n_high, high_on_core[TASKS_CORES_MAX]; /* critical tasks whose place holds the core */
};

/*
 * tasks_run - starts a thread on each core of @topo, runs the graph, joins them.
 * @fast: PUs of statically fast cores (das-fa, das-fam-c).
 * Errors: as task_placer_init(); -EINVAL more than TASKS_CORES_MAX cores; -errno a thread cannot
 * be made or bound; -ENOMEM. @ret untouched then.
 */
int tasks_run(const struct tasks_graph *g, const char *policy, const struct topo *topo,
	const struct coreset *fast, uint64_t seed, struct tasks_result *ret, struct errbuf *err);

#endif
