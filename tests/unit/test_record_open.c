/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <unistd.h>

#include "nodesvc/record/record_internal.h"
#include "tests/unit/record_db.h"

static void assert_refused(const char *name, bool read_only, int rc, const char *text)
{
	struct record *r = NULL;
	char want[400];

	ck_assert_int_eq(record_open(&r, tmpdir_path(&tmp, name), read_only, &err), rc);
	ck_assert_ptr_null(r);
	snprintf(want, sizeof(want), "%s: %s", tmp.path, text);
	ck_assert_str_eq(err.text, want);
}

START_TEST(bad_files_are_refused_by_name)
{
	sqlite3 *db = NULL;

	assert_refused("none.db", true, -ENOENT, "cannot open: No such file or directory");
	ck_assert_int_ne(access(tmp.path, F_OK), 0);
	assert_refused("no/such.db", false, -ENOENT, "cannot create: No such file or directory");
	tmpdir_write(&tmp, "empty.db", "");
	assert_refused("empty.db", true, -EPROTONOSUPPORT,
		"record schema 0 is older than this program's 10: colocd upgrades it when it "
		"starts");
	/* A ledger is a database of ours, but not this one. */
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "ledger.db"), &db), SQLITE_OK);
	ck_assert_int_eq(
		sqlite3_exec(db, "PRAGMA application_id=1129073735", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_refused("ledger.db", false, -EMEDIUMTYPE,
		"a database, but not Coloc's record; left as it is");
}
END_TEST

/* Tables in the database's file itself, whatever its log holds. */
static int tables_without_log(const char *name)
{
	char uri[sizeof(tmp.path) + 64];
	sqlite3_stmt *count = NULL;
	sqlite3 *db = NULL;
	int n;

	snprintf(uri, sizeof(uri), "file:%s?immutable=1", tmpdir_path(&tmp, name));
	ck_assert_int_eq(
		sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL), SQLITE_OK);
	ck_assert_int_eq(
		sqlite3_prepare_v2(db, "SELECT count(*) FROM sqlite_schema", -1, &count, NULL),
		SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(count), SQLITE_ROW);
	n = sqlite3_column_int(count, 0);
	sqlite3_finalize(count);
	sqlite3_close(db);
	return n;
}

