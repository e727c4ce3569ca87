/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/coreset.h"

struct parse_case {
	const char *text, *shortest; /* NULL: refused */
	int count, rc;
};

static const struct parse_case cases[] = {
	{"", "", 0, 0},
	{"\n", "", 0, 0},
	{" \t\n", "", 0, 0},
	{"0", "0", 1, 0},
	{"0-3,8\n", "0-3,8", 5, 0},
	{"  2,1,0  ", "0-2", 3, 0},
	{"3,1-2,0,2-3", "0-3", 4, 0},
	{"0,2,4", "0,2,4", 3, 0},
	{"5-5", "5", 1, 0},
	{"007", "7", 1, 0},
	{"63-64", "63-64", 2, 0},
	{"62,64-65,127-128", "62,64-65,127-128", 5, 0},
	{"0-1023", "0-1023", 1024, 0},
	{"1023", "1023", 1, 0},
	{"1024", NULL, 0, -ERANGE},
	{"0-1024", NULL, 0, -ERANGE},
	{"99999999999999999999", NULL, 0, -ERANGE},
	{"3-1", NULL, 0, -EINVAL},
	{"-1", NULL, 0, -EINVAL},
	{"1-", NULL, 0, -EINVAL},
	{"1,", NULL, 0, -EINVAL},
	{",1", NULL, 0, -EINVAL},
	{"1,,2", NULL, 0, -EINVAL},
	{"1 2", NULL, 0, -EINVAL},
	{"1, 2", NULL, 0, -EINVAL},
	{"1-2-3", NULL, 0, -EINVAL},
	{"0x3", NULL, 0, -EINVAL},
	{"a", NULL, 0, -EINVAL},
	{"0-3:2", NULL, 0, -EINVAL},
	{"+1", NULL, 0, -EINVAL},
};

START_TEST(parse_table)
{
	const struct parse_case *c = &cases[_i];
	char buf[CORESET_STR_MAX];
	struct errbuf err = {"untouched"};
	struct coreset s = {{42}}, again;

	ck_assert_msg(coreset_parse(&s, c->text, &err) == c->rc, "'%s': %s", c->text, err.text);
	if (c->rc < 0) {
		ck_assert_uint_eq(s.w[0], 42);
		if (c->text[0])
			ck_assert_msg(strstr(err.text, c->text) != NULL, "'%s' not named: %s",
				c->text, err.text);
		ck_assert_int_eq(coreset_parse(&s, c->text, NULL), c->rc);
		return;
	}
	ck_assert_str_eq(err.text, "untouched");
	ck_assert_str_eq(coreset_format(&s, buf, sizeof(buf)), c->shortest);
	ck_assert_int_eq(coreset_count(&s), c->count);
	ck_assert_int_eq(coreset_is_empty(&s), c->count == 0);
	ck_assert_int_eq(coreset_parse(&again, buf, NULL), 0);
	ck_assert(coreset_is_equal(&s, &again));
}
END_TEST

START_TEST(format_of_random_sets_parses_back)
{
	char buf[CORESET_STR_MAX];
	struct coreset s, back;

	srand(1);
	for (int round = 0; round < 500; round++) {
		coreset_zero(&s);
		for (int i = 0; i < round; i++)
			coreset_add(&s, (unsigned int)(rand() % CORESET_MAX));
		coreset_format(&s, buf, sizeof(buf));
		ck_assert_int_eq(coreset_parse(&back, buf, NULL), 0);
		ck_assert(coreset_is_equal(&s, &back));
	}
}
END_TEST

START_TEST(format_of_the_longest_set_fits)
{
	char buf[CORESET_STR_MAX];
	struct coreset s, back;

	coreset_zero(&s);
	for (unsigned int pu = 0; pu < CORESET_MAX; pu += 2)
		coreset_add(&s, pu);
	coreset_format(&s, buf, sizeof(buf));
	ck_assert_uint_lt(strlen(buf), sizeof(buf) - 1);
	ck_assert_int_eq(coreset_parse(&back, buf, NULL), 0);
	ck_assert(coreset_is_equal(&s, &back));
}
END_TEST

