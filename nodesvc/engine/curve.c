/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

#include <math.h>

void curve_set(struct curve *c, int cores, double speed)
{
	int i = 0;

	while (i < c->n && c->point[i].cores < cores)
		i++;
	if (i < c->n && c->point[i].cores == cores) {
		c->point[i].speed = speed;
		return;
	}
	if (c->n == CURVE_POINTS)
		return;
	for (int j = c->n++; j > i; j--)
		c->point[j] = c->point[j - 1];
	c->point[i] = (struct speed_point){.cores = cores, .speed = speed};
}

static double line(const struct speed_point *a, const struct speed_point *b, int cores)
{
	return a->speed + (b->speed - a->speed) * (cores - a->cores) / (b->cores - a->cores);
}

double curve_at(const struct curve *c, int cores)
{
	int i = 0;

	if (c->n == 0)
		return NAN;
	while (i < c->n && c->point[i].cores < cores)
		i++;
	if (i < c->n && c->point[i].cores == cores)
		return c->point[i].speed;
	if (i == 0)
		return c->point[0].speed * cores / c->point[0].cores;
	if (i < c->n)
		return line(&c->point[i - 1], &c->point[i], cores);
	/* Beyond the last point: its slope; from a single point nothing is promised. */
	if (c->n == 1)
		return c->point[0].speed;
	return fmax(line(&c->point[c->n - 2], &c->point[c->n - 1], cores), 0);
}

bool curve_has(const struct curve *c, int cores)
{
	for (int i = 0; i < c->n; i++)
		if (c->point[i].cores == cores)
			return true;
	return false;
}

bool curve_covers(const struct curve *c, int cores)
{
	return c->n > 0 && cores >= c->point[0].cores && cores <= c->point[c->n - 1].cores;
}
