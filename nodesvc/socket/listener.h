/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listener.h - the service's socket as a file: where it may be, whose place it may take, and
 * whether it is still there. A cleaner of temporary directories may take it from a service that
 * runs; steps would start without us, until somebody noticed.
 */
#ifndef COLOC_NODESVC_LISTENER_H
#define COLOC_NODESVC_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "common/err.h"

struct listener {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd; /* SOCK_SEQPACKET, non-blocking; listener_close() closes it */
	dev_t dev;
	ino_t ino;
};

/*
 * listener_open - makes the socket's directory if there is none, and listens at @path (mode 0666:
 * the peer's uid decides what is answered).
 * Errors: -ENAMETOOLONG; -EPERM the directory is not ours or others may write there; -EEXIST what
 * is at @path is no socket; -EADDRINUSE somebody serves there; else of the system call. @ret then
 * is untouched.
 */
int listener_open(struct listener *ret, const char *path, struct errbuf *err);

/* Is what lies at the path what was opened? */
bool listener_is_there(const struct listener *l);

/* Removes the file if it is still this one. */
void listener_close(struct listener *l);

#endif
