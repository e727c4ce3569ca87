/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto - takes the best of what the others propose, by a model of the jobs that it learns as they
 * run. auto.h has the design.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "nodesvc/engine/policies/auto.h"

#define LOOK_S           1.0   /* between two rankings where nothing happened */
#define WARMUP_S         0.075 /* lost by what is moved: 150 ms (SBMP, section 3.2) at half speed */
#define SETTLE_S         0.25
#define TRIAL_S          1.2  /* of one trial: three samples after it has settled */
#define TRIAL_PART       0.01 /* of the time */
#define TRIAL_FIRST_S    3.6  /* that may be had in advance */
#define TRIAL_AFTER_S    2.0  /* after a move: what runs is known first */
#define TRIAL_OPTIMISM   2.0
#define TRIAL_LOSS       0.03 /* no trial of what is worth less */
#define REVERSAL_S       60.0
#define DWELL_MAX_S      64.0
#define HORIZON_S        60.0 /* no gain is counted for longer */
#define BELOW            2    /* samples in a row under the floor */
#define BELOW_SLACK      0.05 /* ln: what a sample may be off */
#define BELOW_AFTER_S    1.5  /* of a phase */
#define BELOW_SEEN       5    /* samples ... */
#define BELOW_SEEN_SLACK 0.02 /* ... that may be off by that, all together */
#define TURNS_FROM       0.75 /* of the cores, as threads that are runnable on average ... */
#define TURNS_TO         0.55 /* ... until so few are */
#define WAITS_S          3.0  /* as long as it is seen whether threads leave their core to wait */
#define MEMORY_OFF       0.5  /* what is predicted of memory may be off by so much of it */

static const char *const deal_name[AUTO_DEALS] = {
	"runs", "fair", "lira", "dio", "exact", "search", "trial"};

static const struct option_spec options[] = {
	{"objective", OPTION_CHOICE, offsetof(struct auto_config, objective), 0, 0,
		"geomean|stp|antt|worst"},
	{"q", OPTION_DOUBLE, offsetof(struct auto_config, q), 0.01, 1, NULL},
	{"h", OPTION_DOUBLE, offsetof(struct auto_config, h), 0, 10, NULL},
	{"sure", OPTION_DOUBLE, offsetof(struct auto_config, sure), 0, 10, NULL},
	{"dwell_s", OPTION_DOUBLE, offsetof(struct auto_config, dwell_s), 0, DWELL_MAX_S, NULL},
	{"pair", OPTION_BOOL, offsetof(struct auto_config, pair), 0, 0, NULL},
	{"lend", OPTION_BOOL, offsetof(struct auto_config, lend), 0, 0, NULL},
	{"trials", OPTION_BOOL, offsetof(struct auto_config, trials), 0, 0, NULL},
	{"search", OPTION_BOOL, offsetof(struct auto_config, search), 0, 0, NULL},
	{"clusters", OPTION_INT, offsetof(struct auto_config, clusters), 0, PLAN_CLUSTERS_MAX,
		NULL},
	{0},
};

/* --- made of others ---------------------------------------------------------------------- */

static void init_scratch(struct plan *p, const struct policy_cfg *cfg)
{
	size_t n = (size_t)cfg->max_jobs;
	int *jobs = arena_alloc(cfg->memory, n * PLAN_SLICES_MAX, sizeof(int));

	p->job = arena_alloc(cfg->memory, n, sizeof(*p->job));
	for (int s = 0; s < PLAN_SLICES_MAX && jobs; s++)
		p->slice[s].job = jobs + (size_t)s * n;
	p->max_jobs = cfg->max_jobs;
}

