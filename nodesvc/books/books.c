/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/books/books.h"

#include <errno.h>
#include <stdlib.h>

#include "nodesvc/books/internal.h"

int books_open(struct books **ret, const struct books_uses *u, const struct books_events *e,
	struct errbuf *err)
{
	struct books *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	b->use = *u;
	b->tell = *e;
	if ((rc = store_retain_open(b, err)) < 0 || (rc = metrics_open(b, err)) < 0 ||
		(rc = slurmacct_open(&b->slurmacct, u->loop, u->record, err)) < 0) {
		books_close(b);
		return rc;
	}
	*ret = b;
	return 0;
}

void books_close(struct books *b)
{
	if (!b)
		return;
	slurmacct_close(b->slurmacct);
	loop_remove(b->use.loop, b->metrics);
	loop_remove(b->use.loop, b->retain);
	checkpoint_free(b->checkpointer);
	free(b);
}

void books_step_ended(struct books *b, const struct step *s)
{
	if (b->use.conf->slurm_accounting)
		slurmacct_step_ended(b->slurmacct, s);
}
