/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node.h - the machine: its files, its CPUs, and what it is called in profiles. daemon/ opens it
 * and keeps it up to date where CPUs come and go; all others are handed it as const.
 */
#ifndef COLOC_NODESVC_NODE_H
#define COLOC_NODESVC_NODE_H

#include "common/coreset.h"
#include "common/err.h"
#include "common/fsroot.h"
#include "common/topo.h"
#include "nodesvc/counters/counters.h"

#define NODE_ONLINE "sys/devices/system/cpu/online"

struct node {
	struct fsroot root;
	struct topo *topo;                    /* replaced where CPUs come or go */
	struct coreset usable;                /* its PUs less reserve: */
	char online[256], online_failed[256]; /* the kernel's list of CPUs, read before topo; one
						 that could not be taken */
	struct coreset start_pus;             /* the topology's when we started */
	struct counters_choice counters;      /* what can be counted here */
	char type[64]; /* CPU model and core count: profiles are kept per node type */
};

/* Root and topology of this machine, with @domain. On an error too, close it. */
int node_open(struct node *n, enum topo_level domain, struct errbuf *err);
void node_close(struct node *n);
/* All PUs but @reserve may be given to steps; -EINVAL none is left, and n->usable is empty. */
int node_reserve(struct node *n, const struct coreset *reserve, struct errbuf *err);

#endif