static int auto_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	static const struct policy_ops *const other[] = {&policy_fair, &policy_lira, &policy_dio};
	size_t n = (size_t)cfg->max_jobs, deal = n * (size_t)cfg->topo->n_domains;
	int rc;

	p->cfg = (struct auto_config){.q = 0.85,
		.h = 0.01,
		.sure = 0.25,
		.dwell_s = 2,
		.pair = true,
		.lend = true,
		.clusters = 2,
		.search = true,
		.trials = true};
	p->trial_s = -1;
	p->began_s = p->shared_s = NAN;
	rc = option_read(cfg, "auto", options, &p->cfg, err);
	for (int i = AUTO_FAIR; i <= AUTO_DIO && !rc; i++)
		rc = auto_open_other(&p->other[i], other[i - AUTO_FAIR], cfg, err);
	if (!rc)
		rc = auto_open_other(&p->gang, &policy_gang, cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	shared_turns_init(&p->turns, cfg);
	foreground_init(&p->first, FOREGROUND_MS, FOREGROUND_BEHIND_MS, cfg);
	auto_model_init(&p->model, cfg);
	p->model.pairs = p->cfg.pair;
	auto_search_init(&p->search, &p->model, &p->shares, cfg);
	p->search.q = p->cfg.q;
	p->search.objective = (enum auto_objective)p->cfg.objective;
	allocate_init(&p->allocate, cfg->memory, cfg->max_jobs, cfg->topo->n_cores);
	auto_walls_init(p, cfg);
	init_scratch(&p->scratch, cfg);
	for (int i = 0; i < AUTO_DEALS; i++)
		p->deal[i].n = arena_alloc(cfg->memory, deal, sizeof(short));
	p->before = arena_alloc(cfg->memory, deal, sizeof(short));
	p->size = arena_alloc(cfg->memory, n, sizeof(int));
	p->fair_now = arena_alloc(cfg->memory, n, sizeof(*p->fair_now));
	p->fair_job = arena_alloc(cfg->memory, n, sizeof(*p->fair_job));
	p->heat = arena_alloc(cfg->memory, n, sizeof(double));
	p->borrowed = arena_alloc(cfg->memory, n, sizeof(double));
	p->inserts = arena_alloc(
		cfg->memory, (size_t)cfg->topo->n_domains * (AUTO_SIDES + 1), sizeof(double));
	p->idle = arena_alloc(cfg->memory, (size_t)cfg->topo->n_domains, sizeof(double));
	p->borrows = arena_alloc(cfg->memory, n, sizeof(*p->borrows));
	p->domains = arena_alloc(cfg->memory, (size_t)cfg->topo->n_domains, sizeof(int));
	p->takes = arena_alloc(cfg->memory, n, sizeof(*p->takes));
	p->dwell_s = p->cfg.dwell_s;
	p->looked_s = p->moved_s = -INFINITY;
	p->sample_s = NAN;
	p->why = "";
	return 0;
}

static void auto_forget(struct policy *p, int slot)
{
	for (int i = AUTO_FAIR; i <= AUTO_DIO; i++)
		if (p->other[i].ops->forget)
			p->other[i].ops->forget(p->other[i].state, slot);
	p->gang.ops->forget(p->gang.state, slot);
	foreground_forget(&p->first, slot);
	auto_model_forget(&p->model, slot, p->sample_s);
	clusters_forget(&p->walls.clusters, slot);
	p->borrowed[slot] = 0;
	coreset_zero(&p->fair_now[slot]);
}

/* --- what is seen ------------------------------------------------------------------------ */

/* The cluster of job @k that is set; AUTO_NO_SIDE: none. */
static int side_of(const struct policy *p, const int *slot, int k)
{
	return p->walls.on ? p->model.job[slot[p->shares.job[k]]].side : AUTO_NO_SIDE;
}

/* Traffic of each domain, of all and by clusters, and the most that was ever seen of it. */
static void read_loads(struct policy *p, const struct auto_deal *now, const int *slot)
{
	struct shares *c = &p->shares;

	for (int d = 0; d < c->n_domains; d++) {
		double *sum = p->inserts + (ptrdiff_t)d * (AUTO_SIDES + 1);
		double *capacity = &p->model.capacity[c->domain[d]];

		memset(sum, 0, (AUTO_SIDES + 1) * sizeof(*sum));
		for (int k = 0; k < c->n; k++) {
			double bytes = auto_traffic(&c->v->job[c->job[k]]);
			int side = side_of(p, slot, k);

			if (!isfinite(bytes) || !auto_cell(p, now, k)[d])
				continue;
			bytes = bytes * auto_cell(p, now, k)[d] / auto_size(p, now, k);
			sum[AUTO_NO_SIDE] += bytes;
			if (side != AUTO_NO_SIDE)
				sum[side] += bytes;
		}
		*capacity = fmax(*capacity, sum[AUTO_NO_SIDE]);
		p->search.latency[d] = auto_latency(sum[AUTO_NO_SIDE] / *capacity);
	}
}

/*
 * ln: of what is inserted into the caches of its domains, what job @k inserts; with clusters, the
 * same of its cluster's part. NAN unknown.
 */
static double held_by(const struct policy *p, const struct auto_deal *now, const int *slot, int k)
{
	const struct shares *c = &p->shares;
	double own = auto_traffic(&c->v->job[c->job[k]]), part = 0;
	int side = side_of(p, slot, k), size = auto_size(p, now, k);

	if (!(own > 0))
		return NAN;
	for (int d = 0; d < c->n_domains; d++) {
		double cores = auto_cell(p, now, k)[d] / (double)size;

		if (cores > 0)
			part += cores * cores * own / p->inserts[d * (AUTO_SIDES + 1) + side];
	}
	return log(side != AUTO_NO_SIDE ? part * p->walls.ways[side] : part);
}

