/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What few nodes have: views that policies refuse, envelopes that change, curves with too many or
 * too few points, and drivers that do not do as the plan said.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/engine.h"
#include "tests/unit/small_node.h"

static const char *const policies[] = {"none", "fair", "spread", "callisto", "lira", "lira-static",
	"llc-complex", "dio", "sbmp", "sbmp-pp", "sbmp-cd", "gang", "das-da", "mapper", "hillclimb",
	"auto", "best-static"};
#define N_POLICIES (int)(sizeof(policies) / sizeof(policies[0]))

/* Steps of several nodes take part like any other. */
static void open_independent(struct small_node *x, const char *spec, int n_jobs)
{
	struct policy_cfg cfg = {.max_jobs = SMALL_NODE_JOBS, .multi_node_independent = true};

	small_node_open(x, "core:4", spec, n_jobs);
	engine_free(x->e);
	cfg.topo = x->t;
	ck_assert_int_eq(engine_create(&x->e, spec, &cfg, NULL), 0);
}

static void envelope(struct small_node *x, int job, unsigned int first, unsigned int last)
{
	coreset_zero(&x->job[job].envelope);
	coreset_add_range(&x->job[job].envelope, first, last);
}

static void all_signals(struct small_node *x)
{
	for (int i = 0; i < x->v.n_jobs; i++)
		for (int s = 0; s < SIGNAL_COUNT; s++)
			x->job[i].signal[s] = (struct signal){0.5, PROVENANCE_HW};
}

static void refused(struct small_node *x, const char *says)
{
	int rc = small_node_try(x);

	/* Of some nobody could make a plan, of others this policy cannot. */
	ck_assert_msg(rc == -EINVAL || rc == -ENOTSUP, "%d", rc);
	ck_assert_msg(strstr(x->err.text, says) != NULL, "got: %s", x->err.text);
}

START_TEST(an_option_that_a_policy_has_not_is_named)
{
	struct policy_cfg cfg = {.max_jobs = 2};
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct topo *t = NULL;
	char spec[64];

	ck_assert_int_eq(topo_load(&t, "core:2", NULL), 0);
	cfg.topo = t;
	snprintf(spec, sizeof(spec), "%s,no_such=1", policies[_i]);
	ck_assert_int_eq(engine_create(&e, spec, &cfg, &err), -EINVAL);
	ck_assert_ptr_null(e);
	ck_assert_msg(strstr(err.text, "no_such") != NULL, "got: %s", err.text);
	topo_free(t);
}
END_TEST

START_TEST(half_a_millisecond_is_no_whole_number)
{
	struct policy_cfg cfg = {.max_jobs = 2};
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct topo *t = NULL;

	ck_assert_int_eq(topo_load(&t, "core:2", NULL), 0);
	cfg.topo = t;
	ck_assert_int_eq(engine_create(&e, "gang,slice_ms=99.5", &cfg, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, "99.5") != NULL, "got: %s", err.text);
	topo_free(t);
}
END_TEST

START_TEST(a_capacity_of_nothing_is_refused)
{
	static const int nothing[2];
	struct small_node x;

	if (!strcmp(policies[_i], "none"))
		return; /* deals no cores */
	small_node_open(&x, "pack:2 core:2", policies[_i], 2);
	all_signals(&x);
	x.v.capacity = nothing;
	x.v.n_capacity = 2;
	refused(&x, "capacity leaves no core");
	small_node_close(&x);
}
END_TEST

START_TEST(gang_never_freezes_a_step_of_several_nodes)
{
	struct small_node x;

	open_independent(&x, "gang", 2);
	x.job[1].nodes = 2;
	refused(&x, "job j1: nodes: 2");
	small_node_close(&x);
}
END_TEST

START_TEST(gang_has_a_slice_for_each_envelope_or_says_no)
{
	struct small_node x;

	small_node_open(&x, "core:4", "gang", PLAN_SLICES_MAX + 1);
	envelope(&x, 3, 0, 2);
	refused(&x, "33 jobs need more than 32 slices");
	x.v.n_jobs = PLAN_SLICES_MAX;
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_slices, PLAN_SLICES_MAX);
	small_node_close(&x);
}
END_TEST

