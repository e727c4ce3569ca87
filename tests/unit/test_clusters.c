/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clusters of cache ways by hand-made LLC figures: who is with whom, how much each gets, and when
 * that changes. A socket has one cache; `dio` places.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/small_node.h"

static struct small_node x;

static void figures(int job, double refs, double ratio)
{
	x.job[job].signal[SIGNAL_LLC_REFS] =
		(struct signal){.value = refs, .provenance = PROVENANCE_HW};
	x.job[job].signal[SIGNAL_LLC_MISSES] =
		(struct signal){.value = refs * ratio, .provenance = PROVENANCE_HW};
	x.job[job].sample_no++;
}

static void teardown(void)
{
	small_node_close(&x);
}

static int cluster_of(int job)
{
	return x.plan.job[job].cluster;
}

static double ways_sum(void)
{
	double sum = 0;

	for (int k = 0; k < x.plan.n_clusters; k++)
		sum += x.plan.cluster[k].ways;
	return sum;
}

START_TEST(streaming_job_is_apart_from_one_that_reuses)
{
	small_node_open(&x, "pack:1 l3:1 core:4", "dio,clusters=2", 2);
	figures(0, 100, 0.9);
	figures(1, 100, 0.1);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_clusters, 2);
	ck_assert_int_eq(cluster_of(0), 1); /* the highest miss ratio comes last */
	ck_assert_int_eq(cluster_of(1), 0);
	/* Hits 90 to 10 of what the eighths leave: .125 + .75 x .9 and .125 + .75 x .1. */
	ck_assert_double_eq_tol(x.plan.cluster[0].ways, 0.8, 1e-9);
	ck_assert_double_eq_tol(x.plan.cluster[1].ways, 0.2, 1e-9);
	ck_assert_double_eq_tol(x.plan.cluster[1].bandwidth, 0, 1e-9);
	ck_assert(x.plan.clusters_asked);
}
END_TEST

START_TEST(jobs_that_are_alike_have_no_walls)
{
	small_node_open(&x, "pack:1 l3:1 core:4", "dio,clusters=4", 3);
	figures(0, 100, 0.50);
	figures(1, 200, 0.55);
	figures(2, 10, 0.59);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_clusters, 0);
	ck_assert(x.plan.clusters_asked); /* but they may be wanted later */
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(cluster_of(i), -1);
}
END_TEST

START_TEST(cuts_are_at_the_widest_gaps_and_no_more_than_asked)
{
	for (int most = 2; most <= 4; most++) {
		char spec[32];

		snprintf(spec, sizeof(spec), "dio,clusters=%d", most);
		small_node_open(&x, "pack:1 l3:1 core:8", spec, 5);
		figures(0, 100, 0.05);
		figures(1, 100, 0.95); /* gap .50 below */
		figures(2, 100, 0.10);
		figures(3, 100, 0.25); /* .15 */
		figures(4, 100, 0.45); /* .20 */
		small_node_decide(&x);
		ck_assert_int_eq(x.plan.n_clusters, most);
		ck_assert_double_eq_tol(ways_sum(), 1, 1e-9);
		ck_assert_int_eq(cluster_of(1), most - 1);
		ck_assert_int_eq(cluster_of(0), cluster_of(2));
		ck_assert_int_eq(cluster_of(4) == cluster_of(0), most < 3);
		ck_assert_int_eq(cluster_of(3) == cluster_of(0), most < 4);
		if (most < 4)
			small_node_close(&x);
	}
}
END_TEST

START_TEST(job_alone_in_its_cache_has_all_of_it)
{
	small_node_open(&x, "pack:2 l3:1 core:2", "dio,clusters=2", 2);
	figures(0, 100, 0.9);
	figures(1, 100, 0.1);
	small_node_decide(&x); /* a socket each */
	ck_assert_int_eq(x.plan.n_clusters, 0);
	ck_assert_int_eq(cluster_of(0), -1);
}
END_TEST

START_TEST(job_beside_its_own_cluster_only_has_the_whole_cache)
{
	small_node_open(&x, "pack:2 l3:1 core:4", "dio,clusters=2", 4);
	/* Two caches; the envelopes say who is where. */
	for (int i = 0; i < 4; i++)
		x.job[i].envelope = (struct coreset){{i < 2 ? 0x0f : 0xf0}};
	figures(0, 100, 0.9);
	figures(1, 100, 0.1);
	figures(2, 100, 0.92);
	figures(3, 100, 0.95);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_clusters, 2);
	ck_assert_int_eq(cluster_of(0), 1);
	ck_assert_int_eq(cluster_of(1), 0);
	ck_assert_int_eq(cluster_of(2), -1);
	ck_assert_int_eq(cluster_of(3), -1);
}
END_TEST