/* Curves of before a phase that nothing else tells of are of no use. */
static void hear_phases(struct policy *p, const struct view *v, const int *slot)
{
	for (int e = 0; e < v->n_events; e++) {
		int i = v->event[e].type == EVENT_PHASE ? view_job_index(v, v->event[e].job) : -1;
		struct auto_phase *f;

		if (i < 0 || !p->model.job[slot[i]].known)
			continue;
		f = auto_phase_of(&p->model, slot[i]);
		if (!f->signed_ && !f->idle) {
			memset(f->seen, 0, sizeof(f->seen));
			f->fitted = -1;
		}
	}
}

/* What is seen now is of what runs. */
static bool is_settled(const struct policy *p, const struct view *v)
{
	return v->now_s - fmax(p->moved_s, p->walls.changed_s) > SETTLE_S + 1.5 * p->interval_s;
}

/* Nor has a loan of its cores begun or ended. */
static bool is_settled_there(const struct policy *p, const struct auto_job *j, double now_s)
{
	return now_s - j->lent_s > SETTLE_S + 1.5 * p->interval_s;
}

/* True: a job has changed phase. */
static bool look(struct policy *p, const struct view *v, const int *slot)
{
	struct shares *c = &p->shares;
	const struct auto_deal *now = &p->deal[AUTO_RUNS];
	bool settled, changed = false, fresh = false;

	auto_read_current(p, &p->deal[AUTO_RUNS]);
	if (now->there)
		read_loads(p, now, slot);
	for (int k = 0; k < c->n; k++)
		fresh |= p->model.job[slot[c->job[k]]].sample_no != v->job[c->job[k]].sample_no;
	if (fresh && isfinite(p->sample_s))
		p->interval_s = v->now_s - p->sample_s;
	settled = is_settled(p, v);
	for (int k = 0; k < c->n; k++) {
		int i = c->job[k], s = slot[i];
		struct auto_context x = {.held = NAN};

		if (now->there && !coreset_is_empty(&v->job[i].current))
			x = (struct auto_context){
				.cores = auto_size(p, now, k) + p->borrowed[s],
				.own = auto_size(p, now, k),
				.latency = auto_search_latency(&p->search, now->n, k),
				.beside = auto_search_beside(&p->search, now->n, k) ^
					  (p->model.job[s].lent ? AUTO_LENT : 0),
				.span = auto_search_span(&p->search, now->n, k),
				.held = p->walls.on && p->walls.ways[0] <= 0
						? NAN
						: held_by(p, now, slot, k),
				.settled =
					settled && is_settled_there(p, &p->model.job[s], v->now_s),
				.walled = p->walls.on,
			};
		changed |= auto_model_look(&p->model, &v->job[i], s, &x, v->now_s);
	}
	if (fresh || !isfinite(p->sample_s))
		p->sample_s = v->now_s;
	for (int k = 0; k < c->n; k++)
		auto_model_fit(&p->model, slot[c->job[k]]);
	return changed;
}

/* Has job @k other cores, or other company, than under fair? */
static bool is_unlike_fair(const struct policy *p, int k)
{
	const struct auto_deal *runs = &p->deal[AUTO_RUNS], *fair = &p->deal[AUTO_FAIR];

	return auto_size(p, runs, k) != auto_size(p, fair, k) ||
	       auto_search_beside(&p->search, runs->n, k) !=
		       auto_search_beside(&p->search, fair->n, k);
}

/* By two samples in a row; or by all that are of this company, which need not be as far off. */
static bool is_under(struct policy *p, int slot, int k)
{
	struct auto_job *j = &p->model.job[slot];
	const struct auto_phase *f = auto_phase_of(&p->model, slot);
	const struct auto_deal *runs = &p->deal[AUTO_RUNS];
	double live = auto_live_speed(&p->shares.v->job[p->shares.job[k]]);
	const struct auto_seen *o =
		auto_seen_own(f, auto_size(p, runs, k), auto_search_beside(&p->search, runs->n, k));

	/* What is gone in a second is seen too late, and as what it was before. */
	if (live <= 0 || j->deviating || f->idle ||
		p->shares.v->now_s - j->since_s < BELOW_AFTER_S) {
		j->below = 0;
		return false;
	}
	/* What was just moved has cold caches. */
	if (!is_settled(p, p->shares.v))
		j->below = 0;
	else
		j->below = log(live) < p->search.floor[k] - BELOW_SLACK ? j->below + 1 : 0;
	if (j->below >= BELOW)
		return true;
	return o && o->n >= BELOW_SEEN && !p->walls.on &&
	       o->speed - auto_search_span(&p->search, runs->n, k) <
		       p->search.floor[k] - BELOW_SEEN_SLACK;
}

/* A job that is seen below its floor, and need not be: it would not be so under fair. Of whom
 * others borrow, that ends first (auto_loans.c). */
