/* SPDX-License-Identifier: GPL-2.0-or-later */
/* internal.h - what the files of socket/ share. */
#ifndef COLOC_SOCKET_INTERNAL_H
#define COLOC_SOCKET_INTERNAL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "common/err.h"
#include "nodesvc/record/record.h"
#include "nodesvc/socket/socket.h"

/* ---- ctl_json.c: the live table as JSON, for colocctl; shapes in ctl.c ---- */

/* Caller owns the result; NULL out of memory. */
struct json_object *ctl_json_step(const struct socket *k, const struct step *s);
struct json_object *ctl_json_explain(const struct socket *k, struct step *s);
/* What the guard knows of all sets of programs. */
struct json_object *ctl_json_quarantine(const struct socket *k);
struct json_object *ctl_json_policies(const struct socket *k);
struct json_object *ctl_json_status(const struct socket *k);
struct json_object *ctl_json_counters(const struct socket *k);
/* Appends what of @s lags to the array @to. */
void ctl_json_lags(const struct socket *k, const struct step *s, struct json_object *to);

/*
 * listener.c: the service's socket as a file: where it may be, whose place it may take, and
 * whether it is still there. A cleaner of temporary directories may take it from a service that
 * runs; steps would start without us, until somebody noticed.
 */

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

/*
 * measured_json.c: what live intervals measured of a program, as JSON, for list, export, import.
 *
 * {"measured": 1, "type": "stencil", "user": "alice", "node_type": "", "cores": 2, "kind": "solo",
 * "signal": "progress_per_s", "unit": "sweeps", "source": "app", "count": 3, "mean": 812.5, "m2":
 * 31.0, "spread": 0.0048, "first_unix_s": 1700000000, "last_unix_s": 1700000900}
 *
 * kind: shared, alone or solo (record.h); spread: standard deviation over mean, from m2, null with
 * one interval, not read back.
 */

/* New object (json_object_put()), NULL when memory is gone. */
struct json_object *measured_to_json(const struct measurement *m);
/* Strict: unknown or missing fields and bad values are refused by name. -EINVAL; @ret untouched. */
int measured_from_text(const char *text, struct measurement *ret, struct errbuf *err);
/* Is it one of these, not a profile? */
bool measured_is_text(const char *text);

#endif
