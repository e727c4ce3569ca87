/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_fetch.h - asks the daemon for what `colocctl top` shows, without ever waiting for it: a round
 * is "status", "jobs", then "explain" for each step that is wanted, one connection each. The caller
 * polls top_fetch_fd() until the deadline and calls top_fetch_go_on().
 *
 * A user's questions count against his share of the daemon's time (doc/security.md), so that a
 * round explains at most TOP_EXPLAINED steps, those that were asked for longest ago first.
 */
#ifndef COLOC_CTL_TOP_FETCH_H
#define COLOC_CTL_TOP_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "nodesvc/ctl/client.h"
#include "nodesvc/ctl/top_model.h"

#define TOP_EXPLAINED 32

struct top_fetch {
	const char *socket;
	int timeout_ms; /* for each packet */
	int open_ms;    /* of them for connecting: nothing else is done meanwhile */
	int most;       /* steps that a round explains */
	struct top_model *m;
	/* After "jobs": marks the steps that are wanted. */
	void (*want)(struct top_model *m, void *arg);
	void *arg;

	enum { FETCH_IDLE, FETCH_STATUS, FETCH_JOBS, FETCH_EXPLAIN } stage;
	int fd, left;
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
	struct ctl_text text;
	char id[TOP_ID_MAX];
};

/*
 * 1: going on; 0: the round is over, @m has all of it; else it is over with an error, @m has what
 * came before it, and @err says why.
 */
/* Begins a round; with @details_only just explains what is wanted and has not been. */
int top_fetch_begin(struct top_fetch *f, bool details_only, struct errbuf *err);
/* When the descriptor is readable, or the deadline has passed. */
int top_fetch_go_on(struct top_fetch *f, struct errbuf *err);
/* Waits for the whole round. 0 or an error. */
int top_fetch_all(struct top_fetch *f, struct errbuf *err);

/* -1: idle. */
int top_fetch_fd(const struct top_fetch *f);
bool top_fetch_is_idle(const struct top_fetch *f);
void top_fetch_done(struct top_fetch *f);

/* Now, Unix time in seconds. */
double top_unix_now(void);

#endif
