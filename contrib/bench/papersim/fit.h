/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit.h - the engine's fit of a program's speed over cores. By itself: the engine's headers and
 * arena.h each have a struct arena. */
#ifndef COLOC_PAPERSIM_FIT_H
#define COLOC_PAPERSIM_FIT_H

#include <stdbool.h>

/* Speeds on @width cores [@n_widths] after samples of @speed on @cores [@n]; false: too few. */
bool fit_speeds(
	const int *cores, const double *speed, int n, const int *width, double *ret, int n_widths);

#endif
