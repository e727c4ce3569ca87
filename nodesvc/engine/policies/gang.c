/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gang - each job in turn has its whole envelope for a slice. For jobs whose threads wait for one
 * another by spinning: nothing else keeps them all running at once on an oversubscribed node.
 *
 * Source: Feitelson & Rudolph, J. Parallel Distrib. Comput. 16(4), 1992 (gang scheduling); the
 * slice was measured on a two-core node: 100 ms costs under 5 %.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "nodesvc/engine/contest.h"
#include "nodesvc/engine/explain.h"
#include "nodesvc/engine/option.h"

struct config {
	int slice_ms;
};

static const struct option_spec options[] = {
	{"slice_ms", OPTION_INT, offsetof(struct config, slice_ms), 10, 60000, NULL},
	{0},
};

struct policy {
	struct config cfg;
	struct contest contest;
};

static void gang_free(struct policy *p)
{
	contest_done(&p->contest);
	free(p);
}

static int gang_create(struct policy **ret, const struct policy_cfg *cfg, struct errbuf *err)
{
	struct policy *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->cfg.slice_ms = 100;
	rc = option_read(cfg, "gang", options, &p->cfg, err);
	if (!rc)
		rc = contest_init(&p->contest, cfg, err);
	if (rc) {
		gang_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

static int gang_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct contest *c = &p->contest;
	int rc = contest_build(c, v, ret, err);

	(void)slot;
	if (rc || c->n == 0)
		return rc;
	if (c->n > PLAN_SLICES_MAX && !c->uniform)
		return err_set(err, -EINVAL,
			"job %s: envelope: differs from others', and %d jobs need more than %d "
			"slices",
			v->job[c->job[0]].id, c->n, PLAN_SLICES_MAX);
	for (int k = 0; k < c->n; k++) {
		int i = c->job[k], s = k % PLAN_SLICES_MAX;
		struct plan_job *j = &ret->job[i];

		contest_give(c, k, c->core, c->total, ret);
		if (c->n == 1)
			continue;
		if (v->job[i].nodes > 1)
			return err_set(err, -EINVAL,
				"job %s: nodes: %d: a step of several nodes is never frozen",
				v->job[i].id, v->job[i].nodes);
		j->role = ROLE_GANG;
		if (s >= ret->n_slices) {
			ret->slice[s].n_jobs = 0;
			ret->slice[s].ms = p->cfg.slice_ms;
			ret->n_slices = s + 1;
		}
		ret->slice[s].job[ret->slice[s].n_jobs++] = i;
		if (c->n > PLAN_SLICES_MAX)
			j->group = s;
		plan_why(ret, i, "the whole node for %d ms in every %d", p->cfg.slice_ms,
			p->cfg.slice_ms * (c->n < PLAN_SLICES_MAX ? c->n : PLAN_SLICES_MAX));
	}
	return 0;
}

const struct policy_ops policy_gang = {
	.name = "gang",
	.summary = "the whole node to each job in turn, in short slices",
	.options = "slice_ms=N",
	.needs = 0,
	.on_node = true,
	.create = gang_create,
	.decide = gang_decide,
	.forget = NULL,
	.free = gang_free,
};
