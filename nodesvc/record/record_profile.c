/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_profile.c - what solo runs measured, one profile per (type, user, width, node type).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"

/* Rates stand apart by name: a new signal needs no new schema. */
const char RECORD_PROFILE_SCHEMA_1[] =
	"CREATE TABLE profile ("
	"  id INTEGER PRIMARY KEY,"
	"  type TEXT NOT NULL, user TEXT NOT NULL, threads INTEGER NOT NULL,"
	"  node_type TEXT NOT NULL, source TEXT NOT NULL, solo_s REAL, utilization REAL,"
	"  ll_bytes REAL, taken_unix_s INTEGER NOT NULL, count INTEGER NOT NULL, spread REAL,"
	"  UNIQUE (type, user, threads, node_type));"
	"CREATE TABLE profile_rate ("
	"  profile INTEGER NOT NULL REFERENCES profile (id) ON DELETE CASCADE,"
	"  signal TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (profile, signal))"
	"  WITHOUT ROWID;";

#define COLUMNS                                                                                    \
	"id, type, user, threads, node_type, source, solo_s, utilization, ll_bytes, "              \
	"taken_unix_s, count, spread"

const char *const RECORD_PROFILE_SQL[N_PROFILE_STMTS] = {
	[PROFILE_DEL_SAME] = "DELETE FROM profile WHERE type = ?1 AND user = ?2 AND threads = ?3 "
			     "AND node_type = ?4",
	[PROFILE_INSERT] =
		"INSERT INTO profile (type, user, threads, node_type, source, solo_s, utilization, "
		"ll_bytes, taken_unix_s, count, spread) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[PROFILE_RATE_INSERT] =
		"INSERT INTO profile_rate (profile, signal, value) VALUES (?1, ?2, ?3)",
	[PROFILE_FIND] = "SELECT " COLUMNS " FROM profile WHERE type = ?1 AND "
			 "user IN (?2, 'root') ORDER BY user = ?2 DESC, threads = ?3 DESC, "
			 "node_type = ?4 DESC, taken_unix_s DESC, id DESC LIMIT 1",
	[PROFILE_LIST] = "SELECT " COLUMNS " FROM profile ORDER BY type, user, threads, node_type",
	[PROFILE_RATES] = "SELECT signal, value FROM profile_rate WHERE profile = ?1",
	[PROFILE_RM] = "DELETE FROM profile WHERE type = ?1 AND (?2 IS NULL OR user = ?2)",
};

/* Stored names are the JSON keys, but for one. */
const char *record_signal_name(enum signal_id id)
{
	return id == SIGNAL_TIME_LEFT ? "time_left_s" : signal_name(id);
}

/* Key columns are compared, so "" stays "" here. */
static void bind_key(
	sqlite3_stmt *s, const char *type, const char *user, int threads, const char *node_type)
{
	sqlite3_bind_text(s, 1, type, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, user ? user : "", -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 3, threads);
	sqlite3_bind_text(s, 4, node_type ? node_type : "", -1, SQLITE_STATIC);
}

static int put_rates(struct record *r, int64_t id, const struct profile *p, struct errbuf *err)
{
	sqlite3_stmt *s = r->profile[PROFILE_RATE_INSERT];
	int rc = 0;

	for (int i = 0; rc == 0 && i < SIGNAL_COUNT; i++) {
		if (isnan(p->rate[i]))
			continue;
		sqlite3_bind_int64(s, 1, id);
		sqlite3_bind_text(s, 2, record_signal_name(i), -1, SQLITE_STATIC);
		sqlite3_bind_double(s, 3, p->rate[i]);
		rc = db_run(r->db, s, err, "write a profile");
	}
	return rc;
}

