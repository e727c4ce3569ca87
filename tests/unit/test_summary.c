/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/record/record.h"

#define S    INT64_C(1000000000)
#define NONE UINT32_C(0xfffffffe)

static struct record *record;
static struct errbuf err;

static void setup(void)
{
	*err.text = '\0';
	ck_assert_int_eq(record_open(&record, ":memory:", false, &err), 0);
}

static void teardown(void)
{
	record_close(record);
}

static void put(uint32_t step, const char *node, const struct step_figures *figures)
{
	struct step_row row = {.job_id = 12,
		.step_id = step,
		.array_task_id = NONE,
		.node = node,
		.policy = "lira",
		.coreset = "0-1,4",
		.partners = "13.0,14.0",
		.start_ns = (100 + step) * S,
		.end_ns = (200 + step) * S,
		.rebinds = 2,
		.exit_code = 0,
		.state = STEP_COMPLETED,
		.figures = figures};

	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
}

START_TEST(one_step_tells_all_that_is_known)
{
	struct step_figures f = STEP_FIGURES_NONE;
	char part[SUMMARY_PART_MAX];

	f.ntt_full = 1.25;
	f.gain_placement = 1.5;
	f.gain_placement_lo = 1.4;
	f.gain_placement_hi = 1.6;
	f.gain_basis = "app";
	f.phases = 0;
	f.speed_unit = "it;e\"rations}";
	put(0, "n1", &f);
	ck_assert_int_eq(summary_of_job(record, 12, "n1", part, &err), 0);
	ck_assert_str_eq(part,
		"{node=n1;policy=lira;steps=1;start=100;end=200;rebinds=2;phases=0;ntt=1.25;"
		"gain=1.5;gain_lo=1.4;gain_hi=1.6;basis=app;unit=it_e_rations_;coreset=0-1,4;"
		"partners=13.0,14.0}");
}
END_TEST

START_TEST(several_steps_are_summed_and_differences_left_out)
{
	struct step_figures f = STEP_FIGURES_NONE;
	char part[SUMMARY_PART_MAX];

	f.ntt_full = 1.25;
	put(0, "n1", &f);
	put(1, "n1", NULL);
	put(2, "n2", NULL); /* several nodes of one host share a store */
	ck_assert_int_eq(summary_of_job(record, 12, "n1", part, &err), 0);
	ck_assert_str_eq(part,
		"{node=n1;policy=lira;steps=2;start=100;end=201;rebinds=4;coreset=0-1,4;"
		"partners=13.0,14.0}");
	ck_assert_int_eq(summary_of_job(record, 13, "n1", part, &err), -ENOENT);
}
END_TEST

static void put_of(uint32_t uid, uint32_t job, uint32_t array, int64_t start)
{
	struct step_row row = {.job_id = job,
		.array_job_id = array,
		.array_task_id = array ? job : NONE,
		.node = "n1",
		.uid = uid,
		.policy = uid == 7 ? "fair" : "lira",
		.coreset = "0",
		.start_ns = start * S,
		.end_ns = (start + 1) * S,
		.rebinds = (int)uid,
		.exit_code = 0,
		.state = STEP_COMPLETED};

	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
}

/* Numbers of jobs come again. */
START_TEST(a_job_is_not_told_of_anothers_with_its_number)
{
	char part[SUMMARY_PART_MAX];

	put_of(7, 12, 0, 100);
	put_of(7, 12, 0, 200);
	put_of(8, 12, 0, 300);
	put_of(8, 12, 0, 400); /* requeued */
	ck_assert_int_eq(summary_of_job(record, 12, "n1", part, &err), 0);
	ck_assert_str_eq(
		part, "{node=n1;policy=lira;steps=2;start=300;end=401;rebinds=16;coreset=0}");
}
END_TEST

/* The last of an array has the array's number. */
START_TEST(a_job_is_not_told_of_the_others_of_its_array)
{
	char part[SUMMARY_PART_MAX];

	put_of(7, 13, 12, 100);
	put_of(7, 14, 12, 100);
	put_of(7, 12, 12, 200);
	ck_assert_int_eq(summary_of_job(record, 12, "n1", part, &err), 0);
	ck_assert_str_eq(
		part, "{node=n1;policy=fair;steps=1;start=200;end=201;rebinds=7;coreset=0}");
	ck_assert_int_eq(summary_of_job(record, 13, "n1", part, &err), 0);
	ck_assert_ptr_nonnull(strstr(part, "steps=1;start=100"));
}
END_TEST

