/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_actuate - the v1 actuator against the kernel, on a cpuset tree of its own that looks like
 * Slurm's. Needs root, cgroup v1 cpusets and CPUs 0 and 1; exits 77 with the reason otherwise.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/live/live_actuate.h"
#include "tests/unit/ledger_mem.h"

char top[64];
struct fsroot root = {.fd = -1};
struct ledger *ledger;
struct actuate *act;
const struct actuate_ops *ops;
struct coreset all_pus;
struct worker plain, bound0, bound1, stepd;
struct step_cgroup step;
struct errbuf err;

struct coreset set_of(const char *text)
{
	struct coreset s;

	ck_assert_int_eq(coreset_parse(&s, text, NULL), 0);
	return s;
}

void open_backend(void)
{
	ck_assert_int_eq(actuate_open(&act, &root, ledger, &all_pus, &err), 0);
	ops = actuate_get_ops(act);
	ck_assert_str_eq(ops->name, "cgroup-v1");
}

/* A step on 0-1: tasks that are unbound, bound to 0 and to 1, and slurmstepd bound to 0. */
void setup(void)
{
	ledger_mem_adds_left = -1;
	err.text[0] = '\0';
	step_tree_sweep(top); /* a test before may have ended early */
	step_tree_make(top, "0-1");
	ck_assert_int_eq(fsroot_open(&root, NULL, &err), 0);
	ck_assert_int_eq(ledger_open(&ledger, ":memory:", "boot", &err), 0);
	open_backend();
	plain = worker_start(top, STEP, "app", NULL, 4, WORKER_IDLE);
	bound0 = worker_start(top, STEP, "app", "0", 3, WORKER_IDLE);
	bound1 = worker_start(top, STEP, "app) R 1", "1", 2, WORKER_IDLE);
	stepd = worker_start(top, STEP, "slurmstepd", "0", 2, WORKER_IDLE);
	ck_assert_msg(ops->locate(act, plain.pid, &step, &err) == 0, "%s", err.text);
}

void teardown(void)
{
	actuate_close(act);
	ledger_close(ledger);
	fsroot_close(&root);
	step_tree_sweep(top);
}

struct actuate_result apply(const char *cpus)
{
	struct coreset set = set_of(cpus);
	struct actuate_result r;

	ck_assert_msg(ops->apply(act, &step, &set, &r, &err) == 0, "%s", err.text);
	ck_assert_str_eq(step_read(top, STEP), cpus);
	ck_assert(coreset_is_equal(&r.coreset, &set));
	ck_assert_int_eq(ops->verify(act, &step, &set), 0);
	return r;
}

int apply_fails(const char *cpus)
{
	struct coreset set = set_of(cpus);
	struct actuate_result r;

	return ops->apply(act, &step, &set, &r, &err);
}

void restore(void)
{
	ck_assert_msg(ops->restore(act, &step, &err) == 0, "%s", err.text);
	ck_assert_int_eq(ledger_count(ledger), 0);
}

void all_on(const struct worker *w, const char *cpus)
{
	for (int i = 0; i < w->n; i++)
		ck_assert_str_eq(mask_of(w->tid[i]), cpus);
}

/* Slurm bound two tasks side by side: on both CPUs they are so again, on one they share it. */
static void all_placed(const char *cpus)
{
	bool both = strcmp(cpus, "0-1") == 0;

	all_on(&plain, cpus);
	all_on(&bound0, both ? "0" : cpus);
	all_on(&bound1, both ? "1" : cpus);
}

void all_as(char *before)
{
	char *after = step_snapshot(top, STEP);

	ck_assert_str_eq(after, before);
	free(after);
	free(before);
}

/* ---- locate -------------------------------------------------------------------------------- */

START_TEST(locate_task_has_ids_and_paths)
{
	struct step_cgroup none = {.job_id = 7};
	char path[256];

	ck_assert_str_eq(step.node, top + strlen("slurm_"));
	ck_assert_uint_eq(step.job_id, 1);
	ck_assert_uint_eq(step.step_id, 0);
	snprintf(path, sizeof(path), "sys/fs/cgroup/cpuset/%s/" JOB, top);
	ck_assert_str_eq(step.job_path, path);
	snprintf(path, sizeof(path), "sys/fs/cgroup/cpuset/%s/" STEP, top);
	ck_assert_str_eq(step.step_path, path);
	ck_assert_uint_eq(step.step_inode, fsroot_inode(&root, path));
	ck_assert_int_eq(ops->locate(act, getpid(), &none, &err), -ENOENT);
	ck_assert_uint_eq(none.job_id, 7);
}
END_TEST

