/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client.h - one step's side of the talk with colocd, on a budget.
 *
 * All waiting of a step together takes at most the budget; time between calls does not count.
 * Whoever gets an error from client_ask() is to ask no more.
 *
 * One connection is kept from the first message to the last: the daemon sees by its end that
 * slurmstepd died; it goes on working when Slurm moves slurmstepd into the job's mount namespace
 * (contain_spank), where the socket's path may not exist; and a task costs no connect of its own.
 * If the daemon was restarted meanwhile it is opened anew. Close-on-exec: tasks do not inherit it.
 */
#ifndef COLOC_SPANK_CLIENT_H
#define COLOC_SPANK_CLIENT_H

#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/msg.h"

struct client {
	const char *path; /* borrowed */
	int fd;
	pid_t owner;       /* forked children share the descriptor and must not talk */
	int64_t budget_ns; /* what is left of it */
};

void client_init(struct client *c, const char *path, int timeout_ms);

/* Sends and waits for the reply. 0 or -errno (-ETIMEDOUT: the budget is used up). */
int client_ask(struct client *c, const struct msg *m, struct msg *ret, struct errbuf *err);

/* Sends without waiting, whatever is left of the budget. 0 or -errno. */
int client_tell(struct client *c, const struct msg *m, struct errbuf *err);

void client_done(struct client *c);

#endif
