/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lend.h - core donation on the node: a donee also runs on its donors' cores, at a priority at
 * which a donor that wants them has them at once.
 *
 * Source: SBMP section 3.4 (affinity: own and donor's cores, "nice much lower"); Callisto's low
 * priority threads. Loop thread only.
 */
#ifndef COLOC_NODESVC_LEND_H
#define COLOC_NODESVC_LEND_H

#include "nodesvc/engine/plan.h"

struct levers;
struct step;

/* At start and stop: whatever priorities anybody of ours changed are put back. */
void lend_open(struct levers *lv);
void lend_close(struct levers *lv);

/* What @p lends, whose job i is @step[i]. Takes effect at update. */
bool lend_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Gives (first idle, then wider) and takes back (first narrower, then as it was). */
void lend_update(struct levers *lv);
/* Its own priority again; who calls places or restores the step itself. */
int lend_end(struct levers *lv, struct step *s, bool ended);
/* A row of the ledger: owed.h. Priorities of single threads (threads.h) are the same kind. */
bool lend_holds(const struct levers *lv, const char *path);
int lend_restore_path(struct levers *lv, const char *path, struct errbuf *err);

#endif