/* Forty on one core: some turns are of several, and nobody goes without. */
START_TEST(more_on_a_core_than_there_are_slices_take_turns_together)
{
	struct small_node x;
	int turns[SMALL_NODE_JOBS] = {0};

	small_node_open(&x, "core:1", "fair,turns=all,turns_ms=10", SMALL_NODE_JOBS);
	for (int i = 0; i < SMALL_NODE_JOBS; i++)
		x.job[i].threads = 2;
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_slices, PLAN_SLICES_MAX);
	for (int s = 0; s < x.plan.n_slices; s++) {
		ck_assert_int_le(x.plan.slice[s].n_jobs, 2);
		for (int k = 0; k < x.plan.slice[s].n_jobs; k++)
			turns[x.plan.slice[s].job[k]]++;
	}
	for (int i = 0; i < SMALL_NODE_JOBS; i++)
		ck_assert_int_eq(turns[i], 1);
	small_node_close(&x);
}
END_TEST

/* ... and who shares with it neither; the others do. */
START_TEST(one_of_several_nodes_shares_a_core_without_turns)
{
	struct small_node x;
	int rotate = 0;

	open_independent(&x, "fair,turns=all,turns_ms=50", 8);
	for (int i = 0; i < 8; i++)
		x.job[i].threads = 2;
	x.job[0].nodes = 2;
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_slices, 2);
	for (int i = 0; i < 8; i++) {
		bool with_it = x.plan.job[i].group == x.plan.job[0].group;

		ck_assert_int_eq(x.plan.job[i].role, with_it ? ROLE_OWNER : ROLE_GANG);
		rotate += !with_it;
	}
	ck_assert_int_eq(rotate, 6);
	small_node_close(&x);
}
END_TEST

START_TEST(nobody_takes_turns_beside_a_step_of_several_nodes)
{
	struct small_node x;

	open_independent(&x, "fair", 2);
	x.job[0].polling = 4;
	x.plan.want_explain = true;
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_slices, 2);
	ck_assert_str_eq(x.plan.job[1].why, "alone: its whole envelope; in turns with 1 other");
	x.job[1].nodes = 2;
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_slices, 0);
	small_node_close(&x);
}
END_TEST

START_TEST(hillclimb_climbs_anew_where_envelopes_shrink)
{
	struct small_node x;

	small_node_open(&x, "core:4", "hillclimb", 2);
	envelope(&x, 0, 0, 2);
	all_signals(&x);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.job[0].cores, 2);
	envelope(&x, 0, 1, 1);
	small_node_decide(&x);
	ck_assert(coreset_is_equal(&x.plan.job[0].coreset, &x.job[0].envelope));
	ck_assert_int_eq(x.plan.job[1].cores, 3);
	small_node_close(&x);
}
END_TEST

static const char *const sharers[] = {"hillclimb", "fair", "sbmp", "mapper"};

START_TEST(jobs_that_may_use_one_core_only_share_it)
{
	struct small_node x;

	small_node_open(&x, "core:4", sharers[_i], 3);
	envelope(&x, 0, 0, 0);
	envelope(&x, 1, 0, 0);
	all_signals(&x);
	small_node_decide(&x);
	for (int i = 0; i < 2; i++)
		ck_assert(coreset_is_equal(&x.plan.job[i].coreset, &x.job[0].envelope));
	ck_assert(!coreset_has(&x.plan.job[2].coreset, 0));
	ck_assert_int_ge(x.plan.job[2].cores, 1);
	small_node_close(&x);
}
END_TEST

/* CPUs of the core that begins at @first, as a mask; none is of another. */
static unsigned int mask_of(const struct coreset *set, unsigned int first)
{
	unsigned int mask = 0;

	for (unsigned int i = 0; i < 4; i++)
		mask |= (unsigned int)coreset_has(set, first + i) << i;
	ck_assert_int_eq(coreset_count(set), __builtin_popcount(mask));
	return mask;
}

