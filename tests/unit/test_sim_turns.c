/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated machine shares cores as a node of two does: what was measured there with four
 * programs at once (doc/results/realnode.md) comes out, and who wins there wins here.
 */
#include "nodesvc/sim/bursts.h"
#include "nodesvc/sim/drive.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 4

static struct topo *topo;
static struct machine machine;
static struct program program;

static void set_up(void)
{
	struct machine_params p;
	struct errbuf err = {""};

	machine_defaults(&p);
	ck_assert_int_eq(machine_topology(&topo, "pack:1 core:2 pu:1", &err), 0);
	ck_assert_int_eq(machine_init(&machine, topo, &p, &err), 0);
	memset(&program, 0, sizeof(program));
	strcpy(program.name, "p");
	program.n_phases = 1;
	phase_init(&program.phase[0]);
	program.phase[0].seconds = 5;
	program.phase[0].refs = 0;
}

static void tear_down(void)
{
	machine_done(&machine);
	topo_free(topo);
}

/* Part of it that does not get faster with cores. */
static void serial_part(double alpha)
{
	program.phase[0].alpha = alpha;
	program.phase[0].beta = 1 - alpha;
}

/* Ranks of LAMMPS, threads of GROMACS. */
static void coupled(enum waits waits)
{
	serial_part(0.02);
	program.phase[0].coupled = 1;
	program.phase[0].waits = waits;
}

/* contrib/bench/load's bursty with --steps=200 --wait=600: 0.35 s of one core, then 0.6 s. */
static void bursty(void)
{
	program.phase[0].bursty = true;
	program.phase[0].seconds = 6 * 0.775;
	serial_part(0.6 / 0.95);
}

/* Four of it at once, until all have ended. */
static struct drive_result four(const char *policy)
{
	static struct drive_result r;
	struct run_spec spec[JOBS];
	struct errbuf err = {""};
	struct drive d;

	for (int i = 0; i < JOBS; i++)
		spec[i] = (struct run_spec){.program = &program, .threads = 2, .runs = 1};
	drive_defaults(&d);
	d.m = &machine;
	d.spec = spec;
	d.n_jobs = JOBS;
	d.policy = policy;
	d.seed = 3;
	d.most_s = 1000;
	d.min_runs = 1;
	ck_assert_msg(drive_run(&d, &r, &err) == 0, "%s: %s", policy, err.text);
	for (int i = 0; i < JOBS; i++)
		ck_assert_int_eq(r.job[i].runs, 1);
	return r;
}

static double seconds(const char *policy)
{
	return four(policy).elapsed_s;
}

static double antt(const char *policy)
{
	struct drive_result r = four(policy);

	return drive_antt(&r, NTT_ALL);
}

START_TEST(one_after_another_is_the_sum_of_the_times_alone)
{
	ck_assert_double_eq_tol(seconds("serial"), 20, 0.01);
	ck_assert_double_eq_tol(antt("serial"), 2.5, 0.001);
}
END_TEST

/* 2.02, 1.13 and, as a bound, 6.9 times as long as one after another. */
START_TEST(who_waits_awake_pays_for_it_as_measured)
{
	coupled(WAITS_POLLING);
	ck_assert_double_eq_tol(seconds("linux") / seconds("serial"), 2.02, 0.15);
	coupled(WAITS_YIELDING);
	ck_assert_double_eq_tol(seconds("linux") / seconds("serial"), 1.13, 0.1);
	coupled(WAITS_SPINNING);
	ck_assert_double_ge(seconds("linux") / seconds("serial"), 6.5);
	coupled(WAITS_ASLEEP);
	ck_assert_double_le(seconds("linux") / seconds("serial"), 1.05);
	/* Alone nobody pays. */
	coupled(WAITS_SPINNING);
	ck_assert_double_eq_tol(seconds("serial"), 20, 0.01);
}
END_TEST

