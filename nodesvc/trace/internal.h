/* SPDX-License-Identifier: GPL-2.0-or-later */
/* internal.h - what the files of this room share. */
#ifndef COLOC_TRACE_INTERNAL_H
#define COLOC_TRACE_INTERNAL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/coreset.h"
#include "common/err.h"
#include "nodesvc/engine/view.h"

/*
 * value.c: strict reading of single JSON values: each getter returns 0, or -EINVAL with a text
 * that names where, the field and the value, and leaves its output alone. Thread-safe.
 */

/* Where we are, for messages: "view 2: job A: " */
struct where {
	int view;
	bool is_list;
	const char *job;
	struct errbuf *err;
};

int value_fail(const struct where *w, const char *text);
int value_bad(const struct where *w, const char *field, json_object *node, const char *expected);
int value_unknown_key(const struct where *w, const char *key);

/* Finite, within @min..@max; a @max of 1e300 or more counts as none. */
int value_double(const struct where *w, const char *field, json_object *o, double min, double max,
	double *ret);
/* 4.0 is whole too. */
int value_int(const struct where *w, const char *field, json_object *o, int min, int max, int *ret);
/* Not empty, shorter than @max bytes, no NUL inside; the text belongs to @o. */
int value_string(
	const struct where *w, const char *field, json_object *o, size_t max, const char **ret);
int value_type(const struct where *w, const char *field, json_object *o, json_type type);
/* A whole number of up to 9e15, which a JSON number holds exactly. */
int value_whole(const struct where *w, const char *field, json_object *o, double min, int64_t *ret);

/* A member of an object, and where in a struct its value goes. */
struct member {
	const char *key; /* NULL: the end of a table */
	enum {
		MEMBER_ELSEWHERE, /* read by someone else, or read over */
		MEMBER_INT,
		MEMBER_WHOLE, /* int64_t */
		MEMBER_REAL,
		MEMBER_BOOL,
		MEMBER_TEXT, /* shorter than max */
		MEMBER_CORESET,
	} kind;
	size_t at;
	double min, max;
};

/* Member @key as the table says; what is not in it is an unknown key. */
int value_member(const struct where *w, const char *field, const char *key, json_object *o,
	const struct member *table, void *ret);
/* @o has members of the table and no others; in messages they are "FIELD.KEY". */
int value_members(const struct where *w, const char *field, json_object *o,
	const struct member *table, void *ret);

/* view_write.c: "0-3,8". */
json_object *trace_cpulist(const struct coreset *s);

/* view_job.c: one job of a view, from JSON. For view_json.c. */

/*
 * view_job_parse - jobs[@i] of view @w->view. @j's strings point into @o; where it says what it
 * is called, @w has its name until it is read, for messages. *@ret_current: it says which PUs it
 * has now. Errors: as value.c's, the place and the value named.
 */
int view_job_parse(struct where *w, struct view_job *j, int i, bool *ret_current, json_object *o);

#endif
