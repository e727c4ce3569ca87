/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes have loaded, by files that stand for /proc, and what a program's next launch knows
 * of it.
 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/runtimes.h"
#include "nodesvc/counters/mapped.h"
#include "nodesvc/launch/learned.h"
#include "nodesvc/record/record.h"
#include "tests/unit/deaf.h"
#include "tests/unit/fstree.h"

#define S INT64_C(1000000000)

static struct fstree tree;
static struct mapped m;

static void setup(void)
{
	fstree_make(&tree);
	memset(&m, 0, sizeof(m));
}

static void teardown(void)
{
	look_done(&m.look);
	fstree_remove(&tree);
}

static void thread_of(int tid, int pid, const char *maps)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "proc/%d/status", tid);
	snprintf(text, sizeof(text), "Name:\tx\nTgid:\t%d\n", pid);
	fstree_put(&tree, path, text);
	snprintf(path, sizeof(path), "proc/%d/maps", tid);
	fstree_put(&tree, path, maps);
}

/* To the end of a look. */
static void sample(const pid_t *tid, int n, int64_t now_ns)
{
	int of;

	mapped_sample(&m, &tree.root, tid, n, now_ns);
	for (int i = 0; i < 10000 && look_left(m.look, &of); i++)
		mapped_go_on(&m);
	ck_assert_int_eq(look_left(m.look, &of), 0);
}

START_TEST(what_a_process_loads_is_seen_at_the_first_look)
{
	const pid_t tid[] = {10, 11};

	thread_of(10, 10,
		"55d0-55d1 r-xp 0 08:01 9 /usr/bin/python3.11\n"
		"7f00-7f01 r-xp 0 08:01 7 /x/numpy.libs/libscipy_openblas64_-1.so\n"
		"7f01-7f02 rw-p 0 00:00 0 \n"
		"7f02-7f03 r-xp 0 08:01 8 /usr/lib/libgomp.so.1.0.0 (deleted)\n"
		"7fff-7fff r-xp 0 00:00 0 [vdso]");
	/* A thread maps what its process does, and is not asked. */
	thread_of(11, 10, "7f00-7f01 r-xp 0 08:01 7 /usr/lib/libmpich.so.12\n");
	sample(tid, 2, 1 * S);
	ck_assert_uint_eq(m.runtimes, 0);
	sample(tid, 2, 2 * S);
	ck_assert_uint_eq(m.runtimes, RUNTIME_OPENBLAS | RUNTIME_LIBGOMP);
}
END_TEST

START_TEST(number_of_its_code_tells_what_was_loaded)
{
	uint64_t before;

	ck_assert_uint_eq(mapped_code(&tree.root, 10), 0);
	fstree_put(&tree, "proc/10/exe", "");
	fstree_put(&tree, "proc/10/status", "Name:\tx\nVmExe:\t     4 kB\nVmLib:\t  1600 kB\n");
	before = mapped_code(&tree.root, 10);
	ck_assert_uint_ne(before, 0);
	ck_assert_uint_eq(mapped_code(&tree.root, 10), before);
	fstree_put(&tree, "proc/10/status", "Name:\tx\nVmExe:\t     4 kB\nVmLib:\t  1604 kB\n");
	ck_assert_uint_ne(mapped_code(&tree.root, 10), before);
	/* Another program of the same size. */
	fstree_put(&tree, "proc/11/exe", "");
	fstree_put(&tree, "proc/11/status", "Name:\tx\nVmExe:\t     4 kB\nVmLib:\t  1600 kB\n");
	ck_assert_uint_ne(mapped_code(&tree.root, 11), before);
	/* A thread of the kernel, and who has ended. */
	fstree_put(&tree, "proc/10/status", "Name:\tx\n");
	ck_assert_uint_eq(mapped_code(&tree.root, 10), 0);
}
END_TEST

START_TEST(no_file_system_is_waited_for)
{
	int status;
	pid_t child;

	fstree_put(&tree, "proc/10/exe", "");
	fstree_put(&tree, "proc/10/status", "Name:\tx\nVmExe:\t     4 kB\nVmLib:\t  1600 kB\n");
	child = fork();
	if (child == 0)
		_exit(!deaf_begin() ? 77 : mapped_code(&tree.root, 10) == 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0 || status == 77 << 8, "status %x", status);
}
END_TEST

