/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_step.c - accounting rows of job steps.
 */
#include <errno.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"

#define NO_ARRAY_TASK UINT32_C(0xfffffffe)
#define ALL_STEPS     UINT32_C(0xffffffff)

/* Blank is NULL. */
const char RECORD_STEP_SCHEMA_1[] =
	"CREATE TABLE step ("
	"  row_id INTEGER PRIMARY KEY,"
	"  job_id INTEGER NOT NULL, step_id INTEGER NOT NULL,"
	"  array_job_id INTEGER, array_task_id INTEGER,"
	"  node TEXT, name TEXT, program TEXT,"
	"  uid INTEGER NOT NULL, user TEXT, account TEXT, partition TEXT,"
	"  policy TEXT, req_policy TEXT, reason TEXT,"
	"  cores INTEGER, coreset TEXT, coreset_history TEXT, partners TEXT,"
	"  start_ns INTEGER NOT NULL, end_ns INTEGER,"
	"  rebinds INTEGER NOT NULL, tasks INTEGER, exit_code INTEGER,"
	"  state TEXT NOT NULL, dry_run INTEGER NOT NULL);"
	"CREATE INDEX step_job ON step (job_id, step_id);"
	"CREATE INDEX step_array ON step (array_job_id);"
	"CREATE INDEX step_end ON step (end_ns);"
	"CREATE INDEX step_uid ON step (uid, end_ns);";

/*
 * How long a step ran, in classes: those that began before a window and reach into it are found
 * class by class, each among the starts of its own longest duration before the window, where an
 * index on ends alone would read all that was recorded since. Running: NULL.
 */
#define HOUR_NS  "3600000000000"
#define DAY_NS   "86400000000000"
#define MONTH_NS "2764800000000000"
#define SPAN                                                                                       \
	"(CASE WHEN end_ns IS NULL THEN NULL WHEN end_ns - start_ns <= " HOUR_NS " THEN 0 "        \
	"WHEN end_ns - start_ns <= " DAY_NS " THEN 1 "                                             \
	"WHEN end_ns - start_ns <= " MONTH_NS " THEN 2 ELSE 3 END)"

/* Version 3: a window's rows by an index, unsorted. */
const char RECORD_STEP_SCHEMA_3[] = "DROP INDEX step_uid;"
				    "CREATE INDEX step_start ON step (start_ns);"
				    "CREATE INDEX step_span ON step (" SPAN ", start_ns);"
				    "CREATE INDEX step_uid_start ON step (uid, start_ns);"
				    "CREATE INDEX step_uid_span ON step (uid, " SPAN ", start_ns);";

/* Version 4: the speeds of a program's launches by an index. */
const char RECORD_STEP_SCHEMA_4[] = "CREATE INDEX step_launch ON step (program, user, launch, "
				    "end_ns) WHERE launch IS NOT NULL;";

/* The jobs a reader asks for: a join, so that the list's length is nobody's limit. */
const char RECORD_STEP_TEMP[] = "CREATE TEMP TABLE want (job INTEGER NOT NULL, step INTEGER)";

/* X(kind, member): NUMBER is never NULL, of SOME 0 is; the figures follow. */
#define STEP_COLUMNS(X)                                                                            \
	X(NUMBER, step_id)                                                                         \
	X(SOME, array_job_id)                                                                      \
	X(ARRAY_TASK, array_task_id)                                                               \
	X(TEXT, node)                                                                              \
	X(TEXT, name)                                                                              \
	X(TEXT, program)                                                                           \
	X(NUMBER, uid)                                                                             \
	X(TEXT, user)                                                                              \
	X(TEXT, account)                                                                           \
	X(TEXT, partition)                                                                         \
	X(TEXT, policy)                                                                            \
	X(TEXT, req_policy)                                                                        \
	X(TEXT, reason)                                                                            \
	X(SOME, cores)                                                                             \
	X(TEXT, coreset)                                                                           \
	X(TEXT, coreset_history)                                                                   \
	X(TEXT, partners)                                                                          \
	X(NUMBER, start_ns)                                                                        \
	X(SOME, end_ns)                                                                            \
	X(NUMBER, rebinds)                                                                         \
	X(SOME, tasks)                                                                             \
	X(STATUS, exit_code)                                                                       \
	X(STATE, state)                                                                            \
	X(NUMBER, dry_run)
#define COLUMN(kind, member, ...) ", " #member
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a term */
#define ONE(kind, member, ...) +1
#define COLUMNS                "job_id" STEP_COLUMNS(COLUMN) STEP_FIGURES(COLUMN)
#define N_COLUMNS              (1 STEP_COLUMNS(ONE) STEP_FIGURES(ONE))

