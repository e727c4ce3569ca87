/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trail.h - what the engines of a service were asked and answered since they were made, kept in
 * memory so that any decision can be decided again elsewhere: most policies remember, and a
 * decision follows from every view before it, not from its own alone.
 *
 * A decision is kept as what differs from the one before it. Where the room is used up the older
 * half goes, and the trail says that it is cut. Failures to allocate end the trail (it is empty
 * then), never anything else. One thread.
 */
#ifndef COLOC_TRACE_TRAIL_H
#define COLOC_TRACE_TRAIL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nodesvc/trace/trace.h"

struct trail;

/* @max_bytes: the most that it keeps. Errors: -ENOMEM. Free with trail_free(). */
int trail_create(struct trail **ret, size_t max_bytes, struct errbuf *err);
void trail_free(struct trail *t);

/* An engine was made anew. Once both are, since the last decision, the trail begins anew. */
void trail_engine(struct trail *t, bool fallback, const struct trace_engine *e);

/*
 * One decision: trail_begin() with the view, trail_answer() for each engine that was asked, with
 * its plan or the text of its refusal, trail_end(). The number of the decision, from 1, is
 * trail_number() from trail_begin() on.
 */
void trail_begin(struct trail *t, const struct view *v);
void trail_answer(struct trail *t, bool fallback, const struct plan *p, const char *refused);
void trail_end(struct trail *t);
uint64_t trail_number(const struct trail *t);

/* Bytes that are kept now, and the first decision of them (0: none). */
size_t trail_bytes(const struct trail *t);
uint64_t trail_first(const struct trail *t);

/*
 * trail_page - the lines of a trace (doc/trace.md) from decision @from to @to, an array of objects
 * that ends where @max_bytes of text are reached. @from 0: from the beginning, with the head; its
 * engines and `cut` are ours. *ret_next: where to go on, 0 when all, with the end, is there.
 * Errors: -ENOENT the decision is not kept, the text says which are; -ENOMEM.
 */
int trail_page(const struct trail *t, const struct trace_head *head, uint64_t from, uint64_t to,
	size_t max_bytes, json_object **ret, uint64_t *ret_next, struct errbuf *err);

#endif