START_TEST(what_comes_later_is_added_at_a_later_look)
{
	const pid_t tid[] = {10};
	int looks = 0;

	thread_of(10, 10, "7f00-7f01 r-xp 0 08:01 7 /usr/lib/libgomp.so.1\n");
	sample(tid, 1, 1 * S);
	sample(tid, 1, 2 * S);
	thread_of(10, 10, "7f00-7f01 r-xp 0 08:01 7 /usr/lib/libomp.so.5\n");
	/* Not at each sample: a look costs. */
	for (int64_t t = 3; t < 3600; t++) {
		int64_t next_ns = m.next_ns;

		sample(tid, 1, t * S);
		looks += m.next_ns != next_ns;
	}
	ck_assert_uint_eq(m.runtimes, RUNTIME_LIBGOMP | RUNTIME_LIBOMP);
	ck_assert_int_ge(looks, 12);
	ck_assert_int_le(looks, 25);
}
END_TEST

START_TEST(of_many_processes_others_are_asked_each_time)
{
	enum { N = 3 * MAPPED_LOOK_MAX };
	pid_t tid[N];

	for (int i = 0; i < N; i++) {
		tid[i] = 100 + i;
		thread_of(100 + i, 100 + i,
			i == N - 1 ? "7f00-7f01 r-xp 0 08:01 7 /usr/lib/libmpi.so.40\n" : "");
	}
	sample(tid, N, 1 * S);
	sample(tid, N, 10 * S);
	sample(tid, N, 100 * S);
	ck_assert_uint_eq(m.runtimes, 0);
	sample(tid, N, 1000 * S);
	ck_assert_uint_eq(m.runtimes, RUNTIME_OPENMPI);
}
END_TEST

START_TEST(lines_of_any_length_and_none_are_read)
{
	static char text[100000];
	const pid_t tid[] = {10, 12};
	size_t n = 0;

	/* Names that begin, end and stand across what is read at once. */
	while (n < sizeof(text) - 200)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
			"7f00-7f01 r--p 0 08:01 7 /a/%0*d.so\n", (int)(n % 97) + 1, 0);
	snprintf(text + n, sizeof(text) - n, "7f00-7f01 r-xp 0 08:01 7 /a/libblis.so.4\n");
	thread_of(10, 10, text);
	memset(text, '/', sizeof(text) - 1); /* no kernel writes this */
	thread_of(12, 12, text);
	sample(tid, 2, 1 * S);
	sample(tid, 2, 2 * S);
	ck_assert_uint_eq(m.runtimes, RUNTIME_BLIS);
}
END_TEST

START_TEST(who_has_gone_maps_nothing)
{
	const pid_t tid[] = {10};

	sample(tid, 1, 1 * S);
	sample(tid, 1, 2 * S);
	sample(tid, 0, 9 * S);
	ck_assert_uint_eq(m.runtimes, 0);
}
END_TEST

/* ---- the next launch ---- */

static uint64_t key_of(const char *name, const char *script)
{
	struct msg msg;

	msg_init(&msg, "step_start");
	msg_put(&msg, "name", name);
	if (script)
		msg_put(&msg, "script", script);
	return learned_key(&msg);
}

START_TEST(a_program_is_a_command_its_script_and_its_user)
{
	struct learned *l = learned_new();

	ck_assert_uint_eq(learned_of(l, 7, key_of("python3", "01")), 0);
	learned_note(l, 7, key_of("python3", "01"), RUNTIME_LIBGOMP);
	learned_note(l, 7, key_of("python3", "01"), RUNTIME_OPENBLAS);
	ck_assert_uint_eq(
		learned_of(l, 7, key_of("python3", "01")), RUNTIME_LIBGOMP | RUNTIME_OPENBLAS);
	ck_assert_uint_eq(learned_of(l, 7, key_of("python3", "02")), 0);
	ck_assert_uint_eq(learned_of(l, 7, key_of("python3", NULL)), 0);
	ck_assert_uint_eq(learned_of(l, 7, key_of("perl", "01")), 0);
	ck_assert_uint_eq(learned_of(l, 8, key_of("python3", "01")), 0);
	learned_free(l);
	learned_note(NULL, 7, 1, 1);
	ck_assert_uint_eq(learned_of(NULL, 7, 1), 0);
}
END_TEST

