/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/engine.h"

#include <math.h>

/* Sums of the normal equations of t = beta*x + gamma*z, x = 1/n - 1, z = n - 1, t = y - 1. */
struct sums {
	double xx, xz, zz, xt, zt, tt;
};

static double residual(const struct sums *s, double b, double g)
{
	return s->tt - 2 * (b * s->xt + g * s->zt) + b * b * s->xx + 2 * b * g * s->xz +
	       g * g * s->zz;
}

/* Keeps (b, g) if it is allowed and fits better than the best so far. */
static void consider(const struct sums *s, double b, double g, double *best, double *rb, double *rg)
{
	const double edge = 1e-12; /* a coefficient of -1e-17 is a 0 that was rounded */
	double r;

	if (!isfinite(b) || !isfinite(g) || b < -edge || g < -edge || b + g > 1 + edge)
		return;
	r = residual(s, b, g);
	if (*best >= 0 && r >= *best)
		return;
	*best = r > 0 ? r : 0;
	*rb = b > 0 ? b : 0;
	*rg = g > 0 ? g : 0;
}

bool scalability_fit(const struct speed_point *point, int n, struct scalability *ret)
{
	struct sums s = {0};
	double one = 0, best = -1, b = 0, g = 0, det;
	int others = 0;

	for (int i = 0; i < n; i++)
		if (point[i].cores == 1)
			one = point[i].speed;
	if (!(one > 0))
		return false;
	for (int i = 0; i < n; i++) {
		double x = 1.0 / point[i].cores - 1, z = point[i].cores - 1, t;

		if (point[i].cores <= 1 || !(point[i].speed > 0))
			continue;
		t = one / point[i].speed - 1;
		s.xx += x * x;
		s.xz += x * z;
		s.zz += z * z;
		s.xt += x * t;
		s.zt += z * t;
		s.tt += t * t;
		others++;
	}
	if (others == 0)
		return false;
	det = s.xx * s.zz - s.xz * s.xz;
	if (others >= 2 && det > 1e-12 * s.xx * s.zz)
		consider(&s, (s.xt * s.zz - s.zt * s.xz) / det, (s.zt * s.xx - s.xt * s.xz) / det,
			&best, &b, &g);
	if (best < 0) {
		/* The edges gamma = 0, beta = 0, alpha = 0 (gamma = 1 - beta), and the corners. */
		double dx = s.xx - 2 * s.xz + s.zz;

		consider(&s, s.xt / s.xx, 0, &best, &b, &g);
		if (others >= 2) {
			consider(&s, 0, s.zt / s.zz, &best, &b, &g);
			if (dx > 0) {
				double beta = (s.xt - s.xz - s.zt + s.zz) / dx;

				consider(&s, beta, 1 - beta, &best, &b, &g);
			}
			consider(&s, 0, 1, &best, &b, &g);
		}
		consider(&s, 0, 0, &best, &b, &g);
		consider(&s, 1, 0, &best, &b, &g);
	}
	ret->beta = b;
	ret->gamma = g;
	ret->alpha = 1 - b - g > 0 ? 1 - b - g : 0;
	return true;
}

double scalability_speed(const struct scalability *s, int cores)
{
	double y = s->alpha + s->beta / cores + s->gamma * cores;

	return 1 / (y > SCALABILITY_Y_MIN ? y : SCALABILITY_Y_MIN);
}
