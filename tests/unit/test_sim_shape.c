/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shapes of LIRA's figures 2 and 3 (ROSS 2015): pairs of programs, four threads each, on one
 * socket or on two. SIM_PRINT=1 prints the table.
 */
#include "nodesvc/sim/population.h"
#include "nodesvc/sim/population_tables.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N POPULATION_LIRA

static struct topo *topo;
static struct machine machine;
static double together[N][N]; /* time on one socket / time on two */
static double isolated[N][N]; /* speed on one socket / alone, mean of the pair */
static double load_rate[N];

/* Before any test runs: Check's assertions are not to be had. */
static void need(int rc)
{
	if (rc)
		abort();
}

static double pair_speed(int a, int b, unsigned int second, double *ret_a)
{
	struct run_spec spec[2] = {
		{.program = &population_lira[a], .threads = 4},
		{.program = &population_lira[b], .threads = 4},
	};
	struct place place[2] = {{.active = true}, {.active = true}};
	struct run *r = NULL;
	double shared[2];
	int who;

	need(run_create(&r, &machine, spec, 2, NULL));
	coreset_add_range(&place[0].own, 0, 3);
	coreset_add_range(&place[1].own, second, second + 3);
	/* Its share is a socket, of which four threads use four cores: alone on those. */
	run_place(r, place, NULL, 0);
	while (r->now_s < 1500)
		run_advance(r, 1500, &who);
	for (int i = 0; i < 2; i++) {
		shared[i] = r->job[i].share_s / r->job[i].present_s;
		if (a == b)
			load_rate[a] = r->job[0].counts.loads / 1500;
	}
	*ret_a = shared[0];
	run_free(r);
	return 0.5 * (shared[0] + shared[1]);
}

static void measure(void)
{
	struct machine_params p;
	struct errbuf err = {""};

	machine_defaults(&p);
	p.llc_bytes = 20e6;
	need(topo_load(&topo, "pack:2 core:8 pu:1", &err));
	need(machine_init(&machine, topo, &p, &err));
	for (int a = 0; a < N; a++) {
		for (int b = 0; b < N; b++) {
			double same, apart;

			pair_speed(a, b, 8, &apart); /* sets load_rate where a == b */
			isolated[a][b] = pair_speed(a, b, 4, &same);
			pair_speed(a, b, 8, &apart);
			together[a][b] = apart / same;
		}
	}
	if (!getenv("SIM_PRINT"))
		return;
	printf("simulated: time of the row beside the column, one socket / two\n%-18s", "");
	for (int b = 0; b < N; b++)
		printf(" %5.5s", population_lira[b].name);
	for (int a = 0; a < N; a++) {
		printf("\n%-18s", population_lira[a].name);
		for (int b = 0; b < N; b++)
			printf(" %5.2f", together[a][b]);
		printf("  loads %.2e/s", load_rate[a]);
	}
	printf("\n");
}

static void clean(void)
{
	machine_done(&machine);
	topo_free(topo);
}

START_TEST(fig2_third_to_two_thirds_lose_a_tenth)
{
	int over = 0;
	double worst = 0;

	for (int a = 0; a < N; a++) {
		for (int b = 0; b < N; b++) {
			over += together[a][b] > 1.10;
			worst = fmax(worst, together[a][b]);
		}
	}
	if (getenv("SIM_PRINT"))
		printf("over 10 %%: %.2f of cells, worst %.2f\n", over / (double)(N * N), worst);
	ck_assert_double_ge(over / (double)(N * N), 0.30);
	ck_assert_double_le(over / (double)(N * N), 0.60);
	ck_assert_double_ge(worst, 1.50);
	ck_assert_double_le(worst, 2.00);
}
END_TEST

static int index_of(const char *name)
{
	for (int i = 0; i < N; i++)
		if (strcmp(population_lira[i].name, name) == 0)
			return i;
	return -1;
}

START_TEST(fig2_md_is_at_ease_and_swim_hurts_all_but_md)
{
	int md = index_of("md"), swim = index_of("swim"), hurt = 0;

	for (int b = 0; b < N; b++) {
		ck_assert_double_le(together[md][b], 1.05);
		ck_assert_double_le(together[b][md], 1.05);
		hurt += together[b][swim] > 1.05;
	}
	ck_assert_int_ge(hurt, N / 2);
}
END_TEST

/* The clusters of figure 3: pairs whose load rates differ much, and little. */
START_TEST(fig3_pairs_far_apart_in_load_rate_lose_less)
{
	double sum[2] = {0}, worst[2] = {1, 1}, top = 0, middle;
	int n[2] = {0};

	for (int a = 0; a < N; a++)
		for (int b = a + 1; b < N; b++)
			top = fmax(top, fabs(load_rate[a] - load_rate[b]));
	middle = 0.5 * top;
	for (int a = 0; a < N; a++) {
		for (int b = a + 1; b < N; b++) {
			int far = fabs(load_rate[a] - load_rate[b]) > middle;

			sum[far] += log(isolated[a][b]);
			worst[far] = fmin(worst[far], isolated[a][b]);
			n[far]++;
		}
	}
	if (getenv("SIM_PRINT"))
		printf("near: %.3f, worst %.2f (%d pairs); far: %.3f, worst %.2f (%d pairs)\n",
			exp(sum[0] / n[0]), worst[0], n[0], exp(sum[1] / n[1]), worst[1], n[1]);
	ck_assert_double_ge(exp(sum[1] / n[1]), exp(sum[0] / n[0]) + 0.03);
	ck_assert_double_ge(1 - worst[0], 2 * (1 - worst[1]));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sim_shape");
	const struct {
		const char *behaviour;
		const TTest *test;
	} table[] = {
		{"V2: a third to two thirds of pairs lose a tenth by sharing a socket",
			fig2_third_to_two_thirds_lose_a_tenth},
		{"V2: md neither suffers nor harms, swim harms most",
			fig2_md_is_at_ease_and_swim_hurts_all_but_md},
		{"V1: pairs far apart in load rate lose less",
			fig3_pairs_far_apart_in_load_rate_lose_less},
	};
	SRunner *sr;
	int failed;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		TCase *tc = tcase_create(table[i].behaviour);

		tcase_add_test(tc, table[i].test);
		suite_add_tcase(s, tc);
	}
	sr = srunner_create(s);
	measure();
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	clean();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