START_TEST(of_many_programs_those_launched_last_are_known)
{
	struct learned *l = learned_new();

	for (uint64_t key = 1; key <= 3 * LEARNED_MAX; key++) {
		learned_note(l, 7, key, RUNTIME_LIBGOMP);
		ck_assert_uint_eq(learned_of(l, 7, 1), RUNTIME_LIBGOMP); /* in use */
	}
	ck_assert_uint_eq(learned_of(l, 7, 2), 0);
	ck_assert_uint_eq(learned_of(l, 7, 3 * LEARNED_MAX), RUNTIME_LIBGOMP);
	learned_free(l);
}
END_TEST

START_TEST(a_users_many_programs_take_nobodys_place)
{
	struct learned *l = learned_new();

	learned_note(l, 7, 1, RUNTIME_LIBGOMP);
	for (uint64_t key = 1; key <= 3 * LEARNED_MAX; key++)
		learned_note(l, 8, key, RUNTIME_OPENBLAS);
	ck_assert_uint_eq(learned_of(l, 7, 1), RUNTIME_LIBGOMP);
	ck_assert_uint_eq(learned_of(l, 8, 1), 0);
	ck_assert_uint_eq(learned_of(l, 8, 3 * LEARNED_MAX), RUNTIME_OPENBLAS);
	learned_free(l);
}
END_TEST

static struct record *open_store(void)
{
	struct record *r = NULL;
	struct errbuf err;

	ck_assert_msg(record_open(&r, ":memory:", false, &err) == 0, "%s", err.text);
	return r;
}

static int count(const struct learnt *row, void *arg)
{
	(void)row;
	++*(int *)arg;
	return 0;
}

static int rows(struct record *r)
{
	int n = 0;

	ck_assert_int_eq(record_learnt_list(r, "loads", count, &n, NULL), 0);
	return n;
}

static struct learned *after_restart(struct learned *l, struct record *r)
{
	struct errbuf err;

	ck_assert_msg(learned_save(l, r, &err) == 0, "%s", err.text);
	learned_free(l);
	l = learned_new();
	ck_assert_msg(learned_load(l, r, &err) == 0, "%s", err.text);
	return l;
}

START_TEST(the_next_daemon_knows_what_programs_load)
{
	struct record *r = open_store();
	struct learned *l = learned_new();

	learned_note(l, 7, UINT64_MAX, RUNTIME_LIBGOMP);
	learned_note(l, UINT32_MAX - 1, 5, RUNTIMES_ALL);
	l = after_restart(l, r);
	ck_assert_uint_eq(learned_of(l, 7, UINT64_MAX), RUNTIME_LIBGOMP);
	ck_assert_uint_eq(learned_of(l, UINT32_MAX - 1, 5), RUNTIMES_ALL);
	/* Nobody else. */
	ck_assert_uint_eq(learned_of(l, 8, UINT64_MAX), 0);
	ck_assert_uint_eq(learned_of(l, 7, 5), 0);
	/* More of the same program. */
	learned_note(l, 7, UINT64_MAX, RUNTIME_OPENBLAS);
	l = after_restart(l, r);
	ck_assert_uint_eq(learned_of(l, 7, UINT64_MAX), RUNTIME_LIBGOMP | RUNTIME_OPENBLAS);
	ck_assert_int_eq(rows(r), 2);
	/* What is known is not written again at each launch. */
	ck_assert_int_eq(record_learnt_rm(r, "loads", "7", "ffffffffffffffff", NULL), 1);
	learned_note(l, 7, UINT64_MAX, RUNTIME_OPENBLAS);
	ck_assert_int_eq(learned_save(l, r, NULL), 0);
	ck_assert_int_eq(rows(r), 1);
	learned_free(l);
	record_close(r);
	ck_assert_int_eq(learned_load(NULL, NULL, NULL), 0);
	ck_assert_int_eq(learned_save(NULL, NULL, NULL), 0);
}
END_TEST

static void had(struct learned *l, uint64_t key, double cores)
{
	learned_note_run(l, 7, key, &(struct learned_run){.cores = cores});
}

