/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto_search.c - what a dealing of cores is predicted to be worth, and better ones near it.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "nodesvc/engine/policies/auto.h"

#define SPAN         0.05  /* lost where threads talk across domains only; ours */
#define FLOOR_SLACK  0.005 /* ln: what rounding and smoothing may be off */
#define FLOOR_SPARE  0.03  /* ln: above what was asked for, for what the model may be off */
#define SEEN_SURE    3     /* samples: a speed that it surely can have */
#define CACHE_OFF    0.05  /* ln: of who only waits for memory, what company may do to it */
#define TRIAL_SEEN   2     /* samples: no trial for what was seen so often */
#define FLOOR_COST   3     /* of the objective, for each part that a job is below its floor */
#define PAIR_PRIOR   8     /* samples that the model counts for beside what was seen */
#define LEAST_GAIN   1e-4
#define CACHE_ROUNDS 3
#define STEPS        16000 /* of one decision; some 10 ns each */

void auto_search_init(
	struct auto_search *s, struct auto_model *m, struct shares *c, const struct policy_cfg *cfg)
{
	size_t jobs = (size_t)cfg->max_jobs, domains = (size_t)cfg->topo->n_domains;

	s->m = m;
	s->c = c;
	s->max_jobs = cfg->max_jobs;
	s->most_steps = STEPS;
	s->size = arena_alloc(cfg->memory, jobs, sizeof(int));
	s->speed = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->flow = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->latency = arena_alloc(cfg->memory, domains, sizeof(double));
	s->fair = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->floor = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->alone = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->miss = arena_alloc(cfg->memory, jobs * domains, sizeof(float));
	s->was_miss = arena_alloc(cfg->memory, jobs * domains, sizeof(float));
	s->held = arena_alloc(cfg->memory, jobs, sizeof(float));
	s->theta = arena_alloc(cfg->memory, jobs, sizeof(float));
	s->sum = arena_alloc(cfg->memory, domains, sizeof(uint64_t));
	s->most = arena_alloc(cfg->memory, domains, sizeof(double));
	s->members = arena_alloc(cfg->memory, domains, sizeof(int));
	s->asks = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->waits = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->idle_wait = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->member = arena_alloc(cfg->memory, jobs, sizeof(int));
	s->was_speed = arena_alloc(cfg->memory, jobs, sizeof(double));
	s->was_latency = arena_alloc(cfg->memory, domains, sizeof(double));
	s->was_sum = arena_alloc(cfg->memory, domains, sizeof(uint64_t));
	s->fixed = arena_alloc(cfg->memory, jobs, sizeof(bool));
	s->trial = arena_alloc(cfg->memory, jobs * domains, sizeof(short));
	s->first = arena_alloc(cfg->memory, jobs * domains, sizeof(short));
	s->company = arena_alloc(cfg->memory, jobs, sizeof(uint64_t));
}

static const struct auto_phase *phase_of(const struct auto_search *s, int k)
{
	return auto_phase_of(s->m, s->slot[s->c->job[k]]);
}

static double curve_of(const struct auto_search *s, int k, int n)
{
	return s->m->curve[(size_t)s->slot[s->c->job[k]] * (size_t)s->m->stride + (size_t)n];
}

static uint64_t name_of(const struct auto_search *s, int k, int n)
{
	const struct auto_job *j = &s->m->job[s->slot[s->c->job[k]]];
	uint64_t h = s->m->program[j->program].name + (uint64_t)j->phase * 0x9e3779b97f4a7c15u;

	h = (h ^ (uint64_t)n) * 0xbf58476d1ce4e5b9u;
	return h ^ h >> 29;
}

static int size_of(const struct auto_search *s, const short *n, int k)
{
	int size = 0;

	for (int d = 0; d < s->c->n_domains; d++)
		size += n[k * s->c->n_domains + d];
	return size;
}

