/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * small_node.h - an engine with one policy on a made-up machine, and a few jobs that a test sets
 * as it likes: j0, j1 ... in order of arrival, with nothing known of them.
 */
#ifndef COLOC_TEST_SMALL_NODE_H
#define COLOC_TEST_SMALL_NODE_H

#include "nodesvc/engine/engine.h"

#define SMALL_NODE_JOBS 40

struct small_node {
	struct topo *t;
	struct engine *e;
	struct plan plan;
	struct view v;
	struct view_job job[SMALL_NODE_JOBS];
	char id[SMALL_NODE_JOBS][16];
	struct errbuf err;
};

/* @source: as topo_load() takes it; @spec: as engine_create() does. It points into itself: never
 * copy it. */
void small_node_open(struct small_node *x, const char *source, const char *spec, int n_jobs);
void small_node_close(struct small_node *x);
/* engine_decide()'s result; the text is in x->err. Where it is 0 the plan comes true. */
int small_node_try(struct small_node *x);
/* As before, and it must be 0. */
void small_node_decide(struct small_node *x);
/* Domain of all of a job's cores, -1 when they are in several. */
int small_node_domain_of(const struct small_node *x, int job);

#endif
