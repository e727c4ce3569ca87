/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dassim - re-runs on the simulated machine what the Dynamic Asymmetry Scheduler's paper reports
 * (Chen et al., ICPP Workshops 2020, section 5), and prints a part of a Markdown page: target,
 * what comes out, verdict. contrib/bench/papers puts it into doc/results/papers.md.
 *
 * Targets and what counts as met were written down before the model was; nothing in here feeds
 * back into it.
 *
 * usage: dassim [--runs N] [--plots DIRECTORY] [PART...]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/out.h"
#include "contrib/bench/dassim/setup.h"
#include "contrib/bench/number.h"
#include "contrib/bench/papersim/svg.h"

#define P_MIN 2
#define P_MAX 6
#define P_N   (P_MAX - P_MIN + 1)

/* Section 4.2.2. */
static const struct {
	const char *type;
	int tasks;
} kernels[] = {{"matmul", 32000}, {"copy", 10000}, {"stencil", 20000}};
#define N_KERNELS 3

/* Of figure 5(g): DAM-P takes the fastest place, and that is (1,1) for 92 % of the critical tasks
 * and (2,4) for 4 %, so a Denver is about as fast as four A57 together. */
#define MATMUL_RATIO 4

static struct task_type *add_kernel(struct setup *a, int kernel)
{
	struct task_type *y = add_type(a, kernels[kernel].type);

	if (kernel == 0) {
		y->speed[0] = MATMUL_RATIO;
		y->speed[1] = 1;
	}
	return y;
}

static void run_layers(struct setup *a, int n_tasks, int parallelism)
{
	struct errbuf err = {""};

	need(task_graph_layers(&a->g, 0, a->g.n_types, n_tasks, parallelism, &err), &err);
	run_list(a, policies, N_POLICIES);
}

static double critical_at(const struct setup *a, int p, int core, int width)
{
	for (int i = 0; i < a->sum[p].n_places; i++)
		if (a->sum[p].at[i].place.core == core && a->sum[p].at[i].place.width == width)
			return a->sum[p].at[i].high;
	return 0;
}

static void print_table_head(const char *first)
{
	printf("| %s |", first);
	for (int p = 0; p < N_POLICIES; p++)
		printf(" %s |", policies[p]);
	printf("\n|---|");
	for (int p = 0; p < N_POLICIES; p++)
		printf("---|");
	printf("\n");
}

static void print_arms(const struct setup *a, const char *first)
{
	printf("| %s |", first);
	for (int p = 0; p < N_POLICIES; p++)
		printf(" %.0f/s, %.2f [%.2f, %.2f] |", a->sum[p].tasks_per_s.mean, ratio(a, p),
			1 + a->sum[p].gain.low, 1 + a->sum[p].gain.high);
	printf("\n");
}

static void print_critical(const struct setup *a, const char *first)
{
	printf("| %s |", first);
	for (int p = 0; p < N_POLICIES; p++) {
		for (int i = 0; i < a->sum[p].n_places; i++)
			if (a->sum[p].at[i].high >= 0.01)
				printf(" (%d,%d) %.0f %%", a->sum[p].at[i].place.core,
					a->sum[p].at[i].place.width, 100 * a->sum[p].at[i].high);
		printf(" |");
	}
	printf("\n");
}

/* Tasks/s by policy, a group of bars per P, a panel per kernel: as figures 4 and 7. */
static void plot_kernels(const char *name, const char *title, const char *what,
	struct task_summary sum[N_KERNELS][P_N][N_POLICIES])
{
	struct svg s;

	if (!plots)
		return;
	svg_open(&s, plots, name, 860, 1010, title,
		text("simulated: %s; means of %d seeds, lines: 95 %% intervals", what, runs));
	svg_legend(&s, 80, 76, policies, N_POLICIES);
	for (int k = 0; k < N_KERNELS; k++) {
		struct panel p = {80, 110 + 300 * k, 740, 240, 0, 0, P_N};

		for (int i = 0; i < P_N; i++)
			for (int q = 0; q < N_POLICIES; q++)
				panel_hold(&p, &sum[k][i][q].tasks_per_s.high, 1);
		p.high *= 1.04;
		panel_draw(&s, &p, text("(%c) %s", 'a' + k, kernels[k].type),
			"tasks per second (higher is better)", NAN);
		for (int i = 0; i < P_N; i++) {
			for (int q = 0; q < N_POLICIES; q++)
				panel_bar(&s, &p, i, q, N_POLICIES, q,
					sum[k][i][q].tasks_per_s.mean, sum[k][i][q].tasks_per_s.low,
					sum[k][i][q].tasks_per_s.high);
			panel_label(&s, &p, i, text("P = %d", P_MIN + i), 0);
		}
	}
	svg_close(&s);
	printf("![%s](plots/%s)\n\n", title, name);
}

