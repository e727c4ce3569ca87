/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_registration.c - what live steps registered with, so that a daemon that is started anew
 * adopts them. Rows go with their step.
 */
#include "nodesvc/record/record_internal.h"

const char RECORD_REGISTRATION_SCHEMA_1[] =
	"CREATE TABLE registration ("
	"  job_id INTEGER NOT NULL, step_id INTEGER NOT NULL, row_id INTEGER NOT NULL,"
	"  start_ns INTEGER NOT NULL, pid INTEGER NOT NULL, tasks TEXT, message BLOB NOT NULL,"
	"  PRIMARY KEY (job_id, step_id));";

const char *const RECORD_REGISTRATION_SQL[N_REGISTRATION_STMTS] = {
	[REGISTRATION_PUT] =
		("INSERT INTO registration (job_id, step_id, row_id, start_ns, pid, tasks, message)"
		 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (job_id, step_id) DO UPDATE SET"
		 " row_id = ?3, start_ns = ?4, pid = ?5, tasks = ?6, message = ?7"),
	[REGISTRATION_RM] = "DELETE FROM registration WHERE job_id = ?1 AND step_id = ?2",
	[REGISTRATION_LIST] = ("SELECT job_id, step_id, row_id, start_ns, pid, tasks, message"
			       " FROM registration ORDER BY start_ns"),
};

int record_registration_put(struct record *r, const struct registration *reg, struct errbuf *err)
{
	sqlite3_stmt *s = r->registration[REGISTRATION_PUT];

	sqlite3_bind_int64(s, 1, reg->job_id);
	sqlite3_bind_int64(s, 2, reg->step_id);
	sqlite3_bind_int64(s, 3, reg->row_id);
	sqlite3_bind_int64(s, 4, reg->start_ns);
	sqlite3_bind_int64(s, 5, reg->pid);
	db_bind_text(s, 6, reg->tasks);
	sqlite3_bind_blob(s, 7, reg->message, (int)reg->message_len, SQLITE_STATIC);
	return db_run(r->db, s, err, "keep a registration");
}

int record_registration_rm(struct record *r, uint32_t job_id, uint32_t step_id, struct errbuf *err)
{
	sqlite3_stmt *s = r->registration[REGISTRATION_RM];

	sqlite3_bind_int64(s, 1, job_id);
	sqlite3_bind_int64(s, 2, step_id);
	return db_run(r->db, s, err, "drop a registration");
}

int record_registration_list(struct record *r, int (*fn)(const struct registration *reg, void *arg),
	void *arg, struct errbuf *err)
{
	sqlite3_stmt *s = r->registration[REGISTRATION_LIST];
	int rc, stop = 0;

	while (!stop && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct registration reg = {
			.job_id = (uint32_t)sqlite3_column_int64(s, 0),
			.step_id = (uint32_t)sqlite3_column_int64(s, 1),
			.row_id = sqlite3_column_int64(s, 2),
			.start_ns = sqlite3_column_int64(s, 3),
			.pid = (pid_t)sqlite3_column_int64(s, 4),
			.tasks = db_column_text(s, 5),
			.message = sqlite3_column_blob(s, 6),
			.message_len = (size_t)sqlite3_column_bytes(s, 6),
		};

		stop = fn(&reg, arg);
	}
	if (!stop && rc != SQLITE_DONE)
		stop = db_fail(r->db, rc, err, "list registrations");
	db_reset(s);
	return stop;
}
