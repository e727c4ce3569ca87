/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_open.c - puts the parts of the schema, and all statements, together. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "nodesvc/record/record_internal.h"

#define RECORD_APP_ID  0x434c5243 /* "CLRC" */
#define RECORD_VERSION 7

static int prepare(struct record *r, struct errbuf *err)
{
	int rc;

	rc = db_exec(r->db, RECORD_STEP_TEMP, err, "set up");
	if (rc == 0)
		rc = db_prepare(r->db, RECORD_STEP_SQL, N_STEP_STMTS, r->step, err);
	if (rc == 0)
		rc = db_prepare(r->db, RECORD_PROFILE_SQL, N_PROFILE_STMTS, r->profile, err);
	if (rc == 0)
		rc = db_prepare(r->db, RECORD_DECISION_SQL, N_DECISION_STMTS, r->decision, err);
	if (rc == 0)
		rc = db_prepare(
			r->db, RECORD_REGISTRATION_SQL, N_REGISTRATION_STMTS, r->registration, err);
	if (rc == 0)
		rc = db_prepare(
			r->db, RECORD_MEASUREMENT_SQL, N_MEASUREMENT_STMTS, r->measurement, err);
	if (rc == 0)
		rc = db_prepare(r->db, RECORD_HISTORY_SQL, N_HISTORY_STMTS, r->history, err);
	if (rc == 0)
		rc = db_prepare(r->db, RECORD_JUDGED_SQL, N_JUDGED_STMTS, r->judged, err);
	if (rc == 0)
		rc = db_prepare(r->db, RECORD_RETAIN_SQL, N_RETAIN_STMTS, r->retain, err);
	return rc;
}

int record_open(struct record **ret, const char *path, bool read_only, struct errbuf *err)
{
	/* A version is made of the parts that changed; a new one adds a text and raises the number.
	 */
	char schema_1[4096], schema_2[4096], schema_3[4096], schema_5[1024], schema_6[1024];
	const char *const upgrade[RECORD_VERSION] = {schema_1, schema_2, schema_3,
		RECORD_STEP_SCHEMA_4, schema_5, schema_6, RECORD_REGISTRATION_SCHEMA_7};
	const struct db_schema schema = {
		.what = "record",
		.app_id = RECORD_APP_ID,
		.version = RECORD_VERSION,
		.upgrade = upgrade,
	};
	struct record *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	snprintf(schema_1, sizeof(schema_1), "%s%s%s%s", RECORD_STEP_SCHEMA_1,
		RECORD_PROFILE_SCHEMA_1, RECORD_DECISION_SCHEMA_1, RECORD_REGISTRATION_SCHEMA_1);
	snprintf(schema_2, sizeof(schema_2), "%s%s", RECORD_STEP_SCHEMA_2,
		RECORD_MEASUREMENT_SCHEMA_2);
	snprintf(schema_3, sizeof(schema_3), "%s%s%s", RECORD_STEP_SCHEMA_3,
		RECORD_HISTORY_SCHEMA_3, RECORD_REGISTRATION_SCHEMA_3);
	snprintf(schema_5, sizeof(schema_5), "%s%s", RECORD_STEP_SCHEMA_5,
		RECORD_REGISTRATION_SCHEMA_5);
	snprintf(schema_6, sizeof(schema_6), "%s%s", RECORD_STEP_SCHEMA_6, RECORD_JUDGED_SCHEMA_6);
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
	db_finalize(r->step, N_STEP_STMTS);
	db_finalize(r->profile, N_PROFILE_STMTS);
	db_finalize(r->decision, N_DECISION_STMTS);
	db_finalize(r->registration, N_REGISTRATION_STMTS);
	db_finalize(r->measurement, N_MEASUREMENT_STMTS);
	db_finalize(r->history, N_HISTORY_STMTS);
	db_finalize(r->judged, N_JUDGED_STMTS);
	db_finalize(r->retain, N_RETAIN_STMTS);
	sqlite3_close(r->db);
	free(r);
}