static double busy_share(const struct task_summary *s, int core)
{
	double sum = 0;

	for (int c = 0; c < 6; c++)
		sum += s->busy_s[c];
	return s->busy_s[core] / sum;
}

/* Of each core, by policy: as figures 5 and 6. */
static void plot_cores(const struct setup *a)
{
	static const char *const core[] = {"0 Denver, hit", "1 Denver", "2 A57", "3", "4", "5"};
	struct panel high = {80, 100, 740, 220, 0, 1, N_POLICIES};
	struct panel busy = {80, 390, 740, 220, 0, 0, N_POLICIES};
	struct svg s;

	if (!plots)
		return;
	svg_open(&s, plots, "das-fig5-6.svg", 860, 650,
		"DAS, figures 5 and 6: matmul, P = 2, beside a program on core 0",
		text("simulated: 32 000 tasks; means of %d seeds; bars: cores 0 to 5", runs));
	svg_legend(&s, 80, 76, core, 6);
	panel_draw(&s, &high, "figure 5: part of the critical tasks whose place holds the core", "",
		NAN);
	for (int p = 0; p < N_POLICIES; p++)
		panel_hold(&busy, a->sum[p].busy_s, 6);
	busy.high *= 1.04;
	panel_draw(&s, &busy, "figure 6: time of each core in tasks", "seconds", NAN);
	for (int p = 0; p < N_POLICIES; p++) {
		for (int c = 0; c < 6; c++) {
			panel_bar(&s, &high, p, c, 6, c, a->sum[p].high_on_core[c], NAN, NAN);
			panel_bar(&s, &busy, p, c, 6, c, a->sum[p].busy_s[c], NAN, NAN);
		}
		panel_label(&s, &high, p, policies[p], 0);
		panel_label(&s, &busy, p, policies[p], 0);
	}
	svg_close(&s);
	printf("![Places of critical tasks and work of each core](plots/das-fig5-6.svg)\n\n");
}

/* Figures 5 and 6: who runs what, P = 2. */
static void print_cores(const struct setup *a)
{
	static const char *const paper[] = {
		"(0,1) 14 %, (1,1) 24 %, (2,1) to (5,1) about 15 % each",
		"17.2 % on Denver cores: 3.7, 9 and 4.5 %",
		"(0,1) 50 %, (1,1) 50 %",
		"(0,2) 17 %; core 1 runs 13 % more than core 0",
		"2 % on core 0, most on core 1",
		"(0,2) 1.3 %, most on core 1",
		"(1,1) 92 %, (2,4) 4 %",
	};

	printf("Places of critical tasks (figure 5; 1 %% or more), and the cores' time in tasks\n"
	       "(figure 6), matmul, P = 2:\n\n"
	       "| policy | places, the paper | places, simulated | seconds of cores 0 to 5 | of it "
	       "on the hit core |\n|---|---|---|---|---|\n");
	for (int p = 0; p < N_POLICIES; p++) {
		const struct task_summary *s = &a->sum[p];

		printf("| %s | %s |", policies[p], paper[p]);
		for (int i = 0; i < s->n_places; i++)
			if (s->at[i].high >= 0.01)
				printf(" (%d,%d) %.0f %%", s->at[i].place.core,
					s->at[i].place.width, 100 * s->at[i].high);
		printf(" |");
		for (int c = 0; c < 6; c++)
			printf(" %.1f", s->busy_s[c]);
		printf(" | %.0f %% |\n", 100 * busy_share(s, 0));
	}
	printf("\n");
	plot_cores(a);
}

