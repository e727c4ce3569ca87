/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measured_json.h - what live intervals measured of a program, as JSON, for list, export, import.
 *
 * {"measured": 1, "type": "stencil", "user": "alice", "node_type": "", "cores": 2, "kind": "solo",
 *  "signal": "progress_per_s", "unit": "sweeps", "source": "app", "count": 3, "mean": 812.5,
 *  "m2": 31.0, "spread": 0.0048, "first_unix_s": 1700000000, "last_unix_s": 1700000900}
 *
 * kind: shared, alone or solo (record.h); spread: standard deviation over mean, from m2, null with
 * one interval, not read back.
 */
#ifndef COLOC_NODESVC_MEASURED_JSON_H
#define COLOC_NODESVC_MEASURED_JSON_H

#include <json-c/json.h>

#include "nodesvc/record/record.h"

/* New object (json_object_put()), NULL when memory is gone. */
struct json_object *measured_to_json(const struct measurement *m);
/* Strict: unknown or missing fields and bad values are refused by name. -EINVAL; @ret untouched. */
int measured_from_text(const char *text, struct measurement *ret, struct errbuf *err);
/* Is it one of these, not a profile? */
bool measured_is_text(const char *text);

#endif
