/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sensor.h - what hardware counters would show of a simulated job: true counts with noise, with
 * counters that were not scheduled, and 48 bits wide. Policies see nothing else of the machine.
 */
#ifndef COLOC_SIM_SENSOR_H
#define COLOC_SIM_SENSOR_H

#include "nodesvc/counters/counters.h"
#include "nodesvc/sim/rng.h"
#include "nodesvc/sim/run.h"

struct sensor_params {
	double noise;             /* relative deviation of each increment */
	double utilization_noise; /* absolute deviation */
	double dropout;           /* odds that a counter of a sample is missing */
	double late;              /* odds that a whole sample is missing */
	double running; /* part of the time each counter is on (they take turns); 0: always */
};

struct sensor {
	struct rng rng;
	double count[COUNTER_COUNT]; /* as counted so far, noise included */
	struct run_counts seen;      /* the truth at the last reading */
	double seen_s;
	struct sample last;
	bool has_last;
	double executed; /* part of its own cores' time at the last reading; NAN unknown */
};

void sensor_defaults(struct sensor_params *ret);
void sensor_init(struct sensor *s, uint64_t seed, uint64_t stream);
/*
 * sensor_read - updates @signal from what was counted since the last reading; what is missing
 * keeps its old value, as a node does. False: no sample this time.
 */
bool sensor_read(struct sensor *s, const struct sensor_params *p, const struct run_job *j,
	double now_s, struct signal signal[SIGNAL_COUNT]);
/* A new process: counts start at 0. */
void sensor_restart(struct sensor *s, const struct run_job *j, double now_s);

#endif
