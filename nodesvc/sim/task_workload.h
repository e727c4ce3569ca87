/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_workload.h - a workload file of `colocsim run` with kind: tasks. The schema is in
 * colocsim(1); it is version 1.
 */
#ifndef COLOC_SIM_TASK_WORKLOAD_H
#define COLOC_SIM_TASK_WORKLOAD_H

#include "nodesvc/sim/task_eval.h"

struct task_workload {
	struct task_machine machine;
	struct task_graph graph; /* types and tasks */
	int n_policies;
	char policy[TASK_POLICIES_MAX][TASK_POLICY_TEXT_MAX];
	uint64_t seed;
	int runs;
	double seconds;      /* most of one run */
	enum task_when when; /* tasks get their places */
};

/* The first key of a file is "kind: tasks" (after schema): what task_workload_read() is for. A
 * file that cannot be read is none. */
bool task_workload_is(const char *path);

/*
 * task_workload_read - reads and checks @path, builds machine and graph.
 * Errors: -EINVAL, the text starts with "FILE:LINE: " ("FILE: " where it is about all of it);
 * -errno the file cannot be read; -ENOMEM. Free with task_workload_free().
 */
int task_workload_read(struct task_workload **ret, const char *path, struct errbuf *err);
void task_workload_free(struct task_workload *w);

#endif
