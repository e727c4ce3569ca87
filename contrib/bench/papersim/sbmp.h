/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sbmp.h - SBMP's arms and workloads, for the targets (sbmp.c) and the figures (sbmp_figures.c). */
#ifndef COLOC_PAPERSIM_SBMP_H
#define COLOC_PAPERSIM_SBMP_H

#include "contrib/bench/papersim/arena.h"

enum sbmp_arm { SBMP_LINUX, SBMP_BASE, SBMP_PP, SBMP_CD, SBMP_OURS, SBMP_FAIR, SBMP_BEST, SBMP_N };

/* As the paper has the arm; its name on a page. */
const char *sbmp_policy(enum sbmp_arm arm);
const char *sbmp_name(enum sbmp_arm arm);

/* Workload @i of tables 4, 5 or 6 (number it as the paper: 1 to 38) by its programs' first two
 * letters, in alphabetical order. */
#define SBMP_WORKLOADS 38
const char *sbmp_workload(int i);
/* The same name of combination @k. */
void sbmp_combo_name(const struct arena *a, int k, char ret[9]);

#endif
