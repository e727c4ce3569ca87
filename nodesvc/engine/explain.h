/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * explain.h - writes plan.explain, one JSON object, with snprintf only. A text that does not fit
 * becomes {"truncated": true}: never broken JSON.
 *
 * Does nothing where the caller of the engine did not ask for it (plan.want_explain).
 */
#ifndef COLOC_ENGINE_EXPLAIN_H
#define COLOC_ENGINE_EXPLAIN_H

#include "nodesvc/engine/plan.h"

struct explain {
	struct plan *plan; /* NULL: not wanted */
	size_t len;
	bool first, full;
};

void explain_open(struct explain *x, struct plan *p);
void explain_close(struct explain *x);
/* {"key": { ... and its end; members in between are written with the calls below. */
void explain_object(struct explain *x, const char *key);
void explain_end(struct explain *x);
/* NAN becomes null. */
void explain_number(struct explain *x, const char *key, double value);
void explain_text(struct explain *x, const char *key, const char *value);
void explain_bool(struct explain *x, const char *key, bool value);

/* The sentence of one job; only where explain is wanted. */
void plan_why(struct plan *p, int job, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
