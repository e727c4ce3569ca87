/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solo.h - one run of a command, alone: its times, its width, and, with a counters backend, its
 * counts. Only profile_run.c uses it.
 */
#ifndef COLOC_COUNTERS_SOLO_H
#define COLOC_COUNTERS_SOLO_H

#include <stdint.h>

#include "common/err.h"
#include "nodesvc/counters/counters.h"

struct solo_opts {
	char *const *argv;
	const char *const *env;         /* "NAME=VALUE" set for this run; NULL none */
	const struct counters_ops *ops; /* counted; NULL nothing */
};

struct solo_result {
	double wall_s; /* from exec to exit */
	double cpu_s;  /* user + system, of the command and what it waited for */
	double wait_s; /* its threads waited for a core, as far as seen: it was not alone */
	int threads;   /* most busy threads seen at once; 0: it was over before one was seen */
	struct sample counted;
};

/*
 * Errors: -ENOENT and friends: cannot be started (its errno); -ECHILD: it failed, the text says
 * how; a backend's own. @ret untouched.
 */
int solo_run(const struct solo_opts *opts, struct solo_result *ret, struct errbuf *err);

/* A thread's run-queue delay so far. */
struct thread_wait {
	pid_t tid;
	uint64_t wait_ns;
};

/* Sum over threads that come and go between looks. */
struct wait_sum {
	struct thread_wait *last; /* ascending tid */
	int n;
	uint64_t gone_ns; /* of threads no longer there */
};
/* Takes over @now, n elements in any order, malloc'ed (NULL with n 0). */
void wait_sum_take(struct wait_sum *w, struct thread_wait *now, int n);
uint64_t wait_sum_ns(const struct wait_sum *w);
void wait_sum_done(struct wait_sum *w);

/* Of the process tree below @pid now: threads whose run time is at least 1/20 of the busiest's. */
int solo_count_threads(pid_t pid);

#endif
