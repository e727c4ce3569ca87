/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/record/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/record/record_internal.h"

#define LEDGER_APP_ID  0x434c4c47 /* "CLLG" */
#define LEDGER_VERSION 4

static const char SCHEMA_1[] =
	"CREATE TABLE boot (id TEXT NOT NULL);"
	"CREATE TABLE cpuset ("
	"  path TEXT PRIMARY KEY, inode INTEGER NOT NULL, cpus TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE thread ("
	"  path TEXT NOT NULL, tid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
	"  mask TEXT NOT NULL, PRIMARY KEY (path, tid, start_ticks)) WITHOUT ROWID;";

static const char SCHEMA_2[] =
	"CREATE TABLE setting ("
	"  path TEXT NOT NULL, what TEXT NOT NULL, inode INTEGER NOT NULL, value TEXT NOT NULL,"
	"  PRIMARY KEY (path, what)) WITHOUT ROWID;";

static const char SCHEMA_3[] =
	"CREATE TABLE pin ("
	"  path TEXT NOT NULL, tid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
	"  mask TEXT NOT NULL, PRIMARY KEY (path, tid, start_ticks)) WITHOUT ROWID;";

static const char SCHEMA_4[] =
	"CREATE TABLE given ("
	"  path TEXT PRIMARY KEY, cpus TEXT NOT NULL, masks TEXT NOT NULL) WITHOUT ROWID;";

static const char *const UPGRADE[LEDGER_VERSION] = {SCHEMA_1, SCHEMA_2, SCHEMA_3, SCHEMA_4};

static const struct db_schema SCHEMA = {
	.what = "ledger",
	.app_id = LEDGER_APP_ID,
	.version = LEDGER_VERSION,
	.upgrade = UPGRADE,
	.check_pages = true,
};

enum {
	BEGIN,
	COMMIT,
	ROLLBACK,
	BOOT_GET,
	BOOT_DEL,
	BOOT_SET,
	CPUSET_ADD,
	CPUSET_GET,
	CPUSET_DEL,
	CPUSET_DEL_ALL,
	THREAD_ADD,
	THREAD_GET,
	THREAD_DEL,
	THREAD_DEL_ALL,
	PIN_SET,
	PIN_GET,
	PIN_DEL,
	PIN_DEL_ALL,
	GIVEN_SET,
	GIVEN_GET,
	GIVEN_DEL,
	GIVEN_DEL_ALL,
	PATHS,
	OWNERS,
	SETTING_DEL_OLD,
	SETTING_ADD,
	SETTING_GET,
	SETTING_DEL,
	SETTING_DEL_ALL,
	COUNT,
	N_STMTS,
};

