/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/report/acct.h"

static struct acct_format format;
static struct errbuf err;

static void setup(void)
{
	*err.text = '\0';
	setlocale(LC_ALL, "C.UTF-8");
	memset(&format, 0, sizeof(format));
}

/* The columns as "Name:width:r ". */
static const char *columns(void)
{
	static char text[1024];

	*text = '\0';
	for (int i = 0; i < format.n; i++)
		sprintf(text + strlen(text), "%s:%d:%s ", format.column[i].field->name,
			format.column[i].width, format.column[i].right ? "r" : "l");
	return text;
}

static const struct {
	const char *text, *want;
} GOOD[] = {
	{"JobID", "JobID:0:l "},
	{"jobid,STATE", "JobID:0:l State:0:l "},
	{",jobid,,state,", "JobID:0:l State:0:l "},
	{"cores", "Cores:0:r "},
	{"job", "JobID:0:l "},
	{"reb", "Rebinds:0:r "},
	{"coreset", "Coreset:0:l "},
	{"coreseth", "CoresetHistory:0:l "},
	{"jobname%30", "JobName:30:r "},
	{"jobname%-8,cores%-3", "JobName:8:l Cores:3:l "},
};

START_TEST(good_format_parses)
{
	ck_assert_msg(acct_format_parse(GOOD[_i].text, &format, &err) == 0, "%s", err.text);
	ck_assert_str_eq(columns(), GOOD[_i].want);
}
END_TEST

START_TEST(all_is_every_field)
{
	int n = 0;

	while (ACCT_FIELDS[n].name)
		n++;
	ck_assert_int_eq(acct_format_parse("all", &format, &err), 0);
	ck_assert_int_eq(format.n, n);
}
END_TEST

START_TEST(shipped_formats_parse)
{
	ck_assert_int_eq(acct_format_parse(ACCT_FORMAT, &format, &err), 0);
	ck_assert_int_eq(format.n, 9);
	ck_assert_msg(acct_format_parse(ACCT_FORMAT_LONG, &format, &err) == 0, "%s", err.text);
}
END_TEST

static const struct {
	const char *text;
	int rc;
	const char *want;
} BAD[] = {
	{"", -EINVAL, "no field given"},
	{"bogus", -EINVAL, "unknown field 'bogus' (see --helpformat)"},
	{"jobid,%5", -EINVAL, "unknown field '' (see --helpformat)"},
	{"jobidx%5", -EINVAL, "unknown field 'jobidx' (see --helpformat)"},
	{"user%", -EINVAL, "field 'user': bad width '' (1 to 4096)"},
	{"user%-", -EINVAL, "field 'user': bad width '-' (1 to 4096)"},
	{"user%+5", -EINVAL, "field 'user': bad width '+5' (1 to 4096)"},
	{"user%5x,jobid", -EINVAL, "field 'user': bad width '5x' (1 to 4096)"},
	{"user%4097", -EINVAL, "field 'user': bad width '4097' (1 to 4096)"},
	{"all,all,all", -E2BIG, "more than 64 fields"},
};

START_TEST(bad_format_is_refused_by_name)
{
	ck_assert_int_eq(acct_format_parse(BAD[_i].text, &format, &err), BAD[_i].rc);
	ck_assert_str_eq(err.text, BAD[_i].want);
	ck_assert_int_eq(format.n, 0);
}
END_TEST

static const struct {
	const char *text;
	int width;
	const char *want;
} CUT[] = {
	{"abc", 3, "abc"},
	{"abcd", 3, "ab+"},
	{"abcd", 1, "+"},
	{"", 1, ""},
	{"\xc3\xa9\xc3\xa9\xc3\xa9", 3, "\xc3\xa9\xc3\xa9\xc3\xa9"},
	{"\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9+"},
	{"\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2+"},
	{"\xff\xff\xff", 2, "\xff+"},
};

START_TEST(text_is_cut_by_columns)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s", CUT[_i].text);
	acct_cut(buf, CUT[_i].width);
	ck_assert_str_eq(buf, CUT[_i].want);
}
END_TEST

START_TEST(cell_is_blank_where_unknown)
{
	struct json_object *row = json_tokener_parse("{\"id\":null,\"cores\":null}");
	char buf[64];

	ck_assert_int_eq(acct_format_parse("all", &format, &err), 0);
	for (int i = 0; i < format.n; i++)
		ck_assert_str_eq(acct_cell(&format.column[i], row, buf, sizeof(buf)), "");
	json_object_put(row);
}
END_TEST

START_TEST(cell_is_cut_to_its_buffer)
{
	struct json_object *row = json_tokener_parse(
		"{\"name\":\"abcdefgh\",\"coreset_history\":[\"0-1\",\"2-3\",\"4\"]}");
	char buf[6];

	ck_assert_int_eq(acct_format_parse("jobname,coresethistory", &format, &err), 0);
	ck_assert_str_eq(acct_cell(&format.column[0], row, buf, sizeof(buf)), "abcde");
	ck_assert_str_eq(acct_cell(&format.column[1], row, buf, sizeof(buf)), "0-1;2");
	json_object_put(row);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, NULL);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("acct_field");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "a format reads as sacct reads it");
	tcase_add_loop_test(t, good_format_parses, 0, COUNT(GOOD));
	tcase_add_test(t, all_is_every_field);
	tcase_add_test(t, shipped_formats_parse);
	t = tcase(s, "a bad format is refused by name");
	tcase_add_loop_test(t, bad_format_is_refused_by_name, 0, COUNT(BAD));
	t = tcase(s, "a cell is blank where unknown and cut with a plus");
	tcase_add_loop_test(t, text_is_cut_by_columns, 0, COUNT(CUT));
	tcase_add_test(t, cell_is_blank_where_unknown);
	tcase_add_test(t, cell_is_cut_to_its_buffer);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
