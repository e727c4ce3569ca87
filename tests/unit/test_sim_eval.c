/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/eval.h"
#include "nodesvc/sim/population_tables.h"
#include "nodesvc/sim/stats.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct topo *topo;
static struct machine machine;
static struct population population;
static struct eval eval;

static void set_up(const char *name, uint64_t seed, int combos)
{
	struct machine_params p;
	struct errbuf err = {""};

	ck_assert_int_eq(population_find(&population, name, &err), 0);
	machine_defaults(&p);
	population_machine(&population, &p);
	ck_assert_int_eq(topo_load(&topo, population.topology, &err), 0);
	ck_assert_int_eq(topo_set_domains(topo, population.domain, &err), 0);
	ck_assert_int_eq(machine_init(&machine, topo, &p, &err), 0);
	eval = (struct eval){
		.population = &population,
		.m = &machine,
		.seed = seed,
		.n_combos = combos,
		.n_jobs = population.n_jobs,
		.threads = population.threads,
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

/* Mean over combinations of STP against that of the policy in front. */
static double gain(const struct drive_result *r, int p)
{
	double sum = 0;

	for (int k = 0; k < eval.n_combos; k++)
		sum += drive_stp(&r[p * eval.n_combos + k], NTT_SHARE) /
			       drive_stp(&r[k], NTT_SHARE) -
		       1;
	return sum / eval.n_combos;
}

START_TEST(statics_and_oracle_are_ordered)
{
	static const char *const policy[] = {
		"worst-static", "mean-static", "best-static", "oracle"};
	static const char *const names[] = {"lira", "latent", "adversarial"};
	struct drive_result *r;

	set_up(names[_i], 11, 8);
	r = run_policies(4, policy);
	for (int k = 0; k < 8; k++) {
		double stp[4];

		for (int p = 0; p < 4; p++) {
			stp[p] = drive_stp(&r[p * 8 + k], NTT_SHARE);
			ck_assert(isfinite(stp[p]) && stp[p] > 0.5 && stp[p] < 8);
		}
		ck_assert_double_le(stp[0], stp[1] + 1e-9);
		ck_assert_double_le(stp[1], stp[2] + 1e-9);
		ck_assert_double_le(stp[2], stp[3] + 1e-9);
	}
	free(r);
	tear_down();
}
END_TEST

/* Every one of the three ways to pair four programs, written out by hand. */
START_TEST(best_static_is_what_three_hand_made_runs_say)
{
	static const char *const policy[] = {"best-static"};
	static const int pairs[3][4] = {{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}};
	struct program program[4];
	struct run_spec spec[4];
	struct drive_result *r;
	double best = 0;

	set_up("lira", 3, 1);
	ck_assert_int_eq(population_combo(&population, 3, 0, 4, program, NULL), 0);
	for (int i = 0; i < 4; i++)
		spec[i] = (struct run_spec){.program = &program[i]};
	r = run_policies(1, policy);
	for (int w = 0; w < 3; w++) {
		struct place place[4] = {{0}};
		unsigned int next[2] = {0, 8};
		struct run *run;
		double stp = 0;
		int who;

		for (int i = 0; i < 4; i++) {
			place[i].active = true;
			coreset_add_range(&place[i].own, next[pairs[w][i]], next[pairs[w][i]] + 3);
			next[pairs[w][i]] += 4;
		}
		/* ROSS 2015, section 5.2: each runs in the idle time of the other one there. */
		for (int i = 0; i < 4; i++)
			for (int j = 0; j < 4; j++)
				if (j != i && pairs[w][j] == pairs[w][i]) {
					place[i].lent[0].coreset = place[j].own;
					place[i].lent[0].donor = j;
					place[i].n_lent = 1;
				}
		ck_assert_int_eq(run_create(&run, &machine, spec, 4, NULL), 0);
		run_place(run, place, NULL, 0);
		for (bool over = false; !over && run->now_s < 300;) {
			run_advance(run, 300, &who);
			over = true;
			for (int i = 0; i < 4; i++)
				over &= run->job[i].runs >= 3;
		}
		for (int i = 0; i < 4; i++)
			stp += run->job[i].share_s / run->job[i].present_s;
		best = fmax(best, stp);
		run_free(run);
	}
	ck_assert_double_eq_tol(drive_stp(r, NTT_SHARE), best, 1e-9);
	free(r);
	tear_down();
}
END_TEST

START_TEST(same_seed_same_results_with_any_number_of_threads)
{
	static const char *const policy[] = {"lira", "dio", "linux"};
	struct drive_result *one, *three;

	set_up("latent", 5, 4);
	eval.drive.most_s = 60;
	one = run_policies(3, policy);
	eval.workers = 3;
	three = run_policies(3, policy);
	ck_assert_mem_eq(one, three, 12 * sizeof(*one));
	free(one);
	free(three);
	tear_down();
}
END_TEST

START_TEST(no_placement_policy_beats_the_oracle)
{
	static const char *const policy[] = {"oracle", "lira,fill=threads",
		"lira-static,fill=threads", "dio,fill=threads", "llc-complex,fill=threads"};
	struct drive_result *r;

	set_up("lira", 21, 24);
	r = run_policies(5, policy);
	for (int p = 1; p < 5; p++) {
		ck_assert_double_le(gain(r, p), 0);
		/* One combination may differ by where the horizon cuts a phase. */
		for (int k = 0; k < 24; k++)
			ck_assert_double_le(drive_stp(&r[p * 24 + k], NTT_SHARE),
				1.005 * drive_stp(&r[k], NTT_SHARE));
	}
	free(r);
	tear_down();
}
END_TEST

/* Cores, loans and clusters are worth more than placement alone, and nobody starves for it. */
START_TEST(the_joint_oracle_finds_more_than_placements)
{
	static const char *const policy[] = {"oracle", "joint-oracle"};
	struct drive_result *r;

	set_up("lira", 11, 3);
	eval.drive.most_s = 60;
	r = run_policies(2, policy);
	ck_assert_double_ge(gain(r, 1), 0.01);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < r[3 + k].n_jobs; i++)
			ck_assert_double_ge(drive_of_fair(&r[3 + k], i),
				fmin(0.85, drive_of_fair(&r[k], i)) - 0.05);
	free(r);
	tear_down();
}
END_TEST

static const char *const all_populations[] = {
	"lira", "parsec", "latent", "adversarial", "measured", "spec-wl", "mapper"};

START_TEST(halving_the_interval_changes_little)
{
	static const char *const policy[] = {"lira"};
	struct drive_result *coarse, *fine;

	set_up(all_populations[_i], 8, _i == 4 ? 15 : 24); /* measured: there are 15 */
	coarse = run_policies(1, policy);
	eval.drive.sample_s /= 2;
	fine = run_policies(1, policy);
	for (int k = 0; k < eval.n_combos; k++)
		fine[k].elapsed_s =
			drive_stp(&fine[k], NTT_SHARE) / drive_stp(&coarse[k], NTT_SHARE);
	for (int k = 1; k < eval.n_combos; k++)
		fine[0].elapsed_s += fine[k].elapsed_s;
	ck_assert_double_eq_tol(fine[0].elapsed_s / eval.n_combos, 1, 0.003);
	free(coarse);
	free(fine);
	tear_down();
}
END_TEST

/* 96 combinations: a gain is 0.6 %, one combination scatters by about 1 %. */
START_TEST(without_its_counters_a_policy_is_no_better_than_chance)
{
	/* mean-static fills as well. */
	static const char *const policy[] = {"mean-static", "lira,fill=threads",
		"lira-static,fill=threads", "dio,fill=threads", "llc-complex,fill=threads"};
	struct drive_result *seeing, *blind;

	set_up("lira", 1, 96);
	seeing = run_policies(5, policy);
	eval.drive.shuffle = true;
	blind = run_policies(5, policy);
	for (int p = 1; p < 5; p++) {
		ck_assert_double_ge(gain(seeing, p), 0.004);
		ck_assert_double_le(gain(blind, p), 0.0025);
	}
	free(seeing);
	free(blind);
	tear_down();
}
END_TEST

/*
 * What deals out cores by what it measured: against equal shares, which need to know nothing.
 * hillclimb steers by the geometric mean over all jobs, the same in any order: its counters are
 * drowned in noise instead.
 */
START_TEST(without_its_counters_a_policy_deals_cores_no_better_than_blindly)
{
	static const char *const policy[] = {"fair", "sbmp-pp", "sbmp-cd", "mapper", "hillclimb"};
	struct drive_result *seeing, *blind;

	set_up("parsec", 1, 70);
	eval.drive.most_s = 600;
	seeing = run_policies(5, policy);
	eval.drive.shuffle = true;
	if (_i == 1)
		eval.drive.sensor.noise = 1;
	blind = run_policies(5, policy);
	for (int p = 1 + 3 * _i; p < 4 + _i; p++) {
		ck_assert_double_le(gain(blind, p), 0.0025);
		ck_assert_double_lt(gain(blind, p), gain(seeing, p) - 0.002);
	}
	ck_assert_double_ge(gain(seeing, 2), 0.05);
	free(seeing);
	free(blind);
	tear_down();
}
END_TEST

/* Sasaki et al., PACT 2012, section 2: canneal 12, ferret 18, raytrace 12, streamcluster 6. */
START_TEST(sbmp_fig1_best_allocation_is_the_papers)
{
	static const char *const names[] = {"ca", "fe", "ra", "st"};
	static const int cores[] = {12, 18, 12, 6};
	struct run_spec spec[4] = {{0}};
	struct drive d;
	struct drive_result r;
	struct statics s;

	set_up("parsec", 1, 1);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < POPULATION_PARSEC; k++)
			if (strcmp(population_parsec[k].name, names[i]) == 0)
				spec[i].program = &population_parsec[k];
	drive_defaults(&d);
	d.m = &machine;
	d.spec = spec;
	d.n_jobs = 4;
	d.policy = "best-static";
	d.objective = OBJECTIVE_ANTT;
	d.most_s = 3000;
	ck_assert_int_eq(drive_run(&d, &r, NULL), 0);
	ck_assert_int_eq(statics_list(&s, topo, 4, NULL), 0);
	ck_assert_int_eq(s.n, 35);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(coreset_count(&s.place[r.chosen * 4 + i].own), cores[i]);
	if (getenv("SIM_PRINT"))
		printf("simulated: SBMP figure 1, best static 12/18/12/6, ANTT %.3f (paper 1.38)\n",
			drive_antt(&r, NTT_BEST));
	statics_done(&s);
	tear_down();
}
END_TEST

