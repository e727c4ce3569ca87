/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle.h - when a step is idle, and when it is busy: in threads that ran or wanted to, on average
 * over the time between two readings (utilization.h). The thresholds are all here.
 */
#ifndef COLOC_COUNTERS_IDLE_H
#define COLOC_COUNTERS_IDLE_H

/* Cores run on: below it, it hardly ran. The cpu time of a little work says nothing of it. */
#define IDLE_RUNS 0.05
/* Threads, or utilisation: below it, it mostly waits. Twice a few per cent is no other phase (seen:
 * 0.05 and 0.10 from one sample to the next of a loop that naps 4 ms), and what it does beside the
 * time slice of another costs that one an eighth of two cores at most. */
#define IDLE_WAITS 0.25
/* Of a core for each process, or each core it has: below it, they do not poll for one another, and
 * threads that wait for one another have ended a region, all but the last of them. */
#define IDLE_PART 0.5
/* Of a core: from it on, it computes. Threads that only wait for one another leave it idle for
 * moments. */
#define BUSY_COMPUTES 0.9
/* Of a core for each process: from it on, they poll. What is left is the time in which a blocked
 * one would be seen. */
#define BUSY_POLLS 0.95

#endif
