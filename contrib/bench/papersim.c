/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * papersim - re-runs on the simulated machine what the papers report, and prints a Markdown page:
 * target, what comes out, verdict. contrib/bench/papers writes doc/evaluation.md with it.
 *
 * Targets and what counts as met were written down before the model was; nothing in here feeds
 * back into it.
 */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/population_tables.h"
#include "nodesvc/sim/stats.h"

#define COMBOS 64 /* a gain of half a percent scatters by 1 % from one combination to the next */

struct arena {
	struct population population;
	struct topo *topo;
	struct machine_params params;
	struct machine m;
	struct eval e;
	struct drive_result *r;
};

static void need(int rc, const struct errbuf *err)
{
	if (!rc)
		return;
	fprintf(stderr, "papersim: %s\n", err->text);
	exit(1);
}

static void open_arena(struct arena *a, const char *population, uint64_t seed, int combos)
{
	struct errbuf err = {""};

	memset(a, 0, sizeof(*a));
	need(population_find(&a->population, population, &err), &err);
	machine_defaults(&a->params);
	population_machine(&a->population, &a->params);
	need(topo_load(&a->topo, a->population.topology, &err), &err);
	need(topo_set_domains(a->topo, a->population.domain, &err), &err);
	a->e = (struct eval){
		.population = &a->population,
		.m = &a->m,
		.seed = seed,
		.n_combos = combos,
		.n_jobs = a->population.n_jobs,
	};
	drive_defaults(&a->e.drive);
}

static void run_arena(struct arena *a, const char *const *policy, int n)
{
	struct errbuf err = {"out of memory"};

	free(a->r);
	machine_done(&a->m);
	need(machine_init(&a->m, a->topo, &a->params, &err), &err);
	a->r = calloc((size_t)(n * a->e.n_combos), sizeof(*a->r));
	need(a->r ? 0 : -1, &err);
	a->e.n_policies = n;
	memcpy(a->e.policy, policy, (size_t)n * sizeof(*policy));
	need(eval_run(&a->e, a->r, &err), &err);
}

static void close_arena(struct arena *a)
{
	free(a->r);
	machine_done(&a->m);
	topo_free(a->topo);
}

static const struct drive_result *result(const struct arena *a, int p, int k)
{
	return &a->r[p * a->e.n_combos + k];
}

static double stp(const struct arena *a, int p, int k)
{
	return drive_stp(result(a, p, k), a->population.base);
}

static double antt(const struct arena *a, int p, int k)
{
	return drive_antt(result(a, p, k), a->population.base);
}

typedef double (*figure_f)(const struct arena *a, int p, int k);

/* Mean of @of over combinations, policy @p against @q (-1: as it is), with its interval. */
static struct interval compare(const struct arena *a, figure_f of, int p, int q)
{
	double v[COMBOS + 64], base[COMBOS + 64];

	for (int k = 0; k < a->e.n_combos; k++) {
		v[k] = of(a, p, k);
		base[k] = q < 0 ? 1 : of(a, q, k);
	}
	return q < 0 ? stats_mean(v, a->e.n_combos, 1) : stats_gain(v, base, a->e.n_combos, 1);
}

static void row(
	const char *number, const char *target, const char *accept, bool met, const char *ours)
{
	printf("| %s | %s | %s | %s | %s |\n", number, target, ours, accept,
		met ? "met" : "**missed**");
}

static const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *text(const char *format, ...)
{
	static char buffer[4][256];
	static int next;
	char *at = buffer[next = (next + 1) % 4];
	va_list ap;

	va_start(ap, format);
	vsnprintf(at, sizeof(buffer[0]), format, ap);
	va_end(ap);
	return at;
}

static const char *gain_text(struct interval i)
{
	return text("%+.2f %% [%+.2f, %+.2f]", 100 * i.mean, 100 * i.low, 100 * i.high);
}

static void print_head(void)
{
	printf("| # | paper | simulated | accepted | verdict |\n|---|---|---|---|---|\n");
}

enum { LINUX, CALLISTO, RANDOM, STATIC, LIRA, DIO, COMPLEX, WORST, BEST, ORACLE, N_LIRA };
static const char *const lira_policies[N_LIRA] = {"linux", "callisto", "mean-static", "lira-static",
	"lira", "dio", "llc-complex", "worst-static", "best-static", "oracle"};

