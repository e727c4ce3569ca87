/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe.h - a child process with a known amount of work, to see whether a counter attached to it
 * counts that work. A counter that starts without an error proves nothing: some stay at 0, and
 * some count the caller.
 */
#ifndef COLOC_COUNTERS_PROBE_H
#define COLOC_COUNTERS_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "nodesvc/counters/counters.h"

/* Loop turns of the child; each has at least one load and three instructions. */
#define PROBE_TURNS UINT64_C(4000000)

struct probe_child {
	pid_t pid; /* 0 none */
	int go_fd; /* -1 none */
};

/* Forks a child that waits. End it with probe_child_finish() in every case. */
int probe_child_start(struct probe_child *ret, struct errbuf *err);
/* Lets it work and waits for its end (about 20 ms). */
int probe_child_go(struct probe_child *c, struct errbuf *err);
void probe_child_finish(struct probe_child *c);

/* Can @count be what the child's PROBE_TURNS did to this counter? */
bool probe_is_plausible(enum counter_id id, uint64_t count);

/* "instructions", "llc misses" ...: for reports. */
const char *counter_name(enum counter_id id);
/* Writes the names in @mask, comma-separated; returns @buf. */
const char *counter_list(uint32_t mask, char *buf, size_t size);

#endif
