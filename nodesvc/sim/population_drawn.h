/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * population_drawn.h - populations of which only ranges or classes are known: each combination is
 * drawn from its seed and number. For population.c.
 *
 * Ranges were written down before any policy was run on them and are not fitted to what came out.
 */
#ifndef COLOC_SIM_POPULATION_DRAWN_H
#define COLOC_SIM_POPULATION_DRAWN_H

#include <stdint.h>

#include "nodesvc/sim/program.h"

/* Fills @ret[n_jobs] with combination @k of @seed, in the order in which the jobs start. */
void population_draw_latent(uint64_t seed, int k, int n_jobs, struct program *ret);
/*
 * Workloads 1 (even @k) and 2 (odd) of "Improving co-running program's performance on CMP" (Tian
 * et al.), table 2: SPEC CPU2006 programs, one thread each. Published, section 3: which of them
 * have large LLC references and miss rates (429; 450 and 482), and that the others have little.
 * Everything else is drawn.
 */
void population_draw_spec(uint64_t seed, int k, int n_jobs, struct program *ret);
/*
 * One program of each suite that MAPPER (PPoPP 2019, section 3) names: PARSEC, NAS, OmpSCR,
 * GraphChi ("chosen to maximize the diversity"); further ones go round again. The PARSEC ones are
 * population_parsec's; of the others the paper gives no figure: they are drawn.
 */
void population_draw_mapper(uint64_t seed, int k, int n_jobs, struct program *ret);

#endif
