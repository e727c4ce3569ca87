/* SPDX-License-Identifier: GPL-2.0-or-later */
/* place.h - between place.c (one step's part of a plan) and decide.c (all steps'). */
#ifndef COLOC_PLACE_H
#define COLOC_PLACE_H

#include "nodesvc/daemon/daemon.h"

/* Writes the step's coreset into the kernel (unless dry). On failure Slurm's placement stands. */
int place_apply(struct daemon *d, struct step *s, struct errbuf *err);
/* A tick may wait: no step is moved again within its dwell, nor more often than configured. */
bool place_must_wait(const struct daemon *d, const struct step *s, int64_t now_ns);
void place_count_move(struct step *s, int64_t now_ns);

#endif
