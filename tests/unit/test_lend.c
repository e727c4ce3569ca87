/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In which order a donee becomes idle and wider, and narrower and as it was, also where the kernel
 * refuses one of them. The actuator is the test's; tests/live/lend.sh has a true one.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "tests/unit/levers_of.h"

static struct daemon d;
static struct choose choose;
static struct step *s;
static char did[256]; /* "idle 0-1 0 wake " */
static int fails[4];  /* the applies to come: 0 or -errno */
static int n_applies, idle_rc, list_rc, resting;
static struct errbuf err;
static struct plan_job job;
static struct plan plan;

const struct actuate_ops *__wrap_actuate_get_ops(const struct actuate *a);
int __wrap_idle_set(struct actuate *a, const struct step_cgroup *g, struct errbuf *why);
int __wrap_idle_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why);
int __wrap_classes_list(struct actuate *a, const struct step_cgroup *g,
	const struct class_thread *before, int n_before, struct class_thread **ret, int *ret_n,
	struct errbuf *why);

static void note(const char *what)
{
	snprintf(did + strlen(did), sizeof(did) - strlen(did), "%s ", what);
}

static int fake_apply(struct actuate *a, const struct step_cgroup *g, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *why)
{
	int rc = n_applies < 4 ? fails[n_applies] : 0;
	char text[CORESET_STR_MAX];

	(void)a, (void)g;
	n_applies++;
	note(coreset_format(set, text, sizeof(text)));
	if (rc < 0)
		return err_set(why, rc, "the kernel says no");
	*ret = (struct actuate_result){.coreset = *set, .resting = resting};
	return 0;
}

static int fake_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why)
{
	(void)a, (void)g, (void)why;
	note("restore");
	return 0;
}

const struct actuate_ops *__wrap_actuate_get_ops(const struct actuate *a)
{
	static const struct actuate_ops fake = {
		.name = "fake", .apply = fake_apply, .restore = fake_restore};

	(void)a;
	return &fake;
}

int __wrap_idle_set(struct actuate *a, const struct step_cgroup *g, struct errbuf *why)
{
	(void)a, (void)g;
	note("idle");
	return idle_rc < 0 ? err_set(why, idle_rc, "no such control") : 0;
}

int __wrap_idle_restore(struct actuate *a, const struct step_cgroup *g, struct errbuf *why)
{
	(void)a, (void)g, (void)why;
	note("wake");
	return 0;
}

int __wrap_classes_list(struct actuate *a, const struct step_cgroup *g,
	const struct class_thread *before, int n_before, struct class_thread **ret, int *ret_n,
	struct errbuf *why)
{
	(void)a, (void)g, (void)before, (void)n_before;
	note("list");
	*ret_n = 0;
	*ret = NULL;
	return list_rc < 0 ? err_set(why, list_rc, "the step has ended") : 0;
}

static void set(struct coreset *ret, const char *text)
{
	ck_assert_int_eq(coreset_parse(ret, text, NULL), 0);
}

/* A placed step on core 0. */
static void setup(void)
{
	daemon_init(&d);
	memset(fails, 0, sizeof(fails));
	n_applies = idle_rc = list_rc = resting = 0;
	*did = '\0';
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d.conf);
	s = jobs_add(d.jobs, 1, 0, 0);
	ck_assert_ptr_nonnull(s);
	s->located = true;
	s->status = STATUS_PLACED;
	set(&s->coreset, "0");
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	levers_of(&d);
	choose = (struct choose){
		.loop = d.loop, .conf = d.conf, .node = d.node, .jobs = d.jobs, .levers = d.levers};
	d.choose = &choose;
	ck_assert_int_eq(trial_open(d.choose, &err), 0);
}

static void teardown(void)
{
	threads_close(d.levers);
	free(d.levers);
	loop_free(d.loop);
	jobs_done(d.jobs);
}

/* An empty one of the step alone. */
static void start_plan(void)
{
	memset(&job, 0, sizeof(job));
	snprintf(job.id, sizeof(job.id), "%s", s->id);
	plan = (struct plan){.n_jobs = 1, .job = &job};
}

static void lend(const char *cores)
{
	set(&s->lent_wanted, cores);
	s->lent_changed_ns = -INT64_C(10000000000);
	levers_apply(d.levers, trial_is_on(d.choose));
}

START_TEST(idle_then_wider_and_back_in_the_other_order)
{
	lend("1");
	lend("1-2");
	lend("");
	ck_assert_str_eq(did, "idle 0-1 idle 0-2 0 wake ");
	ck_assert(coreset_is_empty(&s->lent));
	ck_assert(!s->lent_failed);
}
END_TEST

