/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_step.c - accounting rows of job steps.
 */
#include <errno.h>
#include <string.h>

#include "nodesvc/record/record_internal.h"

#define NO_ARRAY_TASK UINT32_C(0xfffffffe)
#define ALL_STEPS     UINT32_C(0xffffffff)

/* Blank is NULL; see COLUMNS for the order that bind_row() and read_row() keep. */
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

#define COLUMNS                                                                                    \
	"job_id, step_id, array_job_id, array_task_id, node, name, program, uid, user, account, "  \
	"partition, policy, req_policy, reason, cores, coreset, coreset_history, partners, "       \
	"start_ns, end_ns, rebinds, tasks, exit_code, state, dry_run" STEP_FIGURES(COLUMN)
#define COLUMN(kind, member, key, since) ", " #member
#define ONE(kind, member, key, since)    +1
#define N_COLUMNS                        (25 STEP_FIGURES(ONE))

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
#define VALUE(kind, member, key, since) ", ?"
	[STEP_INSERT] = "INSERT INTO step (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
			"?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, "
			"?23, ?24, ?25" STEP_FIGURES(VALUE) ")",
#define SET(kind, member, key, since) ", " #member " = ?"
	[STEP_UPDATE] =
		"UPDATE step SET job_id = ?1, step_id = ?2, array_job_id = ?3, array_task_id = ?4, "
		"node = ?5, name = ?6, program = ?7, uid = ?8, user = ?9, account = ?10, "
		"partition = ?11, policy = ?12, req_policy = ?13, reason = ?14, cores = ?15, "
		"coreset = ?16, coreset_history = ?17, partners = ?18, start_ns = ?19, "
		"end_ns = ?20, rebinds = ?21, tasks = ?22, exit_code = ?23, state = ?24, "
		"dry_run = ?25" STEP_FIGURES(SET) " WHERE row_id = ?",
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
		       "  newer.start_ns > step.start_ns)) AND " WINDOW ORDER,
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

#define BIND_REAL(s, i, value)  db_bind_double(s, i, value)
#define BIND_TEXT(s, i, value)  db_bind_text(s, i, value)
#define BIND_COUNT(s, i, value) db_bind_int(s, i, value, FIGURE_NO_COUNT)
#define BIND_SPAN(s, i, value)  db_bind_int(s, i, value, FIGURE_NO_SPAN)
#define BIND_TIME(s, i, value)  db_bind_int(s, i, value, FIGURE_NO_TIME)

static void bind_figures(sqlite3_stmt *s, int i, const struct step_figures *f)
{
#define BIND(kind, member, key, since) BIND_##kind(s, ++i, f->member);
	STEP_FIGURES(BIND)
}

#define READ_REAL(s, i)  db_column_double(s, i)
#define READ_TEXT(s, i)  db_column_text(s, i)
#define READ_COUNT(s, i) (int)db_column_int(s, i, FIGURE_NO_COUNT)
#define READ_SPAN(s, i)  db_column_int(s, i, FIGURE_NO_SPAN)
#define READ_TIME(s, i)  db_column_int(s, i, FIGURE_NO_TIME)

static void read_figures(sqlite3_stmt *s, int i, struct step_figures *f)
{
#define READ(kind, member, key, since) f->member = READ_##kind(s, i++);
	STEP_FIGURES(READ)
}

static void bind_row(sqlite3_stmt *s, const struct step_row *row)
{
	int i = 0;

	sqlite3_bind_int64(s, ++i, row->job_id);
	sqlite3_bind_int64(s, ++i, row->step_id);
	db_bind_int(s, ++i, row->array_job_id, 0);
	if (row->array_job_id == 0)
		sqlite3_bind_null(s, ++i);
	else
		db_bind_int(s, ++i, row->array_task_id, NO_ARRAY_TASK);
	db_bind_text(s, ++i, row->node);
	db_bind_text(s, ++i, row->name);
	db_bind_text(s, ++i, row->program);
	sqlite3_bind_int64(s, ++i, row->uid);
	db_bind_text(s, ++i, row->user);
	db_bind_text(s, ++i, row->account);
	db_bind_text(s, ++i, row->partition);
	db_bind_text(s, ++i, row->policy);
	db_bind_text(s, ++i, row->req_policy);
	db_bind_text(s, ++i, row->reason);
	db_bind_int(s, ++i, row->cores, 0);
	db_bind_text(s, ++i, row->coreset);
	db_bind_text(s, ++i, row->coreset_history);
	db_bind_text(s, ++i, row->partners);
	sqlite3_bind_int64(s, ++i, row->start_ns);
	db_bind_int(s, ++i, row->end_ns, 0);
	sqlite3_bind_int64(s, ++i, row->rebinds);
	db_bind_int(s, ++i, row->tasks, 0);
	db_bind_int(s, ++i, row->exit_code, -1);
	sqlite3_bind_text(s, ++i, step_state_name(row->state), -1, SQLITE_STATIC);
	sqlite3_bind_int(s, ++i, row->dry_run);
	/* Unbound is NULL. */
	if (row->figures)
		bind_figures(s, i, row->figures);
}