/*
 * ?1, ?2 the window, open as 0 and the largest number: "?1 IS NULL OR" would keep SQLite from
 * using the index, and the service answers users from its loop. A window is two lists, so that
 * it begins at once and needs no sorting: the steps that began EARLIER, then those WITHIN.
 */
#define SELECT  "SELECT row_id, " COLUMNS " FROM step "
#define REACHES "start_ns < ?1 AND end_ns >= ?1 "
#define EARLIER(owner)                                                                             \
	SELECT "WHERE row_id IN ("                                                                 \
	       "  SELECT row_id FROM step WHERE " owner "end_ns IS NULL AND start_ns < ?1 "        \
	       "  UNION ALL SELECT row_id FROM step WHERE " owner SPAN " = 0 "                     \
	       "  AND start_ns >= ?1 - " HOUR_NS " AND " REACHES                                   \
	       "  UNION ALL SELECT row_id FROM step WHERE " owner SPAN " = 1 "                     \
	       "  AND start_ns >= ?1 - " DAY_NS " AND " REACHES                                    \
	       "  UNION ALL SELECT row_id FROM step WHERE " owner SPAN " = 2 "                     \
	       "  AND start_ns >= ?1 - " MONTH_NS " AND " REACHES                                  \
	       "  UNION ALL SELECT row_id FROM step WHERE " owner SPAN " = 3 AND " REACHES ") "    \
	       "AND start_ns <= ?2 " ORDER
#define WITHIN(owner) SELECT "WHERE " owner "start_ns >= ?1 AND start_ns <= ?2 " ORDER
#define WINDOW        "start_ns <= ?2 AND (end_ns IS NULL OR end_ns >= ?1) "
#define ORDER         "ORDER BY start_ns, row_id"

const char *const RECORD_STEP_SQL[N_STEP_STMTS] = {
/* A plain ? is the number after the largest so far. */
#define VALUE(kind, member, ...) ", ?"
	[STEP_INSERT] = "INSERT INTO step (" COLUMNS ") VALUES (?" STEP_COLUMNS(VALUE)
		STEP_FIGURES(VALUE) ")",
#define SET(kind, member, ...) ", " #member " = ?"
	[STEP_UPDATE] = "UPDATE step SET job_id = ?" STEP_COLUMNS(SET)
		STEP_FIGURES(SET) " WHERE row_id = ?",
	[STEP_RUNNING_LIST] = "SELECT row_id FROM step WHERE end_ns IS NULL AND "
			      "state = 'RUNNING'",
	/* Not before it began: the clock may have been set back. */
	[STEP_CLOSE] = "UPDATE step SET state = 'UNKNOWN', end_ns = max(?2, start_ns) "
		       "WHERE row_id = ?1",
	[STEP_LIST_EARLIER] = EARLIER(""),
	[STEP_LIST_WITHIN] = WITHIN(""),
	[STEP_LIST_UID_EARLIER] = EARLIER("uid = ?3 AND "),
	[STEP_LIST_UID_WITHIN] = WITHIN("uid = ?3 AND "),
	[STEP_LIST_JOBS] =
		SELECT "WHERE row_id IN ("
		       "  SELECT s.row_id FROM want w JOIN step s ON s.job_id = w.job"
		       "  WHERE w.step IS NULL OR s.step_id = w.step"
		       "  UNION"
		       "  SELECT s.row_id FROM want w JOIN step s ON s.array_job_id = w.job"
		       "  WHERE w.step IS NULL OR s.step_id = w.step) "
		       "AND (?3 IS NULL OR uid = ?3) AND (?4 OR NOT EXISTS ("
		       "  SELECT 1 FROM step newer WHERE newer.job_id = step.job_id AND "
		       "  newer.step_id = step.step_id AND newer.node IS step.node AND "
		       "  newer.start_ns > step.start_ns AND "
		       "  (?3 IS NULL OR newer.uid = ?3))) AND " WINDOW ORDER,
	[STEP_PRUNE] = "DELETE FROM step WHERE end_ns < ?1",
	[STEP_WANT_CLEAR] = "DELETE FROM want",
	[STEP_LAUNCHES] = "SELECT shared_speed FROM step WHERE program = ?1 AND user IS ?2 AND "
			  "launch = ?3 AND speed_unit = ?4 AND shared_speed > 0 AND node IS ?5 "
			  "AND end_ns IS NOT NULL ORDER BY end_ns DESC LIMIT ?6",
	[STEP_WANT_ADD] = "INSERT INTO want (job, step) VALUES (?1, ?2)",
};

