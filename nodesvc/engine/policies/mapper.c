/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper - starts at the fair share, finds out by rare disturbances how fast each job is on fewer
 * and on more cores, and now and then moves the cores that a job can spare while it keeps q of its
 * fair-share speed from the least to the most efficient job. Who falls below q gets its cores back
 * at once.
 *
 * Source: Srikanthan, Ferro, Chakraborti, Dwarkadas: MAPPER, PPoPP 2019 poster, and its article in
 * TACO 2022; what the poster leaves open is resolved in doc/policies.md. Section 2.2: "By
 * introducing rare disturbances to applications based on observed hardware bottlenecks, followed by
 * exploration for a performance maxima, the parallel efficiency of an application at different core
 * counts [...] is collected"; "Periodically, spare cores from applications that scale poorly are
 * reallocated to applications with higher parallel efficiency".
 */
#include <math.h>
#include <stddef.h>

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/policies/mapper.h"

#define PERIOD_S      5 /* from one reallocation to the next; "periodically", ours */
#define GUARD_SAMPLES 2
#define GAIN          1e-9
#define IDLE_BELOW    0.10 /* of its fair share it uses: it waits for something else; ours */
#define IDLE_ROOM     2    /* times what it uses is left to it */

static const char *const bottleneck_name[] = {"none", "waits", "bandwidth", "cache"};

static const struct option_spec options[] = {
	{"q", OPTION_DOUBLE, offsetof(struct config, q), 0.01, 1, NULL},
	{0},
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
	p->gives = arena_alloc(cfg->memory, n, sizeof(int));
	p->owner = arena_alloc(cfg->memory, (size_t)cfg->topo->n_cores, sizeof(int));
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
			p->anew = true;
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

static bool is_idle(const struct job_state *s)
{
	return s->idle >= GUARD_SAMPLES;
}

/* What was measured belongs to the phase that is over. */
static void leave_phase(struct job_state *s)
{
	s->curve.n = 0;
	s->infeasible = 0;
	s->keeps = false;
	s->live_at_fair = 0;
	s->not_before_s = s->explored_s < 0 ? 0 : s->explored_s + EXPLORE_JOB_S;
}

/*
 * Reading a file, say, a job keeps its speed on next to no cores (section 2.1: "resource needs");
 * what it executes meanwhile is no speed to go by. As soon as it uses half of what was left to it,
 * it has its fair share again.
 */
static void watch_idle(struct policy *p, const struct view_job *j, struct job_state *s)
{
	int cores = topo_count_cores(p->shares.t, &j->current);

	/*
	 * One that tells its progress tells what fewer cores cost it; and one whose counters are
	 * not read is looked at too seldom to have them back in time.
	 */
	if (!j->has_executed || s->sample_no == j->sample_no || cores == 0 ||
		j->signal[SIGNAL_PROGRESS].provenance != PROVENANCE_NONE ||
		j->signal[SIGNAL_INSTRUCTIONS].provenance != PROVENANCE_HW)
		return;
	s->used = j->executed * cores;
	if (s->used < IDLE_BELOW * s->fair && (cores >= s->fair || j->executed * IDLE_ROOM <= 1)) {
		if (++s->idle == GUARD_SAMPLES)
			leave_phase(s);
		return;
	}
	p->anew |= is_idle(s) && cores < s->fair;
	s->idle = 0;
}

static void miss(struct policy *p, struct job_state *s, int cores)
{
	p->anew = true;
	s->infeasible = cores > s->infeasible ? cores : s->infeasible;
	s->keeps = true;
	s->below = 0;
}

/* The job runs on fewer cores than fair and is slower than q: its cores go back. */
static void guard(struct policy *p, const struct view_job *j, struct job_state *s)
{
	int cores = topo_count_cores(p->shares.t, &j->current);
	double live = live_speed(j), at_fair = curve_at(&s->curve, s->fair);

	if (cores == 0 || s->fair == 0 || s->idle)
		return;
	/* A measured point is believed at once, live samples after two. */
	if (cores < s->fair && curve_has(&s->curve, cores) && !s->keeps &&
		curve_at(&s->curve, cores) < q_of(p, j) * at_fair)
		miss(p, s, cores);
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
			miss(p, s, cores);
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
			curve_set(&s->curve, ev->cores, ev->speed);
		} else if (ev->type == EVENT_PHASE) {
			leave_phase(s);
			p->anew = true;
		}
	}
	for (int i = 0; i < v->n_jobs; i++) {
		struct job_state *s = &p->state[slot[i]];

		watch_idle(p, &v->job[i], s);
		guard(p, &v->job[i], s);
		s->sample_no = v->job[i].sample_no;
	}
}

