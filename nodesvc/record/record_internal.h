/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_internal.h - shared by the record_*.c files only: the connection and its statements.
 * Each file owns the statements of its verb and their SQL.
 */
#ifndef COLOC_RECORD_RECORD_INTERNAL_H
#define COLOC_RECORD_RECORD_INTERNAL_H

#include "nodesvc/record/db.h"
#include "nodesvc/record/record.h"

enum {
	STEP_INSERT,
	STEP_UPDATE,
	STEP_RUNNING_LIST,
	STEP_CLOSE,
	STEP_FIND,
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
	sqlite3_stmt *retain[N_RETAIN_STMTS];
};

/* Parts of the schema, by the version that has them first. */
extern const char RECORD_STEP_SCHEMA_1[], RECORD_STEP_SCHEMA_3[], RECORD_STEP_SCHEMA_4[];
extern const char RECORD_PROFILE_SCHEMA_1[];
extern const char RECORD_REGISTRATION_SCHEMA_1[], RECORD_REGISTRATION_SCHEMA_3[];
extern const char RECORD_REGISTRATION_SCHEMA_5[], RECORD_REGISTRATION_SCHEMA_7[];
extern const char RECORD_MEASUREMENT_SCHEMA_2[], RECORD_HISTORY_SCHEMA_3[];
extern const char RECORD_JUDGED_SCHEMA_6[];
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
extern const char *const RECORD_RETAIN_SQL[N_RETAIN_STMTS];

/* Stored name of a signal. */
const char *record_signal_name(enum signal_id id);
/* As view.h names it; kept here so that a reader needs no engine. */
const char *record_provenance_name(enum provenance p);

#endif
