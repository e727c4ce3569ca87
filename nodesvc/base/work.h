/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * work.h - how long the loop is busy with what it does by itself: rounds of looks at the steps
 * (sample.c) and ticks (decide.c). Whoever registers meanwhile waits for it. Told by `colocctl
 * --json status` as "work", for contrib/bench/overhead. One thread.
 */
#ifndef COLOC_BASE_WORK_H
#define COLOC_BASE_WORK_H

#include <json-c/json.h>
#include <stdint.h>

#define WORK_KEPT 1024 /* of the newest; quantiles are theirs */

struct work_times {
	uint64_t n;
	double max_ms; /* of all */
	float ms[WORK_KEPT];
};

struct work {
	struct work_times rounds, ticks;
	/* Steps that were looked at, and read; what was read for that: processes' clocks, and lines
	 * of schedstat. */
	uint64_t looks, readings, clocks, threads;
};

void work_note(struct work_times *t, int64_t elapsed_ns);
/* One object; NULL out of memory. Times in ms; null where there are none. */
struct json_object *work_json(const struct work *w, int64_t longest_turn_ns);

#endif
