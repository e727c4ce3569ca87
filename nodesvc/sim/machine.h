/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - the simulated node: a topology and its constants. Read-only once made; many runs
 * share one.
 *
 * Caches are the last level of the topology (the package where it names none); memory nodes are
 * NUMA nodes, or packages where the topology knows fewer nodes than packages.
 */
#ifndef COLOC_SIM_MACHINE_H
#define COLOC_SIM_MACHINE_H

#include <stdbool.h>

#include "common/err.h"
#include "common/topo.h"
#include "nodesvc/sim/program.h"

enum numa_mode {
	NUMA_FOLLOW, /* pages are where the threads are */
	NUMA_STICKY, /* pages stay where the program first ran */
};

/* What it costs programs that share cores by time, and where the figures come from. */
struct penalties {
	const char *name;   /* "assumed", "none", "measured" */
	double lock_holder; /* per runnable thread too many, times sync */
	double wake;        /* per part of the time asleep, times sync */
	double context;     /* on cycles per instruction */
};

struct machine_params {
	double hz;
	double llc_bytes;   /* 0: the topology's, else 20 MB */
	int llc_ways;       /* 1..32 */
	double bytes_per_s; /* usable, per memory node */
	double latency_s;   /* unloaded, local */
	double remote;      /* factor on the latency of another node */
	double smt_cpi;     /* factor on cpi while the sibling runs */
	double fill;        /* part of a donor's idle time that a donee gets */
	double warmup_s;    /* a moved program at half speed */
	double gang_switch_s;
	enum numa_mode numa;
	struct penalties penalties;
	/* Of coupled programs, per runnable thread too many, times coupled. */
	double waits[WAITS_COUNT];
	double narrow;      /* of coupled programs on half as many cores as threads, or fewer */
	double bursts_meet; /* 0..1: how far bursts of programs that share cores come at once */
};

struct machine {
	const struct topo *topo;
	struct machine_params p;
	int n_cores, n_caches, n_memories;
	int *core_cache;   /* [n_cores] */
	int *cache_memory; /* [n_caches] */
	int *cache_cores;  /* [n_caches] */
	double llc_bytes;
};

/*
 * machine_topology - topo_load(), with a memory node for each package where a synthetic text names
 * none: where the memory of a job is, is told by NUMA node. Errors: topo_load()'s.
 */
int machine_topology(struct topo **ret, const char *source, struct errbuf *err);
/* The constants of the papers' machines, ours where they give none; see machine.c. */
void machine_defaults(struct machine_params *ret);
/* Errors: -ENOENT unknown. */
int machine_penalties(const char *name, struct penalties *ret);
/* @t outlives the machine. Errors: -ENOMEM. */
int machine_init(struct machine *m, const struct topo *t, const struct machine_params *p,
	struct errbuf *err);
void machine_done(struct machine *m);

#endif