START_TEST(format_into_any_size_never_overruns)
{
	struct coreset s;
	char buf[16];

	ck_assert_int_eq(coreset_parse(&s, "0-3,8,10-11", NULL), 0);
	for (size_t size = 0; size < sizeof(buf); size++) {
		memset(buf, '#', sizeof(buf));
		ck_assert_ptr_eq(coreset_format(&s, buf, size), buf);
		ck_assert_int_eq(buf[size], '#');
		if (size)
			ck_assert_int_eq(strncmp(buf, "0-3,8,10-11", strlen(buf)), 0);
	}
}
END_TEST

static struct coreset set_of(const char *text)
{
	struct coreset s;

	ck_assert_int_eq(coreset_parse(&s, text, NULL), 0);
	return s;
}

static void check_is(const struct coreset *s, const char *want)
{
	char buf[CORESET_STR_MAX];

	ck_assert_str_eq(coreset_format(s, buf, sizeof(buf)), want);
}

START_TEST(algebra)
{
	struct coreset a = set_of("0-4,64"), b = set_of("3-6,1000"), r;

	coreset_and(&r, &a, &b);
	check_is(&r, "3-4");
	coreset_or(&r, &a, &b);
	check_is(&r, "0-6,64,1000");
	coreset_andnot(&r, &a, &b);
	check_is(&r, "0-2,64");
	ck_assert(coreset_is_subset(&r, &a));
	ck_assert(!coreset_is_subset(&a, &r));
	ck_assert(!coreset_intersects(&r, &b));
	ck_assert(coreset_intersects(&a, &b));
	/* The result may be an operand. */
	coreset_or(&a, &a, &b);
	check_is(&a, "0-6,64,1000");
	coreset_zero(&a);
	ck_assert(coreset_is_subset(&a, &b));
	ck_assert(!coreset_intersects(&a, &b));
	ck_assert(coreset_is_equal(&a, &(struct coreset){{0}}));
}
END_TEST

START_TEST(numbers_outside_are_ignored)
{
	struct coreset s;

	coreset_zero(&s);
	coreset_add(&s, CORESET_MAX);
	coreset_add(&s, 4000000000u);
	ck_assert(coreset_is_empty(&s));
	coreset_add_range(&s, 1020, 4000000000u);
	check_is(&s, "1020-1023");
	coreset_add_range(&s, 5, 3);
	check_is(&s, "1020-1023");
	coreset_del(&s, CORESET_MAX);
	coreset_del(&s, 1021);
	check_is(&s, "1020,1022-1023");
	ck_assert(!coreset_has(&s, CORESET_MAX));
	ck_assert(coreset_has(&s, 1023));
}
END_TEST

START_TEST(for_each_visits_each_once_in_order)
{
	struct coreset s = set_of("0,63-65,128,1023");
	static const int want[] = {0, 63, 64, 65, 128, 1023};
	int n = 0;

	coreset_for_each (pu, &s)
		ck_assert_int_eq(pu, want[n++]);
	ck_assert_int_eq(n, 6);
	ck_assert_int_eq(coreset_next(&s, -5), 0);
	ck_assert_int_eq(coreset_next(&s, 1023), 1023);
	ck_assert_int_eq(coreset_next(&s, 1024), -1);
	coreset_zero(&s);
	ck_assert_int_eq(coreset_next(&s, 0), -1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("coreset");
	TCase *tc = tcase_create("a cpulist is read exactly or refused by name");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, parse_table, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	suite_add_tcase(s, tc);
	tc = tcase_create("what is written reads back");
	tcase_add_test(tc, format_of_random_sets_parses_back);
	tcase_add_test(tc, format_of_the_longest_set_fits);
	tcase_add_test(tc, format_into_any_size_never_overruns);
	suite_add_tcase(s, tc);
	tc = tcase_create("set algebra");
	tcase_add_test(tc, algebra);
	tcase_add_test(tc, numbers_outside_are_ignored);
	tcase_add_test(tc, for_each_visits_each_once_in_order);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
