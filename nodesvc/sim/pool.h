/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.h - many runs that do not know of each other, spread over cores. What a run gives must
 * depend on its number only, so that results do not depend on how many threads there are.
 */
#ifndef COLOC_SIM_POOL_H
#define COLOC_SIM_POOL_H

#include "common/err.h"

struct pool {
	int n;                                            /* runs 0 .. n - 1 */
	int workers;                                      /* threads; 0: one per online CPU */
	int (*run)(void *ctx, int i, struct errbuf *err); /* called from any thread */
	void *ctx;
	void (*progress)(int done, int all); /* NULL none; called from any thread */
};

/* Errors: the first one that happened; runs not begun by then are left out. */
int pool_run(const struct pool *p, struct errbuf *err);

#endif
