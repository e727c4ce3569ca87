/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/papersim/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void need(int rc, const struct errbuf *err)
{
	if (!rc)
		return;
	fprintf(stderr, "papersim: %s\n", err->text);
	exit(1);
}

void open_arena(struct arena *a, const char *population, uint64_t seed, int combos)
{
	struct errbuf err = {""};

	memset(a, 0, sizeof(*a));
	need(population_find(&a->population, population, &err), &err);
	machine_defaults(&a->params);
	population_machine(&a->population, &a->params);
	need(machine_topology(&a->topo, a->population.topology, &err), &err);
	need(topo_set_domains(a->topo, a->population.domain, &err), &err);
	a->e = (struct eval){
		.population = &a->population,
		.m = &a->m,
		.seed = seed,
		.n_combos = combos,
		.n_jobs = a->population.n_jobs,
		.threads = a->population.threads,
	};
	drive_defaults(&a->e.drive);
}

void run_arena(struct arena *a, const char *const *policy, int n)
{
	struct errbuf err = {"out of memory"};

	free(a->r);
	machine_done(&a->m);
	need(machine_init(&a->m, a->topo, &a->params, &err), &err);
	a->r = calloc((size_t)n * (size_t)a->e.n_combos, sizeof(*a->r));
	need(a->r ? 0 : -1, &err);
	a->e.n_policies = n;
	memcpy(a->e.policy, policy, (size_t)n * sizeof(*policy));
	need(eval_run(&a->e, a->r, &err), &err);
}

void close_arena(struct arena *a)
{
	free(a->r);
	machine_done(&a->m);
	topo_free(a->topo);
}

double stp(const struct arena *a, int p, int k)
{
	return drive_stp(&a->r[p * a->e.n_combos + k], a->population.base);
}

double antt(const struct arena *a, int p, int k)
{
	return drive_antt(&a->r[p * a->e.n_combos + k], a->population.base);
}

void collect(const struct arena *a, figure_f of, int p, double *ret)
{
	for (int k = 0; k < a->e.n_combos; k++)
		ret[k] = of(a, p, k);
}

void collect_gain(const struct arena *a, figure_f of, int p, int q, double *ret)
{
	for (int k = 0; k < a->e.n_combos; k++)
		ret[k] = 100 * (of(a, p, k) / of(a, q, k) - 1);
}

struct interval compare(const struct arena *a, figure_f of, int p, int q)
{
	double v[COMBOS_MAX], base[COMBOS_MAX];

	collect(a, of, p, v);
	if (q < 0)
		return stats_mean(v, a->e.n_combos, 1);
	collect(a, of, q, base);
	return stats_gain(v, base, a->e.n_combos, 1);
}

const char *text(const char *format, ...)
{
	static char buffer[8][320];
	static int next;
	char *at = buffer[next = (next + 1) % 8];
	va_list ap;

	va_start(ap, format);
	vsnprintf(at, sizeof(buffer[0]), format, ap);
	va_end(ap);
	return at;
}

const char *gain_text(struct interval i)
{
	return text("%+.2f %% [%+.2f, %+.2f]", 100 * i.mean, 100 * i.low, 100 * i.high);
}

const char *name_of(const char *policy)
{
	return text("%.*s", (int)strcspn(policy, ","), policy);
}

void print_head(void)
{
	printf("| # | paper | simulated | accepted | verdict |\n|---|---|---|---|---|\n");
}

void print_row(
	const char *number, const char *target, const char *ours, const char *accept, bool met)
{
	printf("| %s | %s | %s | %s | %s |\n", number, target, ours, accept,
		met ? "met" : "**missed**");
}

void print_arms(const struct arena *a, const char *const *policy, int n)
{
	printf("| policy | STP | ANTT | STP against %s |\n|---|---|---|---|\n", policy[0]);
	for (int p = 0; p < n; p++) {
		struct interval s = compare(a, stp, p, -1), t = compare(a, antt, p, -1);

		printf("| %s | %.3f [%.3f, %.3f] | %.3f [%.3f, %.3f] | %s |\n", name_of(policy[p]),
			s.mean, s.low, s.high, t.mean, t.low, t.high,
			gain_text(compare(a, stp, p, 0)));
	}
	printf("\n");
}

const char *verdict(bool met)
{
	return met ? "met" : "**missed**";
}

void print_figures_head(const char *paper)
{
	printf("## %s: every figure and table\n\n"
	       "| figure | paper | simulated | verdict | command |\n|---|---|---|---|---|\n",
		paper);
}

void print_figure(const char *number, const char *paper, const char *ours, const char *said,
	const char *command)
{
	printf("| %s | %s | %s | %s | %s |\n", number, paper, ours, said, command);
}

const struct program *program_named(const struct program *list, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	fprintf(stderr, "papersim: no program %s\n", name);
	exit(1);
}

void run_fixed(const struct machine *m, const struct run_spec *spec, const struct place *place,
	int n, int runs, struct drive_result *ret)
{
	struct errbuf err = {""};
	struct run *r;
	int who, least = 0;

	need(run_create(&r, m, spec, n, &err), &err);
	run_place(r, place, NULL, 0);
	while (r->now_s < FIXED_MOST_S && least < runs) {
		run_advance(r, FIXED_MOST_S, &who);
		least = r->job[0].runs;
		for (int i = 1; i < n; i++)
			least = r->job[i].runs < least ? r->job[i].runs : least;
	}
	memset(ret, 0, sizeof(*ret));
	ret->n_jobs = n;
	ret->elapsed_s = r->now_s;
	for (int i = 0; i < n; i++) {
		const struct run_job *j = &r->job[i];

		ret->job[i].runs = j->runs;
		ret->job[i].ntt_all = j->present_s / j->all_s;
		ret->job[i].ntt_best = j->present_s / j->best_s;
		ret->job[i].ntt_share = j->present_s / j->share_s;
	}
	run_free(r);
}
