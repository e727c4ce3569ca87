/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper - starts at the fair share, finds out how many cores a job can spare while it keeps q of
 * its fair-share speed, and moves spare cores from the least to the most efficient job. Who falls
 * below q gets its cores back at once.
 *
 * Source: Srikanthan, Ferro, Chakraborti, Dwarkadas: MAPPER, PPoPP 2019 poster, and its article in
 * TACO 2022; what the poster leaves open is resolved in doc/policies.md.
 */
#include <math.h>
#include <stddef.h>

#include "nodesvc/engine/internal.h"

#define FAIR_MS       1000 /* speed at the fair share (section 2) */
#define EXPLORE_MS    700  /* 0.5 s after 0.2 s to settle; ours */
#define EXPLORE_STEP  0.25 /* of the cores, in pairs; ours */
#define EXPLORE_JOB_S 30   /* at most once per job; ours */
#define EXPLORE_S     70   /* at most 1 % of the time; ours */
#define LIMITED_BELOW 0.80 /* utilisation that tells of limited scalability; ours */
#define GUARD_SAMPLES 2
#define GAIN          1e-9

struct config {
	double q;
};

static const struct option_spec options[] = {
	{"q", OPTION_DOUBLE, offsetof(struct config, q), 0.01, 1, NULL},
	{0},
};

struct job_state {
	bool known;
	struct curve curve;
	int fair;            /* cores of the fair share */
	int infeasible;      /* most cores at which q was missed; 0 none */
	bool keeps;          /* missed q: donates no more in this phase */
	double live_at_fair; /* live speed at the fair share; 0 unknown */
	int below;           /* live samples in a row under q */
	uint64_t sample_no;
	double explored_s; /* when last; < 0 never */
	bool down_done;    /* a step down lost speed */
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct job_state *state; /* [max_jobs] by slot */
	int *alloc, *n_min, *spare, *domain_of;
	double *efficiency, *heat;
	bool *full;  /* [max_jobs] can have no more, or would not be faster */
	bool *reach; /* [max_jobs] whose cores a job could have */
	double explored_s;
	uint64_t set;
};

static int mapper_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	p->cfg.q = 0.85; /* section 3 */
	p->explored_s = -1;
	rc = option_read(cfg, "mapper", options, &p->cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	p->state = arena_alloc(cfg->memory, n, sizeof(*p->state));
	p->alloc = arena_alloc(cfg->memory, n, sizeof(int));
	p->n_min = arena_alloc(cfg->memory, n, sizeof(int));
	p->spare = arena_alloc(cfg->memory, n, sizeof(int));
	p->domain_of = arena_alloc(cfg->memory, n, sizeof(int));
	p->efficiency = arena_alloc(cfg->memory, n, sizeof(double));
	p->full = arena_alloc(cfg->memory, n, sizeof(bool));
	p->reach = arena_alloc(cfg->memory, n, sizeof(bool));
	p->heat = arena_alloc(cfg->memory, n, sizeof(double));
	return 0;
}

static double q_of(const struct policy *p, const struct view_job *j)
{
	return j->qos > 0 ? j->qos : p->cfg.q;
}

/* C/N for each; what is left over to the latest (the papers' order, unlike fair). */
static void set_fair(struct policy *p, const int *slot, bool rebase)
{
	const struct shares *c = &p->shares;
	int base = c->total / c->n, rest = c->total % c->n;
	bool wishes = false;

	for (int k = 0; k < c->n; k++)
		wishes = wishes || !c->uniform || c->v->job[c->job[k]].min_cores > 1;
	for (int k = 0; k < c->n; k++) {
		struct job_state *s = &p->state[slot[c->job[k]]];
		int fair = wishes ? c->size[k] : base + (k >= c->n - rest);

		if (rebase || s->fair != fair) {
			s->fair = fair;
			s->infeasible = 0;
			s->keeps = false;
			s->live_at_fair = 0;
			s->below = 0;
		}
	}
}

static double live_speed(const struct view_job *j)
{
	if (j->signal[SIGNAL_PROGRESS].provenance != PROVENANCE_NONE)
		return j->signal[SIGNAL_PROGRESS].value;
	return j->signal[SIGNAL_INSTRUCTIONS].provenance != PROVENANCE_NONE
		       ? j->signal[SIGNAL_INSTRUCTIONS].value
		       : 0;
}

static void miss(struct job_state *s, int cores)
{
	s->infeasible = cores > s->infeasible ? cores : s->infeasible;
	s->keeps = true;
	s->below = 0;
}

