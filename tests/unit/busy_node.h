/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * busy_node.h - a made-up node for timing decisions and counting their allocations: every view has
 * new samples, every fourth one a job has ended and another come. What a plan says is where jobs
 * run in the next view; experiments are answered with Amdahl curves.
 *
 * The same jobs and figures every time: random numbers start from the same seed.
 */
#ifndef COLOC_TEST_BUSY_NODE_H
#define COLOC_TEST_BUSY_NODE_H

#include "nodesvc/engine/engine.h"

#define BUSY_NODE_JOBS 256

struct busy_node {
	struct view view;
	struct view_job job[BUSY_NODE_JOBS];
	char id[BUSY_NODE_JOBS][24], type[BUSY_NODE_JOBS][24];
	struct event event[PLAN_EXPERIMENTS_MAX];
	struct coreset fast;
	uint64_t serial, random, round;
};

/* @n: jobs, at most BUSY_NODE_JOBS. The node keeps pointers into itself: never copy it. */
void busy_node_init(struct busy_node *b, int n);
/* The next view. */
void busy_node_step(struct busy_node *b);
/* The plan for that view comes true. */
void busy_node_carry_out(struct busy_node *b, const struct plan *p);

/* Synthetic topology: @sockets of as many cores as @jobs of them want, at least eight. */
void busy_node_topology(int jobs, int sockets, char *buf, size_t size);

#endif
