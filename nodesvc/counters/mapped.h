/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapped.h - which parallel runtimes the processes of a step have loaded, by what they map: what an
 * executable links is not all that it runs (interpreters, launchers, modules). Loop thread only.
 */
#ifndef COLOC_COUNTERS_MAPPED_H
#define COLOC_COUNTERS_MAPPED_H

#include <stdint.h>
#include <sys/types.h>

#include "nodesvc/counters/look.h"

/* Zeroed: nobody has looked. */
struct mapped {
	uint32_t runtimes;       /* common/runtimes.h: of all looks */
	int64_t next_ns, gap_ns; /* the next look, and from the last one to it */
	int at;                  /* of the threads: the next look begins there */
	struct look *look;       /* one goes on over several samples */
};

/* Of one look: processes, and threads among which it looks for them. */
#define MAPPED_LOOK_MAX    16
#define MAPPED_THREADS_MAX 1024

/*
 * mapped_sample - a reading of a step of @n threads, at @now_ns. Half a second after the first one
 * looks at what its processes map, then ever more seldom, every five minutes in the end; of more
 * than MAPPED_LOOK_MAX processes at others each time. A look that takes longer than a moment (a
 * process may have any number of mappings) goes on at the next sample, or by mapped_go_on().
 */
void mapped_sample(
	struct mapped *m, const struct fsroot *root, const pid_t *tid, int n, int64_t now_ns);
void mapped_go_on(struct mapped *m);

/*
 * mapped_code - a number of process @pid's executable and of how much code it has mapped in all, at
 * the price of one short file. While it stays, nothing was loaded. 0: unknown.
 */
uint64_t mapped_code(const struct fsroot *root, pid_t pid);

#endif
