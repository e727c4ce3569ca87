/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_json.h - a profile as JSON, for export, import and `profile_put json=...`.
 *
 * {"schema": 1, "type": "stencil", "user": "alice", "node_type": "", "source": "cachegrind",
 *  "waiting": "passive", "threads": 2, "solo_s": 0.5, "utilization": 0.98,
 *  "signals": {"loads_per_s": 1e8, "llc_refs_per_s": 2e5, "llc_misses_per_s": 4e4,
 *              "llc_miss_ratio": 0.2, "instructions_per_s": 2e9, "mem_bytes_per_s": null},
 *  "ll_bytes": 1048576, "taken_unix_s": 1700000000, "count": 3, "spread": 0.02}
 *
 * Signals are per thread; null or absent is unknown. "waiting" follows from the source: cachegrind
 * runs wait passively, the others as the program would ("native").
 */
#ifndef COLOC_COUNTERS_PROFILE_JSON_H
#define COLOC_COUNTERS_PROFILE_JSON_H

#include <json-c/json.h>

#include "common/err.h"
#include "nodesvc/counters/counters.h"

/* New object (json_object_put()), NULL when memory is gone. */
struct json_object *profile_to_json(const struct profile *p);

/*
 * profile_from_text - strict: unknown or missing fields, values out of range and trailing text are
 * refused, the error naming field and value. Required: type, source, threads, solo_s, utilization,
 * signals. Errors: -EINVAL. @ret untouched.
 */
int profile_from_text(const char *text, struct profile *ret, struct errbuf *err);

#endif
