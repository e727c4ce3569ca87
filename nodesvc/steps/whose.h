/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whose.h - the partition and account of a job, in slurmctld's words. What the step's environment
 * says of them is the user's to write, so lists that go by them (allow:) wait for these.
 *
 * A child runs `squeue` for one job at a time, never the daemon itself; what it said is kept. While
 * slurmctld does not answer, it is asked again, at longer and longer intervals.
 */
#ifndef COLOC_STEPS_WHOSE_H
#define COLOC_STEPS_WHOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "nodesvc/base/loop.h"
#include "nodesvc/steps/jobs.h"

struct whose;

struct whose_job {
	uint32_t job_id, uid;
	char partition[64], account[64]; /* "" it has none */
};

struct whose_events {
	/* @j NULL: not known yet, whose_trouble() says why. */
	void (*on_answer)(void *arg, uint32_t job_id, const struct whose_job *j);
	void *arg;
};

int whose_open(struct whose **ret, struct loop *loop, const struct jobs *jobs,
	const struct whose_events *events, struct errbuf *err);
void whose_close(struct whose *w);
/* False: not known yet. It is being asked, and on_answer() is told. */
bool whose_ask(struct whose *w, uint32_t job_id, struct whose_job *ret);
/* Why the last question was not answered; "" it was, or was not asked. */
const char *whose_trouble(const struct whose *w);
/* "JOB UID PARTITION ACCOUNT", the account to the end of the line. False: not that. */
bool whose_parse(const char *line, struct whose_job *ret);
/* Keeps it, and tells. */
void whose_learn(struct whose *w, const struct whose_job *j);

#endif
