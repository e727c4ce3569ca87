/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds for every population, seed and topology, also those that nobody looked at: results
 * are complete, finite and ordered, and best static is what an enumeration of its own finds.
 */
#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/population_tables.h"
#include "nodesvc/sim/sensitivity.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	"lira", "parsec", "latent", "adversarial", "measured", "spec-wl", "mapper"};
#define N_NAMES ((int)(sizeof(names) / sizeof(names[0])))
/* The papers' three, one with packages of unlike size, one of a single domain. */
static const char *const topologies[] = {"pack:2 core:8 pu:1", "pack:4 l3:2 core:6 pu:1",
	"pack:4 core:10 pu:2", "pack:1 core:4 pu:1", "numa:3 core:3 pu:2"};
#define N_TOPOLOGIES ((int)(sizeof(topologies) / sizeof(topologies[0])))

static struct topo *topo;
static struct machine_params params;
static struct machine machine;
static struct population population;
static struct eval eval;

static void set_up(const char *name, const char *topology, uint64_t seed, int combos)
{
	struct errbuf err = {""};

	ck_assert_msg(population_find(&population, name, &err) == 0, "%s", err.text);
	machine_defaults(&params);
	population_machine(&population, &params);
	if (!topology)
		topology = population.topology;
	ck_assert_msg(topo_load(&topo, topology, &err) == 0, "%s", err.text);
	ck_assert_int_eq(
		topo_set_domains(topo, strstr(topology, "l3") ? TOPO_L3 : TOPO_AUTO, &err), 0);
	ck_assert_int_eq(machine_init(&machine, topo, &params, &err), 0);
	eval = (struct eval){
		.population = &population,
		.m = &machine,
		.seed = seed,
		.n_combos = combos,
		.n_jobs = population.n_jobs,
		.workers = 1,
	};
	drive_defaults(&eval.drive);
}

static void tear_down(void)
{
	machine_done(&machine);
	topo_free(topo);
}

static struct drive_result *run_policies(int n, const char *const *policy)
{
	struct drive_result *r = calloc((size_t)n * (size_t)eval.n_combos, sizeof(*r));
	struct errbuf err = {""};

	ck_assert_ptr_nonnull(r);
	eval.n_policies = n;
	memcpy(eval.policy, policy, (size_t)n * sizeof(*policy));
	ck_assert_msg(eval_run(&eval, r, &err) == 0, "%s", err.text);
	return r;
}

/* Higher is better: what best static and oracle are the best of. */
static double value(const struct drive_result *r)
{
	return population.objective == OBJECTIVE_STP ? drive_stp(r, NTT_SHARE)
						     : -drive_antt(r, NTT_BEST);
}

static void check_finite(const struct drive_result *r, const char *policy)
{
	ck_assert_msg(isfinite(r->elapsed_s) && r->elapsed_s > 0, "%s: %g s", policy, r->elapsed_s);
	ck_assert_int_eq(r->n_jobs, eval.n_jobs);
	for (int i = 0; i < r->n_jobs; i++)
		for (int base = NTT_ALL; base <= NTT_SHARE; base++) {
			double ntt = drive_ntt(r, i, (enum ntt_base)base);

			ck_assert_msg(isfinite(ntt) && ntt > 0.05 && ntt < 500, "%s: ntt %g",
				policy, ntt);
		}
}

