/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * other_figures.c - figures and tables, one by one, of the LLC-complex paper (Tian et al.; 3 and 4
 * per program) and of MAPPER (PPoPP 2019; figure 1, its three evaluations: target 34).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contrib/bench/papersim/arena.h"
#include "contrib/bench/papersim/svg.h"
#include "nodesvc/sim/population_drawn.h"

#define PART "papersim . other-figures"

/* ---- LLC complex: each program of the two workloads ---- */

enum { ALTERNATE, COMPLEX, ARMS };
static const char *const arm[ARMS] = {"alternate", "llc-complex,ref=per_instr,miss=ratio"};
static const char *const programs[2][4] = {
	{"410", "416", "429", "444"}, {"445", "450", "453", "482"}};

/* Mean speed against alone of program @i of workload @w (4: of all four) over its draws. */
static struct interval speed_of(const struct arena *a, int w, int p, int i)
{
	double v[COMBOS_MAX];
	int n = 0;

	for (int k = w; k < a->e.n_combos; k += 2) {
		const struct drive_result *r = &a->r[p * a->e.n_combos + k];

		v[n++] = i < 4 ? 1 / drive_ntt(r, i, NTT_ALL) : stp(a, p, k) / 4;
	}
	return stats_mean(v, n, 1);
}

static void complex_figures(const struct arena *a, const char *plots)
{
	static const char *const paper[2] = {
		"mean 0.95 and 0.98; 429 uses the cache much (bars lost)",
		"mean 0.94 and 0.99; 450 and 482 use the cache much (bars lost)"};
	struct svg s;

	svg_open(&s, plots, "llc-fig3-4.svg", 800, 420,
		"LLC complex, figures 3 and 4: each program's speed",
		text("simulated: mean of %d draws, 95 %%, against alone; grey: operating system, "
		     "blue: "
		     "complex",
			a->e.n_combos / 2));
	for (int w = 0; w < 2; w++) {
		struct panel panel = {80 + 380 * w, 90, 310, 270, 0.8, 1.01, 5};
		struct interval v[ARMS][5];

		for (int p = 0; p < ARMS; p++)
			for (int i = 0; i < 5; i++)
				v[p][i] = speed_of(a, w, p, i);
		panel_draw(&s, &panel, text("workload %d", w + 1), "speed", 1);
		for (int i = 0; i < 5; i++) {
			for (int p = 0; p < ARMS; p++)
				panel_bar(&s, &panel, i, p, ARMS, p ? 2 : 7, v[p][i].mean,
					v[p][i].low, v[p][i].high);
			panel_label(&s, &panel, i, i < 4 ? programs[w][i] : "mean", 0);
		}
		print_figure(w ? "4" : "3", paper[w],
			text("mean %.3f and %.3f; %.3f to %.3f, %.3f to %.3f, %.3f to %.3f, %.3f "
			     "to "
			     "%.3f (%s, %s, %s, %s)",
				v[0][4].mean, v[1][4].mean, v[0][0].mean, v[1][0].mean,
				v[0][1].mean, v[1][1].mean, v[0][2].mean, v[1][2].mean,
				v[0][3].mean, v[1][3].mean, programs[w][0], programs[w][1],
				programs[w][2], programs[w][3]),
			verdict(v[1][4].mean / v[0][4].mean >= 1.02 &&
				v[1][4].mean / v[0][4].mean <= 1.06),
			PART);
	}
	svg_close(&s);
}

static void part_complex(const char *plots)
{
	struct arena a;

	open_arena(&a, "spec-wl", 1, COMBOS_MAX);
	run_arena(&a, arm, ARMS);
	print_figures_head("LLC complex");
	print_figure("1", "the method", "`doc/policies.md`", "a drawing", "");
	print_figure("2", "the pseudo-code", "the same", "a drawing", "");
	complex_figures(&a, plots);
	print_figure("table 1", "the machine", "simulated with its numbers", "input", "");
	print_figure("tables 2, 3", "the workloads; the events", "the same", "input", "");
	printf("\n![figures 3 and 4](plots/llc-fig3-4.svg)\n\n");
	close_arena(&a);
}

/* ---- MAPPER: three evaluations ---- */

enum { LINUX, HILLCLIMB, FAIR, MAPPER, N_MAPPER };
static const char *const mapper_arm[N_MAPPER] = {"linux", "hillclimb", "fair", "mapper"};

#define DRAWN 16 /* four of each suite */

