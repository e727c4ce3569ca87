/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"
#include "tests/unit/record_db.h"

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
		STEP_LIST_UID_WITHIN, STEP_LIST_JOBS, STEP_RUNNING_LIST, STEP_PRUNE};
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

START_TEST(lost_step_ends_no_sooner_than_it_began)
{
	struct step_filter all = {0};
	char text[256] = "";

	put(2, 0, 0, 3, 0);
	ck_assert_int_eq(record_step_close_lost(record, NULL, 0, 1 * S, &err), 1);
	ck_assert_int_eq(record_step_list(record, &all, state_of, text, &err), 0);
	ck_assert_str_eq(text, "2.0=UNKNOWN,3 ");
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

int main(void)
{
	Suite *s = suite_create("record");
	TCase *t;

	t = record_db_tcase(s, "a step's row reads back, blank where blank");
	tcase_add_test(t, full_row_reads_back);
	tcase_add_test(t, blank_row_reads_back_blank);
	tcase_add_test(t, second_put_updates);
	tcase_add_test(t, update_of_no_row_is_enoent);
	tcase_add_test(t, state_names_are_the_documented_ones);
	t = record_db_tcase(s, "a put is committed and readers only read");
	tcase_add_test(t, put_is_seen_by_a_reader);
	tcase_add_test(t, reader_cannot_write);
	t = record_db_tcase(s, "the filter picks window, owner and jobs");
	tcase_add_loop_test(t, window_lists_overlapping_rows, 0, COUNT(WINDOW));
	tcase_add_test(t, uid_lists_own_rows);
	tcase_add_test(t, jobs_list_their_steps_once);
	tcase_add_test(t, array_job_lists_its_tasks);
	tcase_add_test(t, window_finds_what_began_long_before);
	tcase_add_test(t, callback_ends_the_list);
	tcase_add_loop_test(t, lists_never_scan_the_table, 0, 7);
	t = record_db_tcase(s, "rows of steps that vanished become unknown");
	tcase_add_test(t, lost_steps_become_unknown);
	tcase_add_test(t, lost_step_ends_no_sooner_than_it_began);
	tcase_add_test(t, prune_keeps_running_and_recent);
	t = record_db_tcase(s, "figures of a co-run are kept, blank where unknown");
	tcase_add_test(t, figures_come_back_and_unknown_ones_stay_blank);
	return record_db_run(s);
}
