/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_measurement.c - running means of what live intervals measured, one row per program, user,
 * node type, width, company and signal.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"

const char RECORD_MEASUREMENT_SCHEMA_2[] =
	"CREATE TABLE measurement ("
	"  type TEXT NOT NULL, user TEXT NOT NULL, node_type TEXT NOT NULL,"
	"  cores INTEGER NOT NULL, kind INTEGER NOT NULL, signal TEXT NOT NULL,"
	"  unit TEXT NOT NULL, source TEXT NOT NULL, count INTEGER NOT NULL,"
	"  mean REAL NOT NULL, m2 REAL NOT NULL,"
	"  first_unix_s INTEGER NOT NULL, last_unix_s INTEGER NOT NULL,"
	"  PRIMARY KEY (type, user, node_type, cores, kind, signal)) WITHOUT ROWID;";

/* For what goes when a user has too many. */
const char RECORD_MEASUREMENT_SCHEMA_10[] =
	"CREATE INDEX measurement_user ON measurement (user, last_unix_s);";

#define COLUMNS                                                                                    \
	"type, user, node_type, cores, kind, signal, unit, source, count, mean, m2, "              \
	"first_unix_s, last_unix_s"

const char *const RECORD_MEASUREMENT_SQL[N_MEASUREMENT_STMTS] = {
	[MEASUREMENT_FIND] =
		"SELECT " COLUMNS " FROM measurement WHERE type = ?1 AND user = ?2 AND "
		"node_type = ?3 AND cores = ?4 AND kind = ?5 AND signal = ?6",
	[MEASUREMENT_PUT] = "INSERT OR REPLACE INTO measurement (" COLUMNS ") VALUES (?1, ?2, ?3, "
			    "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
	[MEASUREMENT_LIST] = "SELECT " COLUMNS " FROM measurement WHERE (?1 IS NULL OR type = ?1) "
			     "AND (?2 IS NULL OR user = ?2) ORDER BY type, user, node_type, cores, "
			     "kind, signal",
	[MEASUREMENT_TRIM] =
		"DELETE FROM measurement WHERE (type, user, node_type, cores, kind, signal) IN "
		"(SELECT type, user, node_type, cores, kind, signal FROM measurement WHERE "
		"user = ?1 ORDER BY last_unix_s DESC LIMIT -1 OFFSET ?2)",
	[MEASUREMENT_RM] = "DELETE FROM measurement WHERE type = ?1 AND (?2 IS NULL OR user = ?2)",
};

const char *measured_name(enum measured k)
{
	static const char *const names[] = {"shared", "alone", "solo"};

	return (unsigned int)k < MEASURED_COUNT ? names[k] : "?";
}

/* A name that is not known came from a newer program: -1, passed over. */
static int parse_signal(const char *name)
{
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (name && strcmp(name, record_signal_name(i)) == 0)
			return i;
	return -1;
}

/* Has something been measured? What a damaged or foreign store holds may be anything. */
static bool can_be(const struct measurement *m)
{
	return *m->type && m->cores >= 1 && m->count >= 1 && isfinite(m->mean) && m->m2 >= 0 &&
	       isfinite(m->m2) && (unsigned int)m->kind < MEASURED_COUNT;
}

static bool read_measurement(sqlite3_stmt *s, struct measurement *m)
{
	int signal = parse_signal(db_column_text(s, 5));

	memset(m, 0, sizeof(*m));
	if (signal < 0 || (unsigned int)sqlite3_column_int(s, 4) >= MEASURED_COUNT)
		return false;
	db_column_copy(s, 0, m->type, sizeof(m->type));
	db_column_copy(s, 1, m->user, sizeof(m->user));
	db_column_copy(s, 2, m->node_type, sizeof(m->node_type));
	m->cores = sqlite3_column_int(s, 3);
	m->kind = (enum measured)sqlite3_column_int(s, 4);
	m->signal = (enum signal_id)signal;
	db_column_copy(s, 6, m->unit, sizeof(m->unit));
	db_column_copy(s, 7, m->source, sizeof(m->source));
	m->count = sqlite3_column_int(s, 8);
	m->mean = sqlite3_column_double(s, 9);
	m->m2 = sqlite3_column_double(s, 10);
	m->first_unix_s = sqlite3_column_int64(s, 11);
	m->last_unix_s = sqlite3_column_int64(s, 12);
	return can_be(m);
}