START_TEST(parsec_has_seventy_combinations)
{
	struct program program[4];
	unsigned int seen[70] = {0};

	set_up("parsec", 9, 1);
	for (int k = 0; k < 70; k++) {
		ck_assert_int_eq(population_combo(&population, 9, k, 4, program, NULL), 0);
		for (int i = 0; i < 4; i++)
			for (int q = 0; q < POPULATION_PARSEC; q++)
				if (strcmp(program[i].name, population_parsec[q].name) == 0)
					seen[k] |= 1u << q;
		ck_assert_int_eq(__builtin_popcount(seen[k]), 4);
		for (int j = 0; j < k; j++)
			ck_assert_uint_ne(seen[j], seen[k]);
	}
	tear_down();
}
END_TEST

START_TEST(counters_wrap_and_drop_out_without_wild_values)
{
	struct run_spec spec[1] = {{.program = &population_lira[6], .threads = 8}};
	struct place place = {.active = true};
	struct sensor_params p;
	struct sensor s;
	struct signal signal[SIGNAL_COUNT] = {{0}};
	struct run *r;
	double rate;
	int samples = 0, who;

	set_up("lira", 1, 1);
	sensor_defaults(&p);
	coreset_add_range(&place.own, 0, 7);
	ck_assert_int_eq(run_create(&r, &machine, spec, 1, NULL), 0);
	run_place(r, &place, NULL, 0);
	rate = run_rates(r)->instr_per_s / 8;
	sensor_init(&s, 1, 1);
	/* 48 bits of instructions go by once in about 5 hours of this program. */
	for (int k = 1; k < 2000; k++) {
		while (r->now_s < 20.0 * k)
			run_advance(r, 20.0 * k, &who);
		samples += sensor_read(&s, &p, &r->job[0], r->now_s, signal);
		if (signal[SIGNAL_INSTRUCTIONS].provenance == PROVENANCE_NONE)
			continue;
		ck_assert_double_eq_tol(signal[SIGNAL_INSTRUCTIONS].value / rate, 1, 0.12);
		ck_assert_double_le(signal[SIGNAL_LLC_MISS_RATIO].value, 1);
	}
	ck_assert_int_gt(samples, 1960);
	ck_assert_int_lt(samples, 1999);
	run_free(r);
	tear_down();
}
END_TEST