static bool is_below(struct policy *p, const int *slot)
{
	const struct shares *c = &p->shares;
	bool any = false;

	for (int k = 0; k < c->n && p->deal[AUTO_RUNS].there; k++) {
		if (!is_under(p, slot[c->job[k]], k))
			continue;
		p->walls.hurts |= p->walls.on;
		any |= is_unlike_fair(p, k) && !p->model.job[slot[c->job[k]]].lent;
	}
	return any;
}

/* --- choosing ---------------------------------------------------------------------------- */

/* No job that is fixed has another number of cores than under what it is held against. */
static bool keeps_fixed(const struct policy *p, const struct auto_deal *d)
{
	for (int k = 0; k < p->shares.n; k++)
		if (p->search.fixed[k] &&
			auto_size(p, d, k) != auto_size(p, &p->deal[AUTO_FAIR], k) &&
			(!p->deal[AUTO_RUNS].there ||
				auto_size(p, d, k) != auto_size(p, &p->deal[AUTO_RUNS], k)))
			return false;
	return true;
}

/* Its own, or that of another of its program; of who is idle, that of any phase of it. */
static bool knows_speed(const struct policy *p, int slot)
{
	const struct auto_job *j = &p->model.job[slot];
	const struct auto_program *of = &p->model.program[j->program];

	for (int f = 0; f < AUTO_PHASES; f++)
		for (int i = 0; i < AUTO_SEEN && (f == j->phase || of->phase[j->phase].idle); i++)
			if (of->phase[f].seen[i].n > 0)
				return true;
	return j->has_speed;
}

/* What clusters add: of what runs, as was seen, if it is still they who run. */
static double with_walls(struct policy *p, const struct view *v, const int *slot, int which)
{
	if (which == AUTO_RUNS && p->walls.made && p->set == shares_set(&p->shares))
		return auto_walls_gain(p);
	return auto_walls_promise(p, v, slot, &p->deal[which]);
}

static void rank(struct policy *p, const struct view *v, const int *slot)
{
	struct shares *c = &p->shares;
	int best = AUTO_FAIR; /* it is always there */

	for (int k = 0; k < c->n; k++) {
		int s = slot[c->job[k]];

		/* What a user asked for is there at once. */
		p->search.fixed[k] =
			!knows_speed(p, s) || v->job[c->job[k]].cores > 0 ||
			(auto_phase_of(&p->model, s)->idle && v->job[c->job[k]].qos > 0);
	}
	p->search.steps = 0;
	auto_search_base(&p->search, p->deal[AUTO_FAIR].n);
	auto_ask_other(p, AUTO_LIRA, slot);
	auto_ask_other(p, AUTO_DIO, slot);
	auto_allocate(p, slot);
	for (int i = 0; i < AUTO_BEST; i++) {
		struct auto_deal *d = &p->deal[i];

		d->worth = d->there && keeps_fixed(p, d) ? auto_search_worth(&p->search, d->n)
							 : -INFINITY;
	}
	for (int i = 0; i < AUTO_BEST; i++)
		if (p->deal[i].worth > p->deal[best].worth)
			best = i;
	auto_clear_deal(p, &p->deal[AUTO_BEST]);
	if (!p->cfg.search)
		return;
	memcpy(p->deal[AUTO_BEST].n, p->deal[best].n,
		(size_t)c->n * (size_t)c->n_domains * sizeof(short));
	p->deal[AUTO_BEST].worth = p->deal[best].worth;
	p->deal[AUTO_BEST].there = true;
	auto_search_improve(&p->search, &p->deal[AUTO_BEST]);
}

/* What clusters of the cache are, or would be, worth counts, too. */
static void add_walls(struct policy *p, const struct view *v, const int *slot)
{
	for (int i = 0; i < AUTO_TRIAL; i++)
		if (p->deal[i].there && p->deal[i].worth > -INFINITY)
			p->deal[i].worth += with_walls(p, v, slot, i);
}

/* Cores that a job would get which it has not, over those it would have. */
static double moved_part(
	const struct policy *p, const struct auto_deal *from, const struct auto_deal *to, int k)
{
	double fresh = 0;

	if (!from->there || coreset_is_empty(shares_current(&p->shares, k)))
		return 0;
	for (int e = 0; e < p->shares.n_domains; e++)
		fresh += fmax(0, auto_cell(p, to, k)[e] - auto_cell(p, from, k)[e]);
	return fresh / auto_size(p, to, k);
}