static void read_row(sqlite3_stmt *s, struct step_row *row, struct step_figures *figures)
{
	int i = 0;

	row->row_id = sqlite3_column_int64(s, i++);
	row->job_id = (uint32_t)sqlite3_column_int64(s, i++);
	row->step_id = (uint32_t)sqlite3_column_int64(s, i++);
	row->array_job_id = (uint32_t)db_column_int(s, i++, 0);
	row->array_task_id = (uint32_t)db_column_int(s, i++, NO_ARRAY_TASK);
	row->node = db_column_text(s, i++);
	row->name = db_column_text(s, i++);
	row->program = db_column_text(s, i++);
	row->uid = (uint32_t)sqlite3_column_int64(s, i++);
	row->user = db_column_text(s, i++);
	row->account = db_column_text(s, i++);
	row->partition = db_column_text(s, i++);
	row->policy = db_column_text(s, i++);
	row->req_policy = db_column_text(s, i++);
	row->reason = db_column_text(s, i++);
	row->cores = (int)db_column_int(s, i++, 0);
	row->coreset = db_column_text(s, i++);
	row->coreset_history = db_column_text(s, i++);
	row->partners = db_column_text(s, i++);
	row->start_ns = sqlite3_column_int64(s, i++);
	row->end_ns = db_column_int(s, i++, 0);
	row->rebinds = sqlite3_column_int(s, i++);
	row->tasks = (int)db_column_int(s, i++, 0);
	row->exit_code = (int)db_column_int(s, i++, -1);
	row->state = parse_state(db_column_text(s, i++));
	row->dry_run = sqlite3_column_int(s, i++) != 0;
	read_figures(s, i, figures);
	row->figures = figures;
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
	int rc, closed = 0, bad = 0;

	rc = record_begin(r, err);
	if (rc < 0)
		return rc;
	while (bad == 0 && (rc = sqlite3_step(list)) == SQLITE_ROW) {
		if (is_alive(sqlite3_column_int64(list, 0), alive, n_alive))
			continue;
		sqlite3_bind_int64(close, 1, sqlite3_column_int64(list, 0));
		sqlite3_bind_int64(close, 2, end_ns);
		bad = db_run(r->db, close, err, "close a lost step");
		closed++;
	}
	if (bad == 0 && rc != SQLITE_DONE)
		bad = db_fail(r->db, rc, err, "list running steps");
	db_reset(list);
	bad = record_end(r, bad, err);
	return bad < 0 ? bad : closed;
}

int record_step_prune(struct record *r, int64_t before_ns, struct errbuf *err)
{
	int rc;

	sqlite3_bind_int64(r->step[STEP_PRUNE], 1, before_ns);
	rc = db_run(r->db, r->step[STEP_PRUNE], err, "prune steps");
	return rc < 0 ? rc : sqlite3_changes(r->db);
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
	int rc, stop = 0;

	sqlite3_bind_int64(s, 1, f->from_ns);
	sqlite3_bind_int64(s, 2, f->to_ns ? f->to_ns : INT64_MAX);
	if (f->has_uid)
		sqlite3_bind_int64(s, 3, f->uid);
	if (s == r->step[STEP_LIST_JOBS])
		sqlite3_bind_int(s, 4, f->duplicates);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct step_figures figures;
		struct step_row row;

		read_row(s, &row, &figures);
		stop = fn(&row, arg);
		if (stop)
			break;
	}
	if (!stop && rc != SQLITE_DONE)
		stop = db_fail(r->db, rc, err, "list steps");
	db_reset(s);
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
	int rc, stop = 0;

	db_bind_text(s, 1, like->program);
	db_bind_text(s, 2, like->user);
	db_bind_text(s, 3, launch);
	db_bind_text(s, 4, like->figures ? like->figures->speed_unit : NULL);
	db_bind_text(s, 5, like->node);
	sqlite3_bind_int(s, 6, limit);
	while (!stop && (rc = sqlite3_step(s)) == SQLITE_ROW)
		stop = fn(sqlite3_column_double(s, 0), arg);
	if (!stop && rc != SQLITE_DONE)
		stop = db_fail(r->db, rc, err, "list launches");
	db_reset(s);
	return stop;
}
