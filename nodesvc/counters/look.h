/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * look.h - what processes of a step show in files whose size they choose (a process may have any
 * number of mappings): looked at aside, over several samples where it takes longer than a moment.
 * Loop thread only.
 */
#ifndef COLOC_COUNTERS_LOOK_H
#define COLOC_COUNTERS_LOOK_H

#include <stdint.h>
#include <sys/types.h>

#include "common/fsroot.h"

struct look {
	struct aside *work;
	const struct fsroot *root;
	int processes;  /* so many have shown what was looked for, and */
	uint32_t found; /* that: as whoever looks says */
	int n, at;
	pid_t tid[];
};

/*
 * look_begin - @fn is to go through the look's threads, from .at to .n, with aside_breathe() in
 * between: the first @most of the step's @n, from the @first on. NULL: out of memory.
 */
struct look *look_begin(const struct fsroot *root, const pid_t *tid, int n, int first, int most,
	void (*fn)(void *look));
/* Goes on for a moment. True: it has ended; false as well where there is none (NULL). */
bool look_go_on(struct look *l);
/* Threads that it has still to come to, of so many; 0 there is none. */
int look_left(const struct look *l, int *ret_of);
void look_done(struct look **l);

#endif