uint64_t auto_search_beside(const struct auto_search *s, const short *n, int k)
{
	uint64_t h = 0;

	for (int d = 0; d < s->c->n_domains; d++)
		for (int i = 0; i < s->c->n && n[k * s->c->n_domains + d]; i++)
			if (i != k && n[i * s->c->n_domains + d])
				h += name_of(s, i, n[i * s->c->n_domains + d]);
	return h;
}

/* What a job asks for of a domain, where it has cores there. */
static double ask_of(const struct auto_search *s, const short *n, int k, int d)
{
	return s->flow[k] * n[k * s->c->n_domains + d] / s->size[k];
}

static void clear_domain(struct auto_search *s, int d)
{
	s->sum[d] = 0;
	s->most[d] = 0;
	s->members[d] = 0;
}

/* Job @k has cores of domain @d: what that is to the others, and to its memory. */
static void add_member(struct auto_search *s, const short *n, int k, int d)
{
	s->sum[d] += name_of(s, k, n[k * s->c->n_domains + d]);
	if (s->flow[k] <= 0)
		return;
	s->most[d] += ask_of(s, n, k, d);
	s->members[d]++;
}

/*
 * Who holds how much of the domain's cache: in proportion to what each inserts, which is what it
 * misses, which falls with what it holds. A job that asks for nothing holds nothing. With clusters
 * the same in each one's part.
 */
static void solve_cache(struct auto_search *s, const short *n, int d)
{
	const struct shares *c = s->c;
	int members = 0;
	bool any = false;

	for (int k = 0; k < c->n; k++) {
		const struct auto_phase *f;

		if (!n[k * c->n_domains + d])
			continue;
		s->miss[k * c->n_domains + d] = 1;
		if (s->flow[k] <= 0)
			continue;
		f = phase_of(s, k);
		s->member[members] = k;
		s->asks[members] = ask_of(s, n, k, d);
		s->theta[members] = (float)f->theta;
		s->held[members++] = isfinite(f->held) ? (float)f->held : 0;
		any |= f->theta > 0;
	}
	if (!any)
		return;
	s->steps += 6 * (long)members * CACHE_ROUNDS;
	for (int round = 0; round < CACHE_ROUNDS; round++) {
		double sum[AUTO_SIDES + 1] = {0};

		for (int m = 0; m < members; m++) {
			int k = s->member[m];
			double inserts = s->asks[m] * s->miss[k * c->n_domains + d];

			sum[AUTO_NO_SIDE] += inserts;
			if (s->side && s->side[k] != AUTO_NO_SIDE)
				sum[s->side[k]] += inserts;
		}
		for (int m = 0; m < members; m++) {
			int k = s->member[m], side = s->side ? s->side[k] : AUTO_NO_SIDE;
			float *miss = &s->miss[k * c->n_domains + d];
			double part = s->asks[m] * *miss / sum[side];

			if (s->theta[m] <= 0)
				continue;
			if (side != AUTO_NO_SIDE)
				part *= s->ways[side];
			/* Half of the way, for the law may be steep. */
			*miss = sqrtf(*miss * expf(s->theta[m] * (s->held[m] - logf((float)part))));
		}
	}
}

/* The load at which what is asked for, by all who were added, is what that latency lets through. */
static double solve_load(struct auto_search *s, const short *n, int d)
{
	const struct shares *c = s->c;
	double low = 0, high, capacity = s->m->capacity[c->domain[d]];
	int members = 0;

	s->steps += 8 + s->members[d];
	if (s->most[d] < 0.02 * capacity)
		return s->most[d] / capacity;
	high = 0;
	for (int k = 0; k < c->n; k++) {
		if (!n[k * c->n_domains + d] || s->flow[k] <= 0)
			continue;
		s->asks[members] = ask_of(s, n, k, d) * s->miss[k * c->n_domains + d];
		s->idle_wait[members] = 1 + phase_of(s, k)->stall;
		s->waits[members++] = phase_of(s, k)->stall * s->miss[k * c->n_domains + d];
	}
	for (int m = 0; m < members; m++)
		high += s->asks[m] / capacity * s->idle_wait[m] / (1 + s->waits[m]);
	s->steps += 8 * (long)members;
	for (int i = 0; i < 8; i++) {
		double r = 0.5 * (low + high), l = auto_latency(r), asked = 0;

		for (int m = 0; m < members; m++)
			asked += s->asks[m] * s->idle_wait[m] / (1 + s->waits[m] * l);
		if (asked / capacity > r)
			low = r;
		else
			high = r;
	}
	return 0.5 * (low + high);
}

