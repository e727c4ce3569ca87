/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * burst.h - what registrations take when they come all at once, as an array's tasks do.
 */
#ifndef COLOC_BENCH_LOAD_BURST_H
#define COLOC_BENCH_LOAD_BURST_H

#include "contrib/bench/load/node.h"

/* The plugin's default timeout_ms: a step that waits longer starts without us. */
#define BURST_LATE_MS 250

#define BURST_CLIENTS_MAX 1000

struct burst {
	int n, clients;
	double per_s; /* registrations and as many ends */
	double p50_ms, p99_ms, max_ms;
	int late; /* took longer than BURST_LATE_MS */
	double rss_before_mib, rss_after_mib;
};

/*
 * burst_run - @clients processes end and register the node's steps, each its own ones, until @total
 * registrations are answered. Wall time, so of a quiet machine; the clients' own cpu time is in it,
 * they and the daemon share the cores. All steps are registered before and after.
 */
void burst_run(struct node *n, int total, int clients, struct burst *ret);

#endif
