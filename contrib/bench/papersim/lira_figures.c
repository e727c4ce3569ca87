/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lira_figures.c - LIRA's (ROSS 2015) figures one by one: target 28. The bars of 1, the cells of 2,
 * the points of 3, the curves of 6, the combinations of 8. What their values are in the paper is
 * lost in its text, but for what it says about them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contrib/bench/papersim/lira.h"
#include "contrib/bench/papersim/svg.h"
#include "nodesvc/sim/population_tables.h"

#define CYCLES_PER_S 2.2e9 /* section 6.1: E5-2660 */
#define SAMPLE_S     (0.5e9 / CYCLES_PER_S)
#define REPEATS      9 /* section 6.1 */
#define PART         "papersim . lira-figures"

/* ---- figure 1: five ways to run one set of four ---- */

enum { LIBGOMP, CALLISTO, MAPPED, N_BARS = MAPPED + 3 };
static const char *const bar[N_BARS] = {"libgomp", "Callisto", "AB-CD", "AC-BD", "AD-BC"};

/* Whether the jobs' first cores are on the same one of the two sockets of eight. */
static bool same_socket(const struct place *p, int i, int j)
{
	return (coreset_next(&p[i].own, 0) < 8) == (coreset_next(&p[j].own, 0) < 8);
}

static void run_bars(const struct arena *a, struct drive_result r[N_BARS][REPEATS])
{
	static const char *const program[] = {"ammp", "swim", "pagerank", "triangle_counting"};
	const char *policy[] = {lira_policy(LIRA_LINUX), lira_policy(LIRA_CALLISTO)};
	struct run_spec spec[4] = {{0}};
	struct drive d = a->e.drive;
	struct errbuf err = {""};
	struct statics s;

	for (int i = 0; i < 4; i++)
		spec[i].program = program_named(population_lira, POPULATION_LIRA, program[i]);
	d.m = &a->m;
	d.spec = spec;
	d.n_jobs = 4;
	d.most_s = 3000;
	d.min_runs = REPEATS;
	for (int p = 0; p < MAPPED; p++)
		for (int k = 0; k < REPEATS; k++) {
			d.policy = policy[p];
			d.seed = (uint64_t)k + 1;
			need(drive_run(&d, &r[p][k], &err), &err);
		}
	need(statics_list(&s, a->topo, 4, &err), &err);
	/* Section 5.2: Callisto inside each socket. */
	statics_fill(&s, a->topo);
	for (int m = 0; m < s.n; m++) {
		const struct place *p = &s.place[(size_t)m * 4];
		int b = MAPPED + (same_socket(p, 0, 2) ? 1 : same_socket(p, 0, 3) ? 2 : 0);

		run_fixed(&a->m, spec, p, 4, REPEATS, &r[b][0]);
		for (int k = 1; k < REPEATS; k++)
			r[b][k] = r[b][0];
	}
	statics_done(&s);
}

static void plot_figure_1(const char *plots, struct interval v[2][N_BARS], struct panel panel[2])
{
	struct svg s;

	svg_open(&s, plots, "lira-fig1.svg", 800, 420,
		"LIRA, figure 1: ammp (A), swim (B), pagerank (C), triangle_counting (D)",
		text("simulated: %d repeats, 95 %%; against each alone on its share of four cores",
			REPEATS));
	for (int f = 0; f < 2; f++) {
		panel_draw(&s, &panel[f], f ? "STP (higher is better)" : "ANTT (lower is better)",
			"", NAN);
		for (int b = 0; b < N_BARS; b++) {
			panel_bar(&s, &panel[f], b, 0, 1, b < MAPPED ? 7 : 2, v[f][b].mean,
				v[f][b].low, v[f][b].high);
			panel_label(&s, &panel[f], b, bar[b], 1);
		}
	}
	svg_close(&s);
}

