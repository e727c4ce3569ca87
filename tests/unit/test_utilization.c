/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodesvc/counters/counters.h"

#define S INT64_C(1000000000)

static char dir[64];
static struct fsroot root;
static struct utilization *u;
static struct errbuf err;
static struct signal value;
static double runnable;

static void make(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	ck_assert_msg(!mkdir(full, 0755) || errno == EEXIST, "mkdir %s", full);
}

/* A recorded schedstat line for a thread; NULL: the thread is gone. */
static void put(int tid, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "proc/%d", tid);
	make(path);
	snprintf(path, sizeof(path), "%s/proc/%d/schedstat", dir, tid);
	if (!text) {
		unlink(path);
		return;
	}
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void setup(void)
{
	strcpy(dir, "/tmp/coloc-utilization.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	make("proc");
	ck_assert_int_eq(fsroot_open(&root, dir, NULL), 0);
	ck_assert_int_eq(utilization_open(&u, &root, NULL), 0);
}

static void teardown(void)
{
	char cmd[128];

	utilization_close(u);
	fsroot_close(&root);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static int read_at(int64_t now_ns, int n, int cores)
{
	static const pid_t tid[] = {7, 9, 8, 10};

	return utilization_read(u, tid, n, now_ns, cores, NULL, &value, &runnable, &err);
}

START_TEST(first_read_is_unknown)
{
	put(7, "5000000000 0 10\n");
	ck_assert_int_eq(read_at(S, 1, 2), 0);
	ck_assert_int_eq(value.provenance, PROVENANCE_NONE);
	ck_assert_double_nan(value.value);
	ck_assert_double_nan(runnable);
}
END_TEST

START_TEST(no_time_elapsed_is_unknown)
{
	put(7, "5000000000 0 10\n");
	ck_assert_int_eq(read_at(S, 1, 2), 0);
	put(7, "6000000000 0 11\n");
	ck_assert_int_eq(read_at(S, 1, 2), 0);
	ck_assert_int_eq(value.provenance, PROVENANCE_NONE);
}
END_TEST

START_TEST(shared_core_reads_busy)
{
	/* Two threads of a job on one core that another job shares: a quarter of the time each,
	 * the rest in the queue. */
	put(7, "1000 2000 10\n");
	put(9, "1000 2000 10\n");
	ck_assert_int_eq(read_at(S, 2, 2), 0);
	put(7, "250001000 750002000 60\n");
	put(9, "250001000 750002000 60\n");
	ck_assert_int_eq(read_at(2 * S, 2, 2), 0);
	ck_assert_int_eq(value.provenance, PROVENANCE_OS);
	ck_assert_double_eq_tol(value.value, 1.0, 1e-9);
	ck_assert_double_eq_tol(runnable, 2.0, 1e-9);
}
END_TEST

START_TEST(half_idle_reads_half)
{
	put(7, "0 0 1\n");
	put(9, "0 0 1\n");
	ck_assert_int_eq(read_at(S, 2, 4), 0);
	put(7, "1000000000 0 2\n");
	ck_assert_int_eq(read_at(2 * S, 2, 4), 0);
	ck_assert_double_eq_tol(value.value, 0.5, 1e-9); /* of min(2 threads, 4 cores) */
	ck_assert_double_eq_tol(runnable, 1.0, 1e-9);
}
END_TEST

START_TEST(more_threads_than_cores_is_clamped)
{
	for (int t = 7; t <= 10; t++)
		put(t, "0 0 1\n");
	ck_assert_int_eq(read_at(S, 4, 2), 0);
	for (int t = 7; t <= 10; t++)
		put(t, "500000000 900000000 2\n"); /* more than the second: late booking */
	ck_assert_int_eq(read_at(2 * S, 4, 2), 0);
	ck_assert_double_eq_tol(value.value, 1.0, 1e-9);
	ck_assert_double_eq_tol(runnable, 4.0, 1e-9);
}
END_TEST

START_TEST(new_thread_only_remembered)
{
	put(7, "0 0 1\n");
	ck_assert_int_eq(read_at(S, 2, 2), 0); /* 9 is not there yet */
	put(7, "500000000 0 2\n");
	put(9, "9000000000 0 2\n");
	ck_assert_int_eq(read_at(2 * S, 2, 2), 0);
	ck_assert_double_eq_tol(value.value, 0.5, 1e-9);
}
END_TEST

START_TEST(gone_thread_left_out)
{
	put(7, "0 0 1\n");
	put(9, "0 0 1\n");
	ck_assert_int_eq(read_at(S, 2, 2), 0);
	put(7, "1000000000 0 2\n");
	put(9, NULL);
	ck_assert_int_eq(read_at(2 * S, 2, 2), 0);
	ck_assert_double_eq_tol(value.value, 1.0, 1e-9);
}
END_TEST

START_TEST(all_gone_is_unknown)
{
	put(7, "0 0 1\n");
	ck_assert_int_eq(read_at(S, 1, 2), 0);
	put(7, NULL);
	ck_assert_int_eq(read_at(2 * S, 1, 2), 0);
	ck_assert_int_eq(value.provenance, PROVENANCE_NONE);
}
END_TEST

START_TEST(reused_number_only_remembered)
{
	put(7, "8000000000 5 100\n");
	ck_assert_int_eq(read_at(S, 1, 2), 0);
	put(7, "700000000 0 3\n");
	ck_assert_int_eq(read_at(2 * S, 1, 2), 0);
	ck_assert_int_eq(value.provenance, PROVENANCE_NONE);
	put(7, "1000000000 0 4\n");
	ck_assert_int_eq(read_at(3 * S, 1, 2), 0);
	ck_assert_double_eq_tol(value.value, 0.3, 1e-9);
}
END_TEST

START_TEST(kernel_without_account_is_unknown)
{
	put(7, "0 0 0\n");
	ck_assert_int_eq(read_at(S, 1, 2), 0);
	ck_assert_int_eq(read_at(2 * S, 1, 2), 0);
	ck_assert_int_eq(value.provenance, PROVENANCE_NONE);
}
END_TEST

static void put_state(int tid, const char *state)
{
	char path[256];
	FILE *f;

	/* Not proc/TID/stat, which is the whole process's. */
	snprintf(path, sizeof(path), "proc/%d", tid);
	make(path);
	snprintf(path, sizeof(path), "proc/%d/task", tid);
	make(path);
	snprintf(path, sizeof(path), "proc/%d/task/%d", tid, tid);
	make(path);
	snprintf(path, sizeof(path), "%s/proc/%d/task/%d/stat", dir, tid, tid);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "%d (a) R name) %s 1 2 3\n", tid, state);
	fclose(f);
}

/* Two threads, cores for both: what each ran and was held up in one second. */
static double at_most(const char *a, const char *b)
{
	put(7, "0 0 10\n");
	put(9, "0 0 10\n");
	ck_assert_int_eq(read_at(S, 2, 2), 0);
	put(7, a);
	put(9, b);
	ck_assert_int_eq(read_at(2 * S, 2, 2), 0);
	return utilization_at_most(u);
}

START_TEST(alone_it_is_what_it_is)
{
	ck_assert_double_nan(utilization_at_most(u));
	ck_assert_double_eq_tol(at_most("1000000000 0 60\n", "0 0 10\n"), .5, 1e-9);
}
END_TEST

START_TEST(one_held_up_may_hold_up_the_other)
{
	/* 0.3 of the time each; the second waits for the first. */
	ck_assert_double_eq_tol(at_most("300000000 700000000 60\n", "300000000 0 60\n"), 1, 1e-9);
	ck_assert_double_eq_tol(value.value, .65, 1e-9);
}
END_TEST

START_TEST(one_of_two_is_one_of_two_also_when_held_up)
{
	ck_assert_double_eq_tol(at_most("500000000 500000000 60\n", "0 0 10\n"), .5, 1e-9);
}
END_TEST

START_TEST(a_delay_that_has_not_ended_counts)
{
	double most;

	put(9, "0 0 10\n");
	put_state(9, "R");
	most = at_most("1000000000 0 60\n", "0 0 10\n");
	ck_assert_double_eq_tol(value.value, .5, 1e-9);
	ck_assert_double_eq_tol(most, 1, 1e-9);
	put_state(9, "S");
	ck_assert_double_eq_tol(utilization_at_most(u), .5, 1e-9);
	/* One that ran in the interval was not held up all the time. */
	put(7, "2000000000 0 70\n");
	put(9, "100000000 0 20\n");
	put_state(9, "R");
	ck_assert_int_eq(read_at(3 * S, 2, 2), 0);
	ck_assert_double_eq_tol(utilization_at_most(u), .55, 1e-9);
}
END_TEST

START_TEST(a_span_has_the_sums_and_those_that_work)
{
	struct utilization_span span;

	put(7, "5000000000 0 10\n");
	put(9, "5000000000 0 10\n");
	put(8, "0 0 1\n");
	ck_assert_int_eq(read_at(S, 3, 2), 0);
	ck_assert(!utilization_span(u, &span));
	put(7, "5600000000 300000000 20\n");
	put(9, "5700000000 0 20\n");
	put(8, "20000000 0 2\n"); /* a timer's */
	ck_assert_int_eq(read_at(2 * S, 3, 2), 0);
	ck_assert(utilization_span(u, &span));
	ck_assert_double_eq_tol(span.ran_s, 1.32, 1e-9);
	ck_assert_double_eq_tol(span.held_s, 0.3, 1e-9);
	ck_assert_double_eq_tol(span.most_ran_s, 0.7, 1e-9);
	ck_assert_double_eq_tol(span.most_wanted_s, 0.9, 1e-9);
	ck_assert_int_eq(span.works, 2);
	/* One that sleeps for a while is still one that works. */
	put(7, "6600000000 300000000 30\n");
	ck_assert_int_eq(read_at(3 * S, 3, 2), 0);
	ck_assert(utilization_span(u, &span));
	ck_assert_int_eq(span.works, 2);
	/* Of threads that are new nothing is known yet. */
	put(7, NULL);
	put(9, NULL);
	put(10, "0 0 1\n");
	ck_assert_int_eq(read_at(4 * S, 4, 2), 0);
	/* One of two was seen before, as a shell beside what it runs. */
	ck_assert(!utilization_span(u, &span));
	ck_assert_int_eq(read_at(5 * S, 4, 2), 0);
	ck_assert(utilization_span(u, &span));
}
END_TEST

START_TEST(a_stretch_is_the_time_per_switch)
{
	put(7, "1000 0 10\n");
	put(9, "1000 0 10\n");
	ck_assert_int_eq(read_at(S, 2, 2), 0);
	ck_assert_double_nan(utilization_stretch_s(u));
	put(7, "300001000 0 1010\n");
	put(9, "200001000 0 1010\n");
	ck_assert_int_eq(read_at(2 * S, 2, 2), 0);
	ck_assert_double_eq_tol(utilization_stretch_s(u), .5 / 2000, 1e-12);
}
END_TEST

START_TEST(who_never_leaves_his_cpu_runs_in_one_piece)
{
	put(7, "1000 0 10\n");
	ck_assert_int_eq(read_at(S, 1, 2), 0);
	put(7, "1000001000 0 10\n");
	ck_assert_int_eq(read_at(2 * S, 1, 2), 0);
	ck_assert_double_eq_tol(utilization_stretch_s(u), 1, 1e-9);
}
END_TEST

/* Of two the busier one, 9; a second later, read by all. */
static void one_is_busier(void)
{
	put(7, "0 0 10\n");
	put(9, "0 0 10\n");
	ck_assert_int_eq(read_at(S, 2, 2), 0);
	ck_assert(!utilization_still_runs(u, S + S / 2, 0.1)); /* nobody has run yet */
	put(7, "200000000 0 20\n");
	put(9, "900000000 0 20\n");
	ck_assert_int_eq(read_at(2 * S, 2, 2), 0);
}

START_TEST(the_busiest_thread_tells_that_a_step_runs)
{
	one_is_busier();
	put(9, "903000000 0 30\n");
	ck_assert(utilization_still_runs(u, 2 * S + S / 100, .25));
	/* Since that look, not since the read. */
	put(9, "905000000 0 30\n");
	ck_assert(!utilization_still_runs(u, 2 * S + S / 50, .25));
	put(9, "908000000 0 30\n");
	ck_assert(utilization_still_runs(u, 2 * S + 3 * S / 100, .25));
	ck_assert(!utilization_still_runs(u, 2 * S + 3 * S / 100, .25)); /* no time has passed */
	/* The next read is as if nobody had looked. */
	put(7, "700000000 0 30\n");
	put(9, "1000000000 0 40\n");
	ck_assert_int_eq(read_at(3 * S, 2, 2), 0);
	ck_assert_double_eq_tol(value.value, .3, 1e-9);
	/* Another one now. */
	put(9, "1000000000 0 40\n");
	put(7, "710000000 0 40\n");
	ck_assert(utilization_still_runs(u, 3 * S + S / 100, .25));
}
END_TEST

START_TEST(what_that_thread_does_not_do_tells_nothing)
{
	one_is_busier();
	put(7, "300000000 0 30\n");
	ck_assert(!utilization_still_runs(u, 2 * S + S / 10, .25));
	put(9, "100000000 0 1\n"); /* its number is another's */
	ck_assert(!utilization_still_runs(u, 2 * S + S / 5, .25));
	put(9, NULL);
	ck_assert(!utilization_still_runs(u, 2 * S + 3 * S / 10, .25));
}
END_TEST

START_TEST(garbage_names_file_and_text)
{
	value = (struct signal){0.25, PROVENANCE_OS};
	put(7, "twelve 0 0\n");
	ck_assert_int_eq(read_at(S, 1, 2), -EPROTO);
	ck_assert_ptr_nonnull(strstr(err.text, "proc/7/schedstat"));
	ck_assert_ptr_nonnull(strstr(err.text, "twelve"));
	ck_assert_double_eq(value.value, 0.25);
}
END_TEST

static void add(Suite *s, const char *behaviour, const TTest *const *test, size_t n)
{
	TCase *tc = tcase_create(behaviour);

	tcase_add_checked_fixture(tc, setup, teardown);
	/* Some write a thousand files, and some machines are slow at that. */
	tcase_set_timeout(tc, 60);
	for (size_t i = 0; i < n; i++)
		tcase_add_test(tc, test[i]);
	suite_add_tcase(s, tc);
}
#define ADD(s, behaviour, ...)                                                                     \
	add(s, behaviour, (const TTest *const[]){__VA_ARGS__},                                     \
		sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *))

