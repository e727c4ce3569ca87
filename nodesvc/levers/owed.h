/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owed.h - what the ledger holds and nobody uses: ways back that failed, or that are to be looked
 * at once more. Each is tried again at each tick until it is back, or its owner known to be gone;
 * status, check and the metrics say how many are left, and why.
 */
#ifndef COLOC_NODESVC_OWED_H
#define COLOC_NODESVC_OWED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/record/ledger.h"

struct levers;
struct loop_source;

/* One kind of row (enum ledger_kind); levers.c has the table of them. */
struct owed_kind {
	const char *name; /* "CPUs", "freezer": for people */
	/* Is the row of @path in use? Then it is none of ours. */
	bool (*is_held)(const struct levers *lv, const char *path);
	/* 0 back or gone, and forgotten; 1 to be looked at again; <0. */
	int (*restore)(struct levers *lv, const char *path, struct errbuf *err);
};

struct owed {
	const struct owed_kind *kind_of; /* [LEDGER_KINDS] */
	struct loop_source *timer;       /* NULL until first needed */
	bool armed, noted; /* the timer is set; something was noted since the pass began */
	int n;             /* ways back that failed at the last pass, or are not over */
	char why[240];     /* the first of them; "" none */
	/* The pass that is going on. */
	int kind;
	char after[256]; /* the last path of it that was tried */
	int failed, waiting;
	char first[240];
};

/* Some way back failed, or has to be looked at again: at each tick from now on, until none is left.
 * @why: of the error; NULL none. */
void owed_note(struct levers *lv, const char *why);
/*
 * owed_pass - tries them all now (release, start). 0: nothing is owed; else the error of the first
 * that failed. What is only to be looked at again is no error. @whose: for the log.
 */
int owed_pass(struct levers *lv, const char *whose, struct errbuf *err);
void owed_close(struct levers *lv);

#endif
