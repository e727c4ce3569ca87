/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/load/ticks.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>

static double number(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	return o && json_object_object_get_ex(o, key, &v) && v ? json_object_get_double(v) : NAN;
}

static void read_times(struct json_object *work, const char *key, struct ticks_times *ret)
{
	struct json_object *o = NULL;

	json_object_object_get_ex(work, key, &o);
	*ret = (struct ticks_times){.n = number(o, "n"),
		.p50 = number(o, "p50_ms"),
		.p99 = number(o, "p99_ms"),
		.max = number(o, "max_ms")};
}

void ticks_read(const struct node *n, struct ticks *ret)
{
	char *text = node_status(n);
	struct json_object *status = json_tokener_parse(text), *work = NULL;

	json_object_object_get_ex(status, "work", &work);
	read_times(work, "rounds", &ret->rounds);
	read_times(work, "ticks", &ret->ticks);
	ret->looks = number(work, "looks");
	ret->readings = number(work, "readings");
	ret->clocks = number(work, "clocks");
	ret->threads = number(work, "threads");
	json_object_put(status);
	free(text);
}
