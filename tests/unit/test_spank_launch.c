/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include "common/launch_names.h"
#include "spank/late.h"
#include "spank/launch.h"

/* Steps nest: what one leaves in the environment is what the next finds there. */
static int env_get(void *env, const char *name, char *buf, int size)
{
	const char *v = getenv(name);

	(void)env;
	if (!v)
		return -ENOENT;
	return snprintf(buf, (size_t)size, "%s", v) < size ? 0 : -ENOSPC;
}

static int env_set(void *env, const char *name, const char *value)
{
	(void)env;
	return setenv(name, value, 1);
}

static int env_unset(void *env, const char *name)
{
	(void)env;
	return unsetenv(name);
}

static const struct launch_io io = {NULL, env_get, env_set, env_unset};
static struct msg reply, start;

static void setup(void)
{
	clearenv();
	msg_init(&reply, "step_ok");
	msg_init(&start, "step_start");
}

static void apply_now(void)
{
	launch_apply(&io, &reply);
	msg_init(&reply, "step_ok");
}

/* NULL-safe. */
static const char *value_of(const char *name)
{
	return getenv(name) ? getenv(name) : "(none)";
}

START_TEST(answers_variables_are_set_and_named)
{
	msg_put(&reply, "env", "GOMP_SPINCOUNT=1000");
	msg_put(&reply, "env", "OMP_NUM_THREADS=2");
	apply_now();
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "1000");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	ck_assert_str_eq(value_of(LAUNCH_ENV_NAMES), "GOMP_SPINCOUNT,OMP_NUM_THREADS");
}
END_TEST

START_TEST(no_answer_leaves_no_trace)
{
	launch_apply(&io, NULL);
	ck_assert_str_eq(value_of(LAUNCH_ENV_NAMES), "(none)");
	ck_assert_str_eq(value_of(LAUNCH_ENV_SUMS), "(none)");
}
END_TEST

START_TEST(users_own_is_reported_and_kept)
{
	setenv("OMP_WAIT_POLICY", "active", 1);
	setenv("KMP_BLOCKTIME", "", 1);
	launch_report(&io, &start);
	ck_assert_str_eq(msg_get(&start, "set"), "OMP_WAIT_POLICY");
	ck_assert_str_eq(msg_get_next(&start, "set", msg_get(&start, "set")), "KMP_BLOCKTIME");
	msg_put(&reply, "env", "OMP_WAIT_POLICY=passive");
	msg_put(&reply, "env", "KMP_BLOCKTIME=0");
	apply_now();
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "active");
	ck_assert_str_eq(value_of("KMP_BLOCKTIME"), "");
	ck_assert_str_eq(value_of(LAUNCH_ENV_NAMES), "(none)");
}
END_TEST

START_TEST(to_bind_nothing_is_no_binding)
{
	setenv("OMP_PROC_BIND", _i ? "FALSE" : "false", 1);
	launch_report(&io, &start);
	ck_assert_ptr_null(msg_get(&start, "set"));
	setenv("OMP_PROC_BIND", _i ? "falsely" : "true", 1);
	launch_report(&io, &start);
	ck_assert_str_eq(msg_get(&start, "set"), "OMP_PROC_BIND");
}
END_TEST

START_TEST(users_own_of_any_length_and_unknown_name_is_kept)
{
	char longer[4096];

	memset(longer, '1', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	setenv("OMP_NUM_THREADS", longer, 1);
	setenv("UNKNOWN_RUNTIME", "x", 1);
	msg_put(&reply, "env", "OMP_NUM_THREADS=2");
	msg_put(&reply, "env", "UNKNOWN_RUNTIME=y");
	apply_now();
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), longer);
	ck_assert_str_eq(value_of("UNKNOWN_RUNTIME"), "x");
	launch_report(&io, &start);
	ck_assert_str_eq(msg_get(&start, "set"), "OMP_NUM_THREADS");
}
END_TEST

START_TEST(inherited_ours_is_not_the_users)
{
	msg_put(&reply, "env", "GOMP_SPINCOUNT=1000");
	apply_now();
	launch_report(&io, &start);
	ck_assert_ptr_null(msg_get(&start, "set"));
}
END_TEST