/* On a core of four threads: what each may use, and gets. */
static const struct {
	int n;
	unsigned int may[4], gets[4];
} threads[] = {
	{2, {1, 2}, {1, 2}},             /* one each: nothing in common */
	{2, {3, 2}, {1, 2}},             /* the first moves over */
	{2, {2, 3}, {2, 1}},             /* the second takes what is free */
	{3, {3, 3, 3}, {3, 3, 3}},       /* alike: all share all */
	{3, {1, 2, 3}, {1, 2, 1}},       /* none is free: in common with one */
	{3, {15, 12, 4}, {3, 8, 4}},     /* and again */
	{4, {3, 3, 2, 1}, {1, 1, 2, 1}}, /* two move over together */
	{4, {1, 1, 2, 2}, {1, 1, 2, 2}}, /* two groups' worth on one core */
};
#define N_THREADS (int)(sizeof(threads) / sizeof(threads[0]))

START_TEST(threads_of_one_core_are_dealt)
{
	for (int s = 0; s < (int)(sizeof(sharers) / sizeof(sharers[0])); s++) {
		struct small_node x;

		small_node_open(&x, "core:4 pu:4", sharers[s], threads[_i].n);
		for (int k = 0; k < threads[_i].n; k++) {
			coreset_zero(&x.job[k].envelope);
			for (unsigned int b = 0; b < 4; b++)
				if (threads[_i].may[k] >> b & 1)
					coreset_add(&x.job[k].envelope, 4 + b);
		}
		all_signals(&x);
		for (int again = 0; again < 2; again++) {
			small_node_decide(&x);
			for (int k = 0; k < threads[_i].n; k++) {
				ck_assert_msg(
					mask_of(&x.plan.job[k].coreset, 4) == threads[_i].gets[k],
					"%s, job %d of row %d: 0x%x", sharers[s], k, _i,
					mask_of(&x.plan.job[k].coreset, 4));
				ck_assert_int_eq(x.plan.job[k].group, x.plan.job[0].group);
			}
		}
		small_node_close(&x);
	}
}
END_TEST

START_TEST(callisto_deals_anew_where_the_driver_left_two_on_the_same_cores)
{
	struct small_node x;

	small_node_open(&x, "core:4", "callisto", 2);
	small_node_decide(&x);
	x.job[1].current = x.job[0].current;
	small_node_decide(&x);
	ck_assert(!coreset_intersects(&x.plan.job[0].coreset, &x.plan.job[1].coreset));
	ck_assert_int_eq(x.plan.job[0].cores + x.plan.job[1].cores, 4);
	small_node_close(&x);
}
END_TEST

START_TEST(jobs_that_ask_for_more_cores_get_them)
{
	struct small_node x;

	small_node_open(&x, "pack:2 core:4", "dio", 4);
	all_signals(&x);
	for (int cores = 1; cores <= 2; cores++) {
		for (int i = 0; i < 4; i++)
			x.job[i].cores = cores;
		small_node_decide(&x);
		for (int i = 0; i < 4; i++)
			ck_assert_int_eq(x.plan.job[i].cores, cores);
	}
	small_node_close(&x);
}
END_TEST

START_TEST(what_is_left_of_a_large_job_is_a_neighbour)
{
	double score[2];

	for (int unlike = 0; unlike < 2; unlike++) {
		struct small_node x;

		small_node_open(&x, "pack:3 core:4", "lira", 4);
		all_signals(&x);
		for (int i = 0; i < 4; i++) {
			x.job[i].cores = i < 2 ? 5 : 1;
			x.job[i].signal[SIGNAL_LOADS].value = 100 + (i == 1 && unlike ? 100 : 0);
		}
		small_node_decide(&x);
		for (int i = 0; i < 4; i++)
			ck_assert_int_eq(x.plan.job[i].cores, i < 2 ? 5 : 1);
		score[unlike] = x.plan.score;
		small_node_close(&x);
	}
	ck_assert_double_eq_tol(score[0], 0, 1e-9);
	ck_assert_double_gt(score[1], 0);
}
END_TEST