/* The same with what was set first, before figure 5(g) and the slices were looked at. */
static void print_variants(struct setup *first)
{
	static struct setup a;

	printf("The same, P = 2, with Denver at 2.2 times an A57, as other code has it, and the "
	       "program\nbeside ours as a steady half instead of in time slices: both as they were "
	       "set first. And\nplaces chosen when a task is taken out of a queue (section 3.2) "
	       "instead of when it is\nreleased (4.1.2).\n\n");
	print_table_head("matmul, P = 2");
	for (int v = 0; v < 5; v++) {
		struct errbuf err = {""};
		struct task_type *y;

		open_setup(&a, "tx2");
		y = add_kernel(&a, 0);
		y->speed[0] = v == 4 || v & 1 ? MATMUL_RATIO : 2.2;
		a.when = v == 4 ? TASK_AT_DEQUEUE : TASK_AT_WAKEUP;
		if (v == 4 || v & 2)
			disturb_in_slices(&a, 0);
		else
			disturb(&a, 0, 0, 0.5, 0);
		need(task_graph_layers(&a.g, 0, 1, kernels[0].tasks, 2, &err), &err);
		run_list(&a, policies, N_POLICIES);
		print_arms(
			&a, text("ratio %g, %s%s", y->speed[0], v == 4 || v & 2 ? "slices" : "half",
				    v == 4 ? ", section 3.2" : ""));
		print_critical(&a, "critical");
		if (v == 0)
			*first = a;
		close_setup(&a);
	}
}

/* Section 5.1: a program beside ours on core 0. */
static void part_interference(void)
{
	static struct task_summary sum[N_KERNELS][P_N][N_POLICIES];
	static struct setup a[P_MAX + 1], other, first;
	double gain[P_MAX + 1], fa_gain = 0, fam_gain = 0, hit;
	bool falls = true, between[P_MAX + 1], always = true;

	printf("A program has core 0 in turns with ours, 9 ms each (in the rows of copy it moves\n"
	       "7 GB/s then). Tasks per second, and the ratio to das-rws with its 95 %% interval "
	       "over\n%d seeds. A Denver is as fast as four A57 for matmul, and 2.2 times one for "
	       "the others.\n\n",
		runs);
	for (int k = 0; k < N_KERNELS; k++) {
		print_table_head(text("%s, P", kernels[k].type));
		for (int p = P_MIN; p <= P_MAX; p++) {
			struct setup *x = k == 0 ? &a[p] : &other;

			open_setup(x, "tx2");
			add_kernel(x, k);
			/* A chain of copies moves memory. */
			disturb_in_slices(x, k == 1 ? 7e9 : 0);
			run_layers(x, kernels[k].tasks, p);
			print_arms(x, text("%d", p));
			memcpy(sum[k][p - P_MIN], x->sum, sizeof(x->sum));
			close_setup(x);
		}
		printf("\n");
	}
	plot_kernels("das-fig4.svg", "DAS, figure 4: beside a program on core 0",
		"2 Denver and 4 A57 cores, layers of P tasks, one of them critical", sum);
	for (int p = P_MIN; p <= P_MAX; p++) {
		gain[p] = ratio(&a[p], DAM_C);
		falls &= p == P_MIN || gain[p] < gain[p - 1];
		between[p] = ratio(&a[p], FA) >= 1 && ratio(&a[p], FA) <= gain[p];
		always &= between[p];
		fa_gain = fmax(fa_gain, over(&a[p], DAM_C, FA));
		fam_gain = fmax(fam_gain, over(&a[p], DAM_C, FAM));
	}
	hit = fmax(a[P_MIN].sum[DA].high_on_core[0], a[P_MIN].sum[DAM_C].high_on_core[0]);
	print_cores(&a[P_MIN]);
	print_variants(&first);
	print_rows_head();
	row("22", "matmul: DAM-C up to 3.5 x RWS, largest at low parallelism",
		"at least 1.8 at P = 2, falling with P", verdict(gain[P_MIN] >= 1.8 && falls),
		text("%.2f, %.2f, %.2f, %.2f, %.2f for P = 2 to 6", gain[2], gain[3], gain[4],
			gain[5], gain[6]));
	row("22", "FA between RWS and DAM-C", "between, at P = 2", verdict(between[P_MIN]),
		text("%.2f x RWS at P = 2", ratio(&a[P_MIN], FA)));
	row("22", "the same at every P; DAM-C up to 1.90 x FA, 1.85 x FAM-C", "between, every P",
		verdict(always),
		text("FA %.2f, %.2f, %.2f, %.2f, %.2f x RWS; DAM-C at most %.2f x FA, %.2f x "
		     "FAM-C",
			ratio(&a[2], FA), ratio(&a[3], FA), ratio(&a[4], FA), ratio(&a[5], FA),
			ratio(&a[6], FA), fa_gain, fam_gain));
	row("22", "2 % of DA's critical tasks on the hit core; DAM-C 1.3 % on (0,2)", "at most 5 %",
		verdict(hit <= 0.05),
		text("DA %.1f %%, DAM-C %.1f %%", 100 * a[P_MIN].sum[DA].high_on_core[0],
			100 * a[P_MIN].sum[DAM_C].high_on_core[0]));
	row("22", "DAM-P: 92 % at (1,1), 4 % at (2,4)", "-", "noted",
		text("%.0f %% at (1,1), %.0f %% at (2,4)",
			100 * critical_at(&a[P_MIN], DAM_P, 1, 1),
			100 * critical_at(&a[P_MIN], DAM_P, 2, 4)));
	row("22", "as first set, 2.2 and a steady half: DAM-C over RWS, and where DAM-P is", "-",
		"noted",
		text("%.2f x RWS, FA %.2f; DAM-P %.0f %% at (2,4)", ratio(&first, DAM_C),
			ratio(&first, FA), 100 * critical_at(&first, DAM_P, 2, 4)));
	row("31", "figure 6: work of each core; RWS loads the hit core, DAM-C does not",
		"the hit core's part under DAM-C at most half of RWS's",
		verdict(busy_share(&a[P_MIN].sum[DAM_C], 0) <=
			busy_share(&a[P_MIN].sum[RWS], 0) / 2),
		text("RWS %.0f %%, DAM-C %.0f %%; FA %.0f %%",
			100 * busy_share(&a[P_MIN].sum[RWS], 0),
			100 * busy_share(&a[P_MIN].sum[DAM_C], 0),
			100 * busy_share(&a[P_MIN].sum[FA], 0)));
	printf("\n");
}

