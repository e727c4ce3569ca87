/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Idle priority and the way back: v2 on files, v1 on a real child that a tree of files lists as the
 * step's thread.
 */
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/actuate/internal.h"
#include "tests/unit/fstree.h"
#include "tests/unit/ledger_mem.h"

#define V1 "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_7/step_0"
#define V2 "sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_7"

static struct fstree tree;
static struct ledger *ledger;
static struct actuate *act;
static struct errbuf err;
static struct step_cgroup step;
static pid_t child, more[3]; /* more: processes beside it, as far as a test lists them */
static const struct coreset all = {{3}};

static void open_all(const char *mountinfo)
{
	fstree_put(&tree, "proc/self/mountinfo", mountinfo);
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	ck_assert_int_eq(actuate_open(&act, &tree.root, ledger, &all, &err), 0);
	memset(&step, 0, sizeof(step));
	memset(more, 0, sizeof(more));
	child = 0;
}

static void put_stat(pid_t pid, pid_t ppid, uint64_t start)
{
	char path[64], text[160];

	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)pid, (int)pid);
	snprintf(text, sizeof(text), "%d (app) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu\n",
		(int)pid, (int)ppid, (unsigned long long)start);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/limits", (int)pid);
	fstree_put(&tree, path, "Limit  Soft Limit  Hard Limit\nMax nice priority   20   20\n");
}

