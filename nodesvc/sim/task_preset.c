/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task_preset.c - published figures where there are any; the rest are assumptions, and say so.
 *
 * Denver against A57: "nearly twice as fast" per core in general code (Phoronix 2015, Nexus 9
 * against Tegra X1); 2.2 as in the project's first study of this model. For the paper's matrix
 * kernel its figure 5(g) says 4: DAM-P, which takes the fastest place, runs 92 % of the critical
 * tasks on one Denver and 4 % on the four A57 together. So contrib/bench/dassim and
 * contrib/workloads have speed: [4, 1] for it.
 *
 * Width: matmul 0.02, copy 0, stencil 0.025 are measured, on a two-core x86 node, two members
 * taking blocks of the same kernels (best of 1500 to 6000; width 2 only). Blocks: 8, as XiTAO's
 * benchmarks/syntheticDAGs has them for tasks made with width 1.
 */
#include "nodesvc/sim/task_preset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct task_machine machines[] = {
	{
		.n_kinds = 2,
		.kind =
			{
				/* Top clock: section 5.2. Memory: assumption. */
				{"denver", 2035e6, 2.2, 1.6, true},
				{"a57", 2035e6, 1, 1, false},
			},
		.n_partitions = 2,
		/* 2 MB of L2 each: section 4.2.1. */
		.partition = {{2, 0, 2e6}, {4, 1, 2e6}},
		/* Two thirds of the 59.7 GB/s of its LPDDR4: STREAM's copy reaches 69 % of the wire
		 * rate, its triad 67 % (Texas Instruments, SPRACV1B, of another part). */
		.bytes_per_s = 40e9,
		.steal_s = 1e-6,
		/* "in the order of one microsecond": section 4.1.1. */
		.decide_s = 1e-6,
	},
	{
		.n_kinds = 1,
		.kind = {{"haswell", 2300e6, 1, 1, false}},
		.n_partitions = 2,
		/* Intel: E5-2650 v3 has 10 cores, 25 MB, 68 GB/s; assumption: 80 % of it. */
		.partition = {{10, 0, 25e6}, {10, 0, 25e6}},
		.bytes_per_s = 109e9,
		.steal_s = 1e-6,
		.decide_s = 2e-6,
	},
};
static const char *const machine_name[] = {"tx2", "haswell"};

/* Noise 3 %, and 2 us by which a measured time is too long: assumptions. */
static const struct task_type types[] = {
	/* 64 x 64: 0.5 Mflop at 1.3 Gflop/s (assumption), all in caches. */
	{
		.name = "matmul",
		.seconds = 0.4e-3,
		.working_set_bytes = 48e3,
		.blocks = 8,
		.spill = 1,
		.width_loss = 0.02,
		.noise = 0.03,
		.clock_s = 2e-6,
	},
	/* 1024 x 1024 of 8 bytes, read and written: 4 GB/s a core (assumption), 60 % of it waiting
	 * at the top clock (assumption). */
	{
		.name = "copy",
		.seconds = 4e-3,
		.memory = 0.6,
		.bytes = 16e6,
		.blocks = 8,
		.spill = 1,
		.noise = 0.03,
		.clock_s = 2e-6,
	},
	/* 1024 x 1024 of 4 bytes, several sweeps (assumption: 3 ms). */
	{
		.name = "stencil",
		.seconds = 3e-3,
		.memory = 0.3,
		.bytes = 8e6,
		.working_set_bytes = 8e6,
		.blocks = 8,
		.spill = 1.3,
		.width_loss = 0.025,
		.noise = 0.03,
		.clock_s = 2e-6,
	},
	/*
	 * A block of 5 MB: ten of them do not fit a socket's cache, five do (assumption). That is
	 * 330 000 points of two arrays, at 1.2 ns each from the cache, of which half is waiting;
	 * without the cache each moves 24 bytes at the part of a socket's 55 GB/s that a core has.
	 */
	{
		.name = "heat",
		.seconds = 0.4e-3,
		.memory = 0.5,
		.bytes = 3.2e6,
		.working_set_bytes = 5e6,
		.blocks = 8,
		.spill = 2.5,
		.width_loss = 0.025,
		.noise = 0.03,
		.clock_s = 2e-6,
	},
	/* One core whatever the width ("communication tasks utilize a single core at a time",
	 * section 5.4). An edge of 40 kB takes 6 us over FDR InfiniBand (section 4.2.1; 6.8 GB/s),
	 * 20 with what MPI adds (assumption). */
	{
		.name = "exchange",
		.seconds = 20e-6,
		.blocks = 8,
		.spill = 1,
		.width_loss = 1,
		.noise = 0.03,
		.clock_s = 2e-6,
	},
	/* A fortieth of an iteration over Rodinia's kdd_cup (494 020 points, 34 features, 5
	 * clusters: 250 Mflop, 67 MB) at 1.5 Gflop/s (assumption). */
	{
		.name = "kmeans",
		.seconds = 4e-3,
		.memory = 0.2,
		.bytes = 1.7e6,
		.working_set_bytes = 1.7e6,
		.blocks = 8,
		.spill = 1,
		.width_loss = 0.025,
		.noise = 0.03,
		.clock_s = 2e-6,
	},
	/* New centres from the parts' sums, on one core (assumption: 0.1 ms). */
	{
		.name = "reduce",
		.seconds = 0.1e-3,
		.blocks = 8,
		.spill = 1,
		.width_loss = 1,
		.noise = 0.03,
		.clock_s = 2e-6,
	},
};

int task_preset_machine(struct task_machine *ret, const char *name)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (strcmp(machine_name[i], name) == 0) {
			*ret = machines[i];
			return 0;
		}
	return -ENOENT;
}

int task_preset_type(struct task_type *ret, const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, name) == 0) {
			*ret = types[i];
			return 0;
		}
	return -ENOENT;
}
