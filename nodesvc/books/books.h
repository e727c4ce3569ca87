/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * books.h - what is written down: a step's row (account.c), its way and signals over time
 * (history.c), what the next daemon needs of it (kept.c), the store's
 * limits and what to do with a damaged one (store.c), the node's figures (metrics.c), summaries for
 * Slurm (slurmacct.c). Nothing is decided here. Loop thread only.
 */
#ifndef COLOC_BOOKS_BOOKS_H
#define COLOC_BOOKS_BOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/node/node.h"
#include "nodesvc/record/ledger.h"
#include "nodesvc/record/record.h"
#include "nodesvc/steps/jobs.h"

struct books;

/* How long decisions took; METRICS_BOUNDS[i] is the upper bound of bucket i, seconds. */
#define METRICS_BUCKETS 7
extern const double METRICS_BOUNDS[METRICS_BUCKETS];
struct metrics_times {
	uint64_t bucket[METRICS_BUCKETS + 1]; /* not cumulative; the last is above all bounds */
	double sum_s;
};
void metrics_note(struct metrics_times *t, int64_t elapsed_ns);

/* What those above the books count. */
struct metrics_figures {
	const char *policy; /* that rules */
	bool draining;
	double up_s;
	int owed; /* changes that could not be put back yet */
	uint64_t decisions, moves;
	struct metrics_times decided;
	int quarantined; /* sets, now */
	uint64_t quarantines, windows;
};

/* What they work with; all of it outlives them. */
struct books_uses {
	struct loop *loop;
	const struct conf *conf;
	const struct node *node;
	struct jobs *jobs;
	struct ledger *ledger; /* for its log only */
	struct record *record;
	struct measure *measure;
};

struct books_events {
	void (*figures)(void *arg, struct metrics_figures *ret); /* zeroed before */
	void *arg;
};

/* Copies both. */
int books_open(struct books **ret, const struct books_uses *u, const struct books_events *e,
	struct errbuf *err);
/* NULL is fine. */
void books_close(struct books *b);

/* ---- account.c ---- */

/* Its row, now. */
void account_put(struct books *b, struct step *s, enum step_state state, int64_t end_ns);
/* At its end, all or nothing: of a step whose end is not written the next daemon still knows. */
void account_end(struct books *b, struct step *s, enum step_state state, int64_t end_unix_ns);
/* Rows that are dirty, and histories that wait. */
void account_flush(struct books *b);

/* ---- history.c ---- */

/* It is on @cores from now on; @why may be NULL. Nothing is written yet. */
void history_note(struct step *s, const struct coreset *cores, const char *why);

/* ---- kept.c: for the next daemon ---- */

void kept_put(const struct books *b, struct step *s);
/* Also the next daemon leaves it to Slurm's placement. */
void kept_mark_released(const struct books *b, struct step *s);
/* ... and whose its job is, which is not asked again. */
void kept_mark_owner(const struct books *b, struct step *s);

/* ---- store.c ---- */

/* The accounting store of @c; begun afresh where the old one is damaged. */
int store_open(struct record **ret, const struct conf *c, struct errbuf *err);
/* After an error @rc of the record: -EBADMSG moves it aside and begins anew, true. */
bool store_recover(struct books *b, int rc);
/* At a tick: writes the logs of ledger and store into their databases, when nobody waits (@quiet)
 * or they have grown long. */
void store_checkpoint(struct books *b, bool quiet);

struct store_look {
	int64_t old_steps;          /* ended longer than keep_days ago */
	int64_t bytes, limit_bytes; /* in use; 0 no limit */
};
/* Once a day from now on. */
void store_retain_start(struct books *b);
void store_retain_now(struct books *b);
int store_retain_look(const struct books *b, struct store_look *ret, struct errbuf *err);

/* ---- metrics.c: the node's figures for Prometheus, as a file for node_exporter's textfile
 * collector. Names and units follow its conventions: _total counters, base units. ---- */

/* The text exposition format. */
void metrics_write(FILE *f, const struct books *b);
/* Writes metrics_file by way of a file beside it and a rename: readers never see half of it. */
int metrics_write_file(const struct books *b, struct errbuf *err);
/* At the start, and after the configuration changed: every metrics_interval_s; nothing while
 * metrics_file is not set. */
void metrics_reconfigure(struct books *b);

/* ---- slurmacct.c ---- */

/* A step of the job is about to leave the table; its row is written. Where the configuration says
 * so. */
void books_step_ended(struct books *b, const struct step *s);

#endif
