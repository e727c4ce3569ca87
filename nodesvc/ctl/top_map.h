/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_map.h - the node's cores in the order in which people look at them: by grouping domain, and
 * within one by hwloc's order, hardware threads of a core together. From the daemon's "status".
 */
#ifndef COLOC_CTL_TOP_MAP_H
#define COLOC_CTL_TOP_MAP_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/coreset.h"

struct top_map {
	int n_cores;
	bool has_gaps; /* domains have more than one core: a blank stands between two domains */
	struct {
		struct coreset pus;
		int domain;
		bool reserved;
	} core[CORESET_MAX];
};

/*
 * top_map_read - the map of @status: its "domain_cores", of an older daemon without them each of
 * its "pus" as a core. What is no cpulist is left out; no core at all where the daemon told none.
 */
void top_map_read(struct top_map *ret, struct json_object *status);

/* Columns of a row that has them all. */
int top_map_width(const struct top_map *m);
/*
 * One step's cores, a character each: '#' it has the core, '+' some of its hardware threads, '.' it
 * has not; blanks between domains. Returns @buf, cut to @size.
 */
char *top_map_row(const struct top_map *m, const struct coreset *cores, char *buf, size_t size);

#endif
