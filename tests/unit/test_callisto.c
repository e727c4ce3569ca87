/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callisto's mapping as the LIRA paper describes it: equal cores, generally in one socket, and no
 * say in who gets which.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/small_node.h"

START_TEST(quarters_of_a_machine_stay_inside_a_socket_and_all_pairings_occur)
{
	int beside_first[4] = {0};

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct small_node x;

		small_node_open(&x, "pack:2 core:8", "callisto", 4);
		x.v.seed = seed;
		small_node_decide(&x);
		for (int i = 0; i < 4; i++) {
			ck_assert_int_eq(x.plan.job[i].cores, 4);
			ck_assert_int_ge(small_node_domain_of(&x, i), 0);
			beside_first[i] +=
				i > 0 && small_node_domain_of(&x, i) == small_node_domain_of(&x, 0);
		}
		small_node_close(&x);
	}
	/* Each of three pairings in a third of the draws: 67 wanted, 40 is four sigma off. */
	for (int i = 1; i < 4; i++)
		ck_assert_int_gt(beside_first[i], 40);
}
END_TEST

START_TEST(sizes_that_do_not_divide_a_socket_straddle)
{
	struct small_node x;
	int straddling = 0;

	small_node_open(&x, "pack:2 core:4", "callisto", 3);
	x.v.seed = 1;
	small_node_decide(&x);
	for (int i = 0; i < 3; i++) {
		int first = coreset_next(&x.plan.job[i].coreset, 0), n = x.plan.job[i].cores;
		struct coreset row = {{0}};

		coreset_add_range(&row, (unsigned int)first, (unsigned int)(first + n - 1));
		ck_assert(coreset_is_equal(&row, &x.plan.job[i].coreset));
		straddling += small_node_domain_of(&x, i) < 0;
	}
	ck_assert_int_ge(straddling, 1);
	small_node_close(&x);
}
END_TEST

START_TEST(the_mapping_holds_until_a_job_comes_or_goes)
{
	int moved = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct small_node x;

		small_node_open(&x, "pack:2 core:8", "callisto", 4);
		x.v.seed = seed;
		small_node_decide(&x);
		for (int again = 0; again < 3; again++) {
			small_node_decide(&x);
			ck_assert_int_eq(x.plan.moves, 0);
		}
		/* One goes, another comes: a new draw for everybody. */
		snprintf(x.id[3], sizeof(x.id[3]), "new");
		x.job[3].order = 17;
		coreset_zero(&x.job[3].current);
		small_node_decide(&x);
		moved += x.plan.moves > 1;
		small_node_close(&x);
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
