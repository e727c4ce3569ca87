/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_json.h - views written as JSON (colocsim plan --jobs, saved views, traces): strict reading,
 * with errors that name job, field and value.
 */
#ifndef COLOC_TRACE_VIEW_JSON_H
#define COLOC_TRACE_VIEW_JSON_H

#include <json-c/json.h>
#include <stddef.h>

#include "common/err.h"
#include "nodesvc/engine/view.h"

/* Of the form; a view may say "version": 1, and no other. */
#define VIEW_VERSION 1

/* A view with the memory behind it. */
struct view_file;

/*
 * view_file_parse - reads {"views": [...]} or one view object.
 * Views keep their order; a job without "current" runs where the plan of the view before put it
 * (view_file_carry()). Errors: -EINVAL no JSON, unknown key, bad value; -ENOMEM.
 * Free with view_file_free().
 */
int view_file_parse(struct view_file **ret, const char *text, size_t len, struct errbuf *err);
/* The same from an object that is read already; keeps a reference to @o. */
int view_file_from_json(struct view_file **ret, json_object *o, struct errbuf *err);
void view_file_free(struct view_file *f);

int view_file_count(const struct view_file *f);
/* True where the file was {"views": [...]}. */
bool view_file_is_list(const struct view_file *f);
const struct view *view_file_view(const struct view_file *f, int i);
int view_file_max_jobs(const struct view_file *f);

/* Sets the current coreset of job @id in view @i, if the file did not. */
void view_file_carry(struct view_file *f, int i, const char *id, const struct coreset *coreset);
/* Sets it whatever the file says. */
void view_file_move(struct view_file *f, int i, const char *id, const struct coreset *coreset);

/*
 * view_to_json - a view as view_file_from_json() reads it back, bit for bit: what is unknown or
 * the default is left out, numbers have 17 digits, where a signal comes from stands beside it.
 * A new object (json_object_put()); NULL out of memory.
 */
json_object *view_to_json(const struct view *v);
/* A number that reads back as the same bits; NULL (null) where it is none. */
json_object *exact_number(double x);

#endif
