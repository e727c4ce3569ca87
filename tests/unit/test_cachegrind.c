/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/counters/cachegrind.h"
#include "nodesvc/counters/profile_run.h"

#define HEAD                                                                                       \
	"desc: I1 cache:         32768 B, 64 B, 8-way associative\n"                               \
	"desc: D1 cache:         49152 B, 64 B, 12-way associative\n"                              \
	"desc: LL cache:         1048576 B, 64 B, 16-way associative\n"                            \
	"cmd: ./stencil --work=3\n"
#define EVENTS "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw \n"
#define BODY   "fl=stencil.c\nfn=sweep\n14 100 1 1 50 6 5 20 3 2\n"

static struct cachegrind_counts counts;
static struct errbuf err;

static int parse(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	int rc;

	ck_assert_ptr_nonnull(f);
	counts = (struct cachegrind_counts){.loads = 1};
	err.text[0] = '\0';
	rc = cachegrind_parse(f, "out.1", &counts, &err);
	fclose(f);
	return rc;
}

START_TEST(totals_come_from_the_summary)
{
	ck_assert_int_eq(parse(HEAD EVENTS BODY "summary: 1000 11 7 500 60 5 200 30 2 \n"), 0);
	ck_assert_uint_eq(counts.instructions, 1000);
	ck_assert_uint_eq(counts.loads, 501); /* added to what was there */
	ck_assert_uint_eq(counts.llc_refs, 11 + 60 + 30);
	ck_assert_uint_eq(counts.llc_misses, 7 + 5 + 2);
	ck_assert_uint_eq(counts.ll_bytes, 1048576);
}
END_TEST

START_TEST(columns_are_found_by_name)
{
	ck_assert_int_eq(parse(HEAD "events: Dr Bc D1mr DLmr Dw D1mw DLmw Ir I1mr ILmr\n"
				    "summary: 5 999 4 3 9 2 1 8 0 0\n"),
		0);
	ck_assert_uint_eq(counts.instructions, 8);
	ck_assert_uint_eq(counts.loads, 6);
	ck_assert_uint_eq(counts.llc_refs, 6);
	ck_assert_uint_eq(counts.llc_misses, 4);
}
END_TEST

static const struct {
	const char *text, *error;
} bad[] = {
	{"\n", "out.1:1: ends without 'summary:'"},
	{HEAD EVENTS BODY, "out.1:8: ends without 'summary:'"},
	{HEAD "summary: 1 2 3\n", "out.1:5: 'summary:' before 'events:'"},
	{"events: Ir\nsummary: 5\n", "out.1:1: no event 'I1mr'"},
	{EVENTS "summary: 1 2 3 4 5 6 7 8\n", "out.1:2: 8 counts for 9 events"},
	{EVENTS "summary: 1 2 3 4 5 6 7 8 9 10\n", "out.1:2: 10 counts for 9 events"},
	{EVENTS "summary: 1 2 3 x 5 6 7 8 9\n", "out.1:2: 'x' is not a count"},
	{EVENTS "summary: 1 2 3 -4 5 6 7 8 9\n", "out.1:2: '-4' is not a count"},
	{EVENTS "summary: 1 2 3 99999999999999999999999 5 6 7 8 9\n", "is not a count"},
	{EVENTS "summary: 1 2 3 4 5 6 7 8 9\n", "no 'desc: LL cache:'"},
	{EVENTS EVENTS, "out.1:2: a second 'events:'"},
	{EVENTS "summary: 1 2 3 4 5 6 7 8 9\nsummary: 1 2 3 4 5 6 7 8 9\n",
		"out.1:3: a second 'summary:'"},
	{HEAD EVENTS "summary: 1 2 3 18446744073709551615 5 6 7 8 9\n",
		"out.1: counts add up to more than 64 bits hold"},
	{HEAD EVENTS "summary: 1 18446744073709551615 3 4 5 6 7 8 9\n",
		"out.1: counts add up to more than 64 bits hold"},
};

START_TEST(what_is_not_understood_is_refused)
{
	ck_assert_int_eq(parse(bad[_i].text), -EPROTO);
	ck_assert_msg(strstr(err.text, bad[_i].error), "%s", err.text);
	ck_assert_uint_eq(counts.loads, 1);
}
END_TEST

START_TEST(empty_directory_is_refused)
{
	char dir[] = "/tmp/coloc-cachegrind.XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(cachegrind_sum(dir, &counts, &err), -EPROTO);
	ck_assert_ptr_nonnull(strstr(err.text, "no output"));
	cachegrind_clean(dir);
	ck_assert_int_eq(cachegrind_sum(dir, &counts, &err), -ENOENT);
}
END_TEST

START_TEST(ll_is_rounded_down_to_a_power_of_two_of_sets)
{
	ck_assert_uint_eq(profile_ll_round(1 << 20, 16, 64), 1 << 20);
	ck_assert_uint_eq(profile_ll_round((2 << 20) - 1, 16, 64), 1 << 20);
	ck_assert_uint_eq(profile_ll_round(UINT64_C(110100480), 15, 64), UINT64_C(62914560));
	ck_assert_uint_eq(profile_ll_round(1024, 16, 64), 1024);
	ck_assert_uint_eq(profile_ll_round(1023, 16, 64), 0);
	ck_assert_uint_eq(profile_ll_round(0, 16, 64), 0);
	ck_assert_uint_eq(profile_ll_round(1 << 20, 0, 64), 0);
	ck_assert_uint_eq(profile_ll_round(1 << 20, 16, 60), 0);
	ck_assert_uint_eq(profile_ll_round(1 << 20, 16, -64), 0);
}
END_TEST

/* 0: this process, which runs; 1: one that has ended and nobody waited for; 2: nobody's number. */
START_TEST(what_the_command_left_behind_is_waited_for)
{
	char dir[] = "/tmp/coloc-cachegrind.XXXXXX", path[80];
	pid_t child = _i == 1 ? fork() : 0;
	int pid = _i == 0 ? (int)getpid() : _i == 1 ? (int)child : 0x7fffff00;
	siginfo_t info;
	FILE *f;

	if (_i == 1 && child == 0)
		_exit(0);
	if (_i == 1)
		ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/cachegrind.log.%d", dir, pid);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fclose(f);
	snprintf(path, sizeof(path), "process %d behind", pid);
	err.text[0] = '\0';
	ck_assert_int_eq(cachegrind_settle(dir, 40, &err), _i == 0 ? -EBUSY : 0);
	ck_assert_msg((strstr(err.text, path) != NULL) == (_i == 0), "%s", err.text);
	cachegrind_clean(dir);
	if (_i == 1)
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cachegrind");
	TCase *good = tcase_create("counts are the summary's, by the events' names"),
	      *refuse = tcase_create("a file not understood is refused with its line"),
	      *ll = tcase_create("the LL size is one that cachegrind takes");
	SRunner *r;
	int failed;

	tcase_add_test(good, totals_come_from_the_summary);
	tcase_add_test(good, columns_are_found_by_name);
	suite_add_tcase(s, good);
	tcase_add_loop_test(
		refuse, what_is_not_understood_is_refused, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(refuse, empty_directory_is_refused);
	tcase_add_loop_test(refuse, what_the_command_left_behind_is_waited_for, 0, 3);
	suite_add_tcase(s, refuse);
	tcase_add_test(ll, ll_is_rounded_down_to_a_power_of_two_of_sets);
	suite_add_tcase(s, ll);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
