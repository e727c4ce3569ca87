/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gang - each job in turn has its whole envelope for a slice. For jobs whose threads wait for one
 * another by spinning: nothing else keeps them all running at once on an oversubscribed node.
 *
 * Source: Feitelson & Rudolph, J. Parallel Distrib. Comput. 16(4), 1992 (gang scheduling); the
 * slice was measured on a two-core node: 100 ms costs under 5 %.
 *
 * Who came first goes first for a while (foreground.c).
 */
#include <errno.h>
#include <stddef.h>

#include "nodesvc/engine/internal.h"

struct config {
	int slice_ms, high_weight, foreground_ms, behind_ms;
};

static const struct option_spec options[] = {
	{"slice_ms", OPTION_INT, offsetof(struct config, slice_ms), 10, 60000, NULL},
	{"high_weight", OPTION_INT, offsetof(struct config, high_weight), 1, 100, NULL},
	{"foreground_ms", OPTION_INT, offsetof(struct config, foreground_ms), 0, 60000, NULL},
	{"behind_ms", OPTION_INT, offsetof(struct config, behind_ms), 0, 3600000, NULL},
	{0},
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct foreground first;
};

static int gang_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	int rc;

	p->cfg.slice_ms = 100;
	p->cfg.high_weight = 2; /* ours, as the two below */
	p->cfg.foreground_ms = FOREGROUND_MS;
	p->cfg.behind_ms = FOREGROUND_BEHIND_MS;
	rc = option_read(cfg, "gang", options, &p->cfg, err);
	shares_init(&p->shares, cfg);
	p->shares.in_place = true; /* all take turns here */
	foreground_init(&p->first, p->cfg.foreground_ms, p->cfg.behind_ms, cfg);
	return rc;
}

static void gang_forget(struct policy *p, int slot)
{
	foreground_forget(&p->first, slot);
}

/* @behind: the id of who lets nobody go first any more, NULL nobody. */
static void say_why(struct plan *p, const char *behind)
{
	int round_ms = 0;

	for (int s = 0; s < p->n_slices; s++)
		round_ms += p->slice[s].ms;
	for (int s = 0; s < p->n_slices; s++)
		for (int k = 0; k < p->slice[s].n_jobs; k++)
			plan_why(p, p->slice[s].job[k],
				"the whole node for %d ms in every %d%s%s%s", p->slice[s].ms,
				round_ms, behind ? "; nobody goes first, " : "",
				behind ? behind : "", behind ? " is far enough behind" : "");
}

static int gang_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err), first = -1, behind = -1;

	if (rc)
		return rc;
	foreground_account(&p->first, v, slot);
	if (c->n == 0)
		return 0;
	if (c->n > PLAN_SLICES_MAX && !c->uniform)
		return err_set(err, -ENOTSUP,
			"job %s: envelope: differs from others', and %d jobs need more than %d "
			"slices",
			v->job[c->job[0]].id, c->n, PLAN_SLICES_MAX);
	for (int k = 0; k < c->n; k++) {
		int i = c->job[k], s = k % PLAN_SLICES_MAX;
		struct plan_slice *slice = &ret->slice[s];
		struct plan_job *j = &ret->job[i];
		int ms = p->cfg.slice_ms * (v->job[i].priority_high ? p->cfg.high_weight : 1);

		shares_give(c, k, c->core, c->total, ret);
		if (c->n == 1)
			continue;
		if (v->job[i].nodes > 1)
			return err_set(err, -ENOTSUP,
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
	first = foreground_take(&p->first, c, slot, 1, ret, &behind);
	if (first >= 0)
		foreground_say(&p->first, ret, first, 1, "the whole node", "it");
	else
		say_why(ret, behind >= 0 ? v->job[c->job[behind]].id : NULL);
	return 0;
}

const struct policy_ops policy_gang = {
	.name = "gang",
	.summary = "the whole node to each job in turn, in short slices",
	.options = "slice_ms=N high_weight=N foreground_ms=N behind_ms=N",
	.in_turns = true,
	.on_node = true,
	.asks = POLICY_ASKS_SLICES,
	.size = sizeof(struct policy),
	.create = gang_create,
	.decide = gang_decide,
	.forget = gang_forget,
};
