/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app.h - the source "app": progress that the processes of a step publish through libcoloc, read
 * from the step's report page (runtime/page.h). Any of them may write anything there at any time:
 * figures that are not finite, go backwards or lie in the future are passed over. What it says of
 * a step's speed is the step's own word.
 *
 * Not thread-safe on this side. Nothing blocks, nothing is allocated.
 */
#ifndef COLOC_COUNTERS_APP_H
#define COLOC_COUNTERS_APP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nodesvc/engine/view.h"
#include "nodesvc/runtime/page.h"

struct app_slot {
	int32_t pid;
	uint32_t updates;
	double progress;
	int64_t updated_ns;
	int64_t gap_ns; /* between the last two reports seen */
	double rate;    /* units/s over that gap; NAN not yet */
	int absent;     /* looks at which its process was not in the step */
	bool paused;    /* since its last report it could not go on all the time */
};

struct app {
	struct app_slot slot[COLOC_SLOTS];
	uint64_t unit_word;
	char unit[COLOC_NAME_LEN + 1]; /* of the first report that named one; "" none did */
	double total;                  /* units so far, of all processes; never falls */
	uint64_t reports;              /* so far; as far as they were seen */
	int64_t updated_ns;            /* newest report; 0 none */
	int n_other_unit;              /* slots left out: another unit than the step's */
};

/*
 * app_read - takes up what was reported. *ret: units/s, sum over the processes, provenance app;
 * none until a process has reported twice. A process that is silent for more than twice its last
 * gap (and 1 s) makes no progress: 0.
 */
void app_read(struct app *a, const struct coloc_report *r, int64_t now_ns, struct signal *ret);

/* What its figures are: the program's own, or calls that libcoloc_omp or libcoloc_mpi counted in
 * it. */
enum provenance app_basis(const struct app *a);

/* Its processes were stopped: what lies between two reports before and after is no rate. */
void app_pause(struct app *a);

/* Own counter @i (0, 1) of the first process that has one: its name, *ret its value, the sum over
 * processes with that name; "" none. */
void app_counter(const struct coloc_report *r, int i, char name[COLOC_NAME_LEN + 1], double *ret);

/*
 * app_release - when more than half of the slots are taken, gives back those of processes that
 * were not among @tid (ascending) at two looks. Their units stay in the total.
 */
void app_release(struct app *a, struct coloc_report *r, const pid_t *tid, int n_tids);

#endif
