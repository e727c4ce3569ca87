/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of steps: the accounting, registrations, a trace's decisions; at ticks, too. */
#include <check.h>
#include <string.h>

#include "nodesvc/books/internal.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/record/record_internal.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/lifecycle_fixture.h"

static int count_row(const struct step_row *row, void *arg)
{
	(void)row;
	++*(int *)arg;
	return 0;
}

static int rows(void)
{
	struct step_filter all = {0};
	struct errbuf err;
	int n = 0;

	ck_assert_int_eq(record_step_list(d.record, &all, count_row, &n, &err), 0);
	return n;
}

START_TEST(every_step_is_accounted_once)
{
	for (uint32_t j = 1; j <= 20; j++)
		run(j, "");
	for (uint32_t j = 1; j <= 20; j++)
		finish(j, 0);
	ck_assert_int_eq(rows(), 20);
}
END_TEST

static int note_elapsed(const struct step_row *row, void *arg)
{
	int64_t *longest = arg, elapsed = row->end_ns - row->start_ns;

	ck_assert_int_ge(elapsed, 0);
	if (elapsed > *longest)
		*longest = elapsed;
	return 0;
}

/* As if it had been set by a day, either way, while they ran. */
START_TEST(clock_that_is_set_is_no_part_of_a_steps_time)
{
	struct step_filter all = {0};
	struct errbuf err;
	int64_t day_ns = INT64_C(86400000000000), longest = 0;

	run(1, "");
	run(2, "");
	jobs_find(d.jobs, 1, 0, 0)->start_unix_ns += day_ns;
	jobs_find(d.jobs, 2, 0, 0)->start_unix_ns -= day_ns;
	finish(1, 0);
	finish(2, 0);
	ck_assert_int_eq(record_step_list(d.record, &all, note_elapsed, &longest, &err), 0);
	ck_assert_int_lt(longest, day_ns / 2);
}
END_TEST

static void limit_pages(const char *pragma)
{
	ck_assert_int_eq(sqlite3_exec(d.record->db, pragma, NULL, NULL, NULL), SQLITE_OK);
}

/* The disk is full in the middle of a tick's writing, and then it is not. */
START_TEST(rows_that_a_full_store_undid_are_written_once_there_is_room)
{
	for (uint32_t job = 1; job <= 60; job++) {
		start(job, 0);
		msg_put(&in, "jobname", "a name of some length, so that a page is full soon");
		ck_assert_str_eq(go(), "step_ok");
	}
	limit_pages("PRAGMA max_page_count=1"); /* no more than there are */
	account_flush(d.books);
	ck_assert_int_lt(rows(), 60);
	limit_pages("PRAGMA max_page_count=100000");
	account_flush(d.books); /* too early to try again */
	ck_assert_int_lt(rows(), 60);
	d.books->flush_again_ns = 0;
	account_flush(d.books);
	ck_assert_int_eq(rows(), 60);
	finish(1, 0);
	ck_assert_int_eq(rows(), 60);
}
END_TEST

/* Decisions of so many ticks. */
static int decided(int ticks)
{
	uint64_t before = d.choose->n_decisions;

	for (int i = 0; i < ticks; i++)
		daemon_tick(&d);
	return (int)(d.choose->n_decisions - before);
}

START_TEST(ticks_without_a_change_need_no_decision)
{
	snprintf(d.conf->policy, sizeof(d.conf->policy), "%s", _i ? "lira" : "fair");
	run(1, "");
	run(2, "");
	ck_assert_int_eq(decided(5), 1);
	/* Signals are nothing that it goes by. */
	jobs_find(d.jobs, 1, 0, 0)->signal[SIGNAL_UTILIZATION] =
		(struct signal){0.5, PROVENANCE_OS};
	ck_assert_int_eq(decided(5), 0);
	jobs_find(d.jobs, 1, 0, 0)->threads = 7;
	ck_assert_int_eq(decided(5), 1);
	run(3, "");
	ck_assert_int_eq(decided(5), 1);
	ck_assert_str_eq(jobs_find(d.jobs, 3, 0, 0)->policy, "fair");
}
END_TEST

