/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user is told of others: whatever he asks, no name and no figure of theirs. Which steps he
 * shared the node with he may know.
 */
#include <check.h>
#include <errno.h>
#include <json-c/json.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/books/books.h"
#include "nodesvc/record/record.h"
#include "nodesvc/socket/socket.h"
#include "tests/unit/lifecycle_fixture.h"

#define ADA 54321
#define BOB 54322
/* Known to a directory service, which may be away. */
#define EVE 3000000001u
#define FAR (UINT32_MAX - 1)
/* In everything of Bob's that could be told. */
#define SECRET "zebra"

static bool directory_is_away;
static pthread_mutex_t directory = PTHREAD_MUTEX_INITIALIZER; /* held: it does not answer */
static int64_t later_ns;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's are reserved */
int getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
	*ret = NULL;
	pthread_mutex_lock(&directory);
	pthread_mutex_unlock(&directory);
	if (directory_is_away)
		return EIO;
	/* A long entry: its user has a name all the same. */
	if (uid < EVE || size < 2048)
		return uid < EVE ? 0 : ERANGE;
	*pw = (struct passwd){.pw_name = strcpy(buf, "eve"), .pw_uid = uid};
	*ret = pw;
	return 0;
}

int64_t __real_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void);
int64_t __wrap_ipc_now_ns(void)
{
	return __real_ipc_now_ns() + later_ns;
}

static char *ask(uint32_t uid, const char *cmd, const char *job, const char *json)
{
	struct errbuf err = {""};
	struct socket k;
	char *text = NULL;

	daemon_fill_socket(&d, &k);
	msg_init(&in, "ctl");
	msg_put(&in, "cmd", cmd);
	msg_put(&in, "job", job);
	msg_put(&in, "json", json);
	ck_assert_msg(ctl_run(&k, uid, &in, &text, &err) == 0, "%s: %s", cmd, err.text);
	ck_assert_ptr_nonnull(text);
	return text;
}

static void start_of(uint32_t uid, uint32_t job, const char *name, const char *policy)
{
	msg_init(&in, "step_start");
	msg_putf(&in, "job", "%u", job);
	msg_put(&in, "step", "0");
	msg_putf(&in, "uid", "%u", uid);
	msg_put(&in, "ntasks", "1");
	msg_putf(&in, "name", "/usr/bin/%s", name);
	msg_put(&in, "jobname", name);
	msg_put(&in, "tag", name);
	msg_put(&in, "policy", policy);
	ck_assert_str_eq(go(), "step_ok");
}

static void setup_two(void)
{
	directory_is_away = false;
	later_ns = 0;
	setup();
	d.course->conf_path = "/etc/coloc/coloc.yaml";
	start_of(ADA, 11, "app", "");
	start_of(BOB, 7777, SECRET, "");
	d.jobs->step[1]->signal[SIGNAL_UTILIZATION] = (struct signal){0.123456, PROVENANCE_OS};
	account_flush(d.books);
}

static void set_explain(struct step *s)
{
	struct decision *dec = step_new_decision(s);

	dec->event = "tick";
	dec->explain = explanation_new(
		"{\"ema\": {\"11.0\": 2.5, \"7777.0\": 654321}, \"idle\": 0.75, "
		"\"table\": {\"7777.0\": {\"1\": 654321}, \"11.0\": {\"1\": 0.5, \"2\": 1}}, "
		"\"bottleneck\": {\"6666.0\": \"" SECRET "\"}}");
}

START_TEST(no_answer_has_anything_of_others)
{
	static const char *const cmds[] = {
		"ping", "status", "jobs", "policies", "counters", "acct", "profile_list"};

	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		char *text = ask(ADA, cmds[i], NULL, NULL);

		ck_assert_msg(!strstr(text, SECRET), "%s: %s", cmds[i], text);
		ck_assert_msg(!strstr(text, "0.123456"), "%s: %s", cmds[i], text);
		free(text);
	}
}
END_TEST

START_TEST(explain_has_ones_own_figures_alone)
{
	char *text;

	set_explain(d.jobs->step[0]);
	text = ask(ADA, "explain", "11.0", NULL);
	ck_assert_msg(!strstr(text, "654321") && !strstr(text, SECRET), "%s", text);
	ck_assert_msg(strstr(text, "\"ema\":{\"11.0\":2.5}") && strstr(text, "\"idle\":0.75") &&
			      strstr(text, "\"table\":{\"11.0\":{\"1\":0.5,\"2\":1}}"),
		"%s", text);
	free(text);
	/* Root sees all. */
	text = ask(0, "explain", "11.0", NULL);
	ck_assert_msg(strstr(text, "654321") && strstr(text, SECRET), "%s", text);
	free(text);
}
END_TEST

