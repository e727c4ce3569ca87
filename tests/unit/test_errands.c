/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errands: each in a process of its own that ends at its deadline, one at a time, asked again where
 * it is to be.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/base/errands.h"
#include "nodesvc/base/loop.h"

static struct loop *loop;
static struct errands *errands;
static struct errbuf err;
static int n_done, last_status, wanted;
static uint32_t last_job;
static char last_said[600];
static bool again;

static bool begin(void *arg, const struct errand *e)
{
	(void)arg;
	return e->job_id != 99;
}

/* What it does is its number's: 1 answers, 2 hangs, 3 talks without end, 4 fails. */
static int run(void *arg, const struct errand *e, int out)
{
	(void)arg;
	if (e->job_id == 1 && write(out, "yes\n", 4) != 4)
		return 1;
	while (e->job_id == 2)
		pause();
	while (e->job_id == 3)
		if (write(out, "blah", 4) < 0)
			return 1;
	return e->job_id == 4 ? 7 : 0;
}

static void done(void *arg, const struct errand *e, int status, const char *said)
{
	(void)arg;
	n_done++;
	last_job = e->job_id;
	last_status = status;
	strcpy(last_said, said);
	if (again) {
		again = false;
		errands_again(errands, e);
	}
	if (n_done == wanted)
		loop_stop(loop);
}

static const struct errands_ops ops = {
	.max = 2, .deadline_s = 1, .wait_max_s = 1, .begin = begin, .run = run, .done = done};

static void setup(void)
{
	n_done = 0;
	again = false;
	ck_assert_int_eq(loop_create(&loop, &err), 0);
	ck_assert_int_eq(errands_open(&errands, loop, &ops, NULL, &err), 0);
}

static void teardown(void)
{
	errands_close(errands);
	loop_free(loop);
}

static void run_until(int n)
{
	wanted = n;
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_int_eq(n_done, n);
}

START_TEST(what_it_says_is_told)
{
	ck_assert(errands_add(errands, 1, "", 0));
	ck_assert(errands_has(errands, 1));
	run_until(1);
	ck_assert_str_eq(last_said, "yes\n");
	ck_assert(WIFEXITED(last_status) && WEXITSTATUS(last_status) == 0);
	ck_assert(!errands_has(errands, 1));
}
END_TEST

START_TEST(its_status_is_told)
{
	ck_assert(errands_add(errands, 4, "", 0));
	run_until(1);
	ck_assert(WIFEXITED(last_status) && WEXITSTATUS(last_status) == 7);
}
END_TEST

START_TEST(one_that_hangs_ends_at_its_deadline)
{
	ck_assert(errands_add(errands, 2, "", 0));
	run_until(1);
	ck_assert(WIFSIGNALED(last_status) && WTERMSIG(last_status) == SIGALRM);
}
END_TEST

START_TEST(one_that_talks_without_end_is_ended)
{
	ck_assert(errands_add(errands, 3, "", 0));
	run_until(1);
	ck_assert(WIFSIGNALED(last_status));
	ck_assert_int_lt((int)strlen(last_said), 600);
}
END_TEST

START_TEST(one_at_a_time_and_again_where_it_is_to_be)
{
	again = true;
	ck_assert(errands_add(errands, 1, "", 0));
	ck_assert(errands_add(errands, 4, "", 0));
	ck_assert(!errands_add(errands, 5, "", 0)); /* full */
	run_until(2);
	ck_assert_int_eq((int)last_job, 4);
	run_until(3);
	ck_assert_int_eq((int)last_job, 1);
}
END_TEST

START_TEST(one_that_is_not_wanted_any_more_is_forgotten)
{
	ck_assert(errands_add(errands, 99, "", 0));
	ck_assert(errands_add(errands, 1, "n", 0));
	run_until(1);
	ck_assert_int_eq((int)last_job, 1);
	ck_assert(!errands_has(errands, 99));
}
END_TEST

START_TEST(one_node_of_a_job_is_taken_out)
{
	ck_assert(errands_add(errands, 1, "n1", 60));
	ck_assert(errands_add(errands, 1, "n2", 60));
	errands_drop(errands, 1, "n1");
	ck_assert_str_eq(errands_first(errands)->node, "n2");
	errands_drop(errands, 1, "n2");
	ck_assert_ptr_null(errands_first(errands));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errands");
	TCase *t = tcase_create("errands");
	SRunner *r = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_it_says_is_told);
	tcase_add_test(t, its_status_is_told);
	tcase_add_test(t, one_that_hangs_ends_at_its_deadline);
	tcase_add_test(t, one_that_talks_without_end_is_ended);
	tcase_add_test(t, one_at_a_time_and_again_where_it_is_to_be);
	tcase_add_test(t, one_that_is_not_wanted_any_more_is_forgotten);
	tcase_add_test(t, one_node_of_a_job_is_taken_out);
	suite_add_tcase(suite, t);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
