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
 * ctl_call - sends @rq and gives each piece of the answer's JSON text to @part (a non-zero
 * return ends it and is returned). @timeout_ms bounds the wait for every single packet.
 * Errors: -EREMOTEIO the daemon refused (@err has its words), else see ctl_is_down().
 */
int ctl_call(const char *socket_path, int timeout_ms, const struct ctl_request *rq,
	int (*part)(const char *text, size_t len, void *arg), void *arg, struct errbuf *err);

/* The same into one string (free()). */
int ctl_call_text(const char *socket_path, int timeout_ms, const struct ctl_request *rq, char **ret,
	struct errbuf *err);

/* Is @rc an error that says that nobody (or nobody awake) is on the socket? */
bool ctl_is_down(int rc);

/* --socket's value, else $COLOC_SOCKET, else CTL_SOCKET. */
const char *ctl_socket_path(const char *option);

#endif
