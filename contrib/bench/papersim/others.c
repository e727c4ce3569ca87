/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * others.c - the LLC-complex paper (Tian et al.; target 26) and MAPPER (PPoPP 2019; targets 27
 * and 34).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contrib/bench/papersim/arena.h"

#define QOS 0.85 /* MAPPER: of the speed on its fair share */

/* PAPERS and COUNTS: over 10^8 instructions, "miss rate" as a ratio and as a count. */
enum { ALTERNATE, PAPERS, COUNTS, COMPLEX, DIO, WORST, BEST, N_SPEC };
static const char *const spec_policies[N_SPEC] = {"alternate",
	"llc-complex,ref=per_instr,miss=ratio", "llc-complex,ref=per_instr,miss=mpki",
	"llc-complex", "dio", "worst-static", "best-static"};

/* Mean speed of one workload's draws (even numbers are workload 1, odd ones 2) against alone. */
static struct interval speed_of(const struct arena *a, int workload, int p, int q)
{
	double v[COMBOS_MAX], base[COMBOS_MAX];
	int n = 0;

	for (int k = workload; k < a->e.n_combos; k += 2) {
		v[n] = stp(a, p, k) / a->e.n_jobs;
		base[n++] = q < 0 ? 1 : stp(a, q, k) / a->e.n_jobs;
	}
	return q < 0 ? stats_mean(v, n, 1) : stats_gain(v, base, n, 1);
}

static void part_complex(void)
{
	struct interval gain[2], both;
	struct arena a;

	open_arena(&a, "spec-wl", 1, COMBOS_MAX);
	run_arena(&a, spec_policies, N_SPEC);
	printf("## LLC complex: two workloads of four serial programs, 2 sockets of 4, seed 1\n\n"
	       "The paper's two sets of SPEC programs; published is only which of them use the "
	       "last "
	       "level much,\nthe rest is drawn: %d draws of each. alternate is what the paper "
	       "takes "
	       "for the operating system\n(programs go round the sockets in order of start). Mean "
	       "speed against alone.\n\n| workload |",
		COMBOS_MAX / 2);
	for (int p = 0; p < N_SPEC; p++)
		printf(" %s |", spec_policies[p]);
	printf("\n|---|---|---|---|---|---|---|---|\n");
	for (int w = 0; w < 2; w++) {
		printf("| %d |", w + 1);
		for (int p = 0; p < N_SPEC; p++) {
			struct interval i = speed_of(&a, w, p, -1);

			printf(" %.3f [%.3f, %.3f] |", i.mean, i.low, i.high);
		}
		printf("\n");
		gain[w] = speed_of(&a, w, PAPERS, ALTERNATE);
	}
	printf("\n");
	both = compare(&a, stp, PAPERS, ALTERNATE);
	print_head();
	print_row("26", "workload 1: 0.95 to 0.98; workload 2: 0.94 to 0.99; \"4 %\"",
		text("%s; workload 1 %s, workload 2 %s; misses counted %s; by the second %s",
			gain_text(both), gain_text(gain[0]), gain_text(gain[1]),
			gain_text(compare(&a, stp, COUNTS, ALTERNATE)),
			gain_text(compare(&a, stp, COMPLEX, ALTERNATE))),
		"+2 to +6 %", both.mean >= 0.02 && both.mean <= 0.06);
	printf("\n");
	close_arena(&a);
}

enum { LINUX, FAIR, HILLCLIMB, MAPPER, CALLISTO, N_MAPPER };
static const char *const mapper_policies[N_MAPPER] = {
	"linux", "fair", "hillclimb", "mapper", "callisto"};

/* Figure 1 of the paper: "Geometric mean of speedups (relative to standalone performance)". */
static double of_standalone(const struct arena *a, int p, int k)
{
	const struct drive_result *r = &a->r[p * a->e.n_combos + k];
	double sum = 0;

	for (int i = 0; i < r->n_jobs; i++)
		sum -= log(drive_ntt(r, i, NTT_ALL)) / r->n_jobs;
	return exp(sum);
}

