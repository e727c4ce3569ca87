/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lira.h - LIRA's arms, for the targets (lira.c) and the figures (lira_figures.c). */
#ifndef COLOC_PAPERSIM_LIRA_H
#define COLOC_PAPERSIM_LIRA_H

#include "contrib/bench/papersim/arena.h"

/* In the order of lira.c. */
enum lira_arm {
	LIRA_LINUX,
	LIRA_CALLISTO,
	LIRA_RANDOM,
	LIRA_STATIC,
	LIRA_ADAPTIVE,
	LIRA_DIO,
	LIRA_COMPLEX,
	LIRA_WORST,
	LIRA_BEST
};

/* As the paper has the arm. */
const char *lira_policy(enum lira_arm arm);
/* At the paper's settings. */
void open_lira(struct arena *a, int seed);

#endif
