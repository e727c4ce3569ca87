/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * joint.h - the reference "joint-oracle": at every change of phase the best over cores, placement,
 * turns, cache clusters and loans together, by the machine's own equations.
 *
 * Exact, up to JOINT_EXACT jobs on at most JOINT_CORES cores, no fewer than jobs, where pages
 * follow, each domain is in one cache, no phase is bursty and there are no more than 200000 rows
 * (four jobs: up to 38 cores). It is then the best of all these
 * ways:
 * - rows: the jobs in any order along the cores, in the order of the domains, each with one core at
 *   least and all cores dealt. With each row each loan (idle time of jobs that use less than 0.70
 *   of theirs to the others, or of all to all; in the domains a job runs in or everywhere; equal
 *   parts) and each pair of clusters (a quarter, half or three quarters of the ways for one set of
 *   jobs, the rest for the others).
 * - on at most two domains of at most 16 cores: any number of cores of any domain to any job, all
 *   dealt, without loans and clusters.
 * - turns: any division of the jobs into groups, which have equal slices; in a slice, rows of its
 *   group over all cores.
 * Which cores of a domain a job has makes no difference to the machine, nor which name equal
 * domains have. What cannot win is not looked at: beside others nobody is faster than alone.
 *
 * Beyond that a bounded search, and so a lower bound of what could be had (the exact one begins
 * with it, and so may find more than its set has):
 * - up to JOINT_LOOKS ways to give every job one domain and a whole number of its cores are all
 *   looked at; beyond, and for the rest of this list, none but the equal ones. No more jobs than
 *   domains: every way to deal whole domains in a row.
 * - from the best JOINT_BEST of them: these loans and, up to six jobs, these clusters.
 * - from the best of those: single cores from one job to another, as long as that gains.
 * - turns: the whole machine to each in equal slices.
 * - up to JOINT_SEARCH ways more: from each of the best JOINT_STARTS dealings of the first list,
 * with each loan, the first that gains of: cores of a domain from one job to another, all, half and
 * so on; as many for cores of another domain; then loans and clusters.
 *
 * Nobody is slowed below 0.85 of its speed alone on its share, or, where the best equal placement
 * has it below that, below what it has there. Each set of phases is searched once, for itself. What
 * moves pays as anybody does; where the best placement without a move ends better (run_oracle()),
 * that counts.
 */
#ifndef COLOC_SIM_JOINT_H
#define COLOC_SIM_JOINT_H

#include "nodesvc/sim/drive.h"

#define JOINT_JOBS    16
#define JOINT_DOMAINS 16
#define JOINT_LOOKS   4000
#define JOINT_BEST    8
#define JOINT_STARTS  3
#define JOINT_SEARCH  20000
#define JOINT_EXACT   4
#define JOINT_CORES   128

/* Errors: -E2BIG more jobs or domains than that; else drive_run()'s. */
int joint_run(const struct drive *d, struct drive_result *ret, struct errbuf *err);

#endif