static void set_dvfs(struct setup *a, double seconds)
{
	struct task_clock *c = &a->m.clock[a->m.n_clocks++];

	*c = (struct task_clock){
		.n_steps = 2, .hz = {2035e6, 345e6}, .seconds = {seconds, seconds}};
	coreset_add_range(&c->cores, 0, 1);
}

/* Section 5.2: the Denver cores' clock goes up and down. */
static void part_dvfs(void)
{
	/* 32 000 matrix products take 2 to 6 s here: they would not see the paper's 5 s twice. */
	static const double seconds[N_KERNELS] = {0.5, 5, 5};
	static const double gb_s[] = {10, 20, 40, 0};
	double first = 0;
	static struct task_summary sum[N_KERNELS][P_N][N_POLICIES];
	double m[N_KERNELS][N_POLICIES] = {{0}};
	static struct setup a;
	bool low = true;

	printf("The Denver cores run at 2035 MHz for 5 s and at 345 MHz for 5 s, in turn; in the\n"
	       "rows of matmul, whose tasks are done in 2 to 6 s, for half a second each.\n\n");
	for (int k = 0; k < N_KERNELS; k++) {
		print_table_head(text("%s, P", kernels[k].type));
		for (int p = P_MIN; p <= P_MAX; p++) {
			open_setup(&a, "tx2");
			add_kernel(&a, k);
			set_dvfs(&a, seconds[k]);
			run_layers(&a, kernels[k].tasks, p);
			print_arms(&a, text("%d", p));
			for (int q = 0; q < N_POLICIES; q++)
				m[k][q] += ratio(&a, q) / P_N;
			for (int q = 0; q < DAM_P && k == 1 && p <= 3; q++)
				low &= ratio(&a, DAM_P) > ratio(&a, q);
			memcpy(sum[k][p - P_MIN], a.sum, sizeof(a.sum));
			close_setup(&a);
		}
		printf("\n");
	}
	plot_kernels("das-fig7.svg", "DAS, figure 7: the Denver cores' clock changes",
		"2035 MHz and 345 MHz, 5 s each (matmul: 0.5 s)", sum);
	printf("How much of copy's is the memory's bandwidth (40 GB/s, two thirds of what its "
	       "parts "
	       "are sold\nfor; 20 was set first), P = 4:\n\n");
	print_table_head("GB/s");
	for (int i = 0; i < 4; i++) {
		open_setup(&a, "tx2");
		add_type(&a, "copy");
		set_dvfs(&a, 5);
		a.m.bytes_per_s = gb_s[i] * 1e9;
		run_layers(&a, kernels[1].tasks, 4);
		print_arms(&a, gb_s[i] > 0 ? text("%.0f", gb_s[i]) : "no limit");
		close_setup(&a);
	}
	for (int p = P_MIN; p <= P_MAX; p++) {
		open_setup(&a, "tx2");
		add_kernel(&a, 1);
		set_dvfs(&a, 5);
		a.m.bytes_per_s = 20e9;
		run_layers(&a, kernels[1].tasks, p);
		first += ratio(&a, DAM_C) / P_N;
		close_setup(&a);
	}
	print_rows_head();
	row("23", "copy: DAM-C 2.2 x RWS, 1.9 x RWSM-C, 1.17 x FA, 1.12 x FAM-C",
		"at least 1.3 x RWS, and above FA",
		verdict(m[1][DAM_C] >= 1.3 && m[1][DAM_C] > m[1][FA]),
		text("%.2f x RWS, %.2f x RWSM-C, %.2f x FA, %.2f x FAM-C, mean of P = 2 to 6",
			m[1][DAM_C], m[1][DAM_C] / m[1][RWSM], m[1][DAM_C] / m[1][FA],
			m[1][DAM_C] / m[1][FAM]));
	row("23", "the same with 20 GB/s, as first set", "at least 1.3 x RWS",
		verdict(first >= 1.3), text("%.2f x RWS, mean of P = 2 to 6", first));
	row("23", "DAM-P best at low parallelism", "best at P = 2, 3 (figure 7(b))", verdict(low),
		text("mean %.2f x RWS; the table has it by P", m[1][DAM_P]));
	row("23", "figure 7(a) and (c): the three dynamic ones above the others",
		"DA, DAM-C, DAM-P above RWS, RWSM-C, FA, FAM-C, mean of P = 2 to 6",
		verdict(fmin(fmin(m[0][DA], m[0][DAM_C]), m[0][DAM_P]) >
				fmax(fmax(m[0][RWSM], 1), fmax(m[0][FA], m[0][FAM])) &&
			fmin(fmin(m[2][DA], m[2][DAM_C]), m[2][DAM_P]) >
				fmax(fmax(m[2][RWSM], 1), fmax(m[2][FA], m[2][FAM]))),
		text("matmul FA %.2f, FAM-C %.2f, DA %.2f, DAM-C %.2f, DAM-P %.2f; stencil %.2f, "
		     "%.2f, %.2f, %.2f, %.2f x RWS",
			m[0][FA], m[0][FAM], m[0][DA], m[0][DAM_C], m[0][DAM_P], m[2][FA],
			m[2][FAM], m[2][DA], m[2][DAM_C], m[2][DAM_P]));
	printf("\n");
}

