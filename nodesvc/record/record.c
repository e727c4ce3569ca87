/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/record/record_internal.h"

void record_swap(struct record *a, struct record *b)
{
	struct record was = *a;

	*a = *b;
	*b = was;
	/* Each counts into its own. */
	db_wal_open(a->db, &a->wal_frames);
	db_wal_open(b->db, &b->wal_frames);
}

int record_begin(struct record *r, struct errbuf *err)
{
	return db_exec(r->db, "BEGIN IMMEDIATE", err, "begin");
}

int record_end(struct record *r, int rc, struct errbuf *err)
{
	if (rc == 0)
		rc = db_exec(r->db, "COMMIT", err, "commit");
	if (rc < 0 && !sqlite3_get_autocommit(r->db))
		sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

bool record_is_open(const struct record *r)
{
	return sqlite3_get_autocommit(r->db) == 0;
}

int record_wal_frames(const struct record *r)
{
	return r->wal_frames;
}

void record_checkpoint(struct record *r, struct checkpointer *by)
{
	db_checkpoint(r->db, &r->wal_frames, by);
}
