/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_rate.h - how fast the parts of tasks that run now get on, given who else runs.
 *
 * On core c a task of seconds s, of which a part m waits for memory, would take
 *   s ((1 - m) / (speed clock) + m spill' lambda / memory)
 * alone on the core's time: spill' between 1 and the type's spill as the partition's cache holds
 * the working sets of the tasks in it, or less; lambda >= 1 the factor at which all traffic just
 * fits the memory's bandwidth. What a core does of it is times its share of the core's time and,
 * of w cores, the width's efficiency.
 */
#ifndef COLOC_SIM_TASK_RATE_H
#define COLOC_SIM_TASK_RATE_H

#include "nodesvc/sim/task_graph.h"

struct task_load {
	int task; /* -1: the core runs none */
	int type, width;
};

/* @load, @ret: [n_cores]; @ret: tasks per second, 0 where none runs. */
void task_rate(const struct task_machine *m, const struct task_graph *g,
	const struct task_weather *w, const struct task_load *load, double *ret);

#endif
