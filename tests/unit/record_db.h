/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_db.h - an empty store of accounting of a test's own, for the suites of record/.
 */
#ifndef COLOC_TESTS_UNIT_RECORD_DB_H
#define COLOC_TESTS_UNIT_RECORD_DB_H

#include <check.h>

#include "nodesvc/record/record.h"
#include "tests/unit/tmpdir.h"

#define S        INT64_C(1000000000)
#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

extern struct tmpdir tmp;
extern struct record *record; /* tmp's coloc.db, open to write; a test may close it */
extern struct errbuf err;

/* A test case whose tests each begin with an empty store. */
TCase *record_db_tcase(Suite *s, const char *name);
/* Runs the suite and frees it; the program's exit status. */
int record_db_run(Suite *s);

/* All registrations as text; valid until the next call. */
const char *record_db_registrations(void);

#endif