/* How long the phase of a job goes on. */
static double left_s(const struct policy *p, const int *slot, int k)
{
	const struct view_job *j = &p->shares.v->job[p->shares.job[k]];
	int s = slot[p->shares.job[k]];
	double mean = auto_phase_of(&p->model, s)->mean_s;
	double lasted = p->shares.v->now_s - p->model.job[s].since_s, left;

	left = mean > 0 ? fmax(mean - lasted, 0.25 * mean) : fmax(lasted, 2);
	if (j->signal[SIGNAL_TIME_LEFT].provenance != PROVENANCE_NONE)
		left = fmin(left, j->signal[SIGNAL_TIME_LEFT].value);
	return fmin(left, HORIZON_S);
}

/* What job @k loses when it computes again: it does so on few cores until that is seen, and others'
 * have to go. */
static double return_s(const struct policy *p, int slot, int k, int to)
{
	double part = (double)auto_size(p, &p->deal[to], k) / auto_size(p, &p->deal[AUTO_FAIR], k);

	if (!auto_phase_of(&p->model, slot)->idle || part >= 1)
		return 0;
	return (1 - part) * (1.5 * p->interval_s + 2 * WARMUP_S);
}

/* Gain of @to over @from: sd, cost and for how long. */
static void weigh_move(struct policy *p, const int *slot, int from, int to)
{
	struct shares *c = &p->shares;
	double variance = 0, left = 0, parts = 0, back = 0, awake = INFINITY;
	int moved = 0;

	auto_search_worth(&p->search, p->deal[from].n);
	memcpy(p->heat, p->search.speed, (size_t)c->n * sizeof(double));
	auto_search_worth(&p->search, p->deal[to].n);
	for (int k = 0; k < c->n; k++) {
		int s = slot[c->job[k]], a = auto_size(p, &p->deal[from], k);
		int b = auto_size(p, &p->deal[to], k);
		const float *curve = p->model.curve + (size_t)s * (size_t)p->model.stride;
		double memory =
			MEMORY_OFF * (p->search.speed[k] - p->heat[k] - curve[b] + curve[a]);
		double part = moved_part(p, &p->deal[AUTO_RUNS], &p->deal[to], k);

		variance += memory * memory + (a != b ? auto_spread(&p->model, s, a, b) : 0);
		parts += part;
		back += return_s(p, s, k, to);
		if (return_s(p, s, k, to) > 0)
			awake = fmin(awake, left_s(p, slot, k));
		if (part > 0 || a != b) {
			left += left_s(p, slot, k);
			moved++;
		}
	}
	p->gain = p->deal[to].worth - p->deal[from].worth;
	p->moved = moved && p->search.objective != AUTO_WORST ? moved : c->n;
	p->sd = sqrt(variance) / c->n;
	p->cost = (WARMUP_S * parts + back) / c->n;
	p->horizon_s = fmin(awake, moved ? fmax(1, left / moved) : HORIZON_S);
}

/* After a trial: what ran before it, unless what was tried is better. */
static bool ends_back(struct policy *p, const int *slot)
{
	struct shares *c = &p->shares;
	struct auto_deal *d = &p->deal[AUTO_TRIAL];

	auto_clear_deal(p, d);
	for (int k = 0; k < c->n; k++)
		memcpy(auto_cell(p, d, k),
			p->before + (size_t)slot[c->job[k]] * (size_t)c->t->n_domains,
			(size_t)c->n_domains * sizeof(short));
	d->worth = auto_search_worth(&p->search, d->n);
	d->there = d->worth > -INFINITY;
	if (d->there)
		d->worth += auto_walls_promise(p, p->shares.v, slot, d);
	return d->there && d->worth >= p->deal[AUTO_RUNS].worth;
}

/* Something to learn, as long as that takes less than 1 % of the time. */
static bool begin_trial(struct policy *p, const struct view *v, const int *slot)
{
	const struct auto_deal *now = &p->deal[AUTO_RUNS];
	struct auto_try t = {.optimism = TRIAL_OPTIMISM,
		.least = p->cfg.h,
		.most_loss = TRIAL_LOSS,
		.lasts_s = TRIAL_S,
		.move_s = WARMUP_S};
	double left = 0;

	if (!p->cfg.trials || !now->there || v->now_s - p->moved_s < TRIAL_AFTER_S ||
		p->tried_s + TRIAL_S > TRIAL_FIRST_S + TRIAL_PART * (v->now_s - p->began_s))
		return false;
	for (int k = 0; k < p->shares.n; k++)
		left += left_s(p, slot, k) / p->shares.n;
	t.horizon_s = left;
	if (!auto_search_trial(&p->search, now, &t, &p->deal[AUTO_TRIAL]))
		return false;
	p->tried_s += TRIAL_S;
	p->trial_s = v->now_s + TRIAL_S;
	p->chosen = AUTO_TRIAL;
	p->why = "a trial: it may be better than it is known to be";
	return true;
}

