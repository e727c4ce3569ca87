/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"
#include "tests/unit/tmpdir.h"

#define S        INT64_C(1000000000)
#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

static struct tmpdir tmp;
static struct record *record;
static struct errbuf err;

static void setup(void)
{
	memset(&err, 0, sizeof(err));
	tmpdir_create(&tmp);
	ck_assert_msg(record_open(&record, tmpdir_path(&tmp, "coloc.db"), false, &err) == 0, "%s",
		err.text);
}

static void teardown(void)
{
	record_close(record);
	record = NULL;
	tmpdir_remove(&tmp);
}

/* A step whose every field is set. */
static struct step_row full_row(void)
{
	return (struct step_row){
		.job_id = 12,
		.step_id = 0xfffffffb,
		.array_job_id = 7,
		.array_task_id = 0,
		.node = "n1",
		.name = "job \"one\"",
		.program = "lmp",
		.uid = 1000,
		.user = "ada",
		.account = "phys",
		.partition = "coloc",
		.policy = "lira",
		.req_policy = "fair",
		.reason = "lira rules",
		.cores = 2,
		.coreset = "0-1",
		.coreset_history = "0-1;0;0-1",
		.partners = "13.0,14.0",
		.start_ns = 100 * S + 5,
		.end_ns = 160 * S,
		.rebinds = 2,
		.tasks = 4,
		.exit_code = 256,
		.state = STEP_FAILED,
		.dry_run = true,
	};
}

static int64_t put(uint32_t job, uint32_t step, uint32_t uid, int64_t start_s, int64_t end_s)
{
	struct step_row row = {
		.job_id = job,
		.step_id = step,
		.array_task_id = 0xfffffffe,
		.node = "n1",
		.uid = uid,
		.start_ns = start_s * S,
		.end_ns = end_s * S,
		.exit_code = end_s ? 0 : -1,
		.state = end_s ? STEP_COMPLETED : STEP_RUNNING,
	};

	ck_assert_msg(record_step_put(record, &row, &err) == 0, "%s", err.text);
	ck_assert_int_gt(row.row_id, 0);
	return row.row_id;
}

/* The listed steps as "job.step " in order. */
static int note(const struct step_row *row, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%u.%u ", row->job_id, row->step_id);
	return 0;
}

static const char *list(const struct step_filter *f)
{
	static char text[512];

	*text = '\0';
	ck_assert_msg(record_step_list(record, f, note, text, &err) == 0, "%s", err.text);
	return text;
}

static int same_as(const struct step_row *row, void *arg)
{
	const struct step_row *want = arg;

	ck_assert_int_eq(row->row_id, want->row_id);
	ck_assert_uint_eq(row->job_id, want->job_id);
	ck_assert_uint_eq(row->step_id, want->step_id);
	ck_assert_uint_eq(row->array_job_id, want->array_job_id);
	ck_assert_uint_eq(row->array_task_id, want->array_task_id);
	ck_assert_pstr_eq(row->node, want->node);
	ck_assert_pstr_eq(row->name, want->name);
	ck_assert_pstr_eq(row->program, want->program);
	ck_assert_uint_eq(row->uid, want->uid);
	ck_assert_pstr_eq(row->user, want->user);
	ck_assert_pstr_eq(row->account, want->account);
	ck_assert_pstr_eq(row->partition, want->partition);
	ck_assert_pstr_eq(row->policy, want->policy);
	ck_assert_pstr_eq(row->req_policy, want->req_policy);
	ck_assert_pstr_eq(row->reason, want->reason);
	ck_assert_int_eq(row->cores, want->cores);
	ck_assert_pstr_eq(row->coreset, want->coreset);
	ck_assert_pstr_eq(row->coreset_history, want->coreset_history);
	ck_assert_pstr_eq(row->partners, want->partners);
	ck_assert_int_eq(row->start_ns, want->start_ns);
	ck_assert_int_eq(row->end_ns, want->end_ns);
	ck_assert_int_eq(row->rebinds, want->rebinds);
	ck_assert_int_eq(row->tasks, want->tasks);
	ck_assert_int_eq(row->exit_code, want->exit_code);
	ck_assert_int_eq(row->state, want->state);
	ck_assert_int_eq(row->dry_run, want->dry_run);
	return 77;
}

START_TEST(full_row_reads_back)
{
	struct step_row row = full_row();
	struct step_filter all = {0};

	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
	ck_assert_int_eq(record_step_list(record, &all, same_as, &row, &err), 77);
}
END_TEST

START_TEST(blank_row_reads_back_blank)
{
	struct step_row row = {.job_id = 1, .array_task_id = 0xfffffffe, .exit_code = -1};
	struct step_filter all = {0};

	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
	ck_assert_int_eq(record_step_list(record, &all, same_as, &row, &err), 77);
}
END_TEST

START_TEST(second_put_updates)
{
	struct step_row row = full_row();
	struct step_filter all = {0};

	row.state = STEP_RUNNING;
	row.end_ns = 0;
	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
	row.state = STEP_COMPLETED;
	row.end_ns = 170 * S;
	row.exit_code = 0;
	row.coreset = "1";
	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
	ck_assert_str_eq(list(&all), "12.4294967291 ");
	ck_assert_int_eq(record_step_list(record, &all, same_as, &row, &err), 77);
}
END_TEST