static void solve_domain(struct auto_search *s, const short *n, int d)
{
	solve_cache(s, n, d);
	s->latency[d] = auto_latency(solve_load(s, n, d));
}

struct where {
	double latency; /* of its memory */
	double wait;    /* the same times how much it misses there */
	double span;
};

/* Of job @k; its cores are no more than @most, so that the rest need not be looked at. */
static struct where where_is(const struct auto_search *s, const short *n, int k, int most)
{
	const short *own = n + (ptrdiff_t)k * s->c->n_domains;
	const float *miss = s->miss + (ptrdiff_t)k * s->c->n_domains;
	double l = 0, wait = 0;
	int size = 0, main = 0;

	for (int d = 0; d < s->c->n_domains && size < most; d++) {
		if (!own[d])
			continue;
		l += own[d] * s->latency[d];
		wait += own[d] * miss[d] * s->latency[d];
		size += own[d];
		main = own[d] > main ? own[d] : main;
	}
	return (struct where){
		.latency = size > 0 ? l / size : 1,
		.wait = size > 0 ? wait / size : 1,
		.span = main == size ? 0 : log1p(SPAN * (1 - (double)main / size)),
	};
}

double auto_search_latency(const struct auto_search *s, const short *n, int k)
{
	return where_is(s, n, k, INT_MAX).latency;
}

double auto_search_span(const struct auto_search *s, const short *n, int k)
{
	return where_is(s, n, k, INT_MAX).span;
}

/* ln speed of job @k of size[k] under the latencies at hand. */
static double predict(const struct auto_search *s, const short *n, int k, uint64_t beside)
{
	const struct auto_phase *f = phase_of(s, k);
	const struct auto_seen *seen = NULL;
	struct where at;
	double speed;

	if (f->idle)
		return 0;
	at = where_is(s, n, k, s->size[k]);
	speed = f->level + curve_of(s, k, s->size[k]) -
		log((1 + f->stall * at.wait) / (1 + f->stall));
	if (s->m->pairs)
		seen = auto_seen_find(f, s->size[k], beside);
	if (seen)
		speed = (seen->n * seen->speed + PAIR_PRIOR * speed) / (seen->n + PAIR_PRIOR);
	return speed - at.span;
}

static double gains(const struct auto_search *s)
{
	double sum = 0, worst = INFINITY;

	for (int k = 0; k < s->c->n; k++) {
		double gain = s->speed[k] - s->fair[k];

		worst = fmin(worst, gain);
		if (s->objective == AUTO_STP)
			sum += expm1(gain);
		else if (s->objective == AUTO_ANTT)
			sum -= expm1(-gain);
		else
			sum += gain;
	}
	return s->objective == AUTO_WORST ? worst : sum / s->c->n;
}

/* What floors that are broken cost, but for job @but's (-1: of all). */
static double broken(const struct auto_search *s, int but)
{
	double cost = 0;

	for (int k = 0; k < s->c->n; k++)
		if (k != but && s->speed[k] < s->floor[k] - FLOOR_SLACK)
			cost += FLOOR_COST * (s->floor[k] - s->speed[k]);
	return cost;
}

static double objective(const struct auto_search *s)
{
	return gains(s) - broken(s, -1);
}