START_TEST(threads_leave_slurmstepd_out)
{
	pid_t *tid;
	int n;

	ck_assert_int_eq(ops->threads(act, &step, &tid, &n), 0);
	ck_assert_int_eq(n, plain.n + bound0.n + bound1.n);
	for (int i = 0; i < n; i++)
		ck_assert(tid[i] != stepd.tid[0] && tid[i] != stepd.tid[1]);
	free(tid);
}
END_TEST

/* ---- apply --------------------------------------------------------------------------------- */

START_TEST(apply_puts_every_thread_on_the_set)
{
	static const char *const sets[] = {"1", "0", "0-1", "0", "0-1", "1", "1"};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct actuate_result r = apply(sets[i]);

		ck_assert_int_eq(r.threads, plain.n + bound0.n + bound1.n);
		ck_assert_int_eq(r.foreign, stepd.n);
		all_placed(sets[i]);
	}
}
END_TEST

START_TEST(apply_counts_a_forked_task_that_has_not_execed)
{
	struct worker w = worker_start(top, STEP, "slurmstepd", NULL, 2, WORKER_PARENT);

	/* tid[1] bears its parent's name, as a task between fork and exec does. */
	set_mask_of(w.tid[1], "0");
	ck_assert_int_eq(apply("1").foreign, stepd.n + 1);
	ck_assert_str_eq(mask_of(w.tid[1]), "1");
	restore();
	ck_assert_str_eq(mask_of(w.tid[1]), "0");
}
END_TEST

START_TEST(apply_reaches_threads_born_meanwhile)
{
	static const char *const sets[] = {"1", "0-1", "0"};
	struct worker t = worker_start(top, STEP, "storm", "0", 2, WORKER_THREADS);
	struct worker f = worker_start(top, STEP, "storm", "1", 1, WORKER_FORKS);

	for (int i = 0; i < 60; i++) {
		char *snap, *line;

		apply(sets[i % 3]);
		snap = step_snapshot(top, STEP);
		for (line = strtok(snap, "\n"); line; line = strtok(NULL, "\n")) {
			const char *mask = strchr(line, ' ') + 1;
			pid_t tid = atoi(line);

			/* On both CPUs each is where its task was bound. */
			if (i % 3 != 1 && tid != stepd.tid[0] && tid != stepd.tid[1] &&
				strcmp(mask, "gone") != 0)
				ck_assert_msg(
					strcmp(mask, sets[i % 3]) == 0, "round %d: %s", i, line);
		}
		free(snap);
		if (i % 3 == 1) {
			all_on(&t, "0");
			all_on(&f, "1");
		}
	}
	restore();
	all_on(&t, "0");
	all_on(&f, "1");
}
END_TEST

START_TEST(apply_leaves_pins_inside_the_set)
{
	struct actuate_result r;

	apply("0-1");
	set_mask_of(plain.tid[1], "1"); /* for the kernel the same as the program's own call */
	r = apply("0-1");
	ck_assert_str_eq(mask_of(plain.tid[1]), "1");
	ck_assert_int_eq(r.pinned, 1);
	apply("1");
	ck_assert_str_eq(mask_of(plain.tid[1]), "1");
	/* Outside: the whole set, as long as the pin has no place there. */
	ck_assert_int_eq(apply("0").pinned, 1);
	all_on(&plain, "0");
	restore();
	ck_assert_str_eq(mask_of(plain.tid[0]), "0-1");
	all_on(&bound0, "0");
}
END_TEST

/* GROMACS, while it counts CPUs, binds itself to each and sets back what it read before: a mask of
 * all it had, which is no pin wherever its step goes next. */
static void set_back_what_it_read(const struct worker *w, const char *cpus)
{
	for (int i = 0; i < w->n; i++)
		set_mask_of(w->tid[i], cpus);
}