static void took(struct learned *l, double cores, double seconds, bool all)
{
	learned_note_run(
		l, 7, 5, &(struct learned_run){.cores = cores, .took_s = seconds, .all = all});
}

START_TEST(all_threads_are_tried_where_they_save_time)
{
	struct learned *l = learned_new();

	ck_assert(!learned_takes_all(l, 7, 5, 1, 1, 2));
	took(l, 1.19, 10, false); /* 19 % of it on both: half of that */
	ck_assert(!learned_takes_all(l, 7, 5, 1, 1, 2));
	took(l, 1.4, 10, false);
	ck_assert(learned_takes_all(l, 7, 5, 1, 1, 2));
	/* What it is granted, or begins with, is all there is; or not known. */
	ck_assert(!learned_takes_all(l, 7, 5, 2, 2, 2));
	ck_assert(!learned_takes_all(l, 7, 5, 1, 2, 2));
	ck_assert(!learned_takes_all(l, 7, 5, 0, 0, 2));
	ck_assert(!learned_takes_all(l, 8, 5, 1, 1, 2));
	ck_assert(!learned_takes_all(NULL, 7, 5, 1, 1, 2));
	/* Of eight, four of which it begins with, one being its own: more of it goes on two. */
	took(l, 6, 10, false);
	ck_assert(learned_takes_all(l, 7, 5, 1, 2, 8));
	ck_assert(!learned_takes_all(l, 7, 5, 1, 7, 8));
	learned_free(l);
}
END_TEST

START_TEST(all_threads_are_not_tried_for_good_where_no_run_completes)
{
	struct learned *l = learned_new();

	took(l, 1.5, 10, false);
	for (int i = 0; i < 3; i++) {
		ck_assert(learned_takes_all(l, 7, 5, 1, 1, 2));
		learned_note_lost(l, 7, 5);
	}
	ck_assert(!learned_takes_all(l, 7, 5, 1, 1, 2));
	/* One that does, if it is begun so by the user, is heard. */
	took(l, 1.5, 8, true);
	ck_assert(learned_takes_all(l, 7, 5, 1, 1, 2));
	learned_note_lost(l, 8, 5);
	learned_note_lost(NULL, 7, 5);
	learned_free(l);
}
END_TEST

START_TEST(all_threads_go_where_they_take_longer)
{
	struct record *r = open_store();
	struct learned *l = learned_new();

	took(l, 1.5, 10, false);
	took(l, 1.5, 14, true);
	ck_assert(!learned_takes_all(l, 7, 5, 1, 1, 2));
	l = after_restart(l, r);
	ck_assert(!learned_takes_all(l, 7, 5, 1, 1, 2));
	/* Those with few were lucky. */
	for (int i = 0; i < 40; i++)
		took(l, 1.5, 20, false);
	ck_assert(learned_takes_all(l, 7, 5, 1, 1, 2));
	l = after_restart(l, r);
	ck_assert(learned_takes_all(l, 7, 5, 1, 1, 2));
	/* What is no time is none. */
	for (int i = 0; i < 40; i++)
		took(l, 1.5, i % 2 ? NAN : 0, false);
	ck_assert(learned_takes_all(l, 7, 5, 1, 1, 2));
	learned_free(l);
	record_close(r);
}
END_TEST

START_TEST(the_next_daemon_knows_what_cores_programs_had)
{
	struct record *r = open_store();
	struct learned *l = learned_new();

	ck_assert_double_eq(learned_cores_of(l, 7, 5), 0);
	had(l, 5, 8);
	had(l, 5, 4);
	ck_assert_double_eq(learned_cores_of(l, 7, 5), 6);
	ck_assert_double_eq(learned_cores_of(l, 8, 5), 0);
	learned_note(l, 7, 6, RUNTIME_LIBGOMP);
	l = after_restart(l, r);
	ck_assert_double_eq(learned_cores_of(l, 7, 5), 6);
	ck_assert_uint_eq(learned_of(l, 7, 5), 0);
	ck_assert_double_eq(learned_cores_of(l, 7, 6), 0);
	/* Beside what it loads. */
	had(l, 6, 3.5);
	l = after_restart(l, r);
	ck_assert_double_eq(learned_cores_of(l, 7, 6), 3.5);
	ck_assert_uint_eq(learned_of(l, 7, 6), RUNTIME_LIBGOMP);
	ck_assert_int_eq(rows(r), 2);
	/* What is no number of cores is none. */
	had(l, 9, 0);
	had(l, 9, NAN);
	had(l, 9, 1e9);
	ck_assert_double_eq(learned_cores_of(l, 7, 9), 0);
	had(NULL, 9, 1);
	ck_assert_double_eq(learned_cores_of(NULL, 7, 9), 0);
	learned_free(l);
	record_close(r);
}
END_TEST

