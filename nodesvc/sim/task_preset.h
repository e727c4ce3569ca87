/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_preset.h - the machines and task types of the paper's experiments (Chen et al., ICPP
 * Workshops 2020, section 4.2). Where their figures come from stands in task_preset.c; all were
 * set before any policy ran on them.
 */
#ifndef COLOC_SIM_TASK_PRESET_H
#define COLOC_SIM_TASK_PRESET_H

#include "nodesvc/sim/task_graph.h"

/* "tx2" (Jetson TX2: 2 Denver, 4 A57), "haswell" (2 x 10 cores); not yet task_machine_init()ed.
 * -ENOENT: no such name, @ret untouched. */
int task_preset_machine(struct task_machine *ret, const char *name);
/* "matmul", "copy", "stencil" (meant for tx2), "heat", "exchange", "kmeans", "reduce" (for
 * haswell). */
int task_preset_type(struct task_type *ret, const char *name);

#endif
