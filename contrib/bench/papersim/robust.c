/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * robust.c - does it hold elsewhere: populations that no policy was made for, and constants and
 * properties that are off.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "contrib/bench/papersim/arena.h"
#include "nodesvc/sim/sensitivity.h"

void part_held_out(void)
{
	static const struct {
		const char *population;
		uint64_t seed;
	} table[] = {{"latent", 101}, {"latent", 102}, {"latent", 103}, {"adversarial", 101},
		{"measured", 101}};
	/* Without a runtime that fills, and with Callisto's. */
	enum { N = 10 };
	static const char *const policies[2][N] = {
		{"linux", "callisto", "mean-static", "lira-static,fill=no", "lira,fill=no", "dio",
			"llc-complex", "worst-static", "best-static", "oracle"},
		{"linux", "callisto,threads=yes", "mean-static", "lira-static,fill=threads",
			"lira,fill=threads", "dio,fill=threads", "llc-complex,fill=threads",
			"worst-static", "best-static", "oracle"}};
	struct arena a;

	printf("## Populations that no policy was made for\n\nMeasured programs bring no runtime "
	       "that fills idle cores: there nobody but callisto fills them.\n\n");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		open_arena(&a, table[i].population, table[i].seed, COMBOS);
		run_arena(&a, policies[a.population.fill], N);
		printf("### %s, seed %llu\n\n", table[i].population,
			(unsigned long long)table[i].seed);
		print_arms(&a, policies[a.population.fill], N);
		close_arena(&a);
	}
}

/* The order of the arms when one constant or property is off by 30 % either way. */
void part_stability(void)
{
	static const char *const policy[] = {"mean-static", "linux", "callisto,threads=yes",
		"lira-static,fill=threads", "lira,fill=threads", "dio,fill=threads",
		"llc-complex,fill=threads"};
	enum { N = sizeof(policy) / sizeof(policy[0]) };
	struct sensitivity_row *row;
	struct errbuf err = {""};
	struct arena a;
	int n;

	open_arena(&a, "lira", 1, COMBOS);
	a.e.n_policies = N;
	for (int p = 0; p < N; p++)
		a.e.policy[p] = policy[p];
	need(sensitivity_run(&a.e, a.topo, &a.params, 0.3, &row, &n, &err), &err);
	printf("## Does the order hold when a constant is off by 30 %%?\n\n"
	       "Every constant of the machine and every property of the programs, one at a time: "
	       "STP against\nmean-static, %%, %d combinations of population lira. tau: Kendall's, "
	       "against the order with nothing\nchanged; reversals: pairs that changed sides "
	       "although both rows tell them apart.\n\n| changed | times |",
		COMBOS);
	for (int p = 1; p < N; p++)
		printf(" %s |", name_of(policy[p]));
	printf(" tau | reversals |\n|---|---|");
	for (int p = 0; p < N + 1; p++)
		printf("---|");
	printf("\n");
	for (int i = 0; i < n; i++) {
		printf("| %s | %.1f |", parameter_name(row[i].parameter), row[i].factor);
		for (int p = 1; p < N; p++)
			printf(" %+.2f |", 100 * row[i].gain[p].mean);
		printf(" %.2f | %d |\n", row[i].tau, row[i].reversals);
	}
	printf("\n");
	free(row);
	close_arena(&a);
}