/* Size, traffic and what others know it by, of one job. */
static bool read_job(struct auto_search *s, const short *n, int k)
{
	const struct auto_phase *f = phase_of(s, k);

	s->size[k] = size_of(s, n, k);
	if (s->size[k] < 1)
		return false;
	s->flow[k] = f->bytes > 0 && !f->idle
			     ? f->bytes * exp(f->level + curve_of(s, k, s->size[k]))
			     : 0;
	return true;
}

/* What the domain's jobs are to each of them, and its load. */
static void read_domain(struct auto_search *s, const short *n, int d)
{
	clear_domain(s, d);
	for (int k = 0; k < s->c->n; k++)
		if (n[k * s->c->n_domains + d])
			add_member(s, n, k, d);
	solve_domain(s, n, d);
}

/* The same of all domains: by jobs, as they lie in memory. */
static void read_domains(struct auto_search *s, const short *n)
{
	int domains = s->c->n_domains;

	for (int d = 0; d < domains; d++)
		clear_domain(s, d);
	for (int k = 0; k < s->c->n; k++)
		for (int d = 0; d < domains; d++)
			if (n[k * domains + d])
				add_member(s, n, k, d);
	for (int d = 0; d < domains; d++)
		solve_domain(s, n, d);
}

/* Who is in job @k's domains, by what was last looked at. */
static uint64_t company(const struct auto_search *s, const short *n, int k)
{
	const short *own = n + (ptrdiff_t)k * s->c->n_domains;
	uint64_t h = 0;

	for (int d = 0, left = s->size[k]; d < s->c->n_domains && left > 0; d++) {
		if (!own[d])
			continue;
		h += s->sum[d] - name_of(s, k, own[d]);
		left -= own[d];
	}
	return h;
}

static void read_speed(struct auto_search *s, const short *n, int k)
{
	s->speed[k] = predict(s, n, k, s->m->pairs ? company(s, n, k) : 0);
	s->steps += 8 + s->c->n_domains;
}

double auto_search_worth(struct auto_search *s, const short *n)
{
	for (int k = 0; k < s->c->n; k++)
		if (!read_job(s, n, k))
			return -INFINITY;
	read_domains(s, n);
	for (int k = 0; k < s->c->n; k++)
		read_speed(s, n, k);
	return objective(s);
}

/* ln: the most that was seen on no more cores, in whatever company; -INFINITY nothing. */
static double best_seen(const struct auto_phase *f, double cores)
{
	double best = -INFINITY;

	for (int i = 0; i < AUTO_SEEN; i++)
		if (f->seen[i].n >= SEEN_SURE && f->seen[i].cores < cores + 0.25)
			best = fmax(best, f->seen[i].speed);
	return best;
}

void auto_search_base(struct auto_search *s, const short *fair)
{
	const struct shares *c = s->c;
	size_t size = (size_t)c->n * (size_t)c->n_domains;

	for (int k = 0; k < c->n; k++) {
		s->fair[k] = 0;
		s->floor[k] = -INFINITY;
	}
	/* Alone on as many cores: nobody else's traffic there. */
	memset(s->trial, 0, size * sizeof(*s->trial));
	for (int k = 0; k < c->n; k++) {
		short *own = s->trial + (ptrdiff_t)k * c->n_domains;

		memcpy(own, fair + (ptrdiff_t)k * c->n_domains,
			(size_t)c->n_domains * sizeof(*own));
		read_job(s, s->trial, k);
		for (int d = 0; d < c->n_domains; d++) {
			if (!own[d])
				continue;
			clear_domain(s, d);
			add_member(s, s->trial, k, d);
			solve_domain(s, s->trial, d);
		}
		s->alone[k] = fmax(predict(s, s->trial, k, 0),
			best_seen(phase_of(s, k), s->size[k]) - auto_search_span(s, s->trial, k));
		memset(own, 0, (size_t)c->n_domains * sizeof(*own));
	}
	auto_search_worth(s, fair);
	memcpy(s->fair, s->speed, (size_t)c->n * sizeof(double));
	for (int k = 0; k < c->n; k++) {
		double q = c->v->job[c->job[k]].qos > 0 ? c->v->job[c->job[k]].qos : s->q;

		s->floor[k] = fmin(s->fair[k], s->alone[k] + fmin(0, log(q) + FLOOR_SPARE));
	}
}

