/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A life of a program with two phases under sbmp-pp: what it learnt of a phase it uses when the
 * phase comes again.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/small_node.h"

struct world {
	struct small_node x;
	struct event event[PLAN_EXPERIMENTS_MAX];
	int phase;       /* of job 0; the others stay in phase 0 */
	int experiments; /* asked for job 0 since the test last set it to 0 */
};

/* Amdahl: phase 1 has a little less that is not parallel. */
static double speed_of(int phase, int cores)
{
	double serial = phase ? 0.04 : 0.05;

	return 100 / (serial + (1 - serial) / cores);
}

/* How much of its cores it uses: the wider, the less; and in phase 1 it mostly waits for a disk. */
static double utilization_of(int phase, int cores)
{
	return speed_of(0, cores) / 100 / cores * (phase ? 0.2 : 1);
}

/* A second passes: samples of where the jobs are, and the results of what was asked for. */
static void second(struct world *w)
{
	struct small_node *x = &w->x;

	x->v.now_s += 1;
	for (int i = 0; i < x->v.n_jobs; i++) {
		int cores = coreset_count(&x->job[i].current);

		x->job[i].sample_no++;
		if (cores)
			x->job[i].signal[SIGNAL_UTILIZATION] = (struct signal){
				utilization_of(i ? 0 : w->phase, cores), PROVENANCE_OS};
		else
			x->job[i].signal[SIGNAL_UTILIZATION] = (struct signal){1, PROVENANCE_OS};
	}
	small_node_decide(x);
	x->v.n_events = x->plan.n_experiments;
	x->v.event = w->event;
	for (int e = 0; e < x->plan.n_experiments; e++) {
		const struct plan_experiment *asked = &x->plan.experiment[e];

		w->event[e] = (struct event){.type = EVENT_EXPERIMENT_RESULT,
			.job = x->job[asked->job].id,
			.cores = asked->cores,
			.speed = speed_of(asked->job ? 0 : w->phase, asked->cores)};
		w->experiments += asked->job == 0;
	}
}

static void seconds(struct world *w, int n)
{
	for (int i = 0; i < n; i++)
		second(w);
}

static void open_world(struct world *w, const char *spec, int n_jobs)
{
	memset(w, 0, sizeof(*w));
	small_node_open(&w->x, "core:8", spec, n_jobs);
}

START_TEST(a_phase_seen_before_is_not_sampled_again)
{
	struct world w;

	open_world(&w, "sbmp-pp,phase=width", 1);
	seconds(&w, 10);
	ck_assert_int_eq(w.experiments, 4); /* 1, 2, 4 and 8 cores */
	w.phase = 1;
	seconds(&w, 10);
	ck_assert_int_eq(w.experiments, 8);
	w.experiments = 0;
	for (int i = 0; i < 6; i++) {
		w.phase = i % 2;
		seconds(&w, 10);
	}
	ck_assert_int_eq(w.experiments, 0);
	small_node_close(&w.x);
}
END_TEST

START_TEST(the_paper_samples_each_phase_anew)
{
	struct world w;

	open_world(&w, "sbmp-pp,phase=paper", 1);
	seconds(&w, 30);
	w.experiments = 0;
	for (int i = 1; i < 4; i++) {
		w.phase = i % 2;
		seconds(&w, 30);
	}
	/* A change inside an epoch may show in two of them. */
	ck_assert_int_ge(w.experiments, 12);
	small_node_close(&w.x);
}
END_TEST

/* The phase was seen alone and beside one and three others; now beside two. */
START_TEST(a_phase_is_known_again_at_another_width)
{
	struct world w;

	open_world(&w, "sbmp-pp,phase=width", 1);
	seconds(&w, 10);
	w.x.v.n_jobs = 4;
	seconds(&w, 20);
	ck_assert_int_eq(w.x.plan.job[0].cores, 2);
	w.x.v.n_jobs = 2;
	seconds(&w, 20);
	ck_assert_int_eq(w.x.plan.job[0].cores, 4);
	w.phase = 1;
	seconds(&w, 20);
	w.x.v.n_jobs = 3;
	seconds(&w, 20);
	ck_assert_int_eq(w.x.plan.job[0].cores, 3);
	w.experiments = 0;
	w.phase = 0;
	seconds(&w, 20);
	ck_assert_int_eq(w.experiments, 0);
	small_node_close(&w.x);
}
END_TEST