START_TEST(update_of_no_row_is_enoent)
{
	struct step_row row = full_row();

	row.row_id = 99;
	ck_assert_int_eq(record_step_put(record, &row, &err), -ENOENT);
	ck_assert_str_eq(err.text, "step 12.4294967291: no row 99 to update");
}
END_TEST

START_TEST(state_names_are_the_documented_ones)
{
	ck_assert_str_eq(step_state_name(STEP_RUNNING), "RUNNING");
	ck_assert_str_eq(step_state_name(STEP_COMPLETED), "COMPLETED");
	ck_assert_str_eq(step_state_name(STEP_FAILED), "FAILED");
	ck_assert_str_eq(step_state_name(STEP_UNKNOWN), "UNKNOWN");
}
END_TEST

START_TEST(put_is_seen_by_a_reader)
{
	struct record *reader = NULL;
	struct step_filter all = {0};
	char text[64] = "";

	put(5, 0, 0, 10, 0);
	ck_assert_msg(record_open(&reader, tmpdir_path(&tmp, "coloc.db"), true, &err) == 0, "%s",
		err.text);
	ck_assert_int_eq(record_step_list(reader, &all, note, text, &err), 0);
	ck_assert_str_eq(text, "5.0 ");
	put(6, 0, 0, 11, 0);
	*text = '\0';
	ck_assert_int_eq(record_step_list(reader, &all, note, text, &err), 0);
	ck_assert_str_eq(text, "5.0 6.0 ");
	record_close(reader);
}
END_TEST

START_TEST(reader_cannot_write)
{
	struct record *reader = NULL;
	struct step_row row = full_row();

	ck_assert_int_eq(record_open(&reader, tmpdir_path(&tmp, "coloc.db"), true, &err), 0);
	ck_assert_int_eq(record_step_put(reader, &row, &err), -EROFS);
	record_close(reader);
	record_close(NULL);
}
END_TEST

/* Rows at [10,20], [15,running], [30,40] with uids 1, 2, 1. */
static void three_rows(void)
{
	put(1, 0, 1, 10, 20);
	put(2, 0, 2, 15, 0);
	put(2, 1, 1, 30, 40);
}

static const struct {
	int64_t from_s, to_s;
	const char *want;
} WINDOW[] = {
	{0, 0, "1.0 2.0 2.1 "},
	{0, 9, ""},
	{0, 10, "1.0 "},
	{20, 25, "1.0 2.0 "},
	{21, 25, "2.0 "},
	{21, 0, "2.0 2.1 "},
	{50, 60, "2.0 "},
};

START_TEST(window_lists_overlapping_rows)
{
	struct step_filter f = {.from_ns = WINDOW[_i].from_s * S, .to_ns = WINDOW[_i].to_s * S};

	three_rows();
	ck_assert_str_eq(list(&f), WINDOW[_i].want);
}
END_TEST

START_TEST(uid_lists_own_rows)
{
	struct step_filter f = {.has_uid = true, .uid = 1};

	three_rows();
	ck_assert_str_eq(list(&f), "1.0 2.1 ");
	f.uid = 0;
	ck_assert_str_eq(list(&f), "");
}
END_TEST

START_TEST(jobs_list_their_steps_once)
{
	const uint32_t jobs[][2] = {{2, 1}, {2, 0xffffffff}, {9, 0}};
	struct step_filter f = {.job_step = jobs, .n_job_steps = 3};

	three_rows();
	ck_assert_str_eq(list(&f), "2.0 2.1 ");
	f.n_job_steps = 1;
	ck_assert_str_eq(list(&f), "2.1 ");
	f.to_ns = 12 * S;
	ck_assert_str_eq(list(&f), "");
}
END_TEST

START_TEST(array_job_lists_its_tasks)
{
	const uint32_t jobs[][2] = {{7, 0xffffffff}};
	struct step_filter f = {.job_step = jobs, .n_job_steps = 1};
	struct step_row row = full_row();

	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
	three_rows();
	ck_assert_str_eq(list(&f), "12.4294967291 ");
}
END_TEST

/* A node may hold years of steps, and the service answers from its loop. */
START_TEST(lists_never_scan_the_table)
{
	static const int LIST[] = {STEP_LIST_EARLIER, STEP_LIST_WITHIN, STEP_LIST_UID_EARLIER,
		STEP_LIST_UID_WITHIN, STEP_LIST_JOBS, STEP_FIND, STEP_RUNNING_LIST, STEP_PRUNE};
	char sql[4096];
	sqlite3_stmt *plan = NULL;

	snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", RECORD_STEP_SQL[LIST[_i]]);
	ck_assert_int_eq(sqlite3_prepare_v2(record->db, sql, -1, &plan, NULL), SQLITE_OK);
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(plan, 3);

		ck_assert_msg(!strstr(text, "SCAN step") && !strstr(text, "SCAN s"), "%s", text);
		/* The rows of the window come as they are read, not when all are sorted. */
		if (LIST[_i] == STEP_LIST_WITHIN || LIST[_i] == STEP_LIST_UID_WITHIN)
			ck_assert_msg(!strstr(text, "TEMP B-TREE"), "%s", text);
	}
	sqlite3_finalize(plan);
}
END_TEST

