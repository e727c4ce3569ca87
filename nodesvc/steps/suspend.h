/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suspend.h - steps that another hand stopped: Slurm (scontrol suspend, preemption, its own gang
 * scheduling), or whoever sends SIGSTOP. Such a step competes for nothing: to the policy its stop
 * is an end, its going on an arrival: on_change() is told. Nothing here stops or wakes anybody, and
 * what the kernel holds of the step (cpuset, masks, priority) stays as it is meanwhile.
 *
 * Slurm sends SIGTSTP, and freezes the step's own freezer group two seconds later (22.05 to 26.05;
 * its gang scheduler and a preemption do the same). So a step is taken for stopped when its group
 * is frozen, not by our rotation, or when all its processes are stopped. Of a step with many
 * threads some, spread over all, stand for the rest; what ran since the last look is not asked.
 *
 * A step's standing (jobs.h) is kept in status_before. Loop thread only.
 */
#ifndef COLOC_STEPS_SUSPEND_H
#define COLOC_STEPS_SUSPEND_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/err.h"
#include "nodesvc/actuate/thread_list.h"

struct actuate;
struct jobs;
struct ledger;
struct loop;
struct node;
struct step;
struct suspend;

enum stop_kind { STOP_NONE, STOP_FROZEN, STOP_SIGNAL };

/* Of one step. Zeroed: it runs, and has not been looked at. */
struct stop {
	enum stop_kind kind;
	bool carried;            /* it was so when its figures were put into the store */
	int64_t noted_ns, ns;    /* CLOCK_MONOTONIC, of the last look; stopped in all until then */
	char group[256];         /* of the freezer, below the fsroot; "" not found yet */
	struct thread_list list; /* when it was found to be stopped by a signal */
	clockid_t witness;       /* a process that ran at the last look, and its clock then */
	int64_t witness_ns;
	int64_t window_ns; /* the minute in which its stops are counted */
	int n_in_window;
	int at; /* of the clocks, the witness; of the list, whom to ask next */
};

/* What it works with; all of it outlives it. */
struct suspend_uses {
	struct loop *loop;
	const struct node *node;
	struct jobs *jobs;
	struct ledger *ledger;
	struct actuate *actuate;
};

struct suspend_events {
	/* Who stopped, stop.kind says how, and who goes on; their status is as it was. */
	void (*on_change)(void *arg, struct step *const *gone, int n_gone, struct step *const *back,
		int n_back);
	void *arg;
};

/* Copies both. Without a freezer stopped processes still tell. */
int suspend_open(struct suspend **ret, const struct suspend_uses *uses,
	const struct suspend_events *events, struct errbuf *err);
/* NULL is fine. */
void suspend_close(struct suspend *u);
/* At each tick, and before something is measured. NULL: nobody looks. */
void suspend_look(struct suspend *u, int64_t now_ns);
/* The same, from the loop, as soon as it is free. */
void suspend_look_soon(struct suspend *u);
/* Adopted, with figures of @saved_unix_ns: who was stopped then was so ever since. */
void suspend_adopt(struct step *s, int64_t saved_unix_ns);

#endif
