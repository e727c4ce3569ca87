/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_alloc.h - -X: the steps of a job as one line of the job on this node.
 *
 * Counts are summed, times span all steps, partners are united, the state is the one that matters
 * most (RUNNING, FAILED, UNKNOWN, COMPLETED). What differs between steps and cannot be summed, a
 * coreset, a gain, is blank: a mean over different programs would be nobody's figure.
 * Keeps one row per job in memory.
 */
#ifndef COLOC_REPORT_ACCT_ALLOC_H
#define COLOC_REPORT_ACCT_ALLOC_H

#include "common/err.h"

struct acct_alloc;

int acct_alloc_create(struct acct_alloc **ret, struct errbuf *err);
/* One row of acct_query.h; fits its @emit with @arg the struct acct_alloc. */
int acct_alloc_row(const char *json_row, void *arg);
/* The jobs' rows by first start; a non-zero return of @emit ends it and is returned. */
int acct_alloc_emit(struct acct_alloc *a, int (*emit)(const char *json_row, void *arg), void *arg);
void acct_alloc_free(struct acct_alloc *a);

#endif