/* @plots: NULL none. */
static void figure_1(const struct arena *a, const char *number, const char *plots)
{
	static struct drive_result r[N_BARS][REPEATS];
	struct panel panel[2] = {{80, 90, 300, 260, 1, -INFINITY, N_BARS},
		{460, 90, 300, 260, 4, -INFINITY, N_BARS}};
	struct interval v[2][N_BARS];
	int best = MAPPED, most = MAPPED;

	run_bars(a, r);
	for (int f = 0; f < 2; f++) {
		for (int b = 0; b < N_BARS; b++) {
			double x[REPEATS];

			for (int k = 0; k < REPEATS; k++)
				x[k] = f ? drive_stp(&r[b][k], NTT_SHARE)
					 : drive_antt(&r[b][k], NTT_SHARE);
			v[f][b] = stats_mean(x, REPEATS, 1);
			panel_hold(&panel[f], x, REPEATS);
		}
		panel_pad(&panel[f]);
	}
	if (plots)
		plot_figure_1(plots, v, panel);
	for (int b = MAPPED; b < N_BARS; b++) {
		best = v[0][b].mean < v[0][best].mean ? b : best;
		most = v[1][b].mean > v[1][most].mean ? b : most;
	}
	print_figure(number,
		"target 6: libgomp has the worst ANTT; the mappings are no worse than Callisto; "
		"AD-BC is best (heights lost)",
		text("ANTT %.3f, %.3f, %.3f, %.3f, %.3f and STP %.3f, %.3f, %.3f, %.3f, %.3f in "
		     "the paper's order; best %s and %s",
			v[0][0].mean, v[0][1].mean, v[0][2].mean, v[0][3].mean, v[0][4].mean,
			v[1][0].mean, v[1][1].mean, v[1][2].mean, v[1][3].mean, v[1][4].mean,
			bar[best], bar[most]),
		verdict(v[0][LIBGOMP].mean > v[0][CALLISTO].mean &&
			v[0][MAPPED].mean <= v[0][CALLISTO].high &&
			v[0][MAPPED + 1].mean <= v[0][CALLISTO].high &&
			v[0][MAPPED + 2].mean <= v[0][CALLISTO].high && best == MAPPED + 2 &&
			most == MAPPED + 2),
		PART);
}

/* Section 6.1: Linux 2.6.32, which moves no page after its program (that came with 3.8). */
static void figure_1_sticky(void)
{
	struct errbuf err = {""};
	struct arena a;

	open_lira(&a, 1);
	a.params.numa = NUMA_STICKY;
	need(machine_init(&a.m, a.topo, &a.params, &err), &err);
	figure_1(&a, "1, pages that stay, as in Linux 2.6.32", NULL);
	close_arena(&a);
}

/* ---- figures 2 and 3: pairs of programs, four threads each ---- */

enum { N = POPULATION_LIRA };

struct pairs {
	double time[N][N];  /* of the row beside the column: one socket over two */
	double speed[N][N]; /* mean of the pair on one socket, over alone */
	double loads[N];    /* per second and thread */
};

static void run_pair(const struct arena *a, int i, int j, unsigned int second, double speed[2],
	double *ret_loads)
{
	struct run_spec spec[2] = {{.program = &population_lira[i], .threads = 4},
		{.program = &population_lira[j], .threads = 4}};
	struct place place[2] = {{.active = true}, {.active = true}};
	struct errbuf err = {""};
	struct run *r;
	int who;

	need(run_create(&r, &a->m, spec, 2, &err), &err);
	coreset_add_range(&place[0].own, 0, 3);
	coreset_add_range(&place[1].own, second, second + 3);
	run_place(r, place, NULL, 0);
	while (r->now_s < 1500)
		run_advance(r, 1500, &who);
	for (int k = 0; k < 2; k++)
		speed[k] = r->job[k].share_s / r->job[k].present_s;
	*ret_loads = r->job[0].counts.loads / r->now_s / 4;
	run_free(r);
}

