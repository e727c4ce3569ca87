/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_judged.c - the guard's memory: what windows showed of a set of programs under a policy.
 * Bounded by whoever writes (quarantine.c).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"

const char RECORD_JUDGED_SCHEMA_6[] =
	"CREATE TABLE judged ("
	"  policy TEXT NOT NULL, node_type TEXT NOT NULL, members TEXT NOT NULL,"
	"  basis TEXT NOT NULL, windows INTEGER NOT NULL, mean REAL NOT NULL, m2 REAL NOT NULL,"
	"  last_unix_s INTEGER NOT NULL, until_unix_s INTEGER, times INTEGER NOT NULL,"
	"  PRIMARY KEY (policy, node_type, members)) WITHOUT ROWID;";

#define COLUMNS                                                                                    \
	"policy, node_type, members, basis, windows, mean, m2, last_unix_s, until_unix_s, times"

const char *const RECORD_JUDGED_SQL[N_JUDGED_STMTS] = {
	[JUDGED_PUT] = "INSERT OR REPLACE INTO judged (" COLUMNS
		       ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[JUDGED_LIST] = "SELECT " COLUMNS " FROM judged ORDER BY last_unix_s, policy, members",
	[JUDGED_RM] = "DELETE FROM judged WHERE policy = ?1 AND node_type = ?2 AND members = ?3",
};

static void bind_key(sqlite3_stmt *s, const struct judged *j)
{
	sqlite3_bind_text(s, 1, j->policy, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, j->node_type, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, j->members, -1, SQLITE_STATIC);
}

int record_judged_put(struct record *r, const struct judged *j, struct errbuf *err)
{
	sqlite3_stmt *s = r->judged[JUDGED_PUT];

	if (!*j->policy || !j->members || !*j->members || j->windows < 0 || !isfinite(j->mean) ||
		!isfinite(j->m2) || j->m2 < 0)
		return err_set(err, -EINVAL, "judged set '%.80s' under '%.40s': %d windows of %g",
			j->members ? j->members : "", j->policy, j->windows, j->mean);
	bind_key(s, j);
	sqlite3_bind_text(s, 4, j->basis, -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 5, j->windows);
	sqlite3_bind_double(s, 6, j->mean);
	sqlite3_bind_double(s, 7, j->m2);
	sqlite3_bind_int64(s, 8, j->last_unix_s);
	db_bind_int(s, 9, j->until_unix_s, 0);
	sqlite3_bind_int(s, 10, j->times);
	return db_run(r->db, s, err, "write a judged set");
}

static void read_judged(sqlite3_stmt *s, struct judged *j)
{
	memset(j, 0, sizeof(*j));
	db_column_copy(s, 0, j->policy, sizeof(j->policy));
	db_column_copy(s, 1, j->node_type, sizeof(j->node_type));
	j->members = db_column_text(s, 2);
	db_column_copy(s, 3, j->basis, sizeof(j->basis));
	j->windows = sqlite3_column_int(s, 4);
	j->mean = sqlite3_column_double(s, 5);
	j->m2 = sqlite3_column_double(s, 6);
	j->last_unix_s = sqlite3_column_int64(s, 7);
	j->until_unix_s = db_column_int(s, 8, 0);
	j->times = sqlite3_column_int(s, 9);
}

int record_judged_list(struct record *r, int (*fn)(const struct judged *j, void *arg), void *arg,
	struct errbuf *err)
{
	sqlite3_stmt *s = r->judged[JUDGED_LIST];
	int stop = 0;

	while (db_next(r->db, s, &stop, err, "list judged sets")) {
		struct judged j;

		read_judged(s, &j);
		stop = fn(&j, arg);
	}
	return stop;
}

int record_judged_rm(struct record *r, const struct judged *j, struct errbuf *err)
{
	bind_key(r->judged[JUDGED_RM], j);
	return db_change(r->db, r->judged[JUDGED_RM], err, "remove a judged set");
}
