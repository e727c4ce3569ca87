/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * infile.h - files that a user names on a command line: any of them may be a pipe ("<(...)",
 * /dev/stdin, a FIFO), and commands look at one before they read it. For tools of one thread: what
 * was a pipe is kept until the process ends.
 */
#ifndef COLOC_COMMON_INFILE_H
#define COLOC_COMMON_INFILE_H

#include <stdio.h>

#define INFILE_PIPE_MAX  (256u << 20) /* bytes */
#define INFILE_PIPES_MAX 8

/*
 * infile_open - as fopen(@path, "re"); "-" is standard input. That, and what can be read only once,
 * is read to its end into memory the first time, and every call for it begins at its first byte
 * again. NULL: errno says why; EFBIG: a pipe, or standard input, of more than INFILE_PIPE_MAX
 * bytes, EMFILE: of more than INFILE_PIPES_MAX.
 */
FILE *infile_open(const char *path);

#endif
