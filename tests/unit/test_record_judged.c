/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/record_db.h"

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

int main(void)
{
	Suite *s = suite_create("record_judged");
	TCase *t;

	t = record_db_tcase(s, "what the guard judged is kept by policy, node type and members");
	tcase_add_test(t, judged_sets_come_back_by_their_key);
	tcase_add_test(t, judged_sets_that_cannot_be_are_refused);
	return record_db_run(s);
}
