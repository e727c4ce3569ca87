/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callisto's mapping as the LIRA paper describes it: equal cores, generally in one socket, and no
 * say in who gets which.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"

#define JOBS 5

struct node {
	struct topo *t;
	struct engine *e;
	struct plan plan;
	struct view v;
	struct view_job job[JOBS];
	char id[JOBS][16];
};

static void open_node(struct node *x, const char *source, int n, uint64_t seed)
{
	struct policy_cfg cfg = {.max_jobs = JOBS};

	memset(x, 0, sizeof(*x));
	ck_assert_int_eq(topo_load(&x->t, source, NULL), 0);
	cfg.topo = x->t;
	ck_assert_int_eq(engine_create(&x->e, "callisto", &cfg, NULL), 0);
	ck_assert_int_eq(plan_init(&x->plan, JOBS, NULL), 0);
	x->v.job = x->job;
	x->v.n_jobs = n;
	x->v.seed = seed;
	for (int i = 0; i < JOBS; i++) {
		snprintf(x->id[i], sizeof(x->id[i]), "j%d", i);
		x->job[i] = (struct view_job){
			.id = x->id[i], .order = i, .nodes = 1, .home_numa = -1, .core = -1};
	}
}

static void close_node(struct node *x)
{
	plan_done(&x->plan);
	engine_free(x->e);
	topo_free(x->t);
}

/* Decides, and lets the plan come true. */
static void decide(struct node *x)
{
	struct errbuf err = {""};
	int rc = engine_decide(x->e, &x->v, &x->plan, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	for (int i = 0; i < x->v.n_jobs; i++)
		x->job[i].current = x->plan.job[i].coreset;
}

/* Domain of all of a job's cores, -1 when they are in several. */
static int domain_of(const struct node *x, int i)
{
	for (int d = 0; d < x->t->n_domains; d++)
		if (coreset_is_subset(&x->plan.job[i].coreset, &x->t->domain[d].pus))
			return d;
	return -1;
}

START_TEST(quarters_of_a_machine_stay_inside_a_socket_and_all_pairings_occur)
{
	int beside_first[4] = {0};

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct node x;

		open_node(&x, "pack:2 core:8", 4, seed);
		decide(&x);
		for (int i = 0; i < 4; i++) {
			ck_assert_int_eq(x.plan.job[i].cores, 4);
			ck_assert_int_ge(domain_of(&x, i), 0);
			beside_first[i] += i > 0 && domain_of(&x, i) == domain_of(&x, 0);
		}
		close_node(&x);
	}
	/* Each of three pairings in a third of the draws: 67 wanted, 40 is four sigma off. */
	for (int i = 1; i < 4; i++)
		ck_assert_int_gt(beside_first[i], 40);
}
END_TEST

START_TEST(sizes_that_do_not_divide_a_socket_straddle)
{
	struct node x;
	int straddling = 0;

	open_node(&x, "pack:2 core:4", 3, 1);
	decide(&x);
	for (int i = 0; i < 3; i++) {
		int first = coreset_next(&x.plan.job[i].coreset, 0), n = x.plan.job[i].cores;
		struct coreset row = {{0}};

		coreset_add_range(&row, (unsigned int)first, (unsigned int)(first + n - 1));
		ck_assert(coreset_is_equal(&row, &x.plan.job[i].coreset));
		straddling += domain_of(&x, i) < 0;
	}
	ck_assert_int_ge(straddling, 1);
	close_node(&x);
}
END_TEST

START_TEST(the_mapping_holds_until_a_job_comes_or_goes)
{
	int moved = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct node x;

		open_node(&x, "pack:2 core:8", 4, seed);
		decide(&x);
		for (int again = 0; again < 3; again++) {
			decide(&x);
			ck_assert_int_eq(x.plan.moves, 0);
		}
		/* One goes, another comes: a new draw for everybody. */
		snprintf(x.id[3], sizeof(x.id[3]), "new");
		x.job[3].order = 17;
		coreset_zero(&x.job[3].current);
		decide(&x);
		moved += x.plan.moves > 1;
		close_node(&x);
	}
	ck_assert_int_gt(moved, 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("callisto");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("cores are side by side, and chance says whose");
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, quarters_of_a_machine_stay_inside_a_socket_and_all_pairings_occur);
	tcase_add_test(tc, sizes_that_do_not_divide_a_socket_straddle);
	suite_add_tcase(s, tc);
	tc = tcase_create("a mapping is drawn anew when the set of jobs changes");
	tcase_add_test(tc, the_mapping_holds_until_a_job_comes_or_goes);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
