/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan_json.h - a plan as the JSON that `colocsim plan` prints.
 */
#ifndef COLOC_TRACE_PLAN_JSON_H
#define COLOC_TRACE_PLAN_JSON_H

#include <json-c/json.h>
#include <stdbool.h>

#include "nodesvc/engine/plan.h"

/*
 * plan_to_json - a new object (json_object_put()), NULL out of memory.
 * @explain: carry the policy's own figures; else "explain" is {}.
 */
json_object *plan_to_json(
	const struct plan *p, const struct topo *t, const char *policy, bool explain);

/* All of a plan but the policy's own figures, numbers with 17 digits: what a trace keeps and
 * replay compares. */
json_object *plan_to_exact_json(const struct plan *p, const struct topo *t);

/*
 * plan_from_json - reads a plan into @p, which plan_reset() has prepared for @v: what the text
 * leaves out stays as it is there. Jobs of equal coresets become a group. Strict, as view_json.h;
 * what follows from the rest (policy, domain, domains, cores, moves, keep) is read over.
 * Errors: -EINVAL, the text names job, field and value; -ENODATA it says {"refused": "..."}, the
 * text is that; @p is then of no use.
 */
int plan_from_json(struct plan *p, const struct view *v, json_object *o, struct errbuf *err);

/*
 * plan_json_diff - false: equal, member by member and bit for bit. True: where they first differ
 * and how, as "jobs[1].coreset: recorded "0-3", replayed "4-7"".
 */
bool plan_json_diff(json_object *recorded, json_object *replayed, char *ret_where, size_t size);

#endif