/* Durations around the edges of the classes in which earlier steps are looked for. */
START_TEST(window_finds_what_began_long_before)
{
	static const int64_t LASTED_S[] = {
		1, 3599, 3600, 3601, 86399, 86400, 86401, 2764799, 2764800, 2764801, 90000000};
	const int64_t at_s = 100000000;
	struct step_filter f = {.from_ns = at_s * S, .to_ns = (at_s + 10) * S};
	char want[256] = "";

	/* Ends in the window; the second of each pair ended just before it. */
	for (int i = COUNT(LASTED_S) - 1; i >= 0; i--) {
		put((uint32_t)i, 0, 5, at_s - LASTED_S[i] + 1, at_s + 1);
		put((uint32_t)i + 100, 0, 5, at_s - LASTED_S[i] - 1, at_s - 1);
		sprintf(want + strlen(want), "%d.0 ", i);
	}
	/* The one of 1 s begins with the window. */
	ck_assert_str_eq(list(&f), want);
	f.has_uid = true;
	f.uid = 5;
	ck_assert_str_eq(list(&f), want);
	f.uid = 6;
	ck_assert_str_eq(list(&f), "");
}
END_TEST

static int stop_at_second(const struct step_row *row, void *arg)
{
	(void)row;
	return ++*(int *)arg == 2 ? -5 : 0;
}

START_TEST(callback_ends_the_list)
{
	struct step_filter all = {0};
	int n = 0;

	three_rows();
	ck_assert_int_eq(record_step_list(record, &all, stop_at_second, &n, &err), -5);
	ck_assert_int_eq(n, 2);
	ck_assert_str_eq(list(&all), "1.0 2.0 2.1 ");
}
END_TEST

static int state_of(const struct step_row *row, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%u.%u=%s,%lld ", row->job_id, row->step_id,
		step_state_name(row->state), (long long)(row->end_ns / S));
	return 0;
}

START_TEST(lost_steps_become_unknown)
{
	const int64_t alive[] = {3}; /* row ids: two parts of one step may differ in this */
	struct step_filter all = {0};
	char text[256] = "";

	put(1, 0, 0, 1, 2);
	put(2, 0, 0, 3, 0);
	put(3, 0, 0, 4, 0);
	put(3, 1, 0, 5, 0);
	ck_assert_int_eq(record_step_close_lost(record, alive, 1, 9 * S, &err), 2);
	ck_assert_int_eq(record_step_list(record, &all, state_of, text, &err), 0);
	ck_assert_str_eq(text, "1.0=COMPLETED,2 2.0=UNKNOWN,9 3.0=RUNNING,0 3.1=UNKNOWN,9 ");
	ck_assert_int_eq(record_step_close_lost(record, alive, 1, 10 * S, &err), 0);
	ck_assert_int_eq(record_step_close_lost(record, NULL, 0, 10 * S, &err), 1);
}
END_TEST

START_TEST(running_row_is_found_again)
{
	int64_t id = put(2, 0, 0, 3, 0);

	put(2, 1, 0, 3, 4);
	ck_assert_int_eq(record_step_find_running(record, 2, 0, "n1"), id);
	ck_assert_int_eq(record_step_find_running(record, 2, 0, "n2"), 0);
	ck_assert_int_eq(record_step_find_running(record, 2, 1, "n1"), 0);
	ck_assert_int_eq(record_step_find_running(record, 3, 0, "n1"), 0);
}
END_TEST

START_TEST(prune_keeps_running_and_recent)
{
	struct step_filter all = {0};

	three_rows();
	ck_assert_int_eq(record_step_prune(record, 30 * S, &err), 1);
	ck_assert_str_eq(list(&all), "2.0 2.1 ");
}
END_TEST

static int note_registration(const struct registration *reg, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%u.%u row %lld pid %d tasks %s message %.*s; ", reg->job_id,
		reg->step_id, (long long)reg->row_id, (int)reg->pid, reg->tasks ? reg->tasks : "-",
		(int)reg->message_len, (const char *)reg->message);
	return 0;
}

static const char *registrations(void)
{
	static char text[512];

	*text = '\0';
	ck_assert_int_eq(record_registration_list(record, note_registration, text, &err), 0);
	return text;
}

START_TEST(registration_outlives_the_connection)
{
	struct registration a = {
		.job_id = 3, .row_id = 9, .start_ns = 20, .message = "x=1", .message_len = 3};
	struct registration b = {.job_id = 2,
		.step_id = 0xfffffffb,
		.start_ns = 10,
		.pid = 77,
		.tasks = "0:77",
		.message = "",
		.message_len = 0};

	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_msg(record_registration_put(record, &b, &err) == 0, "%s", err.text);
	record_close(record);
	ck_assert_int_eq(record_open(&record, tmpdir_path(&tmp, "coloc.db"), false, &err), 0);
	ck_assert_str_eq(registrations(),
		"2.4294967291 row 0 pid 77 tasks 0:77 message ; 3.0 row 9 pid 0 tasks - message "
		"x=1; ");
	a.tasks = "0:5,1:6";
	a.pid = 5;
	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_rm(record, 2, 0xfffffffb, 0, &err), 0);
	ck_assert_int_eq(record_registration_rm(record, 2, 0, 0, &err), 0);
	ck_assert_str_eq(registrations(), "3.0 row 9 pid 5 tasks 0:5,1:6 message x=1; ");
}
END_TEST

