/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way back of a step of many threads goes on beside the loop, and ends, is stopped, or fails.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/aside.h"
#include "nodesvc/actuate/internal.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "tests/unit/levers_of.h"

static struct daemon d;
static struct actuate_ops ops;
static struct actuate a = {.ops = &ops};
static struct step *s;
static struct errbuf err;

/* How many slices the next way back takes, and what comes of it. */
static int slices, result, n_begun, n_through;
static bool stopped;

static int restore(struct actuate *actuate, const struct step_cgroup *cgroup, struct errbuf *why)
{
	(void)actuate, (void)cgroup;
	n_begun++;
	for (int i = 0; i < slices; i++) {
		usleep(5000);
		if (aside_breathe()) {
			stopped = true;
			return err_set(why, -ECANCELED, "stopped");
		}
	}
	n_through++;
	return result < 0 ? err_set(why, result, "no way back") : 0;
}

static void setup(void)
{
	daemon_init(&d);
	log_init(LOG_LEVEL_ERROR);
	ops = (struct actuate_ops){.name = "test", .restore = restore};
	d.actuate = &a;
	levers_of(&d);
	s = jobs_add(d.jobs, 1, 0, 0);
	ck_assert_ptr_nonnull(s);
	slices = result = n_begun = n_through = 0;
	stopped = false;
}

static void teardown(void)
{
	jobs_done(d.jobs);
	free(d.levers);
}

START_TEST(a_short_one_is_through_at_once)
{
	ck_assert_int_eq(putback_begin(d.levers, s, &err), 0);
	ck_assert_int_eq(n_through, 1);
	ck_assert_ptr_null(s->back);
	result = -EIO;
	ck_assert_int_eq(putback_begin(d.levers, s, &err), -EIO);
	ck_assert_str_eq(err.text, "no way back");
	ck_assert_ptr_null(s->back);
}
END_TEST

START_TEST(a_long_one_goes_on_until_it_is_through)
{
	int n = 0;

	slices = 4;
	ck_assert_int_eq(putback_begin(d.levers, s, &err), 1);
	ck_assert_int_eq(n_through, 0);
	for (; s->back; n++) {
		ck_assert_int_le(n, slices);
		putback_go_on(d.levers, s);
	}
	ck_assert_int_eq(n_begun, 1);
	ck_assert_int_eq(n_through, 1);
	ck_assert_str_eq(health_last_error(), "");
	putback_go_on(d.levers, s); /* none: nothing */
}
END_TEST

START_TEST(what_fails_at_last_is_told)
{
	slices = 2;
	result = -EIO;
	ck_assert_int_eq(putback_begin(d.levers, s, &err), 1);
	while (s->back)
		putback_go_on(d.levers, s);
	ck_assert_ptr_nonnull(strstr(health_last_error(), "no way back"));
}
END_TEST

START_TEST(one_is_stopped_before_another_begins_and_with_its_step)
{
	slices = 100;
	ck_assert_int_eq(putback_begin(d.levers, s, &err), 1);
	slices = 0;
	ck_assert_int_eq(putback_begin(d.levers, s, &err), 0);
	ck_assert(stopped);
	ck_assert_int_eq(n_begun, 2);
	ck_assert_int_eq(n_through, 1);
	stopped = false;
	slices = 100;
	ck_assert_int_eq(putback_begin(d.levers, s, &err), 1);
	jobs_remove(d.jobs, s);
	ck_assert(stopped);
	ck_assert_int_eq(n_through, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("putback");
	TCase *t = tcase_create("the way back");
	SRunner *r = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_short_one_is_through_at_once);
	tcase_add_test(t, a_long_one_goes_on_until_it_is_through);
	tcase_add_test(t, what_fails_at_last_is_told);
	tcase_add_test(t, one_is_stopped_before_another_begins_and_with_its_step);
	suite_add_tcase(suite, t);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
