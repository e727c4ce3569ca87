/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schedstat.h - the kernel's account of a thread, /proc/TID/schedstat: the one reader of its line.
 */
#ifndef COLOC_COMMON_SCHEDSTAT_H
#define COLOC_COMMON_SCHEDSTAT_H

#include <stdbool.h>
#include <stdint.h>

struct schedstat {
	uint64_t run_ns;  /* on a CPU */
	uint64_t wait_ns; /* in line for one */
	uint64_t slices;  /* times on one */
};

/* False: not three numbers; @ret is as it was. */
bool schedstat_parse(const char *text, struct schedstat *ret);

#endif
