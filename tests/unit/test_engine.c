/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds for every policy: valid plans for random views and a life of arrivals, ends and
 * changes; the same answers for the same views, for other names and for renumbered CPUs.
 */
#include "tests/unit/policy_life.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sources[] = {
	"core:2",
	"pack:2 core:4 pu:2",
	"pack:2 l3:2 core:3 pu:1",
	"pack:1 numa:4 core:4 pu:1",
};
#define N_SOURCES 4

/* Dies of which one has lost cores: reserved PUs make units unequal. */
static void reserve_some(struct coreset *reserved, const struct topo *t)
{
	coreset_zero(reserved);
	if (t->n_cores > 4)
		coreset_or(reserved, reserved, &t->core[0].pus);
}

static int n_policies(void)
{
	int n = 0;

	while (policy_registry[n])
		n++;
	return n;
}

/* The policies, and after them what an option makes another of. */
static const char *spec(int i)
{
	return i < n_policies() ? policy_registry[i]->name : "fair,turns=all,turns_ms=50";
}

START_TEST(random_lives_give_valid_plans)
{
	for (int s = 0; s < N_SOURCES; s++) {
		struct life w;
		int decided = 0;

		life_seed(1234567 + (uint64_t)_i * 77 + (uint64_t)s);
		life_open(&w, sources[s], spec(_i), "j");
		reserve_some(&w.reserved, w.t);
		for (int i = 0; i < 250; i++) {
			w.v.reserved = i < 125 ? NULL : &w.reserved;
			decided += life_step(&w);
		}
		/* gang and the oracles refuse some mixes; nobody refuses most. */
		ck_assert_msg(decided > 25, "%s on %s: %d plans", spec(_i), sources[s], decided);
		life_close(&w);
	}
}
END_TEST

static const char *const smt_sources[] = {"pack:2 core:2 pu:2", "core:4 pu:4", "core:2 pu:2"};
#define N_SMT_SOURCES 3

/* Slurm's CR_CPU deals hardware threads; so do masks that a site sets. */
START_TEST(lives_of_single_threads_give_valid_plans)
{
	for (int s = 0; s < N_SMT_SOURCES; s++) {
		struct life w;
		int decided = 0;

		life_seed(7654321 + (uint64_t)_i * 77 + (uint64_t)s);
		life_open(&w, smt_sources[s], spec(_i), "j");
		w.threads = true;
		for (int i = 0; i < 250; i++)
			decided += life_step(&w);
		ck_assert_msg(
			decided > 25, "%s on %s: %d plans", spec(_i), smt_sources[s], decided);
		life_close(&w);
	}
}
END_TEST

START_TEST(names_and_repetition_change_nothing)
{
	struct life a, b;

	life_seed(42 + (uint64_t)_i);
	life_open(&a, sources[1], policy_registry[_i]->name, "j");
	life_open(&b, sources[1], policy_registry[_i]->name, "other-");
	for (int i = 0; i < 60; i++) {
		uint64_t before = life_where();
		bool ok = life_step(&a), same;

		life_seed(before);
		same = life_step(&b) == ok;
		ck_assert(same);
		ck_assert_int_eq(a.plan.n_jobs, b.plan.n_jobs);
		for (int j = 0; ok && j < a.plan.n_jobs; j++)
			ck_assert_msg(
				coreset_is_equal(&a.plan.job[j].coreset, &b.plan.job[j].coreset),
				"%s: step %d, job %d", policy_registry[_i]->name, i, j);
	}
	life_close(&a);
	life_close(&b);
}
END_TEST

/* The same machine with its CPUs numbered across the packages. */
START_TEST(numbers_of_cpus_change_nothing)
{
	struct life a, b;

	life_seed(4711 + (uint64_t)_i);
	life_open(&a, "pack:2 core:4 pu:1", policy_registry[_i]->name, "j");
	life_open(
		&b, "pack:2 core:4 pu:1(indexes=0,2,4,6,1,3,5,7)", policy_registry[_i]->name, "j");
	ck_assert_int_eq(coreset_next(&b.t->core[1].pus, 0), 2);
	for (int i = 0; i < 60; i++) {
		uint64_t before = life_where();
		bool ok = life_step(&a), same;

		life_seed(before);
		same = life_step(&b) == ok;
		ck_assert(same);
		for (int j = 0; ok && j < a.plan.n_jobs; j++)
			for (int c = 0; c < a.t->n_cores; c++)
				ck_assert_msg(coreset_intersects(
						      &a.plan.job[j].coreset, &a.t->core[c].pus) ==
						      coreset_intersects(&b.plan.job[j].coreset,
							      &b.t->core[c].pus),
					"%s: step %d, job %d, core %d", policy_registry[_i]->name,
					i, j, c);
	}
	life_close(&a);
	life_close(&b);
}
END_TEST

