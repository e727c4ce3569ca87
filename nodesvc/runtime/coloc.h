/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coloc.h - libcoloc: a program of a co-located job step learns which cores it was granted, and
 * tells how fast it gets on.
 *
 *   struct coloc *c = coloc_attach();
 *   coloc_unit(c, "sweeps");
 *   for (...) { sweep(); coloc_progress(c, 1); }
 *   coloc_detach(c);
 *
 * Everywhere: works the same, doing nothing, where no colocd serves the node, where the process is
 * in no step that colocd knows, and with a NULL handle. Nothing is printed, no signal is raised, no
 * thread started, no descriptor kept. Handles survive fork(): a child reports for itself.
 * Link with -lcoloc (pkg-config coloc).
 */
#ifndef COLOC_H
#define COLOC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coloc;

/*
 * coloc_attach - asks colocd (socket: environment COLOC_SOCKET, else the built-in path) for the
 * pages of the caller's step. Takes at most 0.2 s. NULL only when out of memory. Free with
 * coloc_detach(). A daemon that is restarted is found again by the calls below by themselves, and
 * so is one that did not answer in time, or began later (first after 5 s, then ever more seldom, at
 * most 0.02 s each time); after a refusal none is looked for.
 */
struct coloc *coloc_attach(void);
/* What was reported stays. No other thread may use @c any more. */
void coloc_detach(struct coloc *c);
/* 1: a daemon gave pages; 0: all calls do nothing. */
int coloc_is_attached(const struct coloc *c);

/*
 * coloc_progress - @units of work have been done since the last call: sweeps, steps, requests;
 * any unit of which the whole run needs a fixed number. Not finite or negative: ignored.
 * Thread-safe, no lock; about 0.1 us. Once per some milliseconds is enough, more often costs
 * only its time.
 */
void coloc_progress(struct coloc *c, double units);
/* What is counted, at most 8 characters, for people; all processes of a step use the same. */
void coloc_unit(struct coloc *c, const char *unit);
/* A counter of the program's own, shown by `colocctl explain`: at most 2 names of at most 8
 * characters per process, others are ignored. Replaces the last value. */
void coloc_counter(struct coloc *c, const char *name, double value);

/*
 * coloc_granted - number of cores that the step may use now; 0 unknown. *@ret_generation (may be
 * NULL) changes whenever the grant does. Thread-safe.
 */
int coloc_granted(struct coloc *c, uint32_t *ret_generation);
/*
 * coloc_cores - the granted CPUs, OS numbers, ascending: up to @max into @cpus; returns how many
 * there are (more than @max: not all were written), 0 unknown. Hardware threads, so it may be more
 * than coloc_granted(). Thread-safe.
 */
int coloc_cores(struct coloc *c, int *cpus, int max);
/*
 * coloc_wait - sleeps until the grant is another than @generation: 1 it is, 0 @timeout_ms passed
 * (-1: waits for ever) or a signal came, -1 not attached. Thread-safe.
 */
int coloc_wait(struct coloc *c, uint32_t generation, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
