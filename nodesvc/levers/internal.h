/* SPDX-License-Identifier: GPL-2.0-or-later */
/* internal.h - what the levers share: what they were opened with, and each one's own. */
#ifndef COLOC_NODESVC_LEVERS_INTERNAL_H
#define COLOC_NODESVC_LEVERS_INTERNAL_H

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/levers/idlepoll.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/levers/owed.h"
#include "nodesvc/levers/ways.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/record/ledger.h"

struct memory;
struct rotate;
struct threads;

struct levers {
	const struct conf *conf;
	const struct node *node;
	struct jobs *jobs;
	const struct levers_events *on; /* never NULL */
	void *arg;
	struct loop *loop;
	struct ledger *ledger;
	struct actuate *actuate;

	struct owed owed;
	struct rotate *rotate;   /* NULL: no guard, so no rotation */
	struct threads *threads; /* NULL until first needed */
	struct memory *memory;   /* NULL until first needed */
	struct ways ways;
	struct idlepoll idlepoll;
};

/* What levers_open() does first. */
void levers_attach(
	struct levers *lv, struct loop *loop, struct ledger *ledger, struct actuate *actuate);

#endif
