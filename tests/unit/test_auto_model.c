/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What auto's model learns of programs that show exactly what they do, and what its search makes of
 * it.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/policies/auto.h"

#define JOBS    4
#define THREADS 8

struct bench {
	struct topo *t;
	struct arena memory;
	struct shares shares;
	struct auto_model model;
	struct auto_search search;
	struct view v;
	struct view_job job[JOBS];
	struct plan plan;
	struct errbuf err;
	int slot[JOBS];
	double now_s;
};

static void bench_open(struct bench *x, const char *source, int n)
{
	static const char *const id[JOBS] = {"a", "b", "c", "d"};
	struct policy_cfg cfg = {.memory = &x->memory, .max_jobs = JOBS};

	memset(x, 0, sizeof(*x));
	ck_assert_int_eq(topo_load(&x->t, source, NULL), 0);
	cfg.topo = x->t;
	ck_assert_int_eq(plan_init(&x->plan, JOBS, NULL), 0);
	x->v.job = x->job;
	x->v.n_jobs = n;
	for (int i = 0; i < n; i++) {
		x->slot[i] = i;
		x->job[i] = (struct view_job){.id = id[i],
			.order = i,
			.threads = THREADS,
			.nodes = 1,
			.home_numa = -1,
			.core = -1};
	}
	shares_init(&x->shares, &cfg);
	auto_model_init(&x->model, &cfg);
	auto_search_init(&x->search, &x->model, &x->shares, &cfg);
	x->search.q = 0.85;
	x->search.slot = x->slot;
	ck_assert(!x->memory.failed);
	ck_assert_int_eq(plan_reset(&x->plan, &x->v, x->t, &x->err), 0);
	ck_assert_int_eq(shares_build(&x->shares, &x->v, &x->plan, &x->err), 0);
	for (int i = 0; i < n; i++)
		auto_model_meet(&x->model, &x->job[i], i, 0);
}

static void bench_close(struct bench *x)
{
	plan_done(&x->plan);
	arena_free(&x->memory);
	topo_free(x->t);
}

/* Some samples of job @i on that many cores beside @beside: so fast, so many misses per
 * instruction, on that part of the cache. */
static void see(struct bench *x, int i, double cores, uint64_t beside, double held, double speed,
	double misses)
{
	struct view_job *j = &x->job[i];
	struct auto_context at = {.cores = cores,
		.own = cores,
		.latency = 1,
		.held = log(held),
		.beside = beside,
		.settled = true};

	j->signal[SIGNAL_UTILIZATION] = (struct signal){1, PROVENANCE_OS};
	j->signal[SIGNAL_INSTRUCTIONS] = (struct signal){speed / THREADS, PROVENANCE_HW};
	j->signal[SIGNAL_LLC_MISSES] = (struct signal){speed * misses / THREADS, PROVENANCE_HW};
	for (int k = 0; k < 10; k++) {
		j->sample_no++;
		x->now_s += 0.2;
		auto_model_meet(&x->model, j, i, x->now_s);
		auto_model_look(&x->model, j, i, &at, x->now_s);
	}
	auto_model_fit(&x->model, i);
}

/* Misses as a power of the part of the cache that is held. */
static void see_cached(struct bench *x, int i, double exponent)
{
	const double part[] = {0.25, 0.75};

	for (int k = 0; k < 2; k++) {
		double misses = 0.01 * pow(part[k], -exponent);

		see(x, i, 4, (uint64_t)k + 1, part[k], 4e9 / (1 + 70 * misses), misses);
	}
	x->model.program[x->model.job[i].program].phase[0].fitted = -1;
	auto_model_fit(&x->model, i);
}

START_TEST(misses_fall_with_the_part_of_the_cache_as_was_seen)
{
	const double exponent[] = {0, 0.5, 1};
	struct bench x;

	bench_open(&x, "pack:2 core:8", 1);
	see_cached(&x, 0, exponent[_i]);
	ck_assert_double_eq_tol(auto_phase_of(&x.model, 0)->theta, exponent[_i], 0.02);
	bench_close(&x);
}
END_TEST

/* That a program misses does not say that it would hit with more of the cache. */
START_TEST(of_one_company_nothing_is_concluded)
{
	struct bench x;

	bench_open(&x, "pack:2 core:8", 1);
	see(&x, 0, 4, 1, 0.5, 1e9, 0.02);
	ck_assert_double_eq(auto_phase_of(&x.model, 0)->theta, 0);
	/* Noise of the other sign is none either. */
	see(&x, 0, 4, 2, 0.6, 1e9, 0.021);
	ck_assert_double_eq(auto_phase_of(&x.model, 0)->theta, 0);
	bench_close(&x);
}
END_TEST

/* Seen at a quarter and at three quarters of the cache, it is known what it has alone. */
START_TEST(alone_it_is_as_fast_as_the_whole_cache_makes_it)
{
	const short fair[] = {4, 0, 4, 0}, apart[] = {4, 0, 0, 4};
	struct bench x;
	double beside, alone, most = 4e9 / (1 + 70 * 0.01);

	bench_open(&x, "pack:2 core:8", 2);
	see_cached(&x, 0, 0.5);
	see(&x, 1, 4, 1, 0.75, 4e9 / (1 + 70 * 0.04), 0.04);
	auto_search_base(&x.search, fair);
	beside = x.search.fair[0];
	alone = x.search.alone[0];
	ck_assert_double_eq_tol(exp(alone), most, 0.05 * most);
	/* More than it was ever seen to have. */
	ck_assert_double_gt(alone, log(4e9 / (1 + 70 * 0.01 * pow(0.75, -0.5))) + 0.02);
	ck_assert_double_lt(beside, alone - 0.1);
	auto_search_worth(&x.search, apart);
	ck_assert_double_eq_tol(x.search.speed[0], alone, 1e-6);
	bench_close(&x);
}
END_TEST

/* Two that scale are in one domain, two that do not in the other. */
START_TEST(cores_cross_domains_by_an_exchange_and_a_transfer)
{
	const short fair[] = {4, 0, 0, 4, 4, 0, 0, 4};
	short n[8];
	struct auto_deal d = {.n = n, .there = true};
	struct bench x;

	bench_open(&x, "pack:2 core:8", 4);
	for (int i = 0; i < 4; i++)
		for (int cores = 2; cores <= 8; cores += 2) {
			double serial = i % 2 ? 0.6 : 0.01;

			see(&x, i, cores, 1, 0.5, 1e9 / (serial + (1 - serial) / cores), 1e-6);
		}
	memcpy(n, fair, sizeof(n));
	auto_search_base(&x.search, fair);
	auto_search_improve(&x.search, &d);
	ck_assert_double_gt(d.worth, 0.02);
	ck_assert_int_gt(n[0] + n[1], 4);
	ck_assert_int_gt(n[4] + n[5], 4);
	bench_close(&x);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("auto_model");
	TCase *cache = tcase_create("what a job misses follows from what it holds of the cache");
	TCase *search = tcase_create("better dealings are found");
	SRunner *r = srunner_create(suite);
	int failed;

	tcase_add_loop_test(cache, misses_fall_with_the_part_of_the_cache_as_was_seen, 0, 3);
	tcase_add_test(cache, of_one_company_nothing_is_concluded);
	tcase_add_test(cache, alone_it_is_as_fast_as_the_whole_cache_makes_it);
	tcase_add_test(search, cores_cross_domains_by_an_exchange_and_a_transfer);
	suite_add_tcase(suite, cache);
	suite_add_tcase(suite, search);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
