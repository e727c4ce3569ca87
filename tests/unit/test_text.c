/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>

#include "common/err.h"
#include "tests/unit/hostile.h"

static const struct {
	const char *text, *clean;
} TEXT[] = {
	{"", ""},
	{"plain text, 3 words", "plain text, 3 words"},
	{"caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x90\x9f", "caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x90\x9f"},
	/* control characters, also those beyond ASCII */
	{"a\nb\rc\td\033[31m\177", "a?b?c?d?[31m?"},
	{"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "??????\xc2\xa0"},
	/* no UTF-8 */
	{"\xff\xfe\x80\x9b", "????"},
	{"\xc3", "?"},
	{"\xc3(", "?("},
	{"\xe6\xbc", "??"},
	{"\xe6\xbc\xc3\xa9", "??\xc3\xa9"},
	{"\xf0\x9f\x90", "???"},
	{"\xc0\xaf\xc1\xbf\xe0\x80\xaf\xf0\x80\x80\xaf", "???????????"},
	/* what Unicode has no characters for */
	{"\xed\xa0\x80\xed\xbf\xbf\xed\x9f\xbf", "??????\xed\x9f\xbf"},
	{"\xf4\x8f\xbf\xbd\xf4\x90\x80\x80\xf5\x80\x80\x80", "\xf4\x8f\xbf\xbd????????"},
	{"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", "??????\xef\xbf\xbd"},
	/* lines and direction */
	{"a\xe2\x80\xa8"
	 "b\xe2\x80\xae"
	 "c\xef\xbb\xbf\xe2\x80\x94",
		"a???b???c???\xe2\x80\x94"},
};

START_TEST(what_shows_nothing_good_is_replaced)
{
	char text[64];

	strcpy(text, TEXT[_i].text);
	ck_assert_int_eq(text_is_clean(text), strcmp(TEXT[_i].text, TEXT[_i].clean) == 0);
	ck_assert_ptr_eq(text_clean(text), text);
	ck_assert_str_eq(text, TEXT[_i].clean);
	ck_assert(text_is_clean(text));
}
END_TEST

/* At every length of the buffer. */
START_TEST(copy_ends_behind_a_whole_character)
{
	static const char *const WHOLE = "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x90\x9f!";
	static const size_t LEN[] = {0, 0, 0, 2, 2, 2, 5, 5, 5, 5, 9, 10, 10};
	char text[16];

	for (size_t size = 1; size < sizeof(LEN) / sizeof(LEN[0]); size++) {
		memset(text, 'x', sizeof(text));
		ck_assert_ptr_eq(text_copy(text, size, WHOLE), text);
		ck_assert_int_eq((int)strlen(text), (int)LEN[size]);
		ck_assert_int_eq(memcmp(text, WHOLE, LEN[size]), 0);
		ck_assert_int_eq(text[size], 'x');
	}
	ck_assert_str_eq(text_copy(text, sizeof(text), NULL), "");
	ck_assert_str_eq(text_copy(text, 3, "\xa9\xa9\xa9\xa9"), "??");
}
END_TEST

START_TEST(hostile_name_comes_out_clean)
{
	char text[40];

	hostile_load();
	for (int i = 0; i < hostile_n; i++) {
		text_copy(text, sizeof(text), hostile_name[i]);
		ck_assert_msg(text_is_clean(text), "%d: %s", i, text);
	}
}
END_TEST

/* Errors quote what was given, cut to their length. */
START_TEST(error_is_one_clean_line)
{
	struct errbuf err;

	hostile_load();
	for (int i = 0; i < hostile_n; i++) {
		for (int cut = 0; cut < 8; cut++) {
			err_set(&err, -1, "%*s'%.40s%s'", cut, "", hostile_name[i],
				hostile_name[i]);
			ck_assert_int_eq(hostile_check("err_set", err.text), 1);
			err_wrap(&err, -1, "%s%s", hostile_name[i], hostile_name[i]);
			ck_assert_int_eq(hostile_check("err_wrap", err.text), 1);
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase_create("only whole, visible characters stay");
	tcase_add_loop_test(
		t, what_shows_nothing_good_is_replaced, 0, (int)(sizeof(TEXT) / sizeof(TEXT[0])));
	tcase_add_test(t, copy_ends_behind_a_whole_character);
	tcase_add_test(t, hostile_name_comes_out_clean);
	suite_add_tcase(s, t);
	t = tcase_create("an error that quotes users is one clean line");
	tcase_add_test(t, error_is_one_clean_line);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