/* The job runs on fewer cores than fair and is slower than q: its cores go back. */
static void guard(struct policy *p, const struct view_job *j, struct job_state *s)
{
	int cores = topo_count_cores(p->shares.t, &j->current);
	double live = live_speed(j), at_fair = curve_at(&s->curve, s->fair);

	if (cores == 0 || s->fair == 0)
		return;
	/* A measured point is believed at once, live samples after two. */
	if (cores < s->fair && curve_has(&s->curve, cores) && !s->keeps &&
		curve_at(&s->curve, cores) < q_of(p, j) * at_fair)
		miss(s, cores);
	if (!(live > 0) || s->sample_no == j->sample_no)
		return;
	if (cores == s->fair)
		s->live_at_fair = live;
	/* Published progress is in the curve's unit; it serves where fair was never measured live.
	 */
	if (s->live_at_fair > 0)
		at_fair = s->live_at_fair;
	else if (j->signal[SIGNAL_PROGRESS].provenance == PROVENANCE_NONE)
		return;
	if (cores < s->fair && at_fair > 0 && live < q_of(p, j) * at_fair) {
		if (++s->below >= GUARD_SAMPLES)
			miss(s, cores);
	} else {
		s->below = 0;
	}
}

static void observe(struct policy *p, const struct view *v, const int *slot)
{
	for (int i = 0; i < v->n_jobs; i++) {
		struct job_state *s = &p->state[slot[i]];

		if (!s->known)
			*s = (struct job_state){.known = true, .explored_s = -1};
		for (int k = 0; k < v->job[i].n_speed; k++)
			curve_set(&s->curve, v->job[i].speed[k].cores, v->job[i].speed[k].speed);
	}
	for (int e = 0; e < v->n_events; e++) {
		const struct event *ev = &v->event[e];
		int i = view_job_index(v, ev->job);
		struct job_state *s;

		if (i < 0)
			continue;
		s = &p->state[slot[i]];
		if (ev->type == EVENT_EXPERIMENT_RESULT && ev->cores > 0 &&
			speed_is_sane(ev->speed)) {
			if (ev->cores < s->fair && ev->speed < curve_at(&s->curve, s->fair))
				s->down_done = true;
			curve_set(&s->curve, ev->cores, ev->speed);
		} else if (ev->type == EVENT_PHASE) {
			/* What was measured belongs to the phase that is over. */
			s->curve.n = 0;
			s->infeasible = 0;
			s->keeps = s->down_done = false;
			s->live_at_fair = 0;
		}
	}
	for (int i = 0; i < v->n_jobs; i++) {
		struct job_state *s = &p->state[slot[i]];

		guard(p, &v->job[i], s);
		s->sample_no = v->job[i].sample_no;
	}
}

/* @n more of the usable cores that touch @from and that @x has not yet; returns how many lack. */
static int add_cores(
	const struct policy *p, int k, const struct coreset *from, int n, struct plan_experiment *x)
{
	const struct shares *c = &p->shares;

	for (int i = 0; i < c->total && n > 0; i++) {
		struct coreset pus;

		coreset_and(&pus, &c->t->core[c->core[i]].pus, c->envelope[k]);
		if (!coreset_intersects(&pus, from) || coreset_intersects(&pus, &x->coreset))
			continue;
		coreset_or(&x->coreset, &x->coreset, &pus);
		n--;
	}
	return n;
}

/*
 * On the cores that the plan gives the job, as far as they go: the fair speed is measured where the
 * job runs, and nobody makes room. Every job in turn on the same cores would keep their owner from
 * running all the while, a second for each job of the node.
 */
static void ask(struct policy *p, int k, int cores, int ms, struct plan *ret)
{
	struct plan_experiment *x;
	int job = p->shares.job[k];

	if (ret->n_experiments == PLAN_EXPERIMENTS_MAX)
		return;
	x = &ret->experiment[ret->n_experiments];
	*x = (struct plan_experiment){.job = job, .cores = cores, .ms = ms};
	cores = add_cores(p, k, &ret->job[job].coreset, cores, x);
	if (add_cores(p, k, p->shares.envelope[k], cores, x) == 0)
		ret->n_experiments++;
}

