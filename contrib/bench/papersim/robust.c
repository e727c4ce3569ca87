/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * robust.c - does it hold elsewhere: the sets of the two papers that publish least, populations
 * that no policy was made for, and constants and properties that are off.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "contrib/bench/papersim/arena.h"
#include "nodesvc/sim/sensitivity.h"

/* Mean over the combinations of one workload (0 or 1) of spec-wl, of performance alone. */
static double of_alone(const struct arena *a, int p, int workload)
{
	double sum = 0;
	int n = 0;

	for (int k = workload; k < a->e.n_combos; k += 2, n++)
		sum += stp(a, p, k) / a->e.n_jobs;
	return sum / n;
}

static void complex_row(void)
{
	static const char *const policies[] = {"alternate", "llc-complex", "best-static"};
	struct interval gain, most;
	struct arena a;

	open_arena(&a, "spec-wl", 1, COMBOS);
	run_arena(&a, policies, 3);
	gain = compare(&a, stp, 1, 0);
	most = compare(&a, stp, 2, 0);
	print_row("26", "workload 1: 0.95 to 0.98 of alone, 2: 0.94 to 0.99; \"4 %\"",
		text("%.3f to %.3f, %.3f to %.3f; %s", of_alone(&a, 0, 0), of_alone(&a, 1, 0),
			of_alone(&a, 0, 1), of_alone(&a, 1, 1), gain_text(gain)),
		"+2 to +6 %", gain.mean >= 0.02 && gain.mean <= 0.06);
	printf("| | the best of all placements | %s | | |\n", gain_text(most));
	close_arena(&a);
}

/* MAPPER, PPoPP 2019, section 3: at least 0.85 of the speed on the fair share. */
static void mapper_row(const char *penalties)
{
	static const char *const policies[] = {"linux", "mapper"};
	double below[2] = {0}, worst[2] = {INFINITY, INFINITY};
	struct arena a;

	open_arena(&a, "mapper", 1, COMBOS);
	need(machine_penalties(penalties, &a.params.penalties),
		&(struct errbuf){"no such penalties"});
	run_arena(&a, policies, 2);
	for (int p = 0; p < 2; p++) {
		for (int k = 0; k < COMBOS; k++) {
			const struct drive_result *r = &a.r[p * COMBOS + k];

			for (int i = 0; i < r->n_jobs; i++) {
				double part = drive_of_fair(r, i);

				below[p] += (part < 0.85) / (double)(COMBOS * r->n_jobs);
				worst[p] = fmin(worst[p], part);
			}
		}
	}
	print_row("27",
		text("below 0.85 of fair: Linux 23 %%, MAPPER 2 %%; worst 9 and 81 %% of fair; "
		     "penalties %s",
			penalties),
		text("%.0f and %.1f %%; %.0f and %.0f %%; STP %s", 100 * below[0], 100 * below[1],
			100 * worst[0], 100 * worst[1], gain_text(compare(&a, stp, 1, 0))),
		"a quarter of Linux's at most, worst >= 75 %",
		below[1] <= below[0] / 4 && worst[1] >= 0.75);
	close_arena(&a);
}

/* What the LLC-complex and MAPPER papers publish of their programs is little: population_drawn.h.
 */
static void part_published(void)
{
	printf("## LLC complex and MAPPER, as far as published facts carry\n\n"
	       "Programs are drawn within classes (%d combinations); ranges were written down "
	       "before a policy was run.\n\n",
		COMBOS);
	print_head();
	complex_row();
	mapper_row("assumed");
	mapper_row("measured");
	mapper_row("none");
	printf("\n26: what the best placement does not reach, no policy does. Workload 2 loses "
	       "about "
	       "what the paper's does\nwhen the two programs that miss much sit side by side; "
	       "apart, "
	       "the paper's lose 1 %%, the model's still lose\nto the little ones. In workload 1 "
	       "one "
	       "program misses much, and beside whom it sits hardly matters in the\nmodel (the "
	       "paper: "
	       "0.95 against 0.98). How much each program misses is not published.\n"
	       "27: how many programs Linux fails follows from the penalties of sharing cores; "
	       "MAPPER's own figures do not.\nWithout penalties it fails fewer than Linux, but not "
	       "four times fewer.\n\n");
}

void part_held_out(void)
{
	static const struct {
		const char *population;
		uint64_t seed;
	} table[] = {{"latent", 101}, {"latent", 102}, {"latent", 103}, {"adversarial", 101},
		{"measured", 101}};
	static const char *const policies[] = {"linux", "callisto", "mean-static", "lira-static",
		"lira", "dio", "llc-complex", "worst-static", "best-static", "oracle"};
	enum { N = sizeof(policies) / sizeof(policies[0]) };
	struct arena a;

	part_published();
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

/* The order of the arms when one constant or property is off by 30 % either way. */
void part_stability(void)
{
	static const char *const policy[] = {
		"mean-static", "linux", "callisto", "lira-static", "lira", "dio", "llc-complex"};
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
		printf(" %s |", policy[p]);
	printf(" tau | reversals |\n|---|---|");
	for (int p = 0; p < N + 1; p++)
		printf("---|");
	printf("\n");
	for (int i = 0; i < n; i++) {
		printf("| %s | %.1f |", sensitivity_name(row[i].parameter), row[i].factor);
		for (int p = 1; p < N; p++)
			printf(" %+.2f |", 100 * row[i].gain[p].mean);
		printf(" %.2f | %d |\n", row[i].tau, row[i].reversals);
	}
	printf("\n");
	free(row);
	close_arena(&a);
}
