/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/conf/conf.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/steps/jobs.h"

static struct jobs jobs;

static void setup(void)
{
	memset(&jobs, 0, sizeof(jobs));
}

static void teardown(void)
{
	jobs_done(&jobs);
}

START_TEST(special_steps_have_slurms_names)
{
	static const struct {
		uint32_t step;
		const char *name;
	} names[] = {{0, "7.0"}, {12, "7.12"}, {STEP_BATCH, "7.batch"}, {STEP_EXTERN, "7.extern"},
		{STEP_INTERACTIVE, "7.interactive"}};
	char buf[JOB_ID_MAX];

	step_format_id(7, names[_i].step, buf, sizeof(buf));
	ck_assert_str_eq(buf, names[_i].name);
}
END_TEST

START_TEST(steps_are_found_by_ids_and_by_name)
{
	struct step *a = jobs_add(&jobs, 7, 0, 0), *b = jobs_add(&jobs, 7, STEP_BATCH, 0);
	struct step *c = jobs_add(&jobs, 70, 0, 0);

	ck_assert_ptr_eq(jobs_find(&jobs, 7, STEP_BATCH, 0), b);
	ck_assert_ptr_eq(jobs_find_id(&jobs, "7"), a);
	ck_assert_ptr_eq(jobs_find_id(&jobs, "7.batch"), b);
	ck_assert_ptr_eq(jobs_find_id(&jobs, "70.0"), c);
	ck_assert_ptr_null(jobs_find_id(&jobs, "70.1"));
	ck_assert_ptr_null(jobs_find(&jobs, 8, 0, 0));
	jobs_remove(&jobs, a);
	ck_assert_ptr_eq(jobs_find_id(&jobs, "7"), b);
	ck_assert_int_eq(jobs.n, 2);
}
END_TEST

/* `colocctl explain JOB' of a batch job is about the step that works, not the shell that waits for
 * it. */
START_TEST(job_alone_names_a_step_rather_than_a_shell_that_stands_aside)
{
	struct step *shell = jobs_add(&jobs, 7, STEP_BATCH, 0), *step = jobs_add(&jobs, 7, 0, 0);

	ck_assert_ptr_eq(jobs_find_id(&jobs, "7"), shell);
	shell->status = STATUS_ASIDE;
	ck_assert_ptr_eq(jobs_find_id(&jobs, "7"), step);
	ck_assert_ptr_eq(jobs_find_id(&jobs, "7.batch"), shell);
	jobs_remove(&jobs, step);
	ck_assert_ptr_eq(jobs_find_id(&jobs, "7"), shell);
}
END_TEST

/* Several slurmd on one kernel: each part of a step is a step of its own. */
START_TEST(parts_of_a_step_on_one_kernel_are_told_apart)
{
	struct step *a = jobs_add(&jobs, 7, 0, 0), *b = jobs_add(&jobs, 7, 0, 2);

	ck_assert_ptr_eq(jobs_find(&jobs, 7, 0, 0), a);
	ck_assert_ptr_eq(jobs_find(&jobs, 7, 0, 2), b);
	ck_assert_ptr_null(jobs_find(&jobs, 7, 0, 1));
	ck_assert_str_eq(a->id, "7.0");
	ck_assert_str_eq(b->id, "7.0@2");
	ck_assert_ptr_eq(jobs_find_id(&jobs, "7.0@2"), b);
}
END_TEST

START_TEST(order_goes_on_when_steps_leave)
{
	struct step *a = jobs_add(&jobs, 1, 0, 0);
	int64_t first = a->order;
	struct step *b;

	jobs_remove(&jobs, a);
	b = jobs_add(&jobs, 2, 0, 0);
	ck_assert_int_gt(b->order, first);
}
END_TEST

START_TEST(table_is_bounded)
{
	struct step *s = NULL;

	for (uint32_t i = 0; i < JOBS_MAX; i++)
		s = jobs_add(&jobs, i + 1, 0, 0);
	ck_assert_ptr_nonnull(s);
	ck_assert_ptr_null(jobs_add(&jobs, 9999, 0, 0));
}
END_TEST

/* One user fills what he may; then a second, then a third; each leaves as much again. */
START_TEST(no_user_fills_the_table)
{
	int kept[3] = {0};

	for (uint32_t user = 0; user < 3; user++)
		for (uint32_t i = 0; i < JOBS_MAX; i++) {
			struct step *s = jobs_add(&jobs, user * 10000 + i + 1, 0, 0);

			ck_assert_ptr_nonnull(s);
			s->uid = user + 1;
			if (!jobs_has_room_for(&jobs, s)) {
				jobs_remove(&jobs, s);
				break;
			}
			kept[user]++;
		}
	ck_assert_int_eq(kept[0], 512);
	ck_assert_int_eq(kept[1], 256);
	ck_assert_int_eq(kept[2], 128);
}
END_TEST

