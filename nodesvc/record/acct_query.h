/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_query.h - accounting rows as JSON: the same text for colocacct run by root (which reads
 * the database) and by a user (whom the daemon answers on its socket).
 *
 * Filter (every key optional; unknown keys are refused, so that a filter never widens unseen):
 *   {"jobs": ["12", "12.0", "12.batch", "7_3"], "from_ns": N, "to_ns": N,
 *    "uids": [N], "states": ["RUNNING"], "accounts": ["a"], "partitions": ["p"], "names": ["job"],
 *    "nodes": ["n1"], "duplicates": true, "truncate": true, "history": true}
 * With "jobs", of several records of one step (ids were used again, or the job was requeued) only
 * the newest is listed unless "duplicates". "truncate": times outside the window are cut to it.
 * A row is one JSON object on one line, without newline; null is unknown:
 *   {"id", "job_id", "step_id" (text for batch, extern, interactive), "array_job_id",
 *    "array_task_id", "node", "name", "program", "uid", "user", "account", "partition",
 *    "policy", "req_policy", "reason", "cores", "coreset", "coreset_history": [..],
 *    "partners": [..], "start_unix_s", "end_unix_s", "elapsed_s", "rebinds", "tasks",
 *    "exit_status", "exit_signal", "state", "dry_run",
 *    and the keys of figures.h}
 * and with "history": {"coreset_changes": [{"unix_s", "coreset", "why"}], "phase_changes":
 * [{"unix_s", "signature"}], "samples": [{"unix_s", SIGNAL: value, ...}],
 * "sample_sources": {SIGNAL: provenance, ...}}
 */
#ifndef COLOC_RECORD_ACCT_QUERY_H
#define COLOC_RECORD_ACCT_QUERY_H

#include <stdint.h>

#include "common/err.h"
#include "nodesvc/record/record.h"

/*
 * acct_query_json - calls @emit for each row of the filter by start time; a non-zero return ends
 * it and is returned. @uid: only rows of this user, whatever the filter says; 0 all.
 * @filter_json may be NULL or "". Errors: -EINVAL with the key, -EPERM @uid asks for others.
 */
int acct_query_json(struct record *r, uint32_t uid, const char *filter_json,
	int (*emit)(const char *json_row, void *arg), void *arg, struct errbuf *err);

#endif
