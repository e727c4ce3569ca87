/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/counters/counters.h"
#include "nodesvc/counters/cover.h"
#include "nodesvc/counters/probe.h"

START_TEST(report_has_a_line_with_a_reason_for_each_source_tried)
{
	struct counters_choice c;
	const char *papi, *perf;

	counters_choose(&c, "papi,perf", NULL);
	ck_assert_ptr_nonnull(c.ops);
	papi = strstr(c.report, "papi: ");
	ck_assert_ptr_eq(papi, c.report);
	ck_assert_int_gt((int)strcspn(papi + 6, "\n"), 10);
	if (c.ops == &counters_papi)
		return; /* a machine with a PMU: nothing else is tried */
	perf = strstr(c.report, "\nperf: ");
	ck_assert_ptr_nonnull(perf);
	ck_assert_int_gt((int)strcspn(perf + 7, "\n"), 10);
	if (c.ops == &counters_none)
		ck_assert_uint_eq(c.provides, 0);
	else
		ck_assert_uint_ne(c.provides, 0);
}
END_TEST

START_TEST(unknown_source_is_named)
{
	struct counters_choice c;

	counters_choose(&c, "tarot, none", NULL);
	ck_assert_ptr_eq(c.ops, &counters_none);
	ck_assert_ptr_nonnull(strstr(c.report, "tarot: no such source"));
	ck_assert_ptr_nonnull(strstr(c.report, "none: "));
}
END_TEST

START_TEST(empty_list_counts_nothing)
{
	struct counters_choice c;

	counters_choose(&c, "", NULL);
	ck_assert_ptr_eq(c.ops, &counters_none);
	ck_assert_str_eq(c.report, "");
}
END_TEST

START_TEST(none_reads_nothing_valid)
{
	pid_t self = getpid();
	struct counter_target t = {&self, 1, NULL};
	struct counters *c = NULL;
	struct sample s;

	ck_assert_int_eq(counters_none.open(&c, &t, NULL), 0);
	ck_assert_int_eq(counters_none.read(c, &t, &s, NULL), 0);
	ck_assert_uint_eq(s.valid, 0);
	ck_assert_int_gt(s.t_ns, 0);
	counters_none.close(c);
	counters_none.close(NULL);
}
END_TEST

START_TEST(open_without_pmu_refuses_with_a_reason)
{
	static const struct counters_ops *const ops[] = {&counters_papi, &counters_perf};
	pid_t self = getpid();
	struct counter_target t = {&self, 1, NULL};
	struct counters *c = NULL;
	struct errbuf err = {""};
	uint32_t provides;

	if (!ops[_i]->probe(&provides, NULL))
		return; /* it works here */
	ck_assert_int_lt(ops[_i]->open(&c, &t, &err), 0);
	ck_assert_ptr_null(c);
	ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(zero_and_the_callers_own_count_are_implausible)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		ck_assert(!probe_is_plausible(i, 0));
	/* What a process that only waits for the child would count. */
	ck_assert(!probe_is_plausible(COUNTER_INSTRUCTIONS, 60000));
	ck_assert(!probe_is_plausible(COUNTER_LOADS, 15000));
	ck_assert(probe_is_plausible(COUNTER_INSTRUCTIONS, 6 * PROBE_TURNS));
	ck_assert(probe_is_plausible(COUNTER_LOADS, PROBE_TURNS + 100));
	ck_assert(!probe_is_plausible(COUNTER_INSTRUCTIONS, UINT64_MAX));
}
END_TEST

START_TEST(child_works_and_is_reaped)
{
	struct probe_child c;

	ck_assert_int_eq(probe_child_start(&c, NULL), 0);
	ck_assert_int_eq(probe_child_go(&c, NULL), 0);
	probe_child_finish(&c);
	ck_assert_int_eq(probe_child_start(&c, NULL), 0);
	probe_child_finish(&c); /* never let go */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(descendants_are_not_opened_again)
{
	struct cover c;
	int hold[2];
	pid_t child;
	char b;

	ck_assert_int_eq(pipe(hold), 0);
	cover_init(&c, _i == 1);
	ck_assert_int_eq(cover_take(&c, getpid()), 1);
	cover_seal(&c);
	child = fork();
	if (!child) {
		close(hold[1]);
		_exit(read(hold[0], &b, 1) == 0 ? 0 : 1);
	}
	close(hold[0]);
	ck_assert_int_eq(cover_take(&c, child), _i == 1 ? 0 : 1);
	ck_assert_int_eq(cover_take(&c, child), 0);
	ck_assert_int_eq(cover_take(&c, getpid()), 0);
	close(hold[1]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_eq(cover_take(&c, 0x3fffffff), 0); /* nobody */
	cover_done(&c);
}
END_TEST

START_TEST(threads_present_at_open_are_all_taken)
{
	struct cover c;

	cover_init(&c, true);
	ck_assert_int_eq(cover_take(&c, getppid()), 1);
	ck_assert_int_eq(cover_take(&c, getpid()), 1); /* a child of the other */
	cover_seal(&c);
	ck_assert_int_eq(cover_take(&c, getpid()), 0);
	cover_done(&c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("choose");
	TCase *choose = tcase_create("the report names each source and why"),
	      *none = tcase_create("a node without counters still has a backend"),
	      *probe = tcase_create("a counter is believed only for a child's known work"),
	      *cover = tcase_create("inheriting counters are not opened twice");
	SRunner *r;
	int failed;

	tcase_add_test(choose, report_has_a_line_with_a_reason_for_each_source_tried);
	tcase_add_test(choose, unknown_source_is_named);
	tcase_add_loop_test(choose, open_without_pmu_refuses_with_a_reason, 0, 2);
	suite_add_tcase(s, choose);
	tcase_add_test(none, empty_list_counts_nothing);
	tcase_add_test(none, none_reads_nothing_valid);
	suite_add_tcase(s, none);
	tcase_add_test(probe, zero_and_the_callers_own_count_are_implausible);
	tcase_add_test(probe, child_works_and_is_reaped);
	suite_add_tcase(s, probe);
	tcase_add_loop_test(cover, descendants_are_not_opened_again, 0, 2);
	tcase_add_test(cover, threads_present_at_open_are_all_taken);
	suite_add_tcase(s, cover);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
