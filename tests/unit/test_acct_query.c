/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "nodesvc/record/record.h"

#define S INT64_C(1000000000)

static struct record *record;
static struct errbuf err;
static char out[16384];

static int collect(const char *json_row, void *arg)
{
	(void)arg;
	ck_assert_ptr_null(strchr(json_row, '\n'));
	strcat(out, json_row);
	strcat(out, "\n");
	return 0;
}

static void put(struct step_row row)
{
	ck_assert_msg(record_step_put(record, &row, &err) == 0, "%s", err.text);
}

static void setup(void)
{
	*out = *err.text = '\0';
	ck_assert_int_eq(record_open(&record, ":memory:", false, &err), 0);
	put((struct step_row){.job_id = 9,
		.step_id = 0xfffffffb,
		.array_job_id = 7,
		.array_task_id = 3,
		.node = "n1",
		.name = "a\xff\"b\n\xc3\xa9",
		.uid = 10,
		.policy = "lira",
		.cores = 1,
		.coreset = "0",
		.coreset_history = "0-1;0",
		.partners = "12.0",
		.start_ns = 100 * S + 1500000,
		.end_ns = 160 * S,
		.rebinds = 1,
		.exit_code = 9,
		.state = STEP_FAILED});
	put((struct step_row){.job_id = 12,
		.array_task_id = 0xfffffffe,
		.uid = 20,
		.name = "twelve",
		.account = "phys",
		.partition = "coloc",
		.start_ns = 110 * S,
		.end_ns = 120 * S,
		.exit_code = 512,
		.state = STEP_FAILED});
	put((struct step_row){.job_id = 13,
		.array_task_id = 0xfffffffe,
		.uid = 10,
		.start_ns = 130 * S,
		.exit_code = -1});
}

static void teardown(void)
{
	record_close(record);
}

/* Ids of the rows that @filter gives @uid. */
static const char *ids(uint32_t uid, const char *filter)
{
	static char text[256];
	char *save = NULL;

	*out = *text = '\0';
	ck_assert_msg(
		acct_query_json(record, uid, filter, collect, NULL, &err) == 0, "%s", err.text);
	for (char *line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct json_object *o = json_tokener_parse(line);

		ck_assert_ptr_nonnull(o);
		strcat(text, json_object_get_string(json_object_object_get(o, "id")));
		strcat(text, " ");
		json_object_put(o);
	}
	return text;
}

/* Slurm begins its numbers anew some day. */
START_TEST(anothers_newer_step_of_the_same_number_hides_no_row)
{
	put((struct step_row){.job_id = 12,
		.array_task_id = 0xfffffffe,
		.uid = 10,
		.start_ns = 150 * S,
		.end_ns = 160 * S});
	ck_assert_str_eq(ids(20, "{\"jobs\":[\"12\"]}"), "12.0 ");
	ck_assert_str_eq(ids(10, "{\"jobs\":[\"12\"]}"), "12.0 ");
	ck_assert_str_eq(ids(0, "{\"jobs\":[\"12\"]}"), "12.0 ");
	ck_assert_str_eq(ids(0, "{\"jobs\":[\"12\"],\"duplicates\":true}"), "12.0 12.0 ");
}
END_TEST

START_TEST(row_has_every_key)
{
	ck_assert_int_eq(
		acct_query_json(record, 0, "{\"jobs\":[\"7_3\"]}", collect, NULL, &err), 0);
	ck_assert_str_eq(out,
		"{\"id\":\"7_3.batch\",\"job_id\":9,\"step_id\":\"batch\","
		"\"array_job_id\":7,\"array_task_id\":3,\"node\":\"n1\","
		"\"name\":\"a?\\\"b?\xc3\xa9\",\"program\":null,\"uid\":10,\"user\":null,"
		"\"account\":null,\"partition\":null,\"policy\":\"lira\","
		"\"req_policy\":null,\"reason\":null,\"cores\":1,\"coreset\":\"0\","
		"\"coreset_history\":[\"0-1\",\"0\"],\"partners\":[\"12.0\"],"
		"\"start_unix_s\":100.001500,\"end_unix_s\":160.000000,\"elapsed_s\":59.998,"
		"\"rebinds\":1,\"tasks\":null,\"exit_status\":0,\"exit_signal\":9,"
		"\"state\":\"FAILED\",\"dry_run\":false,\"ntt_share\":null,\"ntt_full\":null,"
		"\"stp_share\":null,\"stp_full\":null,\"antt_share\":null,\"antt_full\":null,"
		"\"gain_placement\":null,\"gain_placement_lo\":null,"
		"\"gain_placement_hi\":null,\"gain_launch\":null,\"gain_launch_lo\":null,"
		"\"gain_launch_hi\":null,\"solo_speed\":null,\"shared_speed\":null,"
		"\"gain_basis\":null,\"speed_unit\":null,\"speed_basis\":null,"
		"\"phases\":null,\"moves\":null,\"windows\":null,\"launch\":null,"
		"\"launches\":null,\"unmeasured_s\":null,\"unmeasured_from_unix_s\":null,"
		"\"unmeasured_to_unix_s\":null,\"guard\":null,\"waits\":null}\n");
}
END_TEST

START_TEST(unknown_is_null)
{
	ck_assert_int_eq(acct_query_json(record, 0, "{\"jobs\":[\"13\"]}", collect, NULL, &err), 0);
	ck_assert_ptr_nonnull(strstr(out, "\"end_unix_s\":null"));
	ck_assert_ptr_nonnull(strstr(out, "\"cores\":null"));
	ck_assert_ptr_nonnull(strstr(out, "\"exit_status\":null"));
	ck_assert_ptr_nonnull(strstr(out, "\"coreset_history\":null"));
	ck_assert_ptr_nonnull(strstr(out, "\"array_job_id\":null"));
}
END_TEST

