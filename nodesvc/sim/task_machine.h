/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_machine.h - the machine of the task level: nodes alike of cores of several kinds in
 * partitions that share a cache, one memory a node, and what disturbs them over time - programs
 * beside ours, and clocks. Cores are counted through: node 1 begins where node 0 ends.
 *
 * Read-only once task_machine_init() has checked it: threads may share it.
 */
#ifndef COLOC_SIM_TASK_MACHINE_H
#define COLOC_SIM_TASK_MACHINE_H

#include <stdbool.h>

#include "common/coreset.h"
#include "common/err.h"
#include "common/topo.h"

#define TASK_CORES_MAX      128 /* of all nodes */
#define TASK_NODES_MAX      8
#define TASK_PARTITIONS_MAX 16
#define TASK_KINDS_MAX      8
#define TASK_DISTURBS_MAX   16
#define TASK_CLOCKS_MAX     8
#define TASK_STEPS_MAX      16
#define TASK_NAME_MAX       32

struct task_kind {
	char name[TASK_NAME_MAX];
	double hz;     /* the clock that speed is meant at */
	double speed;  /* against the core that a type's seconds are meant on */
	double memory; /* the same for its waiting for memory */
	bool fast;     /* das-fa, das-fam-c: statically fast */
};

struct task_partition {
	int n_cores;
	int kind;
	double cache_bytes;
};

/* A program beside ours: at from_s, and with a period again and again, for on_s; or while so many
 * tasks have ended. */
struct task_disturb {
	struct coreset cores;
	double share;       /* of each core's time that is left to us */
	double bytes_per_s; /* that it moves, on each node it is on, when memory is not contended */
	double from_s, until_s;
	double period_s, on_s;     /* 0: all the time */
	int from_task, until_task; /* from so many ended tasks on, until so many; 0, 0: always */
};

/* Clocks that step round and round. */
struct task_clock {
	struct coreset cores;
	int n_steps;
	double hz[TASK_STEPS_MAX], seconds[TASK_STEPS_MAX];
};

struct task_machine {
	int n_nodes; /* 0 is 1 */
	int n_kinds, n_partitions, n_disturbs, n_clocks;
	struct task_kind kind[TASK_KINDS_MAX];
	struct task_partition partition[TASK_PARTITIONS_MAX]; /* of a node */
	struct task_disturb disturb[TASK_DISTURBS_MAX];
	struct task_clock clock[TASK_CLOCKS_MAX];
	double bytes_per_s; /* of a node's memory; 0 without end */
	double steal_s;     /* one attempt at a victim */
	double decide_s;    /* one look at the trace table */

	/* from task_machine_init() */
	int n_cores, node_cores; /* of all nodes, of one */
	int core_partition[TASK_CORES_MAX], first_core[TASK_PARTITIONS_MAX];
	struct topo *topo; /* of a node; partitions are L2s */
	struct coreset fast;
};

/*
 * task_machine_init - checks the upper part and fills in the lower one.
 * Errors: -EINVAL, the text names field and value; -ENOMEM. Nothing to free then.
 */
int task_machine_init(struct task_machine *m, struct errbuf *err);
void task_machine_done(struct task_machine *m);

/* What changes by itself, followed from one change to the next. */
struct task_weather {
	const struct task_machine *m;
	bool on[TASK_DISTURBS_MAX];
	double disturb_next[TASK_DISTURBS_MAX];
	long disturb_cycle[TASK_DISTURBS_MAX];
	int step[TASK_CLOCKS_MAX];
	double clock_next[TASK_CLOCKS_MAX];
	long clock_cycle[TASK_CLOCKS_MAX];
	/* now */
	double share[TASK_CORES_MAX], clock_ratio[TASK_CORES_MAX];
	double bytes_per_s[TASK_NODES_MAX]; /* wanted by others */
	int n_ended;                        /* tasks */
	double next;                        /* time of the next change; infinite: none */
};

void task_weather_start(struct task_weather *w, const struct task_machine *m);
/* To the state at .next. */
void task_weather_step(struct task_weather *w);
/* One more task has ended. */
void task_weather_ended(struct task_weather *w);

#endif
