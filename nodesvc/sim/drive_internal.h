/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drive_internal.h - between drive.c (references, results) and drive_policy.c (the engine). */
#ifndef COLOC_SIM_DRIVE_INTERNAL_H
#define COLOC_SIM_DRIVE_INTERNAL_H

#include "nodesvc/sim/drive.h"

bool drive_is_over(const struct drive *d, const struct run *r);
int drive_policy_run(
	const struct drive *d, struct run *r, struct drive_result *ret, struct errbuf *err);

#endif