/* Four widths of a phase are kept; the last of five takes the place of the one before. */
START_TEST(a_phase_seen_at_five_widths_is_known_again)
{
	static const int jobs[] = {1, 2, 3, 4, 8};
	struct world w;

	open_world(&w, "sbmp-pp,phase=width", 1);
	for (int i = 0; i < 5; i++) {
		w.x.v.n_jobs = jobs[i];
		seconds(&w, 20);
		ck_assert_int_eq(w.x.plan.job[0].cores, jobs[i] == 3 ? 3 : 8 / jobs[i]);
	}
	w.phase = 1;
	seconds(&w, 20);
	w.experiments = 0;
	w.phase = 0;
	seconds(&w, 20);
	ck_assert_int_eq(w.experiments, 0);
	small_node_close(&w.x);
}
END_TEST

/* Both phases were seen at one width only; they are told apart at a smaller and at a larger one. */
START_TEST(a_phase_is_known_again_beyond_the_widths_it_was_seen_at)
{
	for (int before = 1; before <= 2; before++) {
		struct world w;

		open_world(&w, "sbmp-pp,phase=width", before);
		seconds(&w, 20);
		w.phase = 1;
		seconds(&w, 20);
		w.x.v.n_jobs = 3 - before;
		seconds(&w, 20);
		ck_assert_int_eq(w.x.plan.job[0].cores, 8 / (3 - before));
		w.experiments = 0;
		w.phase = 0;
		seconds(&w, 20);
		ck_assert_int_eq(w.experiments, 0);
		small_node_close(&w.x);
	}
}
END_TEST

/* Phases that ended before anything of them was seen are no phases to come back to. */
START_TEST(a_phase_of_which_nothing_was_seen_is_not_known_again)
{
	struct world w;

	open_world(&w, "sbmp-pp,phase=width", 1);
	for (int change = 0; change < 3; change++) {
		w.x.v.n_events = 0;
		w.experiments = 0;
		for (int s = 0; s < 4 && w.experiments < 4; s++)
			second(&w);
		ck_assert_int_eq(w.experiments, 4);
		second(&w); /* the results */
		w.event[0] = (struct event){.type = EVENT_PHASE, .job = w.x.job[0].id};
		w.x.v.n_events = 1;
		w.x.v.event = w.event;
		small_node_decide(&w.x); /* without a sample */
		ck_assert_int_eq(w.x.plan.n_experiments, 4);
	}
	small_node_close(&w.x);
}
END_TEST

/* Where there is one core there is nothing to ask. */
START_TEST(one_core_needs_no_experiment)
{
	struct world w;

	memset(&w, 0, sizeof(w));
	small_node_open(&w.x, "core:1", "sbmp-pp", 1);
	seconds(&w, 5);
	ck_assert_int_eq(w.experiments, 0);
	ck_assert_int_eq(w.x.plan.job[0].cores, 1);
	small_node_close(&w.x);
}
END_TEST

/* A speed that was reported twice is the later one. */
START_TEST(a_second_result_replaces_the_first)
{
	struct small_node x;
	struct event result[5];
	double score[2];

	for (int again = 0; again < 2; again++) {
		int n = 0;

		small_node_open(&x, "core:8", "sbmp", 2);
		small_node_decide(&x);
		ck_assert_int_eq(x.plan.n_experiments, 8);
		if (again)
			result[n++] = (struct event){.type = EVENT_EXPERIMENT_RESULT,
				.job = "j0",
				.cores = 8,
				.speed = 101};
		for (int cores = 1; cores <= 8; cores *= 2)
			result[n++] = (struct event){.type = EVENT_EXPERIMENT_RESULT,
				.job = "j0",
				.cores = cores,
				.speed = speed_of(0, cores)};
		x.v.event = result;
		x.v.n_events = n;
		x.v.now_s = 1;
		small_node_decide(&x);
		for (int i = 0; i < n; i++)
			result[i].job = "j1";
		small_node_decide(&x);
		score[again] = x.plan.score;
		small_node_close(&x);
	}
	ck_assert_double_eq_tol(score[0], score[1], 1e-12);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sbmp");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase_create("what a phase showed is used when it comes again");
	tcase_add_test(t, a_phase_seen_before_is_not_sampled_again);
	tcase_add_test(t, the_paper_samples_each_phase_anew);
	tcase_add_test(t, a_phase_is_known_again_at_another_width);
	tcase_add_test(t, a_phase_seen_at_five_widths_is_known_again);
	tcase_add_test(t, a_phase_is_known_again_beyond_the_widths_it_was_seen_at);
	tcase_add_test(t, a_phase_of_which_nothing_was_seen_is_not_known_again);
	suite_add_tcase(s, t);
	t = tcase_create("experiments are asked for where they tell something");
	tcase_add_test(t, one_core_needs_no_experiment);
	tcase_add_test(t, a_second_result_replaces_the_first);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
