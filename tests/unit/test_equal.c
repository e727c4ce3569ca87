/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where domains differ in cores (hybrid machines, allocations with holes), jobs that asked for
 * nothing get equal parts under every policy, and whole domains where parts fit them.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/small_node.h"

/* Machines: cores of each cluster that shares an L2, ended by 0; the domains are those clusters. */
#define CLUSTERS_MAX 9
static const int machines[][CLUSTERS_MAX] = {
	{1, 1, 1, 1, 1, 1, 4, 4}, /* six fast cores with an L2 each, eight slow ones */
	{4, 4, 1, 1},
	{2, 5, 5, 2},
	{3, 3, 2},
	{7, 2, 1},
};
#define N_MACHINES (int)(sizeof(machines) / sizeof(machines[0]))

/* In a trial parts are not equal, for a moment. */
static const char *const policies[] = {"fair", "spread", "callisto", "lira", "lira-static",
	"lira,norm=per_socket", "llc-complex", "llc-complex,strict=yes", "dio", "sbmp", "sbmp-cd",
	"mapper", "hillclimb", "auto,trials=no"};
#define N_POLICIES (int)(sizeof(policies) / sizeof(policies[0]))

static char xml[65536];

static void add(const char *text)
{
	ck_assert_uint_lt(strlen(xml) + strlen(text) + 1, sizeof(xml));
	strcat(xml, text);
}

/* An object over PUs @first to @last. */
static void add_object(const char *type, int os_index, int first, int last, const char *more)
{
	static int serial;
	char text[512], set[32];

	snprintf(set, sizeof(set), "0x%08lx", ((1UL << (last + 1)) - 1) & ~((1UL << first) - 1));
	snprintf(text, sizeof(text),
		"<object type=\"%s\" os_index=\"%d\" cpuset=\"%s\" complete_cpuset=\"%s\" "
		"nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"%d\" %s>",
		type, os_index, set, set, ++serial, more);
	add(text);
}

/* hwloc's XML of a machine; on it single cores of a cluster have two hardware threads. */
static const char *machine_xml(const int *cluster)
{
	int n = 0, core = 0, pu = 0;

	for (int i = 0; i < CLUSTERS_MAX && cluster[i]; i++)
		n += cluster[i] == 1 ? 2 : cluster[i];
	xml[0] = '\0';
	add("<?xml version=\"1.0\"?><topology version=\"2.0\">");
	add_object("Machine", 0, 0, n - 1, "allowed_cpuset=\"0xffffffff\" allowed_nodeset=\"0x1\"");
	add_object("NUMANode", 0, 0, n - 1, "local_memory=\"1\"");
	add("</object>");
	add_object("Package", 0, 0, n - 1, "");
	add_object("L3Cache", 0, 0, n - 1,
		"cache_size=\"1048576\" depth=\"3\" cache_linesize=\"64\" "
		"cache_associativity=\"8\" cache_type=\"0\"");
	for (int i = 0; i < CLUSTERS_MAX && cluster[i]; i++) {
		int threads = cluster[i] == 1 ? 2 : 1;

		add_object("L2Cache", i, pu, pu + threads * cluster[i] - 1,
			"cache_size=\"65536\" depth=\"2\" cache_linesize=\"64\" "
			"cache_associativity=\"8\" cache_type=\"0\"");
		for (int k = 0; k < cluster[i]; k++) {
			add_object("Core", core++, pu, pu + threads - 1, "");
			for (int t = 0; t < threads; t++, pu++) {
				add_object("PU", pu, pu, pu, "");
				add("</object>");
			}
			add("</object>");
		}
		add("</object>");
	}
	add("</object></object></object></topology>");
	return xml;
}

static void set_signals(struct small_node *x)
{
	for (int i = 0; i < x->v.n_jobs; i++)
		for (int s = 0; s < SIGNAL_COUNT; s++)
			x->job[i].signal[s] = (struct signal){
				s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO
					? 0.9
					: 1000.0 + 100 * ((i * 7 + s) % 11),
				PROVENANCE_HW};
}