static const struct {
	uint32_t uid;
	const char *filter, *want;
} FILTER[] = {
	{0, NULL, "7_3.batch 12.0 13.0 "},
	{0, "", "7_3.batch 12.0 13.0 "},
	{0, "{}", "7_3.batch 12.0 13.0 "},
	{0, "{\"jobs\":[]}", "7_3.batch 12.0 13.0 "},
	{10, NULL, "7_3.batch 13.0 "},
	{20, "{\"uids\":[20]}", "12.0 "},
	{30, NULL, ""},
	{10, "{\"jobs\":[\"12\"]}", ""},
	{0, "{\"jobs\":[\"12.0\",\"7_3.batch\"]}", "7_3.batch 12.0 "},
	{0, "{\"jobs\":[\"7_4\"]}", ""},
	{0, "{\"jobs\":[\"7\"]}", "7_3.batch "},
	{0, "{\"uids\":[10,30]}", "7_3.batch 13.0 "},
	{0, "{\"states\":[\"running\"]}", "13.0 "},
	{0, "{\"states\":[\"FAILED\",\"RUNNING\"]}", "7_3.batch 12.0 13.0 "},
	{0, "{\"from_ns\":125000000000,\"to_ns\":129000000000}", "7_3.batch "},
	{0, "{\"nodes\":[\"n1\",\"n2\"]}", "7_3.batch "},
	{0, "{\"nodes\":[]}", ""},
	{0, "{\"accounts\":[\"phys\"]}", "12.0 "},
	{0, "{\"partitions\":[\"coloc\",\"x\"]}", "12.0 "},
	{0, "{\"names\":[\"twelve\"],\"accounts\":[\"phys\"]}", "12.0 "},
	{0, "{\"names\":[\"twelve\"],\"accounts\":[\"chem\"]}", ""},
};

START_TEST(filter_picks_rows)
{
	ck_assert_str_eq(ids(FILTER[_i].uid, FILTER[_i].filter), FILTER[_i].want);
}
END_TEST

static const struct {
	uint32_t uid;
	const char *filter;
	int rc;
	const char *text;
} REFUSED[] = {
	{10, "{\"uids\":[10,20]}", -EPERM, "only root sees the rows of other users"},
	{0, "nonsense", -EINVAL, "filter: not a JSON object"},
	{0, "[]", -EINVAL, "filter: not a JSON object"},
	{0, "{\"job\":[\"1\"]}", -EINVAL, "filter: unknown key 'job'"},
	{0, "{\"jobs\":\"1\"}", -EINVAL, "filter: 'jobs' must be a list"},
	{0, "{\"jobs\":[\"1x\"]}", -EINVAL,
		"filter: jobs: '1x' is no job or step (JOB, JOB.STEP, ARRAYJOB_TASK[.STEP])"},
	{0, "{\"jobs\":[null]}", -EINVAL,
		"filter: jobs: '' is no job or step (JOB, JOB.STEP, ARRAYJOB_TASK[.STEP])"},
	{0, "{\"uids\":[\"ada\"]}", -EINVAL, "filter: uids: 'ada' is no user id"},
	{0, "{\"uids\":[-1]}", -EINVAL, "filter: uids: '-1' is no user id"},
	{0, "{\"states\":[\"GONE\"]}", -EINVAL, "filter: states: unknown state 'GONE'"},
	{0, "{\"nodes\":\"n1\"}", -EINVAL, "filter: 'nodes' must be a list"},
	{0, "{\"names\":[1]}", -EINVAL, "filter: 'names' must hold text"},
	{0, "{\"history\":1}", -EINVAL, "filter: 'history' must be true or false"},
	{0, "{\"from_ns\":\"today\"}", -EINVAL, "filter: 'from_ns' must be nanoseconds since 1970"},
};

START_TEST(bad_filter_is_refused_by_name)
{
	ck_assert_int_eq(
		acct_query_json(record, REFUSED[_i].uid, REFUSED[_i].filter, collect, NULL, &err),
		REFUSED[_i].rc);
	ck_assert_str_eq(err.text, REFUSED[_i].text);
	ck_assert_str_eq(out, "");
}
END_TEST

static int refuse(const char *json_row, void *arg)
{
	(void)json_row;
	++*(int *)arg;
	return -EPIPE;
}

START_TEST(emit_ends_the_query)
{
	int n = 0;

	ck_assert_int_eq(acct_query_json(record, 0, NULL, refuse, &n, &err), -EPIPE);
	ck_assert_int_eq(n, 1);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("acct_query");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "a row is one line of JSON with every key, null where unknown");
	tcase_add_test(t, row_has_every_key);
	tcase_add_test(t, anothers_newer_step_of_the_same_number_hides_no_row);
	tcase_add_test(t, unknown_is_null);
	t = tcase(s, "the filter picks rows, and a user sees only his own");
	tcase_add_loop_test(t, filter_picks_rows, 0, COUNT(FILTER));
	t = tcase(s, "a bad filter is refused by name");
	tcase_add_loop_test(t, bad_filter_is_refused_by_name, 0, COUNT(REFUSED));
	t = tcase(s, "the receiver ends the query");
	tcase_add_test(t, emit_ends_the_query);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
