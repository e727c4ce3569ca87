/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scalability.h - how a job's time depends on its cores: y(n) = alpha + beta/n + gamma*n with
 * alpha + beta + gamma = 1, y(n) = speed(1)/speed(n).
 *
 * Source: Sasaki, Tanimoto, Inoue, Nakamura, SBMP, PACT 2012, equation (2).
 */
#ifndef COLOC_ENGINE_SCALABILITY_H
#define COLOC_ENGINE_SCALABILITY_H

#include <stdbool.h>

#include "nodesvc/engine/view.h"

#define SCALABILITY_POINTS 8
#define SCALABILITY_Y_MIN  1e-3 /* a fit may not promise more than a thousandfold */

struct scalability {
	double alpha, beta, gamma;
};

/*
 * scalability_fit - least squares over the points (speed at 1 core must be among them), all three
 * coefficients >= 0; where a free fit is negative the best on that edge is taken. With fewer than
 * three core counts gamma is 0. Returns false (nothing done) without a point at 1 core and one
 * more; a single point at 1 core gives no shape.
 */
bool scalability_fit(const struct speed_point *point, int n, struct scalability *ret);

/* Speed at @cores relative to one core: 1/y. */
double scalability_speed(const struct scalability *s, int cores);

#endif
