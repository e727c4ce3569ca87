/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a step's wall time went into, of figures: each cause as the largest, and sums that are
 * whole. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/waits.h"

static struct waits w;

static void setup(void)
{
	memset(&w, 0, sizeof(w));
}

/* Two threads of two CPUs for ten seconds, alone; each test changes what happens to them. */
static const struct waits_span QUIET = {.wall_s = 10,
	.ran_s = 20,
	.most_ran_s = 10,
	.most_wanted_s = 10,
	.threads = 2,
	.envelope = 2,
	.placed = 2,
	.stalled_s = NAN};

static void shares_are_whole(void)
{
	double sum = 0;

	for (int i = 0; i < WAIT_CAUSES; i++) {
		double share = waits_share(&w, (enum wait_cause)i);

		ck_assert_msg(
			share >= 0 && share <= 1, "%s %g", waits_name((enum wait_cause)i), share);
		sum += share;
	}
	ck_assert_double_eq_tol(sum, 1, 1e-9);
}

static void is_largest(enum wait_cause cause, double share)
{
	shares_are_whole();
	ck_assert_str_eq(waits_name(waits_largest(&w)), waits_name(cause));
	ck_assert_double_eq_tol(waits_share(&w, cause), share, 0.005);
}

START_TEST(who_runs_waits_for_nothing)
{
	char text[64];

	waits_add(&w, &QUIET);
	is_largest(WAIT_RAN, 1);
	ck_assert_str_eq(waits_text(&w, text, sizeof(text)), "none");
}
END_TEST

START_TEST(one_thread_has_more_to_do)
{
	struct waits_span f = QUIET;

	f.ran_s = 14;
	waits_add(&w, &f);
	is_largest(WAIT_OWN, 0.3);
	ck_assert_double_eq_tol(waits_share(&w, WAIT_RAN), 0.7, 1e-9);
}
END_TEST

/* A neighbour has half of one of its CPUs. */
static struct waits_span disturbed(double neighbours_s, double outside_s)
{
	struct waits_span f = QUIET;

	f.ran_s = 15;
	f.held_s = 5;
	f.neighbours_s = neighbours_s;
	f.outside_s = outside_s;
	return f;
}

START_TEST(others_have_the_core)
{
	struct waits_span f = disturbed(5, 0);

	waits_add(&w, &f);
	is_largest(WAIT_NEIGHBOUR, 0.25);
	setup();
	f = disturbed(0, 5);
	waits_add(&w, &f);
	is_largest(WAIT_OUTSIDE, 0.25);
	setup();
	f = disturbed(2, 3);
	waits_add(&w, &f);
	is_largest(WAIT_OUTSIDE, 0.15);
	ck_assert_double_eq_tol(waits_share(&w, WAIT_NEIGHBOUR), 0.1, 1e-9);
}
END_TEST

START_TEST(who_waits_for_one_that_is_held_up_waits_for_what_holds_it_up)
{
	struct waits_span f = disturbed(5, 0);

	/* The other one sleeps meanwhile: both have run for five seconds. */
	f.ran_s = 10;
	f.most_ran_s = 5;
	waits_add(&w, &f);
	is_largest(WAIT_NEIGHBOUR, 0.5);
	ck_assert_double_eq_tol(waits_share(&w, WAIT_OWN), 0, 1e-9);
	/* And for it itself, where it has more to do besides: 8 s, of which 2 in line, and 4. */
	setup();
	f.ran_s = 10;
	f.most_ran_s = 6;
	f.held_s = 2;
	f.most_wanted_s = 8;
	waits_add(&w, &f);
	ck_assert_double_eq_tol(waits_share(&w, WAIT_OWN), 0.1, 1e-9);
	ck_assert_double_eq_tol(waits_share(&w, WAIT_NEIGHBOUR), 0.2, 1e-9);
	ck_assert_double_eq_tol(waits_share(&w, WAIT_IDLE), 0.2, 1e-9);
	shares_are_whole();
}
END_TEST

START_TEST(cores_left_to_others_are_a_neighbours)
{
	struct waits_span f = QUIET;

	/* Both threads on one of its CPUs, on which nobody else is. */
	f.ran_s = 10;
	f.held_s = 10;
	f.most_ran_s = 5;
	f.placed = 1;
	waits_add(&w, &f);
	is_largest(WAIT_NEIGHBOUR, 0.5);
}
END_TEST

START_TEST(more_threads_than_cores_are_no_wait_of_cores_that_run)
{
	struct waits_span f = QUIET;

	f.threads = 8;
	f.held_s = 60;
	f.most_ran_s = 2.5;
	waits_add(&w, &f);
	is_largest(WAIT_RAN, 1);
}
END_TEST

START_TEST(coloc_has_it_wait_its_turn)
{
	struct waits_span f = QUIET;

	f.frozen_s = 5;
	f.ran_s = 10;
	f.most_ran_s = 5;
	f.most_wanted_s = 5;
	f.neighbours_s = 10;
	waits_add(&w, &f);
	is_largest(WAIT_TURNS, 0.5);
}
END_TEST

