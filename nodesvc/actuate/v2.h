/* SPDX-License-Identifier: GPL-2.0-or-later */
/* v2.h - between v2.c (steps) and v2_job.c (their jobs' level). */
#ifndef COLOC_ACTUATE_V2_H
#define COLOC_ACTUATE_V2_H

#include "nodesvc/actuate/internal.h"

#define V2_EFFECTIVE "cpuset.cpus.effective"

/* The directory @levels above @path. -EINVAL: there are not so many. */
int v2_above(const char *path, int levels, char *ret, size_t size);
/*
 * Before @set is written into the step of @m: sees to it that the job's CPUs in force cover it, the
 * original in the ledger first. -ERANGE: the levels above the job do not have it.
 */
int v2_job_widen(const struct masks *m, const struct coreset *set, struct errbuf *err);
/*
 * After a change: the job's level, if it is in the ledger, becomes its original plus what its steps
 * in the ledger hold; without such steps it is forgotten.
 */
int v2_job_settle(struct actuate *a, const char *job_path, struct errbuf *err);

#endif
