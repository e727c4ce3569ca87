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

/* Several slurmd may share a kernel, and a step have a part on each: the node's number in the step
 * belongs to the key. */
const char RECORD_REGISTRATION_SCHEMA_3[] =
	"ALTER TABLE registration RENAME TO registration_1;"
	"CREATE TABLE registration ("
	"  job_id INTEGER NOT NULL, step_id INTEGER NOT NULL, nodeid INTEGER NOT NULL,"
	"  row_id INTEGER NOT NULL, start_ns INTEGER NOT NULL, pid INTEGER NOT NULL, tasks TEXT,"
	"  message BLOB NOT NULL, PRIMARY KEY (job_id, step_id, nodeid));"
	"INSERT INTO registration SELECT job_id, step_id, 0, row_id, start_ns, pid, tasks, message"
	"  FROM registration_1;"
	"DROP TABLE registration_1;";

const char RECORD_REGISTRATION_SCHEMA_5[] =
	"ALTER TABLE registration ADD COLUMN figures BLOB;"
	"ALTER TABLE registration ADD COLUMN figures_ns INTEGER;";

/* Where the step is: its first task may have ended. */
const char RECORD_REGISTRATION_SCHEMA_7[] = "ALTER TABLE registration ADD COLUMN cgroup TEXT;"
					    "ALTER TABLE registration ADD COLUMN inode INTEGER;";

const char *const RECORD_REGISTRATION_SQL[N_REGISTRATION_STMTS] = {
	[REGISTRATION_PUT] =
		("INSERT INTO registration (job_id, step_id, nodeid, row_id, start_ns, pid, tasks,"
		 " message, cgroup, inode) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
		 " ON CONFLICT (job_id, step_id, nodeid) DO UPDATE SET"
		 " row_id = ?4, start_ns = ?5, pid = ?6, tasks = ?7, message = ?8, cgroup = ?9,"
		 " inode = ?10"),
	[REGISTRATION_RM] = ("DELETE FROM registration WHERE job_id = ?1 AND step_id = ?2"
			     " AND nodeid = ?3"),
	[REGISTRATION_FIGURES] = ("UPDATE registration SET figures = ?4, figures_ns = ?5"
				  " WHERE job_id = ?1 AND step_id = ?2 AND nodeid = ?3"),
	[REGISTRATION_LIST] = ("SELECT job_id, step_id, nodeid, row_id, start_ns, pid, tasks,"
			       " message, figures, figures_ns, cgroup, inode FROM registration "
			       "ORDER BY start_ns, nodeid"),
};

int record_registration_put(struct record *r, const struct registration *reg, struct errbuf *err)
{
	sqlite3_stmt *s = r->registration[REGISTRATION_PUT];

	sqlite3_bind_int64(s, 1, reg->job_id);
	sqlite3_bind_int64(s, 2, reg->step_id);
	sqlite3_bind_int64(s, 3, reg->nodeid);
	sqlite3_bind_int64(s, 4, reg->row_id);
	sqlite3_bind_int64(s, 5, reg->start_ns);
	sqlite3_bind_int64(s, 6, reg->pid);
	db_bind_text(s, 7, reg->tasks);
	sqlite3_bind_blob(s, 8, reg->message, (int)reg->message_len, SQLITE_STATIC);
	db_bind_text(s, 9, reg->cgroup);
	sqlite3_bind_int64(s, 10, (int64_t)reg->inode);
	return db_run(r->db, s, err, "keep a registration");
}

int record_registration_figures(
	struct record *r, const struct registration *reg, struct errbuf *err)
{
	sqlite3_stmt *s = r->registration[REGISTRATION_FIGURES];

	sqlite3_bind_int64(s, 1, reg->job_id);
	sqlite3_bind_int64(s, 2, reg->step_id);
	sqlite3_bind_int64(s, 3, reg->nodeid);
	sqlite3_bind_blob(s, 4, reg->figures, (int)reg->figures_len, SQLITE_STATIC);
	sqlite3_bind_int64(s, 5, reg->figures_ns);
	return db_run(r->db, s, err, "keep a step's figures");
}

int record_registration_rm(
	struct record *r, uint32_t job_id, uint32_t step_id, uint32_t nodeid, struct errbuf *err)
{
	sqlite3_stmt *s = r->registration[REGISTRATION_RM];

	sqlite3_bind_int64(s, 1, job_id);
	sqlite3_bind_int64(s, 2, step_id);
	sqlite3_bind_int64(s, 3, nodeid);
	return db_run(r->db, s, err, "drop a registration");
}

int record_registration_list(struct record *r, int (*fn)(const struct registration *reg, void *arg),
	void *arg, struct errbuf *err)
{
	sqlite3_stmt *s = r->registration[REGISTRATION_LIST];
	int stop = 0;

	while (db_next(r->db, s, &stop, err, "list registrations")) {
		struct registration reg = {
			.job_id = (uint32_t)sqlite3_column_int64(s, 0),
			.step_id = (uint32_t)sqlite3_column_int64(s, 1),
			.nodeid = (uint32_t)sqlite3_column_int64(s, 2),
			.row_id = sqlite3_column_int64(s, 3),
			.start_ns = sqlite3_column_int64(s, 4),
			.pid = (pid_t)sqlite3_column_int64(s, 5),
			.tasks = db_column_text(s, 6),
			.message = sqlite3_column_blob(s, 7),
			.message_len = (size_t)sqlite3_column_bytes(s, 7),
			.figures = sqlite3_column_blob(s, 8),
			.figures_len = (size_t)sqlite3_column_bytes(s, 8),
			.figures_ns = sqlite3_column_int64(s, 9),
			.cgroup = db_column_text(s, 10),
			.inode = (uint64_t)sqlite3_column_int64(s, 11),
		};

		stop = fn(&reg, arg);
	}
	return stop;
}
