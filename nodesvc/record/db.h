/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db.h - what ledger and record share: opening a SQLite file that is provably ours, schema
 * upgrades, statements that are prepared once, and error texts that name the file.
 *
 * Not thread-safe. Nothing here creates a file over one that is there: a damaged or foreign
 * database is refused and left alone.
 */
#ifndef COLOC_RECORD_DB_H
#define COLOC_RECORD_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/record/checkpoint.h"

struct db_schema {
	const char *what; /* "ledger": for messages */
	int32_t app_id;   /* PRAGMA application_id */
	int version;      /* PRAGMA user_version that this program writes */
	/* upgrade[v] is SQL from version v to v + 1; [0] makes an empty file ours. */
	const char *const *upgrade;
	bool check_pages; /* quick_check on open: for small files only */
};

/*
 * db_open - opens, checks and upgrades. @path may be ":memory:". A new file has mode 0600.
 * @read_only: never creates nor upgrades.
 * Errors: -ENOENT no such file or directory, -EBADMSG damaged or no database, -EMEDIUMTYPE a
 * database of someone else, -EPROTONOSUPPORT a newer (read-only: also an older) schema.
 */
int db_open(sqlite3 **ret, const char *path, const struct db_schema *schema, bool read_only,
	struct errbuf *err);

/*
 * Checkpoints, which wait for the disk, are the owner's to time: db_wal_open() ends SQLite's own,
 * in the middle of a commit, but for a log of DB_WAL_MAX frames. *@frames, which must outlive the
 * connection: pages in the log that the database lacks, after each commit.
 */
#define DB_WAL_MAX 10000
void db_wal_open(sqlite3 *db, int *frames);
/* By @by, which is not waited for; NULL, or a database in memory, here: milliseconds, of waiting
 * mostly. Readers and errors leave the log as it is; *@frames is then 0 all the same, until the
 * next commit. */
void db_checkpoint(sqlite3 *db, int *frames, struct checkpointer *by);

/* Statements by index of @sql; all or nothing. */
int db_prepare(sqlite3 *db, const char *const *sql, int n, sqlite3_stmt **ret, struct errbuf *err);
void db_finalize(sqlite3_stmt **stmt, int n);

/* The negative errno for a SQLite result; text "FILE: cannot WHAT: reason". */
int db_fail(sqlite3 *db, int rc, struct errbuf *err, const char *what);
int db_exec(sqlite3 *db, const char *sql, struct errbuf *err, const char *what);
/* Steps a statement that returns no rows, resets it and clears its bindings. */
int db_run(sqlite3 *db, sqlite3_stmt *stmt, struct errbuf *err, const char *what);
/* Ready for the next use; errors of the last step were seen by the caller. */
void db_reset(sqlite3_stmt *stmt);

/* Text that outlives the step; NULL and "" are stored as NULL. */
void db_bind_text(sqlite3_stmt *stmt, int i, const char *text);
/* @value equal to @blank is stored as NULL. */
void db_bind_int(sqlite3_stmt *stmt, int i, int64_t value, int64_t blank);
/* NAN is stored as NULL. */
void db_bind_double(sqlite3_stmt *stmt, int i, double value);
int64_t db_column_int(sqlite3_stmt *stmt, int i, int64_t blank);
double db_column_double(sqlite3_stmt *stmt, int i); /* NULL: NAN */
const char *db_column_text(sqlite3_stmt *stmt, int i);
/* Cut to fit; NULL: "". */
void db_column_copy(sqlite3_stmt *stmt, int i, char *buf, size_t size);

#endif