static const char *const SQL[N_STMTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[BOOT_GET] = "SELECT id FROM boot",
	[BOOT_DEL] = "DELETE FROM boot",
	[BOOT_SET] = "INSERT INTO boot (id) VALUES (?1)",
	[CPUSET_ADD] = "INSERT OR IGNORE INTO cpuset (path, inode, cpus) VALUES (?1, ?2, ?3)",
	[CPUSET_GET] = "SELECT inode, cpus FROM cpuset WHERE path = ?1",
	[CPUSET_DEL] = "DELETE FROM cpuset WHERE path = ?1",
	[CPUSET_DEL_ALL] = "DELETE FROM cpuset",
	[THREAD_ADD] = ("INSERT OR IGNORE INTO thread (path, tid, start_ticks, mask) "
			"VALUES (?1, ?2, ?3, ?4)"),
	[THREAD_GET] = "SELECT tid, start_ticks, mask FROM thread WHERE path = ?1 ORDER BY tid",
	[THREAD_DEL] = "DELETE FROM thread WHERE path = ?1",
	[THREAD_DEL_ALL] = "DELETE FROM thread",
	[PIN_SET] = "REPLACE INTO pin (path, tid, start_ticks, mask) VALUES (?1, ?2, ?3, ?4)",
	[PIN_GET] = "SELECT tid, start_ticks, mask FROM pin WHERE path = ?1 ORDER BY tid",
	[PIN_DEL] = "DELETE FROM pin WHERE path = ?1",
	[PIN_DEL_ALL] = "DELETE FROM pin",
	[GIVEN_SET] = "REPLACE INTO given (path, cpus, masks) VALUES (?1, ?2, ?3)",
	[GIVEN_GET] = "SELECT cpus, masks FROM given WHERE path = ?1",
	[GIVEN_DEL] = "DELETE FROM given WHERE path = ?1",
	[GIVEN_DEL_ALL] = "DELETE FROM given",
	[PATHS] = ("SELECT path FROM cpuset UNION SELECT path FROM thread UNION "
		   "SELECT path FROM pin UNION SELECT path FROM given ORDER BY 1"),
	[OWNERS] = ("SELECT DISTINCT path FROM setting WHERE substr(what, 1, length(?1)) = ?1 "
		    "ORDER BY 1"),
	[SETTING_DEL_OLD] = "DELETE FROM setting WHERE path = ?1 AND inode <> ?2",
	[SETTING_ADD] = ("INSERT OR IGNORE INTO setting (path, what, inode, value) "
			 "VALUES (?1, ?2, ?3, ?4)"),
	[SETTING_GET] = ("SELECT path, what, inode, value FROM setting WHERE (?1 IS NULL OR "
			 "path = ?1) AND substr(what, 1, length(?2)) = ?2 ORDER BY path, what"),
	[SETTING_DEL] = ("DELETE FROM setting WHERE path = ?1 AND "
			 "substr(what, 1, length(?2)) = ?2"),
	[SETTING_DEL_ALL] = "DELETE FROM setting",
	[COUNT] = ("SELECT (SELECT count(*) FROM cpuset) + (SELECT count(*) FROM thread) + "
		   "(SELECT count(*) FROM pin) + (SELECT count(*) FROM given) + "
		   "(SELECT count(*) FROM setting)"),
};

static const char *const WHATS[LEDGER_KINDS] = {
	[LEDGER_CPU_IDLE] = LEDGER_WHAT_CPU_IDLE,
	[LEDGER_SCHED] = LEDGER_WHAT_SCHED,
	[LEDGER_AUTOGROUP] = LEDGER_WHAT_AUTOGROUP,
	[LEDGER_MEMS] = LEDGER_WHAT_MEMS,
	[LEDGER_FREEZER] = LEDGER_WHAT_FREEZER,
	[LEDGER_RESCTRL] = LEDGER_WHAT_RESCTRL,
	[LEDGER_HALTPOLL] = LEDGER_WHAT_HALTPOLL,
};

struct ledger {
	sqlite3 *db;
	sqlite3_stmt *stmt[N_STMTS];
	int wal_frames;
};

/* Ends the transaction that BEGIN opened: commits when @rc is 0. */
static int end(struct ledger *l, int rc, struct errbuf *err)
{
	if (rc == 0)
		rc = db_run(l->db, l->stmt[COMMIT], err, "commit");
	if (rc < 0 && !sqlite3_get_autocommit(l->db))
		db_run(l->db, l->stmt[ROLLBACK], NULL, "roll back");
	return rc;
}

static int run_path(struct ledger *l, int stmt, const char *path, struct errbuf *err)
{
	sqlite3_bind_text(l->stmt[stmt], 1, path, -1, SQLITE_STATIC);
	return db_run(l->db, l->stmt[stmt], err, "forget");
}

/* Kernel state does not outlive a boot, so neither do its originals. */
static int check_boot(struct ledger *l, const char *boot_id, struct errbuf *err)
{
	static const int all[] = {CPUSET_DEL_ALL, THREAD_DEL_ALL, PIN_DEL_ALL, GIVEN_DEL_ALL,
		SETTING_DEL_ALL, BOOT_DEL};
	sqlite3_stmt *get = l->stmt[BOOT_GET];
	bool is_same = false;
	int rc = 0;

	while (db_next(l->db, get, &rc, err, "read the boot id"))
		is_same = strcmp(db_column_text(get, 0), boot_id) == 0;
	if (rc < 0 || is_same)
		return rc;
	rc = db_run(l->db, l->stmt[BEGIN], err, "drop rows of another boot");
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		rc = db_run(l->db, l->stmt[all[i]], err, "drop rows of another boot");
	if (rc == 0) {
		sqlite3_bind_text(l->stmt[BOOT_SET], 1, boot_id, -1, SQLITE_STATIC);
		rc = db_run(l->db, l->stmt[BOOT_SET], err, "note the boot id");
	}
	return end(l, rc, err);
}

