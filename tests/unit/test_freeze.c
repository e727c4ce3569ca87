/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Freezing steps on files that stand for both hierarchies, and the guard with a real process.
 * tests/live/gang.sh has the kernel's freezer.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/record/ledger.h"
#include "tests/unit/fstree.h"
#include "tests/unit/ledger_mem.h"

#define V1      "sys/fs/cgroup/freezer/slurm_n1/uid_0/job_7"
#define V2      "sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_7"
#define FOREVER INT64_MAX

static struct fstree tree;
static struct ledger *ledger;
static struct guard *guard;
static struct freezer *freezer;
static struct freezer_hold *hold;
static struct errbuf err;
static bool v2;

static struct step_cgroup step = {.job_id = 7, .step_id = 0};

static const char *file(void)
{
	return v2 ? V2 "/step_0/user/cgroup.freeze" : V1 "/step_0/freezer.state";
}

static bool says(const char *text)
{
	char now[32] = "";

	ck_assert_int_gt(fsroot_read(&tree.root, file(), now, sizeof(now)), 0);
	return strncmp(now, text, strlen(text)) == 0;
}

static const char *frozen_text(void)
{
	return v2 ? "1" : "FROZEN";
}

static const char *thawed_text(void)
{
	return v2 ? "0" : "THAWED";
}

static bool is_frozen(void)
{
	return says(frozen_text());
}

