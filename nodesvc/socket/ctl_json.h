/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctl_json.h - the live table as JSON, for colocctl; shapes in ctl.c. */
#ifndef COLOC_NODESVC_CTL_JSON_H
#define COLOC_NODESVC_CTL_JSON_H

#include <json-c/json.h>

#include "nodesvc/daemon/daemon.h"

/* Caller owns the result; NULL out of memory. */
struct json_object *ctl_json_text(const char *text);           /* "" becomes null */
struct json_object *ctl_json_coreset(const struct coreset *s); /* empty: null */
struct json_object *ctl_json_step(struct daemon *d, const struct step *s);
struct json_object *ctl_json_explain(struct daemon *d, struct step *s);
/* What the guard knows of all sets of programs. */
struct json_object *ctl_json_quarantine(struct daemon *d);
struct json_object *ctl_json_policies(struct daemon *d);
struct json_object *ctl_json_status(struct daemon *d);
struct json_object *ctl_json_counters(struct daemon *d);
/* Appends what of @s lags to the array @to. */
void ctl_json_lags(const struct daemon *d, const struct step *s, struct json_object *to);

#endif