static const struct {
	const char *comment, *part, *want;
} MERGE[] = {
	{NULL, "{node=n1;a=1}", "coloc/1{node=n1;a=1}"},
	{"", "{node=n1;a=1}", "coloc/1{node=n1;a=1}"},
	{"theirs", "{node=n1;a=1}", "theirs coloc/1{node=n1;a=1}"},
	{"coloc/1{node=n2;b=2}", "{node=n1;a=1}", "coloc/1{node=n2;b=2}{node=n1;a=1}"},
	{"x coloc/1{node=n1;a=0}{node=n2;b=2} y", "{node=n1;a=1}",
		"x coloc/1{node=n2;b=2}{node=n1;a=1} y"},
	{"coloc/1{node=n11;b=2}", "{node=n1;a=1}", "coloc/1{node=n11;b=2}{node=n1;a=1}"},
	/* Not ours: another word, and one that was cut. */
	{"notcoloc/1{node=n2}", "{node=n1;a=1}", "notcoloc/1{node=n2} coloc/1{node=n1;a=1}"},
	{"coloc/1{node=n2", "{node=n1;a=1}", "coloc/1{node=n2 coloc/1{node=n1;a=1}"},
	/* What was written behind one that was cut is found again, not added once more. */
	{"coloc/1{node=n2 coloc/1{node=n1;a=0}", "{node=n1;a=1}",
		"coloc/1{node=n2 coloc/1{node=n1;a=1}"},
};

START_TEST(merge_keeps_what_others_wrote)
{
	char *text = NULL;

	ck_assert_int_eq(summary_merge(MERGE[_i].comment, MERGE[_i].part, &text, &err), 0);
	ck_assert_str_eq(text, MERGE[_i].want);
	free(text);
}
END_TEST

/* sacctmgr turns every quote into a backtick: another tool's JSON would be lost. */
START_TEST(comment_that_sacctmgr_would_change_is_left)
{
	static const char *const OTHER[] = {"{\"a\":1}", "it's", "a\nb", "a|b", "a\\b", "`"};
	char *text = NULL;

	for (size_t i = 0; i < sizeof(OTHER) / sizeof(OTHER[0]); i++) {
		ck_assert_int_eq(summary_merge(OTHER[i], "{node=n1}", &text, &err), -EBADMSG);
		ck_assert_ptr_null(text);
	}
}
END_TEST

START_TEST(comment_stays_below_what_the_database_keeps)
{
	char *text = NULL, *big = malloc(SUMMARY_COMMENT_MAX);

	memset(big, 'x', SUMMARY_COMMENT_MAX - 1);
	big[SUMMARY_COMMENT_MAX - 1] = '\0';
	ck_assert_int_eq(summary_merge(big, "{node=n1}", &text, &err), -E2BIG);
	ck_assert_str_eq(err.text, "AdminComment would be longer than 60000 bytes");
	free(big);
}
END_TEST

static int note(int part, const char *key, const char *value, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%d:%s=%s ", part, key, value);
	return 0;
}

static const struct {
	const char *comment, *want;
} PARSE[] = {
	{NULL, ""},
	{"", ""},
	{"theirs", ""},
	{"coloc/1", ""},
	{"coloc/1{}", ""},
	{"coloc/1{node=n1", ""},
	{"coloc/1{node=n1;a=1}{node=n2} rest", "0:node=n1 0:a=1 1:node=n2 "},
	{"coloc/1{x;=;a=b=c;}", "0:= 0:a=b=c "},
	{"coloc/1{node=n2 coloc/1{node=n1;a=1}", "0:node=n1 0:a=1 "},
};

START_TEST(parse_reads_every_part)
{
	char text[256] = "";

	ck_assert_int_eq(summary_parse(PARSE[_i].comment, note, text), 0);
	ck_assert_str_eq(text, PARSE[_i].want);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

int main(void)
{
	Suite *s = suite_create("summary");
	TCase *t = tcase_create("a node's summary survives Slurm and other tools");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, one_step_tells_all_that_is_known);
	tcase_add_test(t, several_steps_are_summed_and_differences_left_out);
	tcase_add_test(t, a_job_is_not_told_of_anothers_with_its_number);
	tcase_add_test(t, a_job_is_not_told_of_the_others_of_its_array);
	tcase_add_loop_test(t, merge_keeps_what_others_wrote, 0, COUNT(MERGE));
	tcase_add_test(t, comment_that_sacctmgr_would_change_is_left);
	tcase_add_test(t, comment_stays_below_what_the_database_keeps);
	tcase_add_loop_test(t, parse_reads_every_part, 0, COUNT(PARSE));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