static pid_t fork_one(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void list_child(uint64_t start)
{
	char path[64], text[160];

	snprintf(text, sizeof(text), "%d\n", (int)child);
	fstree_put(&tree, V1 "/tasks", text);
	fstree_put(&tree, V1 "/cgroup.procs", text);
	put_stat(child, 1, start);
	snprintf(path, sizeof(path), "proc/%d/autogroup", (int)child);
	fstree_put(&tree, path, "/autogroup-1 nice 3\n");
}

/* One more process of the step, forked by @parent. */
static pid_t list_more(int i, pid_t parent, int policy)
{
	const struct sched_param none = {.sched_priority = 0};
	char text[80] = "";

	more[i] = fork_one();
	ck_assert_int_eq(sched_setscheduler(more[i], policy, &none), 0);
	put_stat(more[i], parent, 200 + (uint64_t)i);
	for (int k = -1; k <= i; k++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d\n",
			(int)(k < 0 ? child : more[k]));
	fstree_put(&tree, V1 "/tasks", text);
	fstree_put(&tree, V1 "/cgroup.procs", text);
	return more[i];
}

static void setup_v1(void)
{
	fstree_make(&tree);
	fstree_put(&tree, "sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
	open_all("32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
	strcpy(step.step_path, V1);
	strcpy(step.job_path, "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_7");
	child = fork_one();
	list_child(100);
}

static void setup_v2(void)
{
	fstree_make(&tree);
	fstree_put(&tree, "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
	fstree_put(&tree, V2 "/cpu.idle", "0\n");
	fstree_put(&tree, V2 "/step_0/user/cpuset.cpus", "0\n");
	open_all("30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	strcpy(step.step_path, V2 "/step_0/user");
	strcpy(step.job_path, V2);
}

static void end_one(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void teardown(void)
{
	end_one(child);
	for (int i = 0; i < 3; i++)
		end_one(more[i]);
	actuate_close(act);
	ledger_close(ledger);
	fstree_remove(&tree);
}

static bool reads(const char *path, const char *text)
{
	char now[64] = "";

	fsroot_read(&tree.root, path, now, sizeof(now));
	return strncmp(now, text, strlen(text)) == 0;
}

/* Who was idle is so no more after the first look; the second finds nobody new, and ends it. */
static void restore_idle(void)
{
	int rows = ledger_count(ledger);

	ck_assert_msg(idle_restore(act, &step, &err) == 1, "%s", err.text);
	ck_assert_int_gt(ledger_count(ledger), 0);
	ck_assert_int_le(ledger_count(ledger), rows);
	ck_assert_int_eq(idle_restore(act, &step, &err), 0);
}

START_TEST(threads_are_idle_and_back)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/autogroup", (int)child);
	ck_assert_msg(idle_set(act, &step, &err) == 0, "%s", err.text);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
	ck_assert(reads(path, "19"));
	ck_assert_int_eq(ledger_count(ledger), 2);
	ck_assert_int_eq(idle_set(act, &step, &err), 0); /* again: nothing to do */
	ck_assert_int_eq(ledger_count(ledger), 2);
	restore_idle();
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert(reads(path, "3"));
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

/* What the child may do about its class. */
static void put_rights(int limit, const char *caps)
{
	char path[64], text[80];

	snprintf(path, sizeof(path), "proc/%d/limits", (int)child);
	snprintf(text, sizeof(text), "Limit  Soft Limit  Hard Limit\nMax nice priority   %d   %d\n",
		limit, limit);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/status", (int)child);
	snprintf(text, sizeof(text), "Name:\tapp\nCapEff:\t%s\n", caps);
	fstree_put(&tree, path, text);
}

START_TEST(process_that_could_not_leave_is_not_made_idle)
{
	struct class_thread *t;
	int n;

	put_rights(19, "0000000000000000");
	ck_assert_int_eq(idle_set(act, &step, &err), -EACCES);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert_int_eq(classes_list(act, &step, NULL, 0, &t, &n, &err), 0);
	ck_assert(t[0].fixed);
	free(t);
	ck_assert_int_eq(ledger_count(ledger), 0);
	put_rights(0, "000001ffffffffff");
	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
}
END_TEST

START_TEST(batch_policy_comes_back_as_it_was)
{
	const struct sched_param none = {.sched_priority = 0};

	ck_assert_int_eq(sched_setscheduler(child, SCHED_BATCH, &none), 0);
	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
	ck_assert_int_eq(idle_restore_all(act, &err), 1);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_BATCH);
}
END_TEST

START_TEST(own_idle_thread_is_no_business_of_ours)
{
	const struct sched_param none = {.sched_priority = 0};

	ck_assert_int_eq(sched_setscheduler(child, SCHED_IDLE, &none), 0);
	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_int_eq(idle_restore(act, &step, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
}
END_TEST

/* As in "srun sh -c 'solver & chrt -i 0 watcher'". */
START_TEST(own_idle_thread_beside_others_stays_idle)
{
	pid_t own = list_more(0, 1, SCHED_IDLE);

	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	restore_idle();
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert_int_eq(sched_getscheduler(own), SCHED_IDLE);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(newborn_comes_back_as_what_forked_it)
{
	const struct sched_param none = {.sched_priority = 0};
	pid_t own = list_more(0, 1, SCHED_IDLE), of_own, of_child;

	ck_assert_int_eq(sched_setscheduler(child, SCHED_BATCH, &none), 0);
	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	of_own = list_more(1, own, SCHED_IDLE);
	of_child = list_more(2, child, SCHED_IDLE);
	ck_assert_int_eq(idle_set(act, &step, &err), 0); /* theirs is not a first choice */
	ck_assert_int_eq(idle_restore_all(act, &err), 1);
	ck_assert_int_eq(sched_getscheduler(of_own), SCHED_IDLE);
	ck_assert_int_eq(sched_getscheduler(of_child), SCHED_BATCH);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_BATCH);
}
END_TEST

/* What the child's line of stat and its cpu time say now. */
static void show_child(char state, unsigned long run_ns)
{
	char path[80], text[160];

	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)child, (int)child);
	snprintf(text, sizeof(text), "%d (app) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100\n",
		(int)child, state);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/task/%d/schedstat", (int)child, (int)child);
	snprintf(text, sizeof(text), "%lu 0 1\n", run_ns);
	fstree_put(&tree, path, text);
}

/* Its fork had begun when its parent was idle, and was over after the look at the threads. */
START_TEST(one_born_of_a_fork_that_had_begun_comes_back_at_the_next_look)
{
	pid_t late;

	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	ck_assert_int_eq(idle_restore(act, &step, &err), 1);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	late = list_more(0, child, SCHED_IDLE);
	ck_assert_int_eq(idle_restore(act, &step, &err), 1);
	ck_assert_int_eq(sched_getscheduler(late), SCHED_OTHER);
	ck_assert_int_eq(idle_restore(act, &step, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

/* The same on a busy node: it stands in its fork until it has its turn. */
START_TEST(one_born_of_a_fork_that_waits_for_its_turn_comes_back)
{
	pid_t late;

	show_child('R', 5000);
	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	ck_assert_int_eq(idle_restore(act, &step, &err), 1);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	for (int look = 0; look < 3; look++)
		ck_assert_int_eq(idle_restore(act, &step, &err), 1);
	ck_assert_int_gt(ledger_count(ledger), 0);
	show_child('R', 5000 + 30000000);
	late = list_more(0, child, SCHED_IDLE);
	ck_assert_int_eq(idle_restore(act, &step, &err), 1);
	ck_assert_int_eq(sched_getscheduler(late), SCHED_OTHER);
	ck_assert_int_eq(idle_restore(act, &step, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(one_woken_while_it_ran_is_looked_at_until_it_sleeps_or_has_ended)
{
	for (int i = 0; i < 2; i++) {
		show_child('R', 5000);
		ck_assert_int_eq(idle_set(act, &step, &err), 0);
		ck_assert_int_eq(idle_restore(act, &step, &err), 1);
		ck_assert_int_eq(idle_restore(act, &step, &err), 1);
		show_child('S', 5000);
		if (i == 1)
			list_child(101); /* another by now */
		ck_assert_int_eq(idle_restore(act, &step, &err), 0);
		ck_assert_int_eq(ledger_count(ledger), 0);
	}
}
END_TEST

/* What cannot be read has not ended: a directory in the place of the file gives EISDIR. */
START_TEST(thread_that_cannot_be_read_keeps_its_row)
{
	char path[64], file[300], away[300];

	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)child, (int)child);
	snprintf(file, sizeof(file), "%s/%s", tree.dir, path);
	snprintf(away, sizeof(away), "%s/away", tree.dir);
	ck_assert_int_eq(rename(file, away), 0);
	ck_assert_int_eq(mkdir(file, 0755), 0);
	err.text[0] = '\0';
	ck_assert_int_eq(idle_restore(act, &step, &err), -EISDIR);
	ck_assert_ptr_nonnull(strstr(err.text, "Is a directory"));
	ck_assert_int_gt(ledger_count(ledger), 0);
	ck_assert_int_eq(idle_restore_all(act, &err), -EISDIR);
	ck_assert_int_gt(ledger_count(ledger), 0);
	ck_assert_int_eq(rmdir(file), 0);
	ck_assert_int_eq(rename(away, file), 0);
	ck_assert_int_eq(idle_restore_all(act, &err), 1);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(reused_thread_id_is_not_touched)
{
	const struct sched_param none = {.sched_priority = 0};

	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	list_child(101); /* another thread by now, with a policy of its own */
	ck_assert_int_eq(sched_setscheduler(child, SCHED_BATCH, &none), 0);
	ck_assert_int_eq(idle_restore(act, &step, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_BATCH);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(without_a_ledger_nothing_is_changed)
{
	ledger_mem_adds_left = 0;
	ck_assert_int_eq(idle_set(act, &step, &err), -EIO);
	ledger_mem_adds_left = -1;
	if (child)
		ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	else
		ck_assert(reads(V2 "/cpu.idle", "0"));
}
END_TEST

START_TEST(group_is_idle_and_back)
{
	ck_assert_msg(idle_set(act, &step, &err) == 0, "%s", err.text);
	ck_assert(reads(V2 "/cpu.idle", "1"));
	ck_assert_int_eq(ledger_count(ledger), 1);
	ck_assert_int_eq(idle_restore(act, &step, &err), 0);
	ck_assert(reads(V2 "/cpu.idle", "0"));
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_int_eq(idle_set(act, &step, &err), 0);
	ck_assert_int_eq(idle_restore_all(act, &err), 1);
	ck_assert(reads(V2 "/cpu.idle", "0"));
}
END_TEST

START_TEST(group_without_the_file_is_refused)
{
	strcpy(step.job_path, V2 "/step_0");
	ck_assert_int_eq(idle_set(act, &step, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, "cpu.idle"));
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(one_thread_is_low_and_back)
{
	struct class_thread *t, *again;
	int n;

	ck_assert_int_eq(classes_list(act, &step, NULL, 0, &t, &n, &err), 0);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(t[0].tid, child);
	ck_assert(!t[0].fixed && !coreset_is_empty(&t[0].cpu));
	ck_assert_int_eq(ledger_count(ledger), 1); /* before anything is changed */
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert_int_eq(classes_set(t, true, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
	/* Listed again it is the same thread, not one that was idle by itself. */
	ck_assert_int_eq(classes_list(act, &step, t, n, &again, &n, &err), 0);
	ck_assert(!again[0].fixed);
	ck_assert_int_eq(again[0].original, SCHED_OTHER);
	ck_assert_int_eq(classes_set(again, false, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert_int_eq(classes_set(again, true, &err), 0);
	restore_idle();
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert_int_eq(ledger_count(ledger), 0);
	free(t);
	free(again);
}
END_TEST

START_TEST(thread_of_another_class_is_left_alone)
{
	const struct sched_param none = {.sched_priority = 0};
	struct class_thread *t;
	int n;

	ck_assert_int_eq(sched_setscheduler(child, SCHED_IDLE, &none), 0);
	ck_assert_int_eq(classes_list(act, &step, NULL, 0, &t, &n, &err), 0);
	ck_assert(t[0].fixed);
	ck_assert_int_eq(classes_set(t, false, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
	ck_assert_int_eq(idle_restore(act, &step, &err), 0);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_IDLE);
	ck_assert_int_eq(ledger_count(ledger), 0);
	free(t);
}
END_TEST

START_TEST(idle_thread_and_its_newborn_stay_so_beside_low_ones)
{
	pid_t own = list_more(0, 1, SCHED_IDLE), of_own, of_child;
	struct class_thread *t, *again;
	int n, n_again;

	ck_assert_int_eq(classes_list(act, &step, NULL, 0, &t, &n, &err), 0);
	ck_assert_int_eq(n, 2);
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(classes_set(&t[i], true, &err), 0);
	of_own = list_more(1, own, SCHED_IDLE);
	of_child = list_more(2, child, SCHED_IDLE);
	ck_assert_int_eq(classes_list(act, &step, t, n, &again, &n_again, &err), 0);
	ck_assert_int_eq(n_again, 4);
	for (int i = 0; i < n_again; i++)
		ck_assert_int_eq(again[i].fixed, again[i].tid == own || again[i].tid == of_own);
	restore_idle();
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	ck_assert_int_eq(sched_getscheduler(of_child), SCHED_OTHER);
	ck_assert_int_eq(sched_getscheduler(own), SCHED_IDLE);
	ck_assert_int_eq(sched_getscheduler(of_own), SCHED_IDLE);
	free(t);
	free(again);
}
END_TEST

START_TEST(newborn_of_a_low_thread_comes_back_too)
{
	struct class_thread parent = {.tid = 1, .tgid = 1, .start_ticks = 1}, *t;
	const struct sched_param none = {.sched_priority = 0};
	int n;

	/* As if born of a thread that we had made low. */
	ck_assert_int_eq(sched_setscheduler(child, SCHED_IDLE, &none), 0);
	ck_assert_int_eq(classes_list(act, &step, &parent, 1, &t, &n, &err), 0);
	ck_assert(!t[0].fixed);
	ck_assert_int_eq(t[0].original, SCHED_OTHER);
	ck_assert_int_eq(idle_restore_all(act, &err), 1);
	ck_assert_int_eq(sched_getscheduler(child), SCHED_OTHER);
	free(t);
}
END_TEST

START_TEST(classes_without_a_ledger_are_not_changed)
{
	struct class_thread *t = NULL;
	int n;

	ledger_mem_adds_left = 0;
	ck_assert_int_eq(classes_list(act, &step, NULL, 0, &t, &n, &err), -EIO);
	ledger_mem_adds_left = -1;
	ck_assert_ptr_null(t);
}
END_TEST

START_TEST(look_tells_who_wants_a_core)
{
	struct class_thread t = {.tid = child, .tgid = child, .start_ticks = 100};
	uint64_t run_ns = 0;
	int fd = -1;

	show_child('S', 5000);
	ck_assert(!classes_look(act, &t, &fd, &run_ns)); /* asleep; what it ran before is unknown */
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert(!classes_look(act, &t, NULL, &run_ns));
	show_child('S', 6000);
	ck_assert(classes_look(act, &t, NULL, &run_ns)); /* has run meanwhile */
	ck_assert(!classes_look(act, &t, NULL, &run_ns));
	show_child('R', 6000);
	ck_assert(classes_look(act, &t, NULL, &run_ns)); /* waits for a core */
	show_child('D', 6000);
	ck_assert(!classes_look(act, &t, NULL, &run_ns));
	t.start_ticks = 99; /* another thread's number by now */
	show_child('R', 6000);
	ck_assert(!classes_look(act, &t, NULL, &run_ns));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("idle");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	/* Only who may raise a priority again can test this. */
	if (geteuid() != 0) {
		printf("needs root: priorities back\n");
		return 77;
	}
	tc = tcase_create("v1: a step's threads are idle, and as before again");
	tcase_add_checked_fixture(tc, setup_v1, teardown);
	tcase_add_test(tc, threads_are_idle_and_back);
	tcase_add_test(tc, process_that_could_not_leave_is_not_made_idle);
	tcase_add_test(tc, batch_policy_comes_back_as_it_was);
	tcase_add_test(tc, own_idle_thread_is_no_business_of_ours);
	tcase_add_test(tc, own_idle_thread_beside_others_stays_idle);
	tcase_add_test(tc, newborn_comes_back_as_what_forked_it);
	tcase_add_test(tc, one_born_of_a_fork_that_had_begun_comes_back_at_the_next_look);
	tcase_add_test(tc, one_born_of_a_fork_that_waits_for_its_turn_comes_back);
	tcase_add_test(tc, one_woken_while_it_ran_is_looked_at_until_it_sleeps_or_has_ended);
	tcase_add_test(tc, thread_that_cannot_be_read_keeps_its_row);
	tcase_add_test(tc, reused_thread_id_is_not_touched);
	tcase_add_test(tc, without_a_ledger_nothing_is_changed);
	suite_add_tcase(s, tc);
	tc = tcase_create("single threads are low, and as before again");
	tcase_add_checked_fixture(tc, setup_v1, teardown);
	tcase_add_test(tc, one_thread_is_low_and_back);
	tcase_add_test(tc, thread_of_another_class_is_left_alone);
	tcase_add_test(tc, idle_thread_and_its_newborn_stay_so_beside_low_ones);
	tcase_add_test(tc, newborn_of_a_low_thread_comes_back_too);
	tcase_add_test(tc, classes_without_a_ledger_are_not_changed);
	tcase_add_test(tc, look_tells_who_wants_a_core);
	suite_add_tcase(s, tc);
	tc = tcase_create("v2: a job's group is idle, and as before again");
	tcase_add_checked_fixture(tc, setup_v2, teardown);
	tcase_add_test(tc, group_is_idle_and_back);
	tcase_add_test(tc, group_without_the_file_is_refused);
	tcase_add_test(tc, without_a_ledger_nothing_is_changed);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