/* One rare disturbance (section 2): fewer cores, for a job that seems not to scale. */
static void explore(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;

	if (p->explored_s >= 0 && v->now_s - p->explored_s < EXPLORE_S)
		return;
	for (int k = 0; k < c->n; k++) {
		struct job_state *s = &p->state[slot[c->job[k]]];
		const struct signal *u = &v->job[c->job[k]].signal[SIGNAL_UTILIZATION];
		int step = (int)(EXPLORE_STEP * s->fair / 2 + 0.5) * 2;
		int cores = s->fair - (step > 0 ? step : 1);

		while (cores >= 1 && curve_has(&s->curve, cores))
			cores -= step > 0 ? step : 1;
		if (cores < 1 || s->down_done || s->keeps || u->provenance == PROVENANCE_NONE ||
			u->value >= LIMITED_BELOW ||
			(s->explored_s >= 0 && v->now_s - s->explored_s < EXPLORE_JOB_S))
			continue;
		ask(p, k, cores, EXPLORE_MS, ret);
		s->explored_s = p->explored_s = v->now_s;
		return;
	}
}

/* Fewest cores with q of the fair speed; peak and efficiency at what it has. */
static void judge(struct policy *p, int k, const struct job_state *s)
{
	const struct shares *c = &p->shares;
	const struct view_job *j = &c->v->job[c->job[k]];
	double fair = curve_at(&s->curve, s->fair), one = curve_at(&s->curve, 1);
	int floor_cores = j->min_cores > 1 ? j->min_cores : 1;
	int n = floor_cores, peak = s->fair;

	p->alloc[k] = s->fair;
	p->n_min[k] = s->fair;
	p->efficiency[k] = NAN;
	if (!curve_covers(&s->curve, s->fair) || !(fair > 0))
		return;
	p->efficiency[k] = fair / one / s->fair;
	if (!s->keeps) {
		while (n < s->fair &&
			(curve_at(&s->curve, n) < q_of(p, j) * fair - GAIN || n <= s->infeasible))
			n++;
		p->n_min[k] = n;
		/* A peak below the fair share: the rest only stalls it. */
		for (int i = 0; i < s->curve.n; i++)
			if (s->curve.point[i].cores < s->fair &&
				s->curve.point[i].cores >= floor_cores &&
				s->curve.point[i].speed > curve_at(&s->curve, peak) * (1 + GAIN))
				peak = s->curve.point[i].cores;
		p->alloc[k] = peak;
		if (p->n_min[k] > peak)
			p->n_min[k] = peak;
	}
}

/* Would one core more make it faster? */
static bool gains(const struct policy *p, int k, const struct job_state *s)
{
	if (p->alloc[k] >= p->shares.total || s->curve.n == 0)
		return false;
	return curve_at(&s->curve, p->alloc[k] + 1) > curve_at(&s->curve, p->alloc[k]) * (1 + GAIN);
}

/* The most efficient job that can have more and gains; -1 none. */
static int pick_gainer(const struct policy *p)
{
	int to = -1;

	for (int k = 0; k < p->shares.n; k++)
		if (!p->full[k] && (to < 0 || p->efficiency[k] > p->efficiency[to]))
			to = k;
	return to;
}

/* The least efficient job that can spare a core for @to, of those @reach has (NULL all); -1 none.
 */
static int pick_giver(const struct policy *p, int to, const bool *reach)
{
	int from = -1;

	for (int k = 0; k < p->shares.n; k++)
		if (p->alloc[k] > p->n_min[k] && p->efficiency[k] < p->efficiency[to] &&
			(!reach || reach[k]) &&
			(from < 0 || p->efficiency[k] < p->efficiency[from]))
			from = k;
	return from;
}

/*
 * Spare cores, and those nobody has (@unowned), to the most efficient who gains, from the least;
 * where not every core is everybody's, from the next best with whom it can exchange. Each core
 * moves once: whoever is served has as much as it can, and gives to nobody who is served later.
 */
static void move_spare(struct policy *p, const int *slot, int unowned)
{
	struct shares *c = &p->shares;
	int to;

	for (int k = 0; k < c->n; k++)
		p->full[k] =
			!isfinite(p->efficiency[k]) || !gains(p, k, &p->state[slot[c->job[k]]]);
	if (!c->uniform)
		shares_mixed_fits(c, p->alloc);
	while ((to = pick_gainer(p)) >= 0) {
		bool room = c->uniform ? unowned > 0 : shares_mixed_reach(c, to, p->reach);
		int from = room ? -1 : pick_giver(p, to, c->uniform ? NULL : p->reach);

		p->full[to] = !room && from < 0;
		if (p->full[to])
			continue;
		unowned--;
		if (!c->uniform && room)
			shares_mixed_grow(c, to);
		else if (!c->uniform)
			shares_mixed_exchange(c, from, to);
		if (from >= 0)
			p->alloc[from]--;
		p->alloc[to]++;
		p->full[to] = !gains(p, to, &p->state[slot[c->job[to]]]);
	}
}