/* ---- more threads than are read at a time ---- */

#define MANY    600
#define AT_ONCE 50

static pid_t many[MANY];

/* Reads what @things allow, one second after the reading before; how many it read. */
static int read_many(int *second, int n, int things)
{
	struct budget b = budget_of(things, INT64_C(3600) * S);

	ck_assert_int_eq(
		utilization_read(u, many, n, S * ++*second, 4, &b, &value, &runnable, &err), 0);
	return b.taken;
}

static void put_many(int n)
{
	for (int i = 0; i < n; i++) {
		many[i] = 1000 + i;
		put(many[i], "1000 0 10\n");
	}
}

static void put_running(int tid, int second)
{
	char text[64];

	snprintf(text, sizeof(text), "%d000000000 0 %d\n", second, 10 + second);
	put(tid, text);
}

START_TEST(of_many_threads_a_reading_reads_some_and_all_get_their_turn)
{
	int second = 0, running = 0;
	int64_t age_ns;

	put_many(MANY);
	/* One that runs all the time is found, wherever it is, and stays found. */
	for (int i = 0; i < 4 * MANY / AT_ONCE + 2; i++) {
		put_running(many[MANY - 1], second + 1);
		ck_assert_int_eq(read_many(&second, MANY, AT_ONCE), AT_ONCE);
		ck_assert_int_eq(utilization_unread(u, &age_ns), MANY - AT_ONCE);
		running += value.provenance == PROVENANCE_OS && runnable > 0.99;
	}
	ck_assert_int_ge(running, MANY / AT_ONCE);
	ck_assert_double_eq_tol(runnable, 1, 1e-6);
	ck_assert_double_eq_tol(value.value, .25, 1e-6);
	/* Nobody was left out for longer than half a budget at a time takes. */
	ck_assert_int_le(age_ns, S * (2 * MANY / AT_ONCE + 1));
	ck_assert_int_eq(read_many(&second, MANY, INT_MAX), MANY);
	ck_assert_int_eq(utilization_unread(u, &age_ns), 0);
	ck_assert_int_eq(age_ns, 0);
}
END_TEST