START_TEST(inherited_ours_is_replaced_or_taken_out)
{
	msg_put(&reply, "env", "GOMP_SPINCOUNT=1000");
	msg_put(&reply, "env", "OMP_WAIT_POLICY=passive");
	msg_put(&reply, "env", "NEW_RUNTIME_SPINS=no");
	apply_now();
	msg_put(&reply, "env", "GOMP_SPINCOUNT=7");
	apply_now();
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "7");
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "(none)");
	ck_assert_str_eq(value_of("NEW_RUNTIME_SPINS"), "(none)");
	ck_assert_str_eq(value_of(LAUNCH_ENV_NAMES), "GOMP_SPINCOUNT");
	launch_apply(&io, NULL);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "(none)");
	ck_assert_str_eq(value_of(LAUNCH_ENV_NAMES), "(none)");
}
END_TEST

START_TEST(inherited_ours_that_the_user_changed_is_his)
{
	msg_put(&reply, "env", "GOMP_SPINCOUNT=1000");
	msg_put(&reply, "env", "OMP_NUM_THREADS=2");
	apply_now();
	setenv("OMP_NUM_THREADS", "4", 1);
	launch_report(&io, &start);
	ck_assert_str_eq(msg_get(&start, "set"), "OMP_NUM_THREADS");
	launch_apply(&io, NULL);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "4");
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "(none)");
}
END_TEST

static const char *const marks[][2] = {{"OMP_NUM_THREADS", ""}, {"OMP_NUM_THREADS", "zzzzzzzz"},
	{"OMP_NUM_THREADS", "1,2,3"}, {",,,", "00000000,00000000"}, {",OMP_NUM_THREADS", "x"}};

START_TEST(marks_that_were_tampered_with_take_nothing)
{
	setenv("OMP_NUM_THREADS", "4", 1);
	setenv(LAUNCH_ENV_NAMES, marks[_i][0], 1);
	setenv(LAUNCH_ENV_SUMS, marks[_i][1], 1);
	launch_report(&io, &start);
	ck_assert_str_eq(msg_get(&start, "set"), "OMP_NUM_THREADS");
	launch_apply(&io, NULL);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "4");
	ck_assert_str_eq(value_of(LAUNCH_ENV_NAMES), "(none)");
}
END_TEST

START_TEST(malformed_and_repeated_records_are_passed_over)
{
	msg_put(&reply, "env", "=1");
	msg_put(&reply, "env", "NOVALUE");
	msg_put(&reply, "env", "A,B=1");
	msg_put(&reply, "env", "GOMP_SPINCOUNT=1");
	msg_put(&reply, "env", "GOMP_SPINCOUNT=2");
	apply_now();
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "1");
	ck_assert_str_eq(value_of(LAUNCH_ENV_NAMES), "GOMP_SPINCOUNT");
}
END_TEST

START_TEST(more_than_the_lists_hold_is_not_set)
{
	char record[64];

	for (int i = 0; i < 500; i++) {
		snprintf(record, sizeof(record), "RUNTIME_VARIABLE_%03d=1", i);
		msg_put(&reply, "env", record);
	}
	apply_now();
	ck_assert_str_eq(value_of("RUNTIME_VARIABLE_000"), "1");
	ck_assert_str_eq(value_of("RUNTIME_VARIABLE_499"), "(none)");
	launch_apply(&io, NULL);
	ck_assert_str_eq(value_of("RUNTIME_VARIABLE_000"), "(none)");
}
END_TEST

START_TEST(another_value_for_what_is_ours_is_ours)
{
	msg_put(&reply, "env", "GOMP_SPINCOUNT=1000");
	msg_put(&reply, "env", "OMP_NUM_THREADS=8");
	msg_put(&reply, "env", "MKL_NUM_THREADS=8");
	apply_now();
	launch_renew(&io, "OMP_NUM_THREADS=2");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "1000");
	ck_assert_str_eq(value_of("MKL_NUM_THREADS"), "8");
	/* For the steps inside, too. */
	launch_report(&io, &start);
	ck_assert_ptr_null(msg_get(&start, "set"));
	launch_apply(&io, NULL);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "(none)");
	ck_assert_str_eq(value_of("MKL_NUM_THREADS"), "(none)");
}
END_TEST