static void run_pairs(const struct arena *a, struct pairs *p)
{
	for (int i = 0; i < N; i++)
		for (int j = i; j < N; j++) {
			double one[2], two[2], loads;

			run_pair(a, i, j, 4, one, &loads);
			run_pair(a, i, j, 8, two, &loads);
			p->time[i][j] = two[0] / one[0];
			p->time[j][i] = two[1] / one[1];
			p->speed[i][j] = p->speed[j][i] = 0.5 * (one[0] + one[1]);
			if (i == j)
				p->loads[i] = loads;
		}
}

static void figure_2(const struct pairs *p, const char *plots)
{
	int tenth = 0, fifth = 0, faster = 0, beside_swim = 0, cells = N * N;
	double most = 0, md = 0;
	struct svg s;

	svg_open(&s, plots, "lira-fig2.svg", 720, 640,
		"LIRA, figure 2: a socket shared, against two sockets",
		"simulated: change of the row's time beside the column, %; orange: slower");
	for (int i = 0; i < N; i++) {
		const char *name = population_lira[i].name;

		svg_text(&s, 150, 175 + 25 * i, "end", 0, name);
		svg_text(&s, 172 + 29 * i, 150, "start", -60, name);
		for (int j = 0; j < N; j++) {
			double change = p->time[i][j] - 1;

			svg_cell(&s, 156 + 29 * j, 158 + 25 * i, 29, 25, change,
				fabs(change) < 0.005 ? "" : text("%+.0f", 100 * change));
			tenth += change > 0.1;
			fifth += change > 0.2;
			faster += change < -0.005;
			most = fmax(most, change);
			if (strcmp(name, "md") == 0 || strcmp(population_lira[j].name, "md") == 0)
				md = fmax(md, change);
			beside_swim +=
				strcmp(population_lira[j].name, "swim") == 0 && change > 0.05;
		}
	}
	svg_close(&s);
	print_figure("2",
		"target 7: half of the pairs 20 % slower, at most 50 %, two 1.4 times as fast; md "
		"neither "
		"suffers nor harms, swim harms most but md (cells lost)",
		text("%.0f %% of the cells above 10 %%, %.0f %% above 20 %%, most %.0f %%, %d "
		     "faster; "
		     "md at most %.0f %%; %d of 18 lose beside swim",
			100. * tenth / cells, 100. * fifth / cells, 100 * most, faster, 100 * md,
			beside_swim),
		verdict(tenth >= 0.3 * cells && tenth <= 0.6 * cells && most >= 0.5 && most <= 1 &&
			md <= 0.05 && beside_swim >= N / 2),
		PART);
}

static void figure_3(const struct pairs *p, const char *plots)
{
	struct panel panel = {80, 90, 620, 340, 1, 0, 1};
	double top = 0, sum[2] = {0}, worst[2] = {1, 1}, mean[2];
	int n[2] = {0};
	struct svg s;

	for (int i = 0; i < N; i++)
		for (int j = i + 1; j < N; j++) {
			top = fmax(top, fabs(p->loads[i] - p->loads[j]));
			panel_hold(&panel, &p->speed[i][j], 1);
		}
	panel_pad(&panel);
	svg_open(&s, plots, "lira-fig3.svg", 740, 500,
		"LIRA, figure 3: pairs on one socket, by how far apart their load rates are",
		"simulated: 153 pairs of 18 archetypes; hollow: further apart than half of the "
		"most");
	panel_draw(&s, &panel, "", "mean speed over alone", NAN);
	panel_axis(&s, &panel, 0, top / 1e9, "difference of load instructions, 1e9/s per thread");
	for (int i = 0; i < N; i++)
		for (int j = i + 1; j < N; j++) {
			double apart = fabs(p->loads[i] - p->loads[j]) / top;
			int far = apart > 0.5;

			sum[far] += log(p->speed[i][j]);
			worst[far] = fmin(worst[far], p->speed[i][j]);
			n[far]++;
			panel_mark(&s, &panel, far ? 2 : 3, far, apart, p->speed[i][j]);
		}
	svg_close(&s);
	for (int f = 0; f < 2; f++)
		mean[f] = exp(sum[f] / n[f]);
	print_figure("3",
		"target 8: two clusters: far apart 0.98, worst loss 19 %; close 0.93, 44 %",
		text("far %.3f, %.0f %%; close %.3f, %.0f %%", mean[1], 100 * (1 - worst[1]),
			mean[0], 100 * (1 - worst[0])),
		verdict(mean[1] >= mean[0] + 0.03 && 1 - worst[0] >= 2 * (1 - worst[1])), PART);
}

