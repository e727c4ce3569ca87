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
	int slice_ms, high_weight;
};

static const struct option_spec options[] = {
	{"slice_ms", OPTION_INT, offsetof(struct config, slice_ms), 10, 60000, NULL},
	{"high_weight", OPTION_INT, offsetof(struct config, high_weight), 1, 100, NULL},
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
	p->cfg.high_weight = 2; /* ours */
	rc = option_read(cfg, "gang", options, &p->cfg, err);
	if (!rc)
		rc = contest_init(&p->contest, cfg, err);
	p->contest.in_place = true; /* all take turns here */
	if (rc) {
		gang_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

static void say_why(struct plan *p)
{
	int round_ms = 0;

	for (int s = 0; s < p->n_slices; s++)
		round_ms += p->slice[s].ms;
	for (int s = 0; s < p->n_slices; s++)
		for (int k = 0; k < p->slice[s].n_jobs; k++)
			plan_why(p, p->slice[s].job[k], "the whole node for %d ms in every %d",
				p->slice[s].ms, round_ms);
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
		struct plan_slice *slice = &ret->slice[s];
		struct plan_job *j = &ret->job[i];
		int ms = p->cfg.slice_ms * (v->job[i].priority_high ? p->cfg.high_weight : 1);

		contest_give(c, k, c->core, c->total, ret);
		if (c->n == 1)
			continue;
		if (v->job[i].nodes > 1)
			return err_set(err, -EINVAL,
				"job %s: nodes: %d: a step of several nodes is never frozen",
				v->job[i].id, v->job[i].nodes);
		j->role = ROLE_GANG;
		if (s >= ret->n_slices) {
			slice->n_jobs = 0;
			slice->ms = ms;
			ret->n_slices = s + 1;
		}
		slice->job[slice->n_jobs++] = i;
		if (slice->ms < ms)
			slice->ms = ms;
		if (c->n > PLAN_SLICES_MAX)
			j->group = s;
	}
	say_why(ret);
	return 0;
}

const struct policy_ops policy_gang = {
	.name = "gang",
	.summary = "the whole node to each job in turn, in short slices",
	.options = "slice_ms=N high_weight=N",
	.needs = 0,
	.on_node = true,
	.asks = POLICY_ASKS_SLICES,
	.create = gang_create,
	.decide = gang_decide,
	.forget = NULL,
	.free = gang_free,
};
