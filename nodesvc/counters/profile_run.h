/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_run.h - measures what a command does when it is alone: time and utilisation of native
 * runs, and loads, LLC references and misses from hardware counters or from cachegrind.
 *
 * Needs no root. The command runs with the caller's affinity, environment and working directory;
 * its standard input is /dev/null and its standard output goes to the caller's standard error.
 * Blocks until all runs are over; not thread-safe (it waits for children).
 */
#ifndef COLOC_COUNTERS_PROFILE_RUN_H
#define COLOC_COUNTERS_PROFILE_RUN_H

#include <stdint.h>

#include "common/err.h"
#include "nodesvc/counters/counters.h"

struct profile_opts {
	const char *type;      /* NULL: last component of argv[0] */
	const char *user;      /* NULL: the calling user */
	const char *node_type; /* NULL: "" (any) */
	/* "papi", "perf", "cachegrind"; NULL: the first of them that works here. */
	const char *with;
	/* What to count by, where a source knows events by name; NULL the source's own. */
	const struct counter_events *events;
	int runs;    /* native runs; 0: 3 */
	int threads; /* width to divide by; 0: the most busy threads seen at once */
	/*
	 * cachegrind's last level: the grouping domain's share, as the caller computed it.
	 * Rounded down to what cachegrind takes (a power of two of sets); ret->ll_bytes has what
	 * was used. ll_bytes 0 with cachegrind: -EINVAL. assoc 0: 16. line 0: 64.
	 */
	uint64_t ll_bytes;
	int ll_assoc, ll_line;
	/* Called before each run and once for what a reader should know ("native run 1 of 3");
	 * NULL: silent. */
	void (*progress)(const char *text, void *arg);
	void *progress_arg;
};

/*
 * profile_run - runs @argv (NULL-terminated; found on PATH) alone and fills a profile.
 *
 * threads: the most threads alive at once in the command's process tree whose run time was at
 * least a twentieth of the busiest one's (a waiting wrapper shell or a runtime's helper thread
 * is not a width), unless opts->threads is set.
 *
 * utilization: (user + system time of the tree + its threads' run-queue delay, looked at every
 * 20 ms) / (min(threads, allowed PUs) * wall time), median of the runs, clamped to 0..1: the same
 * definition as live utilisation. Alone there is no delay up to as many threads as PUs; where
 * there is, progress() is told that the machine was not idle, for then solo_s is too long.
 *
 * rate[]: counts / threads / native solo time. From cachegrind: loads = Dr, LLC references =
 * I1mr + D1mr + D1mw (two cache levels are simulated: what misses the first asks the last), LLC
 * misses = ILmr + DLmr + DLmw, instructions = Ir; that run waits passively (profile_passive_env)
 * since threads that spin would be counted as loads. What a source does not count stays NAN.
 *
 * Errors: -EINVAL options; -ENOENT command or valgrind not found (names the package); -ENOTSUP
 * the source does not work here (says why); -ECHILD the command failed (says how); -EPROTO
 * cachegrind's output not understood (file:line). @ret untouched.
 */
int profile_run(const struct profile_opts *opts, char *const argv[], struct profile *ret,
	struct errbuf *err);

/* "NAME=VALUE" settings of the cachegrind run, NULL at the end. */
extern const char *const profile_passive_env[];

/*
 * Largest cache of @assoc ways and @line bytes with a power of two of sets that is no bigger than
 * @bytes; 0 when not even one set fits @assoc is not positive, or @line no power of two from 16.
 */
uint64_t profile_ll_round(uint64_t bytes, int assoc, int line);

#endif
