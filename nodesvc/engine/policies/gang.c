/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gang - each job in turn has its whole envelope for a slice. For jobs whose threads wait for one
 * another by spinning: nothing else keeps them all running at once on an oversubscribed node.
 *
 * Source: Feitelson & Rudolph, J. Parallel Distrib. Comput. 16(4), 1992 (gang scheduling); the
 * slice was measured on a two-core node: 100 ms costs under 5 %.
 *
 * Among n jobs of one length equal turns end all of them last: each takes n times its time alone,
 * where one after another would take (n + 1) / 2 times on average. foreground_ms= is the way
 * between the two for lengths nobody knows: a job goes before the others until it has had so much
 * of the node, then takes its turns in the background. Source: multilevel processor sharing,
 * Kleinrock, Queueing Systems vol. 2, 1976, chapter 4, with two levels: first come first served,
 * then round robin. The others keep a short slice in each round (ours: no job stands still longer
 * than the driver allows).
 *
 * Alone, that rule starves: beside short jobs that come one after another a long one would be in
 * the background for as long as they come. So each has an account of what it had less than equal
 * turns would have given it, since it came; while another than the one in front is behind_ms=
 * behind, all take equal turns (ours). Whatever comes, nobody loses more than that by others'
 * foregrounds.
 *
 * Who computes in bursts goes before nobody (ours): what he leaves while he waits the others get
 * anyway, and where all are such the last to come would be left to wait alone at the end.
 */
#include <errno.h>
#include <math.h>
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

/*
 * What a job has had of the node: by the driver's sums where it knows them, else by the plans that
 * were made for it. What it leaves while it waits is then neither had nor owed.
 */
struct served {
	double s;        /* seconds of slices */
	double behind_s; /* what equal turns would have given it more; less than 0: it is ahead */
	double part;     /* of the time, under the last plan; 0: it had no turn */
	double equal;    /* what equal turns, by weight, would have given it then */
	bool seen;       /* and the driver's sums then */
	double wanted_s, served_s;
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct served *served; /* [max_jobs] by slot; only where there is a foreground */
	double last_s;
};

static int gang_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	int rc;

	p->cfg.slice_ms = 100;
	p->cfg.high_weight = 2; /* ours, as the two below */
	p->cfg.foreground_ms = 10000;
	p->cfg.behind_ms = 10000;
	rc = option_read(cfg, "gang", options, &p->cfg, err);
	shares_init(&p->shares, cfg);
	p->shares.in_place = true; /* all take turns here */
	if (p->cfg.foreground_ms > 0)
		p->served = arena_alloc(cfg->memory, (size_t)cfg->max_jobs, sizeof(*p->served));
	return rc;
}

static void gang_forget(struct policy *p, int slot)
{
	if (p->served)
		p->served[slot] = (struct served){.s = 0};
}

/* Are the sums those of turns since the last decision? Alone it is in no rotation. */
static bool is_measured(const struct served *s, const struct view_job *j)
{
	return s->seen && s->part < 1 && j->in_turns;
}

/* The part of @dt in which it wanted a core. */
static double wanted_part(const struct served *s, const struct view_job *j, double dt)
{
	if (!is_measured(s, j) || dt <= 0)
		return 1;
	return fmin(1, fmax(0, (j->wanted_s - s->wanted_s) / dt));
}

/*
 * The time since the last decision, to those who had it. Equal turns would have given what one did
 * not want to the others, as if each had waited whatever the others did.
 */
static void account(struct policy *p, const struct view *v, const int *slot)
{
	double dt = fmax(0, v->now_s - p->last_s), all = 0, in_line = 0;

	for (int i = 0; i < v->n_jobs; i++) {
		const struct served *s = &p->served[slot[i]];

		all += s->equal;
		in_line += s->equal * wanted_part(s, &v->job[i], dt);
	}
	for (int i = 0; i < v->n_jobs; i++) {
		const struct view_job *j = &v->job[i];
		struct served *s = &p->served[slot[i]];
		double wanted = wanted_part(s, j, dt), had = dt * s->part, rivals;

		if (is_measured(s, j))
			had = fmax(0, j->served_s - s->served_s);
		rivals = in_line + s->equal * (1 - wanted);
		s->s += had;
		if (s->equal > 0)
			s->behind_s += dt * wanted * fmin(1, s->equal * all / rivals) - had;
		s->part = s->equal = 0;
		s->seen = true;
		s->wanted_s = j->wanted_s;
		s->served_s = j->served_s;
	}
	p->last_s = v->now_s;
}

/* All compute in bursts: one before the other, the last would wait alone at the end. */
static bool all_are_bursty(const struct shares *c, const struct view *v)
{
	for (int k = 0; k < c->n; k++)
		if (!v->job[c->job[k]].bursty)
			return false;
	return true;
}

/* The first to come of those who have not had enough; -1 none. */
static int first_unserved(const struct policy *p, const struct view *v, const int *slot)
{
	const struct shares *c = &p->shares;

	if (all_are_bursty(c, v))
		return -1;
	for (int k = 0; k < c->n; k++)
		if (p->served[slot[c->job[k]]].s * 1e3 < p->cfg.foreground_ms)
			return k;
	return -1;
}

/* Who may not be kept waiting for @first any longer; -1 nobody. */
static int held_up(const struct policy *p, const int *slot, int first)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++)
		if (k != first && p->served[slot[c->job[k]]].behind_s * 1e3 >= p->cfg.behind_ms)
			return k;
	return -1;
}

/* The parts of the time that the slices of @plan are. */
static double part_of(const struct plan *plan, int slice)
{
	int round_ms = 0;

	for (int s = 0; s < plan->n_slices; s++)
		round_ms += plan->slice[s].ms;
	return plan->n_slices ? (double)plan->slice[slice].ms / round_ms : 1;
}

/* Returns its slice, -1 none; then *@ret_behind has who does not let anybody go first, -1 nobody.
 */
static int take_foreground(
	struct policy *p, const struct view *v, const int *slot, struct plan *ret, int *ret_behind)
{
	const struct shares *c = &p->shares;
	int k = c->n > 1 ? first_unserved(p, v, slot) : -1, first = -1;

	*ret_behind = k >= 0 ? held_up(p, slot, k) : -1;
	if (k >= 0 && *ret_behind < 0)
		first = k % PLAN_SLICES_MAX;
	for (k = 0; k < c->n; k++)
		p->served[slot[c->job[k]]].equal = part_of(ret, k % PLAN_SLICES_MAX);
	if (first >= 0 && ret->slice[first].ms < p->cfg.foreground_ms)
		ret->slice[first].ms = p->cfg.foreground_ms;
	for (k = 0; k < c->n; k++)
		p->served[slot[c->job[k]]].part = part_of(ret, k % PLAN_SLICES_MAX);
	return first;
}

static void say_foreground(struct plan *p, int first, int ms)
{
	for (int s = 0; s < p->n_slices; s++)
		for (int k = 0; k < p->slice[s].n_jobs; k++) {
			int i = p->slice[s].job[k];

			if (s == first)
				plan_why(p, i,
					"the whole node before the others until it has had it for "
					"%d ms, then in turns",
					ms);
			else
				plan_why(p, i, "now and then a turn of %d ms: another goes first",
					p->slice[s].ms);
		}
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
	if (p->served)
		account(p, v, slot);
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
	if (p->served)
		first = take_foreground(p, v, slot, ret, &behind);
	if (first >= 0)
		say_foreground(ret, first, p->cfg.foreground_ms);
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
