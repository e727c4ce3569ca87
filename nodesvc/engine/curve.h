/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * curve.h - speed by cores as measured: points, linear in between, the last slope beyond.
 * Unlike scalability.h nothing is assumed about the shape (peaks stay peaks).
 */
#ifndef COLOC_ENGINE_CURVE_H
#define COLOC_ENGINE_CURVE_H

#include <stdbool.h>

#include "nodesvc/engine/view.h"

#define CURVE_POINTS 32

struct curve {
	int n;
	struct speed_point point[CURVE_POINTS]; /* ascending cores */
};

/* Adds or replaces a point; a full curve keeps what it has. */
void curve_set(struct curve *c, int cores, double speed);
/* Speed at @cores; below the first point in proportion. NAN for an empty curve. */
double curve_at(const struct curve *c, int cores);
bool curve_has(const struct curve *c, int cores);
/* Between two measured points, or on one. */
bool curve_covers(const struct curve *c, int cores);

#endif
