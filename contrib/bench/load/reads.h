/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reads.h - what one look at a job step costs on this machine, by the ways there are to look. */
#ifndef COLOC_BENCH_LOAD_READS_H
#define COLOC_BENCH_LOAD_READS_H

#include "contrib/bench/load/node.h"

/* Microseconds of one read, cpu time of this thread; NAN where the kernel has no such file. */
struct reads {
	double schedstat_us; /* /proc/PID/schedstat: open, read, close; per thread */
	double kept_us;      /* the same file kept open: one pread; per thread */
	double clock_us;     /* a process's cpu clock; per process */
	double tasks_us;     /* the step's list of threads (cpuset); per step */
	double task_dir_us;  /* /proc/PID/task: open, list, close; per process */
	double stat_us;      /* /proc/PID/task/TID/stat; per thread */
	double cpuacct_us;   /* cpuacct.usage of a cgroup v1 directory; per step */
	double cpu_stat_us;  /* cpu.stat of a cgroup v2 directory; per step */
};

void reads_measure(const struct node *n, struct reads *ret);

#endif