int record_profile_put(struct record *r, const struct profile *p, struct errbuf *err)
{
	sqlite3_stmt *del = r->profile[PROFILE_DEL_SAME], *add = r->profile[PROFILE_INSERT];
	int rc;

	if (!*p->type)
		return err_set(err, -EINVAL, "profile: 'type' is empty");
	rc = record_begin(r, err);
	if (rc < 0)
		return rc;
	bind_key(del, p->type, p->user, p->threads, p->node_type);
	rc = db_run(r->db, del, err, "replace a profile");
	if (rc == 0) {
		bind_key(add, p->type, p->user, p->threads, p->node_type);
		sqlite3_bind_text(add, 5, p->source, -1, SQLITE_STATIC);
		db_bind_double(add, 6, p->solo_s);
		db_bind_double(add, 7, p->utilization);
		db_bind_double(add, 8, p->ll_bytes);
		sqlite3_bind_int64(add, 9, p->taken_unix_s);
		sqlite3_bind_int(add, 10, p->count);
		db_bind_double(add, 11, p->spread);
		rc = db_run(r->db, add, err, "write a profile");
	}
	if (rc == 0)
		rc = put_rates(r, sqlite3_last_insert_rowid(r->db), p, err);
	return record_end(r, rc, err);
}

static int read_profile(struct record *r, sqlite3_stmt *s, struct profile *p, struct errbuf *err)
{
	sqlite3_stmt *rates = r->profile[PROFILE_RATES];
	int rc = 0;

	memset(p, 0, sizeof(*p));
	db_column_copy(s, 1, p->type, sizeof(p->type));
	db_column_copy(s, 2, p->user, sizeof(p->user));
	p->threads = sqlite3_column_int(s, 3);
	db_column_copy(s, 4, p->node_type, sizeof(p->node_type));
	db_column_copy(s, 5, p->source, sizeof(p->source));
	p->solo_s = db_column_double(s, 6);
	p->utilization = db_column_double(s, 7);
	p->ll_bytes = db_column_double(s, 8);
	p->taken_unix_s = sqlite3_column_int64(s, 9);
	p->count = sqlite3_column_int(s, 10);
	p->spread = db_column_double(s, 11);
	for (int i = 0; i < SIGNAL_COUNT; i++)
		p->rate[i] = NAN;
	sqlite3_bind_int64(rates, 1, sqlite3_column_int64(s, 0));
	while (db_next(r->db, rates, &rc, err, "read a profile")) {
		const char *name = db_column_text(rates, 0);

		/* A name that is unknown here came from a newer program: passed over. */
		for (int i = 0; i < SIGNAL_COUNT; i++) {
			if (strcmp(name, record_signal_name(i)) == 0)
				p->rate[i] = sqlite3_column_double(rates, 1);
		}
	}
	return rc;
}

int record_profile_find(struct record *r, const char *type, const char *user, int threads,
	const char *node_type, struct profile *ret, struct errbuf *err)
{
	sqlite3_stmt *s = r->profile[PROFILE_FIND];
	struct profile p = {0};
	int rc;

	bind_key(s, type, user, threads, node_type);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		rc = read_profile(r, s, &p, err);
	else if (rc == SQLITE_DONE)
		rc = err_set(err, -ENOENT, "no stored profile of '%s'", type);
	else
		rc = db_fail(r->db, rc, err, "find a profile");
	db_reset(s);
	if (rc == 0)
		*ret = p;
	return rc;
}

int record_profile_list(struct record *r, int (*fn)(const struct profile *p, void *arg), void *arg,
	struct errbuf *err)
{
	sqlite3_stmt *s = r->profile[PROFILE_LIST];
	int stop = 0;

	while (db_next(r->db, s, &stop, err, "list profiles")) {
		struct profile p = {0};

		stop = read_profile(r, s, &p, err);
		if (stop == 0)
			stop = fn(&p, arg);
	}
	return stop;
}

int record_profile_rm(struct record *r, const char *type, const char *user, struct errbuf *err)
{
	sqlite3_stmt *s = r->profile[PROFILE_RM];

	sqlite3_bind_text(s, 1, type, -1, SQLITE_STATIC);
	if (user)
		sqlite3_bind_text(s, 2, user, -1, SQLITE_STATIC);
	return db_change(r->db, s, err, "remove a profile");
}
