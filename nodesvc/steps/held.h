/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * held.h - what each lever (levers/) holds of a step: parts of struct step. Only levers/ writes
 * them; who samples and decides reads them.
 */
#ifndef COLOC_NODESVC_STEPS_HELD_H
#define COLOC_NODESVC_STEPS_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "nodesvc/actuate/classes.h"
#include "nodesvc/actuate/freeze.h"
#include "nodesvc/actuate/thread_list.h"
#include "nodesvc/engine/burst.h"

struct utilization;

/* Its part in the rotation. */
struct turn {
	uint32_t slices; /* bit s: runs in slice s; 0: takes no part */
	struct freezer_hold *hold;
	bool waiting;                       /* wants no core: thawed in every slice */
	bool lent;                          /* waits, and goes on in its slice when it comes back */
	int64_t look_ns;                    /* at all its threads, while it goes first */
	bool refused;                       /* cannot be frozen; the step's reason says why */
	int64_t frozen_since_ns, frozen_ns; /* CLOCK_MONOTONIC; sum of ended freezes */
	bool wants;                         /* a core, since; it was in the rotation then */
	int64_t noted_ns, wanted_ns;        /* ... and until then so long in all */
	int64_t off_until_ns;               /* left alone so long: Slurm is ending it */
	/* It starts, and is thawed in every slice, until it computes or then; 0 it has started. */
	int64_t start_until_ns;
	int64_t start_look_ns; /* when it was looked at for that */
	int busy_looks;        /* so many, up to the last, found it computing */
	struct utilization *util;
	struct burst burst;
	struct thread_list list; /* at the last look */
};

/* How long it has been frozen so far, ns. */
int64_t turn_frozen_ns(const struct turn *t, int64_t now_ns);
/* The step's own clock, which stands while it is frozen: what it did is measured by it. */
int64_t turn_clock(const struct turn *t, int64_t now_ns);
/* How long it was in the rotation and wanted a core so far, ns; and of that was not frozen. Waits
 * and its start are not in it, nor what it was suspended for. */
int64_t turn_wanted_ns(const struct turn *t, int64_t now_ns);
int64_t turn_served_ns(const struct turn *t, int64_t now_ns);
void turn_done(struct turn *t);

/* Its threads' priorities. */
struct step_prio {
	struct coreset low, wanted; /* others' CPUs: in force, and as the plan has it */
	struct class_thread *thread;
	int n;
	uint64_t mark; /* of the list; see actuate.h */
	bool has_mark, failed;
};

/* Its cache ways; 0: none, else its cluster + 1. */
struct step_ways {
	int cluster, wanted;
	bool failed;
};

/* Its memory nodes. */
struct step_memory {
	struct coreset wanted; /* nodes; empty: Slurm's */
	bool waiting;          /* for the worker */
	bool held;             /* the ledger has its original */
	bool failed;           /* not again for this step */
};

#endif
