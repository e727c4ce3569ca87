/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsroot.h - every read and write of /proc and /sys goes through one root descriptor, so tests
 * and replay point the same code at a recorded tree.
 *
 * Paths are relative to the root ("proc/1/cgroup"); a leading slash is taken. ".." is refused.
 * What reads files of any length breathes (aside.h), and is -ECANCELED, or finds nothing, where
 * nobody wants it any more.
 * Thread-safe once opened.
 */
#ifndef COLOC_COMMON_FSROOT_H
#define COLOC_COMMON_FSROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/err.h"

struct fsroot {
	int fd; /* O_PATH|O_DIRECTORY|O_CLOEXEC; -1 closed */
};

/* @path: NULL or "/" is the machine itself. */
int fsroot_open(struct fsroot *ret, const char *path, struct errbuf *err);
void fsroot_close(struct fsroot *r);
/* The machine's own @type (tracefs, fusectl), by a mount of nowhere that goes with its descriptor.
 * Returns that, O_PATH, or -errno: Linux before 5.2, no right to. */
int fsroot_mount_apart(const char *type);

/* openat with O_CLOEXEC; returns the descriptor or -errno. */
int fsroot_openat(const struct fsroot *r, const char *path, int flags);
bool fsroot_exists(const struct fsroot *r, const char *path);
/* 0 or -errno. */
int fsroot_stat(const struct fsroot *r, const char *path, struct stat *ret);
/*
 * fsroot_stat_known - device, inode, kind and size of a user's file, by what the kernel knows: its
 * file system is not asked, which may be a server that does not answer, or one of the user's own.
 * @path "": the root descriptor itself, whatever it is.
 */
int fsroot_stat_known(const struct fsroot *r, const char *path, struct stat *ret);
/* Inode of a path, to know a cgroup again after a restart; 0 when it is not there. */
ino_t fsroot_inode(const struct fsroot *r, const char *path);
/*
 * fsroot_is_there - is @path still what had this @inode? 1 yes; 0 no, and that is known: nothing of
 * that name is in a directory that can be read, or another thing is; else -errno, it cannot be told
 * (EMFILE, EIO, EACCES, ...) and is not to be taken for gone.
 */
int fsroot_is_there(const struct fsroot *r, const char *path, uint64_t inode);

/*
 * fsroot_read - reads a whole small file into @buf and ends it with NUL; trailing newlines stay.
 * Returns the length, or -errno (-EFBIG: did not fit; @buf then holds the cut text).
 */
ssize_t fsroot_read(const struct fsroot *r, const char *path, char *buf, size_t size);
/* What one read(2) gives, for files of one line (/proc/PID/stat): not a second one to see that
 * nothing follows. */
ssize_t fsroot_read_once(const struct fsroot *r, const char *path, char *buf, size_t size);
/*
 * fsroot_find - true: one of @n texts, shorter than 64, stands in the file @path; read until there,
 * for files that take long to make (/proc/PID/maps).
 */
bool fsroot_find(const struct fsroot *r, const char *path, const char *const *text, int n);
/*
 * fsroot_task_stat - the line of thread @tid in /proc (proc(5), stat) from its third field, the
 * state, on: behind its name, which may hold anything. Into @buf of 512 or more; NULL: it is gone.
 */
const char *fsroot_task_stat(const struct fsroot *r, pid_t tid, char *buf, size_t size);
/* Does thread @tid lead a process? By proc/TID/status. */
bool fsroot_is_process(const struct fsroot *r, pid_t tid);
/* Like fsroot_read() into fresh memory (*@ret, free()), for files of any length. */
ssize_t fsroot_read_alloc(const struct fsroot *r, const char *path, char **ret);

/*
 * fsroot_read_alloc_owner - the same, of a file that only its owner may read (/proc/PID/environ):
 * a service without CAP_DAC_READ_SEARCH, root or not, needs CAP_SETUID for it. The whole thread is
 * the owner, to the file system, while it opens.
 */
ssize_t fsroot_read_alloc_owner(const struct fsroot *r, const char *path, char **ret);

/* Writes @text in one write(2); 0 or -errno. The file must exist. */
int fsroot_write(const struct fsroot *r, const char *path, const char *text);

/* A directory: 0 or -errno. For file systems where one is an object of the kernel's. */
int fsroot_mkdir(const struct fsroot *r, const char *path);
int fsroot_rmdir(const struct fsroot *r, const char *path);

#endif
