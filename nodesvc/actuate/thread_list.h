/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_list.h - the threads of a step, read anew only where they are others: to list them costs
 * three files for each process, to see that they are the same one for each cgroup of the step
 * (measured: of the daemon's time in a rotation of four MPI programs a third and a twentieth).
 *
 * How many there are its user chooses: an update takes a few milliseconds of the loop at most, and
 * goes on at the next one; what took long is not read again soon.
 */
#ifndef COLOC_ACTUATE_THREAD_LIST_H
#define COLOC_ACTUATE_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nodesvc/actuate/actuate.h"

struct thread_listing;

/* Zeroed: not read yet. */
struct thread_list {
	pid_t *tid; /* [n], slurmstepd's own left out */
	int n;
	uint64_t mark; /* actuate_ops.mark */
	bool has_mark;
	int64_t at_ns;    /* when it was read last, also where it had not changed; 0 never */
	int64_t again_ns; /* not before */
	struct thread_listing *reading;
};

/*
 * thread_list_update - 0, and whether the list is another one: the old one stays while the next is
 * read. <0: there is none (-ENOENT the step is gone, -EAGAIN the first is being read), and the old
 * one stays. Loop thread.
 */
int thread_list_update(
	struct thread_list *l, struct actuate *a, const struct step_cgroup *s, bool *ret_changed);
/* One is being read, over several updates. */
bool thread_list_is_reading(const struct thread_list *l);
void thread_list_done(struct thread_list *l);

#endif
