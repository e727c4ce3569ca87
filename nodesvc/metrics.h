/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - the node's figures for Prometheus, as a file for node_exporter's textfile collector.
 * Names and units follow its conventions: _total counters, base units, no unit prefixes.
 */
#ifndef COLOC_NODESVC_METRICS_H
#define COLOC_NODESVC_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct daemon;

/* How long decisions took; METRICS_BOUNDS[i] is the upper bound of bucket i, seconds. */
#define METRICS_BUCKETS 7
extern const double METRICS_BOUNDS[METRICS_BUCKETS];
struct metrics_times {
	uint64_t bucket[METRICS_BUCKETS + 1]; /* not cumulative; the last is above all bounds */
	double sum_s;
};
void metrics_note(struct metrics_times *t, int64_t elapsed_ns);

/* The text exposition format. */
void metrics_write(FILE *f, const struct daemon *d);
/* Writes metrics_file by way of a file beside it and a rename: readers never see half of it. */
int metrics_write_file(const struct daemon *d, struct errbuf *err);

/* A timer that writes it every metrics_interval_s; nothing while metrics_file is not set. */
int metrics_open(struct daemon *d, struct errbuf *err);
/* After the configuration changed. */
void metrics_reconfigure(struct daemon *d);

#endif
