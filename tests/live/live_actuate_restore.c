/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_actuate_restore.c - the part of live_actuate that puts back, also after a crash. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/live/live_actuate.h"

START_TEST(restore_brings_back_every_mask)
{
	static const char *const sets[] = {"1", "0-1", "0"};

	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			char *before = step_snapshot(top, STEP);

			apply(sets[i]);
			apply(sets[j]);
			restore();
			all_as(before);
		}
	restore(); /* nothing recorded: fine */
}
END_TEST

START_TEST(restore_leaves_threads_that_behave_as_before)
{
	static const char *const moves[] = {"1", "0-1", "0", "0-1"};
	struct worker p, b;

	/* A twin step that nobody touches shows what this kernel does by itself. */
	step_tree_mkdir(top, JOB "/step_1", "0-1");
	p = worker_start(top, JOB "/step_1", "app", NULL, 1, WORKER_IDLE);
	b = worker_start(top, JOB "/step_1", "app", "0", 1, WORKER_IDLE);
	apply("1");
	restore();
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(step_write(top, STEP, moves[i]), 0);
		ck_assert_int_eq(step_write(top, JOB "/step_1", moves[i]), 0);
		all_on(&plain, mask_of(p.pid));
		all_on(&bound0, mask_of(b.pid));
	}
}
END_TEST

START_TEST(restore_gives_newcomers_what_they_would_have_had)
{
	struct worker w = worker_start(top, STEP, "app", "0", 1, WORKER_LATER);
	pid_t child, other = worker_start(top, STEP, "app", NULL, 1, WORKER_IDLE).pid;

	apply("1");
	child = worker_fork(&w);
	ck_assert_str_eq(mask_of(child), "1");
	apply("0-1");
	ck_assert_str_eq(mask_of(child), "0"); /* its father's share */
	/* The child's father, whose binding it would have, is gone when it comes to restoring. */
	worker_stop(&w);
	restore();
	ck_assert_str_eq(mask_of(child), "0");
	ck_assert_str_eq(mask_of(other), "0-1");
	kill(child, SIGKILL);
}
END_TEST

START_TEST(restore_gives_newcomers_their_own_pin)
{
	struct worker w = worker_start(top, STEP, "app", "0", 1, WORKER_LATER);
	pid_t child;

	apply("0-1");
	child = worker_fork(&w);
	set_mask_of(child, "1");
	apply("0-1");
	apply("0"); /* older kernels forget the pin here */
	restore();
	ck_assert_str_eq(mask_of(child), "1");
	ck_assert_str_eq(mask_of(w.pid), "0");
	kill(child, SIGKILL);
}
END_TEST

START_TEST(restore_finds_the_father_of_a_newcomer_never_applied)
{
	struct worker w = worker_start(top, STEP, "app", "0", 1, WORKER_LATER);
	pid_t child;

	apply("1");
	child = worker_fork(&w);
	restore();
	ck_assert_str_eq(mask_of(child), "0");
	kill(child, SIGKILL);
}
END_TEST

START_TEST(threads_follow_the_cpuset_by_themselves)
{
	apply("1"); /* displaces what is bound to 0 */
	ck_assert_int_eq(step_write(top, STEP, "0-1"), 0);
	all_on(&plain, "0-1");
	all_on(&bound0, "0-1");
	all_on(&bound1, "0-1");
	ck_assert_int_eq(step_write(top, STEP, "0"), 0);
	all_on(&bound1, "0");
}
END_TEST

static void crash(void)
{
	actuate_close(act); /* a daemon that was killed leaves the ledger */
	open_backend();
}

START_TEST(restore_all_after_a_crash)
{
	char *before = step_snapshot(top, STEP);

	apply("1");
	crash();
	ck_assert_int_eq(actuate_restore_all(act, &err), 1);
	ck_assert_int_eq(ledger_count(ledger), 0);
	all_as(before);
}
END_TEST

START_TEST(restore_all_after_a_crash_between_cpuset_and_masks)
{
	char *before = step_snapshot(top, STEP);
	struct coreset one = set_of("1");

	/* The rows of a first apply, then the cpuset alone. */
	apply("0-1");
	ck_assert_int_eq(step_write(top, STEP, "1"), 0);
	for (int i = 0; i < bound0.n; i++)
		set_mask_of(bound0.tid[i], "0-1");
	crash();
	ck_assert_int_eq(ops->verify(act, &step, &one), 0);
	ck_assert_int_eq(actuate_restore_all(act, &err), 1);
	all_as(before);
}
END_TEST

START_TEST(restore_goes_on_after_a_restart)
{
	char *before = step_snapshot(top, STEP);

	apply("1");
	crash();
	apply("0");
	all_on(&plain, "0");
	restore();
	all_as(before);
}
END_TEST

/* A thread of a step that nobody touches, bound to 0 like one of ours; its mask shows what this
 * kernel makes of the same moves. */
