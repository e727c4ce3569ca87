/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decisions.c - what was decided, for explain after the fact.
 */
#include <stdlib.h>

#include "common/ipc.h"
#include "nodesvc/base/health.h"
#include "nodesvc/books/internal.h"

void decisions_write(struct books *b)
{
	struct errbuf err;

	for (int i = 0; i < b->n_unwritten; i++) {
		if (b->unwritten[i].json &&
			record_decision_add(b->use.record, b->unwritten[i].t_ns,
				b->unwritten[i].event, b->unwritten[i].json, &err) < 0)
			health_error("%.200s", err.text);
		free(b->unwritten[i].json);
	}
	b->n_unwritten = 0;
}

void decisions_note(struct books *b, const char *event, char *json)
{
	if (b->n_unwritten == DECISIONS_WAITING)
		decisions_write(b);
	b->unwritten[b->n_unwritten].t_ns = ipc_unix_ns();
	b->unwritten[b->n_unwritten].event = event;
	b->unwritten[b->n_unwritten].json = json;
	b->n_unwritten++;
}