static int keep_saved(const struct registration *reg, void *arg)
{
	sprintf(arg, "%.*s at %lld", (int)reg->figures_len,
		reg->figures ? (const char *)reg->figures : "", (long long)reg->figures_ns);
	return 0;
}

START_TEST(figures_of_a_registration_outlast_its_renewal)
{
	struct registration a = {.job_id = 3, .row_id = 9, .start_ns = 20, .message = ""};
	char saved[64];

	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_list(record, keep_saved, saved, &err), 0);
	ck_assert_str_eq(saved, " at 0");
	a.figures = "abc";
	a.figures_len = 3;
	a.figures_ns = 77;
	ck_assert_int_eq(record_registration_figures(record, &a, &err), 0);
	a.pid = 4;
	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_list(record, keep_saved, saved, &err), 0);
	ck_assert_str_eq(saved, "abc at 77");
}
END_TEST

/* Several slurmd on one kernel: a part of the step on each. */
START_TEST(parts_of_a_step_register_apart)
{
	struct registration a = {.job_id = 3, .row_id = 9, .start_ns = 20, .message = ""};
	struct registration b = a;

	b.nodeid = 1;
	b.row_id = 10;
	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_put(record, &b, &err), 0);
	ck_assert_str_eq(registrations(),
		"3.0 row 9 pid 0 tasks - message ; 3.0 row 10 pid 0 tasks - message ; ");
	ck_assert_int_eq(record_registration_rm(record, 3, 0, 0, &err), 0);
	ck_assert_str_eq(registrations(), "3.0 row 10 pid 0 tasks - message ; ");
}
END_TEST

static int last_decision(int64_t t_ns, const char *event, const char *json, void *arg)
{
	sprintf(arg, "%lld %s %s", (long long)t_ns, event, json);
	return 1;
}

static int count_decision(int64_t t_ns, const char *event, const char *json, void *arg)
{
	(void)t_ns;
	(void)event;
	(void)json;
	++*(int *)arg;
	return 0;
}

START_TEST(decisions_are_kept_to_a_bound)
{
	int n = 0;
	char text[64];

	for (int i = 1; i <= 10020; i++)
		ck_assert_int_eq(record_decision_add(record, i, "tick", "{}", &err), 0);
	ck_assert_int_eq(record_decision_list(record, 0, count_decision, &n, &err), 0);
	ck_assert_int_eq(n, 10000);
	ck_assert_int_eq(record_decision_list(record, 3, last_decision, text, &err), 1);
	ck_assert_str_eq(text, "10020 tick {}");
}
END_TEST

static struct profile profile(const char *type, const char *user, int threads, const char *node)
{
	struct profile p = {
		.threads = threads,
		.solo_s = 1.5,
		.utilization = 0.9,
		.taken_unix_s = 1000,
		.count = 3,
		.spread = 0.01,
	};

	snprintf(p.type, sizeof(p.type), "%s", type);
	snprintf(p.user, sizeof(p.user), "%s", user);
	snprintf(p.node_type, sizeof(p.node_type), "%s", node);
	snprintf(p.source, sizeof(p.source), "papi");
	for (int i = 0; i < SIGNAL_COUNT; i++)
		p.rate[i] = NAN;
	p.rate[SIGNAL_LOADS] = 1e9;
	p.rate[SIGNAL_TIME_LEFT] = 0.25;
	return p;
}

static void put_profile(const char *type, const char *user, int threads, const char *node)
{
	struct profile p = profile(type, user, threads, node);

	ck_assert_msg(record_profile_put(record, &p, &err) == 0, "%s", err.text);
}

START_TEST(profile_reads_back_with_unknown_rates)
{
	struct profile p = profile("lmp", "ada", 2, "2core"), got;

	p.spread = NAN;
	p.ll_bytes = 32e6;
	ck_assert_int_eq(record_profile_put(record, &p, &err), 0);
	ck_assert_int_eq(record_profile_find(record, "lmp", "ada", 2, "2core", &got, &err), 0);
	ck_assert_str_eq(got.type, "lmp");
	ck_assert_str_eq(got.user, "ada");
	ck_assert_str_eq(got.node_type, "2core");
	ck_assert_str_eq(got.source, "papi");
	ck_assert_int_eq(got.threads, 2);
	ck_assert_int_eq(got.count, 3);
	ck_assert_int_eq(got.taken_unix_s, 1000);
	ck_assert(got.solo_s == 1.5 && got.utilization == 0.9 && got.ll_bytes == 32e6);
	ck_assert(isnan(got.spread));
	ck_assert(got.rate[SIGNAL_LOADS] == 1e9 && got.rate[SIGNAL_TIME_LEFT] == 0.25);
	ck_assert(isnan(got.rate[SIGNAL_INSTRUCTIONS]) && isnan(got.rate[SIGNAL_UTILIZATION]));
}
END_TEST