/*
 * Speed-up per core at the fair share (section 2.2). Where one core was not measured, what the two
 * widths next below and at it, or at it and above, say by Amdahl's law; ours. NAN: one width is
 * known.
 */
static double efficiency_of(const struct curve *c, int fair)
{
	const struct speed_point *low = &c->point[0], *high = low;
	double a, b, serial, times;

	if (curve_has(c, 1))
		return curve_at(c, fair) / curve_at(c, 1) / fair;
	if (c->n < 2)
		return NAN;
	while (high->cores < fair || high == low)
		high++;
	a = 1.0 / low->cores;
	b = 1.0 / high->cores;
	times = high->speed / low->speed;
	serial = times <= 1 ? 1 : (times * b - a) / ((1 - a) - times * (1 - b));
	serial = fmin(fmax(serial, 0), 1);
	return 1 / (serial * fair + 1 - serial);
}

/* Fewest cores with q of the fair speed; peak and efficiency at what it has. */
static void judge(struct policy *p, int k, const struct job_state *s)
{
	const struct shares *c = &p->shares;
	const struct view_job *j = &c->v->job[c->job[k]];
	double fair = curve_at(&s->curve, s->fair);
	int floor_cores = mapper_floor(j);
	int n = floor_cores, peak = s->fair;

	p->alloc[k] = s->fair;
	p->n_min[k] = s->fair;
	p->efficiency[k] = NAN;
	if (is_idle(s) && !s->keeps) {
		n = (int)ceil(IDLE_ROOM * s->used);
		n = n > floor_cores ? n : floor_cores;
		p->n_min[k] = n < s->fair ? n : s->fair;
		p->efficiency[k] = 0;
		return;
	}
	if (!curve_covers(&s->curve, s->fair) || !(fair > 0))
		return;
	p->efficiency[k] = efficiency_of(&s->curve, s->fair);
	if (!s->keeps && isfinite(p->efficiency[k])) {
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
	const struct view_job *j = &p->shares.v->job[p->shares.job[k]];

	/* Whose threads wait on the cores they have fills no more of them. */
	if (p->alloc[k] >= p->shares.total || s->curve.n == 0 || s->idle ||
		mapper_bottleneck(j) == WAITS)
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
	explain_object(&x, "bottleneck");
	for (int k = 0; k < c->n; k++)
		explain_text(&x, v->job[c->job[k]].id,
			bottleneck_name[mapper_bottleneck(&v->job[c->job[k]])]);
	explain_end(&x);
	explain_text(&x, "unseen", "coherence");
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

/* Everybody is judged anew, and spare cores move. */
static void reallocate(struct policy *p, const struct view *v, const int *slot)
{
	const struct shares *c = &p->shares;
	int unowned = 0;

	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		judge(p, k, s);
		p->spare[k] = s->fair - p->n_min[k];
		unowned += s->fair - p->alloc[k];
	}
	move_spare(p, slot, unowned);
	p->moved_s = v->now_s;
	p->anew = false;
}

static int mapper_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);
	uint64_t set;

	if (rc || c->n == 0)
		return rc;
	if (c->shared || (!c->uniform && !shares_mixed_sizes(c, p->domain_of))) {
		shares_equal(c, p->domain_of, ret);
		p->anew = true;
		return 0;
	}
	for (int k = 0; k < c->n && !c->uniform; k++)
		c->size[k] = p->domain_of[k];
	set = shares_set(c);
	observe(p, v, slot);
	set_fair(p, slot, set != p->set);
	p->set = set;
	/* Between two periods only what is due to somebody moves. */
	if (p->anew || v->now_s - p->moved_s >= PERIOD_S - ROUNDING_S ||
		(!c->uniform && !shares_mixed_fits(c, p->alloc)))
		reallocate(p, v, slot);
	explain(p, v, slot, ret);
	if (c->uniform) {
		shares_deal_apart(c, p->alloc, heat(p, v), ret);
	} else {
		shares_mixed_fits(c, p->alloc);
		shares_mixed_give(c, ret);
	}
	/* Spare cores come back at once (section 2.2). */
	for (int k = 0; k < c->n; k++) {
		const struct view_job *j = &v->job[c->job[k]];
		int fair = p->state[slot[c->job[k]]].fair;

		ret->urgent |= !coreset_is_empty(&j->current) && p->alloc[k] >= fair &&
			       topo_count_cores(c->t, &j->current) < fair;
	}
	mapper_measure(p, v, slot, ret);
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
