/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find.h - where a step is in the kernel, and what Slurm gave it: its cgroup, allocation and
 * envelope. A directory belongs to one step of the table. Errors: -EPROTO it is another step's.
 */
#ifndef COLOC_STEPS_FIND_H
#define COLOC_STEPS_FIND_H

#include "common/err.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/steps/jobs.h"

/* By one of its processes. */
int find_by_pid(
	const struct jobs *j, struct actuate *a, struct step *s, pid_t pid, struct errbuf *err);
/* By its directory; -ENOENT: known to be gone. */
int find_by_dir(const struct jobs *j, struct actuate *a, struct step *s, const char *path,
	uint64_t inode, struct errbuf *err);
/* By its ids alone; -ENOENT: nothing, or more than one, that is nobody else's. */
int find_by_ids(const struct jobs *j, struct actuate *a, struct step *s, struct errbuf *err);

#endif
