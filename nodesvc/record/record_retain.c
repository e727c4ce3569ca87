/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_retain.c - keeping the store small: rows go oldest first, in slices that do not hold up
 * the service's loop, and their pages go back to the file system.
 */
#include <stdio.h>

#include "nodesvc/record/record_internal.h"

const char *const RECORD_RETAIN_SQL[N_RETAIN_STMTS] = {
	/* Running steps have no end and stay. */
	[RETAIN_PRUNE] = "DELETE FROM step WHERE row_id IN (SELECT row_id FROM step WHERE "
			 "end_ns < ?1 ORDER BY end_ns LIMIT ?2)",
	[RETAIN_COUNT] = "SELECT count(*) FROM step WHERE end_ns < ?1",
	[RETAIN_SIZE] = "SELECT (page_count - freelist_count) * page_size FROM "
			"pragma_page_count, pragma_freelist_count, pragma_page_size",
};

int record_prune_slice(struct record *r, int64_t before_ns, int max_rows, struct errbuf *err)
{
	sqlite3_stmt *s = r->retain[RETAIN_PRUNE];

	sqlite3_bind_int64(s, 1, before_ns);
	sqlite3_bind_int(s, 2, max_rows);
	return db_change(r->db, s, err, "remove old steps");
}

int64_t record_count_before(struct record *r, int64_t before_ns, struct errbuf *err)
{
	sqlite3_bind_int64(r->retain[RETAIN_COUNT], 1, before_ns);
	return db_get_int(r->db, r->retain[RETAIN_COUNT], err, "count old steps");
}

int64_t record_size_bytes(struct record *r, struct errbuf *err)
{
	return db_get_int(r->db, r->retain[RETAIN_SIZE], err, "look at the size");
}

int record_release_pages(struct record *r, int n, struct errbuf *err)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", n);
	return db_exec(r->db, sql, err, "release pages");
}

int record_compact(struct record *r, struct errbuf *err)
{
	return db_exec(r->db,
		"PRAGMA auto_vacuum=INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", err,
		"compact");
}