/* The first half of the cores and the second, exchanged. */
static void exchange(const struct topo *t, struct coreset *s)
{
	struct coreset to;

	coreset_zero(&to);
	for (int c = 0; c < t->n_cores; c++)
		if (coreset_intersects(s, &t->core[c].pus))
			coreset_or(&to, &to, &t->core[(c + t->n_cores / 2) % t->n_cores].pus);
	*s = to;
}

static bool share_a_domain(const struct life *w, int i, int j)
{
	for (int d = 0; d < w->t->n_domains; d++)
		if (coreset_intersects(&w->plan.job[i].coreset, &w->t->domain[d].pus) &&
			coreset_intersects(&w->plan.job[j].coreset, &w->t->domain[d].pus))
			return true;
	return false;
}

/*
 * Two sockets that change names: on how many cores each job runs stays, and, where figures and not
 * the order of sockets decide, who sits with whom.
 */
START_TEST(names_of_sockets_change_nothing)
{
	const char *name = policy_registry[_i]->name;
	bool by_figures = strncmp(name, "lira", 4) == 0 || strcmp(name, "dio") == 0 ||
			  strcmp(name, "llc-complex") == 0;
	struct life a, b;

	if (strncmp(name, "das-", 4) == 0)
		return; /* places are looked at in order of their cores, by the paper */
	life_seed(815 + (uint64_t)_i);
	life_open(&a, "pack:2 core:4 pu:2", name, "j");
	life_open(&b, "pack:2 core:4 pu:2", name, "j");
	a.plain = b.plain = true;
	for (int i = 0; i < 60; i++) {
		uint64_t before = life_where();
		bool ok = life_step(&a), same;

		life_seed(before);
		same = life_step(&b) == ok;
		ck_assert(same);
		for (int j = 0; ok && j < a.plan.n_jobs; j++) {
			ck_assert_msg(a.plan.job[j].cores == b.plan.job[j].cores,
				"%s: step %d, job %d: %d cores, then %d", name, i, j,
				a.plan.job[j].cores, b.plan.job[j].cores);
			for (int k = 0; k < j && by_figures; k++)
				ck_assert_msg(share_a_domain(&a, j, k) == share_a_domain(&b, j, k),
					"%s: step %d, jobs %d and %d", name, i, j, k);
		}
		/* What runs in b is a's plan with the sockets exchanged. */
		for (int j = 0; ok && j < a.plan.n_jobs; j++) {
			b.job[j].current = a.plan.job[j].coreset;
			exchange(b.t, &b.job[j].current);
		}
	}
	life_close(&a);
	life_close(&b);
}
END_TEST

/* Jobs of distinct figures in another order of the array, same order of arrival. */
START_TEST(order_in_the_array_changes_nothing)
{
	struct life w;
	struct plan first;
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct policy_cfg cfg = {.max_jobs = LIFE_JOBS};
	int rc, again;

	life_seed(7 + (uint64_t)_i);
	life_open(&w, sources[1], policy_registry[_i]->name, "j");
	for (int i = 0; i < 6; i++) {
		life_arrive(&w);
		w.job[i].nodes = 1;
		w.job[i].excluded = false;
		coreset_zero(&w.job[i].envelope);
	}
	life_sample(&w);
	ck_assert_int_eq(plan_init(&first, LIFE_JOBS, NULL), 0);
	rc = engine_decide(w.e, &w.v, &first, &err);
	for (int i = 0; i < 3; i++) {
		struct view_job swap = w.job[i];

		w.job[i] = w.job[5 - i];
		w.job[5 - i] = swap;
	}
	cfg.topo = w.t;
	ck_assert_int_eq(engine_create(&e, policy_registry[_i]->name, &cfg, &err), 0);
	again = engine_decide(e, &w.v, &w.plan, &err);
	ck_assert_int_eq(rc, again);
	for (int i = 0; rc == 0 && i < 6; i++)
		ck_assert_msg(coreset_is_equal(&first.job[i].coreset, &w.plan.job[5 - i].coreset),
			"%s: job %d", policy_registry[_i]->name, i);
	engine_free(e);
	plan_done(&first);
	life_close(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("engine");
	TCase *tc;
	SRunner *r;
	int failed, n = n_policies();

	tc = tcase_create("every policy makes valid plans through random lives");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, random_lives_give_valid_plans, 0, n + 1);
	suite_add_tcase(s, tc);
	tc = tcase_create("so they do where jobs have hardware threads, not cores");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, lives_of_single_threads_give_valid_plans, 0, n_policies() + 1);
	suite_add_tcase(s, tc);
	tc = tcase_create("the same views get the same answers whatever jobs are called");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, names_and_repetition_change_nothing, 0, n);
	tcase_add_loop_test(tc, order_in_the_array_changes_nothing, 0, n);
	tcase_add_loop_test(tc, numbers_of_cpus_change_nothing, 0, n);
	tcase_add_loop_test(tc, names_of_sockets_change_nothing, 0, n);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
