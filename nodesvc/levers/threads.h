/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads.h - a plan's priorities of threads on the node: on each CPU of a step one of its threads
 * has the class it came with, all others have SCHED_IDLE and may run there and on the CPUs of the
 * others (engine/priority.h says which, and when that changes).
 *
 * A timer looks at the threads that own a CPU once in the plan's hysteresis, and only while a plan
 * asks for it. What a look can see: cpu time that has grown, and the state in /proc (running or
 * waiting for a core; asleep). Masks stay as they are: the kernel spreads the high ones over the
 * CPUs, and a program's own pins decide which thread owns which CPU.
 *
 * Loop thread only.
 */
#ifndef COLOC_NODESVC_THREADS_H
#define COLOC_NODESVC_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "nodesvc/actuate/classes.h"
#include "nodesvc/engine/plan.h"

struct daemon;
struct step;

/* A step's part. */
struct step_prio {
	struct coreset low, wanted; /* others' CPUs: in force, and as the plan has it */
	struct class_thread *thread;
	int n;
	uint64_t mark; /* of the list; see actuate.h */
	bool has_mark, failed;
};

/* What @p says, whose job i is @step[i]. Takes effect at update. */
void threads_plan(struct daemon *d, const struct plan *p, struct step *const *step);
/* Steps join, leave, have new threads. Cheap when nothing changed. */
void threads_update(struct daemon *d);
/* All its threads as they were; who calls places or restores the step itself, or it has ended. */
void threads_end(struct daemon *d, struct step *s);
void threads_close(struct daemon *d);

/* What the timer calls. For tests, which bring their own time. */
void threads_look(struct daemon *d, int64_t now_ns);

#endif