/* May job @k have a core of domain @d? Where it is already, or where it has its own full. */
static bool may_enter(const struct auto_search *s, const short *n, int k, int d)
{
	int here = 0;

	if (n[k * s->c->n_domains + d])
		return true;
	for (int e = 0; e < s->c->n_domains; e++) {
		here += n[k * s->c->n_domains + e] > 0;
		if (n[k * s->c->n_domains + e] == s->c->capacity[e])
			return true;
	}
	return here > 1;
}

struct step {
	int from, to, domain, cores; /* a transfer; domain -1: two exchange their places */
};

static void take_step(const struct auto_search *s, const struct step *x, short *n)
{
	short *from = n + (ptrdiff_t)x->from * s->c->n_domains;
	short *to = n + (ptrdiff_t)x->to * s->c->n_domains;

	if (x->domain >= 0) {
		from[x->domain] = (short)(from[x->domain] - x->cores);
		to[x->domain] = (short)(to[x->domain] + x->cores);
		return;
	}
	for (int d = 0; d < s->c->n_domains; d++) {
		short t = from[d];

		from[d] = to[d];
		to[d] = t;
	}
}

static bool is_allowed(const struct auto_search *s, const struct step *x, const short *n)
{
	const struct view_job *from = &s->c->v->job[s->c->job[x->from]];
	const struct view_job *to = &s->c->v->job[s->c->job[x->to]];
	int least = from->min_cores > 1 ? from->min_cores : 1, a, b;

	if (x->domain >= 0)
		return !s->fixed[x->from] && !s->fixed[x->to] &&
		       n[x->from * s->c->n_domains + x->domain] >= x->cores &&
		       size_of(s, n, x->from) - x->cores >= least &&
		       may_enter(s, n, x->to, x->domain);
	a = size_of(s, n, x->from);
	b = size_of(s, n, x->to);
	if (memcmp(n + (ptrdiff_t)x->from * s->c->n_domains, n + (ptrdiff_t)x->to * s->c->n_domains,
		    (size_t)s->c->n_domains * sizeof(*n)) == 0)
		return false;
	return a == b ||
	       (!s->fixed[x->from] && !s->fixed[x->to] && b >= least && a >= to->min_cores);
}

/* Has one of the two that take the step cores of domain @d, before or after it? */
static bool touches(const struct auto_search *s, const struct step *x, const short *n, int d)
{
	return n[x->from * s->c->n_domains + d] || n[x->to * s->c->n_domains + d];
}

/* Worth of @n, a step from what was last looked at in full: only what it touches is new. */
static double step_worth(struct auto_search *s, const struct step *x, const short *n)
{
	int domains = s->c->n_domains;

	read_job(s, n, x->from);
	read_job(s, n, x->to);
	for (int d = 0; d < domains; d++)
		if (touches(s, x, n, d) || d == x->domain)
			read_domain(s, n, d);
	for (int k = 0; k < s->c->n; k++)
		for (int d = 0; d < domains; d++)
			if (n[k * domains + d] && (touches(s, x, n, d) || d == x->domain)) {
				read_speed(s, n, k);
				break;
			}
	s->steps += s->c->n;
	return objective(s);
}

/* Looks at one step from @d; a better one becomes *best. */
static void try_step(struct auto_search *s, struct auto_deal *d, const struct step *x,
	struct step *best, double *best_worth)
{
	size_t jobs = (size_t)s->c->n * sizeof(double);
	size_t domains = (size_t)s->c->n_domains * sizeof(double);
	size_t cells = (size_t)s->c->n * (size_t)s->c->n_domains * sizeof(float);
	struct step back = {x->to, x->from, x->domain, x->cores};
	double worth;

