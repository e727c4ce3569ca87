/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coloc_tasks.h - libcoloc_tasks: a program hands in its work as tasks that wait for one another;
 * threads, one on each core that it may use now, run them. Where a task runs, and on how many
 * cores, the Dynamic Asymmetry Scheduler says: it learns from each task how fast its cores are, and
 * keeps critical tasks away from those that something else slows down (Chen et al., ICPP Workshops
 * 2020).
 *
 *   struct coloc_tasks *p;
 *   struct coloc_task *a, *b;
 *   char why[256];
 *
 *   if (coloc_tasks_open(&p, NULL, why, sizeof(why)) < 0)
 *           errx(1, "%s", why);
 *   a = coloc_task_new(p, "produce", COLOC_TASK_CRITICAL, produce, &x);
 *   b = coloc_task_new(p, "consume", 0, consume, &x);
 *   coloc_task_after(b, a);
 *   coloc_task_submit(a);
 *   coloc_task_submit(b);
 *   coloc_tasks_wait(p);
 *   coloc_tasks_close(p);
 *
 * The cores are those that coloc.h's coloc_cores() grants, followed as they change, or else those
 * of the caller's affinity mask. Nothing is printed and no signal raised; the threads block all
 * signals and sleep when there is nothing to run. Not for use in a child after fork(). Link with
 * -lcoloc_tasks (pkg-config coloc_tasks).
 */
#ifndef COLOC_TASKS_H
#define COLOC_TASKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coloc_tasks; /* the threads and their queues */
struct coloc_task;  /* valid until the coloc_tasks_wait() after its end, or coloc_tasks_close() */

/*
 * One core's part of a task: called once on each of the @width cores of its place, from 0 to
 * @width - 1 as @member, on a thread of the library. The calls begin and end at any time, one of
 * them perhaps when all others have ended: parts may be divided by @member, or taken one by one
 * from an atomic counter until none is left, which serves cores of unequal speed better. A part
 * must not wait for another one of its task. It may make, order and submit tasks.
 */
typedef void coloc_task_fn(void *arg, int member, int width);

/*
 * coloc_tasks_open - starts the threads.
 * @spec: "POLICY[,KEY=VALUE...]", see libcoloc_tasks(3); NULL: the environment's COLOC_TASKS, else
 *        "das-dam-c"
 * @why:  where not NULL, the reason of an error, up to @why_size bytes with the last 0
 * Errors: -EINVAL, -ENOENT @spec is not understood; -ENODATA das-fa, das-fam-c without fast=;
 * -ENOMEM; -errno no thread could be made. *@ret untouched then.
 */
int coloc_tasks_open(struct coloc_tasks **ret, const char *spec, char *why, size_t why_size);
/* Waits for what was submitted, ends the threads, frees all tasks. NULL: nothing. */
void coloc_tasks_close(struct coloc_tasks *p);

/* Steered by the policy, taken before others, and not stolen. */
#define COLOC_TASK_CRITICAL 1u

/*
 * coloc_task_new - a task that runs once it was submitted and all it is after have ended. Tasks of
 * one
 * @type, a text that outlives @p, are like work: a place is judged by their times. At most 128
 * types are kept, told apart by their first 63 characters. NULL: out of memory.
 */
struct coloc_task *coloc_task_new(
	struct coloc_tasks *p, const char *type, unsigned int flags, coloc_task_fn *fn, void *arg);
/* @t, not submitted yet, waits for @before; nothing where that has ended. -ENOMEM: it does not
 * wait. */
int coloc_task_after(struct coloc_task *t, struct coloc_task *before);
/* Once for each task; it may run from now on. */
void coloc_task_submit(struct coloc_task *t);
/* Until every submitted task has ended. -EDEADLK: called from a task, has not waited. */
int coloc_tasks_wait(struct coloc_tasks *p);

/* First CPU (OS number) of each core in use now, ascending by hwloc's number of the core: up to
 * @max into @cpus; returns how many there are. */
int coloc_tasks_cpus(struct coloc_tasks *p, int *cpus, int max);

enum coloc_tasks_count {
	COLOC_TASKS_ENDED,
	COLOC_TASKS_ENDED_CRITICAL,
	COLOC_TASKS_STOLEN, /* for all cores only */
};
/* How many tasks until now, on places that hold the core of @cpu; -1: all. */
uint64_t coloc_tasks_count(struct coloc_tasks *p, enum coloc_tasks_count what, int cpu);

#ifdef __cplusplus
}
#endif

#endif