/* Measured: 18.8 s against 19.8 (fair) and 40.3 (all share all); ANTT 2.4 against 4.1. */
START_TEST(gang_wins_with_coupled_ranks)
{
	coupled(WAITS_YIELDING);
	ck_assert_double_le(seconds("gang") * 1.03, seconds("fair"));
	ck_assert_double_ge(seconds("gang") * 1.2, seconds("fair"));
	ck_assert_double_le(antt("gang") * 1.3, antt("fair"));
	ck_assert_double_le(seconds("gang"), 1.01 * seconds("serial"));
	coupled(WAITS_POLLING);
	ck_assert_double_le(seconds("gang") * 1.8, seconds("linux"));
	/* Who polls takes turns under fair, too. */
	ck_assert_double_le(seconds("fair"), 1.05 * seconds("serial"));
}
END_TEST

/* Workers that do not wait for one another, but leave cores idle while they do not scale. */
START_TEST(fair_wins_with_pools_of_workers)
{
	serial_part(0.15);
	program.phase[0].wait = 1;
	ck_assert_double_le(seconds("fair") * 1.05, seconds("gang"));
	ck_assert_double_le(seconds("fair") * 1.05, seconds("gang,foreground_ms=0"));
	ck_assert_double_le(seconds("fair") * 1.05, seconds("serial"));
}
END_TEST

START_TEST(one_after_another_wins_with_short_equal_jobs)
{
	static const char *const others[] = {"fair", "gang,foreground_ms=0", "linux"};

	for (int k = 0; k < 3; k++) {
		ck_assert_double_le(antt("serial") * 1.4, antt(others[k]));
		ck_assert_double_le(seconds("serial"), 1.001 * seconds(others[k]));
	}
	/* It is what gang does with jobs shorter than its foreground. */
	ck_assert_double_le(antt("serial"), 1.001 * antt("gang"));
	ck_assert_double_le(antt("gang"), 1.05 * antt("serial"));
}
END_TEST

/* Measured: 7.14 s plain, 5.99 in equal turns, 18.6 one after another. */
START_TEST(turns_win_with_bursts)
{
	bursty();
	ck_assert_double_eq_tol(seconds("serial"), 18.6, 0.01);
	ck_assert_double_eq_tol(seconds("linux"), 7.14, 0.4);
	ck_assert_double_eq_tol(seconds("gang,foreground_ms=0"), 5.99, 0.9);
	ck_assert_double_le(seconds("gang") * 1.15, seconds("linux"));
	ck_assert_double_le(seconds("gang") * 1.15, seconds("fair"));
}
END_TEST

START_TEST(a_part_is_the_mean_over_who_else_wants_some)
{
	static const double want[] = {2, 2, 1}, on[] = {1, 0.5, 1}, half[] = {0.5, 0.5, 0.5};

	/* 2 of 3, or of 5, on two cores. */
	ck_assert_double_eq_tol(bursts_part(3, 0, want, on, 2), 0.5 * (2. / 3 + 2. / 5), 1e-12);
	ck_assert_double_eq_tol(bursts_part(1, 0, want, on, 2), 1, 1e-12);
	/* Nobody, one, two of them. */
	ck_assert_double_eq_tol(
		bursts_part(3, 0, half, half, 0.5), 0.25 * 1 + 0.5 * 0.5 + 0.25 / 3, 1e-12);
}
END_TEST

static void add(Suite *s, const char *behaviour, const TTest *test)
{
	TCase *tc = tcase_create(behaviour);

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test);
	suite_add_tcase(s, tc);
}

int main(void)
{
	Suite *s = suite_create("sim_turns");
	SRunner *sr;
	int failed;

	add(s, "serial: one after another", one_after_another_is_the_sum_of_the_times_alone);
	add(s, "what waiting costs on shared cores", who_waits_awake_pays_for_it_as_measured);
	add(s, "coupled ranks: gang", gang_wins_with_coupled_ranks);
	add(s, "pools of workers: fair", fair_wins_with_pools_of_workers);
	add(s, "short equal jobs: one after another", one_after_another_wins_with_short_equal_jobs);
	add(s, "bursts: turns", turns_win_with_bursts);
	add(s, "bursts that meet", a_part_is_the_mean_over_who_else_wants_some);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