	if (s->steps >= s->most_steps || !is_allowed(s, x, d->n))
		return;
	memcpy(s->was_speed, s->speed, jobs);
	memcpy(s->was_latency, s->latency, domains);
	memcpy(s->was_sum, s->sum, domains);
	memcpy(s->was_miss, s->miss, cells);
	take_step(s, x, d->n);
	worth = step_worth(s, x, d->n);
	take_step(s, &back, d->n);
	read_job(s, d->n, x->from);
	read_job(s, d->n, x->to);
	memcpy(s->speed, s->was_speed, jobs);
	memcpy(s->latency, s->was_latency, domains);
	memcpy(s->sum, s->was_sum, domains);
	memcpy(s->miss, s->was_miss, cells);
	if (worth > *best_worth + LEAST_GAIN) {
		*best_worth = worth;
		*best = *x;
	}
}

/* The best that one of @x and @y gives to a third or takes from it, where they are. */
static void try_beside(struct auto_search *s, struct auto_deal *d, int x, int y, struct step *best,
	double *best_worth)
{
	const struct shares *c = s->c;

	for (int k = 0; k < c->n && s->steps < s->most_steps; k++) {
		if (k == x || k == y)
			continue;
		for (int e = 0; e < c->n_domains; e++)
			for (int cores = 1; cores <= 4; cores *= 2)
				for (int way = 0; way < 4; way++) {
					int me = way < 2 ? x : y;

					try_step(s, d,
						way % 2 ? &(struct step){me, k, e, cores}
							: &(struct step){k, me, e, cores},
						best, best_worth);
				}
	}
}

/*
 * Two exchange their places, and one of them gives or takes cores there, where no step gains
 * anything by itself: cores go from one domain's jobs to another's only so. True: it gains.
 */
static bool improve_by_two(struct auto_search *s, struct auto_deal *d, double worth)
{
	const struct shares *c = s->c;
	struct step first = {.from = -1}, second = {.from = -1};
	int start = s->next;

	for (int i = 0; i < c->n * c->n && s->steps < s->most_steps; i++) {
		int at = (start + i) % (c->n * c->n);
		struct step swap = {at / c->n, at % c->n, -1, 0}, found = {.from = -1};

		if (swap.from >= swap.to || !is_allowed(s, &swap, d->n))
			continue;
		take_step(s, &swap, d->n);
		auto_search_worth(s, d->n);
		try_beside(s, d, swap.from, swap.to, &found, &worth);
		take_step(s, &swap, d->n);
		if (found.from >= 0) {
			first = swap;
			second = found;
		}
	}
	if (first.from < 0)
		return false;
	take_step(s, &first, d->n);
	take_step(s, &second, d->n);
	d->worth = worth;
	return true;
}

void auto_search_improve(struct auto_search *s, struct auto_deal *d)
{
	const struct shares *c = s->c;

	while (s->steps < s->most_steps) {
		struct step best = {.from = -1};
		double worth = auto_search_worth(s, d->n);

		/* Where not all are looked at, the next time goes on from there. */
		for (int i = 0; i < c->n * c->n && s->steps < s->most_steps; i++) {
			int at = s->next++ % (c->n * c->n), a = at / c->n, b = at % c->n;

			if (a == b)
				continue;
			for (int e = 0; e < c->n_domains; e++)
				for (int cores = 1; cores <= 4; cores *= 2)
					try_step(s, d, &(struct step){a, b, e, cores}, &best,
						&worth);
			if (a < b)
				try_step(s, d, &(struct step){a, b, -1, 0}, &best, &worth);
		}
		if (best.from < 0) {
			if (!improve_by_two(s, d, worth))
				break;
			continue;
		}
		take_step(s, &best, d->n);
		d->worth = worth;
	}
	s->next %= c->n * c->n;
}