/* 35 pairs of population and topology; each with a seed of its own. */
START_TEST(results_are_complete_finite_and_ordered)
{
	static const char *const policy[] = {"worst-static", "mean-static", "best-static", "oracle",
		"alternate", "linux", "fair", "spread", "callisto", "lira", "lira-static", "dio",
		"llc-complex", "sbmp", "sbmp-cd", "gang", "mapper", "hillclimb"};
	enum { N = sizeof(policy) / sizeof(policy[0]), COMBOS = 2 };
	const char *name = names[_i % N_NAMES], *topology = topologies[_i / N_NAMES];
	struct drive_result *r;

	set_up(name, topology, 1000 + 17 * (uint64_t)_i, COMBOS);
	r = run_policies(N, policy);
	for (int k = 0; k < COMBOS; k++) {
		double v[4];

		for (int p = 0; p < N; p++)
			check_finite(&r[p * COMBOS + k], policy[p]);
		for (int p = 0; p < 4; p++)
			v[p] = value(&r[p * COMBOS + k]);
		ck_assert_double_le(v[0], v[1] + 1e-9);
		ck_assert_double_le(v[1], v[2] + 1e-9);
		ck_assert_double_le(v[2], v[3] + 1e-9);
	}
	free(r);
	tear_down();
}
END_TEST

static double run_by_hand(const struct run_spec *spec, struct place *place)
{
	struct drive_result r = {.n_jobs = eval.n_jobs};
	struct run *run;
	int who;

	ck_assert_int_eq(run_create(&run, &machine, spec, eval.n_jobs, NULL), 0);
	run_place(run, place, NULL, 0);
	for (bool over = false; !over && run->now_s < eval.drive.most_s;) {
		run_advance(run, eval.drive.most_s, &who);
		over = true;
		for (int i = 0; i < eval.n_jobs; i++)
			over &= run->job[i].runs >= eval.drive.min_runs;
	}
	for (int i = 0; i < eval.n_jobs; i++) {
		r.job[i].ntt_best = run->job[i].present_s / run->job[i].best_s;
		r.job[i].ntt_share = run->job[i].present_s / run->job[i].share_s;
	}
	run_free(run);
	return value(&r);
}

static void give(struct place *p, int domain, int first, int n)
{
	p->active = true;
	for (int c = first; c < first + n; c++)
		coreset_or(&p->own, &p->own,
			&topo->core[topo->domain_core[topo->domain[domain].first_core + c]].pus);
}

/* Members of a domain get equal parts, the first ones what is left over. */
static bool place_grouping(const int *domain_of, struct place *place)
{
	int n = eval.n_jobs, least = n, most = 0;

	memset(place, 0, (size_t)n * sizeof(*place));
	for (int d = 0; d < topo->n_domains; d++) {
		int members = 0, cores = topo->domain[d].n_cores, at = 0, k = 0;

		for (int i = 0; i < n; i++)
			members += domain_of[i] == d;
		least = members < least ? members : least;
		most = members > most ? members : most;
		for (int i = 0; i < n; i++) {
			int part = members ? cores / members + (k < cores % members) : 0;

			if (domain_of[i] != d)
				continue;
			give(&place[i], d, at, part);
			at += part;
			k++;
		}
	}
	/* Where the population's runtime fills: in each other's idle time (ROSS 2015, 5.2). */
	for (int i = 0; i < n && population.fill; i++)
		for (int j = 0; j < n; j++)
			if (j != i && domain_of[j] == domain_of[i]) {
				place[i].lent[place[i].n_lent].coreset = place[j].own;
				place[i].lent[place[i].n_lent++].donor = j;
			}
	return most - least <= 1;
}

/* Counts through all S^N maps of jobs to domains, or all lists of N lengths that sum to S. */
static double enumerate(const struct run_spec *spec, int *ret_n)
{
	int n = eval.n_jobs, domains = topo->n_domains, digit[8] = {0};
	bool grouped = n > domains;
	double best = -INFINITY;

	*ret_n = 0;
	for (;;) {
		struct place place[8];
		bool fits;
		int i = 0;

		if (grouped) {
			fits = place_grouping(digit, place);
		} else {
			int sum = 0;

			memset(place, 0, sizeof(place));
			for (int j = 0; j < n; j++)
				sum += digit[j] + 1;
			fits = sum == domains;
			for (int j = 0, d = 0; fits && j < n; j++)
				for (int u = 0; u <= digit[j]; u++, d++)
					give(&place[j], d, 0, topo->domain[d].n_cores);
		}
		if (fits) {
			best = fmax(best, run_by_hand(spec, place));
			++*ret_n;
		}
		while (i < n && ++digit[i] == domains)
			digit[i++] = 0;
		if (i == n)
			return best;
	}
}