START_TEST(a_loan_that_fails_at_once_ends_idle)
{
	fails[0] = -EBUSY;
	lend("1");
	ck_assert_str_eq(did, "idle 0-1 wake "); /* an apply that fails has left it on core 0 */
	ck_assert(s->lent_failed);
	ck_assert_str_eq(s->reason, "borrows no cores: the kernel says no");
	lend("2");
	ck_assert_str_eq(did, "idle 0-1 wake ");
}
END_TEST

START_TEST(without_idle_nothing_is_borrowed)
{
	idle_rc = -ENOTSUP;
	lend("1");
	ck_assert_str_eq(did, "idle wake ");
	ck_assert_str_eq(s->reason, "borrows no cores: no such control");
}
END_TEST

START_TEST(a_loan_that_fails_later_is_given_back_while_idle)
{
	lend("1");
	fails[1] = -EBUSY;
	lend("1-2");
	ck_assert_str_eq(did, "idle 0-1 idle 0-2 0 wake ");
	ck_assert(coreset_is_empty(&s->lent));
}
END_TEST

START_TEST(who_does_not_leave_foreign_cores_stays_idle)
{
	lend("1");
	fails[1] = fails[2] = -EBUSY;
	lend("1-2");
	ck_assert_str_eq(did, "idle 0-1 idle 0-2 0 ");
	ck_assert_str_eq(health_last_error(), "step 1.0: the kernel says no");
	/* Until its end, or it is placed anew. */
	lend_end(d.levers, s, false);
	ck_assert_str_eq(did, "idle 0-1 idle 0-2 0 wake ");
}
END_TEST

START_TEST(a_step_that_is_placed_anew_or_restored_is_idle_until_then)
{
	lend("1");
	set(&s->coreset, "2");
	ck_assert_int_eq(levers_place(d.levers, s, &err), 0);
	ck_assert_str_eq(did, "idle 0-1 2 wake ");
	*did = '\0';
	lend("1");
	levers_restore(d.levers, s, STATUS_RELEASED, NULL);
	ck_assert_str_eq(did, "idle 1-2 restore wake ");
}
END_TEST

/* On the cores of before it would be beside whoever has them now. */
START_TEST(a_step_that_cannot_be_moved_is_where_slurm_put_it)
{
	lend("1");
	fails[1] = -EAGAIN;
	set(&s->coreset, "2");
	ck_assert_int_eq(levers_place(d.levers, s, &err), -EAGAIN);
	ck_assert_str_eq(did, "idle 0-1 2 restore wake ");
	ck_assert_int_eq(s->status, STATUS_EXCLUDED);
	ck_assert_str_eq(s->reason, "cannot be moved: the kernel says no");
	ck_assert(coreset_is_empty(&s->coreset));
	/* Ended meanwhile: its end cleans up. */
	s->status = STATUS_PLACED;
	fails[2] = -ENOENT;
	set(&s->coreset, "2");
	*did = '\0';
	ck_assert_int_eq(levers_place(d.levers, s, &err), -ENOENT);
	ck_assert_str_eq(did, "2 ");
	ck_assert_int_eq(s->status, STATUS_PLACED);
}
END_TEST

/* What others use up comes back: the step stays ours, and says what it waits for. */
START_TEST(a_step_that_could_not_be_moved_just_now_is_moved_later)
{
	static const int passing[] = {-EMFILE, -ENFILE, -ENOMEM, -EINTR};

	fails[0] = passing[_i];
	set(&s->coreset, "2");
	ck_assert_int_eq(levers_place(d.levers, s, &err), passing[_i]);
	ck_assert_str_eq(did, "2 ");
	ck_assert_int_eq(s->status, STATUS_PLACED);
	ck_assert(s->to_apply);
	ck_assert_str_eq(s->reason, "not moved yet, tried again at each tick: the kernel says no");
	s->to_apply = false;
	ck_assert_int_eq(levers_place(d.levers, s, &err), 0);
	ck_assert(!s->to_apply);
	ck_assert_str_eq(s->reason, "");
}
END_TEST

START_TEST(what_is_lent_when_the_step_ends_is_put_back)
{
	fails[0] = -ENOENT;
	lend("1");
	lend_end(d.levers, s, false);
	ck_assert_str_eq(did, "idle 0-1 wake ");
	/* Some of its threads are idle, and noted; then it has ended. */
	*did = '\0';
	idle_rc = -ENOENT;
	lend("1");
	lend_end(d.levers, s, false);
	ck_assert_str_eq(did, "idle wake ");
}
END_TEST

