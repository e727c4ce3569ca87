/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * robust.c - does it hold elsewhere: populations that no policy was made for, and constants of the
 * machine that are off.
 */
#include <stddef.h>
#include <stdio.h>

#include "contrib/bench/papersim/arena.h"

void part_held_out(void)
{
	static const struct {
		const char *population;
		uint64_t seed;
	} table[] = {{"latent", 101}, {"latent", 102}, {"latent", 103}, {"adversarial", 101}};
	static const char *const policies[] = {"linux", "callisto", "mean-static", "lira-static",
		"lira", "dio", "llc-complex", "worst-static", "best-static", "oracle"};
	enum { N = sizeof(policies) / sizeof(policies[0]) };
	struct arena a;

	printf("## Populations that no policy was made for\n\n");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		open_arena(&a, table[i].population, table[i].seed, COMBOS);
		run_arena(&a, policies, N);
		printf("### %s, seed %llu\n\n", table[i].population,
			(unsigned long long)table[i].seed);
		print_arms(&a, policies, N);
		close_arena(&a);
	}
}

/* The order of the arms when one constant of the machine is off by 30 % either way. */
void part_stability(void)
{
	static const char *const policy[] = {
		"linux", "callisto", "mean-static", "lira-static", "lira", "dio", "llc-complex"};
	enum { N = sizeof(policy) / sizeof(policy[0]) };
	static const struct {
		const char *name;
		size_t offset;
	} table[] = {
		{"nothing", 0},
		{"clock", offsetof(struct machine_params, hz)},
		{"cache", offsetof(struct machine_params, llc_bytes)},
		{"bandwidth", offsetof(struct machine_params, bytes_per_s)},
		{"latency", offsetof(struct machine_params, latency_s)},
		{"fill", offsetof(struct machine_params, fill)},
		{"warm-up", offsetof(struct machine_params, warmup_s)},
		{"lock holder", offsetof(struct machine_params, penalties.lock_holder)},
		{"wake", offsetof(struct machine_params, penalties.wake)},
		{"context", offsetof(struct machine_params, penalties.context)},
	};
	struct arena a;

	printf("## Does the order hold when a constant is off by 30 %%?\n\n"
	       "STP against mean-static, %%, %d combinations of population lira.\n\n| changed | by "
	       "|",
		COMBOS);
	for (int p = 0; p < N; p++)
		printf(" %s |", policy[p]);
	printf("\n|---|---|");
	for (int p = 0; p < N; p++)
		printf("---|");
	printf("\n");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (int up = 0; up < (i == 0 ? 1 : 2); up++) {
			double factor = i == 0 ? 1 : up ? 1.3 : 0.7;

			open_arena(&a, "lira", 1, COMBOS);
			if (i > 0)
				*(double *)(void *)((char *)&a.params + table[i].offset) *= factor;
			run_arena(&a, policy, N);
			printf("| %s | %.1f |", table[i].name, factor);
			for (int p = 0; p < N; p++)
				printf(" %+.2f |", 100 * compare(&a, stp, p, 2).mean);
			printf("\n");
			close_arena(&a);
		}
	}
	printf("\n");
}