static int n_rows(void)
{
	return ledger_count(ledger);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Up to 5 s. */
static bool thaws(void)
{
	for (int i = 0; i < 500 && is_frozen(); i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	return !is_frozen();
}

static void make(bool want_v2)
{
	v2 = want_v2;
	fstree_make(&tree);
	fstree_put(&tree, "proc/self/mountinfo",
		v2 ? "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		   : "31 22 0:27 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
	fstree_put(&tree, "proc/70/cgroup",
		v2 ? "0::/system.slice/n1_slurmstepd.scope/job_7/step_0/user/task_0\n"
		   : "9:cpuset:/slurm_n1/uid_0/job_7/step_0\n"
		     "3:freezer:/slurm_n1/uid_0/job_7/step_0\n");
	fstree_put(&tree, file(), v2 ? "0\n" : "THAWED\n");
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(guard_start(&guard, &tree.root, "", 8, &err), 0);
	ck_assert_msg(freezer_open(&freezer, &tree.root, ledger, guard, &err) == 0, "%s", err.text);
}

static void setup_v1(void)
{
	make(false);
}

static void setup_v2(void)
{
	make(true);
}

static void teardown(void)
{
	freezer_close(freezer);
	guard_stop(guard);
	ledger_close(ledger);
	fstree_remove(&tree);
}

static void take(void)
{
	ck_assert_msg(freezer_hold(freezer, 70, &step, &hold, &err) == 0, "%s", err.text);
}

static void freeze(void)
{
	ck_assert_msg(freezer_freeze(freezer, hold, FOREVER, &err) == 0, "%s", err.text);
}

START_TEST(step_is_frozen_where_slurm_thaws)
{
	take();
	ck_assert(!is_frozen());
	freeze();
	ck_assert(is_frozen());
	ck_assert(freezer_is_frozen(hold));
	ck_assert_int_eq(freezer_thaw(freezer, hold, &err), 0);
	ck_assert(!is_frozen());
}
END_TEST

START_TEST(ledger_has_one_row_from_before_the_first_freeze)
{
	take();
	ck_assert_int_eq(n_rows(), 1);
	ledger_mem_adds = 0;
	for (int i = 0; i < 10; i++) {
		freeze();
		ck_assert_int_eq(freezer_thaw(freezer, hold, &err), 0);
	}
	ck_assert_int_eq(ledger_mem_adds, 0);
	freeze();
	ck_assert_int_eq(freezer_drop(freezer, hold, &err), 0);
	ck_assert(!is_frozen());
	ck_assert_int_eq(n_rows(), 0);
}
END_TEST

START_TEST(without_a_ledger_nothing_is_held)
{
	ledger_mem_adds_left = 0;
	ck_assert_int_eq(freezer_hold(freezer, 70, &step, &hold, &err), -EIO);
	ledger_mem_adds_left = -1;
	ck_assert_int_eq(n_rows(), 0);
}
END_TEST

START_TEST(former_daemons_freeze_is_thawed)
{
	struct freezer *former = freezer;

	take();
	freeze();
	ck_assert_int_eq(freezer_open(&freezer, &tree.root, ledger, NULL, &err), 0);
	ck_assert_int_eq(freezer_restore_all(freezer, false, &err), 1);
	ck_assert(!is_frozen());
	ck_assert_int_eq(n_rows(), 0);
	freezer_close(former);
}
END_TEST

START_TEST(ended_steps_row_goes_without_a_write)
{
	char command[256];

	take();
	freeze();
	snprintf(command, sizeof(command), "mv %s/sys %s/old", tree.dir, tree.dir);
	ck_assert_int_eq(system(command), 0);
	/* Another step of the same name is not ours to thaw. */
	fstree_put(&tree, file(), v2 ? "1\n" : "FROZEN\n");
	ck_assert_int_eq(freezer_restore_all(freezer, false, &err), 1);
	ck_assert(is_frozen());
	ck_assert_int_eq(n_rows(), 0);
	ck_assert_int_eq(freezer_thaw(freezer, hold, &err), -ENOENT);
}
END_TEST

static const uint32_t never[] = {ACTUATE_STEP_BATCH, ACTUATE_STEP_EXTERN, ACTUATE_STEP_INTERACTIVE};

START_TEST(special_step_is_never_frozen)
{
	struct step_cgroup special = {.job_id = 7, .step_id = never[_i]};

	ck_assert_int_eq(freezer_hold(freezer, 70, &special, &hold, &err), -EPERM);
	ck_assert_ptr_nonnull(strstr(err.text, "never frozen"));
	ck_assert_int_eq(n_rows(), 0);
}
END_TEST

START_TEST(process_of_another_step_is_refused)
{
	struct step_cgroup other = {.job_id = 8, .step_id = 0};

	ck_assert_int_eq(freezer_hold(freezer, 70, &other, &hold, &err), -EPROTO);
	ck_assert_int_eq(freezer_hold(freezer, 71, &step, &hold, &err), -ENOENT);
	ck_assert_int_eq(n_rows(), 0);
}
END_TEST

START_TEST(no_freezer_is_said)
{
	struct freezer *f;

	fstree_put(&tree, "proc/self/mountinfo", "1 1 0:1 / / rw - ext4 x rw\n");
	ck_assert_int_eq(freezer_open(&f, &tree.root, ledger, NULL, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "no cgroup v1 freezer hierarchy is mounted"));
}
END_TEST

START_TEST(guard_thaws_past_the_limit)
{
	take();
	ck_assert_int_eq(freezer_freeze(freezer, hold, now_ns() + 50000000, &err), 0);
	ck_assert(is_frozen());
	ck_assert(thaws());
}
END_TEST

START_TEST(guard_lets_a_freeze_within_its_limit_be)
{
	take();
	ck_assert_int_eq(freezer_freeze(freezer, hold, now_ns() + INT64_C(60000000000), &err), 0);
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	ck_assert(is_frozen());
}
END_TEST

/* A daemon of our own that dies with a step frozen. */
START_TEST(guard_thaws_when_the_daemon_is_killed)
{
	int ready[2];
	pid_t daemon;
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	daemon = fork();
	if (daemon == 0) {
		struct guard *g = NULL;
		struct freezer *f = NULL;

		if (guard_start(&g, &tree.root, "", 8, &err) < 0 ||
			freezer_open(&f, &tree.root, ledger, g, &err) < 0 ||
			freezer_hold(f, 70, &step, &hold, &err) < 0 ||
			freezer_freeze(f, hold, FOREVER, &err) < 0)
			_exit(1);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert(is_frozen());
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	ck_assert(thaws());
	close(ready[0]);
	close(ready[1]);
}
END_TEST

/* Slurm may suspend a step after the daemon's end: the next one must know that this is not ours. */
START_TEST(guard_tells_the_next_daemon_what_it_has_thawed)
{
	struct guard *g = NULL;

	ck_assert_int_eq(guard_start(&g, &tree.root, "/store/mark", 8, &err), 0);
	fstree_put(&tree, "store/other", "");
	ck_assert_int_eq(guard_take_mark(g), 0);
	guard_stop(g); /* nobody took part */
	ck_assert(!fsroot_exists(&tree.root, "store/mark"));
	ck_assert_int_eq(guard_start(&g, &tree.root, "/store/mark", 8, &err), 0);
	ck_assert_int_ge(guard_add(g, file(), thawed_text()), 0);
	guard_stop(g);
	ck_assert(fsroot_exists(&tree.root, "store/mark"));
	ck_assert_int_eq(guard_start(&g, &tree.root, "/store/mark", 8, &err), 0);
	ck_assert_int_eq(guard_take_mark(g), 1);
	ck_assert_int_eq(guard_take_mark(g), 0);
	take();
	freeze();
	ck_assert_int_eq(freezer_restore_all(freezer, true, &err), 1);
	ck_assert(is_frozen());
	ck_assert_int_eq(n_rows(), 0);
	guard_stop(g);
}
END_TEST

START_TEST(restarted_guard_knows_what_is_armed)
{
	take();
	ck_assert_int_eq(freezer_freeze(freezer, hold, now_ns() + 300000000, &err), 0);
	kill(guard_pid(guard), SIGKILL);
	ck_assert_int_eq(guard_restart(guard, &err), 0);
	ck_assert(thaws());
}
END_TEST

/* It is started again as soon as the loop hears of it; a freeze may come before. */
START_TEST(killed_guard_ends_nobody_who_freezes)
{
	take();
	/* It sleeps: a freeze has to wake it. */
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	kill(guard_pid(guard), SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)guard_pid(guard), NULL, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(freezer_freeze(freezer, hold, now_ns() + 300000000, &err), 0);
	ck_assert_int_eq(guard_restart(guard, &err), 0);
	ck_assert(thaws());
}
END_TEST

/* It sleeps until another step's limit then. */
START_TEST(guard_hears_of_an_earlier_limit)
{
	int slot;

	take();
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	ck_assert_int_eq(freezer_freeze(freezer, hold, now_ns() + INT64_C(60000000000), &err), 0);
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	slot = guard_add(guard, file(), thawed_text());
	ck_assert_int_ge(slot, 0);
	guard_arm(guard, slot, now_ns() + 50000000);
	ck_assert(thaws());
}
END_TEST

/* Slots that are free; the setup's guard has 8. */
static int n_free_slots(void)
{
	int slot[8], n = 0;

	while (n < 8 && (slot[n] = guard_add(guard, file(), thawed_text())) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		guard_remove(guard, slot[i]);
	return n;
}

START_TEST(guard_goes_on_where_a_thaw_fails)
{
	char at[400], aside[408];

	take();
	freeze();
	snprintf(at, sizeof(at), "%s/%s", tree.dir, file());
	snprintf(aside, sizeof(aside), "%s.aside", at);
	/* At no time is there nothing: that would be the step's end. */
	ck_assert_int_eq(mkdir(aside, 0755), 0);
	ck_assert_int_eq(renameat2(AT_FDCWD, at, AT_FDCWD, aside, RENAME_EXCHANGE), 0);
	ck_assert_int_lt(freezer_drop(freezer, hold, &err), 0);
	ck_assert_int_eq(n_rows(), 1);
	ck_assert_int_eq(renameat2(AT_FDCWD, at, AT_FDCWD, aside, RENAME_EXCHANGE), 0);
	ck_assert(thaws());
	/* And has room for another: it frees the slot after the thaw. */
	for (int i = 0; i < 200 && n_free_slots() < 8; i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	ck_assert_int_eq(n_free_slots(), 8);
}
END_TEST

static int refuse_to_forget(const char *what)
{
	return strcmp(what, "setting_forget") == 0 ? -EIO : 0;
}

START_TEST(slot_is_freed_where_only_the_ledger_fails)
{
	take();
	freeze();
	ledger_mem_hook = refuse_to_forget;
	ck_assert_int_eq(freezer_drop(freezer, hold, &err), -EIO);
	ledger_mem_hook = NULL;
	ck_assert(!is_frozen());
	ck_assert_int_eq(n_rows(), 1);
	ck_assert_int_eq(n_free_slots(), 8);
}
END_TEST

START_TEST(freeze_without_room_for_it_stays_in_the_ledger)
{
	take();
	freeze();
	for (int i = 0; i < 7; i++)
		ck_assert_int_ge(guard_add(guard, file(), thawed_text()), 0);
	ck_assert_int_eq(freezer_hold(freezer, 70, &step, &hold, &err), -ENOSPC);
	ck_assert(is_frozen());
	ck_assert_int_eq(n_rows(), 1);
	ck_assert_int_eq(freezer_restore_all(freezer, false, &err), 1);
	ck_assert(!is_frozen());
}
END_TEST

START_TEST(guard_survives_what_ends_daemons)
{
	kill(guard_pid(guard), SIGTERM);
	kill(guard_pid(guard), SIGINT);
	kill(guard_pid(guard), SIGHUP);
	take();
	ck_assert_int_eq(freezer_freeze(freezer, hold, now_ns() + 50000000, &err), 0);
	ck_assert(thaws());
}
END_TEST

static enum freezer_news last;
static int n_news;

static void on_news(struct freezer_hold *h, enum freezer_news news, void *arg)
{
	(void)arg;
	ck_assert_ptr_eq(h, hold);
	last = news;
	n_news++;
}

/* Another process, as Slurm is. */
static void slurm_writes(const char *text)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(fsroot_write(&tree.root, file(), text) == 0 ? 0 : 1);
	waitpid(pid, NULL, 0);
	n_news = 0;
	freezer_watch_read(freezer, on_news, NULL);
}

START_TEST(slurms_suspend_is_respected)
{
	if (freezer_watch(freezer, &err) < 0)
		return; /* not root: tests/live/gang.sh tells */
	take();
	freeze();
	freezer_watch_read(freezer, on_news, NULL);
	ck_assert_int_eq(n_news, 0); /* our own write is no news */
	slurm_writes(frozen_text());
	ck_assert_int_eq(n_news, 1);
	ck_assert_int_eq(last, FREEZER_SUSPENDED);
	ck_assert_int_eq(n_rows(), 0);
	ck_assert_int_eq(freezer_thaw(freezer, hold, &err), -EBUSY);
	ck_assert(is_frozen());
	slurm_writes(thawed_text());
	ck_assert_int_eq(last, FREEZER_RESUMED);
	freeze();
	ck_assert_int_eq(n_rows(), 1);
	slurm_writes(thawed_text());
	ck_assert_int_eq(last, FREEZER_THAWED);
	ck_assert(!freezer_is_frozen(hold));
	slurm_writes(frozen_text());
	ck_assert_int_eq(freezer_drop(freezer, hold, &err), 0);
	ck_assert(is_frozen());
}
END_TEST

/* A step leaves for the guard's windows, and comes back. */
START_TEST(suspended_step_is_known_when_it_comes)
{
	if (freezer_watch(freezer, &err) < 0)
		return;
	take();
	slurm_writes(frozen_text());
	ck_assert_int_eq(freezer_drop(freezer, hold, &err), 0);
	take();
	ck_assert(freezer_is_suspended(hold));
	ck_assert_int_eq(n_rows(), 0);
	ck_assert_int_eq(freezer_freeze(freezer, hold, FOREVER, &err), -EBUSY);
	ck_assert_int_eq(freezer_thaw(freezer, hold, &err), -EBUSY);
	ck_assert(is_frozen());
	slurm_writes(thawed_text());
	ck_assert_int_eq(last, FREEZER_RESUMED);
	freeze();
	ck_assert_int_eq(n_rows(), 1);
	ck_assert_int_eq(freezer_drop(freezer, hold, &err), 0);
	ck_assert(!is_frozen());
	ck_assert_int_eq(n_rows(), 0);
}
END_TEST

/* What we froze and could not thaw is no suspend. */
START_TEST(freeze_that_the_ledger_has_is_thawed)
{
	take();
	freeze();
	take();
	ck_assert(!freezer_is_suspended(hold));
	ck_assert(thaws());
}
END_TEST

int main(void)
{
	static void (*const setups[])(void) = {setup_v1, setup_v2};
	static const char *const names[] = {"v1: ", "v2: "};
	static char title[16][96];
	Suite *s = suite_create("freeze");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed, n = 0;

	for (int i = 0; i < 2; i++) {
		snprintf(title[n], sizeof(title[n]), "%sa step is frozen and thawed", names[i]);
		tc = tcase_create(title[n++]);
		tcase_add_checked_fixture(tc, setups[i], teardown);
		tcase_add_test(tc, step_is_frozen_where_slurm_thaws);
		tcase_add_test(tc, ledger_has_one_row_from_before_the_first_freeze);
		tcase_add_test(tc, without_a_ledger_nothing_is_held);
		tcase_add_test(tc, former_daemons_freeze_is_thawed);
		tcase_add_test(tc, ended_steps_row_goes_without_a_write);
		suite_add_tcase(s, tc);
		snprintf(title[n], sizeof(title[n]), "%swhat must not be frozen is not", names[i]);
		tc = tcase_create(title[n++]);
		tcase_add_checked_fixture(tc, setups[i], teardown);
		tcase_add_loop_test(tc, special_step_is_never_frozen, 0, 3);
		tcase_add_test(tc, process_of_another_step_is_refused);
		tcase_add_test(tc, no_freezer_is_said);
		suite_add_tcase(s, tc);
		snprintf(title[n], sizeof(title[n]), "%sthe guard thaws what nobody else does",
			names[i]);
		tc = tcase_create(title[n++]);
		tcase_add_checked_fixture(tc, setups[i], teardown);
		tcase_set_timeout(tc, 30);
		tcase_add_test(tc, guard_thaws_past_the_limit);
		tcase_add_test(tc, guard_lets_a_freeze_within_its_limit_be);
		tcase_add_test(tc, guard_thaws_when_the_daemon_is_killed);
		tcase_add_test(tc, guard_tells_the_next_daemon_what_it_has_thawed);
		tcase_add_test(tc, restarted_guard_knows_what_is_armed);
		tcase_add_test(tc, killed_guard_ends_nobody_who_freezes);
		tcase_add_test(tc, guard_hears_of_an_earlier_limit);
		tcase_add_test(tc, guard_goes_on_where_a_thaw_fails);
		tcase_add_test(tc, slot_is_freed_where_only_the_ledger_fails);
		tcase_add_test(tc, freeze_without_room_for_it_stays_in_the_ledger);
		tcase_add_test(tc, guard_survives_what_ends_daemons);
		suite_add_tcase(s, tc);
		snprintf(title[n], sizeof(title[n]), "%sSlurm's own freeze is Slurm's", names[i]);
		tc = tcase_create(title[n++]);
		tcase_add_checked_fixture(tc, setups[i], teardown);
		tcase_add_test(tc, slurms_suspend_is_respected);
		tcase_add_test(tc, suspended_step_is_known_when_it_comes);
		tcase_add_test(tc, freeze_that_the_ledger_has_is_thawed);
		suite_add_tcase(s, tc);
	}
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