/* What it takes to look at a dealing as a whole, in steps. */
static long copy_steps(const struct auto_search *s)
{
	return 4 + (long)s->c->n * s->c->n_domains / 64;
}

/* One step from @from, of a quarter of the giver's cores, in as many domains as it takes. */
static bool quarter(struct auto_search *s, const short *from, int a, int b, short *ret)
{
	const struct shares *c = s->c;
	int left = (size_of(s, from, a) + 3) / 4;
	struct step x = {a, b, 0, 1};

	s->steps += copy_steps(s);
	memcpy(ret, from, (size_t)c->n * (size_t)c->n_domains * sizeof(short));
	for (int pass = 0; pass < 2; pass++) /* where both are, first */
		for (x.domain = 0; x.domain < c->n_domains; x.domain++)
			while (left > 0 && (pass == 1 || ret[b * c->n_domains + x.domain]) &&
				is_allowed(s, &x, ret)) {
				take_step(s, &x, ret);
				left--;
			}
	return left == 0;
}

/* Mean of what is above 0 of a normal distribution. */
static double expected_gain(double mean, double sd)
{
	double z = mean / sd;

	if (!(sd > 0))
		return fmax(0, mean);
	return sd * exp(-0.5 * z * z) / sqrt(2 * M_PI) + 0.5 * mean * erfc(-z / M_SQRT2);
}

/* What runs, as trials are held against it. */
static void read_base(struct auto_search *s, const short *from)
{
	auto_search_worth(s, from);
	s->base = gains(s);
	s->base_broken = broken(s, -1);
	for (int k = 0; k < s->c->n; k++)
		s->company[k] = company(s, from, k);
}

struct trial {
	double worth, sd; /* over what runs, floors left out */
	double parts;     /* that are moved */
};

static double trial_pays(
	const struct auto_search *s, const struct auto_try *t, const struct trial *x)
{
	double least = t->least;

	/* Two are moved. */
	if (s->objective != AUTO_WORST)
		least *= fmin(1, 2.0 / s->c->n);
	if (x->worth < -t->most_loss || x->worth + t->optimism * x->sd <= least)
		return 0;
	return expected_gain(x->worth, x->sd) * t->horizon_s - t->lasts_s * fmax(0, -x->worth) -
	       2 * t->move_s * x->parts / s->c->n;
}

/* Was it seen on as many cores already, in whatever company? */
static bool is_seen(const struct auto_phase *f, double cores)
{
	for (int i = 0; i < AUTO_SEEN; i++)
		if (f->seen[i].n >= TRIAL_SEEN && fabs(f->seen[i].cores - cores) < 0.25)
			return true;
	return false;
}

/* A quarter of @a's cores to @b, which is in s->trial; false: somebody would be below his floor. */
static bool look_at_transfer(
	struct auto_search *s, const short *from, int a, int b, double optimism, struct trial *ret)
{
	const struct shares *c = s->c;
	int na = size_of(s, from, a), nb = size_of(s, from, b), cut;
	double va, vb;

	cut = na - size_of(s, s->trial, a);
	if (is_seen(phase_of(s, a), na - cut) && is_seen(phase_of(s, b), nb + cut))
		return false;
	va = auto_spread(s->m, s->slot[c->job[a]], na, na - cut);
	vb = auto_spread(s->m, s->slot[c->job[b]], nb, nb + cut);
	auto_search_worth(s, s->trial);
	*ret = (struct trial){
		.worth = gains(s) - s->base,
		.sd = sqrt(va + vb) / c->n,
		.parts = (double)cut / (nb + cut),
	};
	/* What a user asked for is not tried. */
	if (c->v->job[c->job[a]].qos > 0)
		va = 0;
	/* Whoever gives may turn out to keep it; who else is below his was before. */
	return s->speed[a] + optimism * sqrt(va) >= s->floor[a] - FLOOR_SLACK &&
	       broken(s, a) <= s->base_broken + LEAST_GAIN;
}

