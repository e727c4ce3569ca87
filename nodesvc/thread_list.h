/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_list.h - the threads of a step, read anew only where they are others: to list them costs
 * three files for each process, to see that they are the same one for each cgroup of the step
 * (measured: of the daemon's time in a rotation of four MPI programs a third and a twentieth).
 */
#ifndef COLOC_NODESVC_THREAD_LIST_H
#define COLOC_NODESVC_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nodesvc/actuate/actuate.h"

/* Zeroed: not read yet. */
struct thread_list {
	pid_t *tid; /* [n], slurmstepd's own left out */
	int n;
	uint64_t mark; /* actuate_ops.mark */
	bool has_mark;
};

/*
 * thread_list_update - 0, and whether the list is another one. <0: there is none (-ENOENT the step
 * is gone), and the old one stays. Loop thread.
 */
int thread_list_update(
	struct thread_list *l, struct actuate *a, const struct step_cgroup *s, bool *ret_changed);
void thread_list_done(struct thread_list *l);

#endif
