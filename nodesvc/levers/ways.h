/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ways.h - a plan's clusters on the node: ways of the last-level caches and steps of bandwidth for
 * groups of steps, by resctrl (actuate/resctrl.h).
 *
 * Steps in no cluster stay in the default group. Where resctrl is not to be had ways_lack() says
 * why, and plans that ask for clusters go to the fallback. Loop thread only.
 */
#ifndef COLOC_NODESVC_WAYS_H
#define COLOC_NODESVC_WAYS_H

#include <stdbool.h>

#include "nodesvc/actuate/resctrl.h"
#include "nodesvc/engine/plan.h"

struct levers;
struct step;

struct ways {
	struct resctrl *resctrl; /* NULL: why_not says why */
	char why_not[160];
	int n, n_wanted; /* clusters as they are set, and as the plan has them */
	struct resctrl_cluster cluster[RESCTRL_CLUSTERS_MAX], wanted[RESCTRL_CLUSTERS_MAX];
	bool failed; /* what is wanted could not be set */
};

/* What there is; groups of a former daemon go. Never fails. */
void ways_open(struct levers *lv);
/* Removes all groups of ours: all steps share the whole cache again. */
void ways_close(struct levers *lv);
/* What @p asks for and this node has not; NULL: nothing. */
const char *ways_lack(const struct levers *lv, const struct plan *p);
/* The clusters of @p, whose job i is @step[i]. Takes effect at update. */
bool ways_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Makes groups, moves steps into them and out. Cheap when nothing changed. */
void ways_update(struct levers *lv);
/* Back into the default group: before its placement is put back, or it has ended. */
int ways_end(struct levers *lv, struct step *s, bool ended);
/* All groups of ours go, and all steps are in the default one. */
int ways_clear(struct levers *lv);
/* A row of the ledger: owed.h. */
bool ways_hold(const struct levers *lv, const char *path);
int ways_restore_path(struct levers *lv, const char *path, struct errbuf *err);

#endif