/* Programs of two of the four suites. */
static void draw_suites(uint64_t seed, int k, int n_jobs, struct program *ret, const char *first,
	const char *second)
{
	struct program all[DRAWN];
	int n = 0, of_first = 0;

	population_draw_mapper(seed, k, DRAWN, all);
	for (int i = 0; i < DRAWN && n < n_jobs; i++) {
		bool is_first = strncmp(all[i].name, first, strlen(first)) == 0;
		/* PARSEC's names have two letters. */
		bool is_second = *second ? strncmp(all[i].name, second, strlen(second)) == 0
					 : strlen(all[i].name) == 2;

		if (is_first ? of_first == n_jobs / 2
			     : !is_second || n - of_first == n_jobs - n_jobs / 2)
			continue;
		of_first += is_first;
		ret[n++] = all[i];
	}
}

static void draw_openmp(uint64_t seed, int k, int n_jobs, struct program *ret)
{
	draw_suites(seed, k, n_jobs, ret, "nas", "ompscr");
}

static void draw_others(uint64_t seed, int k, int n_jobs, struct program *ret)
{
	draw_suites(seed, k, n_jobs, ret, "graphchi", "");
}

static double of_standalone(const struct arena *a, int p, int k)
{
	const struct drive_result *r = &a->r[p * a->e.n_combos + k];
	double sum = 0;

	for (int i = 0; i < r->n_jobs; i++)
		sum -= log(drive_ntt(r, i, NTT_ALL)) / r->n_jobs;
	return exp(sum);
}

static void part_mapper(const char *plots)
{
	static const struct {
		const char *name;
		void (*draw)(uint64_t seed, int k, int n_jobs, struct program *ret);
	} set[3] = {{"integrated", draw_openmp}, {"not integrated", draw_others},
		{"combined", population_draw_mapper}};
	struct panel panel = {80, 100, 560, 270, 0, 0, 3};
	struct interval v[3][N_MAPPER], over[3][2];
	struct svg s;

	for (int e = 0; e < 3; e++) {
		struct arena a;

		open_arena(&a, "mapper", 1, COMBOS);
		a.population.draw = set[e].draw;
		run_arena(&a, mapper_arm, N_MAPPER);
		for (int p = 0; p < N_MAPPER; p++) {
			v[e][p] = compare(&a, of_standalone, p, -1);
			panel.high = fmax(panel.high, v[e][p].high);
		}
		over[e][0] = compare(&a, of_standalone, MAPPER, FAIR);
		over[e][1] = compare(&a, of_standalone, MAPPER, HILLCLIMB);
		close_arena(&a);
	}
	panel.high *= 1.05;
	svg_open(&s, plots, "mapper-fig1.svg", 680, 420, "MAPPER, figure 1: speed over standalone",
		text("simulated: geometric mean of four programs' speeds, mean of %d draws, 95 %%",
			COMBOS));
	panel_draw(&s, &panel, "", "of standalone", NAN);
	for (int e = 0; e < 3; e++) {
		for (int p = 0; p < N_MAPPER; p++)
			panel_bar(&s, &panel, e, p, N_MAPPER, p == LINUX ? 7 : p, v[e][p].mean,
				v[e][p].low, v[e][p].high);
		panel_label(&s, &panel, e, set[e].name, 0);
	}
	svg_text(&s, 80, 78, "start", 0, "grey Linux, orange hill climbing, blue fair, red MAPPER");
	svg_close(&s);
	print_figures_head("MAPPER");
	for (int e = 0; e < 3; e++)
		print_figure(text("1, %s", set[e].name),
			"target 34: MAPPER above hill climbing, fair and Linux (bars lost)",
			text("Linux %.3f, hill climbing %.3f, fair %.3f, MAPPER %.3f; over fair "
			     "%s, over "
			     "hill climbing %s",
				v[e][LINUX].mean, v[e][HILLCLIMB].mean, v[e][FAIR].mean,
				v[e][MAPPER].mean, gain_text(over[e][0]), gain_text(over[e][1])),
			verdict(over[e][0].low > 0 && over[e][1].low > 0 &&
				v[e][MAPPER].mean > v[e][LINUX].mean),
			PART);
	printf("\nintegrated: NAS-like and OmpSCR-like programs (OpenMP), not integrated: PARSEC "
	       "and "
	       "GraphChi-like ones,\ncombined: one of each. In the model threads beyond a "
	       "program's "
	       "own cores cost it nothing, so what an\nintegrated runtime saves is not in these "
	       "figures.\n\n![figure 1](plots/mapper-fig1.svg)\n\n");
}

void part_other_figures(const char *plots)
{
	part_complex(plots);
	part_mapper(plots);
}