START_TEST(best_static_is_what_an_enumeration_of_its_own_finds)
{
	static const char *const policy[] = {"best-static", "oracle", "worst-static"};
	static const struct {
		const char *name, *topology;
		uint64_t seed;
		int jobs, placements;
	} table[] = {
		/* All maps count, so each pairing twice: C(4,2). */
		{"lira", "pack:2 core:8 pu:1", 7001, 4, 6},
		{"latent", "pack:2 core:8 pu:1", 7002, 4, 6},
		{"adversarial", "pack:2 core:8 pu:1", 7003, 4, 6},
		{"measured", "pack:2 core:8 pu:1", 7004, 4, 6},
		{"spec-wl", "pack:2 core:4 pu:1", 7005, 4, 6},
		{"mapper", "pack:2 core:10 pu:2", 7006, 4, 6},
		{"lira", "pack:3 core:4 pu:1", 7007, 5, 90},
		/* C(7,3) ways to deal 8 dies to 4. */
		{"parsec", "pack:4 l3:2 core:6 pu:1", 7008, 4, 35},
		{"mapper", "pack:4 l3:2 core:6 pu:1", 7009, 4, 35},
		{"measured", "pack:4 l3:2 core:6 pu:1", 7010, 3, 21},
	};
	struct program program[8];
	struct run_spec spec[8];
	struct drive_result *r;
	double best;
	int n;

	set_up(table[_i].name, table[_i].topology, table[_i].seed, 2);
	eval.n_jobs = table[_i].jobs;
	r = run_policies(3, policy);
	for (int k = 0; k < 2; k++) {
		ck_assert_int_eq(population_combo(&population, table[_i].seed, k, eval.n_jobs,
					 program, NULL),
			0);
		for (int i = 0; i < eval.n_jobs; i++)
			spec[i] = (struct run_spec){
				.program = &program[i], .threads = population.threads};
		best = enumerate(spec, &n);
		ck_assert_int_eq(n, table[_i].placements);
		ck_assert_double_eq_tol(value(&r[k]), best, 1e-9);
		ck_assert_double_ge(value(&r[2 + k]), best - 1e-9);
		ck_assert_double_le(value(&r[4 + k]), best + 1e-9);
	}
	free(r);
	tear_down();
}
END_TEST

START_TEST(the_same_seed_gives_the_same_bytes_with_any_number_of_workers)
{
	static const char *const policy[] = {"lira", "mapper", "linux", "best-static"};
	struct drive_result *one, *many;

	set_up(names[_i], NULL, 60 + (uint64_t)_i, 4);
	eval.drive.most_s = 60;
	one = run_policies(4, policy);
	eval.workers = 5;
	many = run_policies(4, policy);
	ck_assert_mem_eq(one, many, 16 * sizeof(*one));
	free(one);
	free(many);
	tear_down();
}
END_TEST

/* Tian et al., table 2, in the order in which they start there. */
START_TEST(spec_wl_is_the_papers_two_workloads)
{
	static const char *const wanted[2][4] = {
		{"410", "416", "429", "444"}, {"445", "450", "453", "482"}};
	struct program p[4];

	set_up("spec-wl", NULL, 1, 1);
	ck_assert_int_eq(population.threads, 1);
	for (int k = 0; k < 6; k++) {
		ck_assert_int_eq(population_combo(&population, 5, k, 4, p, NULL), 0);
		for (int i = 0; i < 4; i++) {
			int n = atoi(wanted[k % 2][i]);
			bool large = n == 429 || n == 450 || n == 482;

			ck_assert_str_eq(p[i].name, wanted[k % 2][i]);
			ck_assert_int_eq(program_check(&p[i], NULL), 0);
			ck_assert_int_eq(p[i].phase[0].refs > 0.005, large);
		}
	}
	tear_down();
}
END_TEST

