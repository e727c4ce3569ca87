/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_internal.h - shared by the record_*.c files only: the connection and its statements.
 * Each file owns the statements of its verb and their SQL.
 */
#ifndef COLOC_RECORD_RECORD_INTERNAL_H
#define COLOC_RECORD_RECORD_INTERNAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/record/record.h"

enum {
	STEP_INSERT,
	STEP_UPDATE,
	STEP_RUNNING_LIST,
	STEP_CLOSE,
	STEP_LIST_EARLIER,
	STEP_LIST_WITHIN,
	STEP_LIST_UID_EARLIER,
	STEP_LIST_UID_WITHIN,
	STEP_LIST_JOBS,
	STEP_PRUNE,
	STEP_WANT_CLEAR,
	STEP_WANT_ADD,
	STEP_LAUNCHES,
	N_STEP_STMTS,
};

enum {
	PROFILE_DEL_SAME,
	PROFILE_INSERT,
	PROFILE_RATE_INSERT,
	PROFILE_FIND,
	PROFILE_LIST,
	PROFILE_RATES,
	PROFILE_RM,
	N_PROFILE_STMTS,
};

enum {
	REGISTRATION_PUT,
	REGISTRATION_RM,
	REGISTRATION_FIGURES,
	REGISTRATION_LIST,
	N_REGISTRATION_STMTS,
};

enum {
	MEASUREMENT_FIND,
	MEASUREMENT_PUT,
	MEASUREMENT_LIST,
	MEASUREMENT_TRIM,
	MEASUREMENT_RM,
	N_MEASUREMENT_STMTS,
};

enum {
	HISTORY_CORESET_PUT,
	HISTORY_CORESET_LIST,
	HISTORY_PHASE_PUT,
	HISTORY_PHASE_LIST,
	HISTORY_SAMPLE_PUT,
	HISTORY_SAMPLE_COUNT,
	HISTORY_SAMPLE_HALVE,
	HISTORY_SAMPLE_LIST,
	N_HISTORY_STMTS,
};

enum {
	JUDGED_PUT,
	JUDGED_LIST,
	JUDGED_RM,
	N_JUDGED_STMTS,
};

enum {
	LEARNT_PUT,
	LEARNT_TRIM,
	LEARNT_LIST,
	LEARNT_GET,
	LEARNT_RM,
	N_LEARNT_STMTS,
};

enum {
	RETAIN_PRUNE,
	RETAIN_COUNT,
	RETAIN_SIZE,
	N_RETAIN_STMTS,
};

struct record {
	sqlite3 *db;
	int wal_frames;
	sqlite3_stmt *step[N_STEP_STMTS];
	sqlite3_stmt *profile[N_PROFILE_STMTS];
	sqlite3_stmt *registration[N_REGISTRATION_STMTS];
	sqlite3_stmt *measurement[N_MEASUREMENT_STMTS];
	sqlite3_stmt *history[N_HISTORY_STMTS];
	sqlite3_stmt *judged[N_JUDGED_STMTS];
	sqlite3_stmt *learnt[N_LEARNT_STMTS];
	sqlite3_stmt *retain[N_RETAIN_STMTS];
};

/* Parts of the schema, by the version that has them first. */
extern const char RECORD_STEP_SCHEMA_1[], RECORD_STEP_SCHEMA_3[], RECORD_STEP_SCHEMA_4[];
extern const char RECORD_PROFILE_SCHEMA_1[];
extern const char RECORD_REGISTRATION_SCHEMA_1[], RECORD_REGISTRATION_SCHEMA_3[];
extern const char RECORD_REGISTRATION_SCHEMA_5[], RECORD_REGISTRATION_SCHEMA_7[];
extern const char RECORD_MEASUREMENT_SCHEMA_2[], RECORD_MEASUREMENT_SCHEMA_10[];
extern const char RECORD_HISTORY_SCHEMA_3[];
extern const char RECORD_JUDGED_SCHEMA_6[], RECORD_LEARNT_SCHEMA_9[];
/* Of SQL text that makes @version of the one before, so much as fits; record_open.c. */
#define RECORD_SCHEMA_MAX 4096
void record_open_schema(int version, char *ret, size_t size);
/* Made in every connection before its statements are prepared. */
extern const char RECORD_STEP_TEMP[];
extern const char *const RECORD_STEP_SQL[N_STEP_STMTS];
extern const char *const RECORD_PROFILE_SQL[N_PROFILE_STMTS];
extern const char *const RECORD_REGISTRATION_SQL[N_REGISTRATION_STMTS];
extern const char *const RECORD_MEASUREMENT_SQL[N_MEASUREMENT_STMTS];
extern const char *const RECORD_HISTORY_SQL[N_HISTORY_STMTS];
extern const char *const RECORD_JUDGED_SQL[N_JUDGED_STMTS];
extern const char *const RECORD_LEARNT_SQL[N_LEARNT_STMTS];
extern const char *const RECORD_RETAIN_SQL[N_RETAIN_STMTS];

/* Stored name of a signal. */
const char *record_signal_name(enum signal_id id);

/*
 * db.c: what ledger and record share: opening a SQLite file that is provably ours, schema
 * upgrades, statements that are prepared once, and error texts that name the file.
 *
 * Not thread-safe. Nothing here creates a file over one that is there: a damaged or foreign
 * database is refused and left alone.
 */

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

/* Statements by index of @sql; after an error some, which are db_close()'s. */
int db_prepare(sqlite3 *db, const char *const *sql, int n, sqlite3_stmt **ret, struct errbuf *err);
/* With all of its statements. NULL is fine. */
void db_close(sqlite3 *db);

/* The negative errno for a SQLite result; text "FILE: cannot WHAT: reason". */
int db_fail(sqlite3 *db, int rc, struct errbuf *err, const char *what);
int db_exec(sqlite3 *db, const char *sql, struct errbuf *err, const char *what);
/* Steps a statement that returns no rows, resets it and clears its bindings. */
int db_run(sqlite3 *db, sqlite3_stmt *stmt, struct errbuf *err, const char *what);
/* The same; returns how many rows it changed. */
int db_change(sqlite3 *db, sqlite3_stmt *stmt, struct errbuf *err, const char *what);
/*
 * db_next - steps to the next row of @stmt. False: no more, or *@stop is not 0, or is now the
 * error; the statement is then as db_reset() leaves it.
 */
bool db_next(sqlite3 *db, sqlite3_stmt *stmt, int *stop, struct errbuf *err, const char *what);
/* First column of the only row; < 0: the error. */
int64_t db_get_int(sqlite3 *db, sqlite3_stmt *stmt, struct errbuf *err, const char *what);
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