START_TEST(many_that_run_leave_turns_for_those_that_do_not)
{
	int second = 0;
	int64_t age_ns;

	put_many(MANY);
	for (int i = 0; i < 6 * MANY / AT_ONCE; i++) {
		for (int k = 0; k < MANY / 2; k++)
			put_running(many[k], second + 1);
		read_many(&second, MANY, AT_ONCE);
	}
	ck_assert_double_eq_tol(value.value, 1, 1e-6);
	ck_assert_double_eq_tol(runnable, MANY / 2.0, 1e-3);
	utilization_unread(u, &age_ns);
	ck_assert_int_le(age_ns, S * (2 * MANY / AT_ONCE + 2));
}
END_TEST

START_TEST(who_has_gone_is_no_longer_counted)
{
	int second = 0;

	put_many(MANY);
	for (int i = 0; i < 3 * MANY / AT_ONCE; i++) {
		put_running(many[5], second + 1);
		read_many(&second, MANY, AT_ONCE);
	}
	ck_assert_double_eq_tol(runnable, 1, 1e-6);
	put(many[5], NULL);
	read_many(&second, MANY, AT_ONCE);
	ck_assert_double_eq_tol(runnable, 0, 1e-6);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("utilization");
	SRunner *r;
	int failed;

	ADD(s, "what cannot be known is none, not 0", first_read_is_unknown,
		no_time_elapsed_is_unknown, all_gone_is_unknown, kernel_without_account_is_unknown);
	ADD(s, "one thread is enough to tell that a step runs",
		the_busiest_thread_tells_that_a_step_runs,
		what_that_thread_does_not_do_tells_nothing);
	ADD(s, "wanting to run counts as running", shared_core_reads_busy, half_idle_reads_half,
		more_threads_than_cores_is_clamped);
	ADD(s, "threads that come or go count with what was seen of them",
		new_thread_only_remembered, gone_thread_left_out, reused_number_only_remembered);
	ADD(s, "what it would want without others has a bound", alone_it_is_what_it_is,
		one_held_up_may_hold_up_the_other, one_of_two_is_one_of_two_also_when_held_up,
		a_delay_that_has_not_ended_counts);
	ADD(s, "what a span's time went into", a_span_has_the_sums_and_those_that_work);
	ADD(s, "how long they run at a time", a_stretch_is_the_time_per_switch,
		who_never_leaves_his_cpu_runs_in_one_piece);
	ADD(s, "of many threads some are read at a time",
		of_many_threads_a_reading_reads_some_and_all_get_their_turn,
		many_that_run_leave_turns_for_those_that_do_not, who_has_gone_is_no_longer_counted);
	ADD(s, "a text that is no schedstat is an error", garbage_names_file_and_text);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
