/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What users call their programs, jobs and types, through every way out of the service: the
 * answers behind colocctl and colocacct, the log, metrics, traces, the summary in Slurm's
 * accounting. The programs' own ways out: test_colocctl, test_colocacct; all of it: live/names.sh.
 */
#include <check.h>
#include <json-c/json.h>
#include <unistd.h>

#include "nodesvc/books/books.h"
#include "nodesvc/base/log.h"
#include "nodesvc/record/record.h"
#include "nodesvc/socket/socket.h"
#include "tests/unit/hostile.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/lifecycle_fixture.h"

static const struct socket *asked(void)
{
	static struct socket k;

	daemon_fill_socket(&d, &k);
	return &k;
}

static void setup_named(void)
{
	setup();
	d.course->conf_path = "/etc/coloc/coloc.yaml";
	hostile_load();
}

/* A step of which a user chose everything that he may. */
static const char *start_named(int i)
{
	static const char *const KEYS[] = {
		"name", "jobname", "tag", "account", "partition", "user", "cwd", "path"};

	msg_init(&in, "step_start");
	msg_putf(&in, "job", "%d", i + 1);
	msg_put(&in, "step", "0");
	msg_put(&in, "uid", "0");
	msg_put(&in, "ntasks", "1");
	for (size_t k = 0; k < sizeof(KEYS) / sizeof(KEYS[0]); k++)
		msg_put(&in, KEYS[k], hostile_name[i]);
	return go();
}

static void check_strings(const char *what, struct json_object *o)
{
	if (json_object_is_type(o, json_type_string))
		ck_assert_msg(text_is_clean(json_object_get_string(o)), "%s: %s", what,
			json_object_get_string(o));
	if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			check_strings(what, json_object_array_get_idx(o, i));
	}
	if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, value)
		{
			ck_assert_msg(text_is_clean(key), "%s: %s", what, key);
			check_strings(what, value);
		}
	}
}

/* What colocctl or colocacct asks: valid, and no text in it turns into anything else. */
static void check_answer(const char *cmd, const char *job, const char *json)
{
	char *text = NULL;
	struct errbuf err = {""};
	struct json_object *o;

	msg_init(&in, "ctl");
	msg_put(&in, "cmd", cmd);
	msg_put(&in, "job", job);
	msg_put(&in, "json", json);
	if (job)
		msg_put(&in, "all", "1");
	ck_assert_msg(ctl_run(asked(), 0, &in, &text, &err) == 0, "%s: %s", cmd, err.text);
	hostile_check(cmd, text);
	o = json_tokener_parse(text);
	ck_assert_msg(o != NULL, "%s: %s", cmd, text);
	check_strings(cmd, o);
	json_object_put(o);
	free(text);
}

START_TEST(answers_are_clean)
{
	for (int i = 0; i < hostile_n; i++) {
		char job[16];

		ck_assert_str_eq(start_named(i), "step_ok");
		snprintf(job, sizeof(job), "%d.0", i + 1);
		check_answer("explain", job, NULL);
	}
	check_answer("jobs", NULL, NULL);
	check_answer("status", NULL, NULL);
	check_answer("acct", NULL, "{\"history\":true}");
	check_answer("quarantine_list", NULL, NULL);
	check_answer("profile_list", NULL, NULL);
}
END_TEST

/* Reasons quote what a user asked for. */
START_TEST(refusals_are_clean)
{
	static const char *const KEYS[] = {"policy", "qos", "min_cores", "uid"};

	for (int i = 0; i < hostile_n; i++) {
		for (size_t k = 0; k < sizeof(KEYS) / sizeof(KEYS[0]); k++) {
			const char *reason;

			start((uint32_t)i + 1, 0);
			msg_init(&in, "step_start");
			msg_putf(&in, "job", "%d", i + 1);
			msg_put(&in, "step", "0");
			msg_put(&in, KEYS[k], hostile_name[i]);
			go();
			reason = msg_get(&out, "reason");
			ck_assert_int_le(hostile_check(KEYS[k], reason ? reason : ""), 1);
		}
	}
}
END_TEST

/* Whoever connects may have a line written, and no second one. */
START_TEST(log_has_a_line_for_each_message)
{
	char text[65536], path[96];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/log", dir);
	if (_i)
		setenv("JOURNAL_STREAM", "1:1", 1);
	else
		unsetenv("JOURNAL_STREAM");
	log_init(LOG_LEVEL_INFO);
	ck_assert_ptr_nonnull(freopen(path, "w", stderr));
	for (int i = 0; i < hostile_n; i++)
		log_warning("%s%s", hostile_name[i], hostile_name[i]);
	fflush(stderr);
	f = fopen(path, "r");
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	fclose(f);
	ck_assert_int_eq(hostile_check("log", text), hostile_n);
	for (const char *p = text; *p; p = strchr(p, '\n') + 1)
		ck_assert_msg(_i ? strncmp(p, "<4>", 3) == 0 : strncmp(p, "20", 2) == 0, "%s", p);
}
END_TEST