/* Four sets of counters that take turns see a quarter each: twice the deviation. */
START_TEST(counters_that_take_turns_are_wider_off)
{
	struct run_spec spec[1] = {{.program = &population_lira[6], .threads = 8}};
	struct place place = {.active = true};
	double deviation[2] = {0}, rate;
	int who;

	set_up("lira", 1, 1);
	coreset_add_range(&place.own, 0, 7);
	for (int turns = 0; turns < 2; turns++) {
		struct signal signal[SIGNAL_COUNT] = {{0}};
		struct sensor_params p;
		struct sensor s;
		struct run *r;

		sensor_defaults(&p);
		p.dropout = p.late = 0;
		p.running = turns ? 0.25 : 0;
		ck_assert_int_eq(run_create(&r, &machine, spec, 1, NULL), 0);
		run_place(r, &place, NULL, 0);
		rate = run_rates(r)->instr_per_s / 8;
		sensor_init(&s, 1, 1);
		for (int k = 1; k <= 1000; k++) {
			while (r->now_s < 0.2 * k)
				run_advance(r, 0.2 * k, &who);
			ck_assert(sensor_read(&s, &p, &r->job[0], r->now_s, signal));
			if (k > 1)
				deviation[turns] +=
					pow(signal[SIGNAL_INSTRUCTIONS].value / rate - 1, 2);
		}
		ck_assert_double_eq(s.last.running_ratio, (turns ? 0.25 : 1));
		run_free(r);
	}
	ck_assert_double_eq_tol(sqrt(deviation[0] / 999), 0.02, 0.002);
	ck_assert_double_eq_tol(sqrt(deviation[1] / deviation[0]), 2, 0.2);
	tear_down();
}
END_TEST