START_TEST(same_key_replaces)
{
	struct profile p = profile("lmp", "ada", 2, "2core"), got;

	put_profile("lmp", "ada", 2, "2core");
	p.solo_s = 9;
	p.rate[SIGNAL_LOADS] = NAN;
	ck_assert_int_eq(record_profile_put(record, &p, &err), 0);
	ck_assert_int_eq(record_profile_find(record, "lmp", "ada", 2, "2core", &got, &err), 0);
	ck_assert(got.solo_s == 9 && isnan(got.rate[SIGNAL_LOADS]));
	ck_assert_int_eq(record_profile_rm(record, "lmp", NULL, &err), 1);
}
END_TEST

static const struct {
	const char *user;
	int threads;
	const char *node, *want;
} BEST[] = {
	{"ada", 2, "a", "ada/2/a"},
	{"ada", 4, "a", "ada/4/b"},
	{"ada", 8, "b", "ada/4/b"},
	{"bob", 2, "a", "bob/2/b"},
	{"eve", 4, "x", "ada/4/b"},
	{"eve", 2, "b", "bob/2/b"},
};

START_TEST(best_match_is_user_then_width_then_node)
{
	struct profile got;
	char text[160];

	put_profile("lmp", "ada", 2, "a");
	put_profile("lmp", "ada", 4, "b");
	put_profile("lmp", "bob", 2, "b");
	put_profile("xhpl", "eve", 2, "a");
	ck_assert_int_eq(record_profile_find(record, "lmp", BEST[_i].user, BEST[_i].threads,
				 BEST[_i].node, &got, &err),
		0);
	snprintf(text, sizeof(text), "%s/%d/%s", got.user, got.threads, got.node_type);
	ck_assert_str_eq(text, BEST[_i].want);
}
END_TEST

START_TEST(unknown_type_is_enoent)
{
	struct profile got = {.threads = 5};

	ck_assert_int_eq(record_profile_find(record, "nope", "ada", 2, "a", &got, &err), -ENOENT);
	ck_assert_str_eq(err.text, "no stored profile of 'nope'");
	ck_assert_int_eq(got.threads, 5);
}
END_TEST

START_TEST(profile_without_type_is_refused)
{
	struct profile p = profile("", "ada", 2, "a");

	ck_assert_int_eq(record_profile_put(record, &p, &err), -EINVAL);
	ck_assert_str_eq(err.text, "profile: 'type' is empty");
}
END_TEST

static int note_profile(const struct profile *p, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s/%s ", p->type, p->user);
	return 0;
}

START_TEST(list_and_remove_by_type_and_user)
{
	char text[256] = "";

	put_profile("b", "ada", 2, "a");
	put_profile("a", "bob", 2, "a");
	put_profile("a", "ada", 2, "a");
	ck_assert_int_eq(record_profile_list(record, note_profile, text, &err), 0);
	ck_assert_str_eq(text, "a/ada a/bob b/ada ");
	ck_assert_int_eq(record_profile_rm(record, "a", "bob", &err), 1);
	ck_assert_int_eq(record_profile_rm(record, "a", NULL, &err), 1);
	ck_assert_int_eq(record_profile_rm(record, "a", NULL, &err), 0);
}
END_TEST

static void assert_refused(const char *name, bool read_only, int rc, const char *text)
{
	struct record *r = NULL;
	char want[400];

	ck_assert_int_eq(record_open(&r, tmpdir_path(&tmp, name), read_only, &err), rc);
	ck_assert_ptr_null(r);
	snprintf(want, sizeof(want), "%s: %s", tmp.path, text);
	ck_assert_str_eq(err.text, want);
}

START_TEST(bad_files_are_refused_by_name)
{
	sqlite3 *db = NULL;

	assert_refused("none.db", true, -ENOENT, "cannot open: No such file or directory");
	ck_assert_int_ne(access(tmp.path, F_OK), 0);
	assert_refused("no/such.db", false, -ENOENT, "cannot create: No such file or directory");
	tmpdir_write(&tmp, "empty.db", "");
	assert_refused("empty.db", true, -EPROTONOSUPPORT,
		"record schema 0 is older than this program's 6: colocd upgrades it when it "
		"starts");
	/* A ledger is a database of ours, but not this one. */
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "ledger.db"), &db), SQLITE_OK);
	ck_assert_int_eq(
		sqlite3_exec(db, "PRAGMA application_id=1129073735", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_refused("ledger.db", false, -EMEDIUMTYPE,
		"a database, but not Coloc's record; left as it is");
}
END_TEST

START_TEST(newer_schema_is_refused_for_readers_too)
{
	sqlite3 *db = NULL;

	record_close(record);
	record = NULL;
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "coloc.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version=9", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_refused("coloc.db", true, -EPROTONOSUPPORT,
		"record schema 9 is newer than this program's 6: a newer Coloc wrote it");
	assert_refused("coloc.db", false, -EPROTONOSUPPORT,
		"record schema 9 is newer than this program's 6: a newer Coloc wrote it");
}
END_TEST

static int note_judged(const struct judged *j, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s %s %d %lld; ", j->policy, j->members, j->windows,
		(long long)j->until_unix_s);
	return 0;
}

static const char *judged_sets(void)
{
	static char text[1024];

	*text = '\0';
	ck_assert_int_eq(record_judged_list(record, note_judged, text, &err), 0);
	return text;
}

static struct judged judged(const char *policy, const char *members, int windows)
{
	struct judged j = {.node_type = "n", .members = members, .basis = "app"};

