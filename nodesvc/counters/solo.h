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
	int threads;   /* most busy threads seen at once; 0: it was over before one was seen */
	struct sample counted;
};

/*
 * Errors: -ENOENT and friends: cannot be started (its errno); -ECHILD: it failed, the text says
 * how; a backend's own. @ret untouched.
 */
int solo_run(const struct solo_opts *opts, struct solo_result *ret, struct errbuf *err);

/* Of the process tree below @pid now: threads whose run time is at least 1/20 of the busiest's. */
int solo_count_threads(pid_t pid);

#endif