START_TEST(the_hypervisor_has_the_cpu)
{
	struct waits_span f = QUIET;

	/* Of one of two; the other thread waits for it, asleep. */
	f.ran_s = 10;
	f.most_ran_s = 5;
	f.most_wanted_s = 5;
	f.stolen_s = 5;
	waits_add(&w, &f);
	is_largest(WAIT_STOLEN, 0.5);
	/* A kernel that counts it as run. */
	setup();
	f = QUIET;
	f.stolen_s = 8;
	waits_add(&w, &f);
	is_largest(WAIT_STOLEN, 0.4);
}
END_TEST

START_TEST(what_nobody_of_it_wanted_to_run_is_a_stall_or_idle)
{
	struct waits_span f = QUIET;

	f.ran_s = 8;
	f.most_ran_s = 4;
	f.most_wanted_s = 4;
	waits_add(&w, &f);
	is_largest(WAIT_IDLE, 0.6);
	ck_assert(!w.stalls);
	setup();
	f.stalled_s = 5;
	waits_add(&w, &f);
	is_largest(WAIT_STALLED, 0.5);
	ck_assert_double_eq_tol(waits_share(&w, WAIT_IDLE), 0.1, 1e-9);
	ck_assert(w.stalls);
	/* Not more than it slept. */
	setup();
	f.stalled_s = 50;
	waits_add(&w, &f);
	is_largest(WAIT_STALLED, 0.6);
}
END_TEST

START_TEST(spans_add_up_by_their_length)
{
	struct waits_span f = QUIET;
	char text[64], cut[12];

	waits_add(&w, &f);
	f.frozen_s = 10;
	f.ran_s = f.most_ran_s = f.most_wanted_s = 0;
	waits_add(&w, &f);
	f = disturbed(0, 5);
	waits_add(&w, &f);
	is_largest(WAIT_TURNS, 1.0 / 3);
	ck_assert_str_eq(waits_text(&w, text, sizeof(text)), "turns 33%, outside 8%");
	ck_assert_str_eq(waits_text(&w, cut, sizeof(cut)), "turns 33%, ");
}
END_TEST

START_TEST(figures_that_cannot_be_add_nothing)
{
	struct waits_span f = QUIET;
	double *const at[] = {&f.wall_s, &f.frozen_s, &f.ran_s, &f.held_s, &f.most_ran_s,
		&f.most_wanted_s, &f.neighbours_s, &f.outside_s, &f.stolen_s, &f.stalled_s};
	static const double bad[] = {-1, INFINITY, NAN};
	char text[64] = "x";

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		for (size_t k = 0; k < 3; k++) {
			f = QUIET;
			f.stalled_s = 0;
			*at[i] = bad[k];
			if (at[i] != &f.stalled_s || !isnan(bad[k]))
				waits_add(&w, &f);
		}
	f = QUIET;
	f.wall_s = 0;
	waits_add(&w, &f);
	ck_assert_int_eq(waits_largest(&w), WAIT_CAUSES);
	ck_assert(isnan(waits_share(&w, WAIT_RAN)));
	ck_assert_str_eq(waits_text(&w, text, sizeof(text)), "");
	ck_assert_str_eq(waits_name(WAIT_CAUSES), "");
}
END_TEST

/* Whatever the figures are, each moment is told once. */
START_TEST(any_figures_make_a_whole)
{
	srand(7);
#define ANY(most) ((double)rand() / RAND_MAX * (most))
	for (int i = 0; i < 20000; i++) {
		struct waits_span f = {.wall_s = ANY(5) + 0.01,
			.frozen_s = ANY(i % 3 ? 1 : 6),
			.ran_s = ANY(20),
			.held_s = ANY(20),
			.most_ran_s = ANY(6),
			.most_wanted_s = ANY(6),
			.threads = rand() % 5,
			.envelope = rand() % 5,
			.placed = rand() % 5,
			.neighbours_s = ANY(i % 2 ? 10 : 0),
			.outside_s = ANY(i % 5 ? 10 : 0),
			.stolen_s = ANY(i % 7 ? 0 : 10),
			.stalled_s = i % 4 ? NAN : ANY(6)};
		int lanes = f.threads < f.envelope ? f.threads : f.envelope;
		double sum = 0;

		setup();
		waits_add(&w, &f);
		for (int c = 0; c < WAIT_CAUSES; c++)
			sum += w.s[c];
		ck_assert_double_eq_tol(sum, (lanes > 1 ? lanes : 1) * f.wall_s, 1e-6);
		shares_are_whole();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("waits");
	TCase *t = tcase_create("each moment of a step has one cause");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, who_runs_waits_for_nothing);
	tcase_add_test(t, one_thread_has_more_to_do);
	tcase_add_test(t, others_have_the_core);
	tcase_add_test(t, who_waits_for_one_that_is_held_up_waits_for_what_holds_it_up);
	tcase_add_test(t, cores_left_to_others_are_a_neighbours);
	tcase_add_test(t, more_threads_than_cores_are_no_wait_of_cores_that_run);
	tcase_add_test(t, coloc_has_it_wait_its_turn);
	tcase_add_test(t, the_hypervisor_has_the_cpu);
	tcase_add_test(t, what_nobody_of_it_wanted_to_run_is_a_stall_or_idle);
	tcase_add_test(t, spans_add_up_by_their_length);
	tcase_add_test(t, figures_that_cannot_be_add_nothing);
	tcase_add_test(t, any_figures_make_a_whole);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