/* ---- figure 6: pagerank over time ---- */

#define SAMPLES_MAX 1024

static void figure_6(const struct arena *a, const char *plots)
{
	struct run_spec spec = {
		.program = program_named(population_lira, POPULATION_LIRA, "pagerank")};
	struct place place = {.active = true, .own = a->topo->all};
	struct panel panel[2] = {{80, 90, 640, 140, 0, 100, 1}, {80, 280, 640, 140, 0, 0, 1}};
	static double at[SAMPLES_MAX], load[SAMPLES_MAX], rate[SAMPLES_MAX];
	struct run_counts before = {0};
	struct errbuf err = {""};
	double idle = 0, least = 100, spread[2] = {INFINITY, 0};
	int n = 0, who;
	struct svg s;
	struct run *r;

	need(run_create(&r, &a->m, &spec, 1, &err), &err);
	run_place(r, &place, NULL, 0);
	for (; r->job[0].runs == 0 && n < SAMPLES_MAX; n++) {
		double end = (n + 1) * SAMPLE_S;
		const struct run_counts *c = &r->job[0].counts;

		while (r->now_s < end)
			run_advance(r, end, &who);
		at[n] = end;
		load[n] = 100 * (c->utilization_s - before.utilization_s) / SAMPLE_S;
		rate[n] = (c->loads - before.loads) / SAMPLE_S / r->job[0].threads / 1e9;
		before = *c;
	}
	run_free(r);
	for (int k = 0; k < n; k++) {
		at[k] /= n * SAMPLE_S;
		if (load[k] < 50) {
			idle++;
			continue;
		}
		least = fmin(least, load[k]);
		/* Samples in which a phase ends hold two rates. */
		if (k > 0 && k + 1 < n && load[k - 1] >= 50 && load[k + 1] >= 50) {
			spread[0] = fmin(spread[0], rate[k]);
			spread[1] = fmax(spread[1], rate[k]);
		}
	}
	panel_hold(&panel[1], rate, n);
	panel_pad(&panel[0]);
	panel_pad(&panel[1]);
	svg_open(&s, plots, "lira-fig6.svg", 760, 490, "LIRA, figure 6: pagerank over time",
		text("simulated: alone on 16 cores, a sample every 0.5e9 cycles"));
	panel_draw(&s, &panel[0], "", "CPU load, %", 50);
	panel_draw(&s, &panel[1], "", "loads, 1e9/s per thread", NAN);
	panel_axis(&s, &panel[1], 0, n * SAMPLE_S, "seconds");
	panel_curve(&s, &panel[0], 3, at, load, n);
	panel_curve(&s, &panel[1], 2, at, rate, n);
	svg_close(&s);
	print_figure("6",
		"target 28: low CPU load of pagerank while it loads its graph and when it ends, "
		"high between; "
		"the "
		"load rate changes by phase (curves lost)",
		text("load below 50 %% for %.1f of %.1f s, at both ends, else %.0f %% or more; the "
		     "load rate between %.3f and %.3f 1e9/s meanwhile",
			idle * SAMPLE_S, n * SAMPLE_S, least, spread[0], spread[1]),
		verdict(load[0] < 50 && load[n - 2] < 50 && idle < n &&
			spread[1] > 1.05 * spread[0]),
		PART);
}

