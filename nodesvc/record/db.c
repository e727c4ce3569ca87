/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/record/record_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The daemon's loop answers a starting step within 250 ms: a writer must not wait longer than
 * that. WAL readers do not hold writers up, so this is met only around a checkpoint. */
#define WRITER_BUSY_MS 100
#define READER_BUSY_MS 2000
/* So many versions ahead no Coloc will be: the header was overwritten. */
#define VERSION_LEAP 1000

static const char *db_name(sqlite3 *db)
{
	const char *name = db ? sqlite3_db_filename(db, "main") : NULL;

	return name && *name ? name : ":memory:";
}

int db_fail(sqlite3 *db, int rc, struct errbuf *err, const char *what)
{
	int sys = db ? sqlite3_system_errno(db) : 0;

	switch (rc & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, -EBADMSG,
			"%s: cannot %s: damaged or no database (%s); left as it is, move it away "
			"to start afresh",
			db_name(db), what, sqlite3_errstr(rc));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		sys = EBUSY;
		break;
	case SQLITE_FULL:
		sys = ENOSPC;
		break;
	case SQLITE_READONLY:
		sys = EROFS;
		break;
	case SQLITE_NOMEM:
		sys = ENOMEM;
		break;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		if (sys <= 0)
			sys = EIO;
		break;
	default:
		sys = EIO;
	}
	return err_set(err, -sys, "%s: cannot %s: %s%s%s", db_name(db), what,
		db ? sqlite3_errmsg(db) : sqlite3_errstr(rc), sys == EIO ? "" : ": ",
		sys == EIO ? "" : strerror(sys));
}

int db_exec(sqlite3 *db, const char *sql, struct errbuf *err, const char *what)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_fail(db, rc, err, what);
}

/* First column of the only row of @sql. */
static int query_int(sqlite3 *db, const char *sql, int64_t *ret, struct errbuf *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW ? 0 : db_fail(db, rc, err, "read");
}

static int check_pages(sqlite3 *db, struct errbuf *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
	int ret = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW) {
		ret = db_fail(db, rc, err, "check");
	} else {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (!text || strcmp(text, "ok") != 0)
			ret = db_fail(db, SQLITE_CORRUPT, err, "check");
	}
	sqlite3_finalize(stmt);
	return ret;
}

/* A header that was overwritten says something, too. */
static bool is_version(const struct db_schema *schema, int64_t version)
{
	return version >= 0 && version <= schema->version + VERSION_LEAP;
}

static int upgrade(sqlite3 *db, const struct db_schema *schema, int64_t version, struct errbuf *err)
{
	char pragma[96];
	int rc;

	rc = db_exec(db, "BEGIN IMMEDIATE", err, "upgrade");
	if (rc < 0)
		return rc;
	/* Another process may have upgraded it between our look and our lock. */
	rc = query_int(db, "PRAGMA user_version", &version, err);
	if (rc == 0 && !is_version(schema, version))
		rc = db_fail(db, SQLITE_CORRUPT, err, "read the header");
	for (int64_t v = version; rc == 0 && v < schema->version; v++)
		rc = db_exec(db, schema->upgrade[v], err, "upgrade the schema");
	if (rc == 0) {
		snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d",
			(int)schema->app_id, schema->version);
		rc = db_exec(db, pragma, err, "upgrade");
	}
	if (rc == 0)
		rc = db_exec(db, "COMMIT", err, "upgrade");
	if (rc < 0)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* Whatever the header says of whose the file is: does it have the first table of @schema? */
static bool has_our_table(sqlite3 *db, const struct db_schema *schema)
{
	char name[64], sql[128];
	int64_t n = 0;

	if (sscanf(schema->upgrade[0], "CREATE TABLE %63[a-z_]", name) != 1)
		return false;
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_master WHERE name = '%s'", name);
	return query_int(db, sql, &n, NULL) == 0 && n > 0;
}

/* Is the file ours, whole, and of a version we know? */
static int check_identity(
	sqlite3 *db, const struct db_schema *schema, bool read_only, struct errbuf *err)
{
	int64_t version = 0, app_id = 0, tables = 0;
	int rc;

	rc = query_int(db, "PRAGMA user_version", &version, err);
	if (rc == 0)
		rc = query_int(db, "PRAGMA application_id", &app_id, err);
	if (rc == 0)
		rc = query_int(db, "SELECT count(*) FROM sqlite_master", &tables, err);
	if (rc < 0)
		return rc;
	if (!is_version(schema, version) || (app_id != schema->app_id && has_our_table(db, schema)))
		return db_fail(db, SQLITE_CORRUPT, err, "read the header");
	if (app_id != schema->app_id && (app_id != 0 || version != 0 || tables != 0))
		return err_set(err, -EMEDIUMTYPE,
			"%s: a database, but not Coloc's %s; left as it is", db_name(db),
			schema->what);
	if (version > schema->version)
		return err_set(err, -EPROTONOSUPPORT,
			"%s: %s schema %lld is newer than this program's %d: a newer Coloc wrote "
			"it",
			db_name(db), schema->what, (long long)version, schema->version);
	if (tables && schema->check_pages) {
		rc = check_pages(db, err);
		if (rc < 0)
			return rc;
	}
	if (version == schema->version)
		return 0;
	if (read_only)
		return err_set(err, -EPROTONOSUPPORT,
			"%s: %s schema %lld is older than this program's %d: colocd upgrades it "
			"when it starts",
			db_name(db), schema->what, (long long)version, schema->version);
	return upgrade(db, schema, version, err);
}

/*
 * SQLite would create with 0644. Only a file that is not there is opened here: closing a second
 * descriptor of a file drops the POSIX locks that other connections of this process hold on it.
 */
