/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fair - an equal part of the cores for each job, inside one domain where shares fit domains.
 * Needs no signal; what every other policy falls back to. Jobs keep the cores they have. Where jobs
 * outnumber cores, all that share some may take turns there (turns=all, ours), not only who gains
 * most.
 */
#include <stddef.h>

#include "nodesvc/engine/internal.h"

enum { TURNS_COUPLED, TURNS_ALL, TURNS_NO };

struct config {
	int turns, turns_ms;
};

static const struct option_spec options[] = {
	{"turns", OPTION_CHOICE, offsetof(struct config, turns), 0, 0, "coupled|all|no"},
	{"turns_ms", OPTION_INT, offsetof(struct config, turns_ms), 10, 60000, NULL},
	{0},
};

struct policy {
	struct config cfg;
	struct shares shares;
	int *domain_of;
};

static int fair_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	p->cfg.turns = TURNS_COUPLED;
	shares_init(&p->shares, cfg);
	p->domain_of = arena_alloc(cfg->memory, (size_t)cfg->max_jobs, sizeof(int));
	return option_read(cfg, "fair", options, &p->cfg, err);
}

static int fair_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);

	(void)slot;
	ret->may_turn = p->cfg.turns != TURNS_NO;
	ret->all_turn = p->cfg.turns == TURNS_ALL;
	ret->turns_ms = p->cfg.turns_ms;
	if (rc || c->n == 0)
		return rc;
	if (c->n_domains % c->n == 0 && shares_blocks(c, ret))
		return 0;
	shares_by_arrival(c, p->domain_of);
	/* Shares that fit no domain are dealt in a row: exactness before locality. */
	if (c->uniform && !c->shared && !shares_fits(c, p->domain_of))
		shares_deal_row(c, ret);
	else
		shares_apply(c, p->domain_of, ret);
	return 0;
}

const struct policy_ops policy_fair = {
	.name = "fair",
	.summary = "an equal part of the cores for each job",
	.options = "turns=coupled|all|no turns_ms=N",
	.settles = true,
	.on_node = true,
	.size = sizeof(struct policy),
	.create = fair_create,
	.decide = fair_decide,
};