START_TEST(bootstrap_covers_the_mean_of_known_values)
{
	double v[100];
	struct interval i;

	for (int k = 0; k < 100; k++)
		v[k] = k % 2 ? 1.1 : 0.9;
	i = stats_mean(v, 100, 1);
	ck_assert_double_eq_tol(i.mean, 1, 1e-12);
	/* Standard error 0.01: 95 % is about 0.0196 either side. */
	ck_assert_double_eq_tol(i.low, 1 - 0.0196, 0.004);
	ck_assert_double_eq_tol(i.high, 1 + 0.0196, 0.004);
}
END_TEST

static void add(Suite *s, const char *behaviour, const TTest *test, int n)
{
	TCase *tc = tcase_create(behaviour);

	tcase_set_timeout(tc, 120);
	if (n > 0)
		tcase_add_loop_test(tc, test, 0, n);
	else
		tcase_add_test(tc, test);
	suite_add_tcase(s, tc);
}

int main(void)
{
	Suite *s = suite_create("sim_eval");
	SRunner *sr;
	int failed;

	add(s, "V9: worst, mean, best static and oracle come in this order",
		statics_and_oracle_are_ordered, 3);
	add(s, "best static is the best of all", best_static_is_what_three_hand_made_runs_say, 0);
	add(s, "V10: the same seed gives the same results",
		same_seed_same_results_with_any_number_of_threads, 0);
	add(s, "the joint oracle: cores, loans and clusters beside placement",
		the_joint_oracle_finds_more_than_placements, 0);
	add(s, "V11: nobody beats the oracle with its own means",
		no_placement_policy_beats_the_oracle, 0);
	add(s, "V12: the interval hardly matters", halving_the_interval_changes_little, 7);
	add(s, "shuffled counters undo a policy",
		without_its_counters_a_policy_is_no_better_than_chance, 0);
	add(s, "shuffled counters undo what deals out cores",
		without_its_counters_a_policy_deals_cores_no_better_than_blindly, 2);
	add(s, "SBMP's figure 1 comes out", sbmp_fig1_best_allocation_is_the_papers, 0);
	add(s, "SBMP's 70 workloads are all of its programs", parsec_has_seventy_combinations, 0);
	add(s, "counters that take turns see less", counters_that_take_turns_are_wider_off, 0);
	add(s, "counters wrap and drop out", counters_wrap_and_drop_out_without_wild_values, 0);
	add(s, "confidence intervals are right for known values",
		bootstrap_covers_the_mean_of_known_values, 0);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