static int create_private(const char *path, struct errbuf *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0
				       : err_set(err, -errno, "%s: cannot create: %s", path,
						 strerror(errno));
	close(fd);
	return 0;
}

int db_open(sqlite3 **ret, const char *path, const struct db_schema *schema, bool read_only,
	struct errbuf *err)
{
	bool in_memory = strcmp(path, ":memory:") == 0;
	sqlite3 *db = NULL;
	struct stat st;
	int rc = 0;

	if (!in_memory && read_only && stat(path, &st) < 0)
		return err_set(err, -errno, "%s: cannot open: %s", path, strerror(errno));
	if (!in_memory && !read_only)
		rc = create_private(path, err);
	if (rc < 0)
		return rc;
	rc = sqlite3_open_v2(path, &db,
		read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
		NULL);
	if (rc != SQLITE_OK) {
		int sys = db ? sqlite3_system_errno(db) : ENOMEM;

		rc = err_set(err, sys > 0 ? -sys : -EIO, "%s: cannot open: %s", path,
			sys > 0 ? strerror(sys) : sqlite3_errstr(rc));
		sqlite3_close(db);
		return rc;
	}
	sqlite3_extended_result_codes(db, 0);
	sqlite3_busy_timeout(db, read_only ? READER_BUSY_MS : WRITER_BUSY_MS);
	/* Of effect in an empty file only: later pages can be given back piece by piece. */
	if (!read_only)
		sqlite3_exec(db, "PRAGMA auto_vacuum=INCREMENTAL", NULL, NULL, NULL);
	rc = check_identity(db, schema, read_only, err);
	/* SQLite's own, 2 MiB, fills with pages that are never read again. */
	if (rc == 0 && !read_only)
		rc = db_exec(db,
			"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
			"PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; "
			"PRAGMA cache_size=-512",
			err, "set up");
	if (rc == 0 && read_only)
		rc = db_exec(db, "PRAGMA temp_store=MEMORY", err, "set up");
	if (rc < 0) {
		sqlite3_close(db);
		return rc;
	}
	*ret = db;
	return 0;
}

void db_checkpoint(sqlite3 *db, int *frames, struct checkpointer *by)
{
	const char *path = sqlite3_db_filename(db, "main");

	if (!by || !path || !*path)
		sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	else if (!checkpoint_ask(by, path))
		return;
	*frames = 0;
}

static int on_commit(void *arg, sqlite3 *db, const char *name, int n)
{
	int *frames = arg;

	(void)name;
	*frames = n;
	if (n >= DB_WAL_MAX)
		db_checkpoint(db, frames, NULL);
	return SQLITE_OK;
}

void db_wal_open(sqlite3 *db, int *frames)
{
	*frames = 0;
	sqlite3_wal_hook(db, on_commit, frames);
}

int db_prepare(sqlite3 *db, const char *const *sql, int n, sqlite3_stmt **ret, struct errbuf *err)
{
	for (int i = 0; i < n; i++) {
		int rc = sqlite3_prepare_v3(
			db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &ret[i], NULL);

		if (rc != SQLITE_OK)
			return db_fail(db, rc, err, "prepare a statement");
	}
	return 0;
}

void db_close(sqlite3 *db)
{
	sqlite3_stmt *s;

	while (db && (s = sqlite3_next_stmt(db, NULL)))
		sqlite3_finalize(s);
	sqlite3_close(db);
}

void db_reset(sqlite3_stmt *stmt)
{
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
}

int db_run(sqlite3 *db, sqlite3_stmt *stmt, struct errbuf *err, const char *what)
{
	int rc = sqlite3_step(stmt);

	rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : db_fail(db, rc, err, what);
	db_reset(stmt);
	return rc;
}

int db_change(sqlite3 *db, sqlite3_stmt *stmt, struct errbuf *err, const char *what)
{
	int rc = db_run(db, stmt, err, what);

	return rc < 0 ? rc : sqlite3_changes(db);
}

bool db_next(sqlite3 *db, sqlite3_stmt *stmt, int *stop, struct errbuf *err, const char *what)
{
	int rc = *stop ? SQLITE_DONE : sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return true;
	if (rc != SQLITE_DONE)
		*stop = db_fail(db, rc, err, what);
	db_reset(stmt);
	return false;
}

int64_t db_get_int(sqlite3 *db, sqlite3_stmt *stmt, struct errbuf *err, const char *what)
{
	int rc = sqlite3_step(stmt);
	int64_t value =
		rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : db_fail(db, rc, err, what);

	db_reset(stmt);
	return value;
}

void db_bind_text(sqlite3_stmt *stmt, int i, const char *text)
{
	if (text && *text)
		sqlite3_bind_text(stmt, i, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, i);
}

void db_bind_int(sqlite3_stmt *stmt, int i, int64_t value, int64_t blank)
{
	if (value == blank)
		sqlite3_bind_null(stmt, i);
	else
		sqlite3_bind_int64(stmt, i, value);
}

void db_bind_double(sqlite3_stmt *stmt, int i, double value)
{
	if (isnan(value))
		sqlite3_bind_null(stmt, i);
	else
		sqlite3_bind_double(stmt, i, value);
}

int64_t db_column_int(sqlite3_stmt *stmt, int i, int64_t blank)
{
	if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
		return blank;
	return sqlite3_column_int64(stmt, i);
}

double db_column_double(sqlite3_stmt *stmt, int i)
{
	if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
		return NAN;
	return sqlite3_column_double(stmt, i);
}

const char *db_column_text(sqlite3_stmt *stmt, int i)
{
	return (const char *)sqlite3_column_text(stmt, i);
}

void db_column_copy(sqlite3_stmt *stmt, int i, char *buf, size_t size)
{
	const char *text = db_column_text(stmt, i);

	snprintf(buf, size, "%s", text ? text : "");
}
