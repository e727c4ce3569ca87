/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mems.h - a step's memory goes where its threads went: its pages, and then its cpuset.mems.
 *
 * Pages first, by move_pages(2) in chunks at a bounded rate: what the kernel moves itself when
 * cpuset.mems is written (always with cgroup v2, with v1 where cpuset.memory_migrate is 1) it moves
 * in one piece, and the write waits for it. cpuset.mems last, so that with v2 little is left to
 * move then; v1's memory_migrate stays as it is found. "Nodes" are memory nodes, a coreset of the
 * kernel's numbers.
 *
 * The original is in the ledger before it is changed. All but mems_move() is called from the
 * daemon's loop only and does not wait; giving nodes back moves no page.
 */
#ifndef COLOC_ACTUATE_MEMS_H
#define COLOC_ACTUATE_MEMS_H

#include "nodesvc/actuate/actuate.h"

/* Of a node's memory: so much must stay to be had where a step is kept on it. */
#define MEMS_RESERVE_RATIO 0.1

/* The nodes that @cpus belong to; *ret_n: how many the machine has, 1 where it does not say. */
int mems_of_cpus(const struct fsroot *root, const struct coreset *cpus, struct coreset *ret,
	int *ret_n, struct errbuf *err);
/* Of all @nodes together, bytes: what there is, and what is free or only caches files. */
int mems_free(const struct fsroot *root, const struct coreset *nodes, uint64_t *ret_total,
	uint64_t *ret_free, struct errbuf *err);

/*
 * mems_record - the step's cpuset.mems into the ledger. Errors: -ENOENT the step has ended,
 * -ENOTSUP no cgroup hierarchy, -ERANGE @nodes are not the job's to have, or the ledger's.
 */
int mems_record(struct actuate *a, const struct step_cgroup *s, const struct coreset *nodes,
	struct errbuf *err);
/* Puts back what the ledger has and forgets it. Nothing there, or the step has ended: 0. */
int mems_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
int mems_restore_path(struct actuate *a, const char *path, struct errbuf *err);
/* The same for everything in the ledger, whoever wrote it; number of steps, or <0. */
int mems_restore_all(struct actuate *a, struct errbuf *err);

struct mems_moved {
	uint64_t moved_bytes, left_bytes; /* left: the kernel would not, or shared with others */
};
/*
 * mems_move - moves the pages of the step's processes to @nodes, at most @mib_per_s MiB a second,
 * then writes cpuset.mems (in the ledger by mems_record()). Takes long: for a process of its own,
 * which may be killed at any moment. Pages of files that others map too stay with it.
 * Errors: -ENOSPC @nodes have no room for them, with MEMS_RESERVE_RATIO to spare: nothing is moved;
 * -ENOENT the step has ended, -EIO the kernel holds other nodes than were written.
 */
int mems_move(struct actuate *a, const struct step_cgroup *s, const struct coreset *nodes,
	int mib_per_s, struct mems_moved *ret, struct errbuf *err);

#endif