/* Every core is somebody's, and nobody has two more than another. */
static void check_equal(const struct small_node *x, const char *what)
{
	int least = x->plan.job[0].cores, most = least, sum = 0, n = x->v.n_jobs;

	for (int i = 0; i < n; i++) {
		least = x->plan.job[i].cores < least ? x->plan.job[i].cores : least;
		most = x->plan.job[i].cores > most ? x->plan.job[i].cores : most;
		sum += x->plan.job[i].cores;
	}
	ck_assert_msg(most - least <= 1 && sum == x->t->n_cores,
		"%s: %d jobs: %d to %d cores, %d of %d", what, n, least, most, sum, x->t->n_cores);
}

START_TEST(parts_are_equal_where_domains_differ)
{
	const char *spec = policies[_i % N_POLICIES];
	const int *cluster = machines[_i / N_POLICIES];
	struct small_node x;
	int most;

	small_node_open(&x, machine_xml(cluster), spec, 2);
	ck_assert_int_eq(x.t->domain_level, TOPO_L2);
	most = x.t->n_cores < SMALL_NODE_JOBS ? x.t->n_cores : SMALL_NODE_JOBS;
	small_node_close(&x);
	for (int n = 2; n <= most; n++) {
		char what[64];

		snprintf(what, sizeof(what), "%s, machine %d", spec, _i / N_POLICIES);
		small_node_open(&x, machine_xml(cluster), spec, n);
		set_signals(&x);
		small_node_decide(&x);
		check_equal(&x, what);
		/* And so they stay, whoever's figures change. */
		x.v.now_s += 10;
		small_node_decide(&x);
		check_equal(&x, what);
		if (strcmp(spec, "fair") == 0)
			ck_assert_int_eq(x.plan.moves, 0);
		/* One goes. */
		x.v.n_jobs = n - 1;
		small_node_decide(&x);
		check_equal(&x, what);
		small_node_close(&x);
	}
}
END_TEST

static const struct {
	int n, cores[8];
} hybrid[] = {
	{2, {7, 7}},
	{3, {5, 5, 4}},
	{4, {4, 4, 3, 3}},
	{8, {2, 2, 2, 2, 2, 2, 1, 1}},
};

START_TEST(fair_shares_of_a_hybrid_machine_go_by_arrival)
{
	struct small_node x;

	small_node_open(&x, machine_xml(machines[0]), "fair", hybrid[_i].n);
	small_node_decide(&x);
	for (int k = 0; k < hybrid[_i].n; k++)
		ck_assert_int_eq(x.plan.job[k].cores, hybrid[_i].cores[k]);
	small_node_close(&x);
}
END_TEST

START_TEST(parts_that_fit_a_domain_are_in_one)
{
	struct small_node x;

	small_node_open(&x, machine_xml(machines[0]), "fair", 4);
	small_node_decide(&x);
	ck_assert_int_eq(small_node_domain_of(&x, 0), 6);
	ck_assert_int_eq(small_node_domain_of(&x, 1), 7);
	small_node_close(&x);
}
END_TEST

/* Allocations of "pack:4 core:4" that leave domains of different size. */
static const struct {
	const char *envelope;
	int n, cores[4];
} holes[] = {
	{"0-4", 2, {3, 2}},
	{"0-4", 3, {2, 2, 1}},
	{"0,4-7", 2, {3, 2}},
	{"0-2,4,8-11,14", 3, {3, 3, 3}},
	{"0-3,7,11,15", 4, {2, 2, 2, 1}},
};

