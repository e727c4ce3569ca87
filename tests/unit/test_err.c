/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"

START_TEST(set_formats_and_returns_the_code)
{
	struct errbuf err;

	errno = ENOTTY;
	ck_assert_int_eq(err_set(&err, -EIO, "file '%s': %d", "x", 7), -EIO);
	ck_assert_str_eq(err.text, "file 'x': 7");
	ck_assert_int_eq(errno, ENOTTY);
}
END_TEST

START_TEST(wrap_puts_context_before)
{
	struct errbuf err;

	err_set(&err, -EIO, "disk full");
	ck_assert_int_eq(err_wrap(&err, -EINVAL, "job %d", 3), -EINVAL);
	ck_assert_str_eq(err.text, "job 3: disk full");
	err_wrap(&err, 0, "node");
	ck_assert_str_eq(err.text, "node: job 3: disk full");
}
END_TEST

START_TEST(without_a_buffer_only_the_code)
{
	ck_assert_int_eq(err_set(NULL, -EIO, "%s", "x"), -EIO);
	ck_assert_int_eq(err_wrap(NULL, -EIO, "%s", "x"), -EIO);
}
END_TEST

START_TEST(long_texts_are_cut)
{
	struct errbuf err;
	char longest[600];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	err_set(&err, -EIO, "%s", longest);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	err_wrap(&err, -EIO, "b");
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_int_eq(strncmp(err.text, "b: aaa", 6), 0);
	err_wrap(&err, -EIO, "%s", longest);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("err");
	TCase *tc = tcase_create("an error has a code and a text");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, set_formats_and_returns_the_code);
	tcase_add_test(tc, wrap_puts_context_before);
	tcase_add_test(tc, without_a_buffer_only_the_code);
	suite_add_tcase(s, tc);
	tc = tcase_create("a text never leaves its buffer");
	tcase_add_test(tc, long_texts_are_cut);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
