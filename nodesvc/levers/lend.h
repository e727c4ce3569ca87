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

struct daemon;
struct step;

/* What @p lends, whose job i is @step[i]. Takes effect at update. */
void lend_plan(struct daemon *d, const struct plan *p, struct step *const *step);
/* Gives (first idle, then wider) and takes back (first narrower, then as it was). */
void lend_update(struct daemon *d);
/* Its own priority again; who calls places or restores the step itself. */
void lend_end(struct daemon *d, struct step *s);

#endif
