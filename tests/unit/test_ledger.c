/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "nodesvc/record/ledger.h"
#include "tests/unit/tmpdir.h"

#define STEP "sys/fs/cgroup/cpuset/slurm_n1/uid_0/job_7/step_0"

static struct tmpdir tmp;
static struct ledger *ledger;
static struct errbuf err;

static void setup(void)
{
	memset(&err, 0, sizeof(err));
	tmpdir_create(&tmp);
	ck_assert_int_eq(ledger_open(&ledger, tmpdir_path(&tmp, "ledger.db"), "boot-1", &err), 0);
}

static void teardown(void)
{
	ledger_close(ledger);
	ledger = NULL;
	tmpdir_remove(&tmp);
}

static struct ledger_cpuset cpuset(const char *path, uint64_t inode, const char *cpus)
{
	struct ledger_cpuset cs = {.inode = inode};

	snprintf(cs.path, sizeof(cs.path), "%s", path);
	snprintf(cs.cpus, sizeof(cs.cpus), "%s", cpus);
	return cs;
}

static struct ledger_thread thread(const char *path, pid_t tid, uint64_t start, const char *mask)
{
	struct ledger_thread t = {.tid = tid, .start_ticks = start};

	snprintf(t.path, sizeof(t.path), "%s", path);
	ck_assert_int_eq(coreset_parse(&t.mask, mask, NULL), 0);
	return t;
}

static void add(struct ledger *l, uint64_t inode, const char *cpus, const char *mask)
{
	struct ledger_cpuset cs = cpuset(STEP, inode, cpus);
	struct ledger_thread t[2] = {thread(STEP, 100, 5, mask), thread(STEP, 101, 6, mask)};

	ck_assert_msg(ledger_add(l, &cs, t, 2, &err) == 0, "%s", err.text);
}

START_TEST(add_cpuset_and_threads_reads_back)
{
	struct ledger_cpuset cs;
	struct ledger_thread *t = NULL;
	int n = 0;
	char text[CORESET_STR_MAX];

	add(ledger, UINT64_MAX, "0-3,8", "1023");
	ck_assert_int_eq(ledger_get_cpuset(ledger, STEP, &cs, &err), 0);
	ck_assert_str_eq(cs.path, STEP);
	ck_assert_str_eq(cs.cpus, "0-3,8");
	ck_assert(cs.inode == UINT64_MAX);
	ck_assert_int_eq(ledger_get_threads(ledger, STEP, &t, &n, &err), 0);
	ck_assert_int_eq(n, 2);
	ck_assert_int_eq(t[0].tid, 100);
	ck_assert_uint_eq(t[0].start_ticks, 5);
	ck_assert_int_eq(t[1].tid, 101);
	ck_assert_str_eq(coreset_format(&t[1].mask, text, sizeof(text)), "1023");
	free(t);
	ck_assert_int_eq(ledger_count(ledger), 3);
}
END_TEST

static int count_pins(const char *path, char *first, size_t size)
{
	struct ledger_thread *pin = NULL;
	int n = -1;

	ck_assert_int_eq(ledger_get_pins(ledger, path, &pin, &n, &err), 0);
	if (n > 0)
		coreset_format(&pin[0].mask, first, size);
	free(pin);
	return n;
}

static void record_pins(const char *path, const char *mask, int n)
{
	struct ledger_thread pin[2] = {thread(path, 100, 5, mask), thread(path, 101, 6, mask)};

	ck_assert_int_eq(ledger_record(ledger, NULL, NULL, 0, path, pin, n, &err), 0);
}

