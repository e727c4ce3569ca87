/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * polling.h - does a step consist of processes that wait for one another by polling? Told by what
 * they map (an MPI library), by never having less to run than processes, and by none having been
 * told to yield.
 *
 * What is not seen: an MPI linked statically, and polling without MPI. What is taken for polling
 * and is not: ranks that only compute; they lose nothing by turns. Loop thread only.
 */
#ifndef COLOC_COUNTERS_POLLING_H
#define COLOC_COUNTERS_POLLING_H

#include <stdbool.h>
#include <sys/types.h>

#include "nodesvc/counters/look.h"

/* Zeroed: nothing known. */
struct polling {
	int ranks;         /* processes that map an MPI library, at the last look; 0 none */
	bool yields;       /* one was started with its waiting told to yield or block */
	bool on;           /* they poll */
	int busy, idle;    /* samples in a row */
	int wait, gap;     /* samples until, and between looks */
	int n_tids;        /* at the last look */
	struct look *look; /* one goes on over several samples */
};

/*
 * polling_sample - a sample of a step: its @n threads, of which @runnable ran or wanted to, on
 * average (NAN unknown). True: @p->on has changed. Reads /proc of at most POLLING_LOOK_MAX threads,
 * ever more seldom where nothing changes; never of a step that has less than two to run. Of what
 * takes longer than a moment (a process may have any number of mappings) it goes on at the next
 * sample, and until then goes by what it saw before.
 */
#define POLLING_LOOK_MAX 512
bool polling_sample(
	struct polling *p, const struct fsroot *root, const pid_t *tid, int n, double runnable);
/* The next samples may change @p->on: it takes some in a row. */
bool polling_is_unsure(const struct polling *p);
/* Between two samples: goes on with a look for a moment. */
void polling_go_on(struct polling *p);

#endif
