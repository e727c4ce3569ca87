/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan_json.h - a plan as the JSON that `colocsim plan` prints.
 */
#ifndef COLOC_SIM_PLAN_JSON_H
#define COLOC_SIM_PLAN_JSON_H

#include <json-c/json.h>

#include "nodesvc/engine/plan.h"

/*
 * plan_to_json - a new object (json_object_put()), NULL out of memory.
 * @explain: carry the policy's own figures; else "explain" is {}.
 */
json_object *plan_to_json(
	const struct plan *p, const struct topo *t, const char *policy, bool explain);

#endif
