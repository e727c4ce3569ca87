/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * learned.h - which runtimes a program was seen to load (counters/mapped.h), how many cores it had
 * where it began on few, and what that took with few threads and with all, for its next launch. A
 * program is a command of one user, and for what starts others what it is told to start
 * (common/starters.h). Numbers only: no path and no argument is kept. The store has them for the
 * daemon that is started next.
 */
#ifndef COLOC_LAUNCH_LEARNED_H
#define COLOC_LAUNCH_LEARNED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/msg.h"

/* One whose launch was longer ago gives way to a new one. */
#define LEARNED_MAX 256

struct record;
struct learned;
struct learned *learned_new(void); /* NULL: out of memory; owner: learned_free() */
void learned_free(struct learned *l);
/* The program that @step_start registers; never 0. */
uint64_t learned_key(const struct msg *step_start);
/* That of @uid was seen to load @runtimes, beside those seen before. NULL is fine. */
void learned_note(struct learned *l, uid_t uid, uint64_t key, uint32_t runtimes);
/* All that it was seen to load; 0 nothing, or it is not known. */
uint32_t learned_of(struct learned *l, uid_t uid, uint64_t key);
/* A run that began on fewer cores than its envelope has. */
struct learned_run {
	double cores;  /* in the mean of its work */
	double took_s; /* core seconds that were its own by right, or that it ran, if those are
			  more; 0 not known */
	bool all;      /* it began with Slurm's count of threads all the same */
};
/* Its cores count as much as those of all runs before it. Nothing where they are not above 0. NULL
 * is fine. */
void learned_note_run(struct learned *l, uid_t uid, uint64_t key, const struct learned_run *run);
/* One that began with all threads, as learned_takes_all() had it, did not complete: that tells
 * nothing of them, but three in a row are enough. NULL is fine. */
void learned_note_lost(struct learned *l, uid_t uid, uint64_t key);
/* What those runs had; 0 there was none. */
double learned_cores_of(struct learned *l, uid_t uid, uint64_t key);
/*
 * learned_takes_all - is a run to begin with the threads of @all cores where it would with those of
 * @width, @granted being its own? Where runs before it had so many cores later that this is to save
 * them a tenth of their time it is found out; then as those did that took less, with some doubt
 * for each way that has had few.
 */
bool learned_takes_all(struct learned *l, uid_t uid, uint64_t key, int granted, int width, int all);
/* What earlier daemons were told; rows that cannot be are passed over. NULL is fine. */
int learned_load(struct learned *l, struct record *r, struct errbuf *err);
/* What was told since, in one transaction; what could not be written is tried again when more has
 * been told. Nothing to do is cheap. NULL is fine. */
int learned_save(struct learned *l, struct record *r, struct errbuf *err);

#endif
