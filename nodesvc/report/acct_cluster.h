/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_cluster.h - --cluster: what the nodes wrote into Slurm's accounting, read through sacct
 * with the rights of whoever asks. One row per job and node.
 */
#ifndef COLOC_REPORT_ACCT_CLUSTER_H
#define COLOC_REPORT_ACCT_CLUSTER_H

#include <stdbool.h>

#include "common/err.h"

/*
 * @filter as of acct_query.h; @all_users: as root. Errors: -EINVAL the filter has what sacct
 * cannot pick (a step), -ENOENT no sacct, -EIO sacct failed (it has said why on stderr).
 */
int acct_source_cluster(const char *filter, bool all_users,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err);

#endif
