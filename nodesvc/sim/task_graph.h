/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_graph.h - task types and graphs of tasks: what the Dynamic Asymmetry Scheduler schedules.
 *
 * Source of the layered graph: Chen et al., ICPP Workshops 2020, section 4.2.2; that the critical
 * task is the first of its layer, and releases the next one alone, is read from XiTAO's
 * benchmarks/syntheticDAGs.
 */
#ifndef COLOC_SIM_TASK_GRAPH_H
#define COLOC_SIM_TASK_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "nodesvc/sim/task_machine.h"

#define TASK_TYPES_MAX 16
#define TASK_TASKS_MAX 1000000

/* How a task of several cores divides its work. */
enum task_split {
	TASK_SPLIT_DYNAMIC, /* members take blocks until none is left (XiTAO's kernels) */
	TASK_SPLIT_STATIC,  /* each has its part */
};

struct task_type {
	char name[TASK_NAME_MAX];
	double seconds;               /* alone, on one core of speed 1 at its clock */
	double memory;                /* part of it that waits for memory, 0 to 1 */
	double bytes;                 /* moved from and to memory */
	double working_set_bytes;     /* wants that much of a partition's cache */
	double spill;                 /* its waiting, and bytes, times so much with none of it */
	double speed[TASK_KINDS_MAX]; /* instead of the kind's; 0 the kind's */
	double width_loss;            /* width w has the speed of w/(1 + loss (w - 1)) cores */
	double noise;                 /* deviation of the logarithm of a task's work */
	double clock_s;               /* mean of what a measured time is too long by */
	enum task_split split;
	int blocks; /* that a task's work comes in, where members take them */
};

struct task {
	int type;
	bool high;
	int node;
	int meets;   /* 1 + the task, of another node, that must have begun for it to get on; 0 none
		      */
	double work; /* times its type's seconds */
	int n_before;                /* tasks it waits for */
	int first_child, n_children; /* in task_graph.child[], later tasks all */
};

struct task_graph {
	int n_types;
	struct task_type type[TASK_TYPES_MAX];
	int n_tasks;
	struct task *task;
	int *child;
	int n_edges;
};

/*
 * task_type_check - Errors: -EINVAL, the text names type, field and value.
 */
int task_type_check(const struct task_type *y, const struct task_machine *m, struct errbuf *err);

/*
 * Graphs over @g's types. Errors of all: -EINVAL numbers out of range, -ENOMEM; the graph is as
 * before. Free with task_graph_done().
 *
 * task_graph_layers - one task, then layers of @parallelism tasks; the first of a layer is
 * critical and releases the next layer. Types take turns within [@type, @type + @n).
 */
int task_graph_layers(
	struct task_graph *g, int type, int n, int n_tasks, int parallelism, struct errbuf *err);
/*
 * task_graph_heat - a stencil over @blocks blocks in a row on each of @nodes nodes in a row: each
 * waits for itself and its neighbours of the iteration before; the first and the last one of a node
 * for an exchange of their edge, a critical task of type @exchange that waits for that block alone.
 * Between nodes it meets the neighbour's (a blocking send and receive); at the ends of the row
 * there is none. On one node there are two, which meet nobody.
 */
int task_graph_heat(struct task_graph *g, int type, int exchange, int nodes, int blocks,
	int iterations, struct errbuf *err);
/*
 * task_graph_kmeans - iterations of @blocks parts of a loop, then a task of type @reduce that waits
 * for all of them and releases the next iteration. The part in the middle is @largest times as much
 * work as the others, and critical.
 */
int task_graph_kmeans(struct task_graph *g, int type, int reduce, int blocks, int iterations,
	double largest, struct errbuf *err);
/* @n_tasks of any type, each after up to @before earlier ones; critical with chance @high. */
int task_graph_random(struct task_graph *g, int n_tasks, int before, double high, uint64_t seed,
	struct errbuf *err);
void task_graph_done(struct task_graph *g);

#endif