/* Section 5.3: weight of a sample, size of a task. */
static void part_weight(void)
{
	static const char *const spec[] = {"das-dam-c,weight=1", "das-dam-c,weight=2",
		"das-dam-c,weight=3", "das-dam-c,weight=4", "das-dam-c,weight=5"};
	static const int tile[] = {32, 64, 80, 96};
	double spread[4];

	printf("das-dam-c, matmul, P = 2, a program beside it on core 0; tasks/s by the weight of "
	       "a\n"
	       "sample. Work grows with the cube of the tile; what a clock reads too much does "
	       "not.\n\n| tile | 1/5 | 2/5 | 3/5 | 4/5 | 5/5 | spread "
	       "|\n|---|---|---|---|---|---|---|"
	       "\n");
	for (int t = 0; t < 4; t++) {
		double best = 0, worst = INFINITY;
		struct errbuf err = {""};
		struct setup a;

		open_setup(&a, "tx2");
		add_kernel(&a, 0)->seconds *= pow(tile[t] / 64.0, 3);
		disturb_in_slices(&a, 0);
		need(task_graph_layers(&a.g, 0, 1, kernels[0].tasks, 2, &err), &err);
		run_list(&a, spec, 5);
		printf("| %d |", tile[t]);
		for (int w = 0; w < 5; w++) {
			best = fmax(best, a.sum[w].tasks_per_s.mean);
			worst = fmin(worst, a.sum[w].tasks_per_s.mean);
			printf(" %.0f |", a.sum[w].tasks_per_s.mean);
		}
		spread[t] = best / worst - 1;
		printf(" %.1f %% |\n", 100 * spread[t]);
		close_setup(&a);
	}
	print_rows_head();
	row("24", "weight matters at tile 32 only, 1/5 best, spread 36 %", "-", "noted",
		text("spread %.1f, %.1f, %.1f, %.1f %%", 100 * spread[0], 100 * spread[1],
			100 * spread[2], 100 * spread[3]));
	printf("\n");
}

