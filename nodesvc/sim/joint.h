/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * joint.h - the reference "joint-oracle": at every change of phase the best that is found over
 * cores, placement, turns, cache clusters and loans together, by the machine's own equations.
 *
 * A bounded search, and so a lower bound of what could be had:
 * - up to JOINT_LOOKS ways to give every job one domain and a whole number of its cores are all
 *   looked at (four jobs on 2 x 8 cores: 462); beyond, and for the rest of this list, none but the
 *   equal ones. No more jobs than domains: every way to deal whole domains in a row.
 * - from the best JOINT_BEST of them: loans inside a domain and to all; up to six jobs, every pair
 *   of clusters, a quarter, half or three quarters of the ways each.
 * - from the best of those: single cores from one job to another, as long as that gains.
 * - and turns: the whole machine to each in equal slices.
 *
 * Nobody is slowed below 0.85 of its speed alone on its share, or, where the best equal placement
 * has it below that, below what it has there. What moves pays as anybody does; where the best
 * placement without a move ends better (run_oracle()), that counts.
 */
#ifndef COLOC_SIM_JOINT_H
#define COLOC_SIM_JOINT_H

#include "nodesvc/sim/drive.h"

#define JOINT_JOBS    16
#define JOINT_DOMAINS 16
#define JOINT_LOOKS   4000
#define JOINT_BEST    8

/* Errors: -E2BIG more jobs or domains than that; else drive_run()'s. */
int joint_run(const struct drive *d, struct drive_result *ret, struct errbuf *err);

#endif