/* Section 2.2: the first program to socket 1, the second to socket 2, the third to socket 1. */
START_TEST(alternate_goes_round_the_sockets_in_order_of_start)
{
	static const int core_of[4][2] = {{0, 1}, {4, 5}, {2, 3}, {6, 7}};
	struct place p[4] = {{0}};

	set_up("spec-wl", NULL, 1, 1);
	ck_assert_int_eq(statics_alternate(p, topo, 4, NULL), 0);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(coreset_count(&p[i].own), 2);
		ck_assert(coreset_has(&p[i].own, (unsigned int)core_of[i][0]));
		ck_assert(coreset_has(&p[i].own, (unsigned int)core_of[i][1]));
	}
	tear_down();
}
END_TEST

START_TEST(mapper_has_one_program_of_each_suite)
{
	struct program p[4];

	set_up("mapper", NULL, 1, 1);
	for (int k = 0; k < 20; k++) {
		int parsec = 0, drawn[3] = {0};

		ck_assert_int_eq(population_combo(&population, 9, k, 4, p, NULL), 0);
		for (int i = 0; i < 4; i++) {
			ck_assert_int_eq(program_check(&p[i], NULL), 0);
			for (int q = 0; q < POPULATION_PARSEC; q++)
				parsec += strcmp(p[i].name, population_parsec[q].name) == 0;
			drawn[0] += strncmp(p[i].name, "nas", 3) == 0;
			drawn[1] += strncmp(p[i].name, "ompscr", 6) == 0;
			drawn[2] += strncmp(p[i].name, "graphchi", 8) == 0;
		}
		ck_assert_int_eq(parsec, 1);
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(drawn[i], 1);
	}
	tear_down();
}
END_TEST

START_TEST(every_changed_program_is_still_sound)
{
	static const double factor[] = {0.1, 0.7, 1.3, 1.9};
	struct errbuf err = {""};
	struct program p[4];
	int n = 0;

	set_up(names[_i], NULL, 1, 1);
	for (int what = 0; parameter_name(what); what++) {
		n += parameter_is_program(what);
		for (int k = 0; k < 32; k++) {
			struct program before;

			ck_assert_int_eq(population_combo(&population, 3, k / 4, 4, p, NULL), 0);
			before = p[1];
			parameter_change_program(what, factor[k % 4], &p[1]);
			ck_assert_msg(program_check(&p[1], &err) == 0, "%s: %s",
				parameter_name(what), err.text);
			if (!parameter_is_program(what))
				ck_assert_mem_eq(&before, &p[1], sizeof(before));
		}
	}
	/* Every number of struct phase but beta, which is what the others leave. */
	ck_assert_int_eq(n, 14);
	tear_down();
}
END_TEST

START_TEST(every_constant_of_the_machine_is_changed_and_stays_in_bounds)
{
	struct machine_params p, q;
	int n = 0;

	for (int what = 1; parameter_name(what); what++) {
		if (parameter_is_program(what))
			continue;
		n++;
		machine_defaults(&p);
		p.llc_bytes = 20e6;
		q = p;
		parameter_change_machine(what, 1.3, &q);
		/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): a copy */
		ck_assert_msg(memcmp(&p, &q, sizeof(p)) != 0, "%s", parameter_name(what));
		ck_assert(q.remote >= 1 && q.smt_cpi >= 1 && q.smt_cpi <= 2 && q.fill <= 1);
	}
	ck_assert_int_eq(n, 12);
}
END_TEST

