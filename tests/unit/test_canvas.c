/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cells that `colocctl top` writes its page into, whatever users' texts hold. */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/ctl/top.h"

static void setup(void)
{
	ck_assert_ptr_nonnull(setlocale(LC_ALL, "C.UTF-8"));
}

/* @text in the first @room of ten cells. */
static const char *cell_line(int room, const char *text)
{
	static char buf[256];
	struct canvas *c = canvas_create(1, 10);
	FILE *f = fmemopen(memset(buf, 0, sizeof(buf)), sizeof(buf), "w");

	canvas_put(c, 0, 0, room, LOOK_PLAIN, text);
	ck_assert_int_eq(canvas_print(c, f), 0);
	fclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	free(c);
	return buf;
}

START_TEST(text_is_cut_at_its_room)
{
	ck_assert_str_eq(cell_line(10, "0123456789"), "0123456789");
	ck_assert_str_eq(cell_line(10, "0123456789a"), "012345678+");
	ck_assert_str_eq(cell_line(99, "0123456789a"), "012345678+");
	ck_assert_str_eq(cell_line(1, "ab"), "+");
	ck_assert_str_eq(cell_line(0, "ab"), "");
	ck_assert_str_eq(cell_line(4, "東京都"), "東+");
	ck_assert_str_eq(cell_line(5, "東京都"), "東京+");
	ck_assert_str_eq(cell_line(6, "東京都"), "東京都");
}
END_TEST

START_TEST(what_cannot_be_shown_becomes_a_mark)
{
	ck_assert_str_eq(cell_line(10, "a\tb\033c\x7f"), "a?b?c?");
	ck_assert_str_eq(cell_line(10, "a\xff\xc3"), "a??");
	/* A right-to-left override, a zero-width space: they would show another name. */
	ck_assert_str_eq(cell_line(10, "a\xe2\x80\xae"
				       "b\xe2\x80\x8b"
				       "c"),
		"a?b?c");
	/* What combines stays with its letter. */
	ck_assert_str_eq(cell_line(1, "e\xcc\x81"), "e\xcc\x81");
	ck_assert_int_eq(canvas_width("e\xcc\x81"), 1);
	setlocale(LC_ALL, "C");
	ck_assert_str_eq(cell_line(10, "a\xc3\xa9"), "a??");
}
END_TEST

START_TEST(nothing_is_drawn_outside)
{
	struct canvas *c = canvas_create(2, 3);

	ck_assert_int_eq(canvas_put(c, 2, 0, 3, LOOK_PLAIN, "x"), 0);
	ck_assert_int_eq(canvas_put(c, -1, 0, 3, LOOK_PLAIN, "x"), 0);
	ck_assert_int_eq(canvas_put(c, 0, 3, 3, LOOK_PLAIN, "x"), 3);
	ck_assert_int_eq(canvas_put(c, 0, -1, 3, LOOK_PLAIN, "x"), -1);
	ck_assert_int_eq(canvas_put(c, 1, 2, 3, LOOK_BOLD, "x"), 3);
	ck_assert_int_eq(canvas_at(c, 1, 2)->look, LOOK_BOLD);
	free(c);
	c = canvas_create(-3, 5);
	ck_assert_int_eq(c->rows, 0);
	free(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("canvas");
	SRunner *sr = srunner_create(s);
	TCase *tc = tcase_create("users' texts do no harm");
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, text_is_cut_at_its_room);
	tcase_add_test(tc, what_cannot_be_shown_becomes_a_mark);
	tcase_add_test(tc, nothing_is_drawn_outside);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