static const char reasons[] =
	"### Why targets are missed\n\n"
	"Presets were set before any policy ran on them. Changed after a first look: cores of a "
	"shared task\ntake blocks (8, as in XiTAO) and no longer divide it without grain, and the "
	"program beside K-means\nhas all of socket 0, as the paper's figure has it, after a trial "
	"with four of its cores. Changed\nafter targets 22, 23, 25, 31 and 33 were missed, each by "
	"a "
	"source:\n\n"
	"| what | first | now | source |\n|---|---|---|---|\n"
	"| a Denver in matmul | 2.2 A57 | 4 | figure 5(g): DAM-P takes (1,1) for 92 %, (2,4) for 4 "
	"% "
	"|\n"
	"| the program on core 0 | a steady half | slices of 9 ms | CFS in Linux 4.4 (section "
	"4.2.1): "
	"6 ms x (1 + log2 of the CPUs) for two |\n"
	"| the TX2's memory | 20 GB/s | 40 GB/s | two thirds of 59.7, as STREAM reaches on LPDDR4 "
	"(TI, "
	"SPRACV1B) |\n"
	"| Heat's exchange | 1 ms | 20 us | FDR InfiniBand (section 4.2.1) |\n"
	"| Heat's block | 2 ms, 40 % waiting | 0.4 ms, 50 % | 330 000 points, Haswell's cache and "
	"memory |\n\n"
	"What comes out as first set stands beside it. In the runtime modelled, critical tasks are "
	"taken\nbefore others and never stolen. What we believe:\n\n"
	"- 22, DAM-P: in slices core 0 is ours alone for half of the time, and then two Denver are "
	"faster than\n  one: (0,2) has two fifths of the critical tasks. The paper has a few at "
	"(2,4) "
	"instead.\n"
	"- 24: 1/5 is the best weight, as in the paper. A slice of 9 ms misleads samples of any "
	"tile, "
	"in the\n  paper of the smallest alone.\n"
	"- 32: with 40 parts on 16 cores the hit cores' last ordinary part ends an iteration, and "
	"ordinary parts\n  go where they are stolen; steering one that is twice as large changes "
	"nothing. Where the largest\n  part decides, DAM-P is the best beside the program, as in "
	"the "
	"paper, but 50 % slower after it than\n  before: places found slow are not tried again. "
	"With "
	"age=64, ours, they are, at a price beside it.\n"
	"- 25, 33: over RWS it is sure. DAM-C over RWSM-C is of means: runs of one policy fall "
	"into "
	"two states\n  by their seed, and the intervals overlap.\n";

static const struct {
	const char *name, *title;
	void (*print)(void);
} parts[] = {
	{"beside", "A program beside ours", part_interference},
	{"clocks", "Clocks that change", part_dvfs},
	{"weight", "Weight of a sample", part_weight},
	{"kmeans", "K-means", part_kmeans},
	{"heat", "Heat", part_heat},
};
#define N_PARTS ((int)(sizeof(parts) / sizeof(parts[0])))

static int usage(void)
{
	fputs("usage: dassim [--runs N] [--plots DIRECTORY] [PART...]\nparts:", stderr);
	for (int i = 0; i < N_PARTS; i++)
		fprintf(stderr, " %s", parts[i].name);
	fputs("\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	bool wanted[N_PARTS] = {false}, all = true;

	out_check_at_exit("dassim");
	for (int i = 1; i < argc; i++) {
		int p = 0;

		if (i + 1 < argc && strcmp(argv[i], "--runs") == 0) {
			runs = number_int("--runs", argv[++i]);
			continue;
		}
		if (i + 1 < argc && strcmp(argv[i], "--plots") == 0) {
			plots = argv[++i];
			continue;
		}
		while (p < N_PARTS && strcmp(parts[p].name, argv[i]) != 0)
			p++;
		if (p == N_PARTS)
			return usage();
		wanted[p] = true;
		all = false;
	}
	if (runs < 1 || runs > TASK_SEEDS_MAX)
		return usage();
	if (all)
		printf("## DAS (ICPP Workshops 2020): tasks on uneven cores\n\n"
		       "A simulated Jetson TX2: cores 0 and 1 Denver, 2 to 5 A57. Layers of P "
		       "tasks, "
		       "one of\nthem critical. Places are chosen by the engine's das-* "
		       "policies.\n\n");
	for (int p = 0; p < N_PARTS; p++) {
		if (!all && !wanted[p])
			continue;
		printf("### %s\n\n", parts[p].title);
		parts[p].print();
	}
	if (all)
		printf("%s", reasons);
	return fflush(stdout) ? 1 : 0;
}
