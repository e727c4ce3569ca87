/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipc.h - SOCK_SEQPACKET over a Unix socket with absolute deadlines. libc only: the plugin uses
 * it inside slurmstepd.
 *
 * Deadlines are CLOCK_MONOTONIC nanoseconds. No call blocks past its deadline, also when the
 * daemon is stopped and its backlog full.
 */
#ifndef COLOC_COMMON_IPC_H
#define COLOC_COMMON_IPC_H

#include <stdint.h>

#include "common/err.h"
#include "common/msg.h"

int64_t ipc_now_ns(void);
/* The wall clock, which may jump: only for what is written down. */
int64_t ipc_unix_ns(void);

/* Returns a non-blocking, close-on-exec descriptor, or -errno (-ETIMEDOUT at the deadline). */
int ipc_connect(const char *path, int64_t deadline_ns, struct errbuf *err);
/* 0 or -errno; -EMSGSIZE when a put overflowed. Never raises SIGPIPE. */
int ipc_send(int fd, const struct msg *m, int64_t deadline_ns, struct errbuf *err);
/* 0 with a message that passed msg_check(), -ECONNRESET at end of file, or -errno. */
int ipc_recv(int fd, struct msg *ret, int64_t deadline_ns, struct errbuf *err);
/*
 * ipc_recv_fds - the same, and the descriptors that came with it (SCM_RIGHTS): the first *@ret_n
 * of @fds, close-on-exec, are the caller's; more than @max are closed. On an error none.
 */
int ipc_recv_fds(int fd, struct msg *ret, int *fds, int max, int *ret_n, int64_t deadline_ns,
	struct errbuf *err);
/* Sends @m with @n descriptors (at most IPC_FDS_MAX, which stay the caller's) at once or not at
 * all: -EAGAIN. */
#define IPC_FDS_MAX 4
int ipc_send_fds(int fd, const struct msg *m, const int *fds, int n, struct errbuf *err);

#endif