static void print_arms(const struct arena *a, const char *const *policy, int n)
{
	printf("| policy | STP | ANTT | STP against %s |\n|---|---|---|---|\n", policy[0]);
	for (int p = 0; p < n; p++) {
		struct interval s = compare(a, stp, p, -1), t = compare(a, antt, p, -1);

		printf("| %s | %.3f [%.3f, %.3f] | %.3f [%.3f, %.3f] | %s |\n", policy[p], s.mean,
			s.low, s.high, t.mean, t.low, t.high, gain_text(compare(a, stp, p, 0)));
	}
	printf("\n");
}

static void lira_rows(const struct arena *a, int callisto)
{
	struct interval fixed = compare(a, stp, STATIC, LINUX);
	struct interval adaptive = compare(a, stp, LIRA, LINUX);
	struct interval time = compare(a, antt, LIRA, LINUX), mean;
	int wins = 0, linux_wins = 0;
	double most = 0;

	row("1", "STP over libgomp: static 1.10, adaptive 1.13",
		"1.05 to 1.25, adaptive no worse than static - 0.5 %",
		fixed.mean > 0.05 && fixed.mean < 0.25 && adaptive.mean > 0.05 &&
			adaptive.mean < 0.25 && adaptive.mean >= fixed.mean - 0.005,
		text("%.3f, %.3f", 1 + fixed.mean, 1 + adaptive.mean));
	row("2", "ANTT -31 % against libgomp", "-10 to -40 %, and no smaller than the gain in STP",
		time.mean <= -0.10 && time.mean >= -0.40 && -time.mean >= adaptive.mean,
		gain_text(time));
	mean = compare(a, stp, LIRA, callisto);
	for (int k = 0; k < a->e.n_combos; k++) {
		double gain = stp(a, LIRA, k) / stp(a, callisto, k) - 1;

		wins += gain > 0;
		most = fmax(most, gain);
		linux_wins += stp(a, LINUX, k) > stp(a, LIRA, k) ||
			      stp(a, LINUX, k) > stp(a, callisto, k) ||
			      stp(a, LINUX, k) > stp(a, STATIC, k);
	}
	row("3", "adaptive over Callisto: mean +3 %, most +7 %, better in 30 of 32",
		"mean +0.5 to +4 %, most +2 to +8 %, better in 70 %",
		mean.mean >= 0.005 && mean.mean <= 0.04 && most >= 0.02 && most <= 0.08 &&
			wins >= 0.7 * a->e.n_combos,
		text("%s, most %+.1f %%, better in %d of %d", gain_text(mean), 100 * most, wins,
			a->e.n_combos));
	mean = compare(a, stp, STATIC, callisto);
	row("4", "static about as Callisto", "-1 to +3 %", mean.mean >= -0.01 && mean.mean <= 0.03,
		gain_text(mean));
	mean = compare(a, stp, callisto, LINUX);
	row("5", "Callisto over libgomp: STP about 1.097", "1.05 to 1.25",
		mean.mean >= 0.05 && mean.mean <= 0.25, text("%.3f", 1 + mean.mean));
	row("11", "libgomp best in three combinations of 32", "in at least one of 32",
		linux_wins * 32 >= a->e.n_combos, text("%d of %d", linux_wins, a->e.n_combos));
}

static void interval_row(struct arena *a)
{
	static const char *const policy[] = {"lira"}, *const fixed[] = {"lira-static"};
	static const double seconds[] = {0.1, 1, 5};
	double mean[4], spread[4];
	struct interval i;
	bool falls = true;

	for (int s = 0; s < 4; s++) {
		double sum = 0;

		if (s < 3)
			a->e.drive.sample_s = seconds[s];
		run_arena(a, s < 3 ? policy : fixed, 1);
		i = compare(a, stp, 0, -1);
		mean[s] = i.mean;
		for (int k = 0; k < a->e.n_combos; k++)
			sum += pow(stp(a, 0, k) - i.mean, 2);
		spread[s] = sqrt(sum / a->e.n_combos);
		/* 0.1 % is what one seed differs from another. */
		falls &= s == 0 || mean[s] <= mean[s - 1] * 1.001;
	}
	a->e.drive.sample_s = 0.2;
	row("9", "scheduler every 0.1, 1, 5 s, static: medians alike, static worst",
		"no rise beyond noise", falls,
		text("STP %.3f, %.3f, %.3f, %.3f (deviation %.3f, %.3f, %.3f, %.3f)", mean[0],
			mean[1], mean[2], mean[3], spread[0], spread[1], spread[2], spread[3]));
}