static void part_mapper(const char *penalties)
{
	double violations[N_MAPPER] = {0}, worst[N_MAPPER], most = 0;
	struct interval gain, over[2];
	struct arena a;

	open_arena(&a, "mapper", 1, COMBOS);
	need(machine_penalties(penalties, &a.params.penalties),
		&(struct errbuf){"no such penalties"});
	run_arena(&a, mapper_policies, N_MAPPER);
	printf("## MAPPER (PPoPP 2019): %d draws of a PARSEC, a NAS, an OmpSCR and a GraphChi-like "
	       "program, 4 sockets of 10 cores with 2 threads, seed 1, penalties %s\n\n"
	       "All but the PARSEC programs are drawn. A violation is a program below %.2f of its "
	       "speed alone on\nits equal share. of standalone: geometric mean of the programs' "
	       "speeds over those alone on all cores.\n\n"
	       "| policy | STP | ANTT | of standalone | violations | worst of fair |\n"
	       "|---|---|---|---|---|---|\n",
		COMBOS, penalties, QOS);
	for (int p = 0; p < N_MAPPER; p++) {
		struct interval s = compare(&a, stp, p, -1), t = compare(&a, antt, p, -1);
		struct interval g = compare(&a, of_standalone, p, -1);

		worst[p] = INFINITY;
		for (int k = 0; k < a.e.n_combos; k++) {
			const struct drive_result *r = &a.r[p * a.e.n_combos + k];

			for (int i = 0; i < r->n_jobs; i++) {
				double part = drive_of_fair(r, i);

				violations[p] += (part < QOS) / (double)(a.e.n_combos * r->n_jobs);
				worst[p] = fmin(worst[p], part);
			}
		}
		printf("| %s | %.3f [%.3f, %.3f] | %.3f [%.3f, %.3f] | %.3f [%.3f, %.3f] | "
		       "%.1f %% | %.2f |\n",
			mapper_policies[p], s.mean, s.low, s.high, t.mean, t.low, t.high, g.mean,
			g.low, g.high, 100 * violations[p], worst[p]);
	}
	gain = compare(&a, stp, MAPPER, LINUX);
	over[0] = compare(&a, stp, MAPPER, FAIR);
	for (int k = 0; k < a.e.n_combos; k++)
		most = fmax(most, stp(&a, MAPPER, k) / stp(&a, LINUX, k));
	printf("\n");
	print_head();
	print_row("27",
		"1.2 x Linux on average, at most 3.3; violations 23 % under Linux, 2 %; worst 9 "
		"and "
		"81 % of fair",
		text("STP over Linux %s, at most %.2f x, over fair %s; violations %.1f %% under "
		     "Linux, %.1f %%; worst %.2f and %.2f of fair",
			gain_text(gain), most, gain_text(over[0]), 100 * violations[LINUX],
			100 * violations[MAPPER], worst[LINUX], worst[MAPPER]),
		"violations at most a quarter of Linux's, worst >= 0.75, and above fair",
		violations[MAPPER] <= violations[LINUX] / 4 && worst[MAPPER] >= 0.75 &&
			over[0].low > 0);
	over[0] = compare(&a, of_standalone, MAPPER, FAIR);
	over[1] = compare(&a, of_standalone, MAPPER, HILLCLIMB);
	print_row("34", "figure 1: geometric mean over standalone above hill climbing and fair",
		text("over fair %s, over hillclimb %s", gain_text(over[0]), gain_text(over[1])),
		"MAPPER > hill climbing, fair", over[0].low > 0 && over[1].low > 0);
	printf("\n");
	close_arena(&a);
}

void part_others(void)
{
	part_complex();
	part_mapper("assumed");
	part_mapper("measured");
}
