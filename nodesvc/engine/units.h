/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * units.h - the cores to be had in units that share a last-level cache: what SBMP deals out
 * ("die" in the paper) and what the DAS schedulers call a resource partition.
 */
#ifndef COLOC_ENGINE_UNITS_H
#define COLOC_ENGINE_UNITS_H

#include "nodesvc/engine/shares.h"

enum unit_fallback {
	UNIT_CORE, /* no caches to tell apart: every core is a unit */
	UNIT_NODE, /* ... : all cores are one unit */
};

struct units {
	int n;
	int *first;  /* [n] into core[] */
	int *count;  /* [n] cores */
	int *core;   /* [cores] core_lx by unit */
	int size;    /* cores of the largest unit */
	bool uneven; /* units differ in cores */
};

int units_init(struct units *u, const struct topo *t, struct errbuf *err);
void units_done(struct units *u);

/* Cores that share an L3 (without L3: an L2), else a grouping domain, else as @fallback says. */
void units_build(struct units *u, const struct shares *c, enum unit_fallback fallback);
/* Every core a unit. */
void units_split(struct units *u, const struct shares *c);

#endif