/* A task prolog of the site's, or the user's own setting. */
START_TEST(what_is_not_ours_gets_no_other_value)
{
	setenv("MKL_NUM_THREADS", "3", 1);
	msg_put(&reply, "env", "OMP_NUM_THREADS=8");
	apply_now();
	setenv("OMP_NUM_THREADS", "5", 1);
	launch_renew(&io, "OMP_NUM_THREADS=2");
	launch_renew(&io, "MKL_NUM_THREADS=2");
	launch_renew(&io, "BLIS_NUM_THREADS=2");
	launch_renew(&io, "=2");
	launch_renew(&io, "OMP_NUM_THREADS");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "5");
	ck_assert_str_eq(value_of("MKL_NUM_THREADS"), "3");
	ck_assert_str_eq(value_of("BLIS_NUM_THREADS"), "(none)");
}
END_TEST

/* What a task that was forked before puts in: 0, its environment has @threads. */
static int task_has(const int go, const char *threads)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		return 2;
	late_apply(&io);
	return strcmp(value_of("OMP_NUM_THREADS"), threads) != 0 ||
	       strcmp(value_of("OPENBLAS_NUM_THREADS"), threads) != 0;
}

START_TEST(who_has_forked_already_gets_it_too)
{
	static struct msg long_one;
	char longer[1100];
	int go[2], status;
	pid_t task[2];

	msg_put(&reply, "env", "OMP_NUM_THREADS=8");
	msg_put(&reply, "env", "OPENBLAS_NUM_THREADS=8");
	apply_now();
	late_apply(&io); /* never opened */
	late_open();
	ck_assert_int_eq(pipe(go), 0);
	for (int i = 0; i < 2; i++) {
		task[i] = fork();
		ck_assert_int_ge(task[i], 0);
		if (task[i] == 0)
			_exit(task_has(go[0], _i ? "8" : "2"));
	}
	msg_init(&reply, "task_ok");
	late_put(&reply);
	msg_put(&reply, "env", "OMP_NUM_THREADS=2");
	msg_put(&reply, "env", "OPENBLAS_NUM_THREADS=2");
	late_put(&reply);
	if (_i) { /* none is put in where not all are */
		memset(longer, 'x', sizeof(longer) - 1);
		longer[sizeof(longer) - 1] = '\0';
		msg_init(&long_one, "task_ok");
		msg_put(&long_one, "env", "OMP_NUM_THREADS=2");
		msg_put(&long_one, "env", longer);
		late_put(&long_one);
	}
	ck_assert_int_eq(write(go[1], "go", 2), 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(waitpid(task[i], &status, 0), task[i]);
		ck_assert_int_eq(status, 0);
	}
	/* slurmstepd's own is as it was. */
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "8");
	close(go[0]);
	close(go[1]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spank launch");
	TCase *t = tcase_create("the runtimes' variables: ours come and go, the user's stay");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, answers_variables_are_set_and_named);
	tcase_add_test(t, no_answer_leaves_no_trace);
	tcase_add_test(t, users_own_is_reported_and_kept);
	tcase_add_loop_test(t, to_bind_nothing_is_no_binding, 0, 2);
	tcase_add_test(t, users_own_of_any_length_and_unknown_name_is_kept);
	tcase_add_test(t, inherited_ours_is_not_the_users);
	tcase_add_test(t, inherited_ours_is_replaced_or_taken_out);
	tcase_add_test(t, inherited_ours_that_the_user_changed_is_his);
	tcase_add_loop_test(t, marks_that_were_tampered_with_take_nothing, 0,
		(int)(sizeof(marks) / sizeof(marks[0])));
	tcase_add_test(t, malformed_and_repeated_records_are_passed_over);
	tcase_add_test(t, more_than_the_lists_hold_is_not_set);
	tcase_add_test(t, another_value_for_what_is_ours_is_ours);
	tcase_add_test(t, what_is_not_ours_gets_no_other_value);
	tcase_add_loop_test(t, who_has_forked_already_gets_it_too, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
