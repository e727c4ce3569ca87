/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callnames.h - the functions of parallel runtimes whose calls may stand for a program's work: one
 * table. What polls is not in it (MPI_Test, MPI_Probe, the next chunk of a loop): how often that is
 * called tells how long somebody waited.
 */
#ifndef COLOC_COUNTERS_CALLNAMES_H
#define COLOC_COUNTERS_CALLNAMES_H

#include <stdbool.h>

enum call_runtime {
	CALL_OF_LIBGOMP, /* also what LLVM's library offers to programs built by GCC */
	CALL_OF_LIBOMP,
	CALL_OF_MPI,  /* Open MPI, MPICH and what is built like it: the names are the standard's */
	CALL_OF_SITE, /* the site's own, of its configuration */
};

/* What a call stands for, the better marks of work first. */
enum call_class {
	CALL_OWN,        /* the site says so */
	CALL_REGION,     /* a parallel region */
	CALL_COLLECTIVE, /* all ranks of a communicator */
	CALL_BARRIER,
	CALL_WORKSHARE, /* a loop, sections or single: by each thread of a team */
	CALL_SEND,
	CALL_RECEIVE,
	CALL_ONESIDED,
	CALL_WAIT,
	CALL_TASK,
};
const char *call_class_text(enum call_class c); /* "parallel regions", ... */

struct callname {
	const char *name; /* MPI: its name in C */
	enum call_runtime runtime;
	enum call_class class;
	bool first; /* one of those to try first */
};

/* Rows of the table and functions that a site names for a program: below. */
#define CALLNAMES_MAX     256
#define CALLNAMES_OWN_MAX 8
#define CALLNAME_MAX      128
struct callnames_own {
	int n;
	char name[CALLNAMES_OWN_MAX][CALLNAME_MAX];
};

int callnames_n(void);
/* @call below callnames_n(), or from there on that of @own (NULL: none). */
struct callname callnames_get(int call, const struct callnames_own *own);
/*
 * callnames_find - the row of the function @symbol, as files name it: the site's own come first; an
 * MPI function may have any of the names that Fortran compilers give it. -1: none.
 */
int callnames_find(const char *symbol, const struct callnames_own *own);

#endif