START_TEST(mask_that_a_program_read_and_set_is_no_pin)
{
	apply("0");
	set_back_what_it_read(&plain, "0");
	apply("0-1");
	all_placed("0-1");
	apply("0");
	set_back_what_it_read(&plain, "0");
	apply("1");
	all_placed("1");
	apply("0-1");
	all_placed("0-1");
	restore();
}
END_TEST

START_TEST(mask_that_a_program_read_and_set_holds_nothing_back_at_the_end)
{
	char *before = step_snapshot(top, STEP);

	apply("0");
	set_back_what_it_read(&plain, "0");
	restore();
	all_as(before);
	before = step_snapshot(top, STEP);
	apply("0");
	set_back_what_it_read(&plain, "0");
	apply("1");
	restore();
	all_as(before);
	for (const char *const *cpus = (const char *const[]){"0", "0-1", NULL}; *cpus; cpus++)
		ck_assert_int_eq(step_write(top, STEP, *cpus), 0);
	all_on(&plain, "0-1");
}
END_TEST

START_TEST(pin_that_was_displaced_comes_back_as_the_kernel_has_it)
{
	struct worker twin;

	step_tree_mkdir(top, JOB "/step_1", "0-1");
	twin = worker_start(top, JOB "/step_1", "app", "0", 1, WORKER_IDLE);
	ck_assert_int_eq(step_write(top, JOB "/step_1", "1"), 0);
	ck_assert_int_eq(step_write(top, JOB "/step_1", "0-1"), 0);
	apply("0-1");
	set_mask_of(plain.tid[1], "0");
	apply("0");
	apply("1");
	ck_assert_str_eq(mask_of(plain.tid[1]), "1");
	apply("0-1");
	ck_assert_str_eq(mask_of(plain.tid[1]), mask_of(twin.pid));
	ck_assert_str_eq(mask_of(plain.tid[2]), "0-1");
	restore();
}
END_TEST

START_TEST(apply_frees_pins_that_are_partly_outside)
{
	static const char *const levels[] = {"", "uid_0", JOB, STEP};

	if (!coreset_has(&all_pus, 2)) {
		printf("# pins partly outside the set: needs CPU 2\n");
		return;
	}
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(step_write(top, levels[i], "0-2"), 0);
	for (int i = 0; i < bound0.n; i++)
		set_mask_of(bound0.tid[i], "0"); /* older kernels wiped it just now */
	apply("0-2");
	set_mask_of(plain.tid[1], "0-1");
	set_mask_of(plain.tid[2], "0");
	ck_assert_int_eq(apply("0-2").pinned, 2);
	ck_assert_int_eq(apply("0-1").pinned, 2);
	ck_assert_str_eq(mask_of(plain.tid[2]), "0");
	/* Left to the kernel, all such threads would share CPU 1. */
	apply("1-2");
	all_on(&plain, "1-2");
	restore();
	ck_assert_str_eq(mask_of(plain.tid[0]), "0-2");
	all_on(&bound0, "0");
	/* A pin chosen under a set survives the way back, whatever the kernel forgets. */
	apply("0-1");
	set_mask_of(plain.tid[1], "0");
	restore();
	ck_assert_str_eq(mask_of(plain.tid[1]), "0");
	ck_assert_str_eq(mask_of(plain.tid[3]), "0-2");
}
END_TEST

START_TEST(restore_keeps_what_the_program_chose_meanwhile)
{
	apply("0-1");
	set_mask_of(plain.tid[1], "1");
	set_mask_of(bound0.tid[1], "1");
	restore();
	ck_assert_str_eq(mask_of(plain.tid[1]), "1");
	ck_assert_str_eq(mask_of(bound0.tid[1]), "1");
	ck_assert_str_eq(mask_of(bound0.tid[0]), "0");
	ck_assert_str_eq(mask_of(plain.tid[0]), "0-1");
}
END_TEST

START_TEST(restore_keeps_a_pin_as_far_as_the_kernel_does)
{
	struct worker twin;

	step_tree_mkdir(top, JOB "/step_1", "0-1");
	twin = worker_start(top, JOB "/step_1", "app", "1", 1, WORKER_IDLE);
	apply("0-1");
	set_mask_of(plain.tid[1], "1");
	apply("1");
	restore();
	/* Linux 6.2 and later remember the pin, older ones have wiped it. */
	ck_assert_int_eq(step_write(top, JOB "/step_1", "1"), 0);
	ck_assert_int_eq(step_write(top, JOB "/step_1", "0-1"), 0);
	ck_assert_str_eq(mask_of(plain.tid[1]), mask_of(twin.pid));
}
END_TEST