int ledger_open(struct ledger **ret, const char *path, const char *boot_id, struct errbuf *err)
{
	struct ledger *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	rc = db_open(&l->db, path, &SCHEMA, false, err);
	if (rc == 0)
		rc = db_prepare(l->db, SQL, N_STMTS, l->stmt, err);
	if (rc == 0)
		db_wal_open(l->db, &l->wal_frames);
	if (rc == 0)
		rc = check_boot(l, boot_id, err);
	if (rc < 0) {
		ledger_close(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	db_close(l->db);
	free(l);
}

/* All of a cpuset but its settings. */
static int forget(struct ledger *l, const char *path, struct errbuf *err)
{
	int rc = run_path(l, CPUSET_DEL, path, err);

	if (rc == 0)
		rc = run_path(l, THREAD_DEL, path, err);
	if (rc == 0)
		rc = run_path(l, PIN_DEL, path, err);
	return rc == 0 ? run_path(l, GIVEN_DEL, path, err) : rc;
}

static int add_cpuset(struct ledger *l, const struct ledger_cpuset *cs, struct errbuf *err)
{
	struct ledger_cpuset old = {0};
	int rc = ledger_get_cpuset(l, cs->path, &old, NULL);

	/* Another inode: that directory is gone, and with it what was its original. */
	if (rc == 0 && old.inode != cs->inode) {
		rc = forget(l, cs->path, err);
		if (rc < 0)
			return rc;
	}
	sqlite3_bind_text(l->stmt[CPUSET_ADD], 1, cs->path, -1, SQLITE_STATIC);
	sqlite3_bind_int64(l->stmt[CPUSET_ADD], 2, (int64_t)cs->inode);
	sqlite3_bind_text(l->stmt[CPUSET_ADD], 3, cs->cpus, -1, SQLITE_STATIC);
	return db_run(l->db, l->stmt[CPUSET_ADD], err, "add a cpuset");
}

/* @stmt: THREAD_ADD or PIN_SET. */
static int add_mask(struct ledger *l, int stmt, const struct ledger_thread *t, struct errbuf *err)
{
	sqlite3_stmt *add = l->stmt[stmt];
	char mask[CORESET_STR_MAX];

	coreset_format(&t->mask, mask, sizeof(mask));
	sqlite3_bind_text(add, 1, t->path, -1, SQLITE_STATIC);
	sqlite3_bind_int64(add, 2, t->tid);
	sqlite3_bind_int64(add, 3, (int64_t)t->start_ticks);
	sqlite3_bind_text(add, 4, mask, -1, SQLITE_STATIC);
	return db_run(l->db, add, err, "add a thread");
}

/* "0-3;2": masks have no ';' in them. */
static char *join_masks(const struct ledger_given *g)
{
	char one[CORESET_STR_MAX], *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (int i = 0; i < g->n; i++)
		fprintf(f, "%s%s", i ? ";" : "", coreset_format(&g->mask[i], one, sizeof(one)));
	return fclose(f) == 0 ? text : NULL;
}

static int set_given(struct ledger *l, const struct ledger_given *g, struct errbuf *err)
{
	cleanup_free char *masks = join_masks(g);
	sqlite3_stmt *set = l->stmt[GIVEN_SET];
	char cpus[CORESET_STR_MAX];

	if (!masks)
		return err_set(err, -ENOMEM, "ledger: out of memory");
	coreset_format(&g->set, cpus, sizeof(cpus));
	sqlite3_bind_text(set, 1, g->path, -1, SQLITE_STATIC);
	sqlite3_bind_text(set, 2, cpus, -1, SQLITE_STATIC);
	sqlite3_bind_text(set, 3, masks, -1, SQLITE_STATIC);
	return db_run(l->db, set, err, "note what a step was given");
}

/* The pins of @fresh, if that is a path, go before the new ones come; @given may be NULL. */
static int record_all(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const char *fresh,
	const struct ledger_thread *pin, int n_pins, const struct ledger_given *given,
	struct errbuf *err)
{
	int rc = db_run(l->db, l->stmt[BEGIN], err, "begin");

	if (rc < 0)
		return rc;
	if (cs)
		rc = add_cpuset(l, cs, err);
	for (int i = 0; rc == 0 && i < n_threads; i++)
		rc = add_mask(l, THREAD_ADD, &thread[i], err);
	if (rc == 0 && fresh)
		rc = run_path(l, PIN_DEL, fresh, err);
	for (int i = 0; rc == 0 && i < n_pins; i++)
		rc = add_mask(l, PIN_SET, &pin[i], err);
	if (rc == 0 && given)
		rc = set_given(l, given, err);
	return end(l, rc, err);
}

int ledger_add(struct ledger *l, const struct ledger_cpuset *cs, const struct ledger_thread *thread,
	int n_threads, struct errbuf *err)
{
	return record_all(l, cs, thread, n_threads, NULL, NULL, 0, NULL, err);
}

int ledger_record(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const char *path,
	const struct ledger_thread *pin, int n_pins, struct errbuf *err)
{
	return record_all(l, cs, thread, n_threads, path, pin, n_pins, NULL, err);
}

int ledger_steer(struct ledger *l, const struct ledger_cpuset *cs,
	const struct ledger_thread *thread, int n_threads, const struct ledger_thread *pin,
	int n_pins, bool fresh, const struct ledger_given *given, struct errbuf *err)
{
	return record_all(
		l, cs, thread, n_threads, fresh ? given->path : NULL, pin, n_pins, given, err);
}

/* Takes the text apart, in place. */
static int split_masks(char *text, struct ledger_given *ret, struct errbuf *err)
{
	char *end = text;
	int n = 1, rc = 0;

	for (const char *p = text; *p; p++)
		n += *p == ';';
	ret->mask = calloc((size_t)n, sizeof(*ret->mask));
	if (!ret->mask)
		return err_set(err, -ENOMEM, "ledger: out of memory");
	while (rc == 0 && end && *end) {
		char *one = strsep(&end, ";");

		rc = coreset_parse(&ret->mask[ret->n++], one, err);
	}
	return rc < 0 ? err_wrap(err, rc, "ledger: masks of %s", ret->path) : 0;
}

int ledger_get_given(
	struct ledger *l, const char *path, struct ledger_given *ret, struct errbuf *err)
{
	sqlite3_stmt *get = l->stmt[GIVEN_GET];
	cleanup_free char *masks = NULL;
	bool found = false;
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	sqlite3_bind_text(get, 1, path, -1, SQLITE_STATIC);
	while (db_next(l->db, get, &rc, err, "read what a step was given")) {
		found = true;
		rc = coreset_parse(&ret->set, db_column_text(get, 0), err);
		masks = strdup(db_column_text(get, 1));
	}
	if (rc == 0 && !found)
		return err_set(err, -ENOENT, "%s: no masks in the ledger", path);
	if (rc == 0)
		rc = masks ? split_masks(masks, ret, err) : -ENOMEM;
	if (rc < 0) {
		free(ret->mask);
		ret->mask = NULL;
	}
	return rc;
}

int ledger_get_cpuset(
	struct ledger *l, const char *path, struct ledger_cpuset *ret, struct errbuf *err)
{
	sqlite3_stmt *get = l->stmt[CPUSET_GET];
	bool found = false;
	int rc = 0;

	sqlite3_bind_text(get, 1, path, -1, SQLITE_STATIC);
	while (db_next(l->db, get, &rc, err, "read a cpuset")) {
		memset(ret, 0, sizeof(*ret));
		snprintf(ret->path, sizeof(ret->path), "%s", path);
		ret->inode = (uint64_t)sqlite3_column_int64(get, 0);
		db_column_copy(get, 1, ret->cpus, sizeof(ret->cpus));
		found = true;
	}
	return rc < 0 || found ? rc
			       : err_set(err, -ENOENT, "%s: nothing recorded in the ledger", path);
}

/* Doubles *@items when @n has reached *@cap. */
static int grow(void *items, int n, int *cap, size_t size, struct errbuf *err)
{
	void *bigger;
	int want = *cap ? *cap * 2 : 16;

	if (n < *cap)
		return 0;
	bigger = realloc(*(void **)items, (size_t)want * size);
	if (!bigger)
		return err_set(err, -ENOMEM, "ledger: out of memory");
	*(void **)items = bigger;
	*cap = want;
	return 0;
}

/* @stmt: THREAD_GET or PIN_GET. */
static int get_masks(struct ledger *l, int stmt, const char *path, struct ledger_thread **ret,
	int *ret_n, struct errbuf *err)
{
	sqlite3_stmt *get = l->stmt[stmt];
	cleanup_free struct ledger_thread *list = NULL;
	int n = 0, cap = 0, rc = 0;

	sqlite3_bind_text(get, 1, path, -1, SQLITE_STATIC);
	while (db_next(l->db, get, &rc, err, "read threads")) {
		struct ledger_thread *t;

		rc = grow(&list, n, &cap, sizeof(*list), err);
		if (rc < 0)
			continue;
		t = &list[n++];
		memset(t, 0, sizeof(*t));
		snprintf(t->path, sizeof(t->path), "%s", path);
		t->tid = (pid_t)sqlite3_column_int64(get, 0);
		t->start_ticks = (uint64_t)sqlite3_column_int64(get, 1);
		rc = coreset_parse(&t->mask, db_column_text(get, 2), err);
		if (rc < 0)
			err_wrap(err, rc, "ledger: mask of thread %d", (int)t->tid);
	}
	if (rc < 0)
		return rc;
	*ret = take_ptr(list);
	*ret_n = n;
	return 0;
}

int ledger_get_threads(struct ledger *l, const char *path, struct ledger_thread **ret, int *ret_n,
	struct errbuf *err)
{
	return get_masks(l, THREAD_GET, path, ret, ret_n, err);
}

int ledger_get_pins(struct ledger *l, const char *path, struct ledger_thread **ret, int *ret_n,
	struct errbuf *err)
{
	return get_masks(l, PIN_GET, path, ret, ret_n, err);
}

static int list_paths(
	struct ledger *l, sqlite3_stmt *get, char ***ret, int *ret_n, struct errbuf *err)
{
	char **list = NULL;
	int n = 0, cap = 0, rc = 0;

	while (db_next(l->db, get, &rc, err, "list paths")) {
		rc = grow(&list, n, &cap, sizeof(*list), err);
		if (rc == 0 && !(list[n++] = strdup(db_column_text(get, 0))))
			rc = err_set(err, -ENOMEM, "ledger: out of memory");
	}
	if (rc == 0) {
		*ret = list;
		*ret_n = n;
		return 0;
	}
	while (n > 0)
		free(list[--n]);
	free(list);
	return rc;
}

int ledger_paths(struct ledger *l, char ***ret, int *ret_n, struct errbuf *err)
{
	return list_paths(l, l->stmt[PATHS], ret, ret_n, err);
}

int ledger_owners(
	struct ledger *l, enum ledger_kind kind, char ***ret, int *ret_n, struct errbuf *err)
{
	if (kind == LEDGER_CPUSET)
		return ledger_paths(l, ret, ret_n, err);
	sqlite3_bind_text(l->stmt[OWNERS], 1, WHATS[kind], -1, SQLITE_STATIC);
	return list_paths(l, l->stmt[OWNERS], ret, ret_n, err);
}

int ledger_forget(struct ledger *l, const char *path, struct errbuf *err)
{
	int rc = db_run(l->db, l->stmt[BEGIN], err, "begin");

	if (rc < 0)
		return rc;
	rc = forget(l, path, err);
	return end(l, rc, err);
}

static int add_setting(struct ledger *l, const struct ledger_setting *v, struct errbuf *err)
{
	sqlite3_stmt *old = l->stmt[SETTING_DEL_OLD], *add = l->stmt[SETTING_ADD];
	int rc;

	sqlite3_bind_text(old, 1, v->path, -1, SQLITE_STATIC);
	sqlite3_bind_int64(old, 2, (int64_t)v->inode);
	rc = db_run(l->db, old, err, "forget a former step's setting");
	if (rc < 0)
		return rc;
	sqlite3_bind_text(add, 1, v->path, -1, SQLITE_STATIC);
	sqlite3_bind_text(add, 2, v->what, -1, SQLITE_STATIC);
	sqlite3_bind_int64(add, 3, (int64_t)v->inode);
	sqlite3_bind_text(add, 4, v->value, -1, SQLITE_STATIC);
	return db_run(l->db, add, err, "add a setting");
}

static bool has_kind(const char *what)
{
	for (int k = 0; k < LEDGER_KINDS; k++) {
		size_t len = WHATS[k] ? strlen(WHATS[k]) : 0;

		if (len && strncmp(what, WHATS[k], len) == 0 &&
			(WHATS[k][len - 1] == ' ' || !what[len]))
			return true;
	}
	return false;
}

int ledger_setting_add(struct ledger *l, const struct ledger_setting *v, int n, struct errbuf *err)
{
	int rc = 0;

	for (int i = 0; i < n; i++)
		if (!has_kind(v[i].what))
			return err_set(err, -EINVAL, "ledger: '%s': no kind that has a way back",
				v[i].what);
	rc = db_run(l->db, l->stmt[BEGIN], err, "begin");
	if (rc < 0)
		return rc;
	for (int i = 0; rc == 0 && i < n; i++)
		rc = add_setting(l, &v[i], err);
	return end(l, rc, err);
}

int ledger_settings(struct ledger *l, const char *path, const char *what,
	struct ledger_setting **ret, int *ret_n, struct errbuf *err)
{
	sqlite3_stmt *get = l->stmt[SETTING_GET];
	cleanup_free struct ledger_setting *list = NULL;
	int n = 0, cap = 0, rc = 0;

	if (path)
		sqlite3_bind_text(get, 1, path, -1, SQLITE_STATIC);
	sqlite3_bind_text(get, 2, what, -1, SQLITE_STATIC);
	while (db_next(l->db, get, &rc, err, "read settings")) {
		struct ledger_setting *v;

		rc = grow(&list, n, &cap, sizeof(*list), err);
		if (rc < 0)
			continue;
		v = &list[n++];
		memset(v, 0, sizeof(*v));
		db_column_copy(get, 0, v->path, sizeof(v->path));
		db_column_copy(get, 1, v->what, sizeof(v->what));
		v->inode = (uint64_t)sqlite3_column_int64(get, 2);
		db_column_copy(get, 3, v->value, sizeof(v->value));
	}
	if (rc < 0)
		return rc;
	*ret = take_ptr(list);
	*ret_n = n;
	return 0;
}

int ledger_setting_forget(struct ledger *l, const char *path, const char *what, struct errbuf *err)
{
	sqlite3_bind_text(l->stmt[SETTING_DEL], 1, path, -1, SQLITE_STATIC);
	sqlite3_bind_text(l->stmt[SETTING_DEL], 2, what, -1, SQLITE_STATIC);
	return db_run(l->db, l->stmt[SETTING_DEL], err, "forget a setting");
}

int ledger_count(struct ledger *l)
{
	return (int)db_get_int(l->db, l->stmt[COUNT], NULL, "count");
}

int ledger_wal_frames(const struct ledger *l)
{
	return l->wal_frames;
}

void ledger_checkpoint(struct ledger *l, struct checkpointer *by)
{
	db_checkpoint(l->db, &l->wal_frames, by);
}