static void part_lira(void)
{
	static const char *const sets[] = {"assumed", "measured", "none"};
	struct arena a;

	open_arena(&a, "lira", 1, COMBOS);
	run_arena(&a, lira_policies, N_LIRA);
	printf("## LIRA (ROSS 2015): %d combinations of 4 of 18 archetypes, 2 sockets of 8\n\n",
		COMBOS);
	print_arms(&a, lira_policies, N_LIRA);
	printf("Against each program alone on its share of four cores. mean-static is a random\n"
	       "mapping of whole quarters of a socket: what section 2 of the paper says Callisto\n"
	       "generally does. The policy callisto deals out single cores at random, so that "
	       "most\n"
	       "programs span both sockets.\n\n");
	printf("Callisto as the policy of that name:\n\n");
	print_head();
	lira_rows(&a, CALLISTO);
	printf("\nCallisto as mean-static:\n\n");
	print_head();
	lira_rows(&a, RANDOM);
	interval_row(&a);
	printf("\nTargets 7 and 8 (figures 2 and 3) are checked by tests/unit/test_sim_shape.\n\n");
	for (int s = 0; s < 3; s++) {
		machine_penalties(sets[s], &a.params.penalties);
		run_arena(&a, lira_policies, STATIC);
		printf("- penalties %s: mean-static over linux %s\n", sets[s],
			gain_text(compare(&a, stp, RANDOM, LINUX)));
	}
	machine_penalties("assumed", &a.params.penalties);
	a.params.numa = NUMA_STICKY;
	run_arena(&a, lira_policies, N_LIRA);
	printf("\n### Pages that stay where a program first ran\n\n");
	print_arms(&a, lira_policies, N_LIRA);
	close_arena(&a);
}

enum { S_LINUX, S_FAIR, S_BASE, S_PP, S_CD, S_BEST, N_SBMP };
static const char *const sbmp_policies[N_SBMP] = {
	"linux", "fair", "sbmp", "sbmp-pp", "sbmp-cd", "best-static"};

/* Tables 4 to 6 of SBMP, by their first two letters. */
static const char *const table4[] = {
	"bocadest", "bocafest", "bocarast", "cadefest", "caderast", "caferast"};
static const char *const table5[] = {"bocafefr", "bocafrx2", "bofefrst", "bofrstx2", "cadefefr",
	"cadefrx2", "cafefrra", "cafrrax2", "defefrst", "defrstx2", "fefrrast", "frrastx2",
	"bocafex2", "bofestx2", "cadefex2", "caferax2", "defestx2", "ferastx2"};
static const char *const table6[] = {"bodefefr", "bodefex2", "bodefrra", "bodefrx2", "bocadefr",
	"bodefrst", "bodefera", "boderax2", "bocadefe", "bocadera", "bocadex2", "bodefest",
	"boderast", "bodestx2"};

static int compare_names(const void *x, const void *y)
{
	return strcmp(((const struct program *)x)->name, ((const struct program *)y)->name);
}

static void workload_name(const struct arena *a, int k, char ret[9])
{
	struct program p[4];

	population_combo(&a->population, a->e.seed, k, 4, p, NULL);
	qsort(p, 4, sizeof(p[0]), compare_names);
	snprintf(ret, 9, "%.2s%.2s%.2s%.2s", p[0].name, p[1].name, p[2].name, p[3].name);
}

/* Mean ANTT per policy over the workloads of a table (NULL: all). */
static void table_means(const struct arena *a, const char *const *names, int n, double *ret)
{
	int found = 0;

	memset(ret, 0, N_SBMP * sizeof(*ret));
	for (int k = 0; k < a->e.n_combos; k++) {
		char name[9];
		bool in = names == NULL;

		workload_name(a, k, name);
		for (int i = 0; i < n; i++)
			in |= strcmp(names[i], name) == 0;
		if (!in)
			continue;
		found++;
		for (int p = 0; p < N_SBMP; p++)
			ret[p] += antt(a, p, k);
	}
	for (int p = 0; p < N_SBMP; p++)
		ret[p] /= found;
	if (names && found != n)
		fprintf(stderr, "papersim: %d of %d workloads found\n", found, n);
}

