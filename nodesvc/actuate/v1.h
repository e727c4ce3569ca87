/* SPDX-License-Identifier: GPL-2.0-or-later */
/* v1.h - between v1.c (steps) and v1_below.c (what lies below them). */
#ifndef COLOC_ACTUATE_V1_H
#define COLOC_ACTUATE_V1_H

#include "nodesvc/actuate/internal.h"

/*
 * Before @set is written into the step of @m: levels below get @set, their originals in the ledger
 * first; the step has @set and what it had until it is written itself. Nothing below: 0 at once.
 */
int v1_below_follow(const struct masks *m, const struct coreset *set, struct errbuf *err);
/* Is @path below a step's level? */
bool v1_is_below(const char *path);
/* One level below a step, back to what the ledger has, as far as the step allows it. */
int v1_below_restore(struct actuate *a, const char *path, struct errbuf *err);
/* All of a step that has been restored, or has ended. */
int v1_below_restore_all(struct actuate *a, const char *step_path, struct errbuf *err);

#endif