START_TEST(greedy_cluster_gets_less_bandwidth_where_asked)
{
	small_node_open(&x, "pack:1 l3:1 core:8", "dio,clusters=2,bandwidth=yes", 4);
	figures(0, 1000, 0.9);
	for (int i = 1; i < 4; i++)
		figures(i, 100, 0.05);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_clusters, 2);
	/* A quarter of the cores, 98 % of the misses: its share, but 0.3 at least. */
	ck_assert_double_eq_tol(x.plan.cluster[1].bandwidth, 0.3, 1e-9);
	ck_assert_double_eq_tol(x.plan.cluster[0].bandwidth, 0, 1e-9);
}
END_TEST

START_TEST(noisy_figures_do_not_flap)
{
	unsigned int r = 7;
	int changes = 0, last = -2;

	small_node_open(&x, "pack:1 l3:1 core:4", "dio,clusters=2", 2);
	for (int i = 0; i < 2400; i++) {
		r = r * 1103515245 + 12345;
		x.v.now_s = i * 0.25;
		/* About the gap: 0.5 and 0.6, 0.1 up and down. */
		figures(0, 100, 0.6 + ((r >> 16) % 200 / 1000.0 - 0.1));
		figures(1, 100, 0.5);
		small_node_decide(&x);
		changes += i > 0 && cluster_of(0) != last;
		last = cluster_of(0);
	}
	ck_assert_int_le(changes, 2);
}
END_TEST

START_TEST(true_change_is_followed_after_ten_seconds)
{
	small_node_open(&x, "pack:1 l3:1 core:4", "dio,clusters=2", 2);
	for (int i = 0; i < 200; i++) {
		x.v.now_s = i * 0.25;
		figures(0, 100, i < 20 ? 0.1 : 0.9);
		figures(1, 100, 0.1);
		small_node_decide(&x);
		if (x.v.now_s < 10)
			ck_assert_int_eq(x.plan.n_clusters, 0);
	}
	ck_assert_int_eq(x.plan.n_clusters, 2);
	ck_assert_int_eq(cluster_of(0), 1);
}
END_TEST

START_TEST(without_the_option_nothing_is_asked)
{
	small_node_open(&x, "pack:1 l3:1 core:4", "dio", 2);
	figures(0, 100, 0.9);
	figures(1, 100, 0.1);
	small_node_decide(&x);
	ck_assert(!x.plan.clusters_asked);
	ck_assert_int_eq(x.plan.n_clusters, 0);
}
END_TEST

START_TEST(missing_references_are_refused_by_name)
{
	small_node_open(&x, "pack:1 l3:1 core:4", "dio,clusters=2", 2);
	figures(0, 100, 0.9);
	figures(1, 100, 0.1);
	x.job[1].signal[SIGNAL_LLC_REFS].provenance = PROVENANCE_NONE;
	ck_assert_int_lt(small_node_try(&x), 0);
	ck_assert_ptr_nonnull(strstr(x.err.text, "llc_refs_per_s"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clusters");
	TCase *tc = tcase_create("jobs whom the cache serves alike are in one cluster");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, streaming_job_is_apart_from_one_that_reuses);
	tcase_add_test(tc, jobs_that_are_alike_have_no_walls);
	tcase_add_test(tc, cuts_are_at_the_widest_gaps_and_no_more_than_asked);
	tcase_add_test(tc, job_alone_in_its_cache_has_all_of_it);
	tcase_add_test(tc, job_beside_its_own_cluster_only_has_the_whole_cache);
	tcase_add_test(tc, greedy_cluster_gets_less_bandwidth_where_asked);
	tcase_add_test(tc, without_the_option_nothing_is_asked);
	tcase_add_test(tc, missing_references_are_refused_by_name);
	suite_add_tcase(s, tc);
	tc = tcase_create("clusters stand for a while");
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, noisy_figures_do_not_flap);
	tcase_add_test(tc, true_change_is_followed_after_ten_seconds);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
