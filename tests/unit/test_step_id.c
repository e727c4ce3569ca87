/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/record/record.h"

#define ALL  STEP_ID_ALL
#define NONE ARRAY_TASK_NONE

static const struct {
	const char *text;
	struct step_term want;
} GOOD[] = {
	{"12", {12, NONE, ALL}},
	{"12.0", {12, NONE, 0}},
	{"12.batch", {12, NONE, STEP_ID_BATCH}},
	{"12.extern", {12, NONE, STEP_ID_EXTERN}},
	{"12.interactive", {12, NONE, STEP_ID_INTERACTIVE}},
	{"7_3", {7, 3, ALL}},
	{"7_0.2", {7, 0, 2}},
	{"4294967289.4294967289", {4294967289U, NONE, 4294967289U}},
};

START_TEST(good_term_parses)
{
	struct step_term t;

	ck_assert_int_eq(step_term_parse(GOOD[_i].text, &t, NULL), 0);
	ck_assert_uint_eq(t.job_id, GOOD[_i].want.job_id);
	ck_assert_uint_eq(t.array_task_id, GOOD[_i].want.array_task_id);
	ck_assert_uint_eq(t.step_id, GOOD[_i].want.step_id);
}
END_TEST

static const char *const BAD[] = {"", "0", "x", "12.", "12.x", "12.0x", "12_", "12_x", "_3", ".0",
	"12 ", " 12", "-1", "12.-1", "99999999999", "12+1", "12.batch2"};

START_TEST(bad_term_is_refused_by_name)
{
	struct step_term t = {.job_id = 5};
	struct errbuf err = {""};
	char want[160];

	ck_assert_int_eq(step_term_parse(BAD[_i], &t, &err), -EINVAL);
	ck_assert_uint_eq(t.job_id, 5);
	snprintf(want, sizeof(want), "'%s' is no job or step (JOB, JOB.STEP, ARRAYJOB_TASK[.STEP])",
		BAD[_i]);
	ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(steps_print_as_slurm_prints_them)
{
	char buf[STEP_ID_STR_MAX];

	ck_assert_str_eq(step_id_format(12, 0, 0, NONE, buf, sizeof(buf)), "12.0");
	ck_assert_str_eq(step_id_format(12, STEP_ID_BATCH, 0, NONE, buf, sizeof(buf)), "12.batch");
	ck_assert_str_eq(step_id_format(9, 1, 7, 3, buf, sizeof(buf)), "7_3.1");
	ck_assert_str_eq(step_id_format(9, STEP_ID_BATCH, 7, 0, buf, sizeof(buf)), "7_0.batch");
	ck_assert_str_eq(step_id_format(12, ALL, 0, NONE, buf, sizeof(buf)), "12");
}
END_TEST

START_TEST(term_matches_job_array_and_step)
{
	struct step_term job = {7, NONE, ALL}, task = {7, 3, ALL}, step = {7, NONE, 1};

	ck_assert(step_term_matches(&job, 7, 0, 0, NONE));
	ck_assert(step_term_matches(&job, 9, 0, 7, 3));
	ck_assert(!step_term_matches(&job, 8, 0, 0, NONE));
	ck_assert(step_term_matches(&task, 9, 0, 7, 3));
	ck_assert(!step_term_matches(&task, 9, 0, 7, 4));
	ck_assert(!step_term_matches(&task, 7, 0, 0, NONE));
	ck_assert(step_term_matches(&step, 7, 1, 0, NONE));
	ck_assert(!step_term_matches(&step, 7, 2, 0, NONE));
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

int main(void)
{
	Suite *s = suite_create("step_id");
	TCase *t = tcase_create("jobs and steps read as users write them");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, good_term_parses, 0, COUNT(GOOD));
	tcase_add_loop_test(t, bad_term_is_refused_by_name, 0, COUNT(BAD));
	suite_add_tcase(s, t);
	t = tcase_create("steps print as Slurm prints them");
	tcase_add_test(t, steps_print_as_slurm_prints_them);
	suite_add_tcase(s, t);
	t = tcase_create("a term matches its steps and no others");
	tcase_add_test(t, term_matches_job_array_and_step);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