static const char *const STATE_NAME[] = {
	[STEP_RUNNING] = "RUNNING",
	[STEP_COMPLETED] = "COMPLETED",
	[STEP_FAILED] = "FAILED",
	[STEP_UNKNOWN] = "UNKNOWN",
};

const char *step_state_name(enum step_state s)
{
	return (unsigned int)s <= STEP_UNKNOWN ? STATE_NAME[s] : "UNKNOWN";
}

static enum step_state parse_state(const char *name)
{
	for (int i = 0; i <= STEP_UNKNOWN; i++) {
		if (name && strcmp(name, STATE_NAME[i]) == 0)
			return (enum step_state)i;
	}
	return STEP_UNKNOWN;
}

#define BIND_REAL(r, m)   db_bind_double(s, i, (r)->m)
#define BIND_TEXT(r, m)   db_bind_text(s, i, (r)->m)
#define BIND_COUNT(r, m)  db_bind_int(s, i, (r)->m, FIGURE_NO_COUNT)
#define BIND_SPAN(r, m)   db_bind_int(s, i, (r)->m, FIGURE_NO_SPAN)
#define BIND_TIME(r, m)   db_bind_int(s, i, (r)->m, FIGURE_NO_TIME)
#define BIND_NUMBER(r, m) sqlite3_bind_int64(s, i, (r)->m)
#define BIND_SOME(r, m)   db_bind_int(s, i, (r)->m, 0)
#define BIND_STATUS(r, m) db_bind_int(s, i, (r)->m, -1)
#define BIND_STATE(r, m)  db_bind_text(s, i, step_state_name((r)->m))
#define BIND_ARRAY_TASK(r, m)                                                                      \
	db_bind_int(s, i, (r)->array_job_id ? (r)->m : NO_ARRAY_TASK, NO_ARRAY_TASK)

static void bind_row(sqlite3_stmt *s, const struct step_row *row)
{
	const struct step_figures *f = row->figures;
	int i = 1;

	sqlite3_bind_int64(s, i, row->job_id);
#define BIND(kind, member, ...) i++, BIND_##kind(row, member);
	STEP_COLUMNS(BIND)
	/* Unbound is NULL. */
	if (!f)
		return;
#define BIND_FIGURE(kind, member, ...) i++, BIND_##kind(f, member);
	STEP_FIGURES(BIND_FIGURE)
}

#define READ_REAL(r, m)       db_column_double(s, i)
#define READ_TEXT(r, m)       db_column_text(s, i)
#define READ_COUNT(r, m)      (int)db_column_int(s, i, FIGURE_NO_COUNT)
#define READ_SPAN(r, m)       db_column_int(s, i, FIGURE_NO_SPAN)
#define READ_TIME(r, m)       db_column_int(s, i, FIGURE_NO_TIME)
#define READ_NUMBER(r, m)     (__typeof__((r)->m))sqlite3_column_int64(s, i)
#define READ_SOME(r, m)       (__typeof__((r)->m))db_column_int(s, i, 0)
#define READ_STATUS(r, m)     (int)db_column_int(s, i, -1)
#define READ_STATE(r, m)      parse_state(db_column_text(s, i))
#define READ_ARRAY_TASK(r, m) (uint32_t) db_column_int(s, i, NO_ARRAY_TASK)

static void read_row(sqlite3_stmt *s, struct step_row *row, struct step_figures *f)
{
	int i = 1;

	row->row_id = sqlite3_column_int64(s, 0);
	row->job_id = (uint32_t)sqlite3_column_int64(s, i);
#define READ(kind, member, ...) i++, row->member = READ_##kind(row, member);
	STEP_COLUMNS(READ)
#define READ_FIGURE(kind, member, ...) i++, f->member = READ_##kind(f, member);
	STEP_FIGURES(READ_FIGURE)
	row->figures = f;
}

int record_step_put(struct record *r, struct step_row *row, struct errbuf *err)
{
	sqlite3_stmt *s = r->step[row->row_id ? STEP_UPDATE : STEP_INSERT];
	int rc;

	bind_row(s, row);
	if (row->row_id)
		sqlite3_bind_int64(s, N_COLUMNS + 1, row->row_id);
	rc = db_run(r->db, s, err, "write a step");
	if (rc < 0)
		return rc;
	if (row->row_id == 0)
		row->row_id = sqlite3_last_insert_rowid(r->db);
	else if (sqlite3_changes(r->db) == 0)
		return err_set(err, -ENOENT, "step %u.%u: no row %lld to update", row->job_id,
			row->step_id, (long long)row->row_id);
	return 0;
}

