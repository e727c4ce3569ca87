/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_json.h - views written as JSON (colocsim plan --jobs, saved views): strict reading, with
 * errors that name job, field and value.
 */
#ifndef COLOC_SIM_VIEW_JSON_H
#define COLOC_SIM_VIEW_JSON_H

#include <stddef.h>

#include "common/err.h"
#include "nodesvc/engine/view.h"

/* A view with the memory behind it. */
struct view_file;

/*
 * view_file_parse - reads {"views": [...]} or one view object.
 * Views keep their order; a job without "current" runs where the plan of the view before put it
 * (view_file_carry()). Errors: -EINVAL no JSON, unknown key, bad value; -ENOMEM.
 * Free with view_file_free().
 */
int view_file_parse(struct view_file **ret, const char *text, size_t len, struct errbuf *err);
void view_file_free(struct view_file *f);

int view_file_count(const struct view_file *f);
/* True where the file was {"views": [...]}. */
bool view_file_is_list(const struct view_file *f);
const struct view *view_file_view(const struct view_file *f, int i);
int view_file_max_jobs(const struct view_file *f);

/* Sets the current coreset of job @id in view @i, if the file did not. */
void view_file_carry(struct view_file *f, int i, const char *id, const struct coreset *coreset);

#endif
