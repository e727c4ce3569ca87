/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carry.h - what was measured of a step, carried over a restart of the daemon: sums, windows,
 * phases, how it was launched, its way so far. Kept with its registration (adopt.c); as the
 * records of a message (common/msg.h), so that one reader checks both.
 *
 * Between the last keeping and the first sample of the next daemon nobody measured: that gap is
 * told with whatever rests on the figures (struct seen_gap).
 */
#ifndef COLOC_STEPS_CARRY_H
#define COLOC_STEPS_CARRY_H

#include "common/err.h"
#include "common/msg.h"
#include "nodesvc/steps/jobs.h"

/* Writes @s's figures; more ended tasks than fit are left out. */
void carry_save(const struct step *s, struct msg *ret);

/*
 * carry_load - sets @s's figures to those saved, and its ended tasks. -EINVAL, -EPROTO: @m is not
 * what carry_save() wrote (the field is named); then @s is as it was.
 */
int carry_load(struct step *s, const struct msg *m, struct errbuf *err);

#endif
