/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctl_json.h - the live table as JSON, for colocctl; shapes in ctl.c. */
#ifndef COLOC_NODESVC_CTL_JSON_H
#define COLOC_NODESVC_CTL_JSON_H

#include <json-c/json.h>

#include "nodesvc/socket/socket.h"

/* Caller owns the result; NULL out of memory. */
struct json_object *ctl_json_text(const char *text);           /* "" becomes null */
struct json_object *ctl_json_coreset(const struct coreset *s); /* empty: null */
struct json_object *ctl_json_step(const struct socket *k, const struct step *s);
struct json_object *ctl_json_explain(const struct socket *k, struct step *s);
/* What the guard knows of all sets of programs. */
struct json_object *ctl_json_quarantine(const struct socket *k);
struct json_object *ctl_json_policies(const struct socket *k);
struct json_object *ctl_json_status(const struct socket *k);
struct json_object *ctl_json_counters(const struct socket *k);
/* Appends what of @s lags to the array @to. */
void ctl_json_lags(const struct socket *k, const struct step *s, struct json_object *to);

#endif