START_TEST(parts_of_an_allocation_with_holes_are_equal)
{
	const char *spec = policies[_i % N_POLICIES];
	int h = _i / N_POLICIES, sum = 0;
	struct small_node x;

	small_node_open(&x, "pack:4 core:4", spec, holes[h].n);
	set_signals(&x);
	for (int i = 0; i < holes[h].n; i++)
		ck_assert_int_eq(coreset_parse(&x.job[i].envelope, holes[h].envelope, NULL), 0);
	small_node_decide(&x);
	for (int i = 0; i < holes[h].n; i++) {
		int cores = x.plan.job[i].cores, want = holes[h].cores[i];

		sum += cores - want;
		/* Who gets the remainder is fair's to say by arrival; others' by chance or score.
		 */
		ck_assert_msg(strcmp(spec, "fair") == 0 ? cores == want
							: cores >= holes[h].cores[holes[h].n - 1] &&
								  cores <= holes[h].cores[0],
			"%s: %s: job %d has %d cores", spec, holes[h].envelope, i, cores);
	}
	ck_assert_int_eq(sum, 0);
	small_node_close(&x);
}
END_TEST

/* Allocations that overlap but differ, on "pack:2 core:4"; wishes; what fair gives. */
static const struct {
	const char *envelope[3];
	int wish[3], cores[3];
} overlaps[] = {
	{{"0-4", "3-7"}, {0}, {4, 4}},
	{{"0-2", "2-4", "4-6"}, {0}, {3, 2, 2}},
	{{"0-7", "0-7", "6-7"}, {0}, {3, 3, 2}},
	{{"0-5", "2-7"}, {0}, {4, 4}},
	{{"0-5", "2-7"}, {2, 0}, {2, 6}},
	{{"0-5", "2-7"}, {2, 2}, {2, 2}},
	{{"0-1", "1-2", "2-7"}, {0}, {2, 1, 5}},
};
#define N_OVERLAPS (int)(sizeof(overlaps) / sizeof(overlaps[0]))

/* No core is left that somebody may use who named no number, and nobody has one outside. */
START_TEST(no_core_of_overlapping_allocations_is_left)
{
	const char *spec = policies[_i % N_POLICIES];
	int o = _i / N_POLICIES, n = overlaps[o].envelope[2] ? 3 : 2;
	struct coreset all, used;
	struct small_node x;
	bool wishes = false;

	small_node_open(&x, "pack:2 core:4", spec, n);
	set_signals(&x);
	coreset_zero(&all);
	coreset_zero(&used);
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(
			coreset_parse(&x.job[i].envelope, overlaps[o].envelope[i], NULL), 0);
		x.job[i].cores = overlaps[o].wish[i];
		wishes |= x.job[i].cores > 0;
		coreset_or(&all, &all, &x.job[i].envelope);
	}
	small_node_decide(&x);
	for (int i = 0; i < n; i++) {
		const struct plan_job *p = &x.plan.job[i];

		ck_assert_msg(coreset_is_subset(&p->coreset, &x.job[i].envelope),
			"%s: job %d of %d", spec, i, o);
		coreset_or(&used, &used, &p->coreset);
		if (strcmp(spec, "fair") == 0)
			ck_assert_msg(p->cores == overlaps[o].cores[i], "%d: job %d has %d cores",
				o, i, p->cores);
	}
	if (!wishes)
		ck_assert_msg(coreset_is_equal(&all, &used), "%s: %d: a core is left", spec, o);
	small_node_close(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("equal");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("parts are equal where domains differ");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, parts_are_equal_where_domains_differ, 0, N_MACHINES * N_POLICIES);
	tcase_add_loop_test(tc, fair_shares_of_a_hybrid_machine_go_by_arrival, 0,
		(int)(sizeof(hybrid) / sizeof(hybrid[0])));
	tcase_add_loop_test(tc, parts_of_an_allocation_with_holes_are_equal, 0,
		(int)(sizeof(holes) / sizeof(holes[0])) * N_POLICIES);
	tcase_add_loop_test(
		tc, no_core_of_overlapping_allocations_is_left, 0, N_OVERLAPS * N_POLICIES);
	suite_add_tcase(s, tc);
	tc = tcase_create("domains are kept where parts fit them");
	tcase_add_test(tc, parts_that_fit_a_domain_are_in_one);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