START_TEST(sensitivity_begins_with_nothing_changed)
{
	static const char *const policy[] = {"mean-static", "best-static", "linux"};
	struct sensitivity_row *row;
	struct drive_result *r;
	double gain = 0;
	int n, parameters = 0;

	set_up("lira", NULL, 4, 4);
	eval.drive.most_s = 60;
	r = run_policies(3, policy);
	for (int k = 0; k < 4; k++)
		gain += (drive_stp(&r[4 + k], NTT_SHARE) / drive_stp(&r[k], NTT_SHARE) - 1) / 4;
	ck_assert_int_eq(sensitivity_run(&eval, topo, &params, 0.3, &row, &n, NULL), 0);
	while (parameter_name(parameters))
		parameters++;
	ck_assert_int_eq(n, 2 * parameters - 1);
	ck_assert_double_eq_tol(row[0].gain[1].mean, gain, 1e-12);
	ck_assert_int_eq(row[0].rank[1], 1);
	for (int i = 0; i < n; i++) {
		ck_assert(isfinite(row[i].gain[1].mean) && isfinite(row[i].gain[2].mean));
		ck_assert_double_eq(row[i].gain[0].mean, 0);
		/* Best static is best of its kind whatever the constants are. */
		ck_assert_double_ge(row[i].gain[1].mean, -1e-9);
		ck_assert_double_le(fabs(row[i].tau), 1);
	}
	ck_assert_double_eq(row[0].tau, 1);
	ck_assert_int_eq(row[0].reversals, 0);
	free(row);
	free(r);
	tear_down();
}
END_TEST

/* 24 of 64 are more choices than a long can hold on the way. */
START_TEST(many_programs_give_distinct_ones)
{
	static struct program program[64];
	struct program got[64];
	struct population p = {.program = program, .n_programs = 64};
	struct errbuf err = {""};

	for (int i = 0; i < 64; i++)
		snprintf(program[i].name, sizeof(program[i].name), "p%d", i);
	for (int n = 1; n <= 64; n++)
		for (int k = 0; k < 3; k++) {
			uint64_t seen = 0;

			ck_assert_int_eq(population_combo(&p, 5, k, n, got, &err), 0);
			for (int i = 0; i < n; i++) {
				long at = strtol(got[i].name + 1, NULL, 10);

				ck_assert_msg(got[i].name[0] == 'p' && !(seen >> at & 1),
					"%d of 64, combination %d: '%s' twice", n, k, got[i].name);
				seen |= UINT64_C(1) << at;
			}
		}
}
END_TEST

static void add(Suite *s, const char *behaviour, const TTest *test, int n)
{
	TCase *tc = tcase_create(behaviour);

	tcase_set_timeout(tc, 240);
	if (n > 0)
		tcase_add_loop_test(tc, test, 0, n);
	else
		tcase_add_test(tc, test);
	suite_add_tcase(s, tc);
}

int main(void)
{
	Suite *s = suite_create("sim_population");
	SRunner *sr;
	int failed;

	add(s, "any population, topology and seed gives whole results",
		results_are_complete_finite_and_ordered, N_NAMES * N_TOPOLOGIES);
	add(s, "best static is the best of an enumeration of its own",
		best_static_is_what_an_enumeration_of_its_own_finds, 10);
	add(s, "the same seed gives the same bytes",
		the_same_seed_gives_the_same_bytes_with_any_number_of_workers, N_NAMES);
	add(s, "spec-wl is the papers' two workloads", spec_wl_is_the_papers_two_workloads, 0);
	add(s, "alternate is the order of start",
		alternate_goes_round_the_sockets_in_order_of_start, 0);
	add(s, "mapper mixes the suites", mapper_has_one_program_of_each_suite, 0);
	add(s, "any number of programs can be drawn from", many_programs_give_distinct_ones, 0);
	add(s, "a changed program is a program", every_changed_program_is_still_sound, N_NAMES);
	add(s, "every constant of the machine can be changed",
		every_constant_of_the_machine_is_changed_and_stays_in_bounds, 0);
	add(s, "sensitivity compares with nothing changed", sensitivity_begins_with_nothing_changed,
		0);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