/* ---- figure 8: each combination ---- */

enum { GOMP, CALL, STATIC, LIRA, BEST, WORST, N_ARMS };
static const enum lira_arm arm[N_ARMS] = {
	LIRA_LINUX, LIRA_CALLISTO, LIRA_STATIC, LIRA_ADAPTIVE, LIRA_BEST, LIRA_WORST};
static const char *const arm_name[N_ARMS] = {
	"libgomp", "Callisto", "LIRA-static", "LIRA-adaptive", "best-static", "worst-static"};

static const char *combo_name(const struct arena *a, int k)
{
	struct program p[4];

	need(population_combo(&a->population, a->e.seed, k, 4, p, NULL), &(struct errbuf){""});
	return text("%s, %s, %s, %s", p[0].name, p[1].name, p[2].name, p[3].name);
}

static void plot_figure_8(const struct arena *a, const char *plots)
{
	static const figure_f of[2] = {antt, stp};
	int n = a->e.n_combos;
	struct panel panel[2] = {{70, 90, 1060, 230, INFINITY, -INFINITY, n + 1},
		{70, 370, 1060, 230, INFINITY, -INFINITY, n + 1}};
	struct svg s;

	svg_open(&s, plots, "lira-fig8.svg", 1150, 650, "LIRA, figure 8: each combination",
		text("simulated: %d combinations of 4 of 18 archetypes, seed %d", n,
			(int)a->e.seed));
	svg_legend(&s, 70, 66, arm_name, N_ARMS);
	for (int f = 0; f < 2; f++) {
		double v[N_ARMS][COMBOS_MAX];

		for (int p = 0; p < N_ARMS; p++) {
			collect(a, of[f], p, v[p]);
			v[p][n] = stats_mean(v[p], n, 1).mean;
			panel_hold(&panel[f], v[p], n);
		}
		panel_pad(&panel[f]);
		panel_draw(&s, &panel[f], f ? "STP (higher is better)" : "ANTT (lower is better)",
			"", f ? 4 : 1);
		for (int k = 0; k <= n; k++) {
			for (int p = 0; p < N_ARMS; p++)
				panel_mark(
					&s, &panel[f], p, p >= BEST, (k + 0.5) / (n + 1), v[p][k]);
			if (k == n || k % 4 == 0)
				panel_label(
					&s, &panel[f], k, k == n ? "AVG" : text("%d", k + 1), 0);
		}
	}
	svg_close(&s);
}

static void table_8(const struct arena *a)
{
	printf("\nFigure 8, ANTT and STP of each combination:\n\n| combination |");
	for (int p = 0; p < N_ARMS; p++)
		printf(" %s |", arm_name[p]);
	printf("\n|---|");
	for (int p = 0; p < N_ARMS; p++)
		printf("---|");
	printf("\n");
	for (int k = 0; k < a->e.n_combos; k++) {
		printf("| %d: %s |", k + 1, combo_name(a, k));
		for (int p = 0; p < N_ARMS; p++)
			printf(" %.3f, %.3f |", antt(a, p, k), stp(a, p, k));
		printf("\n");
	}
	printf("\n");
}