static struct worker twin_bound_to_0(void)
{
	step_tree_mkdir(top, JOB "/step_1", "0-1");
	return worker_start(top, JOB "/step_1", "app", "0", 1, WORKER_IDLE);
}

START_TEST(pins_of_the_program_outlive_a_crash)
{
	struct worker twin = twin_bound_to_0();

	apply("0-1");
	set_mask_of(plain.tid[1], "0");
	apply("1"); /* hides it */
	crash();
	apply("0");
	crash();
	apply("0-1");
	for (const char *const *to = (const char *const[]){"1", "0", "0-1", NULL}; *to; to++)
		ck_assert_int_eq(step_write(top, JOB "/step_1", *to), 0);
	ck_assert_str_eq(mask_of(plain.tid[1]), mask_of(twin.pid));
	ck_assert_str_eq(mask_of(plain.tid[2]), "0-1");
}
END_TEST

START_TEST(restore_after_a_crash_keeps_pins_of_the_program)
{
	struct worker twin = twin_bound_to_0();

	apply("0-1");
	set_mask_of(plain.tid[1], "0");
	apply("0"); /* hides it, for it is all there is */
	crash();
	ck_assert_int_eq(actuate_restore_all(act, &err), 1);
	ck_assert_int_eq(ledger_count(ledger), 0);
	for (const char *const *to = (const char *const[]){"0", "0-1", NULL}; *to; to++)
		ck_assert_int_eq(step_write(top, JOB "/step_1", *to), 0);
	ck_assert_str_eq(mask_of(plain.tid[1]), mask_of(twin.pid));
	ck_assert_str_eq(mask_of(plain.tid[2]), "0-1");
}
END_TEST

START_TEST(restore_takes_what_the_job_still_allows)
{
	apply("1");
	ck_assert_int_eq(step_write(top, JOB, "1"), 0);
	restore();
	ck_assert_str_eq(step_read(top, STEP), "1");
}
END_TEST

START_TEST(restore_gives_all_that_the_job_has_when_nothing_fits)
{
	step_tree_mkdir(top, JOB "/step_1", "0");
	ck_assert_int_eq(step_write(top, STEP, "0"), 0);
	apply("0");
	/* Original 0; now the step and its job are moved to 1 by somebody else. */
	ck_assert_int_eq(step_write(top, JOB "/step_1", "1"), 0);
	ck_assert_int_eq(step_write(top, STEP, "1"), 0);
	ck_assert_int_eq(step_write(top, JOB, "1"), 0);
	restore();
	ck_assert_str_eq(step_read(top, STEP), "1");
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(restore_of_a_step_that_ended_only_forgets)
{
	apply("1");
	step_tree_sweep(top);
	ck_assert_int_eq(ops->verify(act, &step, &all_pus), -ENOENT);
	restore();
	apply_fails("0");
	ck_assert_int_eq(apply_fails("0"), -ENOENT);
}
END_TEST

START_TEST(restore_leaves_a_later_namesake_alone)
{
	struct worker w;

	apply("1");
	step_tree_sweep(top);
	step_tree_make(top, "0-1");
	ck_assert_int_eq(step_write(top, STEP, "0"), 0);
	w = worker_start(top, STEP, "app", NULL, 1, WORKER_IDLE);
	ck_assert_int_eq(actuate_restore_all(act, &err), 1);
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_str_eq(step_read(top, STEP), "0");
	all_on(&w, "0");
}
END_TEST

void add_restore_cases(Suite *s)
{
	CASE(s, "restore is exact", restore_brings_back_every_mask);
	CASE(s, "restored threads behave as untouched ones",
		restore_leaves_threads_that_behave_as_before);
	CASE(s, "newcomers get what they would have had",
		restore_gives_newcomers_what_they_would_have_had);
	CASE(s, "newcomers keep their own pins", restore_gives_newcomers_their_own_pin);
	CASE(s, "newcomers of no apply get it too",
		restore_finds_the_father_of_a_newcomer_never_applied);
	CASE(s, "a released thread follows the cpuset", threads_follow_the_cpuset_by_themselves);
	CASE(s, "a successor restores after a crash", restore_all_after_a_crash);
	CASE(s, "a crash in the middle of apply is undone",
		restore_all_after_a_crash_between_cpuset_and_masks);
	CASE(s, "a successor takes over", restore_goes_on_after_a_restart);
	CASE(s, "... with the program's own pins", pins_of_the_program_outlive_a_crash);
	CASE(s, "... and restores them", restore_after_a_crash_keeps_pins_of_the_program);
	CASE(s, "a shrunk job limits the restore", restore_takes_what_the_job_still_allows);
	CASE(s, "nothing left of the original: all that the job has",
		restore_gives_all_that_the_job_has_when_nothing_fits);
	CASE(s, "an ended step is only forgotten", restore_of_a_step_that_ended_only_forgets);
	CASE(s, "a later namesake is not touched", restore_leaves_a_later_namesake_alone);
}