/* Prometheus' text format: a sample a line, quotes and backslashes escaped. */
START_TEST(metrics_are_clean)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int before, n_steps = 0;

	metrics_write(f, d.books);
	fflush(f);
	before = hostile_check("metrics", text);
	rewind(f);
	for (int i = 0; i < hostile_n; i++) {
		start_named(i);
		coreset_add(&d.jobs->step[i]->coreset, 0);
	}
	metrics_write(f, d.books);
	fclose(f);
	ck_assert_int_eq(hostile_check("metrics", text), before + hostile_n);
	for (char *p = text; (p = strstr(p, "coloc_step_cores{")); n_steps++) {
		char *end = strchr(p, '\n');
		int quotes = 0;

		for (; p < end; p++) {
			if (*p == '\\')
				p++;
			else
				quotes += *p == '"';
		}
		ck_assert_int_eq(quotes, 2 * 4);
		ck_assert_msg(strncmp(end - 4, "\"} ", 3) == 0, "%.60s", end - 60);
	}
	ck_assert_int_eq(n_steps, hostile_n);
	free(text);
}
END_TEST

START_TEST(recording_is_clean)
{
	static char text[1 << 20];
	uint64_t decisions, bytes;
	struct errbuf err = {""};
	char path[96];
	size_t len;
	FILE *f;

	snprintf(d.conf->store, sizeof(d.conf->store), "%s", dir);
	ck_assert_msg(recording_start(d.choose, "trace", 1 << 20, &err) == 0, "%s", err.text);
	for (int i = 0; i < hostile_n; i++)
		start_named(i);
	ck_assert_msg(recording_stop(d.choose, &decisions, &bytes, &err) == 0, "%s", err.text);
	snprintf(path, sizeof(path), "%s/trace", dir);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	fclose(f);
	ck_assert_int_gt(hostile_check("record", text), hostile_n);
	for (char *p = text, *save = NULL; (p = strtok_r(p, "\n", &save)); p = NULL) {
		struct json_object *o = json_tokener_parse(p);

		ck_assert_msg(o != NULL, "%s", p);
		check_strings("record", o);
		json_object_put(o);
	}
}
END_TEST

/* Rows of an older Coloc have the bytes as they came. */
START_TEST(rows_of_an_older_store_leave_clean)
{
	struct errbuf err = {""};

	for (int i = 0; i < hostile_n; i++) {
		const char *name = hostile_name[i];
		struct step_row row = {.job_id = 100 + (uint32_t)i,
			.node = name,
			.name = name,
			.program = name,
			.user = name,
			.account = name,
			.partition = name,
			.policy = "fair",
			.req_policy = name,
			.reason = name,
			.coreset_history = name,
			.partners = name,
			.start_ns = 1000000000,
			.end_ns = 2000000000,
			.exit_code = -1,
			.state = STEP_COMPLETED};

		ck_assert_int_eq(record_step_put(d.record, &row, &err), 0);
		ck_assert_int_eq(
			record_coreset(d.record, row.row_id, 1000000000, "0", name, &err), 0);
		ck_assert_int_eq(record_phase(d.record, row.row_id, 1000000000, name, &err), 0);
	}
	check_answer("acct", NULL, "{\"history\":true,\"from_ns\":0}");
	/* Found by what is shown. */
	msg_init(&in, "ctl");
	msg_put(&in, "cmd", "acct");
	msg_put(&in, "json", "{\"names\":[\"raw?31m?0;x?\"],\"from_ns\":0}");
	{
		char *text = NULL;

		ck_assert_int_eq(ctl_run(asked(), 0, &in, &text, &err), 0);
		ck_assert_msg(strstr(text, "\"raw?31m?0;x?\"") != NULL, "%s", text);
		free(text);
	}
}
END_TEST

START_TEST(summary_is_plain)
{
	char part[SUMMARY_PART_MAX];
	struct errbuf err = {""};

	for (int i = 0; i < hostile_n; i++) {
		struct step_row row = {.job_id = 100 + (uint32_t)i,
			.node = "n1",
			.name = hostile_name[i],
			.policy = hostile_name[i],
			.coreset = hostile_name[i],
			.partners = hostile_name[i],
			.start_ns = 1000000000,
			.end_ns = 2000000000,
			.exit_code = -1,
			.state = STEP_COMPLETED};

		ck_assert_int_eq(record_step_put(d.record, &row, &err), 0);
		ck_assert_int_eq(summary_of_job(d.record, row.job_id, "n1", part, &err), 0);
		ck_assert_int_eq(hostile_check("summary", part), 1);
		ck_assert_msg(strpbrk(part + 1, "\"'`\\|{ ") == NULL, "%s", part);
		ck_assert_ptr_eq(strchr(part, '}'), part + strlen(part) - 1);
	}
}
END_TEST

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup_named, teardown);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("names");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "whatever users call their programs, answers are clean");
	tcase_add_test(t, answers_are_clean);
	tcase_add_test(t, refusals_are_clean);
	tcase_add_test(t, rows_of_an_older_store_leave_clean);
	t = tcase(s, "and so is what is written");
	tcase_add_loop_test(t, log_has_a_line_for_each_message, 0, 2);
	tcase_add_test(t, metrics_are_clean);
	tcase_add_test(t, recording_is_clean);
	tcase_add_test(t, summary_is_plain);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
