/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h - one request to colocd and its answer, for the command line programs.
 *
 * Not thread-safe; blocks up to its timeout.
 */
#ifndef COLOC_CTL_CLIENT_H
#define COLOC_CTL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

#define CTL_SOCKET     "/run/coloc/colocd.sock"
#define CTL_TIMEOUT_MS 5000

struct ctl_request {
	const char *cmd;
	const char *job; /* "JOB" or "JOB.STEP"; NULL none */
	const char *tag; /* profile's type; NULL none */
	bool all;
	const char *json; /* input; NULL none */
};

/*
 * client_open - connects and sends @rq: a descriptor (the caller's to close) that polls readable
 * with each packet of the answer, or an error (see client_is_down()).
 */
int client_open(
	const char *socket_path, int timeout_ms, const struct ctl_request *rq, struct errbuf *err);

/* The answer's JSON text, as far as it came. free(buf). */
struct ctl_text {
	char *buf; /* NULL: nothing yet */
	size_t len, size;
};
/* Adds @n bytes and a NUL. -EFBIG: it would be longer than @max, -ENOMEM; it is as before then. */
int client_text_add(struct ctl_text *t, const char *more, size_t n, size_t max);

/*
 * client_read - takes one packet of the answer, waiting up to @timeout_ms for it. 1: @t has grown,
 * and there is more; 0: it is complete. Errors: -EREMOTEIO the daemon refused (@err has its words),
 * else see client_is_down().
 */
int client_read(
	int fd, const char *socket_path, int timeout_ms, struct ctl_text *t, struct errbuf *err);

/* Both in one; the whole answer as a string (free()). @timeout_ms bounds each packet's wait. */
int client_call_text(const char *socket_path, int timeout_ms, const struct ctl_request *rq,
	char **ret, struct errbuf *err);

/* Is @rc an error that says that nobody (or nobody awake) is on the socket? */
bool client_is_down(int rc);

/* --socket's value, else $COLOC_SOCKET, else CTL_SOCKET. */
const char *client_socket_path(const char *option);

#endif