/* Somebody computes again whose cores others have. */
static bool has_woken(const struct policy *p, const int *slot)
{
	for (int k = 0; k < p->shares.n && p->deal[AUTO_RUNS].there; k++)
		if (p->model.job[slot[p->shares.job[k]]].woke &&
			auto_size(p, &p->deal[AUTO_RUNS], k) < auto_size(p, &p->deal[AUTO_FAIR], k))
			return true;
	return false;
}

/* Sets chosen and why. */
static void choose(struct policy *p, const struct view *v, const int *slot, bool again, bool tried)
{
	int best = AUTO_FAIR, from = p->deal[AUTO_RUNS].worth > -INFINITY ? AUTO_RUNS : AUTO_FAIR;

	if (tried && from == AUTO_RUNS && ends_back(p, slot))
		from = AUTO_TRIAL;

	for (int i = 0; i < AUTO_TRIAL; i++)
		if (p->deal[i].there && p->deal[i].worth > p->deal[best].worth + 1e-9)
			best = i;
	p->chosen = from;
	p->gain = p->sd = p->cost = p->horizon_s = 0;
	if (best == from) {
		p->why = "nothing is better";
		return;
	}
	weigh_move(p, slot, from, best);
	/* Of a mean: what others have of it is the same however many they are. */
	if (p->gain * p->shares.n <= p->cfg.h * p->moved)
		p->why = "nothing is enough better";
	else if ((p->gain - p->cfg.sure * p->sd) * p->horizon_s <= p->cost)
		p->why = "the gain is not sure to pay for the move";
	else if (!again && v->now_s - p->moved_s < p->dwell_s)
		p->why = "too soon after the last move";
	else {
		p->why = "its gain pays for the move";
		p->chosen = best;
	}
}

/* What ran becomes what ran before; who goes back on the last move waits longer, unless phases
 * changed. */
static void note_move(struct policy *p, const struct view *v, const int *slot, bool changed)
{
	struct shares *c = &p->shares;
	const struct auto_deal *now = &p->deal[AUTO_RUNS], *next = &p->deal[p->chosen];
	bool any = false, back = true;

	for (int k = 0; k < c->n && now->there; k++) {
		short *before = p->before + (size_t)slot[c->job[k]] * (size_t)c->t->n_domains;
		size_t size = (size_t)c->n_domains * sizeof(short);

		any |= memcmp(auto_cell(p, now, k), auto_cell(p, next, k), size) != 0;
		back &= memcmp(before, auto_cell(p, next, k), size) == 0;
	}
	if (!any)
		return;
	for (int k = 0; k < c->n; k++)
		memcpy(p->before + (size_t)slot[c->job[k]] * (size_t)c->t->n_domains,
			auto_cell(p, now, k), (size_t)c->n_domains * sizeof(short));
	if (v->now_s - p->moved_s > REVERSAL_S)
		p->dwell_s = p->cfg.dwell_s;
	else if (back && !changed)
		p->dwell_s = fmin(DWELL_MAX_S, 2 * p->dwell_s);
	p->moved_s = v->now_s;
}

/* --- telling ----------------------------------------------------------------------------- */

/* As it was seen under just that dealing; NAN: not of every job. */
static double measured(const struct policy *p, const struct auto_deal *d, const int *slot)
{
	double sum = 0;

	for (int k = 0; k < p->shares.n; k++) {
		const struct auto_phase *f = auto_phase_of(&p->model, slot[p->shares.job[k]]);
		const struct auto_seen *o = auto_seen_find(
			f, auto_size(p, d, k), auto_search_beside(&p->search, d->n, k));

		if (f->idle)
			continue;
		if (!o || o->n < 4)
			return NAN;
		sum += o->speed - auto_search_span(&p->search, d->n, k) - p->search.fair[k];
	}
	return exp(sum / p->shares.n);
}

static void explain(struct policy *p, const int *slot, struct plan *ret)
{
	struct explain x;

	explain_open(&x, ret);
	if (!x.plan)
		return;
	explain_text(&x, "chosen", deal_name[p->chosen]);
	explain_text(&x, "why", p->why);
	explain_object(&x, "proposals");
	for (int i = 0; i < AUTO_DEALS; i++) {
		if (!p->deal[i].there)
			continue;
		explain_object(&x, deal_name[i]);
		explain_number(&x, "predicted", exp(p->deal[i].worth));
		explain_number(&x, "measured", measured(p, &p->deal[i], slot));
		explain_end(&x);
	}
	explain_end(&x);
	explain_number(&x, "gain", p->gain);
	explain_number(&x, "deviation", p->sd);
	explain_number(&x, "lasts_s", p->horizon_s);
	explain_number(&x, "cost_s", p->cost);
	if (ret->clusters_asked) {
		explain_object(&x, "clusters");
		explain_number(&x, "set", ret->n_clusters);
		explain_number(&x, "gain", p->walls.gain);
		explain_number(&x, "deviation", p->walls.sd);
		explain_text(&x, "why", p->walls.why);
		explain_end(&x);
	}
	explain_close(&x);
}