static void explain(const struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;
	struct explain x;

	explain_open(&x, ret);
	explain_object(&x, "n_min");
	for (int k = 0; k < c->n; k++)
		explain_number(&x, v->job[c->job[k]].id, p->n_min[k]);
	explain_end(&x);
	explain_object(&x, "spare");
	for (int k = 0; k < c->n; k++)
		explain_number(&x, v->job[c->job[k]].id, p->spare[k]);
	explain_end(&x);
	explain_object(&x, "efficiency");
	for (int k = 0; k < c->n; k++)
		explain_number(&x, v->job[c->job[k]].id, p->efficiency[k]);
	explain_end(&x);
	explain_object(&x, "fair");
	for (int k = 0; k < c->n; k++)
		explain_number(&x, v->job[c->job[k]].id, p->state[slot[c->job[k]]].fair);
	explain_end(&x);
	explain_object(&x, "infeasible");
	for (int k = 0; k < c->n; k++)
		if (p->state[slot[c->job[k]]].infeasible)
			explain_number(
				&x, v->job[c->job[k]].id, p->state[slot[c->job[k]]].infeasible);
	explain_end(&x);
	explain_close(&x);
}

/*
 * SAM's rule of mapping (ATC 2015): spread what is heavy on bandwidth, else on cache. What a core
 * of each job moves, where every job has the figure; NULL: nothing known. Threads of one job share
 * data, so a job fills one domain first; nothing else tells of coherence traffic.
 */
static const double *heat(struct policy *p, const struct view *v)
{
	static const enum signal_id by[] = {SIGNAL_MEM_BYTES, SIGNAL_LLC_MISSES};
	const struct shares *c = &p->shares;

	for (int i = 0; i < 2; i++) {
		bool all = true;

		for (int k = 0; k < c->n; k++) {
			const struct signal *s = &v->job[c->job[k]].signal[by[i]];

			all = all && s->provenance != PROVENANCE_NONE;
			p->heat[k] = s->value;
		}
		if (all)
			return p->heat;
	}
	return NULL;
}

static int mapper_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err), unowned = 0;
	uint64_t set;

	if (rc || c->n == 0)
		return rc;
	if (c->shared || (!c->uniform && !shares_mixed_sizes(c, p->domain_of))) {
		shares_equal(c, p->domain_of, ret);
		return 0;
	}
	for (int k = 0; k < c->n && !c->uniform; k++)
		c->size[k] = p->domain_of[k];
	set = shares_set(c);
	observe(p, v, slot);
	set_fair(p, slot, set != p->set);
	p->set = set;
	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		judge(p, k, s);
		p->spare[k] = s->fair - p->n_min[k];
		unowned += s->fair - p->alloc[k];
	}
	explain(p, v, slot, ret);
	move_spare(p, slot, unowned);
	if (c->uniform) {
		shares_deal_apart(c, p->alloc, heat(p, v), ret);
	} else {
		shares_mixed_fits(c, p->alloc);
		shares_mixed_give(c, ret);
	}
	for (int k = 0; k < c->n; k++) {
		const struct view_job *j = &v->job[c->job[k]];
		const struct job_state *s = &p->state[slot[c->job[k]]];

		if (!curve_covers(&s->curve, s->fair))
			ask(p, k, s->fair, FAIR_MS, ret);
		/* Spare cores come back at once (poster, section 2). */
		ret->urgent |= !coreset_is_empty(&j->current) && p->alloc[k] >= s->fair &&
			       topo_count_cores(c->t, &j->current) < s->fair;
	}
	if (ret->n_experiments == 0)
		explore(p, v, slot, ret);
	for (int k = 0; k < c->n; k++)
		plan_why(ret, c->job[k], "%d cores, fair share %d, needs %d for its speed",
			p->alloc[k], p->state[slot[c->job[k]]].fair, p->n_min[k]);
	return 0;
}

static void mapper_forget(struct policy *p, int slot)
{
	p->state[slot] = (struct job_state){0};
}

const struct policy_ops policy_mapper = {
	.name = "mapper",
	.summary = "moves cores a job can spare to the most efficient job (MAPPER)",
	.options = "q=0..1",
	.on_node = true,
	.asks = POLICY_ASKS_EXPERIMENTS,
	.size = sizeof(struct policy),
	.create = mapper_create,
	.decide = mapper_decide,
	.forget = mapper_forget,
};
