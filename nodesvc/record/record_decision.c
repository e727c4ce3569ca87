/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_decision.c - decisions as the daemon worded them, for explain after the fact.
 */
#include "nodesvc/record/record_internal.h"

/* About 2 KiB each: some 20 MB, a day of one decision every nine seconds. */
#define KEEP "10000"

const char RECORD_DECISION_SCHEMA_1[] =
	"CREATE TABLE decision ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT, t_ns INTEGER NOT NULL, event TEXT,"
	"  json TEXT NOT NULL);";

const char *const RECORD_DECISION_SQL[N_DECISION_STMTS] = {
	[DECISION_INSERT] = "INSERT INTO decision (t_ns, event, json) VALUES (?1, ?2, ?3)",
	[DECISION_TRIM] = ("DELETE FROM decision WHERE id <= last_insert_rowid() - " KEEP),
	[DECISION_LIST] = "SELECT t_ns, event, json FROM decision ORDER BY id DESC LIMIT ?1",
};

int record_decision_add(
	struct record *r, int64_t t_ns, const char *event, const char *json, struct errbuf *err)
{
	sqlite3_stmt *add = r->decision[DECISION_INSERT];
	bool own = !record_is_open(r);
	int rc = own ? record_begin(r, err) : 0;

	if (rc < 0)
		return rc;
	sqlite3_bind_int64(add, 1, t_ns);
	db_bind_text(add, 2, event);
	sqlite3_bind_text(add, 3, json, -1, SQLITE_STATIC);
	rc = db_run(r->db, add, err, "write a decision");
	if (rc == 0)
		rc = db_run(r->db, r->decision[DECISION_TRIM], err, "trim decisions");
	return own ? record_end(r, rc, err) : rc;
}

int record_decision_list(struct record *r, int limit,
	int (*fn)(int64_t t_ns, const char *event, const char *json, void *arg), void *arg,
	struct errbuf *err)
{
	sqlite3_stmt *s = r->decision[DECISION_LIST];
	int rc, stop = 0;

	sqlite3_bind_int(s, 1, limit > 0 ? limit : -1);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		stop = fn(sqlite3_column_int64(s, 0), db_column_text(s, 1), db_column_text(s, 2),
			arg);
		if (stop)
			break;
	}
	if (!stop && rc != SQLITE_DONE)
		stop = db_fail(r->db, rc, err, "list decisions");
	db_reset(s);
	return stop;
}
