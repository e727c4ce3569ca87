/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/base/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void work_note(struct work_times *t, int64_t elapsed_ns)
{
	double ms = (double)elapsed_ns / 1e6;

	t->ms[t->n++ % WORK_KEPT] = (float)ms;
	t->max_ms = fmax(t->max_ms, ms);
}

static int ascending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static struct json_object *number(double ms, uint64_t n)
{
	return n ? json_object_new_double(ms) : NULL;
}

static struct json_object *times_json(const struct work_times *t)
{
	struct json_object *o = json_object_new_object();
	int n = t->n < WORK_KEPT ? (int)t->n : WORK_KEPT;
	float sorted[WORK_KEPT] = {0};

	if (!o)
		return NULL;
	memcpy(sorted, t->ms, (size_t)n * sizeof(*sorted));
	qsort(sorted, (size_t)n, sizeof(*sorted), ascending);
	json_object_object_add(o, "n", json_object_new_int64((int64_t)t->n));
	json_object_object_add(o, "p50_ms", number(n ? sorted[(n - 1) / 2] : 0, t->n));
	json_object_object_add(o, "p99_ms", number(n ? sorted[(int)ceil(0.99 * n) - 1] : 0, t->n));
	json_object_object_add(o, "max_ms", number(t->max_ms, t->n));
	return o;
}

struct json_object *work_json(const struct work *w, int64_t longest_turn_ns)
{
	struct json_object *o = json_object_new_object();

	if (!o)
		return NULL;
	json_object_object_add(
		o, "longest_turn_ms", json_object_new_double((double)longest_turn_ns / 1e6));
	json_object_object_add(o, "rounds", times_json(&w->rounds));
	json_object_object_add(o, "ticks", times_json(&w->ticks));
	json_object_object_add(o, "looks", json_object_new_int64((int64_t)w->looks));
	json_object_object_add(o, "readings", json_object_new_int64((int64_t)w->readings));
	json_object_object_add(o, "clocks", json_object_new_int64((int64_t)w->clocks));
	json_object_object_add(o, "threads", json_object_new_int64((int64_t)w->threads));
	return o;
}