static const char *means_text(const double *m)
{
	return text("linux %.2f, base %.2f, pp %.2f, cd %.2f, fair %.2f, best static %.2f",
		m[S_LINUX], m[S_BASE], m[S_PP], m[S_CD], m[S_FAIR], m[S_BEST]);
}

static void sbmp_rows(const struct arena *a)
{
	double m[N_SBMP], least[N_SBMP];
	int lowest = S_BASE;

	table_means(a, table4, 6, m);
	row("13", "table 4: Linux 1.88, base 1.54", "base/Linux 0.70 to 0.90",
		m[S_BASE] / m[S_LINUX] >= 0.7 && m[S_BASE] / m[S_LINUX] <= 0.9, means_text(m));
	table_means(a, table5, 18, m);
	row("14", "table 5: Linux 1.89, base 2.09, PP 1.77", "PP < base, base >= 0.97 Linux",
		m[S_PP] < m[S_BASE] && m[S_BASE] >= 0.97 * m[S_LINUX], means_text(m));
	table_means(a, table6, 14, m);
	row("15", "table 6: Linux 2.06, PP 1.68, CD 1.60", "CD < PP < Linux",
		m[S_CD] < m[S_PP] && m[S_PP] < m[S_LINUX], means_text(m));
	table_means(a, NULL, 0, m);
	for (int p = 0; p < N_SBMP; p++) {
		least[p] = INFINITY;
		for (int k = 0; k < a->e.n_combos; k++)
			least[p] = fmin(least[p], antt(a, p, k));
	}
	for (int p = S_LINUX; p <= S_CD; p++)
		if (p != S_FAIR && least[p] < least[lowest])
			lowest = p;
	row("16", "all 70: Linux 1.83, base 1.99, PP 1.70, CD 1.65; lowest ANTT is base's",
		"CD < PP < Linux, base/Linux 0.95 to 1.15, lowest is base's",
		m[S_CD] < m[S_PP] && m[S_PP] < m[S_LINUX] && m[S_BASE] / m[S_LINUX] >= 0.95 &&
			m[S_BASE] / m[S_LINUX] <= 1.15 && lowest == S_BASE,
		text("%s; lowest %s %.2f", means_text(m), sbmp_policies[lowest], least[lowest]));
}

static void figure1(struct arena *a)
{
	static const char *const names[] = {"ca", "fe", "ra", "st"};
	static const int paper[] = {12, 18, 12, 6};
	static const char *const arms[] = {"linux", "best-static"};
	struct run_spec spec[4] = {{0}};
	struct drive d = a->e.drive;
	struct drive_result r[2];
	struct statics s;
	struct errbuf err = {""};
	bool same = true;
	int cores[4];
	double ratio;

	for (int i = 0; i < 4; i++)
		for (int k = 0; k < POPULATION_PARSEC; k++)
			if (strcmp(population_parsec[k].name, names[i]) == 0)
				spec[i].program = &population_parsec[k];
	d.m = &a->m;
	d.spec = spec;
	d.n_jobs = 4;
	d.objective = OBJECTIVE_ANTT;
	for (int p = 0; p < 2; p++) {
		d.policy = arms[p];
		need(drive_run(&d, &r[p], &err), &err);
	}
	need(statics_list(&s, a->topo, 4, &err), &err);
	for (int i = 0; i < 4; i++) {
		cores[i] = coreset_count(&s.place[r[1].chosen * 4 + i].own);
		same &= cores[i] == paper[i];
	}
	statics_done(&s);
	ratio = drive_antt(&r[0], NTT_BEST) / drive_antt(&r[1], NTT_BEST);
	row("12", "figure 1: Linux 2.04, best static 1.38 with ca 12, fe 18, ra 12, st 6",
		"Linux/best 1.25 to 1.6, exactly that allocation",
		same && ratio >= 1.25 && ratio <= 1.6,
		text("Linux %.2f, best static %.2f with ca %d, fe %d, ra %d, st %d",
			drive_antt(&r[0], NTT_BEST), drive_antt(&r[1], NTT_BEST), cores[0],
			cores[1], cores[2], cores[3]));
}

