/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_learnt.c - what the service has learned of programs and needs again when it is started
 * anew: a line of text for each, which only who wrote it reads.
 */
#include <errno.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"

/* By row_id they are in the order in which they were put: a replaced one gets a new one. */
const char RECORD_LEARNT_SCHEMA_9[] =
	"CREATE TABLE learnt ("
	"  row_id INTEGER PRIMARY KEY, what TEXT NOT NULL, node_type TEXT NOT NULL,"
	"  owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
	"  put_unix_s INTEGER NOT NULL, UNIQUE (what, node_type, owner, name));";

const char *const RECORD_LEARNT_SQL[N_LEARNT_STMTS] = {
	[LEARNT_PUT] = "INSERT OR REPLACE INTO learnt (what, node_type, owner, name, value, "
		       "put_unix_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	/* Of whoever has most, what was put first: a user calls his programs as he likes. */
	[LEARNT_TRIM] =
		"DELETE FROM learnt WHERE row_id IN (SELECT row_id FROM (SELECT row_id, "
		"row_number() OVER (PARTITION BY owner ORDER BY row_id DESC) AS place FROM learnt "
		"WHERE what = ?1) ORDER BY place, row_id DESC LIMIT -1 OFFSET ?2)",
	[LEARNT_LIST] = "SELECT what, node_type, owner, name, value, put_unix_s FROM learnt "
			"WHERE what = ?1 ORDER BY row_id",
	[LEARNT_GET] = "SELECT what, node_type, owner, name, value, put_unix_s FROM learnt "
		       "WHERE what = ?1 AND node_type = ?2 AND owner = ?3 AND name = ?4",
	[LEARNT_RM] = "DELETE FROM learnt WHERE what = ?1 AND (?2 IS NULL OR owner = ?2) AND "
		      "name = ?3",
};

static void bind_key(sqlite3_stmt *s, const struct learnt *m)
{
	sqlite3_bind_text(s, 1, m->what, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, m->node_type, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, m->owner, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, m->name, -1, SQLITE_STATIC);
}

static int list(struct record *r, sqlite3_stmt *s, int (*fn)(const struct learnt *m, void *arg),
	void *arg, struct errbuf *err)
{
	int stop = 0;

	while (db_next(r->db, s, &stop, err, "read what was learned")) {
		struct learnt m = {
			.what = db_column_text(s, 0),
			.node_type = db_column_text(s, 1),
			.owner = db_column_text(s, 2),
			.name = db_column_text(s, 3),
			.value = db_column_text(s, 4),
			.put_unix_s = sqlite3_column_int64(s, 5),
		};

		/* A damaged store may hold anything. */
		if (m.what && m.node_type && m.owner && m.name && m.value)
			stop = fn(&m, arg);
	}
	return stop;
}

int record_learnt_put(struct record *r, const struct learnt *m, int most, struct errbuf *err)
{
	sqlite3_stmt *put = r->learnt[LEARNT_PUT], *trim = r->learnt[LEARNT_TRIM];
	bool own = !record_is_open(r);
	int rc;

	if (!*m->what || !*m->name || strlen(m->value) >= LEARNT_VALUE_MAX || most < 1)
		return err_set(err, -EINVAL, "learnt of '%.20s': '%.80s' cannot be kept", m->what,
			m->name);
	rc = own ? record_begin(r, err) : 0;
	if (rc < 0)
		return rc;
	bind_key(put, m);
	sqlite3_bind_text(put, 5, m->value, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 6, m->put_unix_s);
	rc = db_run(r->db, put, err, "write what was learned");
	if (rc == 0) {
		sqlite3_bind_text(trim, 1, m->what, -1, SQLITE_STATIC);
		sqlite3_bind_int(trim, 2, most);
		rc = db_run(r->db, trim, err, "forget what was learned first");
	}
	return own ? record_end(r, rc, err) : rc;
}

int record_learnt_list(struct record *r, const char *what,
	int (*fn)(const struct learnt *m, void *arg), void *arg, struct errbuf *err)
{
	sqlite3_bind_text(r->learnt[LEARNT_LIST], 1, what, -1, SQLITE_STATIC);
	return list(r, r->learnt[LEARNT_LIST], fn, arg, err);
}

int record_learnt_get(struct record *r, const struct learnt *key,
	int (*fn)(const struct learnt *m, void *arg), void *arg, struct errbuf *err)
{
	bind_key(r->learnt[LEARNT_GET], key);
	return list(r, r->learnt[LEARNT_GET], fn, arg, err);
}

int record_learnt_rm(
	struct record *r, const char *what, const char *owner, const char *name, struct errbuf *err)
{
	sqlite3_stmt *s = r->learnt[LEARNT_RM];

	sqlite3_bind_text(s, 1, what, -1, SQLITE_STATIC);
	if (owner)
		sqlite3_bind_text(s, 2, owner, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, name, -1, SQLITE_STATIC);
	return db_change(r->db, s, err, "forget what was learned");
}
