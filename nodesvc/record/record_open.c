/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_open.c - puts the parts of the schema, and all statements, together. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "nodesvc/record/record_internal.h"

#define RECORD_APP_ID 0x434c5243 /* "CLRC" */
#define RECORD_PARTS  10         /* the newest version that has a part below */
#define VERSIONS_MAX  32

static const struct {
	int version;
	const char *sql;
} PART[] = {
	{1, RECORD_STEP_SCHEMA_1},
	{1, RECORD_PROFILE_SCHEMA_1},
	{1, RECORD_REGISTRATION_SCHEMA_1},
	{2, RECORD_MEASUREMENT_SCHEMA_2},
	{3, RECORD_STEP_SCHEMA_3},
	{3, RECORD_HISTORY_SCHEMA_3},
	{3, RECORD_REGISTRATION_SCHEMA_3},
	{4, RECORD_STEP_SCHEMA_4},
	{5, RECORD_REGISTRATION_SCHEMA_5},
	{6, RECORD_JUDGED_SCHEMA_6},
	{7, RECORD_REGISTRATION_SCHEMA_7},
	{9, RECORD_LEARNT_SCHEMA_9},
	{RECORD_PARTS, RECORD_MEASUREMENT_SCHEMA_10},
};

static const struct {
	int version;
	const char *name, *type;
} FIGURE_COLUMN[] = {
#define SQL_REAL                         "REAL"
#define SQL_TEXT                         "TEXT"
#define SQL_COUNT                        "INTEGER"
#define SQL_SPAN                         "INTEGER"
#define SQL_TIME                         "INTEGER"
#define COLUMN(kind, member, key, since) {since, #member, SQL_##kind},
	STEP_FIGURES(COLUMN)};
#define N_FIGURES (sizeof(FIGURE_COLUMN) / sizeof(FIGURE_COLUMN[0]))

static int newest_version(void)
{
	int version = RECORD_PARTS;

	for (size_t i = 0; i < N_FIGURES; i++)
		version = FIGURE_COLUMN[i].version > version ? FIGURE_COLUMN[i].version : version;
	return version;
}

void record_open_schema(int version, char *ret, size_t size)
{
	size_t len = 0;

	*ret = '\0';
	for (size_t i = 0; i < N_FIGURES && len < size; i++)
		if (FIGURE_COLUMN[i].version == version)
			len += (size_t)snprintf(ret + len, size - len,
				"ALTER TABLE step ADD COLUMN %s %s;", FIGURE_COLUMN[i].name,
				FIGURE_COLUMN[i].type);
	for (size_t i = 0; i < sizeof(PART) / sizeof(PART[0]) && len < size; i++)
		if (PART[i].version == version)
			len += (size_t)snprintf(ret + len, size - len, "%s", PART[i].sql);
}

static int prepare(struct record *r, struct errbuf *err)
{
	const struct {
		const char *const *sql;
		int n;
		sqlite3_stmt **stmt;
	} part[] = {
		{RECORD_STEP_SQL, N_STEP_STMTS, r->step},
		{RECORD_PROFILE_SQL, N_PROFILE_STMTS, r->profile},
		{RECORD_REGISTRATION_SQL, N_REGISTRATION_STMTS, r->registration},
		{RECORD_MEASUREMENT_SQL, N_MEASUREMENT_STMTS, r->measurement},
		{RECORD_HISTORY_SQL, N_HISTORY_STMTS, r->history},
		{RECORD_JUDGED_SQL, N_JUDGED_STMTS, r->judged},
		{RECORD_LEARNT_SQL, N_LEARNT_STMTS, r->learnt},
		{RECORD_RETAIN_SQL, N_RETAIN_STMTS, r->retain},
	};
	int rc = db_exec(r->db, RECORD_STEP_TEMP, err, "set up");

	for (size_t i = 0; rc == 0 && i < sizeof(part) / sizeof(part[0]); i++)
		rc = db_prepare(r->db, part[i].sql, part[i].n, part[i].stmt, err);
	return rc;
}

int record_open(struct record **ret, const char *path, bool read_only, struct errbuf *err)
{
	char sql[VERSIONS_MAX][RECORD_SCHEMA_MAX];
	const char *upgrade[VERSIONS_MAX];
	const struct db_schema schema = {
		.what = "record",
		.app_id = RECORD_APP_ID,
		.version = newest_version(),
		.upgrade = upgrade,
	};
	struct record *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	for (int v = 0; v < schema.version; v++) {
		record_open_schema(v + 1, sql[v], sizeof(sql[v]));
		upgrade[v] = sql[v];
	}
	rc = db_open(&r->db, path, &schema, read_only, err);
	if (rc == 0)
		rc = prepare(r, err);
	if (rc == 0 && !read_only)
		db_wal_open(r->db, &r->wal_frames);
	if (rc < 0) {
		record_close(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void record_close(struct record *r)
{
	if (!r)
		return;
	db_close(r->db);
	free(r);
}