static void part_sbmp(void)
{
	static const char *const sets[] = {"assumed", "measured", "none"};
	struct arena a;

	open_arena(&a, "parsec", 1, 70);
	a.e.drive.most_s = 1500;
	printf("\n## SBMP (PACT 2012): its 70 workloads, 48 cores in 8 dies\n\n"
	       "ANTT against each program alone on its best width. Scalability of bo, de, fr and\n"
	       "x2 and all phase lengths are assumptions.\n\n");
	for (int s = 0; s < 3; s++) {
		machine_penalties(sets[s], &a.params.penalties);
		run_arena(&a, sbmp_policies, N_SBMP);
		printf("Penalties %s:\n\n", sets[s]);
		print_head();
		figure1(&a);
		sbmp_rows(&a);
		printf("\n");
	}
	close_arena(&a);
}

static void part_held_out(void)
{
	static const struct {
		const char *population;
		uint64_t seed;
	} table[] = {{"latent", 101}, {"latent", 102}, {"latent", 103}, {"adversarial", 101}};
	struct arena a;

	printf("## Populations that no policy was made for\n\n");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		open_arena(&a, table[i].population, table[i].seed, COMBOS);
		run_arena(&a, lira_policies, N_LIRA);
		printf("### %s, seed %llu\n\n", table[i].population,
			(unsigned long long)table[i].seed);
		print_arms(&a, lira_policies, N_LIRA);
		close_arena(&a);
	}
}

/* The order of the arms when one constant of the machine is off by 30 % either way. */
static void part_stability(void)
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

static void print_reasons(void)
{
	printf("## Why targets are missed\n\n"
	       "Nothing was tuned after these figures were known; before, one parameter of the "
	       "LIRA "
	       "archetypes\n(how much passive waiting feels shared cores) was lowered after a "
	       "trial of "
	       "four combinations, which\nmakes Linux better. What we believe:\n\n"
	       "- 2: under Linux all programs of the model lose about alike; the paper's gap in "
	       "ANTT against STP\n  needs single victims that lose a lot.\n"
	       "- 3 to 5 with the policy callisto: programs of four cores nearly always span both "
	       "sockets there,\n  and pay for talking across. With whole quarters (mean-static) "
	       "they are met.\n"
	       "- 11 with mean-static: the model charges a runtime nothing for deciding, so there "
	       "is no overhead\n  for Linux to win by.\n"
	       "- 14 and 16: the paper's base suffers from predictions made in a passing phase. "
	       "The "
	       "model's x264\n  and freqmine start in the phase that fills most of their time, so "
	       "a "
	       "prediction at the start\n  is right; phase lengths and order are assumptions of "
	       "ours. sbmp also allocates exactly, where\n  the paper climbs hills.\n"
	       "- 15 and table 6: programs that sleep much cost their neighbours little in the "
	       "model; on the\n  paper's machine Linux lost more (2.06).\n"
	       "- Penalties decide about Linux: with none it beats every partition on SBMP's "
	       "workloads (16), with\n  the set measured on two cores, where spinning programs "
	       "lose whole time slices, it is far behind.\n  So the size of the gain over Linux is "
	       "not shown by this model; the order of the others is not\n  touched by it.\n\n");
}

int main(void)
{
	printf("# Evaluation on the simulated machine\n\n"
	       "Every figure on this page is *simulated*: it follows from the model in "
	       "nodesvc/sim/, "
	       "most of\nwhose constants are assumptions, not from a measurement. "
	       "`contrib/bench/papers` writes the page anew.\n"
	       "Targets that are missed stay in the tables. Intervals are 95 %% bootstrap "
	       "intervals "
	       "over\ncombinations, paired where two policies are compared.\n\n");
	part_lira();
	part_sbmp();
	part_held_out();
	part_stability();
	print_reasons();
	printf("## Not re-run\n\n"
	       "Targets 10 (interval of counter samples: here samples and decisions come "
	       "together), "
	       "22 to 25\n(DAS: needs a task level), 26 (LLC complex) and 27 (MAPPER): their "
	       "program "
	       "sets are not modelled.\n");
	return fflush(stdout) ? 1 : 0;
}