	snprintf(j.policy, sizeof(j.policy), "%s", policy);
	j.windows = windows;
	j.mean = -0.25;
	j.m2 = 0.5;
	j.last_unix_s = 1000 - windows;
	j.times = 2;
	return j;
}

static void put_judged(const char *policy, const char *members, int windows)
{
	struct judged j = judged(policy, members, windows);

	ck_assert_msg(record_judged_put(record, &j, &err) == 0, "%s", err.text);
}

static int keep_judged(const struct judged *j, void *arg)
{
	*(struct judged *)arg = *j;
	return 0;
}

START_TEST(judged_sets_come_back_by_their_key)
{
	struct judged j = judged("lira", "a@b:2 + c@d:4", 7), got;

	j.until_unix_s = 99;
	ck_assert_int_eq(record_judged_put(record, &j, &err), 0);
	ck_assert_int_eq(record_judged_list(record, keep_judged, &got, &err), 0);
	ck_assert_str_eq(got.policy, "lira");
	ck_assert_str_eq(got.node_type, "n");
	ck_assert_str_eq(got.basis, "app");
	ck_assert(got.mean == -0.25 && got.m2 == 0.5);
	ck_assert_int_eq(got.last_unix_s, 993);
	ck_assert_int_eq(got.times, 2);
	put_judged("fair", "a@b:2 + c@d:4", 8);
	put_judged("lira", "c@d:4", 9);
	/* Oldest window first; the same key replaces. */
	ck_assert_str_eq(judged_sets(), "lira c@d:4 9 0; fair a@b:2 + c@d:4 8 0; "
					"lira a@b:2 + c@d:4 7 99; ");
	put_judged("lira", "a@b:2 + c@d:4", 10);
	ck_assert_str_eq(judged_sets(), "lira a@b:2 + c@d:4 10 0; lira c@d:4 9 0; "
					"fair a@b:2 + c@d:4 8 0; ");
	ck_assert_int_eq(record_judged_rm(record, &j, &err), 1);
	ck_assert_int_eq(record_judged_rm(record, &j, &err), 0);
	ck_assert_str_eq(judged_sets(), "lira c@d:4 9 0; fair a@b:2 + c@d:4 8 0; ");
}
END_TEST

START_TEST(judged_sets_that_cannot_be_are_refused)
{
	struct judged bad[] = {judged("", "a", 1), judged("lira", "", 1), judged("lira", NULL, 1),
		judged("lira", "a", -1), judged("lira", "a", 1), judged("lira", "a", 1)};

	bad[4].mean = NAN;
	bad[5].m2 = -1;
	for (size_t i = 0; i < COUNT(bad); i++) {
		ck_assert_int_eq(record_judged_put(record, &bad[i], &err), -EINVAL);
		ck_assert_ptr_nonnull(strstr(err.text, "judged set"));
	}
	ck_assert_str_eq(judged_sets(), "");
}
END_TEST

/* A store as an earlier version made it, with one row. */
static void make_old(const char *path, int version)
{
	static const char *const part[] = {RECORD_STEP_SCHEMA_1, RECORD_PROFILE_SCHEMA_1,
		RECORD_DECISION_SCHEMA_1, RECORD_REGISTRATION_SCHEMA_1,
		"INSERT INTO step (job_id, step_id, node, uid, start_ns, end_ns, rebinds, "
		"exit_code, state, dry_run) VALUES (12, 0, 'n1', 1000, 5000000000, 9000000000, 3, "
		"0, 'COMPLETED', 0);"
		"INSERT INTO profile (type, user, threads, node_type, source, taken_unix_s, count) "
		"VALUES ('lmp', 'ada', 2, 'a', 'perf', 7, 1);"
		"INSERT INTO decision (t_ns, event, json) VALUES (1, 'arrival', '{}');"
		"INSERT INTO registration (job_id, step_id, row_id, start_ns, pid, message) "
		"VALUES (12, 1, 2, 3, 4, 'x=1');"
		"PRAGMA application_id=1129075267; PRAGMA user_version=1",
		/* A version-1 store ends here. */
		RECORD_STEP_SCHEMA_2, RECORD_MEASUREMENT_SCHEMA_2, "PRAGMA user_version=2",
		RECORD_STEP_SCHEMA_3, RECORD_HISTORY_SCHEMA_3, RECORD_REGISTRATION_SCHEMA_3,
		"PRAGMA user_version=3", RECORD_STEP_SCHEMA_4, "PRAGMA user_version=4",
		RECORD_STEP_SCHEMA_5, RECORD_REGISTRATION_SCHEMA_5, "PRAGMA user_version=5"};
	static const int ends[] = {5, 8, 12, 14, COUNT(part)};
	const int n = ends[version - 1];
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	for (int i = 0; i < n; i++)
		ck_assert_msg(sqlite3_exec(db, part[i], NULL, NULL, NULL) == SQLITE_OK, "%d: %s", i,
			sqlite3_errmsg(db));
	sqlite3_close(db);
}

