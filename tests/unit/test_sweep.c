/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/sweep.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/csv.h"

static struct sweep sweep;

static void setup(void)
{
	memset(&sweep, 0, sizeof(sweep));
}

static void teardown(void)
{
	sweep_done(&sweep);
}

START_TEST(lists_and_ranges_cross)
{
	struct errbuf err = {""};

	ck_assert_int_eq(sweep_points(&sweep), 1);
	ck_assert_msg(sweep_add(&sweep, "numa=follow,sticky", &err) == 0, "%s", err.text);
	ck_assert_msg(sweep_add(&sweep, "lira.h=0:0.3:0.1", &err) == 0, "%s", err.text);
	ck_assert_int_eq(sweep_points(&sweep), 8);
	ck_assert_str_eq(sweep_value(&sweep, 0, 0), "follow");
	ck_assert_str_eq(sweep_value(&sweep, 0, 1), "0");
	ck_assert_str_eq(sweep_value(&sweep, 3, 0), "follow");
	ck_assert_str_eq(sweep_value(&sweep, 3, 1), "0.3");
	ck_assert_str_eq(sweep_value(&sweep, 4, 0), "sticky");
	ck_assert_str_eq(sweep_value(&sweep, 7, 1), "0.3");
}
END_TEST

START_TEST(a_range_ends_at_or_before_its_end)
{
	ck_assert_int_eq(sweep_add(&sweep, "a=1:2:0.3", NULL), 0);
	ck_assert_int_eq(sweep_points(&sweep), 4);
	ck_assert_str_eq(sweep_value(&sweep, 3, 0), "1.9");
	ck_assert_int_eq(sweep_add(&sweep, "b=-1:-1:1", NULL), 0);
	ck_assert_str_eq(sweep_value(&sweep, 0, 1), "-1");
	/* A topology has colons too. */
	ck_assert_int_eq(sweep_add(&sweep, "topology=pack:2 core:8,core:4", NULL), 0);
	ck_assert_str_eq(sweep_value(&sweep, 0, 2), "pack:2 core:8");
}
END_TEST

static const struct {
	const char *text, *why;
} refused[] = {
	{"jobs", "'jobs': KEY=VALUE,... expected"},
	{"=1", "'=1': KEY=VALUE"},
	{"a=", "a: '': a value expected"},
	{"a=1,,2", "a: ',2': a value expected"},
	{"a=1,2,1", "a: '1': there already"},
	{"a=2:1:1", "a: '2:1:1': FROM:TO:STEP, upwards"},
	{"a=1:2:0", "a: '1:2:0': FROM:TO:STEP, upwards"},
	{"a=1:2:-1", "a: '1:2:-1': FROM:TO:STEP, upwards"},
	{"a=0:1e9:1", "a: '0:1e9:1': more than 1000 values"},
	{"there=1", "there: twice"},
	{"many=1:900:1", "many: more than 10000 points"},
};

START_TEST(bad_keys_and_values_are_named)
{
	struct errbuf err = {""};

	ck_assert_int_eq(sweep_add(&sweep, "there=1:100:1", NULL), 0);
	ck_assert_int_lt(sweep_add(&sweep, refused[_i].text, &err), 0);
	ck_assert_msg(
		strstr(err.text, refused[_i].why) != NULL, "%s: %s", refused[_i].text, err.text);
	ck_assert_int_eq(sweep.n, 1);
	ck_assert_int_eq(sweep_points(&sweep), 100);
}
END_TEST

START_TEST(csv_is_as_rfc_4180_has_it)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(f);
	csv_text(f, true, "plain");
	csv_text(f, false, "a,b");
	csv_text(f, false, "say \"x\"");
	csv_text(f, false, "two\nlines");
	csv_text(f, false, NULL);
	csv_end(f);
	csv_number(f, true, 0.1);
	csv_number(f, false, NAN);
	csv_number(f, false, 1 / 3.0);
	csv_number(f, false, INFINITY);
	csv_number(f, false, 0);
	csv_end(f);
	fclose(f);
	ck_assert_str_eq(text, "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\r\n"
			       "0.1,,0.3333333333333333,,0\r\n");
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sweep");
	TCase *tc;
	SRunner *r;
	int failed;

	tc = tcase_create("keys and their values make a grid");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, lists_and_ranges_cross);
	tcase_add_test(tc, a_range_ends_at_or_before_its_end);
	tcase_add_loop_test(
		tc, bad_keys_and_values_are_named, 0, (int)(sizeof(refused) / sizeof(refused[0])));
	suite_add_tcase(s, tc);
	tc = tcase_create("comma-separated values are quoted, and blank where unknown");
	tcase_add_test(tc, csv_is_as_rfc_4180_has_it);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
