/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cover.h - which threads of a step a counter must still be opened for. A counter with "inherit"
 * also counts the threads and processes that its thread starts later: opened for them again, they
 * would count twice.
 */
#ifndef COLOC_COUNTERS_COVER_H
#define COLOC_COUNTERS_COVER_H

#include <stdbool.h>
#include <sys/types.h>

struct cover {
	bool inherit;
	bool first; /* nothing taken up yet: all threads present are new */
	pid_t *tid; /* looked at, ascending */
	int n_tids;
	pid_t *process; /* with at least one thread counted, ascending */
	int n_processes;
};

void cover_init(struct cover *c, bool inherit);
void cover_done(struct cover *c);
/*
 * Is @tid to be opened now? Remembers it. Descent is read from /proc; a process whose parent is 1
 * lost its parent, which was one of the step's. Returns 1, 0, or -ENOMEM.
 */
int cover_take(struct cover *c, pid_t tid);
/* After the threads that were there at open. */
void cover_seal(struct cover *c);
bool cover_is_alive(pid_t tid);

#endif
