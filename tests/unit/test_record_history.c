/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <sqlite3.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"
#include "tests/unit/record_db.h"

static int64_t row_id;

static int64_t put(uint32_t job, int64_t end_ns)
{
	struct step_row row = {.job_id = job,
		.array_task_id = 0xfffffffe,
		.start_ns = 10 * S,
		.end_ns = end_ns,
		.exit_code = -1,
		.state = STEP_RUNNING};

	ck_assert_msg(record_step_put(record, &row, &err) == 0, "%s", err.text);
	return row.row_id;
}

static void put_row(void)
{
	row_id = put(7, 0);
}

static int note_coreset(int64_t t_ns, const char *coreset, const char *why, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%lld %s %s;", (long long)(t_ns / S), coreset,
		why ? why : "-");
	return 0;
}

static int note_phase(int64_t t_ns, const char *signature, void *arg)
{
	return note_coreset(t_ns, "phase", signature, arg);
}

START_TEST(coresets_and_phases_are_listed_by_time)
{
	char text[256] = "";

	ck_assert_int_eq(record_coreset(record, row_id, 30 * S, "0", "lira: b came", &err), 0);
	ck_assert_int_eq(record_coreset(record, row_id, 20 * S, "0-1", NULL, &err), 0);
	ck_assert_int_eq(record_phase(record, row_id, 25 * S, "utilization 0.9", &err), 0);
	ck_assert_int_eq(record_coreset_list(record, row_id, note_coreset, text, &err), 0);
	ck_assert_int_eq(record_phase_list(record, row_id, note_phase, text, &err), 0);
	ck_assert_str_eq(text, "20 0-1 -;30 0 lira: b came;25 phase utilization 0.9;");
}
END_TEST

START_TEST(history_of_no_row_is_refused)
{
	struct record_thin thin = {0};
	struct signal signal[SIGNAL_COUNT] = {[SIGNAL_UTILIZATION] = {0.5, PROVENANCE_OS}};

	ck_assert_int_lt(record_coreset(record, 99, S, "0", NULL, &err), 0);
	ck_assert_int_lt(record_phase(record, 99, S, "x", &err), 0);
	ck_assert_int_lt(record_sample(record, 99, &thin, S, signal, &err), 0);
}
END_TEST

static int count(const char *table)
{
	char sql[64];
	sqlite3_stmt *s = NULL;
	int n;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	ck_assert_int_eq(sqlite3_prepare_v2(record->db, sql, -1, &s, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return n;
}

START_TEST(history_goes_with_its_row)
{
	struct record_thin thin = {0};
	struct signal signal[SIGNAL_COUNT] = {[SIGNAL_UTILIZATION] = {0.5, PROVENANCE_OS}};
	int64_t ended = put(8, 20 * S);

	ck_assert_int_eq(record_coreset(record, ended, 12 * S, "0", NULL, &err), 0);
	ck_assert_int_eq(record_phase(record, ended, 12 * S, "x", &err), 0);
	ck_assert_int_eq(record_sample(record, ended, &thin, 12 * S, signal, &err), 1);
	ck_assert_int_eq(record_coreset(record, row_id, 12 * S, "0", NULL, &err), 0);
	ck_assert_int_eq(record_step_prune(record, 30 * S, &err), 1);
	ck_assert_int_eq(count("coreset_change"), 1);
	ck_assert_int_eq(count("phase"), 0);
	ck_assert_int_eq(count("sample"), 0);
}
END_TEST

static int note_sample(int64_t t_ns, const struct signal *signal, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%lld:", (long long)(t_ns / S));
	for (int i = 0; i < SIGNAL_COUNT; i++) {
		if (signal[i].provenance != PROVENANCE_NONE)
			sprintf(text + strlen(text), " %d=%g/%d", i, signal[i].value,
				(int)signal[i].provenance);
	}
	strcat(text, ";");
	return 0;
}

START_TEST(samples_keep_signals_and_provenance)
{
	struct record_thin thin = {0};
	struct signal none[SIGNAL_COUNT] = {{0}};
	struct signal one[SIGNAL_COUNT] = {[SIGNAL_UTILIZATION] = {0.5, PROVENANCE_OS},
		[SIGNAL_LOADS] = {1e9, PROVENANCE_PROFILE}};
	struct signal two[SIGNAL_COUNT] = {[SIGNAL_PROGRESS] = {0, PROVENANCE_APP}};
	char text[256] = "";

	ck_assert_int_eq(record_sample(record, row_id, &thin, 10 * S, one, &err), 1);
	ck_assert_int_eq(record_sample(record, row_id, &thin, 11 * S, none, &err), 0);
	ck_assert_int_eq(record_sample(record, row_id, &thin, 12 * S, two, &err), 1);
	ck_assert_int_eq(record_sample_list(record, row_id, note_sample, text, &err), 0);
	/* 1 = loads, 6 = utilization, 7 = progress; 0 that was measured stays. */
	ck_assert_str_eq(text, "10: 1=1e+09/3 6=0.5/4;12: 7=0/2;");
}
END_TEST

struct span {
	int n;
	int64_t first_ns, last_ns, widest_ns;
};

static int measure(int64_t t_ns, const struct signal *signal, void *arg)
{
	struct span *s = arg;

	(void)signal;
	if (s->n == 0)
		s->first_ns = t_ns;
	else if (t_ns - s->last_ns > s->widest_ns)
		s->widest_ns = t_ns - s->last_ns;
	s->last_ns = t_ns;
	s->n++;
	return 0;
}

/* 20 000 samples: some 80 times what is kept. */
START_TEST(long_step_is_thinned_evenly)
{
	struct signal signal[SIGNAL_COUNT] = {[SIGNAL_UTILIZATION] = {0.5, PROVENANCE_OS}};
	struct record_thin thin = {0};
	struct span span = {0};
	const int n = 20000;

	ck_assert_int_eq(record_begin(record, &err), 0);
	for (int i = 0; i < n; i++) {
		/* A restart of the service in between. */
		if (i == n / 3)
			memset(&thin, 0, sizeof(thin));
		ck_assert_int_ge(record_sample(record, row_id, &thin, i * S, signal, &err), 0);
	}
	ck_assert_int_eq(record_end(record, 0, &err), 0);
	ck_assert_int_eq(record_sample_list(record, row_id, measure, &span, &err), 0);
	ck_assert_int_le(span.n, RECORD_SAMPLES_MAX);
	ck_assert_int_ge(span.n, RECORD_SAMPLES_MAX / 4);
	ck_assert_int_eq(span.first_ns, 0);
	ck_assert_int_ge(span.last_ns, n / 100 * 95 * S);
	/* No gap wider than four times the mean. */
	ck_assert_int_le(span.widest_ns, 4 * (span.last_ns / span.n));
}
END_TEST

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = record_db_tcase(s, name);

	tcase_add_checked_fixture(t, put_row, NULL);
	return t;
}

int main(void)
{
	Suite *s = suite_create("record_history");
	TCase *t;

	t = tcase(s, "a step's history belongs to its row");
	tcase_add_test(t, coresets_and_phases_are_listed_by_time);
	tcase_add_test(t, history_of_no_row_is_refused);
	tcase_add_test(t, history_goes_with_its_row);
	t = tcase(s, "samples are thinned to a bound");
	tcase_add_test(t, samples_keep_signals_and_provenance);
	tcase_add_test(t, long_step_is_thinned_evenly);
	return record_db_run(s);
}
