/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snake.h - jobs sorted by one figure; the smallest and the biggest together to the first domain,
 * the second pair to the next, and so on. Shared by dio and llc-complex.
 */
#ifndef COLOC_ENGINE_SNAKE_H
#define COLOC_ENGINE_SNAKE_H

#include "nodesvc/engine/shares.h"

/*
 * snake_group - @value by competing job; @sorted, @sum, @load: scratch of [n], [n_domains] each.
 * @strict: the published rule to the letter: pairs alternate though one domain may get two jobs
 * more; else pairs that do not go round are split, the larger to the domain with the smaller sum.
 */
void snake_group(const struct shares *c, const double *value, bool strict, int *sorted, double *sum,
	int *load, int *ret_domain_of);

#endif