/* An experiment takes the loan away: on its own cores first, then as it was. */
START_TEST(a_trial_narrows_before_it_wakes)
{
	start_plan();
	plan.n_experiments = 1;
	plan.experiment[0].cores = 1;
	set(&plan.experiment[0].coreset, "2");
	lend("1");
	trial_experiments(d.choose, &plan);
	ck_assert_str_eq(did, "idle 0-1 2 wake ");
	*did = '\0';
	/* Over: where the plan has it. */
	trial_abort(d.choose);
	ck_assert_str_eq(did, "0 ");
}
END_TEST

static void stop_loop(void *arg)
{
	(void)arg;
	if (!trial_is_on(d.choose))
		loop_stop(d.loop);
}

/* What hardly runs stays where it is: its speed is not told of cores it has not had. */
START_TEST(an_experiment_with_who_is_not_moved_has_no_result)
{
	struct loop_source *look;
	char why[128];

	start_plan();
	plan.n_experiments = 1;
	plan.experiment[0] = (struct plan_experiment){.cores = 1, .ms = 1};
	set(&plan.experiment[0].coreset, "2");
	s->seen.has_last = true;
	resting = 3;
	ck_assert_ptr_null(trial_refuses(d.choose, &plan, why, sizeof(why)));
	trial_experiments(d.choose, &plan);
	ck_assert_int_eq(loop_add_timer(d.loop, stop_loop, NULL, &look, &err), 0);
	loop_set_timer(look, 10, 10);
	ck_assert_int_eq(loop_run(d.loop), 0);
	loop_remove(d.loop, look);
	ck_assert_int_eq(choose.n_results, 0);
	ck_assert_str_eq(trial_refuses(d.choose, &plan, why, sizeof(why)),
		"experiments, but step 1.0 hardly runs and is not moved");
}
END_TEST

/* ---- threads ---- */

static void give_priorities(const char *low)
{
	start_plan();
	plan.hysteresis_ms = 10;
	set(&plan.job[0].low, low);
	levers_plan(d.levers, &plan, &s);
	levers_apply(d.levers, trial_is_on(d.choose));
}

START_TEST(threads_are_listed_before_they_are_on_foreign_cores)
{
	give_priorities("1");
	ck_assert_str_eq(did, "list 0-1 list ");
	*did = '\0';
	give_priorities("");
	ck_assert_str_eq(did, "0 wake ");
}
END_TEST

/* Its threads' originals are noted: nobody else would ever put them out of the ledger. */
START_TEST(a_step_that_ends_under_a_look_at_its_threads_is_put_back)
{
	give_priorities("1");
	*did = '\0';
	list_rc = -ENOENT;
	give_priorities("1");
	lend_end(d.levers, s, false);
	ck_assert_str_eq(did, "list wake ");
	/* At the first look, too. */
	*did = '\0';
	give_priorities("1");
	lend_end(d.levers, s, false);
	ck_assert_str_eq(did, "list wake ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lend");
	SRunner *sr = srunner_create(suite);
	TCase *tc = tcase_create("a donee is idle as long as it is on foreign cores");
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, idle_then_wider_and_back_in_the_other_order);
	tcase_add_test(tc, a_loan_that_fails_at_once_ends_idle);
	tcase_add_test(tc, without_idle_nothing_is_borrowed);
	tcase_add_test(tc, a_loan_that_fails_later_is_given_back_while_idle);
	tcase_add_test(tc, who_does_not_leave_foreign_cores_stays_idle);
	tcase_add_test(tc, a_step_that_is_placed_anew_or_restored_is_idle_until_then);
	tcase_add_test(tc, a_step_that_cannot_be_moved_is_where_slurm_put_it);
	tcase_add_loop_test(tc, a_step_that_could_not_be_moved_just_now_is_moved_later, 0, 4);
	tcase_add_test(tc, what_is_lent_when_the_step_ends_is_put_back);
	tcase_add_test(tc, a_trial_narrows_before_it_wakes);
	tcase_add_test(tc, an_experiment_with_who_is_not_moved_has_no_result);
	suite_add_tcase(suite, tc);
	tc = tcase_create("threads of two priorities");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, threads_are_listed_before_they_are_on_foreign_cores);
	tcase_add_test(tc, a_step_that_ends_under_a_look_at_its_threads_is_put_back);
	suite_add_tcase(suite, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