START_TEST(apply_knows_pins_older_than_itself)
{
	char *before;

	set_mask_of(plain.tid[2], "1"); /* differs from its leader */
	before = step_snapshot(top, STEP);
	ck_assert_int_eq(apply("0-1").pinned, 1);
	ck_assert_str_eq(mask_of(plain.tid[2]), "1");
	restore();
	all_as(before);
}
END_TEST

START_TEST(slurmstepd_mask_is_left_alone_and_back_at_the_end)
{
	char *before = step_snapshot(top, STEP);

	apply("0-1");
	all_on(&stepd, "0");
	apply("1");
	all_on(&stepd, "1"); /* the kernel moves it with the cpuset */
	restore();
	all_on(&stepd, "0");
	all_as(before);
}
END_TEST

START_TEST(allocation_is_slurms_while_a_set_holds)
{
	struct coreset job, own, want = set_of("0-1");

	apply("1");
	ck_assert_int_eq(ops->allocation(act, &step, &job, &own, &err), 0);
	ck_assert(coreset_is_equal(&job, &want));
	ck_assert(coreset_is_equal(&own, &want));
}
END_TEST

/* ---- refusals and failures ----------------------------------------------------------------- */

START_TEST(apply_outside_the_job_is_refused_by_name)
{
	char *before;

	ck_assert_int_eq(step_write(top, STEP, "0"), 0);
	ck_assert_int_eq(step_write(top, JOB, "0"), 0);
	before = step_snapshot(top, STEP);
	ck_assert_int_eq(apply_fails("0-1"), -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "'0-1' is not inside the job's CPUs '0'"));
	ck_assert_int_eq(apply_fails("1"), -ERANGE);
	ck_assert_int_eq(apply_fails(""), -EINVAL);
	ck_assert_int_eq(apply_fails("0,1023"), -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, "not within the node's CPUs"));
	ck_assert_int_eq(ledger_count(ledger), 0);
	all_as(before);
}
END_TEST

START_TEST(apply_takes_levels_below_along)
{
	struct worker in;
	char *before;

	/* As a container runtime makes them: a copy of the step's CPUs. */
	step_tree_mkdir(top, STEP "/box", "0-1");
	step_tree_mkdir(top, STEP "/box/inner", "0");
	in = worker_start(top, STEP "/box/inner", "app", NULL, 2, WORKER_IDLE);
	before = step_snapshot(top, STEP);
	apply("1");
	all_placed("1");
	all_on(&in, "1");
	apply("0-1");
	all_placed("0-1");
	all_on(&in, "0"); /* the part of the step that it had */
	apply("0");
	all_on(&in, "0");
	restore();
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_str_eq(mask_of(in.pid), "0");
	all_as(before);
	/* Made under us it is a copy of our set, and goes back to Slurm's. */
	apply("1");
	step_tree_mkdir(top, STEP "/box2", "1");
	in = worker_start(top, STEP "/box2", "app", NULL, 1, WORKER_IDLE);
	actuate_close(act);
	open_backend();
	ck_assert_int_ge(actuate_restore_all(act, &err), 1);
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_str_eq(mask_of(in.pid), "0-1");
}
END_TEST

START_TEST(restore_all_takes_levels_below_along)
{
	struct worker in;

	step_tree_mkdir(top, STEP "/box", "0-1");
	in = worker_start(top, STEP "/box", "app", NULL, 1, WORKER_IDLE);
	apply("1");
	actuate_close(act);
	open_backend();
	ck_assert_int_ge(actuate_restore_all(act, &err), 1);
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_str_eq(mask_of(in.pid), "0-1");
}
END_TEST

START_TEST(apply_without_ledger_changes_nothing)
{
	char *before = step_snapshot(top, STEP);

	ledger_mem_adds_left = 0;
	ck_assert_int_eq(apply_fails("1"), -EIO);
	ck_assert_ptr_nonnull(strstr(err.text, "left as it is, no ledger: the disk is on fire"));
	all_as(before);
	/* A later apply that must record a newcomer: the set of before stays. */
	ledger_mem_adds_left = 1;
	apply("1");
	worker_start(top, STEP, "late", NULL, 1, WORKER_IDLE);
	before = step_snapshot(top, STEP);
	ck_assert_int_eq(apply_fails("0"), -EIO);
	all_as(before);
	ledger_mem_adds_left = -1;
}
END_TEST