START_TEST(a_full_curve_keeps_what_it_has)
{
	struct curve c = {0};

	for (int n = 1; n <= CURVE_POINTS; n++)
		curve_set(&c, n, 10.0 * n);
	curve_set(&c, CURVE_POINTS + 1, 1);
	ck_assert_int_eq(c.n, CURVE_POINTS);
	ck_assert(!curve_has(&c, CURVE_POINTS + 1));
	curve_set(&c, CURVE_POINTS, 7);
	ck_assert_double_eq(curve_at(&c, CURVE_POINTS), 7);
}
END_TEST

START_TEST(one_core_alone_is_no_shape)
{
	static const struct speed_point point[] = {{1, 100}, {2, 0}};
	struct scalability s = {.alpha = 3};

	ck_assert(!scalability_fit(point, 1, &s));
	ck_assert(!scalability_fit(point, 2, &s));
	ck_assert_double_eq(s.alpha, 3);
}
END_TEST

START_TEST(mapper_judges_no_job_by_a_rate_it_has_nothing_to_compare_with)
{
	struct small_node x;

	small_node_open(&x, "core:8", "mapper", 2);
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.job[0].cores, 4);
	/* The driver has it elsewhere, and its rate is in no unit of the curve's. */
	for (int i = 1; i < 4; i++) {
		coreset_zero(&x.job[0].current);
		coreset_add_range(&x.job[0].current, 0, 1);
		x.job[0].signal[SIGNAL_INSTRUCTIONS] = (struct signal){5, PROVENANCE_HW};
		x.job[0].sample_no++;
		x.v.now_s = 0.1 * i;
		small_node_decide(&x);
		ck_assert_int_eq(x.plan.job[0].cores, 4);
		ck_assert_int_eq(x.plan.job[1].cores, 4);
	}
	small_node_close(&x);
}
END_TEST

START_TEST(a_task_on_a_place_that_the_node_has_not_teaches_nothing)
{
	static const struct ptt_entry table[] = {{"t", 0, 1, 1.0, 0}, {"t", 1, 1, 5.0, 0}};
	struct event e = {
		.type = EVENT_TASK_DONE, .task_type = "t", .core = 7, .width = 3, .seconds = 0.001};
	struct coreset before;
	struct small_node x;

	small_node_open(&x, "core:2", "das-dam-c", 1);
	x.v.ptt = table;
	x.v.n_ptt = 2;
	x.job[0].type = "t";
	small_node_decide(&x);
	before = x.plan.job[0].coreset;
	x.v.event = &e;
	x.v.n_events = 1;
	small_node_decide(&x);
	ck_assert(coreset_is_equal(&x.plan.job[0].coreset, &before));
	small_node_close(&x);
}
END_TEST

START_TEST(explore_finds_no_place_where_all_are_taken)
{
	struct small_node x;

	small_node_open(&x, "core:1", "das-rwsm-c,explore=1", 2);
	for (int i = 0; i < 2; i++) {
		x.job[i].type = "t";
		x.job[i].core = 0;
	}
	small_node_decide(&x);
	for (int i = 0; i < 2; i++)
		ck_assert(coreset_has(&x.plan.job[i].coreset, 0));
	small_node_close(&x);
}
END_TEST

/* Told curves: j0 gains by each core, j1 loses. */
START_TEST(worst_leaves_whom_cores_slow_down_for_last)
{
	static const struct speed_point up[] = {{1, 100}, {2, 195}, {4, 380}};
	static const struct speed_point down[] = {{1, 100}, {2, 60}, {4, 30}};
	struct small_node x;

	small_node_open(&x, "core:4", "sbmp,objective=worst,green=no", 2);
	envelope(&x, 1, 0, 2);
	x.job[0].speed = up;
	x.job[1].speed = down;
	x.job[0].n_speed = x.job[1].n_speed = 3;
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.job[0].cores, 3);
	ck_assert_int_eq(x.plan.job[1].cores, 1);
	small_node_close(&x);
}
END_TEST

