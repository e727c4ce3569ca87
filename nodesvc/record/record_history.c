/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_history.c - what a step went through: coresets, phases, thinned signals. Rows belong to
 * their step's and go with it.
 */
#include <string.h>

#include "nodesvc/record/record_internal.h"

/* Stored provenance is the enum's number: PROVENANCE_* are only ever added to. */
const char RECORD_HISTORY_SCHEMA_3[] =
	"CREATE TABLE coreset_change ("
	"  row_id INTEGER NOT NULL REFERENCES step (row_id) ON DELETE CASCADE,"
	"  t_ns INTEGER NOT NULL, coreset TEXT NOT NULL, why TEXT,"
	"  PRIMARY KEY (row_id, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE phase ("
	"  row_id INTEGER NOT NULL REFERENCES step (row_id) ON DELETE CASCADE,"
	"  t_ns INTEGER NOT NULL, signature TEXT,"
	"  PRIMARY KEY (row_id, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE sample ("
	"  row_id INTEGER NOT NULL REFERENCES step (row_id) ON DELETE CASCADE,"
	"  t_ns INTEGER NOT NULL, signal INTEGER NOT NULL, provenance INTEGER NOT NULL,"
	"  value REAL NOT NULL, PRIMARY KEY (row_id, t_ns, signal)) WITHOUT ROWID;";

const char *const RECORD_HISTORY_SQL[N_HISTORY_STMTS] = {
	[HISTORY_CORESET_PUT] =
		"INSERT OR REPLACE INTO coreset_change (row_id, t_ns, coreset, why) "
		"VALUES (?1, ?2, ?3, ?4)",
	[HISTORY_CORESET_LIST] =
		"SELECT t_ns, coreset, why FROM coreset_change WHERE row_id = ?1 ORDER BY t_ns",
	[HISTORY_PHASE_PUT] =
		"INSERT OR REPLACE INTO phase (row_id, t_ns, signature) VALUES (?1, ?2, ?3)",
	[HISTORY_PHASE_LIST] = "SELECT t_ns, signature FROM phase WHERE row_id = ?1 ORDER BY t_ns",
	[HISTORY_SAMPLE_PUT] = "INSERT OR REPLACE INTO sample (row_id, t_ns, signal, provenance, "
			       "value) VALUES (?1, ?2, ?3, ?4, ?5)",
	[HISTORY_SAMPLE_COUNT] =
		"SELECT count(DISTINCT t_ns), min(t_ns), max(t_ns) FROM sample WHERE row_id = ?1",
	[HISTORY_SAMPLE_HALVE] = "DELETE FROM sample WHERE row_id = ?1 AND t_ns IN ("
				 "  SELECT t_ns FROM (SELECT t_ns, row_number() OVER "
				 "  (ORDER BY t_ns) AS n FROM (SELECT DISTINCT t_ns FROM sample "
				 "  WHERE row_id = ?1)) WHERE n % 2 = 0)",
	[HISTORY_SAMPLE_LIST] = "SELECT t_ns, signal, provenance, value FROM sample "
				"WHERE row_id = ?1 ORDER BY t_ns, signal",
};

int record_coreset(struct record *r, int64_t row_id, int64_t t_ns, const char *coreset,
	const char *why, struct errbuf *err)
{
	sqlite3_stmt *s = r->history[HISTORY_CORESET_PUT];

	sqlite3_bind_int64(s, 1, row_id);
	sqlite3_bind_int64(s, 2, t_ns);
	sqlite3_bind_text(s, 3, coreset, -1, SQLITE_STATIC);
	db_bind_text(s, 4, why);
	return db_run(r->db, s, err, "write a coreset");
}

int record_coreset_list(struct record *r, int64_t row_id,
	int (*fn)(int64_t t_ns, const char *coreset, const char *why, void *arg), void *arg,
	struct errbuf *err)
{
	sqlite3_stmt *s = r->history[HISTORY_CORESET_LIST];
	int stop = 0;

	sqlite3_bind_int64(s, 1, row_id);
	while (db_next(r->db, s, &stop, err, "list coresets"))
		stop = fn(sqlite3_column_int64(s, 0), db_column_text(s, 1), db_column_text(s, 2),
			arg);
	return stop;
}

int record_phase(
	struct record *r, int64_t row_id, int64_t t_ns, const char *signature, struct errbuf *err)
{
	sqlite3_stmt *s = r->history[HISTORY_PHASE_PUT];

	sqlite3_bind_int64(s, 1, row_id);
	sqlite3_bind_int64(s, 2, t_ns);
	db_bind_text(s, 3, signature);
	return db_run(r->db, s, err, "write a phase");
}

