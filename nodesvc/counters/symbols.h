/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols.h - where in which files the functions of callnames.h begin, for a program that is about
 * to start and for one that runs. The files are read apart (common/apart.h), with the user's
 * rights; what comes back is checked before anybody else sees it.
 *
 * A file is told by a descriptor that the reader has opened: it is the one that is mapped, be it in
 * a container, replaced or deleted, and no path is looked up again.
 */
#ifndef COLOC_COUNTERS_SYMBOLS_H
#define COLOC_COUNTERS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/command.h"
#include "nodesvc/counters/callnames.h"

#define SYMBOLS_FILES_MAX 8
#define SYMBOLS_SITES_MAX 96
/* A file is read within that. */
#define SYMBOLS_DEADLINE_S 10

struct symbol_site {
	uint64_t offset; /* in the file, inside what is loaded to be executed */
	uint16_t call;   /* callnames_get() */
	uint8_t file;    /* index of symbols.file */
	uint8_t called;  /* 1: a file of the program asks for it by name, or has it itself */
};

struct symbol_file {
	int fd; /* regular, open for reading; -1: closed */
	dev_t dev;
	ino_t ino;
	uint64_t size;
	char name[64]; /* the last part of its path, for people; may be cut */
};

/* Sites of what is called come before the others, the site's own first, then in the order of the
 * table. One function may have several: two libraries that have it, or two versions. Of MPI's,
 * Fortran's names have sites only where C's are not there, which they call. */
struct symbols {
	int n_files, n_sites;
	uint8_t has_program; /* 1: an executable could be read at all */
	uint8_t is_static;   /* 1: and it loads no library */
	uint8_t cut;         /* 1: there are more than are told */
	uint8_t served;      /* 1: others are on a file system that a user serves (userfs.h) */
	struct symbol_file file[SYMBOLS_FILES_MAX];
	struct symbol_site site[SYMBOLS_SITES_MAX];
};

/* ---- from the daemon ---- */

/*
 * symbols_ask_command - of the file that Slurm will execute for @c and the libraries that it needs,
 * as @uid may read them. @own: the site's own functions for it; NULL none. Copies what it is given.
 * Returns where the answer comes, for symbols_take(); the caller closes it. Or -errno.
 */
int symbols_ask_command(const struct command *c, uid_t uid, const struct callnames_own *own);
/*
 * symbols_ask_thread - of what the process of the thread @tid (a leader may have ended) has mapped
 * to be executed, in whatever mount namespace.
 */
int symbols_ask_thread(pid_t tid, uid_t uid, const struct callnames_own *own);
/*
 * symbols_take - the answer that came at @fd; does not wait. 0: @ret has it, its files open, end it
 * by symbols_done(). -EAGAIN: none yet; who stops the reader, as its user may, lets it never come:
 * close @fd after SYMBOLS_DEADLINE_S. Else @ret is untouched: -ENODATA none will come (nothing of
 * that name, no right to read it, too slow), -EBADMSG it claims what cannot be.
 */
int symbols_take(int fd, const struct callnames_own *own, struct symbols *ret);
/* Is @offset inside of what is loaded from the file to be executed? Waits for its file system. */
bool symbols_is_code(int fd, uint64_t offset);
/* Closes the files. */
void symbols_done(struct symbols *s);
/* Why no function is known, for people; NULL: some are. */
const char *symbols_why_none(const struct symbols *s);

/* ---- where it is read: blocks as file systems do ---- */

struct symbols_reader;
struct symbols_reader *symbols_reader_new(const struct callnames_own *own); /* NULL: no memory */
/*
 * symbols_read - takes @fd over. @name: its path, or the last part of it. Nothing is believed of
 * what is in the file. @is_program: it is the executable.
 */
void symbols_read(struct symbols_reader *r, int fd, const char *name, bool is_program);
/* What was read; files are the reader's until symbols_reader_free(). */
const struct symbols *symbols_result(struct symbols_reader *r);
void symbols_reader_free(struct symbols_reader *r);

#endif
