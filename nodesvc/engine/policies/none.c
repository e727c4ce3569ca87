/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * none - observes only: every job stays where Slurm put it.
 */
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>

#include "nodesvc/engine/internal.h"

struct policy {
	char unused;
};

static int none_create(struct policy **ret, const struct policy_cfg *cfg, struct errbuf *err)
{
	int rc = option_read(cfg, "none", NULL, NULL, err);

	if (rc)
		return rc;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int none_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	(void)p;
	(void)slot;
	(void)err;
	ret->observe = true;
	for (int i = 0; i < v->n_jobs; i++)
		plan_why(ret, i, "observed only: stays where Slurm put it");
	return 0;
}

static void none_free(struct policy *p)
{
	free(p);
}

const struct policy_ops policy_none = {
	.name = "none",
	.summary = "observe and account only; move nothing",
	.options = NULL,
	.needs = 0,
	.on_node = true,
	.create = none_create,
	.decide = none_decide,
	.forget = NULL,
	.free = none_free,
};