START_TEST(ring_keeps_the_newest_decisions)
{
	struct step *s = jobs_add(&jobs, 1, 0, 0);

	ck_assert_ptr_null(step_get_decision(s, 0));
	for (int i = 0; i < STEP_DECISIONS_MAX + 5; i++)
		step_new_decision(s)->score = i;
	ck_assert_int_eq((int)step_get_decision(s, 0)->score, STEP_DECISIONS_MAX + 4);
	ck_assert_int_eq((int)step_get_decision(s, STEP_DECISIONS_MAX - 1)->score, 5);
	ck_assert_ptr_null(step_get_decision(s, STEP_DECISIONS_MAX));
}
END_TEST

START_TEST(history_repeats_only_after_a_change)
{
	char list[32] = "";

	step_note(list, sizeof(list), ";", "0-1", true);
	step_note(list, sizeof(list), ";", "0-1", true);
	step_note(list, sizeof(list), ";", "0", true);
	step_note(list, sizeof(list), ";", "0-1", true);
	ck_assert_str_eq(list, "0-1;0;0-1");
}
END_TEST

START_TEST(partners_are_named_once)
{
	char list[64] = "";

	step_note(list, sizeof(list), ",", "1.0", false);
	step_note(list, sizeof(list), ",", "11.0", false);
	step_note(list, sizeof(list), ",", "1.0", false);
	ck_assert_str_eq(list, "1.0,11.0");
}
END_TEST

START_TEST(full_list_ends_in_dots_and_never_overruns)
{
	char list[16] = "";

	for (int i = 0; i < 100; i++) {
		char one[16];

		snprintf(one, sizeof(one), "%d", i);
		step_note(list, sizeof(list), ";", one, true);
		ck_assert_uint_lt(strlen(list), sizeof(list));
	}
	ck_assert_ptr_nonnull(strstr(list, "..."));
}
END_TEST

START_TEST(tasks_are_counted_alive)
{
	struct step *s = jobs_add(&jobs, 1, 0, 0);

	ck_assert_int_eq(step_add_task(s, 0, 100), 0);
	ck_assert_int_eq(step_add_task(s, 1, 101), 0);
	ck_assert_int_eq(s->n_alive, 2);
	ck_assert_int_eq(step_find_task(s, 1)->pid, 101);
	ck_assert_ptr_null(step_find_task(s, 2));
}
END_TEST

/* Times count from the machine's boot: 0 is never, and not a move that the dwell counts from. */
START_TEST(dwell_counts_from_a_move)
{
	static const struct conf conf = {.min_dwell_s = 600};
	const int64_t up_ns = INT64_C(45000000000), s_ns = INT64_C(1000000000);
	struct step *s = jobs_add(&jobs, 7, 0, 0);

	s->status = STATUS_PLACED;
	ck_assert(!place_must_wait(&conf, s, up_ns));
	place_count_move(s, up_ns);
	ck_assert(place_must_wait(&conf, s, up_ns + s_ns));
	ck_assert(place_must_wait(&conf, s, up_ns + 599 * s_ns));
	ck_assert(!place_must_wait(&conf, s, up_ns + 600 * s_ns));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jobs");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("steps are named and found as Slurm names them");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, special_steps_have_slurms_names, 0, 5);
	tcase_add_test(tc, steps_are_found_by_ids_and_by_name);
	suite_add_tcase(s, tc);
	tc = tcase_create("table keeps the order of arrival and its bound");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, job_alone_names_a_step_rather_than_a_shell_that_stands_aside);
	tcase_add_test(tc, parts_of_a_step_on_one_kernel_are_told_apart);
	tcase_add_test(tc, order_goes_on_when_steps_leave);
	tcase_add_test(tc, table_is_bounded);
	tcase_add_test(tc, no_user_fills_the_table);
	tcase_add_test(tc, tasks_are_counted_alive);
	suite_add_tcase(s, tc);
	tc = tcase_create("decisions, history and partners are remembered");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, ring_keeps_the_newest_decisions);
	tcase_add_test(tc, history_repeats_only_after_a_change);
	tcase_add_test(tc, partners_are_named_once);
	tcase_add_test(tc, full_list_ends_in_dots_and_never_overruns);
	suite_add_tcase(s, tc);
	tc = tcase_create("a step moves only so often");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, dwell_counts_from_a_move);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
