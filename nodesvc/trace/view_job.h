/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_job.h - one job of a view, from JSON. For view_json.c. */
#ifndef COLOC_TRACE_VIEW_JOB_H
#define COLOC_TRACE_VIEW_JOB_H

#include <json-c/json.h>
#include <stdbool.h>

#include "nodesvc/engine/view.h"
#include "nodesvc/trace/value.h"

/*
 * view_job_parse - jobs[@i] of view @w->view. @ret's strings point into @o; where it says what it
 * is called, @w has its name until it is read, for messages. *@ret_current: it says which PUs it
 * has now. Errors: as value.h's, the place and the value named.
 */
int view_job_parse(struct where *w, struct view_job *ret, int i, bool *ret_current, json_object *o);

#endif
