/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decision path allocates nothing: calls are counted, no time is measured. And what is
 * allocated before it may be refused at any call.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/busy_node.h"
#include "tests/unit/count_alloc.h"

#define JOBS      64
#define SOCKETS   8
#define WARM_UP   8
#define DECISIONS 200

static int n_policies(void)
{
	int n = 0;

	while (policy_registry[n])
		n++;
	return n;
}

START_TEST(policy_allocates_nothing_after_create)
{
	static struct busy_node b;
	const struct policy_ops *ops = policy_registry[_i];
	struct policy_cfg cfg = {.max_jobs = JOBS};
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct topo *t = NULL;
	struct plan plan;
	char source[64];
	long before = 0;
	int rc = 0;

	if (!ops->on_node)
		return;
	busy_node_topology(JOBS, SOCKETS, source, sizeof(source));
	ck_assert_int_eq(topo_load(&t, source, &err), 0);
	cfg.topo = t;
	ck_assert_int_eq(engine_create(&e, ops->name, &cfg, &err), 0);
	ck_assert_int_eq(plan_init(&plan, JOBS, &err), 0);
	busy_node_init(&b, JOBS);
	for (int i = 0; i < WARM_UP + DECISIONS; i++) {
		if (i == WARM_UP)
			before = count_alloc();
		/* Half of them explained, as colocctl explain asks. */
		plan.want_explain = i % 2;
		busy_node_step(&b);
		rc = engine_decide(e, &b.view, &plan, &err);
		if (rc)
			break;
		busy_node_carry_out(&b, &plan);
	}
	before = count_alloc() - before;
	ck_assert_msg(rc == 0, "%s: %s", ops->name, err.text);
	ck_assert_msg(
		before == 0, "%s: %ld allocations in %d decisions", ops->name, before, DECISIONS);
	plan_done(&plan);
	engine_free(e);
	topo_free(t);
}
END_TEST

START_TEST(the_counter_counts)
{
	long before = count_alloc();
	void *volatile p = malloc(1);

	ck_assert_int_eq(count_alloc() - before, 1);
	free(p);
}
END_TEST

/* At each allocation in turn: refused with nothing made; what leaks, LeakSanitizer tells. */
START_TEST(an_engine_without_memory_is_refused)
{
	struct policy_cfg cfg = {.max_jobs = JOBS};
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct topo *t = NULL;
	char source[64];
	long n;
	int rc;

	busy_node_topology(JOBS, SOCKETS, source, sizeof(source));
	ck_assert_int_eq(topo_load(&t, source, &err), 0);
	cfg.topo = t;
	n = count_alloc();
	rc = engine_create(&e, policy_registry[_i]->name, &cfg, &err);
	n = count_alloc() - n; /* Check's own assertions allocate, too */
	ck_assert_int_eq(rc, 0);
	engine_free(e);
	e = NULL;
	ck_assert_int_ge(n, 4);
	for (long nth = 1; nth <= n; nth++) {
		err.text[0] = '\0';
		count_alloc_refuse(nth);
		rc = engine_create(&e, policy_registry[_i]->name, &cfg, &err);
		count_alloc_refuse(0);
		ck_assert_msg(rc == -ENOMEM && !e, "%s, allocation %ld of %ld: %d",
			policy_registry[_i]->name, nth, n, rc);
		ck_assert_msg(strstr(err.text, "out of memory"), "%s", err.text);
	}
	topo_free(t);
}
END_TEST

START_TEST(a_plan_without_memory_is_refused)
{
	struct errbuf err = {""};
	struct plan plan;
	long n = count_alloc();
	int rc = plan_init(&plan, JOBS, &err);

	n = count_alloc() - n;
	ck_assert_int_eq(rc, 0);
	plan_done(&plan);
	for (long nth = 1; nth <= n; nth++) {
		count_alloc_refuse(nth);
		rc = plan_init(&plan, JOBS, &err);
		count_alloc_refuse(0);
		ck_assert_int_eq(rc, -ENOMEM);
		ck_assert_str_eq(err.text, "out of memory for a plan of 64 jobs");
		/* There is nothing to free, and freeing it does no harm. */
		ck_assert_ptr_null(plan.job);
		plan_done(&plan);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("decide_alloc");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("deciding for 64 jobs on 8 sockets allocates nothing");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, policy_allocates_nothing_after_create, 0, n_policies());
	tcase_add_test(tc, the_counter_counts);
	suite_add_tcase(s, tc);
	tc = tcase_create("what finds no memory is refused, and leaves nothing behind");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, an_engine_without_memory_is_refused, 0, n_policies());
	tcase_add_test(tc, a_plan_without_memory_is_refused);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