/* Two exchange their places, in s->trial: what the others do to a job's cache is in no model. */
static bool look_at_exchange(struct auto_search *s, struct trial *ret)
{
	double variance = 0;

	auto_search_worth(s, s->trial);
	s->steps += 8 * copy_steps(s);
	*ret = (struct trial){.worth = gains(s) - s->base, .parts = 2};
	for (int k = 0; k < s->c->n; k++) {
		const struct auto_phase *f = phase_of(s, k);
		uint64_t beside = company(s, s->trial, k);
		double off = CACHE_OFF * f->stall / (1 + f->stall);

		if (beside != s->company[k] && !auto_seen_find(f, s->size[k], beside))
			variance += off * off;
	}
	ret->sd = sqrt(variance) / s->c->n;
	return broken(s, -1) <= s->base_broken + LEAST_GAIN;
}

/* The best transfer from @from, of jobs that are not @but's two (-1: of all). */
static bool best_transfer(struct auto_search *s, const short *from, const struct auto_try *t,
	const int *but, double *best, int *ret_pair, struct auto_deal *ret)
{
	int n = s->c->n;
	bool any = false;

	for (int i = 0; i < n * n && s->steps < t->most_steps; i++) {
		int at = (s->next + i) % (n * n), a = at / n, b = at % n;
		struct trial x;
		double pays;

		if (a == b || s->fixed[a] || s->fixed[b] || phase_of(s, a)->idle ||
			phase_of(s, b)->idle || a == but[0] || a == but[1] || b == but[0] ||
			b == but[1] || !quarter(s, from, a, b, s->trial) ||
			!look_at_transfer(s, from, a, b, t->optimism, &x))
			continue;
		pays = trial_pays(s, t, &x);
		if (pays <= *best)
			continue;
		*best = pays;
		ret_pair[0] = a;
		ret_pair[1] = b;
		memcpy(ret->n, s->trial, (size_t)n * (size_t)s->c->n_domains * sizeof(short));
		any = true;
	}
	return any;
}

static bool best_exchange(struct auto_search *s, const short *from, const struct auto_try *t,
	double *best, struct auto_deal *ret)
{
	int n = s->c->n;
	size_t size = (size_t)n * (size_t)s->c->n_domains * sizeof(short);
	bool any = false;

	for (int i = 0; i < n * n && s->steps < t->most_steps; i++) {
		int at = (s->next + i) % (n * n), a = at / n, b = at % n;
		struct step step = {a, b, -1, 0};
		struct trial x;
		double pays;

		if (a >= b || !is_allowed(s, &step, from))
			continue;
		memcpy(s->trial, from, size);
		take_step(s, &step, s->trial);
		if (!look_at_exchange(s, &x) || (pays = trial_pays(s, t, &x)) <= *best)
			continue;
		*best = pays;
		memcpy(ret->n, s->trial, size);
		any = true;
	}
	return any;
}

bool auto_search_trial(struct auto_search *s, const struct auto_deal *from,
	const struct auto_try *t, struct auto_deal *ret)
{
	struct auto_try more = *t;
	double best = 0, second = 0;
	int pair[2] = {-1, -1}, other[2];

	read_base(s, from->n);
	more.most_steps = s->steps + s->most_steps;
	ret->there = best_transfer(s, from->n, &more, pair, &best, pair, ret);
	more.most_steps = s->steps + s->most_steps / 2;
	if (best_exchange(s, from->n, &more, &best, ret)) {
		ret->there = true;
	} else if (ret->there) {
		/* Of two others at the same time, that is no more to wait for. */
		memcpy(s->first, ret->n, (size_t)s->c->n * (size_t)s->c->n_domains * sizeof(short));
		read_base(s, s->first);
		best_transfer(s, s->first, &more, pair, &second, other, ret);
	}
	if (ret->there)
		ret->worth = auto_search_worth(s, ret->n);
	return ret->there;
}
