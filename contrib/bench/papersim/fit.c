/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/papersim/fit.h"

#include "nodesvc/engine/engine.h"

#define POINTS_MAX 16

bool fit_speeds(
	const int *cores, const double *speed, int n, const int *width, double *ret, int n_widths)
{
	struct speed_point point[POINTS_MAX];
	struct scalability f;

	if (n > POINTS_MAX)
		return false;
	for (int i = 0; i < n; i++)
		point[i] = (struct speed_point){cores[i], speed[i]};
	if (!scalability_fit(point, n, &f))
		return false;
	for (int i = 0; i < n_widths; i++)
		ret[i] = scalability_speed(&f, width[i]);
	return true;
}