/* ---- watch --------------------------------------------------------------------------------- */

static char seen_path[256];

static void note_path(const char *path, void *arg)
{
	(void)arg;
	snprintf(seen_path, sizeof(seen_path), "%s", path);
}

START_TEST(watch_reports_others_writes_only)
{
	ck_assert_int_ge(actuate_watch_fd(act), 0);
	ck_assert_int_eq(actuate_watch_read(act, note_path, NULL), 0);
	apply("1");
	apply("0");
	ck_assert_int_eq(actuate_watch_read(act, note_path, NULL), 0);
	ck_assert_int_eq(step_write(top, STEP, "0-1"), 0);
	ck_assert_int_eq(actuate_watch_read(act, note_path, NULL), 1);
	ck_assert_str_eq(seen_path, step.step_path);
	ck_assert_int_eq(ops->verify(act, &step, &(struct coreset){{1}}), 1);
	/* The job level: silent while its value stays, as at each further step. */
	apply("0");
	ck_assert_int_eq(step_write(top, JOB, "0-1"), 0);
	ck_assert_int_eq(actuate_watch_read(act, note_path, NULL), 0);
	ck_assert_int_eq(step_write(top, JOB, "0"), 0);
	ck_assert_int_eq(actuate_watch_read(act, note_path, NULL), 1);
	ck_assert_int_eq(step_write(top, JOB, "0-1"), 0);
	ck_assert_int_eq(actuate_watch_read(act, note_path, NULL), 1);
	restore();
	ck_assert_int_eq(step_write(top, STEP, "0"), 0);
	ck_assert_int_eq(actuate_watch_read(act, note_path, NULL), 0);
}
END_TEST

static Suite *live_suite(void)
{
	Suite *s = suite_create("live_actuate");

	CASE(s, "a task's pid leads to its step", locate_task_has_ids_and_paths);
	CASE(s, "slurmstepd's threads are not the job's", threads_leave_slurmstepd_out);
	CASE(s, "every thread follows each set", apply_puts_every_thread_on_the_set);
	CASE(s, "a task is one before it execs", apply_counts_a_forked_task_that_has_not_execed);
	CASE(s, "storms of threads and forks are caught", apply_reaches_threads_born_meanwhile);
	CASE(s, "own pins inside the set stay", apply_leaves_pins_inside_the_set);
	CASE(s, "own pins partly outside are freed", apply_frees_pins_that_are_partly_outside);
	CASE(s, "own pins come back", pin_that_was_displaced_comes_back_as_the_kernel_has_it);
	CASE(s, "what a program read and set is no pin",
		mask_that_a_program_read_and_set_is_no_pin);
	CASE(s, "... and is not there at the end",
		mask_that_a_program_read_and_set_holds_nothing_back_at_the_end);
	CASE(s, "own pins stay after restore", restore_keeps_what_the_program_chose_meanwhile);
	CASE(s, "own pins stay as the kernel keeps them",
		restore_keeps_a_pin_as_far_as_the_kernel_does);
	CASE(s, "own pins older than us stay", apply_knows_pins_older_than_itself);
	CASE(s, "slurmstepd's mask is never set",
		slurmstepd_mask_is_left_alone_and_back_at_the_end);
	CASE(s, "the allocation stays Slurm's", allocation_is_slurms_while_a_set_holds);
	add_restore_cases(s);
	CASE(s, "the job's CPUs are the limit", apply_outside_the_job_is_refused_by_name);
	CASE(s, "levels below the step follow", apply_takes_levels_below_along);
	CASE(s, "and are put back after a crash", restore_all_takes_levels_below_along);
	CASE(s, "no ledger, no change", apply_without_ledger_changes_nothing);
	CASE(s, "inotify tells of others' writes", watch_reports_others_writes_only);
	return s;
}

int main(void)
{
	return step_tree_main(live_suite(), top, sizeof(top), &all_pus);
}
