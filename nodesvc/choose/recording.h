/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording.h - of the room's own: what is kept of a decision, and a recording that is on. */
#ifndef COLOC_NODESVC_CHOOSE_RECORDING_H
#define COLOC_NODESVC_CHOOSE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct choose;
struct plan;
struct view;

/* A decision: its view, then the answer of each engine that was asked (a plan, or why not). */
void recording_begin(struct choose *ch, const struct view *v);
void recording_answer(
	struct choose *ch, bool fallback, const struct plan *p, const struct errbuf *why);
void recording_end(struct choose *ch);
/* An engine was made anew. */
void recording_engine(struct choose *ch, bool fallback);
/* @path without '/': in the store. @renew makes both engines anew, with nothing remembered: what
 * they remember is in no trace. -EBUSY one is on, -EEXIST the file is there. */
int recording_begin_file(struct choose *ch, const char *path, uint64_t max_bytes,
	int (*renew)(struct choose *ch, struct errbuf *err), struct errbuf *err);

#endif