START_TEST(recorded_ticks_are_all_decided)
{
	struct errbuf err = {""};
	uint64_t decisions, bytes;

	run(1, "");
	ck_assert_int_eq(decided(3), 1);
	snprintf(d.conf->store, sizeof(d.conf->store), "%s", dir);
	ck_assert_msg(recording_start(d.choose, "trace", 1 << 20, &err) == 0, "%s", err.text);
	ck_assert_int_eq(decided(3), 3);
	ck_assert_int_eq(recording_stop(d.choose, &decisions, &bytes, &err), 0);
	ck_assert_int_eq((int)decisions, 3);
}
END_TEST

START_TEST(policy_that_goes_by_signals_decides_at_each_tick)
{
	snprintf(d.conf->policy, sizeof(d.conf->policy), "lira");
	run(1, "");
	jobs_find(d.jobs, 1, 0, 0)->signal[SIGNAL_LOADS] = (struct signal){1e6, PROVENANCE_HW};
	ck_assert_int_eq(decided(4), 4);
	ck_assert_str_eq(jobs_find(d.jobs, 1, 0, 0)->policy, "lira");
}
END_TEST

static int keep_message(const struct registration *reg, void *arg)
{
	struct msg *m = arg;

	ck_assert_uint_le(reg->message_len, sizeof(m->buf));
	memcpy(m->buf, reg->message, reg->message_len);
	m->len = reg->message_len;
	return 0;
}

/* A registration that is longer than a message is none for the next daemon. */
START_TEST(a_release_fits_into_the_longest_message)
{
	static char name[MSG_MAX];
	static struct msg kept;
	struct errbuf err = {""};
	struct step *s;
	size_t len;

	for (size_t left = 0; left < 20; left += 4) {
		msg_init(&in, "step_start");
		msg_putf(&in, "job", "%zu", left + 1);
		msg_put(&in, "step", "0");
		msg_put(&in, "uid", "0");
		msg_put(&in, "ntasks", "1");
		len = MSG_MAX - in.len - strlen("name=") - 1 - left;
		memset(name, 'x', len);
		strcpy(name + len - strlen("/bin/app"), "/bin/app");
		msg_put(&in, "name", name);
		ck_assert(!in.overflow);
		ck_assert_uint_eq(in.len, MSG_MAX - left);
		ck_assert_str_eq(go(), "step_ok");
		s = jobs_find(d.jobs, (uint32_t)left + 1, 0, 0);
		kept_mark_released(d.books, s);
		ck_assert_int_eq(record_registration_list(d.record, keep_message, &kept, &err), 0);
		ck_assert_msg(msg_check(&kept, &err) == 0, "%s", err.text);
		ck_assert_str_eq(msg_get(&kept, "released"), "1");
		ck_assert_str_eq(strrchr(msg_get(&kept, "name"), '/'), "/app");
		ck_assert_str_eq(msg_get(&kept, "ntasks"), "1");
		finish((uint32_t)left + 1, 0);
	}
}
END_TEST

START_TEST(what_only_a_launch_needs_is_not_kept)
{
	static struct msg kept;
	struct errbuf err = {""};

	start(1, 0);
	msg_put(&in, "cwd", "/here");
	msg_put(&in, "path", "/usr/bin:/bin");
	msg_put(&in, "jobname", "path=1");
	ck_assert_str_eq(go(), "step_ok");
	kept_mark_released(d.books, jobs_find(d.jobs, 1, 0, 0));
	ck_assert_int_eq(record_registration_list(d.record, keep_message, &kept, &err), 0);
	ck_assert_msg(msg_check(&kept, &err) == 0, "%s", err.text);
	ck_assert_ptr_null(msg_get(&kept, "cwd"));
	ck_assert_ptr_null(msg_get(&kept, "path"));
	ck_assert_str_eq(msg_get(&kept, "name"), "/usr/bin/app");
	ck_assert_str_eq(msg_get(&kept, "jobname"), "path=1");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lifecycle_kept");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("steps are kept");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, every_step_is_accounted_once);
	tcase_add_test(tc, clock_that_is_set_is_no_part_of_a_steps_time);
	tcase_add_test(tc, rows_that_a_full_store_undid_are_written_once_there_is_room);
	tcase_add_test(tc, a_release_fits_into_the_longest_message);
	tcase_add_test(tc, what_only_a_launch_needs_is_not_kept);
	suite_add_tcase(s, tc);
	tc = tcase_create("a tick that changes nothing is no decision");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, ticks_without_a_change_need_no_decision, 0, 2);
	tcase_add_test(tc, recorded_ticks_are_all_decided);
	tcase_add_test(tc, policy_that_goes_by_signals_decides_at_each_tick);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
