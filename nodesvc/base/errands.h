/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * errands.h - what is asked of Slurm's commands, which may hang: each in a process of its own with
 * a deadline, one at a time, from a bounded queue. What is asked again waits twice as long each
 * time. Never from the daemon's own thread.
 */
#ifndef COLOC_BASE_ERRANDS_H
#define COLOC_BASE_ERRANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct errands;
struct loop;

struct errand {
	uint32_t job_id;
	char node[64];            /* "" of any */
	int64_t first_ns, due_ns; /* CLOCK_MONOTONIC */
	int wait_s, failures;
};

#define ERRANDS_NO_PROCESS (-1)

struct errands_ops {
	int max, deadline_s, wait_max_s;
	int spread_ms; /* what waits, waits so much longer, drawn once: nodes do not all ask at once
			*/
	/* It is due; what run() needs of the daemon is made here. False: it is forgotten. */
	bool (*begin)(void *arg, const struct errand *e);
	/* In the process: nothing of the daemon's is open but @out, which closes at an exec. What
	 * is written there is said to done(); returns the exit status. */
	int (*run)(void *arg, const struct errand *e, int out);
	/* @status as of waitpid(), @said cut to some hundred bytes; or ERRANDS_NO_PROCESS, and
	 * @said is why. May call errands_again(). */
	void (*done)(void *arg, const struct errand *e, int status, const char *said);
};

/* @ops and @arg outlive it. */
int errands_open(struct errands **ret, struct loop *loop, const struct errands_ops *ops, void *arg,
	struct errbuf *err);
/* Ends the process that runs; what waits is forgotten. NULL is fine. */
void errands_close(struct errands *q);

/* For the first time, in @wait_s seconds (0: now). False: the queue is full. */
bool errands_add(struct errands *q, uint32_t job_id, const char *node, int wait_s);
/* After twice the wait of @e; a full queue forgets it. */
void errands_again(struct errands *q, const struct errand *e);
/* It waits, or is under way. */
bool errands_has(const struct errands *q, uint32_t job_id);
/* Takes out what waits of this job on this node. */
void errands_drop(struct errands *q, uint32_t job_id, const char *node);
/* The one that has waited longest in the queue; NULL none waits. */
const struct errand *errands_first(const struct errands *q);

#endif
