/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machinetime.h - what the whole machine did, from /proc/stat, to tell whether a measurement was
 * disturbed. In steps of 10 ms: for intervals well above that.
 */
#ifndef COLOC_BENCH_MACHINETIME_H
#define COLOC_BENCH_MACHINETIME_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOREIGN_MAX     0.02 /* of the cores looked at; above, a measurement counts as disturbed */
#define DISTURBED_TRIES 5

/* Busy and stolen seconds of all cores since boot; 0 where /proc/stat cannot be read. */
static inline void machine_time(double *ret_busy, double *ret_steal)
{
	unsigned long long v[8] = {0};
	FILE *f = fopen("/proc/stat", "re");
	double hz = (double)sysconf(_SC_CLK_TCK);

	if (f) {
		if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
			    &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
			memset(v, 0, sizeof(v));
		fclose(f);
	}
	*ret_busy = (double)(v[0] + v[1] + v[2] + v[5] + v[6]) / hz;
	*ret_steal = (double)v[7] / hz;
}

#endif