START_TEST(status_does_not_tell_whose_step_had_what_error)
{
	char *text;

	health_error("step 7777.0: " SECRET);
	text = ask(ADA, "status", NULL, NULL);
	ck_assert_msg(!strstr(text, "7777") && !strstr(text, SECRET), "%s", text);
	free(text);
	text = ask(0, "status", NULL, NULL);
	ck_assert_msg(strstr(text, "step 7777.0: " SECRET), "%s", text);
	free(text);
}
END_TEST

START_TEST(status_does_not_tell_whose_step_rules)
{
	char *text;

	finish(7777, 0);
	finish(11, 0);
	start_of(BOB, 8888, SECRET, "none");
	text = ask(ADA, "status", NULL, NULL);
	ck_assert_msg(!strstr(text, "8888"), "%s", text);
	ck_assert_msg(strstr(text, "\"ruling_by\":\"another user's step\""), "%s", text);
	free(text);
	text = ask(BOB, "status", NULL, NULL);
	ck_assert_msg(strstr(text, "\"ruling_by\":\"8888.0\""), "%s", text);
	free(text);
}
END_TEST

static const char profile[] =
	"{\"measured\": 1, \"type\": \"t\", \"user\": \"\", \"node_type\": \"\", "
	"\"cores\": 2, "
	"\"kind\": \"solo\", \"signal\": \"progress_per_s\", \"unit\": \"u\", \"source\": "
	"\"app\", \"count\": 3, \"mean\": 812.5, \"m2\": 31.0, \"first_unix_s\": "
	"1700000000, \"last_unix_s\": 1700000900}";

START_TEST(a_user_has_one_name)
{
	char *text;

	start_of(EVE, 12, "app", "");
	ck_assert_uint_eq(d.jobs->step[2]->uid, EVE);
	ck_assert_str_eq(d.jobs->step[2]->user, "eve");
	text = ask(EVE, "profile_put", NULL, profile);
	ck_assert_msg(strstr(text, "\"user\":\"eve\""), "%s", text);
	free(text);
}
END_TEST

/* Which are some dozens of each program. */
START_TEST(what_his_steps_left_does_not_keep_a_user_from_bringing_more)
{
	struct measurement m = {.type = "app", .user = "eve", .signal = SIGNAL_PROGRESS};
	struct errbuf err;

	ck_assert_int_eq(record_begin(d.record, &err), 0);
	for (m.cores = 1; m.cores <= 600; m.cores++)
		ck_assert_int_eq(record_measurement_add(d.record, &m, 1, &err), 0);
	ck_assert_int_eq(record_end(d.record, 0, &err), 0);
	free(ask(EVE, "profile_put", NULL, profile));
}
END_TEST

START_TEST(a_directory_that_was_away_is_asked_again)
{
	directory_is_away = true;
	start_of(FAR, 12, "app", "");
	ck_assert_str_eq(d.jobs->step[2]->user, "4294967294");
	directory_is_away = false;
	/* Not at each step: it may be slow. */
	start_of(FAR, 13, "app", "");
	ck_assert_str_eq(d.jobs->step[3]->user, "4294967294");
	later_ns = INT64_C(61000000000);
	start_of(FAR, 14, "app", "");
	ck_assert_str_eq(d.jobs->step[4]->user, "eve");
	directory_is_away = true;
	later_ns *= 1000;
	start_of(FAR, 15, "app", "");
	ck_assert_str_eq(d.jobs->step[5]->user, "eve");
}
END_TEST

/* The loop goes on; the name is there when the answer is. */
START_TEST(a_directory_that_hangs_holds_up_nobody)
{
	char name[33] = "";

	pthread_mutex_lock(&directory);
	start_of(FAR, 12, "app", "");
	ck_assert_str_eq(d.jobs->step[2]->user, "4294967294");
	start_of(EVE, 13, "app", "");
	ck_assert_str_eq(d.jobs->step[3]->user, "3000000001");
	pthread_mutex_unlock(&directory);
	for (int i = 0; i < 1000 && strcmp(name, "eve") != 0; i++) {
		usleep(10000);
		registration_user_name(FAR, name, sizeof(name));
	}
	ck_assert_str_eq(name, "eve");
	start_of(EVE, 14, "app", "");
	ck_assert_str_eq(d.jobs->step[4]->user, "eve");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("strangers");
	TCase *t = tcase_create("a user is told nothing of others");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup_two, teardown);
	tcase_add_test(t, no_answer_has_anything_of_others);
	tcase_add_test(t, explain_has_ones_own_figures_alone);
	tcase_add_test(t, status_does_not_tell_whose_step_had_what_error);
	tcase_add_test(t, status_does_not_tell_whose_step_rules);
	suite_add_tcase(s, t);
	t = tcase_create("a user is known by one name");
	tcase_add_checked_fixture(t, setup_two, teardown);
	tcase_add_test(t, a_user_has_one_name);
	tcase_add_test(t, what_his_steps_left_does_not_keep_a_user_from_bringing_more);
	tcase_add_test(t, a_directory_that_was_away_is_asked_again);
	tcase_add_test(t, a_directory_that_hangs_holds_up_nobody);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