static void say_why(struct policy *p, const int *slot, struct plan *ret)
{
	struct shares *c = &p->shares;

	if (!ret->want_explain)
		return;
	auto_search_worth(&p->search, p->deal[p->chosen].n);
	for (int k = 0; k < c->n; k++) {
		int s = slot[c->job[k]], cores = auto_size(p, &p->deal[p->chosen], k);

		if (!knows_speed(p, s))
			plan_why(ret, c->job[k], "%d core%s; its speed is not known: a fair share",
				cores, cores == 1 ? "" : "s");
		else
			plan_why(ret, c->job[k],
				"%d core%s (fair %d), predicted %.2f of its speed under fair; "
				"%s%s: %s",
				cores, cores == 1 ? "" : "s", auto_size(p, &p->deal[AUTO_FAIR], k),
				exp(p->search.speed[k] - p->search.fair[k]),
				p->chosen == AUTO_RUNS ? "stays" : "by ",
				p->chosen == AUTO_RUNS ? "" : deal_name[p->chosen], p->why);
	}
}

/* --- the decision ------------------------------------------------------------------------ */

/* Jobs that outnumber cores, if each has something for all of them to do. One that began on few has
 * not: in a turn of the whole node the others' cores would idle. The last ones go on so when they
 * do not outnumber them any more, for their threads are as many as before. */
static bool takes_turns(const struct shares *c, bool now)
{
	double least = (now ? TURNS_TO : TURNS_FROM) * c->total;

	if ((!c->shared && !now) || !c->uniform || c->n < 2 || c->n > PLAN_SLICES_MAX)
		return false;
	for (int k = 0; k < c->n; k++) {
		const struct view_job *j = &c->v->job[c->job[k]];

		if (j->threads < c->total || c->total < 2 || j->nodes > 1 ||
			view_job_wants(j) < least)
			return false;
	}
	return true;
}

/* As many to run as processes: no others beside them, who might spin. */
static bool is_all_yielding(const struct view_job *j)
{
	return j->yielding > 1 && j->polling == 0 && view_job_wants(j) < j->yielding + 0.5;
}

/* How each waits, where it shows: not in turns of the whole node, where no core is wanted by two.
 */
static void watch_waits(struct policy *p, const int *slot)
{
	const struct shares *c = &p->shares;

	if (!c->shared || isnan(p->shared_s))
		p->shared_s = c->shared ? c->v->now_s : NAN;
	for (int k = 0; k < c->n && c->shared; k++) {
		const struct auto_job *j = &p->model.job[slot[c->job[k]]];
		const struct view_job *v = &c->v->job[c->job[k]];
		struct auto_program *of = &p->model.program[j->program];
		bool seen = c->v->now_s - fmax(j->met_s, p->shared_s) >= WAITS_S;

		/* What is known of its calls stays also when it is frozen and has no speed. */
		if (v->coupled || (seen && j->has_speed && is_all_yielding(v)))
			of->waits = AUTO_WAITS_LEAVING;
		else if (of->waits != AUTO_WAITS_LEAVING && seen && j->has_speed)
			of->waits = AUTO_WAITS_KEEPING;
		else if (of->waits == AUTO_WAITS_UNKNOWN && seen)
			of->waits = AUTO_WAITS_NOT;
	}
}

/* So many of the jobs wait like that. */
static int count_waits(const struct policy *p, const int *slot, int how)
{
	const struct shares *c = &p->shares;
	int n = 0;

	for (int k = 0; k < c->n; k++)
		n += (int)p->model.program[p->model.job[slot[c->job[k]]].program].waits == how;
	return n;
}

/* Longer slices for those only gang has. */
static bool any_priority(const struct shares *c)
{
	for (int k = 0; k < c->n; k++)
		if (c->v->job[c->job[k]].priority_high)
			return true;
	return false;
}

/* Whether, and where: see auto.h. */
static void choose_turns(struct policy *p, const int *slot)
{
	const struct shares *c = &p->shares;

	watch_waits(p, slot);
	p->turning = takes_turns(c, p->turning) &&
		     (foreground_has_none(c) || count_waits(p, slot, AUTO_WAITS_UNKNOWN) == 0);
	p->in_place = p->turning && count_waits(p, slot, AUTO_WAITS_KEEPING) == 0 &&
		      !any_priority(c) && !foreground_has_none(c);
	/* The last ones have cores of their own. */
	if (p->in_place && !c->shared)
		p->turning = p->in_place = false;
}

/* Who shares cores, by the plan that fair made, takes turns there; false: nobody goes first, so
 * that turns gain nothing but what fair has them for, or polling jobs have them. */
