/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callisto's mapping as the LIRA paper describes it: equal cores, generally in one socket, and no
 * say in who gets which.
 */
#include <check.h>
#include <math.h>
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

static unsigned int noise_state;

/* About 0, spread 0.15: sum of twelve. */
static double noise(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		noise_state = noise_state * 1103515245 + 12345;
		sum += (noise_state >> 16) % 1000 / 1000.0;
	}
	return (sum - 5.994) * 0.15;
}

/* How often a job's role changed in ten minutes of samples, four a second, about @level. */
static int role_changes(double level, uint64_t seed)
{
	struct small_node x;
	enum plan_role last = ROLE_OWNER;
	int changes = 0;

	small_node_open(&x, "pack:1 core:2", "callisto", 2);
	noise_state = (unsigned int)seed;
	for (int i = 0; i < 2400; i++) {
		double u = level + noise();

		x.v.now_s = i * 0.25;
		for (int k = 0; k < 2; k++) {
			x.job[k].sample_no = (uint64_t)i + 1;
			x.job[k].signal[SIGNAL_UTILIZATION] =
				(struct signal){.value = k == 0 ? fmin(1, fmax(0, u)) : 1,
					.provenance = PROVENANCE_OS};
		}
		small_node_decide(&x);
		changes += i > 0 && x.plan.job[0].role != last;
		last = x.plan.job[0].role;
	}
	small_node_close(&x);
	return changes;
}

START_TEST(noisy_utilisation_does_not_flap)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		/* At the bounds and between them; unsmoothed these change hundreds of times. */
		ck_assert_int_le(role_changes(0.70, seed), 20);
		ck_assert_int_le(role_changes(0.75, seed), 20);
		ck_assert_int_le(role_changes(0.80, seed), 20);
		ck_assert_int_eq(role_changes(0.20, seed), 0);
		ck_assert_int_eq(role_changes(1.00, seed), 0);
	}
}
END_TEST

START_TEST(true_change_of_utilisation_is_followed)
{
	struct small_node x;

	small_node_open(&x, "pack:1 core:2", "callisto", 2);
	for (int i = 0; i < 240; i++) {
		x.v.now_s = i * 0.25;
		for (int k = 0; k < 2; k++) {
			x.job[k].sample_no = (uint64_t)i + 1;
			x.job[k].signal[SIGNAL_UTILIZATION] = (struct signal){
				.value = k == 0 && i >= 120 ? 0.1 : 1, .provenance = PROVENANCE_OS};
		}
		small_node_decide(&x);
		/* Half a minute busy, then idle: .775 and .606 smoothed, so lent at the second. */
		ck_assert_int_eq(x.plan.job[0].role == ROLE_DONOR, i > 120);
	}
	small_node_close(&x);
}
END_TEST

START_TEST(by_threads_everybody_is_low_on_the_others_cores)
{
	struct small_node x;
	struct coreset all;

	small_node_open(&x, "pack:2 core:2", "callisto,threads=yes,hysteresis_ms=20", 3);
	/* Whatever the utilisation. */
	x.job[1].signal[SIGNAL_UTILIZATION] =
		(struct signal){.value = 0.1, .provenance = PROVENANCE_OS};
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.hysteresis_ms, 20);
	for (int i = 0; i < 3; i++) {
		const struct plan_job *j = &x.plan.job[i];

		ck_assert_int_eq(j->role, ROLE_OWNER);
		ck_assert_int_eq(j->n_lent, 0);
		ck_assert(!coreset_intersects(&j->low, &j->coreset));
		coreset_or(&all, &j->low, &j->coreset);
		ck_assert(coreset_is_equal(&all, &x.t->all));
	}
	x.v.n_jobs = 1; /* alone: nobody to be low against */
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.hysteresis_ms, 0);
	ck_assert(coreset_is_empty(&x.plan.job[0].low));
	small_node_close(&x);
}
END_TEST

START_TEST(low_stays_inside_the_envelope_and_the_default_is_by_steps)
{
	struct small_node x;

	small_node_open(&x, "pack:1 core:4", "callisto,threads=yes", 2);
	x.job[0].envelope = (struct coreset){{0x7}};
	x.job[1].envelope = (struct coreset){{0xe}};
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.hysteresis_ms, 10); /* ROSS 2015, section 5.1 */
	for (int i = 0; i < 2; i++) {
		ck_assert(!coreset_is_empty(&x.plan.job[i].low));
		ck_assert(coreset_is_subset(&x.plan.job[i].low, &x.job[i].envelope));
	}
	small_node_close(&x);
	small_node_open(&x, "pack:1 core:4", "callisto", 2);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.hysteresis_ms, 0);
	ck_assert(coreset_is_empty(&x.plan.job[0].low));
	small_node_close(&x);
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
	tc = tcase_create("idle time is lent steadily");
	tcase_add_test(tc, noisy_utilisation_does_not_flap);
	tcase_add_test(tc, true_change_of_utilisation_is_followed);
	suite_add_tcase(s, tc);
	tc = tcase_create("threads=yes: whose cores, and where the others' threads are low");
	tcase_add_test(tc, by_threads_everybody_is_low_on_the_others_cores);
	tcase_add_test(tc, low_stays_inside_the_envelope_and_the_default_is_by_steps);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