static bool is_alive(int64_t row_id, const int64_t *alive, int n_alive)
{
	for (int i = 0; i < n_alive; i++)
		if (alive[i] == row_id)
			return true;
	return false;
}

int record_step_close_lost(
	struct record *r, const int64_t *alive, int n_alive, int64_t end_ns, struct errbuf *err)
{
	sqlite3_stmt *list = r->step[STEP_RUNNING_LIST], *close = r->step[STEP_CLOSE];
	int closed = 0, bad = record_begin(r, err);

	if (bad < 0)
		return bad;
	while (db_next(r->db, list, &bad, err, "list running steps")) {
		if (is_alive(sqlite3_column_int64(list, 0), alive, n_alive))
			continue;
		sqlite3_bind_int64(close, 1, sqlite3_column_int64(list, 0));
		sqlite3_bind_int64(close, 2, end_ns);
		bad = db_run(r->db, close, err, "close a lost step");
		closed++;
	}
	bad = record_end(r, bad, err);
	return bad < 0 ? bad : closed;
}

int record_step_prune(struct record *r, int64_t before_ns, struct errbuf *err)
{
	sqlite3_bind_int64(r->step[STEP_PRUNE], 1, before_ns);
	return db_change(r->db, r->step[STEP_PRUNE], err, "prune steps");
}

static int set_wanted(struct record *r, const struct step_filter *f, struct errbuf *err)
{
	sqlite3_stmt *add = r->step[STEP_WANT_ADD];
	int rc = db_run(r->db, r->step[STEP_WANT_CLEAR], err, "set the filter");

	for (int i = 0; rc == 0 && i < f->n_job_steps; i++) {
		sqlite3_bind_int64(add, 1, f->job_step[i][0]);
		db_bind_int(add, 2, f->job_step[i][1], ALL_STEPS);
		rc = db_run(r->db, add, err, "set the filter");
	}
	return rc;
}

/* The rows of one statement; a non-zero return of @fn ends them and is returned. */
static int list_rows(struct record *r, sqlite3_stmt *s, const struct step_filter *f,
	int (*fn)(const struct step_row *row, void *arg), void *arg, struct errbuf *err)
{
	int stop = 0;

	sqlite3_bind_int64(s, 1, f->from_ns);
	sqlite3_bind_int64(s, 2, f->to_ns ? f->to_ns : INT64_MAX);
	if (f->has_uid)
		sqlite3_bind_int64(s, 3, f->uid);
	if (s == r->step[STEP_LIST_JOBS])
		sqlite3_bind_int(s, 4, f->duplicates);
	while (db_next(r->db, s, &stop, err, "list steps")) {
		struct step_figures figures;
		struct step_row row;

		read_row(s, &row, &figures);
		stop = fn(&row, arg);
	}
	return stop;
}

int record_step_list(struct record *r, const struct step_filter *f,
	int (*fn)(const struct step_row *row, void *arg), void *arg, struct errbuf *err)
{
	int earlier = f->has_uid ? STEP_LIST_UID_EARLIER : STEP_LIST_EARLIER;
	int within = f->has_uid ? STEP_LIST_UID_WITHIN : STEP_LIST_WITHIN;
	int rc = 0;

	if (f->n_job_steps > 0) {
		rc = set_wanted(r, f, err);
		return rc < 0 ? rc : list_rows(r, r->step[STEP_LIST_JOBS], f, fn, arg, err);
	}
	if (f->from_ns > 0)
		rc = list_rows(r, r->step[earlier], f, fn, arg, err);
	return rc ? rc : list_rows(r, r->step[within], f, fn, arg, err);
}

int record_launches(struct record *r, const struct step_row *like, const char *launch, int limit,
	int (*fn)(double speed, void *arg), void *arg, struct errbuf *err)
{
	sqlite3_stmt *s = r->step[STEP_LAUNCHES];
	int stop = 0;

	db_bind_text(s, 1, like->program);
	db_bind_text(s, 2, like->user);
	db_bind_text(s, 3, launch);
	db_bind_text(s, 4, like->figures ? like->figures->speed_unit : NULL);
	db_bind_text(s, 5, like->node);
	sqlite3_bind_int(s, 6, limit);
	while (db_next(r->db, s, &stop, err, "list launches"))
		stop = fn(sqlite3_column_double(s, 0), arg);
	return stop;
}
