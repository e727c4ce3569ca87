/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * workload.h - a workload file of `colocsim run`: machine, programs, jobs, policies. The schema is
 * in colocsim(1); it is version 1.
 */
#ifndef COLOC_SIM_WORKLOAD_H
#define COLOC_SIM_WORKLOAD_H

#include "nodesvc/sim/drive.h"

#define WORKLOAD_PROGRAMS_MAX 64
#define WORKLOAD_POLICIES_MAX 32
#define WORKLOAD_TEXT_MAX     256

struct workload {
	char topology[WORKLOAD_TEXT_MAX];
	char domain[16];
	struct machine_params machine;
	int n_policies;
	char policy[WORKLOAD_POLICIES_MAX][WORKLOAD_TEXT_MAX];
	uint64_t seed;
	double seconds, sample_ms, decide_ms; /* decide_ms 0: after every sample */
	enum phase_events phases;
	int runs;
	enum objective objective;
	int n_programs;
	struct program program[WORKLOAD_PROGRAMS_MAX];
	int n_jobs;
	struct run_spec job[DRIVE_JOBS_MAX];
};

/*
 * workload_read - reads and checks @path.
 * Errors: -EINVAL, the text starts with "FILE:LINE: "; -errno the file cannot be read; -ENOMEM.
 * Free with free().
 */
int workload_read(struct workload **ret, const char *path, struct errbuf *err);

#endif
