/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phase_watch.h - engine/phase.h over all jobs of a run: what the driver tells as EVENT_PHASE.
 * Behind a handle, since "phase" is a part of a program everywhere else in the simulator.
 */
#ifndef COLOC_SIM_PHASE_WATCH_H
#define COLOC_SIM_PHASE_WATCH_H

#include <stdbool.h>

struct phase_watch;

/* @paper: by the epoch before (SBMP), else by the first samples at the width. NULL: no memory. */
struct phase_watch *phase_watch_create(int n_jobs, bool paper);
void phase_watch_free(struct phase_watch *w);
/* Another process: no reference yet. */
void phase_watch_forget(struct phase_watch *w, int job);
/* A reading of @job's utilisation on @cores cores that ended at @now_s. True: it changed. */
bool phase_watch_sample(struct phase_watch *w, int job, double now_s, int cores, double busy);

#endif
