/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node.h - a node full of job steps without Slurm: real processes in a cpuset tree as Slurm makes
 * it (cgroup v1), and a colocd of one's own that they are registered with through its socket.
 *
 * Everything is below one temporary directory and one cgroup named after this process; node_down()
 * removes both. Errors end the program: it is a benchmark. One thread.
 */
#ifndef COLOC_BENCH_LOAD_NODE_H
#define COLOC_BENCH_LOAD_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct node {
	char top[64];  /* name of the cgroup: slurm_... */
	char dir[128]; /* socket, store, configuration, log */
	char socket[192];
	pid_t daemon;
	int steps, tasks;
	pid_t *task; /* [steps * tasks] */
};

struct node_cfg {
	int steps, tasks;
	int interval_ms;
	double load_cores; /* cpu time that all tasks together use; 0: they sleep */
	const char *policy;
	const char *colocd; /* program */
};

/* NULL when this machine can have such a node, else why not. */
const char *node_why_not(void);
/* Makes the tree and the tasks, starts colocd and waits for its socket; registers nothing. */
void node_up(struct node *n, const struct node_cfg *cfg);
void node_down(struct node *n);
/* In a child: its end leaves the node alone. */
void node_disown(void);

/* Registers step @i as the plugin does, up to the last task's answer; that time in ns. A step that
 * is refused ends the program. */
int64_t node_register(struct node *n, int i);
void node_end_step(struct node *n, int i);
/* One "ping", there and back, in ns. */
int64_t node_ping(struct node *n);

/* What `colocctl --json status` would print; free(). */
char *node_status(const struct node *n);

/* Cpu time of colocd and its guard since they started, ns. */
int64_t node_daemon_cpu_ns(const struct node *n);
int64_t node_tasks_cpu_ns(const struct node *n);
/* Descriptors that colocd has open; -1 it is gone. */
int node_daemon_fds(const struct node *n);
/* Resident now and at most, MiB: colocd's and its guard's own pages, shared ones once. */
void node_daemon_rss(const struct node *n, double *ret_now, double *ret_peak);

#endif