START_TEST(pins_are_replaced_and_go_with_their_cpuset)
{
	struct ledger_cpuset namesake = cpuset(STEP, 2, "1");
	char text[CORESET_STR_MAX] = "";

	add(ledger, 1, "0-3", "0-3");
	record_pins(STEP, "0", 2);
	record_pins("other", "2", 1);
	record_pins(STEP, "1", 1);
	ck_assert_int_eq(ledger_count(ledger), 3 + 2);
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 1);
	ck_assert_str_eq(text, "1");
	add(ledger, 1, "0-3", "0-3"); /* without pins: they stay */
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 1);
	record_pins(STEP, "1", 0);
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 0);
	record_pins(STEP, "1", 2);
	ck_assert_int_eq(ledger_add(ledger, &namesake, NULL, 0, &err), 0);
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 0);
	record_pins(STEP, "1", 2);
	ck_assert_int_eq(ledger_forget(ledger, STEP, &err), 0);
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 0);
	ck_assert_int_eq(count_pins("other", text, sizeof(text)), 1);
	ck_assert_str_eq(text, "2");
	ledger_close(ledger);
	ck_assert_int_eq(ledger_open(&ledger, tmpdir_path(&tmp, "ledger.db"), "boot-2", &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(add_threads_without_cpuset_lists_their_path)
{
	struct ledger_thread t = thread("a/b", 7, 1, "0");
	struct ledger_cpuset cs;
	char **paths = NULL;
	int n = 0;

	ck_assert_int_eq(ledger_add(ledger, NULL, &t, 1, &err), 0);
	ck_assert_int_eq(ledger_get_cpuset(ledger, "a/b", &cs, &err), -ENOENT);
	ck_assert_int_eq(ledger_paths(ledger, &paths, &n, &err), 0);
	ck_assert_int_eq(n, 1);
	ck_assert_str_eq(paths[0], "a/b");
	free(paths[0]);
	free(paths);
}
END_TEST

START_TEST(unknown_path_is_enoent_and_no_threads)
{
	struct ledger_cpuset cs = {.inode = 42};
	struct ledger_thread *t = NULL;
	int n = -1;

	ck_assert_int_eq(ledger_get_cpuset(ledger, "no/such", &cs, &err), -ENOENT);
	ck_assert_str_eq(err.text, "no/such: nothing recorded in the ledger");
	ck_assert_uint_eq(cs.inode, 42);
	ck_assert_int_eq(ledger_get_threads(ledger, "no/such", &t, &n, &err), 0);
	ck_assert_int_eq(n, 0);
	free(t);
}
END_TEST

START_TEST(second_original_is_ignored)
{
	struct ledger_cpuset cs;
	struct ledger_thread *t = NULL;
	int n = 0;
	char text[CORESET_STR_MAX];

	add(ledger, 1, "0-3", "0-3");
	add(ledger, 1, "0", "0");
	ck_assert_int_eq(ledger_get_cpuset(ledger, STEP, &cs, &err), 0);
	ck_assert_str_eq(cs.cpus, "0-3");
	ck_assert_int_eq(ledger_get_threads(ledger, STEP, &t, &n, &err), 0);
	ck_assert_int_eq(n, 2);
	ck_assert_str_eq(coreset_format(&t[0].mask, text, sizeof(text)), "0-3");
	free(t);
}
END_TEST

START_TEST(reused_tid_is_another_thread)
{
	struct ledger_thread t = thread(STEP, 100, 99, "1");

	add(ledger, 1, "0-3", "0-3");
	ck_assert_int_eq(ledger_add(ledger, NULL, &t, 1, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 4);
}
END_TEST

START_TEST(namesake_with_another_inode_replaces)
{
	struct ledger_cpuset cs = cpuset(STEP, 2, "1");

	add(ledger, 1, "0-3", "0-3");
	ck_assert_int_eq(ledger_add(ledger, &cs, NULL, 0, &err), 0);
	ck_assert_int_eq(ledger_get_cpuset(ledger, STEP, &cs, &err), 0);
	ck_assert_str_eq(cs.cpus, "1");
	ck_assert_uint_eq(cs.inode, 2);
	ck_assert_int_eq(ledger_count(ledger), 1);
}
END_TEST

START_TEST(forget_removes_one_path_only)
{
	struct ledger_cpuset other = cpuset("other", 3, "2"), cs;

	add(ledger, 1, "0-3", "0-3");
	ck_assert_int_eq(ledger_add(ledger, &other, NULL, 0, &err), 0);
	ck_assert_int_eq(ledger_forget(ledger, STEP, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 1);
	ck_assert_int_eq(ledger_get_cpuset(ledger, "other", &cs, &err), 0);
	ck_assert_int_eq(ledger_forget(ledger, "never/was", &err), 0);
}
END_TEST

START_TEST(commit_is_seen_by_a_second_connection)
{
	struct ledger *second = NULL;
	struct ledger_cpuset cs;

	add(ledger, 1, "0-3", "0-3");
	/* The first stays open, as after kill -9 nobody closes it. */
	ck_assert_int_eq(ledger_open(&second, tmpdir_path(&tmp, "ledger.db"), "boot-1", &err), 0);
	ck_assert_int_eq(ledger_count(second), 3);
	ck_assert_int_eq(ledger_get_cpuset(second, STEP, &cs, &err), 0);
	ck_assert_str_eq(cs.cpus, "0-3");
	ledger_close(second);
}
END_TEST

START_TEST(another_boot_drops_all_rows)
{
	add(ledger, 1, "0-3", "0-3");
	ledger_close(ledger);
	ck_assert_int_eq(ledger_open(&ledger, tmpdir_path(&tmp, "ledger.db"), "boot-2", &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 0);
	add(ledger, 1, "0-3", "0-3");
	ledger_close(ledger);
	ck_assert_int_eq(ledger_open(&ledger, tmpdir_path(&tmp, "ledger.db"), "boot-2", &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 3);
}
END_TEST

START_TEST(in_memory_works)
{
	struct ledger *l = NULL;

	ck_assert_int_eq(ledger_open(&l, ":memory:", "b", &err), 0);
	add(l, 1, "0", "0");
	ck_assert_int_eq(ledger_count(l), 3);
	ledger_close(l);
	ledger_close(NULL);
}
END_TEST

START_TEST(new_file_is_private)
{
	struct stat st;

	ck_assert_int_eq(stat(tmpdir_path(&tmp, "ledger.db"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
}
END_TEST

static void assert_refused(const char *name, int rc, const char *text)
{
	struct ledger *l = NULL;
	char want[400];

	ck_assert_int_eq(ledger_open(&l, tmpdir_path(&tmp, name), "b", &err), rc);
	ck_assert_ptr_null(l);
	snprintf(want, sizeof(want), "%s: %s", tmp.path, text);
	ck_assert_str_eq(err.text, want);
}

START_TEST(missing_directory_is_refused)
{
	assert_refused("no/such/ledger.db", -ENOENT, "cannot create: No such file or directory");
}
END_TEST

START_TEST(text_file_is_refused_and_kept)
{
	char back[64] = "";
	FILE *f;

	tmpdir_write(&tmp, "text",
		"this is a text file, long enough to be read as a header.....\n"
		"this is a text file, long enough to be read as a header.....\n");
	assert_refused("text", -EBADMSG,
		"cannot read: damaged or no database (file is not a database); left as it is, "
		"move it away to start afresh");
	f = fopen(tmpdir_path(&tmp, "text"), "r");
	ck_assert_ptr_nonnull(fgets(back, sizeof(back), f));
	fclose(f);
	ck_assert_str_eq(back, "this is a text file, long enough to be read as a header.....\n");
}
END_TEST

START_TEST(damaged_page_is_refused)
{
	FILE *f;

	for (int i = 0; i < 200; i++) {
		struct ledger_cpuset cs = cpuset("", 1, "0-3");

		snprintf(cs.path, sizeof(cs.path), "%s_%d", STEP, i);
		ck_assert_int_eq(ledger_add(ledger, &cs, NULL, 0, &err), 0);
	}
	ledger_close(ledger);
	ledger = NULL;
	f = fopen(tmpdir_path(&tmp, "ledger.db"), "r+");
	ck_assert_ptr_nonnull(f);
	for (long page = 1; page < 5; page++) {
		ck_assert_int_eq(fseek(f, page * 4096, SEEK_SET), 0);
		for (int i = 0; i < 64; i++)
			fputc(0xee, f);
	}
	fclose(f);
	assert_refused("ledger.db", -EBADMSG,
		"cannot check: damaged or no database (database disk image is malformed); left as "
		"it is, move it away to start afresh");
}
END_TEST

static void sql(const char *name, const char *text)
{
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, name), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

START_TEST(foreign_database_is_refused)
{
	sql("foreign.db", "CREATE TABLE t (x)");
	assert_refused(
		"foreign.db", -EMEDIUMTYPE, "a database, but not Coloc's ledger; left as it is");
}
END_TEST

START_TEST(newer_schema_is_refused)
{
	ledger_close(ledger);
	ledger = NULL;
	sql("ledger.db", "PRAGMA user_version = 7");
	assert_refused("ledger.db", -EPROTONOSUPPORT,
		"ledger schema 7 is newer than this program's 4: a newer Coloc wrote it");
}
END_TEST

START_TEST(mask_that_is_none_is_named)
{
	struct ledger_thread *t = NULL;
	int n = -1;

	add(ledger, 1, "0-3", "0-3");
	sql("ledger.db", "UPDATE thread SET mask = '0-x' WHERE tid = 101");
	ck_assert_int_eq(ledger_get_threads(ledger, STEP, &t, &n, &err), -EINVAL);
	ck_assert_str_eq(err.text, "ledger: mask of thread 101: '0-x' is not a list of CPUs");
	ck_assert_ptr_null(t);
	ck_assert_int_eq(n, -1);
	ck_assert_int_eq(ledger_count(ledger), 3);
}
END_TEST

START_TEST(older_schema_keeps_its_rows)
{
	char text[CORESET_STR_MAX] = "";

	add(ledger, 1, "0-3", "0-3");
	ledger_close(ledger);
	ledger = NULL;
	sql("ledger.db", "DROP TABLE pin; DROP TABLE given; PRAGMA user_version = 2");
	ck_assert_int_eq(ledger_open(&ledger, tmpdir_path(&tmp, "ledger.db"), "boot-1", &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 3);
	record_pins(STEP, "0", 1);
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 1);
}
END_TEST

static struct ledger_given given(const char *set, struct coreset *mask, int n)
{
	struct ledger_given g = {.path = STEP, .mask = mask, .n = n};

	ck_assert_int_eq(coreset_parse(&g.set, set, NULL), 0);
	return g;
}

START_TEST(masks_that_were_given_are_replaced_and_go_with_their_cpuset)
{
	struct coreset mask[2] = {{{0x3}}, {{0x14}}};
	struct ledger_cpuset cs = cpuset(STEP, 1, "0-7");
	struct ledger_thread t = thread(STEP, 100, 5, "0-7"), pin = thread(STEP, 101, 6, "3");
	struct ledger_given g = given("0-3", mask, 2), got;
	char text[CORESET_STR_MAX];

	ck_assert_int_eq(ledger_get_given(ledger, STEP, &got, &err), -ENOENT);
	ck_assert_int_eq(ledger_steer(ledger, &cs, &t, 1, &pin, 1, false, &g, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 4);
	ck_assert_int_eq(ledger_get_given(ledger, STEP, &got, &err), 0);
	ck_assert_str_eq(coreset_format(&got.set, text, sizeof(text)), "0-3");
	ck_assert_int_eq(got.n, 2);
	ck_assert(coreset_is_equal(&got.mask[0], &mask[0]));
	ck_assert(coreset_is_equal(&got.mask[1], &mask[1]));
	free(got.mask);
	/* A thread chooses anew, another too; then they are all there are. */
	pin = thread(STEP, 101, 6, "4");
	g = given("2", NULL, 0);
	ck_assert_int_eq(ledger_steer(ledger, NULL, NULL, 0, &pin, 1, false, &g, &err), 0);
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 1);
	ck_assert_str_eq(text, "4");
	ck_assert_int_eq(ledger_get_given(ledger, STEP, &got, &err), 0);
	ck_assert_int_eq(got.n, 0);
	free(got.mask);
	pin = thread(STEP, 102, 7, "1");
	ck_assert_int_eq(ledger_steer(ledger, NULL, NULL, 0, &pin, 1, true, &g, &err), 0);
	ck_assert_int_eq(count_pins(STEP, text, sizeof(text)), 1);
	ck_assert_str_eq(text, "1");
	ck_assert_int_eq(ledger_forget(ledger, STEP, &err), 0);
	ck_assert_int_eq(ledger_count(ledger), 0);
}
END_TEST

START_TEST(directory_as_file_is_refused)
{
	struct ledger *l = NULL;

	ck_assert_int_lt(ledger_open(&l, tmp.dir, "b", &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, tmp.dir));
	ck_assert_ptr_null(l);
}
END_TEST

START_TEST(locked_database_is_busy_and_nothing_is_written)
{
	struct ledger_cpuset cs = cpuset(STEP, 1, "0");
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "ledger.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_eq(ledger_add(ledger, &cs, NULL, 0, &err), -EBUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot begin: database is locked"));
	sqlite3_close(db);
	ck_assert_int_eq(ledger_count(ledger), 0);
	ck_assert_int_eq(ledger_add(ledger, &cs, NULL, 0, &err), 0);
}
END_TEST

static void tcase(Suite *s, const char *name, const TTest *const *tests, int n)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	for (int i = 0; i < n; i++)
		tcase_add_test(t, tests[i]);
	suite_add_tcase(s, t);
}
#define TCASE(s, name, ...)                                                                        \
	tcase(s, name, (const TTest *const[]){__VA_ARGS__},                                        \
		(int)(sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *)))

int main(void)
{
	Suite *s = suite_create("ledger");
	SRunner *r;
	int failed;

	TCASE(s, "what was added reads back", add_cpuset_and_threads_reads_back,
		add_threads_without_cpuset_lists_their_path, unknown_path_is_enoent_and_no_threads,
		in_memory_works);
	TCASE(s, "the first original wins", second_original_is_ignored,
		reused_tid_is_another_thread, namesake_with_another_inode_replaces);
	TCASE(s, "forget removes one path only", forget_removes_one_path_only);
	TCASE(s, "a program's pins are those of the last change",
		pins_are_replaced_and_go_with_their_cpuset);
	TCASE(s, "what a step was given by masks is what it was given last",
		masks_that_were_given_are_replaced_and_go_with_their_cpuset);
	TCASE(s, "a ledger of an older Coloc is taken over", older_schema_keeps_its_rows);
	TCASE(s, "what was added is committed", commit_is_seen_by_a_second_connection,
		locked_database_is_busy_and_nothing_is_written);
	TCASE(s, "another boot drops all rows", another_boot_drops_all_rows);
	TCASE(s, "a new file is root's alone", new_file_is_private);
	TCASE(s, "a file that is not ours is refused by name and kept",
		missing_directory_is_refused, text_file_is_refused_and_kept,
		damaged_page_is_refused, mask_that_is_none_is_named, foreign_database_is_refused,
		newer_schema_is_refused, directory_as_file_is_refused);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
