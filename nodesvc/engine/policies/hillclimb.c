/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hillclimb - moves one core from one job to another and keeps the change if the geometric mean of
 * the jobs' speeds rose by more than 1 %. Knows nothing but live speed; stops where no neighbour
 * is better, until a job comes, goes or changes phase.
 *
 * Source: the usual baseline of core-allocation papers (Choi & Yeung, ISCA 2006, for the idea).
 */
#include <math.h>
#include <stddef.h>

#include "nodesvc/engine/internal.h"

/* Searches for who could exchange a core, some 10 us each at 1 024 cores. */
#define LOOKS_MAX 512

struct config {
	double gain; /* least rise of the geometric mean */
};

static const struct option_spec options[] = {
	{"gain", OPTION_DOUBLE, offsetof(struct config, gain), 0, 1, NULL},
	{0},
};

struct policy {
	struct config cfg;
	struct shares shares;
	int *alloc;          /* [max_jobs] by competing job; valid for set */
	uint64_t *sample_no; /* [max_jobs] by slot */
	int *domain_of;
	bool *reach; /* [max_jobs] whose cores a job could have */
	uint64_t set;
	double base;     /* log of the geometric mean before the trial; NAN unknown */
	bool trying;     /* a move is being measured */
	bool settled;    /* no neighbour was better */
	int from, to;    /* the move */
	int next, fails; /* pair to try next, pairs that failed in a row */
};

static int hillclimb_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	p->cfg.gain = 0.01;
	p->base = NAN;
	rc = option_read(cfg, "hillclimb", options, &p->cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	p->alloc = arena_alloc(cfg->memory, n, sizeof(int));
	p->sample_no = arena_alloc(cfg->memory, n, sizeof(uint64_t));
	p->domain_of = arena_alloc(cfg->memory, n, sizeof(int));
	p->reach = arena_alloc(cfg->memory, n, sizeof(bool));
	return 0;
}

/* Progress where the program tells it, else instructions of all its threads. */
static double speed_of(const struct view_job *j)
{
	if (j->signal[SIGNAL_PROGRESS].provenance != PROVENANCE_NONE)
		return j->signal[SIGNAL_PROGRESS].value;
	return j->signal[SIGNAL_INSTRUCTIONS].value * (j->threads > 0 ? j->threads : 1);
}

/* Mean of logs; false until every job has a new sample. */
static bool measure(struct policy *p, const struct view *v, const int *slot, double *ret)
{
	const struct shares *c = &p->shares;
	double sum = 0;

	for (int k = 0; k < c->n; k++)
		if (p->sample_no[slot[c->job[k]]] == v->job[c->job[k]].sample_no)
			return false;
	for (int k = 0; k < c->n; k++) {
		double s = speed_of(&v->job[c->job[k]]);

		p->sample_no[slot[c->job[k]]] = v->job[c->job[k]].sample_no;
		sum += log(s > 0 ? s : 1e-9);
	}
	*ret = sum / c->n;
	return true;
}

static void restart(struct policy *p, const struct view *v, const int *slot)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		p->alloc[k] = c->size[k];
		p->sample_no[slot[c->job[k]]] = v->job[c->job[k]].sample_no;
	}
	p->base = NAN;
	p->trying = p->settled = false;
	p->next = p->fails = 0;
}

/* Speeds of before the phase change compare with nothing: the move on trial stays. */
static void start_over(struct policy *p)
{
	p->settled = p->trying = false;
	p->fails = 0;
}

/*
 * Next pair that has a core to give; false: all pairs failed since the last success, or as many as
 * one decision may look at: the next goes on from there.
 */
static bool next_move(struct policy *p)
{
	struct shares *c = &p->shares;
	int pairs = c->n * (c->n - 1), looks = 0;

	if (!c->uniform)
		shares_mixed_fits(c, p->alloc);
	for (; p->fails < pairs && looks < LOOKS_MAX; p->fails++) {
		int at = p->next++ % pairs, from = at / (c->n - 1), to = at % (c->n - 1);
		int min = c->v->job[c->job[from]].min_cores;

		to += to >= from;
		if (p->alloc[from] <= (min > 1 ? min : 1))
			continue;
		looks++;
		if (!c->uniform && !shares_mixed_reach(c, to, p->reach) && !p->reach[from])
			continue;
		p->from = from;
		p->to = to;
		p->alloc[from]--;
		p->alloc[to]++;
		return true;
	}
	return false;
}

static void step(struct policy *p, const struct view *v, const int *slot)
{
	double now;

	if (p->settled || p->shares.n < 2 || !measure(p, v, slot, &now))
		return;
	if (p->trying) {
		p->trying = false;
		if (now > p->base + log1p(p->cfg.gain)) {
			p->base = now;
			p->fails = 0;
			p->next--; /* the same direction once more */
		} else {
			p->alloc[p->from]++;
			p->alloc[p->to]--;
			p->fails++;
		}
	} else {
		p->base = now;
	}
	p->trying = next_move(p);
	p->settled = !p->trying && p->fails >= p->shares.n * (p->shares.n - 1);
}

static int hillclimb_decide(struct policy *p, const struct view *v, const int *slot,
	struct plan *ret, struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);
	struct explain x;
	bool phase = false;
	uint64_t set;

	if (rc || c->n == 0)
		return rc;
	if (c->shared || (!c->uniform && !shares_mixed_sizes(c, p->domain_of))) {
		shares_equal(c, p->domain_of, ret);
		return 0;
	}
	for (int k = 0; k < c->n && !c->uniform; k++)
		c->size[k] = p->domain_of[k];
	for (int e = 0; e < v->n_events; e++)
		phase = phase || v->event[e].type == EVENT_PHASE;
	set = shares_set(c);
	if (set != p->set)
		restart(p, v, slot);
	else if (phase)
		start_over(p);
	if (set == p->set)
		step(p, v, slot);
	p->set = set;
	/* Envelopes may have changed under the same jobs. */
	if (!c->uniform && !shares_mixed_fits(c, p->alloc)) {
		restart(p, v, slot);
		shares_mixed_fits(c, p->alloc);
	}
	if (c->uniform)
		shares_deal_sizes(c, p->alloc, ret);
	else
		shares_mixed_give(c, ret);
	ret->score = isfinite(p->base) ? exp(p->base) : NAN;
	explain_open(&x, ret);
	explain_bool(&x, "settled", p->settled);
	explain_bool(&x, "trying", p->trying);
	explain_close(&x);
	for (int k = 0; k < c->n; k++)
		plan_why(ret, c->job[k], "%d cores%s", p->alloc[k],
			p->trying && (k == p->from || k == p->to) ? ", on trial" : "");
	return 0;
}

const struct policy_ops policy_hillclimb = {
	.name = "hillclimb",
	.summary = "moves one core at a time while the mean speed rises by 1 %",
	.options = "gain=0..1",
	.needs = SIGNAL_BIT(SIGNAL_INSTRUCTIONS),
	.on_node = true,
	.size = sizeof(struct policy),
	.create = hillclimb_create,
	.decide = hillclimb_decide,
};
