/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topo.h - a node's topology as plain arrays, read once from hwloc (this machine, an XML file or
 * a synthetic description). The engine sees only this, so it decides alike on the node, in
 * replay and in the simulator. The plugin never links it (hwloc stays out of Slurm's processes).
 *
 * Core indices are hwloc logical core numbers (core_lx); PUs are OS numbers (pu_os). Read-only
 * after topo_load()/topo_set_domains(): may then be shared between threads.
 */
#ifndef COLOC_COMMON_TOPO_H
#define COLOC_COMMON_TOPO_H

#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"

/* Value of `domain:` in coloc.yaml. */
enum topo_level {
	TOPO_AUTO,
	TOPO_PACKAGE,
	TOPO_NUMA,
	TOPO_L3,
	TOPO_L2,
	TOPO_CORE,
};

struct topo_core {
	struct coreset pus;        /* SMT siblings */
	int package, numa, l3, l2; /* index on that level; -1 where the level does not exist */
	int domain;                /* index of the grouping domain; -1 outside (never so far) */
};

struct topo_domain {
	struct coreset pus;
	int first_core, n_cores; /* into topo.domain_core[] */
	int numa;                /* of its first core; -1 unknown */
};

struct topo {
	int n_pus, n_cores, n_packages, n_numa, n_l3, n_l2;
	int n_words;     /* of coreset.w[] that hold this node's PUs */
	bool pu_is_core; /* no SMT: as many PUs as cores */
	struct coreset all;
	struct topo_core *core;       /* [n_cores] */
	int16_t pu_core[CORESET_MAX]; /* pu_os -> core_lx, -1 no such PU */
	enum topo_level domain_level; /* what `auto` came to; never TOPO_AUTO */
	int n_domains;
	struct topo_domain *domain; /* [n_domains] */
	int *domain_core;           /* [n_cores] core_lx grouped by domain */
	uint64_t llc_bytes;         /* largest last-level cache; 0 unknown */
	char *source; /* what topo_load() makes the same from: synthetic text or XML; NULL none */
};

/*
 * topo_load - reads a topology and sets its domains to TOPO_AUTO.
 * @source: NULL this machine; a path, which ends in .xml or has a "/" in it (infile.h: perhaps a
 *          pipe; XML up to hwloc's own version); XML itself (begins with "<", as topo.source of
 *          another); else a synthetic description ("pack:2 l3:1 core:4 pu:1").
 * Memory-only NUMA nodes (no PU) are left out. Free with topo_free().
 * Errors: -EINVAL not understood, -ENOENT no such file, -E2BIG a PU above CORESET_MAX, -ENOMEM.
 */
int topo_load(struct topo **ret, const char *source, struct errbuf *err);
void topo_free(struct topo *t);

/*
 * topo_set_domains - chooses the grouping domain ("socket" in the papers). TOPO_AUTO: the highest
 * level of which there are at least two whose members have more than one core, else core.
 * Errors: -EINVAL the node has no such level (@t unchanged), -ENOMEM.
 */
int topo_set_domains(struct topo *t, enum topo_level level, struct errbuf *err);

/* "auto", "package", "numa", "l3", "l2", "core"; -EINVAL unknown. */
int topo_level_parse(const char *name, enum topo_level *ret);
const char *topo_level_name(enum topo_level level);

/* All PUs of the cores that have at least one PU in @pus. */
void topo_whole_cores(const struct topo *t, const struct coreset *pus, struct coreset *ret);
/* Number of cores that have at least one PU in @pus. */
int topo_count_cores(const struct topo *t, const struct coreset *pus);

#endif
