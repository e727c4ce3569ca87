/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket.h - who asks, and the answers: connections (server.c), what colocctl asks (ctl.c), the
 * pages of libcoloc's processes (attach.c). What a message means for the node is the daemon's: it
 * gives handlers. Loop thread only.
 */
#ifndef COLOC_NODESVC_SOCKET_H
#define COLOC_NODESVC_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/steps/jobs.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/node/node.h"
#include "nodesvc/record/ledger.h"
#include "nodesvc/base/work.h"

struct msg;
struct server;

struct socket_events {
	/* Root's messages: steps come and go. 1: *out is the answer; 0: it has none; -EPROTO: no
	 * such message. */
	int (*message)(void *arg, const struct msg *in, struct msg *out);
	/* The answer is sent: what need not hold it up. */
	void (*answered)(void *arg);
	/* colocctl reload: the file again; *ret_old is what held before. */
	int (*reload)(void *arg, struct conf *ret_old, struct errbuf *err);
	/* colocctl drain and resume. */
	void (*drain)(void *arg, bool on);
	bool (*is_draining)(void *arg);
	void *arg;
};

/* What the answers are made of; all of it outlives them. */
struct socket {
	struct loop *loop;
	const struct conf *conf;
	const char *conf_path;
	const struct node *node;
	struct jobs *jobs;
	struct actuate *actuate;
	struct ledger *ledger;
	struct record *record;
	const struct work *work;
	struct measure *measure;
	struct books *books;
	struct levers *levers;
	struct choose *choose;
	int64_t start_ns; /* of the service, CLOCK_MONOTONIC */
	struct socket_events on;
};

/* ---- server.c ---- */

/* Listens. Copies @k. */
int server_create(struct server **ret, const struct socket *k, struct errbuf *err);
/* NULL is fine. */
void server_free(struct server *s);
/* Registrations that waited for slurmctld's word on the job, or that there is none, go on. */
void server_learned(struct server *s, uint32_t job_id);

/* ---- ctl.c ---- */

/* What colocctl asks; appends to @ret_json (malloc'ed), 0 or 1 as exit status. */
int ctl_run(const struct socket *k, uint32_t uid, const struct msg *m, char **ret_json,
	struct errbuf *err);

/* ---- attach.c ---- */

/* Answers "attach" of a peer; 0: *ret_fds are to go with it, and stay the step's. */
int attach_answer(
	const struct socket *k, uint32_t uid, pid_t pid, struct msg *reply, int ret_fds[2]);
/* Once a second: its processes see that the service lives. */
void attach_beat(struct jobs *jobs, int64_t now_ns);

#endif
