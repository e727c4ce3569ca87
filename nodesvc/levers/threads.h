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

#include "nodesvc/engine/plan.h"

struct levers;
struct step;

/* What @p says, whose job i is @step[i]. Takes effect at update. */
bool threads_plan(struct levers *lv, const struct plan *p, struct step *const *step);
/* Steps join, leave, have new threads. Cheap when nothing changed. */
void threads_update(struct levers *lv);
/* All its threads as they were; who calls places or restores the step itself, or it has ended. */
int threads_end(struct levers *lv, struct step *s, bool ended);
void threads_close(struct levers *lv);

/* What the timer calls. For tests, which bring their own time. */
void threads_look(struct levers *lv, int64_t now_ns);

#endif