static int is_migrated(const struct step_row *row, void *arg)
{
	++*(int *)arg;
	ck_assert_uint_eq(row->job_id, 12);
	ck_assert_str_eq(row->node, "n1");
	ck_assert_int_eq(row->end_ns, 9 * S);
	ck_assert_int_eq(row->rebinds, 3);
	ck_assert(isnan(row->figures->ntt_share) && isnan(row->figures->gain_placement));
	ck_assert_ptr_null(row->figures->gain_basis);
	ck_assert_int_eq(row->figures->windows, -1);
	ck_assert_int_eq(row->figures->gap_ns, -1);
	ck_assert_ptr_null(row->figures->guard);
	return 0;
}

START_TEST(older_version_is_migrated_with_all_it_holds)
{
	struct step_filter at = {.from_ns = 1 * S, .to_ns = 20 * S};
	struct profile p;
	int rows = 0, decisions = 0;
	char refused[160];

	record_close(record);
	record = NULL;
	make_old(tmpdir_path(&tmp, "old.db"), _i);
	snprintf(refused, sizeof(refused),
		"record schema %d is older than this program's 6: colocd upgrades it when it "
		"starts",
		_i);
	assert_refused("old.db", true, -EPROTONOSUPPORT, refused);
	ck_assert_msg(record_open(&record, tmpdir_path(&tmp, "old.db"), false, &err) == 0, "%s",
		err.text);
	ck_assert_int_eq(record_step_list(record, &at, is_migrated, &rows, &err), 0);
	ck_assert_int_eq(rows, 1);
	ck_assert_int_eq(record_profile_find(record, "lmp", "ada", 2, "a", &p, &err), 0);
	ck_assert_int_eq(record_decision_list(record, 0, count_decision, &decisions, &err), 0);
	ck_assert_int_eq(decisions, 1);
	ck_assert_str_eq(registrations(), "12.1 row 2 pid 4 tasks - message x=1; ");
	ck_assert_int_eq(record_coreset(record, 1, 6 * S, "0", NULL, &err), 0);
	ck_assert_str_eq(judged_sets(), "");
	put_judged("lira", "a@b:2", 3);
	ck_assert_str_eq(judged_sets(), "lira a@b:2 3 0; ");
	/* A second opening finds nothing to do; the old file's reader may now read. */
	record_close(record);
	ck_assert_msg(
		record_open(&record, tmpdir_path(&tmp, "old.db"), true, &err) == 0, "%s", err.text);
}
END_TEST

/* Half a migration would be neither version: all of it or none. */
START_TEST(failed_migration_leaves_the_old_version)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;

	make_old(tmpdir_path(&tmp, "old.db"), 1);
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "old.db"), &db), SQLITE_OK);
	/* In the way of the second part of the upgrade. */
	ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE phase (x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_refused(
		"old.db", false, -EIO, "cannot upgrade the schema: table phase already exists");
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "old.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db,
				 "SELECT (SELECT user_version FROM pragma_user_version), count(*) "
				 "FROM pragma_table_info('step') WHERE name = 'windows'",
				 -1, &s, NULL),
		SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
	ck_assert_int_eq(sqlite3_column_int(s, 0), 1);
	ck_assert_int_eq(sqlite3_column_int(s, 1), 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
}
END_TEST

static int keep_figures(const struct step_row *row, void *arg)
{
	*(struct step_figures *)arg = *row->figures;
	return 0;
}

static int guard_is_kept(const struct step_row *row, void *arg)
{
	(void)arg;
	ck_assert_str_eq(row->figures->guard, "quarantined");
	return 0;
}

START_TEST(figures_come_back_and_unknown_ones_stay_blank)
{
	struct step_figures put = STEP_FIGURES_NONE, got;
	struct step_row row = {.job_id = 7, .start_ns = 1, .state = STEP_RUNNING};
	struct step_filter all = {0};

	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
	ck_assert_int_eq(record_step_list(record, &all, keep_figures, &got, &err), 0);
	ck_assert(isnan(got.ntt_share) && isnan(got.gain_launch_hi) && isnan(got.solo_speed));
	ck_assert_int_eq(got.windows, -1);
	ck_assert_ptr_null(got.guard);
	put.stp_full = 0.93;
	put.gain_placement_lo = 1.5;
	put.shared_speed = 12.5;
	put.phases = 0;
	put.windows = 9;
	put.gain_basis = "app";
	put.launch = "control";
	put.launches = 4;
	put.gap_ns = 7;
	put.gap_from_ns = 100;
	put.gap_to_ns = 107;
	put.guard = "quarantined";
	row.figures = &put;
	ck_assert_int_eq(record_step_put(record, &row, &err), 0);
	ck_assert_int_eq(record_step_list(record, &all, keep_figures, &got, &err), 0);
	ck_assert_double_eq_tol(got.stp_full, 0.93, 1e-12);
	ck_assert_double_eq_tol(got.gain_placement_lo, 1.5, 1e-12);
	ck_assert_double_eq_tol(got.shared_speed, 12.5, 1e-12);
	ck_assert(isnan(got.stp_share) && isnan(got.gain_placement));
	ck_assert_int_eq(got.phases, 0);
	ck_assert_int_eq(got.moves, -1);
	ck_assert_int_eq(got.windows, 9);
	ck_assert_int_eq(got.launches, 4);
	ck_assert_int_eq(got.gap_ns, 7);
	ck_assert_int_eq(got.gap_to_ns - got.gap_from_ns, 7);
	ck_assert_int_eq(record_step_list(record, &all, guard_is_kept, NULL, &err), 0);
}
END_TEST

