/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place.h - the lever of CPUs: a step's coreset into the kernel, for good or for a moment, and the
 * way back; and how often it may move. */
#ifndef COLOC_NODESVC_LEVERS_PLACE_H
#define COLOC_NODESVC_LEVERS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"

struct actuate_result;
struct conf;
struct levers;
struct step;

/* The step's coreset; a way back that was under way is stopped. */
/* An error of place_write() for want of what others use up and give back: no fault of the step's.
 */
bool place_passes(int rc);
int place_write(struct levers *lv, struct step *s, struct actuate_result *ret, struct errbuf *err);
/* For a trial: @set, or NULL where Slurm put it. A failure is nobody's but the trial's. */
int place_aside(struct levers *lv, struct step *s, const struct coreset *set);
/* The way back of many threads goes on aside (putback.h), unless the step has @ended. */
int place_leave(struct levers *lv, struct step *s, bool ended);
void place_close(struct levers *lv);
bool place_must_wait(const struct conf *c, const struct step *s, int64_t now_ns);
void place_count_move(struct step *s, int64_t now_ns);

/* Is the directory its own, one that a container runtime made below, or its job's? */
bool place_is_of(const struct step *s, const char *path);
/* A row of the ledger: owed.h. */
bool place_holds(const struct levers *lv, const char *path);
int place_restore_path(struct levers *lv, const char *path, struct errbuf *err);

#endif
