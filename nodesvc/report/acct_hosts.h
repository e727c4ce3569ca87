/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_hosts.h - Slurm's node lists, "n[1-3,07],login", written out.
 */
#ifndef COLOC_REPORT_ACCT_HOSTS_H
#define COLOC_REPORT_ACCT_HOSTS_H

#include "common/err.h"

/*
 * acct_hosts_expand - calls @add for each name of @text; a negative return ends it and is returned.
 * Errors: -EINVAL names the part that is no node list, -E2BIG more than 4096 names.
 */
int acct_hosts_expand(
	const char *text, int (*add)(const char *name, void *arg), void *arg, struct errbuf *err);

#endif
