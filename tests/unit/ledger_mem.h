/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_mem.h - the ledger's contract in memory, for tests of what stands on it: no database, and
 * it fails on demand. Link it instead of the real one.
 */
#ifndef COLOC_TESTS_LEDGER_MEM_H
#define COLOC_TESTS_LEDGER_MEM_H

/* -1 never; else so many ledger_add() calls succeed and all further ones fail with -EIO. */
extern int ledger_mem_adds_left;
/* ledger_add() calls that succeeded since start. */
extern int ledger_mem_adds;
/* Called first by all but open and close, with their verb; its error is theirs. NULL none. */
extern int (*ledger_mem_hook)(const char *what);

#endif