static int keep_measurement(const struct measurement *m, void *arg)
{
	*(struct measurement *)arg = *m;
	return 0;
}

START_TEST(measurements_of_one_kind_become_mean_and_spread)
{
	struct measurement m = {.type = "lmp",
				   .user = "ada",
				   .cores = 2,
				   .signal = SIGNAL_PROGRESS,
				   .unit = "steps",
				   .source = "app",
				   .last_unix_s = 100},
			   got;

	ck_assert_int_eq(record_measurement_add(record, &m, 10, &err), 0);
	ck_assert_int_eq(record_measurement_add(record, &m, 14, &err), 0);
	m.last_unix_s = 200;
	ck_assert_int_eq(record_measurement_add(record, &m, 12, &err), 0);
	ck_assert_int_eq(
		record_measurement_list(record, "lmp", NULL, keep_measurement, &got, &err), 0);
	ck_assert_int_eq(got.count, 3);
	ck_assert_double_eq_tol(got.mean, 12, 1e-12);
	ck_assert_double_eq_tol(got.m2, 8, 1e-12);
	ck_assert_int_eq(got.first_unix_s, 100);
	ck_assert_int_eq(got.last_unix_s, 200);
	ck_assert_str_eq(got.unit, "steps");
	/* Another unit is another thing. */
	strcpy(m.unit, "sweeps");
	ck_assert_int_eq(record_measurement_add(record, &m, 7, &err), 0);
	ck_assert_int_eq(
		record_measurement_list(record, NULL, "ada", keep_measurement, &got, &err), 0);
	ck_assert_int_eq(got.count, 1);
	ck_assert_double_eq_tol(got.mean, 7, 1e-12);
	ck_assert_int_eq(record_measurement_add(record, &m, NAN, &err), -EINVAL);
	m.kind = MEASURED_ALONE;
	ck_assert_int_eq(record_measurement_add(record, &m, 8, &err), 0);
	ck_assert_int_eq(record_measurement_rm(record, "lmp", "bob", &err), 0);
	ck_assert_int_eq(record_measurement_rm(record, "lmp", NULL, &err), 2);
}
END_TEST

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("record");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "a step's row reads back, blank where blank");
	tcase_add_test(t, full_row_reads_back);
	tcase_add_test(t, blank_row_reads_back_blank);
	tcase_add_test(t, second_put_updates);
	tcase_add_test(t, update_of_no_row_is_enoent);
	tcase_add_test(t, state_names_are_the_documented_ones);
	t = tcase(s, "a put is committed and readers only read");
	tcase_add_test(t, put_is_seen_by_a_reader);
	tcase_add_test(t, reader_cannot_write);
	t = tcase(s, "the filter picks window, owner and jobs");
	tcase_add_loop_test(t, window_lists_overlapping_rows, 0, COUNT(WINDOW));
	tcase_add_test(t, uid_lists_own_rows);
	tcase_add_test(t, jobs_list_their_steps_once);
	tcase_add_test(t, array_job_lists_its_tasks);
	tcase_add_test(t, window_finds_what_began_long_before);
	tcase_add_test(t, callback_ends_the_list);
	tcase_add_loop_test(t, lists_never_scan_the_table, 0, 8);
	t = tcase(s, "rows of steps that vanished become unknown");
	tcase_add_test(t, lost_steps_become_unknown);
	tcase_add_test(t, running_row_is_found_again);
	tcase_add_test(t, prune_keeps_running_and_recent);
	t = tcase(s, "registrations wait for the next daemon");
	tcase_add_test(t, registration_outlives_the_connection);
	tcase_add_test(t, parts_of_a_step_register_apart);
	tcase_add_test(t, figures_of_a_registration_outlast_its_renewal);
	t = tcase(s, "decisions are kept to a bound");
	tcase_add_test(t, decisions_are_kept_to_a_bound);
	t = tcase(s, "the best matching profile is found");
	tcase_add_test(t, profile_reads_back_with_unknown_rates);
	tcase_add_test(t, same_key_replaces);
	tcase_add_loop_test(t, best_match_is_user_then_width_then_node, 0, COUNT(BEST));
	tcase_add_test(t, unknown_type_is_enoent);
	tcase_add_test(t, profile_without_type_is_refused);
	tcase_add_test(t, list_and_remove_by_type_and_user);
	t = tcase(s, "a file that is not ours is refused by name");
	tcase_add_test(t, bad_files_are_refused_by_name);
	tcase_add_test(t, newer_schema_is_refused_for_readers_too);
	tcase_add_loop_test(t, older_version_is_migrated_with_all_it_holds, 1, 6);
	tcase_add_test(t, failed_migration_leaves_the_old_version);
	t = tcase(s, "figures of a co-run are kept, blank where unknown");
	tcase_add_test(t, figures_come_back_and_unknown_ones_stay_blank);
	t = tcase(s, "what the guard judged is kept by policy, node type and members");
	tcase_add_test(t, judged_sets_come_back_by_their_key);
	tcase_add_test(t, judged_sets_that_cannot_be_are_refused);
	t = tcase(s, "measurements of intervals add up");
	tcase_add_test(t, measurements_of_one_kind_become_mean_and_spread);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