int record_phase_list(struct record *r, int64_t row_id,
	int (*fn)(int64_t t_ns, const char *signature, void *arg), void *arg, struct errbuf *err)
{
	sqlite3_stmt *s = r->history[HISTORY_PHASE_LIST];
	int stop = 0;

	sqlite3_bind_int64(s, 1, row_id);
	while (db_next(r->db, s, &stop, err, "list phases"))
		stop = fn(sqlite3_column_int64(s, 0), db_column_text(s, 1), arg);
	return stop;
}

/* Where an adopted step was: its mean interval stands for the one that held. */
static int find_place(
	struct record *r, int64_t row_id, struct record_thin *thin, struct errbuf *err)
{
	sqlite3_stmt *s = r->history[HISTORY_SAMPLE_COUNT];
	int rc = 0;

	sqlite3_bind_int64(s, 1, row_id);
	while (db_next(r->db, s, &rc, err, "count samples")) {
		thin->is_known = true;
		thin->n = sqlite3_column_int(s, 0);
		thin->last_ns = sqlite3_column_int64(s, 2);
		if (thin->n >= RECORD_SAMPLES_MAX / 2)
			thin->every_ns =
				(thin->last_ns - sqlite3_column_int64(s, 1)) / (thin->n - 1);
	}
	return rc;
}

static int put_signals(struct record *r, int64_t row_id, int64_t t_ns, const struct signal *signal,
	struct errbuf *err)
{
	sqlite3_stmt *s = r->history[HISTORY_SAMPLE_PUT];
	int rc = 0;

	for (int i = 0; rc == 0 && i < SIGNAL_COUNT; i++) {
		if (signal[i].provenance == PROVENANCE_NONE)
			continue;
		sqlite3_bind_int64(s, 1, row_id);
		sqlite3_bind_int64(s, 2, t_ns);
		sqlite3_bind_int(s, 3, i);
		sqlite3_bind_int(s, 4, (int)signal[i].provenance);
		sqlite3_bind_double(s, 5, signal[i].value);
		rc = db_run(r->db, s, err, "write a sample");
	}
	return rc;
}

int record_sample(struct record *r, int64_t row_id, struct record_thin *thin, int64_t t_ns,
	const struct signal *signal, struct errbuf *err)
{
	struct record_thin next = *thin;
	sqlite3_stmt *halve = r->history[HISTORY_SAMPLE_HALVE];
	bool own = !record_is_open(r);
	int rc = 0, any = 0;

	if (!next.is_known)
		rc = find_place(r, row_id, &next, err);
	if (rc < 0)
		return rc;
	for (int i = 0; i < SIGNAL_COUNT; i++)
		any += signal[i].provenance != PROVENANCE_NONE;
	if (!any || (next.n > 0 && t_ns - next.last_ns < next.every_ns)) {
		*thin = next;
		return 0;
	}
	if (own)
		rc = record_begin(r, err);
	if (rc == 0 && next.n >= RECORD_SAMPLES_MAX) {
		sqlite3_bind_int64(halve, 1, row_id);
		rc = db_run(r->db, halve, err, "thin samples");
		/* Twice the interval that filled the store. */
		next.every_ns = next.every_ns ? next.every_ns * 2 : 2 * (t_ns - next.last_ns);
		next.n -= next.n / 2;
	}
	if (rc == 0)
		rc = put_signals(r, row_id, t_ns, signal, err);
	if (own)
		rc = record_end(r, rc, err);
	if (rc < 0)
		return rc;
	next.last_ns = t_ns;
	next.n++;
	*thin = next;
	return 1;
}

int record_sample_list(struct record *r, int64_t row_id,
	int (*fn)(int64_t t_ns, const struct signal *signal, void *arg), void *arg,
	struct errbuf *err)
{
	sqlite3_stmt *s = r->history[HISTORY_SAMPLE_LIST];
	struct signal signal[SIGNAL_COUNT];
	int64_t t_ns = 0;
	bool has = false;
	int stop = 0;

	memset(signal, 0, sizeof(signal));
	sqlite3_bind_int64(s, 1, row_id);
	while (db_next(r->db, s, &stop, err, "list samples")) {
		int id = sqlite3_column_int(s, 1);

		if (has && sqlite3_column_int64(s, 0) != t_ns) {
			stop = fn(t_ns, signal, arg);
			memset(signal, 0, sizeof(signal));
		}
		has = true;
		t_ns = sqlite3_column_int64(s, 0);
		if (id >= 0 && id < SIGNAL_COUNT)
			signal[id] = (struct signal){sqlite3_column_double(s, 3),
				(enum provenance)sqlite3_column_int(s, 2)};
	}
	return !stop && has ? fn(t_ns, signal, arg) : stop;
}
