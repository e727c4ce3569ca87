/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coupling.h - do a step's threads wait for one another, often? Told by how long they run at a time
 * (under a millisecond; who only computes had a CPU he shares for 4 ms, Linux 6.18 on two cores),
 * by always having something to run, which what answers requests has not, and by mapping an OpenMP
 * or MPI library.
 *
 * What is not seen: runtimes linked statically, and threads of none. Loop thread only.
 */
#ifndef COLOC_COUNTERS_COUPLING_H
#define COLOC_COUNTERS_COUPLING_H

#include <stdbool.h>
#include <sys/types.h>

#include "nodesvc/counters/look.h"

/* Zeroed: nothing known. */
struct coupling {
	bool on;           /* they do */
	bool runtime;      /* one of its processes maps such a library */
	int yes, no;       /* samples in a row */
	int wait, gap;     /* samples until, and between looks at what they map */
	struct look *look; /* one goes on over several samples */
};

/*
 * coupling_sample - a sample of a step of @n threads on @cores cores: @stretch_s seconds on a CPU
 * at a time, @runnable threads that ran or wanted to, on average (NAN: unknown, both). True: @c->on
 * has changed. @turning: it takes turns, where each thread may have a core to itself: what it does
 * then tells nothing against. Reads /proc of at most COUPLING_LOOK_MAX threads, ever more seldom.
 */
#define COUPLING_LOOK_MAX 16
bool coupling_sample(struct coupling *c, const struct fsroot *root, const pid_t *tid, int n,
	int cores, double stretch_s, double runnable, bool turning);
/* Between two samples: goes on with a look for a moment. */
void coupling_go_on(struct coupling *c);

#endif