START_TEST(where_all_scale_linearly_each_has_the_node_in_turn)
{
	static const struct speed_point linear[] = {{1, 100}, {2, 200}, {4, 400}, {8, 800}};
	struct small_node x;

	small_node_open(&x, "core:8", "sbmp,green=yes", 2);
	for (int i = 0; i < 2; i++) {
		x.job[i].speed = linear;
		x.job[i].n_speed = 4;
	}
	small_node_decide(&x);
	ck_assert_int_eq(x.plan.n_slices, 2);
	for (int s = 0; s < 2; s++) {
		ck_assert_int_eq(x.plan.slice[s].n_jobs, 1);
		ck_assert_int_gt(x.plan.slice[s].ms, 0);
		ck_assert_int_eq(x.plan.job[s].cores, 8);
	}
	ck_assert_int_ne(x.plan.slice[0].job[0], x.plan.slice[1].job[0]);
	small_node_close(&x);
}
END_TEST

static double all_alike(void *ctx, const struct view *v, const struct plan *p)
{
	(void)v;
	(void)p;
	++*(int *)ctx;
	return 1;
}

/* Two jobs a domain, but three of four may use one domain only. */
START_TEST(best_static_places_by_arrival_where_no_balanced_grouping_is_allowed)
{
	struct policy_cfg cfg = {.max_jobs = SMALL_NODE_JOBS, .truth = all_alike};
	struct small_node x;
	int tried = 0;

	small_node_open(&x, "pack:2 core:4", "best-static", 4);
	engine_free(x.e);
	cfg.topo = x.t;
	cfg.truth_ctx = &tried;
	ck_assert_int_eq(engine_create(&x.e, "best-static", &cfg, NULL), 0);
	for (int i = 0; i < 3; i++)
		envelope(&x, i, 0, 3);
	small_node_decide(&x);
	ck_assert_int_eq(tried, 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_ge(x.plan.job[i].cores, 1);
	for (int i = 0; i < 3; i++)
		ck_assert(coreset_is_subset(&x.plan.job[i].coreset, &x.job[i].envelope));
	small_node_close(&x);
}
END_TEST

START_TEST(best_static_has_no_choice_with_a_domain_each)
{
	struct policy_cfg cfg = {.max_jobs = SMALL_NODE_JOBS, .truth = all_alike};
	struct small_node x;
	int tried = 0;

	small_node_open(&x, "pack:2 core:4", "best-static", 2);
	engine_free(x.e);
	cfg.topo = x.t;
	cfg.truth_ctx = &tried;
	ck_assert_int_eq(engine_create(&x.e, "best-static", &cfg, NULL), 0);
	small_node_decide(&x);
	ck_assert_int_eq(tried, 0);
	ck_assert_int_eq(small_node_domain_of(&x, 0), 0);
	ck_assert_int_eq(small_node_domain_of(&x, 1), 1);
	small_node_close(&x);
}
END_TEST

START_TEST(without_a_tie_break_the_first_to_come_is_first)
{
	struct small_node x;

	small_node_open(&x, "pack:2 core:4", "lira,tie=first", 3);
	all_signals(&x);
	x.job[0].cores = 3;
	x.job[1].cores = 2;
	x.job[2].cores = 1;
	small_node_decide(&x);
	ck_assert_int_eq(small_node_domain_of(&x, 0), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(x.plan.job[i].cores, 3 - i);
	small_node_close(&x);
}
END_TEST

static void share_smt(struct small_node *x)
{
	struct policy_cfg cfg = {.max_jobs = SMALL_NODE_JOBS, .share_smt = true, .topo = x->t};

	engine_free(x->e);
	ck_assert_int_eq(engine_create(&x->e, "lira", &cfg, NULL), 0);
	all_signals(x);
	for (int i = 0; i < x->v.n_jobs; i++)
		x->job[i].signal[SIGNAL_LOADS].value = 100 * (i + 1);
}

START_TEST(half_a_pair_in_the_envelope_is_left_alone)
{
	struct small_node x;

	small_node_open(&x, "pack:2 core:2 pu:2", "lira", 4);
	share_smt(&x);
	for (int i = 0; i < 4; i++)
		envelope(&x, i, 0, 6);
	small_node_decide(&x);
	for (int i = 0; i < 4; i++) {
		ck_assert(coreset_is_subset(&x.plan.job[i].coreset, &x.job[0].envelope));
		for (int j = 0; j < i; j++)
			ck_assert(!coreset_intersects(
				&x.plan.job[i].coreset, &x.plan.job[j].coreset));
	}
	small_node_close(&x);
}
END_TEST

/* The driver has both on the threads of one of them: no dealing of these threads. */
START_TEST(threads_that_two_jobs_hold_are_dealt_anew)
{
	struct small_node x;
	int beside = 0;

	small_node_open(&x, "pack:2 core:2 pu:2", "lira", 4);
	share_smt(&x);
	small_node_decide(&x);
	for (int i = 1; i < 4; i++)
		if (small_node_domain_of(&x, i) == small_node_domain_of(&x, 0))
			beside = i;
	ck_assert_int_gt(beside, 0);
	if (_i)
		x.job[beside].current = x.job[0].current;
	else
		x.job[0].current = x.job[beside].current;
	small_node_decide(&x);
	for (int i = 1; i < 4; i++)
		ck_assert(!coreset_intersects(&x.plan.job[0].coreset, &x.plan.job[i].coreset));
	small_node_close(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("engine_corners");
	TCase *refuse = tcase_create("what cannot be is refused with a reason");
	TCase *envelopes = tcase_create("envelopes that leave little room are kept");
	TCase *driver = tcase_create("a driver that did otherwise is put right");
	TCase *curves = tcase_create("curves hold what they are told");
	TCase *deal = tcase_create("rare shapes of jobs get their due");
	SRunner *r;
	int failed;

	tcase_add_loop_test(refuse, an_option_that_a_policy_has_not_is_named, 0, N_POLICIES);
	tcase_add_test(refuse, half_a_millisecond_is_no_whole_number);
	tcase_add_loop_test(refuse, a_capacity_of_nothing_is_refused, 0, N_POLICIES);
	tcase_add_test(refuse, gang_never_freezes_a_step_of_several_nodes);
	tcase_add_test(refuse, gang_has_a_slice_for_each_envelope_or_says_no);
	tcase_add_test(refuse, more_on_a_core_than_there_are_slices_take_turns_together);
	suite_add_tcase(s, refuse);
	tcase_add_test(envelopes, hillclimb_climbs_anew_where_envelopes_shrink);
	tcase_add_loop_test(envelopes, jobs_that_may_use_one_core_only_share_it, 0,
		(int)(sizeof(sharers) / sizeof(sharers[0])));
	tcase_add_loop_test(envelopes, threads_of_one_core_are_dealt, 0, N_THREADS);
	tcase_add_test(
		envelopes, best_static_places_by_arrival_where_no_balanced_grouping_is_allowed);
	tcase_add_test(envelopes, best_static_has_no_choice_with_a_domain_each);
	tcase_add_test(envelopes, half_a_pair_in_the_envelope_is_left_alone);
	suite_add_tcase(s, envelopes);
	tcase_add_test(driver, callisto_deals_anew_where_the_driver_left_two_on_the_same_cores);
	tcase_add_loop_test(driver, threads_that_two_jobs_hold_are_dealt_anew, 0, 2);
	tcase_add_test(driver, mapper_judges_no_job_by_a_rate_it_has_nothing_to_compare_with);
	suite_add_tcase(s, driver);
	tcase_add_test(curves, a_full_curve_keeps_what_it_has);
	tcase_add_test(curves, one_core_alone_is_no_shape);
	tcase_add_test(curves, a_task_on_a_place_that_the_node_has_not_teaches_nothing);
	suite_add_tcase(s, curves);
	tcase_add_test(deal, one_of_several_nodes_shares_a_core_without_turns);
	tcase_add_test(deal, nobody_takes_turns_beside_a_step_of_several_nodes);
	tcase_add_test(deal, jobs_that_ask_for_more_cores_get_them);
	tcase_add_test(deal, what_is_left_of_a_large_job_is_a_neighbour);
	tcase_add_test(deal, without_a_tie_break_the_first_to_come_is_first);
	tcase_add_test(deal, explore_finds_no_place_where_all_are_taken);
	tcase_add_test(deal, worst_leaves_whom_cores_slow_down_for_last);
	tcase_add_test(deal, where_all_scale_linearly_each_has_the_node_in_turn);
	suite_add_tcase(s, deal);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
