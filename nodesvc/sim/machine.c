/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/machine.h"

/*
 * LIRA's machine (ROSS 2015, section 6.1: two Xeon E5-2660, 2.2 GHz, 20 MB per socket) gives the
 * clock and the cache. Everything else is an assumption of ours:
 * - 20 ways of cache, one per MB: what is set by CAT, where something is;
 * - 38 GB/s of the socket's nominal 51.2 (four channels of DDR3-1600) usable;
 * - 85 ns to local memory, 1.5 times that to the other socket: the usual order on such machines;
 * - two threads of a core slow each other's core part by 1.6 (together 1.25 times one);
 * - a donee gets 0.65 of what the donor leaves idle (Callisto switches after about 10 ms, ROSS
 *   2015, section 5.1, so short gaps are lost);
 *   Measured since, at idle priority on a core whose owner sleeps 1 ms of 10: two processes that
 *   need not wait for each other run 1.064 (1.033 to 1.097) times as fast as on their own core
 *   alone, which is 0.64 of that millisecond. A stencil of two threads, which is coupled, has 0.81
 *   (0.69 to 0.94) there, 0.86 (0.73 to 1.02) beside one that sleeps 3 ms of 10, 1.06 (0.93 to
 *   1.20) beside one that sleeps 7: it gets nothing here;
 * - 150 ms at half speed after a move: SBMP (PACT 2012, section 4.2) takes that long for a sample
 *   after moving, warm-up included;
 * - 3 ms per gang switch: rotation at 100 ms slices costs under 5 % on a two-core node.
 *
 * Measured on two cores (doc/results/realnode.md, where not said otherwise), four programs of two
 * threads or ranks at once, so three threads too many for each core. What the programs that are not
 * coupled, or not bursty, never feel:
 * - spinning 2.0: GROMACS, plain sharing 147 s (realnode-other.md) against 21.26 one after another;
 *   other such runs were ended before they were that long, so it is no upper bound;
 * - polling 0.34: LAMMPS under Open MPI, all ranks on both cores: 40.30 s against 19.92;
 * - yielding 0.044: the same told to yield, 22.17 s against 19.59;
 * - asleep 0: GROMACS with passive waits takes no longer than one after another;
 * - narrow 0.09: the arithmetic of two ranks on one core takes 9 % longer than on two
 *   (realnode-other.md);
 * - bursts meet 0.7: four programs of bursts of 0.175 s and waits of 0.6 s took 7.14 s, 1.48 times
 *   their time alone; bursts at any time would make that 1.13, bursts at one time 1.68. Equal
 *   programs that share cores in equal parts end their bursts together, so they begin the next
 *   ones together. In turns they do not: 1.16 to 1.23 there.
 */
void machine_defaults(struct machine_params *ret)
{
	*ret = (struct machine_params){
		.hz = 2.2e9,
		.llc_ways = 20,
		.bytes_per_s = 38e9,
		.latency_s = 85e-9,
		.remote = 1.5,
		.smt_cpi = 1.6,
		.fill = 0.65,
		.warmup_s = 0.150,
		.gang_switch_s = 0.003,
		.numa = NUMA_FOLLOW,
		.waits = {[WAITS_YIELDING] = 0.044, [WAITS_POLLING] = 0.34, [WAITS_SPINNING] = 2.0},
		.narrow = 0.09,
		.bursts_meet = 0.7,
	};
	machine_penalties("assumed", &ret->penalties);
}

int machine_penalties(const char *name, struct penalties *ret)
{
	/*
	 * "assumed": no measurement behind it; penalties decide how well plain Linux does, so every
	 * result says which set it used.
	 * "measured": contrib/bench/oversubscribe on a two-core virtual machine that did nothing
	 * else (others at most 1.7 % in every figure). Computing costs 0.0003 to 0.005 per thread
	 * too many. Threads that sleep at a barrier, or hand work on, lose nothing (others fill the
	 * time in which they wait). Threads that spin at a barrier lose 1.36 per thread too many
	 * with four jobs, 4.8 with three and 37 with two, where they wait out whole time slices; at
	 * a lock 0.35, 1.1 and 6.2; polling for messages 2.6, 2.7 and 37. 1.4, the least of the
	 * barrier, stands for a program that only spins. What that says about more than two cores
	 * is not known.
	 */
	static const struct penalties sets[] = {
		{"assumed", 0.3, 0.5, 0.02},
		{"measured", 1.4, 0, 0.005},
		{"none", 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (strcmp(sets[i].name, name) == 0) {
			*ret = sets[i];
			return 0;
		}
	}
	return -ENOENT;
}

int machine_topology(struct topo **ret, const char *source, struct errbuf *err)
{
	char with[1024];
	size_t packages = strspn(source, "pack:0123456789");

	if (strncmp(source, "pack:", 5) != 0 || source[packages] != ' ' ||
		strcasestr(source, "numa") || strchr(source, '[') ||
		snprintf(with, sizeof(with), "%.*s numa:1%s", (int)packages, source,
			source + packages) >= (int)sizeof(with))
		return topo_load(ret, source, err);
	return topo_load(ret, with, err);
}

static int pick_cache(const struct topo *t, int core)
{
	return t->n_l3 > 0 && t->core[core].l3 >= 0 ? t->core[core].l3 : t->core[core].package;
}

int machine_init(
	struct machine *m, const struct topo *t, const struct machine_params *p, struct errbuf *err)
{
	bool by_package = t->n_numa < t->n_packages;

	memset(m, 0, sizeof(*m));
	m->topo = t;
	m->p = *p;
	m->n_cores = t->n_cores;
	m->n_caches = t->n_l3 > 0 ? t->n_l3 : t->n_packages;
	if (m->n_caches < 1)
		m->n_caches = 1;
	m->n_memories = by_package ? t->n_packages : t->n_numa;
	if (m->n_memories < 1)
		m->n_memories = 1;
	m->core_cache = calloc((size_t)m->n_cores, sizeof(int));
	m->cache_memory = calloc((size_t)m->n_caches, sizeof(int));
	m->cache_cores = calloc((size_t)m->n_caches, sizeof(int));
	if (!m->core_cache || !m->cache_memory || !m->cache_cores) {
		machine_done(m);
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (int i = 0; i < m->n_cores; i++) {
		int cache = pick_cache(t, i);
		int memory = by_package ? t->core[i].package : t->core[i].numa;

		if (cache < 0 || cache >= m->n_caches)
			cache = 0;
		m->core_cache[i] = cache;
		m->cache_cores[cache]++;
		m->cache_memory[cache] = memory < 0 || memory >= m->n_memories ? 0 : memory;
	}
	m->llc_bytes = p->llc_bytes > 0 ? p->llc_bytes : t->llc_bytes ? (double)t->llc_bytes : 20e6;
	return 0;
}

void machine_done(struct machine *m)
{
	free(m->core_cache);
	free(m->cache_memory);
	free(m->cache_cores);
	memset(m, 0, sizeof(*m));
}
