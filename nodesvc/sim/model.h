/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model.h - the model file of a real program: what was counted and timed, and the phase the
 * simulated machine makes of it. contrib/bench/characterise writes such files; colocsim reads them
 * as the population `measured`. The format, version 1, is in colocsim(1).
 *
 * Every value of the phase says where it is from. Nothing of it is a figure of a policy's run.
 */
#ifndef COLOC_SIM_MODEL_H
#define COLOC_SIM_MODEL_H

#include <stdio.h>

#include "nodesvc/sim/program.h"

#define MODEL_POINTS_MAX 16
#define MODEL_TEXT_MAX   512
#define MODELS_MAX       64

enum model_from {
	MODEL_ASSUMED,      /* nobody measured it */
	MODEL_CACHEGRIND,   /* from counts of a simulated cache */
	MODEL_MEASURED,     /* from native runs */
	MODEL_EXTRAPOLATED, /* fitted to native runs on fewer cores than it is used for */
};

struct model_value {
	double value;
	enum model_from from;
};

/* One width: medians over the runs, without the baseline's start-up. */
struct model_run {
	int threads;
	double seconds, cpu_s;
	double utilization;    /* of the threads' time, running or waiting for a core: 0..1 */
	double foreign, steal; /* ratios of the machine's time, of the run that counts */
	bool disturbed;        /* foreign + steal never came below 2 % */
};

struct model {
	char name[PROGRAM_NAME_MAX];
	char program[MODEL_TEXT_MAX]; /* what it is, for people */
	/* Shell commands; {n} stands for the width. baseline: the same program without the part
	 * that the model is of, subtracted from counts and times; "" none. count: the command that
	 * is counted, where it is another one than command at width 1; "" it is not. */
	char command[MODEL_TEXT_MAX], baseline[MODEL_TEXT_MAX];
	char count[MODEL_TEXT_MAX], count_baseline[MODEL_TEXT_MAX];
	double count_scale; /* work of command at width 1 over that of what is counted */
	bool per_thread;    /* each thread brings work of its own; else the work is cut up */
	struct {
		char tool[64];
		double private_bytes; /* of the cache in front of the last level */
		double instructions, loads, refs;
		int n;
		struct {
			double llc_bytes, misses;
		} point[MODEL_POINTS_MAX]; /* ascending llc_bytes */
	} counts;
	struct {
		char machine[128];
		double clock_hz;                          /* while it ran */
		int runs;                                 /* of each width */
		int n;                                    /* 0: not measured yet */
		struct model_run point[MODEL_POINTS_MAX]; /* ascending threads, from 1 */
	} native;
	/* Root mean square of what the fits leave: of the miss ratio; of the speedup, relative. */
	double miss_residual, speed_residual;
	struct model_phase {
		struct model_value seconds, alpha, gamma, cpi, loads, refs, miss_lo, miss_hi,
			working_set_bytes, mlp, sync, comm, wait;
	} phase;
};

/*
 * model_read - reads and checks @path, or @text where it is not NULL (@path: for messages).
 * Errors: -EINVAL, the text starts with "FILE:LINE: "; -errno the file cannot be read. @ret
 * untouched.
 */
int model_read(struct model *ret, const char *path, const char *text, struct errbuf *err);
/* Writes @m as model_read() reads it. Returns 0 or -EIO. */
int model_print(const struct model *m, FILE *f);
/* The program of the simulated machine: one phase. */
void model_program(const struct model *m, struct program *ret);

/*
 * model_fit_misses - m(c) = lo + (hi - lo)/(1 + (c/ws)^2) by least squares over the points' miss
 * ratios, 0 <= lo <= hi <= 1, ws on a grid of 2 % from 64 kB to 1 GB; of working sets that fit as
 * well (within 1e-4 of miss ratio) the smallest. Sets loads, refs, miss_lo, miss_hi,
 * working_set_bytes and miss_residual. Errors: -ENODATA nothing counted.
 */
int model_fit_misses(struct model *m, struct errbuf *err);
/*
 * model_fit_speed - alpha and gamma from the native widths (SBMP, PACT 2012, eq. 2; gamma 0 with
 * fewer than three widths), speed_residual, wait from the utilisation at the widest, and cpi from
 * cpu time, clock and counted instructions at width 1. Wall times of a machine that others used
 * say nothing: with a disturbed width alpha, gamma and wait stay as they were assumed. Errors:
 * -ENODATA no native runs, or none of width 1.
 */
int model_fit_speed(struct model *m, struct errbuf *err);

/*
 * The models that are built in, or all *.yaml of @dir, in the order of their names.
 * Errors: as model_read(); -ENOENT @dir has none; -E2BIG more than MODELS_MAX.
 */
int models_load(struct program ret[MODELS_MAX], int *ret_n, const char *dir, struct errbuf *err);

#endif
