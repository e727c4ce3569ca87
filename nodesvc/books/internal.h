/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * internal.h - what the files of books/ share, and nobody else.
 */
#ifndef COLOC_BOOKS_INTERNAL_H
#define COLOC_BOOKS_INTERNAL_H

#include "nodesvc/base/loop.h"
#include "nodesvc/books/books.h"
#include "nodesvc/record/record.h"
#include "nodesvc/steps/jobs.h"

struct slurmacct;

/*
 * slurmacct.c: a summary of each job into Slurm's accounting (AdminComment), where
 * slurm_accounting says so.
 *
 * Written once the job has ended: until then slurmctld holds the comment and would overwrite it;
 * from then on `sacctmgr modify job` is what works, and the Epilog's `scontrol update` is not. The
 * nodes of a job write one after the other into the same text: read, replace one's own part,
 * write, look again; who finds his part missing was overtaken and does it again.
 *
 * Never from the daemon's own thread: a forked worker with a deadline runs Slurm's commands, one
 * at a time, from a bounded queue. A cluster that does not answer costs summaries, nothing else.
 */

int slurmacct_open(
	struct slurmacct **ret, struct loop *loop, struct record *record, struct errbuf *err);
/* Ends a process that still runs; what waits is forgotten. NULL is fine. */
void slurmacct_close(struct slurmacct *a);
/* A step of the job is about to leave the table; its row is written. */
void slurmacct_step_ended(struct slurmacct *a, const struct step *s);

struct books {
	struct books_uses use;
	struct books_events tell;
	int n_stores;                      /* begun anew while we run */
	int64_t flush_again_ns;            /* after an error: not before */
	int64_t last_history_ns;           /* all histories were written */
	struct checkpointer *checkpointer; /* of both databases; NULL until first needed */
	struct loop_source *retain;
	long retained;  /* steps dropped by the present run of slices */
	bool retaining; /* asked for a run of slices that is not over yet */
	struct loop_source *metrics;
	bool metrics_failed;
	struct slurmacct *slurmacct;
};

/* Writes what was noted, and the newest sample. */
void history_write(const struct books *b, struct step *s);
/* What was measured of it so far. */
void kept_carry(const struct books *b, struct step *s);
void kept_forget(const struct books *b, const struct step *s);
int store_retain_open(struct books *b, struct errbuf *err);
int metrics_open(struct books *b, struct errbuf *err);

#endif
