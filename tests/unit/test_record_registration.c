/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdio.h>

#include "tests/unit/record_db.h"

START_TEST(registration_outlives_the_connection)
{
	struct registration a = {
		.job_id = 3, .row_id = 9, .start_ns = 20, .message = "x=1", .message_len = 3};
	struct registration b = {.job_id = 2,
		.step_id = 0xfffffffb,
		.start_ns = 10,
		.pid = 77,
		.tasks = "0:77",
		.cgroup = "sys/fs/cgroup/job_2",
		.inode = UINT64_MAX,
		.message = "",
		.message_len = 0};

	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_msg(record_registration_put(record, &b, &err) == 0, "%s", err.text);
	record_close(record);
	ck_assert_int_eq(record_open(&record, tmpdir_path(&tmp, "coloc.db"), false, &err), 0);
	ck_assert_str_eq(record_db_registrations(),
		"2.4294967291 row 0 pid 77 tasks 0:77 message  in sys/fs/cgroup/job_2 "
		"18446744073709551615; 3.0 row 9 pid 0 tasks - message x=1; ");
	a.tasks = "0:5,1:6";
	a.pid = 5;
	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_rm(record, 2, 0xfffffffb, 0, &err), 0);
	ck_assert_int_eq(record_registration_rm(record, 2, 0, 0, &err), 0);
	ck_assert_str_eq(record_db_registrations(), "3.0 row 9 pid 5 tasks 0:5,1:6 message x=1; ");
}
END_TEST

static int keep_saved(const struct registration *reg, void *arg)
{
	sprintf(arg, "%.*s at %lld", (int)reg->figures_len,
		reg->figures ? (const char *)reg->figures : "", (long long)reg->figures_ns);
	return 0;
}

START_TEST(figures_of_a_registration_outlast_its_renewal)
{
	struct registration a = {.job_id = 3, .row_id = 9, .start_ns = 20, .message = ""};
	char saved[64];

	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_list(record, keep_saved, saved, &err), 0);
	ck_assert_str_eq(saved, " at 0");
	a.figures = "abc";
	a.figures_len = 3;
	a.figures_ns = 77;
	ck_assert_int_eq(record_registration_figures(record, &a, &err), 0);
	a.pid = 4;
	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_list(record, keep_saved, saved, &err), 0);
	ck_assert_str_eq(saved, "abc at 77");
}
END_TEST

/* Several slurmd on one kernel: a part of the step on each. */
START_TEST(parts_of_a_step_register_apart)
{
	struct registration a = {.job_id = 3, .row_id = 9, .start_ns = 20, .message = ""};
	struct registration b = a;

	b.nodeid = 1;
	b.row_id = 10;
	ck_assert_int_eq(record_registration_put(record, &a, &err), 0);
	ck_assert_int_eq(record_registration_put(record, &b, &err), 0);
	ck_assert_str_eq(record_db_registrations(),
		"3.0 row 9 pid 0 tasks - message ; 3.0 row 10 pid 0 tasks - message ; ");
	ck_assert_int_eq(record_registration_rm(record, 3, 0, 0, &err), 0);
	ck_assert_str_eq(record_db_registrations(), "3.0 row 10 pid 0 tasks - message ; ");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("record_registration");
	TCase *t;

	t = record_db_tcase(s, "registrations wait for the next daemon");
	tcase_add_test(t, registration_outlives_the_connection);
	tcase_add_test(t, parts_of_a_step_register_apart);
	tcase_add_test(t, figures_of_a_registration_outlast_its_renewal);
	return record_db_run(s);
}