static void figure_8(const struct arena *a, const char *plots)
{
	int n = a->e.n_combos, last = 0, above = 0, below = 0, reached = 0, first = 0;
	int best = 0, worst = 0;
	double gain[COMBOS_MAX] = {0};

	for (int k = 0; k < n; k++) {
		int least = GOMP, quickest = GOMP;

		for (int p = 0; p <= LIRA; p++) {
			least = stp(a, p, k) < stp(a, least, k) ? p : least;
			quickest = antt(a, p, k) < antt(a, quickest, k) ? p : quickest;
		}
		last += least == GOMP;
		first += quickest == GOMP;
		above += stp(a, LIRA, k) > 4;
		below += antt(a, LIRA, k) < 1;
		reached += stp(a, STATIC, k) >= 0.99 * stp(a, BEST, k);
		gain[k] = 100 * (stp(a, LIRA, k) / stp(a, CALL, k) - 1);
		best = gain[k] > gain[best] ? k : best;
		worst = gain[k] < gain[worst] ? k : worst;
	}
	plot_figure_8(a, plots);
	print_figure("8",
		"target 28: libgomp worst in most of 32, best ANTT in three; static mostly as good "
		"as "
		"best-static; adaptive above an STP of 4 and below an ANTT of 1 in some (bars "
		"lost)",
		text("of %d: libgomp least STP in %d, best ANTT in %d; static within 1 %% of "
		     "best-static in %d; adaptive above 4 in %d, below 1 in %d",
			n, last, first, reached, above, below),
		verdict(2 * last > n && first > 0 && 2 * reached > n && above > 0 && below > 0),
		PART);
	print_figure("8, best", "STP of adaptive over Callisto at most +7 %",
		text("combination %d (%s): %+.1f %%", best + 1, combo_name(a, best), gain[best]),
		"noted", PART);
	print_figure("8, worst", "\"in all cases at least as good as Callisto\"",
		text("combination %d (%s): %+.1f %%", worst + 1, combo_name(a, worst), gain[worst]),
		verdict(gain[worst] >= 0), PART);
}

static void worst_sticky(void)
{
	const char *policy[N_ARMS];
	struct arena a;
	int worst = 0;

	for (int p = 0; p < N_ARMS; p++)
		policy[p] = lira_policy(arm[p]);
	open_lira(&a, 1);
	a.params.numa = NUMA_STICKY;
	run_arena(&a, policy, LIRA + 1);
	for (int k = 0; k < a.e.n_combos; k++)
		if (stp(&a, LIRA, k) / stp(&a, CALL, k) <
			stp(&a, LIRA, worst) / stp(&a, CALL, worst))
			worst = k;
	print_figure("8, worst, pages that stay, as in Linux 2.6.32",
		"\"in all cases at least as good as Callisto\"",
		text("combination %d (%s): %+.1f %%; mean %s", worst + 1, combo_name(&a, worst),
			100 * (stp(&a, LIRA, worst) / stp(&a, CALL, worst) - 1),
			gain_text(compare(&a, stp, LIRA, CALL))),
		verdict(stp(&a, LIRA, worst) >= stp(&a, CALL, worst)), PART);
	close_arena(&a);
}

void part_lira_figures(const char *plots)
{
	static struct pairs pairs;
	const char *policy[N_ARMS];
	struct arena a;

	for (int p = 0; p < N_ARMS; p++)
		policy[p] = lira_policy(arm[p]);
	open_lira(&a, 1);
	run_arena(&a, policy, N_ARMS);
	print_figures_head("LIRA");
	figure_1(&a, "1", plots);
	figure_1_sticky();
	run_pairs(&a, &pairs);
	figure_2(&pairs, plots);
	figure_3(&pairs, plots);
	print_figure("4", "examples of schedules", "what it draws is in `doc/policies.md`",
		"a drawing", "");
	print_figure("5", "the steps of LIRA-adaptive", "the same", "a drawing", "");
	figure_6(&a, plots);
	print_figure("7", "change of ANTT and STP against Callisto, boxes", "targets 1 to 5",
		"see there", "papersim . lira");
	figure_8(&a, plots);
	worst_sticky();
	print_figure("9", "intervals between decisions and samples, boxes", "targets 9 and 10",
		"see there", "papersim . lira");
	table_8(&a);
	printf("![figure 1](plots/lira-fig1.svg)\n\n![figure 2](plots/lira-fig2.svg)\n\n"
	       "![figure 3](plots/lira-fig3.svg)\n\n![figure 6](plots/lira-fig6.svg)\n\n"
	       "![figure 8](plots/lira-fig8.svg)\n\n");
	close_arena(&a);
}