static bool turn_in_place(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	int first, behind;

	if (ret->n_slices > 0)
		return false;
	ret->all_turn = true;
	shared_turns_plan(&p->turns, p->shares.t, v, ret);
	first = foreground_take(&p->first, &p->shares, slot, p->shares.total, ret, &behind);
	if (first >= 0)
		foreground_say(&p->first, ret, first, p->shares.total, "its cores", "them");
	return first >= 0;
}

static int ask(const struct auto_other *o, const struct policy *p, const struct view *v,
	const int *slot, struct plan *ret, struct errbuf *err)
{
	int rc = plan_reset(ret, v, p->shares.t, err);

	return rc ? rc : o->ops->decide(o->state, v, slot, ret, err);
}

/* What there is no model for. */
static int by_rule(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	bool turns = p->turning && !p->in_place, first = false;
	const struct auto_other *o = turns ? &p->gang : &p->other[AUTO_FAIR];
	struct explain x;
	int rc;

	for (int k = 0; k < p->shares.n; k++)
		p->model.job[slot[p->shares.job[k]]].lent = false;
	auto_walls_drop(p, v);
	rc = ask(o, p, v, slot, ret, err);
	if (!rc && p->in_place) {
		first = turn_in_place(p, v, slot, ret);
		if (!first)
			rc = ask(o, p, v, slot, ret, err);
	}
	if (rc)
		return rc;
	explain_open(&x, ret);
	explain_text(&x, "chosen", o->ops->name);
	explain_text(&x, "why",
		turns   ? "jobs that outnumber cores, or did, each with threads for all of them"
		: first ? "jobs that outnumber cores, each with threads for all of them: "
			  "who came first goes first"
			: "nothing to choose by: equal parts");
	explain_close(&x);
	return 0;
}

static int auto_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);
	bool changed, below, tried, woke;
	uint64_t set;

	if (rc || c->n == 0)
		return rc;
	for (int k = 0; k < c->n; k++)
		auto_model_meet(&p->model, &v->job[c->job[k]], slot[c->job[k]], v->now_s);
	hear_phases(p, v, slot);
	foreground_account(&p->first, v, slot);
	choose_turns(p, slot);
	if (c->n == 1 || c->shared || !c->uniform || c->n_pieces || p->turning)
		return by_rule(p, v, slot, ret, err);
	p->search.slot = slot;
	changed = look(p, v, slot);
	auto_ask_fair(p, slot);
	if (!p->deal[AUTO_FAIR].there)
		return by_rule(p, v, slot, ret, err);
	if (isnan(p->began_s))
		p->began_s = v->now_s;
	set = shares_set(c);
	woke = has_woken(p, slot);
	/* Whoever is below it in a trial was expected to be, and is not for long. */
	below = set == p->set && p->trial_s < 0 && is_below(p, slot);
	tried = p->trial_s >= 0 && v->now_s >= p->trial_s - 1e-6;
	if (set != p->set || changed || below || tried || !p->deal[AUTO_RUNS].there ||
		(p->trial_s < 0 && v->now_s - p->looked_s >= LOOK_S)) {
		rank(p, v, slot);
		add_walls(p, v, slot);
		choose(p, v, slot, set != p->set || p->trial_s >= 0 || below || woke,
			p->trial_s >= 0 && set == p->set);
		p->deal[AUTO_TRIAL].there = false;
		p->trial_s = -1;
		if (below) {
			/* What is known of it by now may show something better than that. */
			if (p->chosen == AUTO_RUNS)
				p->chosen = AUTO_FAIR;
			p->why = "a job is below its floor";
			ret->urgent = true;
		} else if (p->chosen == AUTO_RUNS && set == p->set && !tried) {
			begin_trial(p, v, slot);
		}
		p->looked_s = v->now_s;
	} else {
		p->chosen = AUTO_RUNS;
	}
	p->set = set;
	auto_deal_out(p, &p->deal[p->chosen], ret);
	note_move(p, v, slot, changed);
	ret->score = exp(p->deal[p->chosen].worth);
	auto_lend(p, v, slot, ret);
	auto_walls_decide(p, v, slot, ret);
	explain(p, slot, ret);
	say_why(p, slot, ret);
	return 0;
}

const struct policy_ops policy_auto = {
	.name = "auto",
	.summary = "the best of what the others propose, by a model it learns; never below a floor",
	.options = "objective=geomean|stp|antt|worst q=0..1 h=RATIO sure=N dwell_s=N "
		   "pair=yes|no lend=yes|no search=yes|no trials=yes|no clusters=0..4",
	.on_node = true,
	.deals_threads = true,
	.size = sizeof(struct policy),
	.create = auto_create,
	.decide = auto_decide,
	.forget = auto_forget,
};