START_TEST(another_thread_makes_checkpoints)
{
	struct checkpointer *c = checkpoint_new();
	int before;

	record_checkpoint(record, NULL);
	before = tables_without_log("coloc.db");
	ck_assert_int_gt(before, 0);
	ck_assert_int_eq(
		sqlite3_exec(record->db, "CREATE TABLE new(x)", NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_gt(record_wal_frames(record), 0);
	ck_assert_int_eq(tables_without_log("coloc.db"), before);
	record_checkpoint(record, c);
	checkpoint_free(c); /* waits for it */
	ck_assert_int_eq(tables_without_log("coloc.db"), before + 1);
	/* The owner goes on with its connection. */
	ck_assert_int_eq(
		sqlite3_exec(record->db, "INSERT INTO new VALUES(1)", NULL, NULL, NULL), SQLITE_OK);
}
END_TEST

START_TEST(a_file_that_is_gone_is_not_made_by_a_checkpoint)
{
	struct checkpointer *c = checkpoint_new();
	char path[sizeof(tmp.path) + 64];

	snprintf(path, sizeof(path), "%s", tmpdir_path(&tmp, "gone.db"));
	ck_assert(checkpoint_ask(c, path));
	checkpoint_free(c);
	ck_assert_int_ne(access(path, F_OK), 0);
	checkpoint_free(NULL);
}
END_TEST

START_TEST(newer_schema_is_refused_for_readers_too)
{
	sqlite3 *db = NULL;

	record_close(record);
	record = NULL;
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "coloc.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version=11", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_refused("coloc.db", true, -EPROTONOSUPPORT,
		"record schema 11 is newer than this program's 10: a newer Coloc wrote it");
	assert_refused("coloc.db", false, -EPROTONOSUPPORT,
		"record schema 11 is newer than this program's 10: a newer Coloc wrote it");
}
END_TEST

/* A store as an earlier version made it, with one row. */
static void make_old(const char *path, int version)
{
	static const char rows[] =
		"INSERT INTO step (job_id, step_id, node, uid, start_ns, end_ns, rebinds, "
		"exit_code, state, dry_run) VALUES (12, 0, 'n1', 1000, 5000000000, 9000000000, 3, "
		"0, 'COMPLETED', 0);"
		"INSERT INTO profile (type, user, threads, node_type, source, taken_unix_s, count) "
		"VALUES ('lmp', 'ada', 2, 'a', 'perf', 7, 1);"
		"INSERT INTO registration (job_id, step_id, row_id, start_ns, pid, message) "
		"VALUES (12, 1, 2, 3, 4, 'x=1');"
		"PRAGMA application_id=1129075267";
	char sql[RECORD_SCHEMA_MAX], pragma[40];
	sqlite3 *db = NULL;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	for (int v = 1; v <= version; v++) {
		record_open_schema(v, sql, sizeof(sql));
		ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%d: %s", v,
			sqlite3_errmsg(db));
		ck_assert_msg(v > 1 || sqlite3_exec(db, rows, NULL, NULL, NULL) == SQLITE_OK, "%s",
			sqlite3_errmsg(db));
		snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%d", v);
		ck_assert_int_eq(sqlite3_exec(db, pragma, NULL, NULL, NULL), SQLITE_OK);
	}
	sqlite3_close(db);
}

static int is_migrated(const struct step_row *row, void *arg)
{
	++*(int *)arg;
	ck_assert_uint_eq(row->job_id, 12);
	ck_assert_str_eq(row->node, "n1");
	ck_assert_int_eq(row->end_ns, 9 * S);
	ck_assert_int_eq(row->rebinds, 3);
	ck_assert(isnan(row->figures->ntt_share) && isnan(row->figures->gain_placement));
	ck_assert_ptr_null(row->figures->gain_basis);
	ck_assert_int_eq(row->figures->windows, -1);
	ck_assert_int_eq(row->figures->gap_ns, -1);
	ck_assert_ptr_null(row->figures->guard);
	ck_assert_ptr_null(row->figures->waits);
	return 0;
}

static int count_judged(const struct judged *j, void *arg)
{
	ck_assert_str_eq(j->members, "a@b:2");
	++*(int *)arg;
	return 0;
}

/* As 65,535 above the newest version, so one below none is a header that was overwritten. */
START_TEST(version_that_never_was_is_damage)
{
	static const char *const pragma[] = {"PRAGMA user_version=-1",
		"PRAGMA user_version=-2147483648", "PRAGMA user_version=65535"};
	static const char want[] =
		"cannot read the header: damaged or no database (database disk "
		"image is malformed); left as it is, move it away to start afresh";
	sqlite3 *db = NULL;

	record_close(record);
	record = NULL;
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "coloc.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, pragma[_i], NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_refused("coloc.db", true, -EBADMSG, want);
	assert_refused("coloc.db", false, -EBADMSG, want);
}
END_TEST

START_TEST(older_version_is_migrated_with_all_it_holds)
{
	struct step_filter at = {.from_ns = 1 * S, .to_ns = 20 * S};
	struct profile p;
	struct judged judged = {.policy = "lira", .node_type = "n", .members = "a@b:2"};
	struct learnt learnt = {.what = "loads",
		.node_type = "",
		.owner = "7",
		.name = "x",
		.value = "3",
		.put_unix_s = 1};
	int rows = 0, sets = 0;
	char refused[160];

	record_close(record);
	record = NULL;
	make_old(tmpdir_path(&tmp, "old.db"), _i);
	snprintf(refused, sizeof(refused),
		"record schema %d is older than this program's 10: colocd upgrades it when it "
		"starts",
		_i);
	assert_refused("old.db", true, -EPROTONOSUPPORT, refused);
	ck_assert_msg(record_open(&record, tmpdir_path(&tmp, "old.db"), false, &err) == 0, "%s",
		err.text);
	ck_assert_int_eq(record_step_list(record, &at, is_migrated, &rows, &err), 0);
	ck_assert_int_eq(rows, 1);
	ck_assert_int_eq(record_profile_find(record, "lmp", "ada", 2, "a", &p, &err), 0);
	ck_assert_str_eq(record_db_registrations(), "12.1 row 2 pid 4 tasks - message x=1; ");
	ck_assert_int_eq(record_coreset(record, 1, 6 * S, "0", NULL, &err), 0);
	ck_assert_int_eq(record_judged_put(record, &judged, &err), 0);
	ck_assert_int_eq(record_judged_list(record, count_judged, &sets, &err), 0);
	ck_assert_int_eq(sets, 1);
	ck_assert_int_eq(record_learnt_put(record, &learnt, 1, &err), 0);
	/* A second opening finds nothing to do; the old file's reader may now read. */
	record_close(record);
	ck_assert_msg(
		record_open(&record, tmpdir_path(&tmp, "old.db"), true, &err) == 0, "%s", err.text);
}
END_TEST

/* Half a migration would be neither version: all of it or none. */
START_TEST(failed_migration_leaves_the_old_version)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;

	make_old(tmpdir_path(&tmp, "old.db"), 1);
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "old.db"), &db), SQLITE_OK);
	/* In the way of the second part of the upgrade. */
	ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE phase (x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_refused(
		"old.db", false, -EIO, "cannot upgrade the schema: table phase already exists");
	ck_assert_int_eq(sqlite3_open(tmpdir_path(&tmp, "old.db"), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db,
				 "SELECT (SELECT user_version FROM pragma_user_version), count(*) "
				 "FROM pragma_table_info('step') WHERE name = 'windows'",
				 -1, &s, NULL),
		SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
	ck_assert_int_eq(sqlite3_column_int(s, 0), 1);
	ck_assert_int_eq(sqlite3_column_int(s, 1), 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("record_open");
	TCase *t;

	t = record_db_tcase(s, "a file that is not ours is refused by name");
	tcase_add_test(t, bad_files_are_refused_by_name);
	tcase_add_test(t, newer_schema_is_refused_for_readers_too);
	tcase_add_loop_test(t, version_that_never_was_is_damage, 0, 3);
	tcase_add_loop_test(t, older_version_is_migrated_with_all_it_holds, 1, 10);
	tcase_add_test(t, failed_migration_leaves_the_old_version);
	t = record_db_tcase(s, "a checkpoint by a thread of its own");
	tcase_add_test(t, another_thread_makes_checkpoints);
	tcase_add_test(t, a_file_that_is_gone_is_not_made_by_a_checkpoint);
	return record_db_run(s);
}