START_TEST(the_store_has_as_many_programs_as_are_known)
{
	struct record *r = open_store();
	struct learned *l = learned_new();

	for (uint64_t key = 1; key <= 3 * LEARNED_MAX; key++) {
		learned_note(l, 7, key, RUNTIME_LIBGOMP);
		if (key % 100 == 0)
			ck_assert_int_eq(learned_save(l, r, NULL), 0);
	}
	l = after_restart(l, r);
	ck_assert_int_eq(rows(r), LEARNED_MAX);
	ck_assert_uint_eq(learned_of(l, 7, 1), 0);
	ck_assert_uint_eq(learned_of(l, 7, 3 * LEARNED_MAX), RUNTIME_LIBGOMP);
	learned_free(l);
	record_close(r);
}
END_TEST

START_TEST(rows_that_cannot_be_are_passed_over)
{
	static const char *const odd[][3] = {{"7", "5", ""}, {"7", "5", "x"}, {"7", "5", "0"},
		{"7", "5", "1x"}, {"7", "5", "ffffffff"}, {"7", "0", "1"}, {"7", "x", "1"},
		{"7", "5", "1 x"}, {"7", "5", "1 -1"}, {"7", "5", "0 0"}, {"7", "5", "1 nan"},
		{"7", "5", "1 1e9"}, {"7", "5", "1 2x"}, {"-1", "5", "1"}, {"4294967296", "5", "1"},
		{"", "5", "1"}, {"7 ", "5", "1"}};
	struct record *r = open_store();
	struct learned *l = learned_new();

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct learnt row = {.what = "loads",
			.node_type = i % 2 ? "" : "n",
			.owner = odd[i][0],
			.name = odd[i][1],
			.value = odd[i][2]};

		ck_assert_int_eq(record_learnt_put(r, &row, 100, NULL), 0);
		ck_assert_int_eq(learned_load(l, r, NULL), 0);
		ck_assert_uint_eq(learned_of(l, 7, 5), 0);
		ck_assert_uint_eq(learned_of(l, (uid_t)-1, 5), 0);
		ck_assert_uint_eq(learned_of(l, 0, 5), 0);
	}
	learned_free(l);
	record_close(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mapped");
	TCase *t = tcase_create("what a program loads is seen, and known at its next launch");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_a_process_loads_is_seen_at_the_first_look);
	tcase_add_test(t, what_comes_later_is_added_at_a_later_look);
	tcase_add_test(t, number_of_its_code_tells_what_was_loaded);
	tcase_add_test(t, no_file_system_is_waited_for);
	tcase_add_test(t, of_many_processes_others_are_asked_each_time);
	tcase_add_test(t, lines_of_any_length_and_none_are_read);
	tcase_add_test(t, who_has_gone_maps_nothing);
	tcase_add_test(t, a_program_is_a_command_its_script_and_its_user);
	tcase_add_test(t, of_many_programs_those_launched_last_are_known);
	tcase_add_test(t, a_users_many_programs_take_nobodys_place);
	tcase_add_test(t, the_next_daemon_knows_what_programs_load);
	tcase_add_test(t, the_next_daemon_knows_what_cores_programs_had);
	tcase_add_test(t, all_threads_are_tried_where_they_save_time);
	tcase_add_test(t, all_threads_go_where_they_take_longer);
	tcase_add_test(t, all_threads_are_not_tried_for_good_where_no_run_completes);
	tcase_add_test(t, the_store_has_as_many_programs_as_are_known);
	tcase_add_test(t, rows_that_cannot_be_are_passed_over);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
