/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * none - observes only: every job stays where Slurm put it.
 */
#include <stddef.h>

#include "nodesvc/engine/internal.h"

struct policy {
	char unused;
};

static int none_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	(void)p;
	return option_read(cfg, "none", NULL, NULL, err);
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

const struct policy_ops policy_none = {
	.name = "none",
	.summary = "observe and account only; move nothing",
	.on_node = true,
	.create = none_create,
	.decide = none_decide,
};
