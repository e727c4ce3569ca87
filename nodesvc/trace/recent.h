/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recent.h - what the engines of a service were asked and answered since they were made, kept in
 * memory so that any decision can be decided again elsewhere: most policies remember, and a
 * decision follows from every view before it, not from its own alone.
 *
 * A decision is kept as what differs from the one before it. Where the room is used up the older
 * half goes, and the page says that it is cut. Failures to allocate forget all (nothing is kept
 * then), never anything else. One thread.
 */
#ifndef COLOC_TRACE_RECENT_H
#define COLOC_TRACE_RECENT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nodesvc/trace/trace.h"

struct recent;

/* @max_bytes: the most that it keeps. Errors: -ENOMEM. Free with recent_free(). */
int recent_create(struct recent **ret, size_t max_bytes, struct errbuf *err);
void recent_free(struct recent *t);

/* An engine was made anew. Once both are, since the last decision, they begin anew. */
void recent_engine(struct recent *t, bool fallback, const struct trace_engine *e);

/*
 * One decision: recent_begin() with the view, recent_answer() for each engine that was asked, with
 * its plan or the text of its refusal, recent_end(). The number of the decision, from 1, is
 * recent_number() from recent_begin() on.
 */
void recent_begin(struct recent *t, const struct view *v);
void recent_answer(struct recent *t, bool fallback, const struct plan *p, const char *refused);
void recent_end(struct recent *t);
uint64_t recent_number(const struct recent *t);

/* Bytes that are kept now, and the first decision of them (0: none). */
size_t recent_bytes(const struct recent *t);
uint64_t recent_first(const struct recent *t);

/*
 * recent_page - the lines of a trace (doc/trace.md) from decision @from to @to, an array of objects
 * that ends where @max_bytes of text are reached. @from 0: from the beginning, with the head; its
 * engines and `cut` are ours. *ret_next: where to go on, 0 when all, with the end, is there.
 * Errors: -ENOENT the decision is not kept, the text says which are; -ENOMEM.
 */
int recent_page(const struct recent *t, const struct trace_head *head, uint64_t from, uint64_t to,
	size_t max_bytes, json_object **ret, uint64_t *ret_next, struct errbuf *err);

#endif
