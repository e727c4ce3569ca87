/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/report/acct.h"

/* Wednesday 2024-05-15 12:34:56 in Berlin (UTC+2). */
#define NOW INT64_C(1715769296)

static void setup(void)
{
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
}

static const struct {
	const char *text, *want;
} GOOD[] = {
	{"now", "2024-05-15 12:34:56"},
	{"NOW", "2024-05-15 12:34:56"},
	{"now-90", "2024-05-15 12:33:26"},
	{"now+5seconds", "2024-05-15 12:35:01"},
	{"now-10minutes", "2024-05-15 12:24:56"},
	{"now-2hours", "2024-05-15 10:34:56"},
	{"now-1hour", "2024-05-15 11:34:56"},
	{"now-1day", "2024-05-14 12:34:56"},
	{"now-1d", "2024-05-14 12:34:56"},
	{"now-2weeks", "2024-05-01 12:34:56"},
	{"today", "2024-05-15 00:00:00"},
	{"midnight", "2024-05-15 00:00:00"},
	{"noon", "2024-05-15 12:00:00"},
	{"fika", "2024-05-15 15:00:00"},
	{"Teatime", "2024-05-15 16:00:00"},
	{"yesterday", "2024-05-14 00:00:00"},
	{"tomorrow", "2024-05-16 00:00:00"},
	{"08:15", "2024-05-15 08:15:00"},
	{"8:15", "2024-05-15 08:15:00"},
	{"23:59:58", "2024-05-15 23:59:58"},
	{"1:00PM", "2024-05-15 13:00:00"},
	{"12:05am", "2024-05-15 00:05:00"},
	{"0515", "2024-05-15 00:00:00"},
	{"0516", "2023-05-16 00:00:00"},
	{"1231", "2023-12-31 00:00:00"},
	{"022924", "2024-02-29 00:00:00"},
	{"0401-07:30", "2024-04-01 07:30:00"},
	{"040123-07:30:15", "2023-04-01 07:30:15"},
	{"04/01", "2024-04-01 00:00:00"},
	{"4/1/22", "2022-04-01 00:00:00"},
	{"04.01", "2024-04-01 00:00:00"},
	{"04.01.22-10:00", "2022-04-01 10:00:00"},
	{"2024-01-02", "2024-01-02 00:00:00"},
	{"2024-01-02T03:04", "2024-01-02 03:04:00"},
	{"2024-01-02T03:04:05", "2024-01-02 03:04:05"},
	{"2024-01-02-03:04:05", "2024-01-02 03:04:05"},
	{"uts1715769296", "2024-05-15 12:34:56"},
};

START_TEST(good_time_parses)
{
	struct errbuf err = {""};
	int64_t got;
	struct tm tm;
	time_t t;
	char text[32];

	ck_assert_msg(acct_time_parse(GOOD[_i].text, NOW, &got, &err) == 0, "%s", err.text);
	t = (time_t)got;
	localtime_r(&t, &tm);
	if (strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		*text = '\0';
	ck_assert_msg(strcmp(text, GOOD[_i].want) == 0, "%s gave %s", GOOD[_i].text, text);
}
END_TEST

static const char *const BAD[] = {"", "soon", "24:00", "12:60", "12:00:60", "13:00PM", "0:30AM",
	"12:5", "1332", "0230", "0001", "2024-13-01", "2024-02-30", "2024-1-2", "2024-01-02T",
	"2024-01-02T25:00", "04/01/2", "04/01.22", "now-", "now-x", "now-1fortnight", "now 1",
	"now-99999999999999", "utsx", "uts", "12345", "0401x", "-1", "today-1"};

START_TEST(bad_time_is_refused_by_name)
{
	struct errbuf err = {""};
	int64_t got = 42;
	char start[64];

	ck_assert_int_eq(acct_time_parse(BAD[_i], NOW, &got, &err), -EINVAL);
	ck_assert_int_eq(got, 42);
	snprintf(start, sizeof(start), "'%s' is no time (", BAD[_i]);
	ck_assert_msg(strncmp(err.text, start, strlen(start)) == 0, "%s", err.text);
}
END_TEST

/* Days on which the clock changes have 23 and 25 hours. */
START_TEST(days_are_calendar_days)
{
	int64_t a, b;

	ck_assert_int_eq(acct_time_parse("2024-03-31", NOW, &a, NULL), 0);
	ck_assert_int_eq(acct_time_parse("2024-04-01", NOW, &b, NULL), 0);
	ck_assert_int_eq(b - a, 23 * 3600);
	/* Half an hour after midnight of the day after. */
	ck_assert_int_eq(acct_time_parse("yesterday", b + 1800, &a, NULL), 0);
	ck_assert_int_eq(b - a, 23 * 3600);
}
END_TEST

#define MIDNIGHT (NOW - (12 * 3600 + 34 * 60 + 56))
static const int64_t EARLY = NOW - 1000, LATE = NOW - 500;

static const struct {
	const int64_t *start, *end;
	bool has_jobs, has_state;
	int64_t want_start, want_end;
} WINDOW[] = {
	{NULL, NULL, false, false, MIDNIGHT, NOW},
	{NULL, NULL, true, false, 0, NOW},
	{NULL, NULL, false, true, NOW, NOW},
	{NULL, NULL, true, true, 0, NOW},
	{&EARLY, NULL, false, false, NOW - 1000, NOW},
	{&EARLY, NULL, true, false, NOW - 1000, NOW},
	{&EARLY, NULL, false, true, NOW - 1000, NOW - 1000},
	{&EARLY, NULL, true, true, NOW - 1000, NOW - 1000},
	{&EARLY, &LATE, true, true, NOW - 1000, NOW - 500},
	{NULL, &LATE, false, false, MIDNIGHT, NOW - 500},
};

START_TEST(window_defaults_are_saccts)
{
	int64_t start, end;

	acct_time_window(WINDOW[_i].start, WINDOW[_i].end, WINDOW[_i].has_jobs,
		WINDOW[_i].has_state, NOW, &start, &end);
	ck_assert_int_eq(start, WINDOW[_i].want_start);
	ck_assert_int_eq(end, WINDOW[_i].want_end);
}
END_TEST

static const struct {
	int64_t seconds;
	const char *want;
} ELAPSED[] = {
	{0, "00:00:00"},
	{59, "00:00:59"},
	{3661, "01:01:01"},
	{86399, "23:59:59"},
	{86400, "1-00:00:00"},
	{86400 * 123 + 45296, "123-12:34:56"},
};

START_TEST(elapsed_prints_as_sacct_does)
{
	char buf[32];

	ck_assert_str_eq(
		acct_time_elapsed(ELAPSED[_i].seconds, buf, sizeof(buf)), ELAPSED[_i].want);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

int main(void)
{
	Suite *s = suite_create("acct_time");
	TCase *t = tcase_create("every time that sacct's users write is read");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, good_time_parses, 0, COUNT(GOOD));
	tcase_add_test(t, days_are_calendar_days);
	suite_add_tcase(s, t);
	t = tcase_create("what is no time is refused by name");
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, bad_time_is_refused_by_name, 0, COUNT(BAD));
	suite_add_tcase(s, t);
	t = tcase_create("the default window is sacct's");
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, window_defaults_are_saccts, 0, COUNT(WINDOW));
	tcase_add_loop_test(t, elapsed_prints_as_sacct_does, 0, COUNT(ELAPSED));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
