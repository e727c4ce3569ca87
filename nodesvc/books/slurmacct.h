/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmacct.h - a summary of each job into Slurm's accounting (AdminComment), where
 * slurm_accounting says so.
 *
 * Written once the job has ended: until then slurmctld holds the comment and would overwrite it;
 * from then on `sacctmgr modify job` is what works, and the Epilog's `scontrol update` is not.
 * The nodes of a job write one after the other into the same text: read, replace one's own part,
 * write, look again; who finds his part missing was overtaken and does it again.
 *
 * Never from the daemon's own thread: a forked worker with a deadline runs Slurm's commands, one
 * at a time, from a bounded queue. A cluster that does not answer costs summaries, nothing else.
 */
#ifndef COLOC_BOOKS_SLURMACCT_H
#define COLOC_BOOKS_SLURMACCT_H

#include "nodesvc/base/loop.h"
#include "nodesvc/steps/jobs.h"

struct slurmacct;

int slurmacct_open(
	struct slurmacct **ret, struct loop *loop, struct record *record, struct errbuf *err);
/* Ends a process that still runs; what waits is forgotten. NULL is fine. */
void slurmacct_close(struct slurmacct *a);
/* A step of the job is about to leave the table; its row is written. */
void slurmacct_step_ended(struct slurmacct *a, const struct step *s);

#endif