static void bind_key(sqlite3_stmt *s, const struct measurement *m)
{
	sqlite3_bind_text(s, 1, m->type, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, m->user, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, m->node_type, -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 4, m->cores);
	sqlite3_bind_int(s, 5, (int)m->kind);
	sqlite3_bind_text(s, 6, record_signal_name(m->signal), -1, SQLITE_STATIC);
}

static int put_measurement(struct record *r, const struct measurement *m, struct errbuf *err)
{
	sqlite3_stmt *put = r->measurement[MEASUREMENT_PUT];

	bind_key(put, m);
	sqlite3_bind_text(put, 7, m->unit, -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 8, m->source, -1, SQLITE_STATIC);
	sqlite3_bind_int(put, 9, m->count);
	sqlite3_bind_double(put, 10, m->mean);
	sqlite3_bind_double(put, 11, m->m2);
	sqlite3_bind_int64(put, 12, m->first_unix_s);
	sqlite3_bind_int64(put, 13, m->last_unix_s);
	return db_run(r->db, put, err, "write a measurement");
}

/* A user names his programs as he likes. */
static int trim(struct record *r, const char *user, struct errbuf *err)
{
	sqlite3_stmt *s = r->measurement[MEASUREMENT_TRIM];

	sqlite3_bind_text(s, 1, user, -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, RECORD_MEASUREMENTS_MAX);
	return db_run(r->db, s, err, "forget old measurements");
}

int record_measurement_add(
	struct record *r, const struct measurement *m, double value, struct errbuf *err)
{
	sqlite3_stmt *find = r->measurement[MEASUREMENT_FIND];
	struct measurement now;
	bool found = false;
	double delta;
	int rc = 0;

	if (!*m->type || m->cores < 1 || !isfinite(value) ||
		(unsigned int)m->kind >= MEASURED_COUNT)
		return err_set(err, -EINVAL, "measurement of '%s' at %d cores: %g", m->type,
			m->cores, value);
	bind_key(find, m);
	while (db_next(r->db, find, &rc, err, "find a measurement"))
		found = read_measurement(find, &now) && strcmp(now.source, m->source) == 0 &&
			strcmp(now.unit, m->unit) == 0;
	if (rc < 0)
		return rc;
	if (!found) {
		now = *m;
		now.count = 0;
		now.mean = now.m2 = 0;
		now.first_unix_s = m->last_unix_s;
	}
	/* Welford: one row, no list of samples. */
	now.count++;
	delta = value - now.mean;
	now.mean += delta / now.count;
	now.m2 += delta * (value - now.mean);
	now.last_unix_s = m->last_unix_s;
	rc = put_measurement(r, &now, err);
	return rc < 0 || found ? rc : trim(r, m->user, err);
}

int record_measurement_put(struct record *r, const struct measurement *m, struct errbuf *err)
{
	int rc;

	if (!can_be(m))
		return err_set(err, -EINVAL, "measurement of '%s' at %d cores: %d intervals of %g",
			m->type, m->cores, m->count, m->mean);
	rc = put_measurement(r, m, err);
	return rc < 0 ? rc : trim(r, m->user, err);
}

int record_measurement_list(struct record *r, const char *type, const char *user,
	int (*fn)(const struct measurement *m, void *arg), void *arg, struct errbuf *err)
{
	sqlite3_stmt *s = r->measurement[MEASUREMENT_LIST];
	int stop = 0;

	if (type)
		sqlite3_bind_text(s, 1, type, -1, SQLITE_STATIC);
	if (user)
		sqlite3_bind_text(s, 2, user, -1, SQLITE_STATIC);
	while (db_next(r->db, s, &stop, err, "list measurements")) {
		struct measurement m;

		if (read_measurement(s, &m))
			stop = fn(&m, arg);
	}
	return stop;
}

int record_measurement_rm(struct record *r, const char *type, const char *user, struct errbuf *err)
{
	sqlite3_stmt *s = r->measurement[MEASUREMENT_RM];

	sqlite3_bind_text(s, 1, type, -1, SQLITE_STATIC);
	if (user)
		sqlite3_bind_text(s, 2, user, -1, SQLITE_STATIC);
	return db_change(r->db, s, err, "remove measurements");
}
