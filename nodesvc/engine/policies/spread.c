/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spread - jobs alternate between domains in order of arrival, as Slurm's cyclic distribution and
 * the baseline of the LLC "complex" paper do: 1st to the first, 2nd to the second, ...
 */
#include "nodesvc/engine/internal.h"

struct policy {
	struct shares shares;
	int *domain_of;
	uint64_t set;
};

static int spread_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	shares_init(&p->shares, cfg);
	p->shares.in_place = true; /* as Slurm would */
	p->domain_of = arena_alloc(cfg->memory, (size_t)cfg->max_jobs, sizeof(int));
	return option_read(cfg, "spread", NULL, NULL, err);
}

static int spread_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err), next = 0;
	int *count = c->scratch;
	uint64_t set;

	(void)slot;
	if (rc || c->n == 0 || shares_blocks(c, ret))
		return rc;
	set = shares_set(c);
	if (set == p->set && shares_incumbent(c, p->domain_of)) {
		shares_keep(c, p->domain_of, "stays: the jobs are the same", ret);
		return 0;
	}
	p->set = set;
	shares_counts(c, count);
	for (int k = 0; k < c->n; k++) {
		for (int tries = 0; tries < c->n_domains; tries++) {
			int d = (next + tries) % c->n_domains;

			p->domain_of[k] = d;
			if (count[d] > 0 && shares_allowed(c, k, d))
				break;
		}
		count[p->domain_of[k]]--;
		next = (p->domain_of[k] + 1) % c->n_domains;
	}
	shares_apply(c, p->domain_of, ret);
	return 0;
}

const struct policy_ops policy_spread = {
	.name = "spread",
	.summary = "jobs alternate between domains in order of arrival, as Slurm would",
	.settles = true,
	.on_node = true,
	.size = sizeof(struct policy),
	.create = spread_create,
	.decide = spread_decide,
};
