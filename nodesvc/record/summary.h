/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.h - what a node says of a job in Slurm's accounting (AdminComment): short, and free of
 * what sacctmgr or sacct would change or trip over (quotes, '|', line feeds).
 *
 *   coloc/1{node=n1;policy=lira;steps=2;coreset=0-1;...}{node=n2;...}
 *
 * One pair of braces per node; text of others around it is left alone. Unknown keys are skipped
 * by readers, unknown values are left out. All pure text: no Slurm here.
 */
#ifndef COLOC_RECORD_SUMMARY_H
#define COLOC_RECORD_SUMMARY_H

#include <stddef.h>

#include "common/err.h"
#include "nodesvc/record/record.h"

#define SUMMARY_MARK     "coloc/1"
#define SUMMARY_PART_MAX 640
/* slurmdbd's column is TEXT: MariaDB cuts at 65 535 bytes without a word. */
#define SUMMARY_COMMENT_MAX 60000

/*
 * summary_of_job - the part of this node, "{node=...}", from the rows of @job_id in @r. What
 * differs between steps is left out, what counts is summed. -ENOENT no rows.
 */
int summary_of_job(struct record *r, uint32_t job_id, const char *node, char ret[SUMMARY_PART_MAX],
	struct errbuf *err);

/*
 * summary_merge - @comment (NULL: none) with @part in place of an earlier one of the same node,
 * malloc'ed. Errors: -EBADMSG the comment holds what sacctmgr would change (quotes of another
 * tool's, line feeds): it must not be written; -E2BIG it would be longer than
 * SUMMARY_COMMENT_MAX.
 */
int summary_merge(const char *comment, const char *part, char **ret, struct errbuf *err);

/* Calls @fn for every "key=value" of every part of @comment, with the part's number; values are
 * copies. A non-zero return ends it and is returned. */
int summary_parse(const char *comment,
	int (*fn)(int part, const char *key, const char *value, void *arg), void *arg);

#endif
