/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cachegrind.h - what valgrind's cache simulator says of a program: the command line before it,
 * and the totals in the files it leaves.
 */
#ifndef COLOC_COUNTERS_CACHEGRIND_H
#define COLOC_COUNTERS_CACHEGRIND_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/* Totals of the run, all threads. */
struct cachegrind_counts {
	uint64_t ll_bytes;     /* of the cache that was simulated */
	uint64_t instructions; /* Ir */
	uint64_t loads;        /* Dr */
	uint64_t llc_refs;     /* I1mr + D1mr + D1mw */
	uint64_t llc_misses;   /* ILmr + DLmr + DLmw */
};

/*
 * cachegrind_parse - reads one output file and adds its summary to @ret.
 * @name: of the file, for errors.
 * Errors: -EPROTO with "name:line: ...", also when it is of another last level than the files
 * before it; @ret untouched.
 */
int cachegrind_parse(FILE *f, const char *name, struct cachegrind_counts *ret, struct errbuf *err);

/*
 * Sums all cachegrind.out files of @dir (one per process). -EPROTO: a file is not understood, or
 * there is none.
 */
int cachegrind_sum(const char *dir, struct cachegrind_counts *ret, struct errbuf *err);

/*
 * A command may leave processes behind, as a daemon of an MPI library; their files are written
 * when they end. Waits at most @wait_ms for all that valgrind counted into @dir.
 * Errors: -EBUSY: one still runs; the text names it.
 */
int cachegrind_settle(const char *dir, int wait_ms, struct errbuf *err);
/* Enough for a daemon that ends with its program; under valgrind that takes a while. */
#define CACHEGRIND_SETTLE_MS 60000

/* Calls @line for what valgrind itself had to say. */
void cachegrind_messages(const char *dir, void (*line)(const char *text, void *arg), void *arg);

/* Removes @dir and the files in it. */
void cachegrind_clean(const char *dir);

/* The caches to simulate. */
struct cachegrind_caches {
	uint64_t ll_bytes;
	int ll_assoc, ll_line;
	/* What stands before the last level: 8 ways of 64 bytes, beside 32 kB for instructions.
	 * 0: the host's first level, as valgrind finds it. */
	uint64_t d1_bytes;
};

/*
 * valgrind's command line before @argv, writing into @dir. One block, free() with the vector;
 * NULL when memory is gone. @argv's strings are not copied.
 */
char **cachegrind_argv(char *const argv[], const char *dir, const struct cachegrind_caches *caches);

#endif
