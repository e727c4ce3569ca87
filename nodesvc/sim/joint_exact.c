/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * joint_exact.c - every way of the set that joint.h tells, in depth first order, cut where the
 * jobs' speeds alone cannot beat the best so far. Alone a job has the whole cache and the shortest
 * queue at the memory; a company adds to both, for what one gets less of it asks the memory for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/joint_internal.h"
#include "nodesvc/sim/rng.h"

#define SPEED_SLOTS (1 << 16)
#define SEEN_SLOTS  (1 << 18)
#define PROBES      16
/* More than two answers of the solver to one question differ by. */
#define SLACK 1e-5
/* A search that takes more ends. */
#define SOLVES_MAX 200000L
#define NODES_MAX  100000000L
/* Cores of a domain up to which every number of them to every job is looked at. */
#define EVERY_MAX 16

struct exact {
	struct joint *x;
	int cores;                       /* in all */
	signed char domain[JOINT_CORES]; /* of each, in a row */
	short all[JOINT_DOMAINS];        /* cores of each domain */
	bool alike;                      /* domains differ by name only */
	int pus;                         /* of a core */
	int n, job[JOINT_EXACT];         /* who is present */
	double cap[JOINT_EXACT];         /* no speed of job[] is higher */
	double idle[JOINT_EXACT];        /* most of its own time that job[] leaves, a part */
	struct way w;                    /* at hand */
	struct way *best;
	int n_turns; /* groups; 0: all at once */
	void (*leaf)(struct exact *e, double bound);
	long solves, nodes;
	struct {
		uint64_t key;
		double speed;
	} * speed;      /* [SPEED_SLOTS] alone, by job and cores */
	uint64_t *seen; /* [SEEN_SLOTS] dealings that were looked at */
};

/* --- what a job can come to -------------------------------------------------------------- */

static uint64_t column(uint64_t h, int n)
{
	return rng_mix(h ^ ((uint64_t)n + 1));
}

/* Sums where domains can be renamed, chains where not. */
static uint64_t add_domain(const struct exact *e, uint64_t sum, uint64_t domain)
{
	return e->alike ? sum + domain : rng_mix(sum + domain);
}

/* Speed of job[@k] alone on the cores it has at hand, with so many ways of the caches; 0: all. */
static double alone(struct exact *e, int k, int ways)
{
	struct joint *x = e->x;
	int i = e->job[k], at[JOINT_DOMAINS] = {0}, j = -1;
	const short *n = e->w.n[i];
	uint64_t key = 0;
	double speed;

	for (int d = 0; d < x->t->n_domains; d++)
		key = add_domain(e, key, column((uint64_t)k, n[d]));
	key = rng_mix(key + (uint64_t)ways) | 1;
	for (int p = 0; p < PROBES; p++) {
		j = (int)(((key >> 32) + (uint64_t)p) % SPEED_SLOTS);
		if (e->speed[j].key == key)
			return e->speed[j].speed;
		if (!e->speed[j].key)
			break;
	}
	for (int o = 0; o < x->d->n_jobs; o++)
		x->place[o] = (struct place){.levers = x->r->job[o].spec.levers};
	x->place[i].active = true;
	joint_cores(x, n, at, &x->place[i].own);
	if (ways)
		x->place[i].levers.ways = (uint32_t)((UINT64_C(1) << ways) - 1);
	layout_set(&x->layout, x->place, x->d->n_jobs);
	solver_run(x->r->solver, &x->layout, x->r->in, x->part);
	e->solves++;
	speed = run_speed(x->r, i, x->part);
	e->speed[j].key = key;
	e->speed[j].speed = speed;
	return speed;
}

static int size_of(const struct exact *e, int k)
{
	int n = 0;

	for (int d = 0; d < e->x->t->n_domains; d++)
		n += e->w.n[e->job[k]][d];
	return n;
}

/* PUs that job[@k] keeps busy of @n cores. */
static double busy(const struct exact *e, int k, int n)
{
	const struct solve_in *in = &e->x->r->in[e->job[k]];
	double most = fmin(in->threads, n * e->pus);

	return most * program_utilization(in->program, in->phase, most);
}

/* No speed on @n cores and up to @lent cores' worth of others' time is higher. */
static double most(const struct exact *e, int k, int n, double lent)
{
	const struct joint *x = e->x;
	const struct run_job *j = &x->r->job[e->job[k]];
	const struct phase *f = &j->spec.program->phase[j->phase];
	double clock = j->spec.levers.clock > 0 ? j->spec.levers.clock : 1;
	struct solve_out o[JOINT_JOBS] = {{0}};
	double low = fmin(j->threads, n * e->pus), high = fmin(j->threads, n * e->pus + lent);
	/* Where more cores begin to cost. */
	double width = f->gamma > 0 ? fmax(low, fmin(high, sqrt(f->beta / f->gamma))) : high;

	if (f->io)
		return 1;
	o[e->job[k]].instr_per_s =
		fmax(1, clock) * solver_most(x->d->m, f, width,
					 solver_smt(x->d->m, n * e->pus, n, busy(e, k, n)),
					 x->d->m->n_memories);
	return run_speed(x->r, e->job[k], o);
}

static bool is_taker(const struct exact *e, int k)
{
	const struct run_job *j = &e->x->r->job[e->job[k]];

	return !j->spec.program->phase[j->phase].io;
}

/* What job[@k] adds to a way at most, at @speed while it runs. */
static double adds(const struct exact *e, int k, double speed)
{
	return joint_job_worth(e->x, e->job[k], (1 + SLACK) * speed * joint_part(e->x, e->n_turns));
}

/* With the cores at hand, whatever is lent to it. */
static double bound(struct exact *e, int k)
{
	int n = size_of(e, k);
	double idle = 0, speed = alone(e, k, 0);

	for (int o = 0; o < e->n; o++)
		idle = o == k ? idle : fmax(idle, e->idle[o]);
	if (e->n_turns < 2 && idle > 0 && is_taker(e, k)) {
		double lent = idle * (e->cores - n) * e->pus * e->x->d->m->p.fill;

		speed = fmax(speed, most(e, k, n, lent));
	}
	return adds(e, k, speed);
}

static bool can_win(const struct exact *e, double value)
{
	return value > e->best->value;
}

static void evaluate(struct exact *e)
{
	e->solves += e->w.n_turns > 1 ? e->w.n_turns : 1;
	e->w.value = joint_worth(e->x, &e->w);
	if (e->w.value > e->best->value)
		*e->best = e->w;
}

static bool is_over(const struct exact *e)
{
	return e->solves > SOLVES_MAX || e->nodes > NODES_MAX;
}

/* --- rows -------------------------------------------------------------------------------- */

/* @left: of job[], from core @at on; @sum: what those before add at most. */
static void deal_row(struct exact *e, uint32_t left, int at, double sum)
{
	int others = __builtin_popcount(left) - 1;
	int last = e->cores - (others > 0 ? others : 0);

	if (!left) {
		e->leaf(e, sum);
		return;
	}
	for (int k = 0; k < e->n; k++) {
		short *n = e->w.n[e->job[k]];
		double rest = 0;

		if (!(left >> k & 1))
			continue;
		for (int o = 0; o < e->n; o++)
			rest += o != k && left >> o & 1 ? adds(e, o, e->cap[o]) : 0;
		for (int to = at; to < last && !is_over(e); to++) {
			double with;

			n[e->domain[to]]++;
			e->nodes++;
			if (others == 0 && to + 1 < last)
				continue;
			with = sum + bound(e, k);
			if (can_win(e, with + rest))
				deal_row(e, left & ~(UINT32_C(1) << k), to + 1, with);
		}
		memset(n, 0, JOINT_DOMAINS * sizeof(*n));
	}
}

/* Was it looked at? Then it is, now. */
static bool is_seen(struct exact *e)
{
	uint64_t key = 0;

	for (int d = 0; d < e->x->t->n_domains; d++) {
		uint64_t h = 0;

		for (int k = 0; k < e->n; k++)
			h = column(h, e->w.n[e->job[k]][d]);
		key = add_domain(e, key, h);
	}
	key = rng_mix(key) | 1;
	for (int p = 0; p < PROBES; p++) {
		uint64_t *s = &e->seen[((key >> 32) + (uint64_t)p) % SEEN_SLOTS];

		if (*s == key)
			return true;
		if (!*s) {
			*s = key;
			return false;
		}
	}
	return false; /* no room to remember it */
}

/* --- loans and clusters ------------------------------------------------------------------ */

/* Does a domain have jobs of both clusters, the borrowers' among them? Else one only loses. */
static bool is_parted(const struct exact *e, uint32_t cluster)
{
	for (int d = 0; d < e->x->t->n_domains; d++) {
		bool in = false, out = false;

		for (int k = 0; k < e->n; k++) {
			int i = e->job[k], n = e->w.n[i][d];

			for (int o = 0; o < e->n; o++)
				if (e->w.lent[i] >> e->job[o] & 1)
					n += e->w.n[e->job[o]][d];
			in |= n && cluster >> i & 1;
			out |= n && !(cluster >> i & 1);
		}
		if (in && out)
			return true;
	}
	return false;
}

/* Leaves out what nobody gets anything by; the bits of it, to tell loans apart. */
static uint32_t trim_loans(struct exact *e, const double *idle)
{
	uint32_t bits = 0;

	for (int k = 0; k < e->n; k++)
		for (int o = 0; o < e->n; o++) {
			uint32_t one = UINT32_C(1) << e->job[o];

			if (!is_taker(e, k) || !(idle[o] > 0))
				e->w.lent[e->job[k]] &= ~one;
			if (e->w.lent[e->job[k]] & one)
				bits |= UINT32_C(1) << (k * JOINT_EXACT + o);
		}
	return bits;
}

/* Ways that job[@k] may fill. */
static int ways_of(const struct exact *e, int k)
{
	int ways = e->x->d->m->p.llc_ways, first = ways * e->w.quarters / 4;

	if (!e->w.cluster)
		return 0;
	return e->w.cluster >> e->job[k] & 1 ? first : ways - first;
}

/* With the loans and clusters at hand. */
static double levers_bound(struct exact *e, const double *idle)
{
	double sum = 0;

	for (int k = 0; k < e->n; k++) {
		double lent = 0, speed = alone(e, k, ways_of(e, k));

		for (int o = 0; o < e->n; o++) {
			int takers = 0;

			for (int q = 0; q < e->n; q++)
				takers += (int)(e->w.lent[e->job[q]] >> e->job[o] & 1);
			if (e->w.lent[e->job[k]] >> e->job[o] & 1)
				lent += idle[o] * e->x->d->m->p.fill / takers;
		}
		if (lent > 0)
			speed = fmax(speed, most(e, k, size_of(e, k), lent));
		sum += adds(e, k, speed);
	}
	return sum;
}

static void try_clusters(struct exact *e, const double *idle)
{
	/* One of a pair is as good as the other: the last job is in the second. */
	for (uint32_t set = 0; set < UINT32_C(1) << (e->n - 1); set++) {
		e->w.cluster = 0;
		for (int k = 0; k < e->n; k++)
			if (set >> k & 1)
				e->w.cluster |= UINT32_C(1) << e->job[k];
		if (set && !is_parted(e, e->w.cluster))
			continue;
		for (e->w.quarters = 1; e->w.quarters <= (set ? 3 : 1); e->w.quarters++)
			if (can_win(e, levers_bound(e, idle)))
				evaluate(e);
	}
	e->w.cluster = 0;
	e->w.quarters = 0;
}

static void try_levers(struct exact *e, double bound)
{
	uint32_t tried[JOINT_LOANS];
	double idle[JOINT_EXACT] = {0};
	int n = 0;

	(void)bound;
	if (is_seen(e))
		return;
	for (int k = 0; k < e->n; k++)
		idle[k] = size_of(e, k) * e->pus - busy(e, k, size_of(e, k));
	for (int how = 0; how < JOINT_LOANS && !is_over(e); how++) {
		uint32_t bits;
		bool again = false;

		joint_lend(e->x, how, &e->w);
		bits = trim_loans(e, idle);
		for (int o = 0; o < n; o++)
			again |= tried[o] == bits;
		if (again)
			continue;
		tried[n++] = bits;
		if (can_win(e, levers_bound(e, idle)))
			try_clusters(e, idle);
	}
	e->w.loans = 0;
	memset(e->w.lent, 0, sizeof(e->w.lent));
}

/* --- any cores to anybody ---------------------------------------------------------------- */

static void look_at_dealing(struct exact *e)
{
	double sum = 0;

	for (int k = 0; k < e->n; k++) {
		if (size_of(e, k) == 0)
			return;
		sum += adds(e, k, alone(e, k, 0));
	}
	if (can_win(e, sum) && !is_seen(e))
		evaluate(e);
}

/* The @left cores of domain @d to job[@k] and those behind. */
static void deal_all(struct exact *e, int d, int k, int left)
{
	short *n = &e->w.n[e->job[k]][d];

	if (is_over(e))
		return;
	e->nodes++;
	for (*n = (short)(k == e->n - 1 ? left : 0); *n <= left; ++*n) {
		if (k < e->n - 1)
			deal_all(e, d, k + 1, left - *n);
		else if (d + 1 < e->x->t->n_domains)
			deal_all(e, d + 1, 0, e->all[d + 1]);
		else
			look_at_dealing(e);
	}
	*n = 0;
}

/* --- turns ------------------------------------------------------------------------------- */

/* By set of job[], for slices of one length. */
struct groups {
	double most[1 << JOINT_EXACT];     /* by speeds alone; NAN: not known */
	double above[1 << JOINT_EXACT];    /* what it was searched for: nothing, or best */
	struct way best[1 << JOINT_EXACT]; /* value: above, where nothing was found */
};

static void take_bound(struct exact *e, double bound)
{
	e->best->value = bound;
}

static void look_at_slice(struct exact *e, double bound)
{
	double part = joint_part(e->x, e->n_turns);

	(void)bound;
	e->solves++;
	e->w.value = 0;
	joint_worth(e->x, &e->w);
	for (int k = 0; k < e->n; k++)
		if (size_of(e, k))
			e->w.value += joint_job_worth(
				e->x, e->job[k], part * run_speed(e->x->r, e->job[k], e->x->out));
	if (e->w.value > e->best->value)
		*e->best = e->w;
}

/* The best row of the jobs of @set by themselves, if it is above @above. */
static void search_rows(struct exact *e, uint32_t set, double above, struct way *ret,
	void (*leaf)(struct exact *e, double bound))
{
	struct way *kept = e->best;

	ret->value = above;
	e->best = ret;
	e->leaf = leaf;
	deal_row(e, set, 0, 0);
	e->best = kept;
}

static double most_of(struct exact *e, struct groups *g, uint32_t set)
{
	struct way w;

	if (isnan(g->most[set])) {
		search_rows(e, set, -INFINITY, &w, take_bound);
		g->most[set] = w.value;
	}
	return g->most[set];
}

/* One division into groups: those of job[] with the same turn. */
static void try_groups(struct exact *e, struct groups *g, const int *turn)
{
	struct way w = {.n_turns = e->n_turns};
	uint32_t set[JOINT_EXACT] = {0};
	double most_value = 0;

	for (int k = 0; k < e->n; k++)
		set[turn[k]] |= UINT32_C(1) << k;
	for (int s = 0; s < e->n_turns; s++)
		most_value += most_of(e, g, set[s]);
	for (int s = 0; s < e->n_turns; s++) {
		double above = e->best->value - (most_value - g->most[set[s]]);
		const struct way *slice = &g->best[set[s]];

		if (!can_win(e, most_value))
			return;
		if (above < g->above[set[s]]) {
			g->above[set[s]] = above;
			search_rows(e, set[s], above, &g->best[set[s]], look_at_slice);
		}
		if (slice->value <= above)
			return;
		most_value += slice->value - g->most[set[s]];
		for (int k = 0; k < e->n; k++) {
			if (turn[k] != s)
				continue;
			memcpy(w.n[e->job[k]], slice->n[e->job[k]], sizeof(w.n[0]));
			w.turn[e->job[k]] = (signed char)s;
		}
	}
	if (is_over(e) || !can_win(e, most_value))
		return;
	w.value = joint_worth(e->x, &w);
	if (can_win(e, w.value))
		*e->best = w;
}

/* Every division of job[@k] on into e->n_turns groups, @used of which are begun. */
static void divide(struct exact *e, struct groups *g, int k, int used, int *turn)
{
	if (k == e->n) {
		if (used == e->n_turns)
			try_groups(e, g, turn);
		return;
	}
	for (turn[k] = 0; turn[k] <= used && turn[k] < e->n_turns; turn[k]++)
		divide(e, g, k + 1, used + (turn[k] == used), turn);
}

/* Groups are worth what their parts are worth, for nobody of them runs beside another. */
static bool try_turns(struct exact *e)
{
	struct groups *g = calloc(1, sizeof(*g));
	int turn[JOINT_EXACT];

	for (e->n_turns = 2; e->n_turns <= e->n && g; e->n_turns++) {
		for (int set = 0; set < 1 << JOINT_EXACT; set++) {
			g->most[set] = NAN;
			g->above[set] = INFINITY;
		}
		divide(e, g, 0, 0, turn);
	}
	e->n_turns = 0;
	free(g);
	return g != NULL;
}

/* Are there more rows alone than may be looked at? */
static bool are_too_many(const struct exact *e)
{
	double rows = e->n;

	/* Orders, times the ways to part the cores: e->n! (cores - 1 over e->n - 1). */
	for (int k = 1; k < e->n; k++)
		rows *= e->cores - k;
	return rows > SOLVES_MAX;
}

/* --- all of it --------------------------------------------------------------------------- */

static void begin(struct exact *e, struct way *best)
{
	e->best = best;
	e->n = 0;
	e->n_turns = 0;
	e->solves = e->nodes = 0;
	memset(&e->w, 0, sizeof(e->w));
	memset(e->speed, 0, SPEED_SLOTS * sizeof(*e->speed));
	memset(e->seen, 0, SEEN_SLOTS * sizeof(*e->seen));
	for (int i = 0; i < e->x->d->n_jobs; i++)
		if (e->x->r->job[i].present)
			e->job[e->n++] = i;
	for (int k = 0; k < e->n; k++) {
		e->cap[k] = e->idle[k] = 0;
		for (int n = 1; n <= e->cores; n++) {
			e->idle[k] = fmax(e->idle[k], 1 - busy(e, k, n) / (n * e->pus));
			e->cap[k] = fmax(e->cap[k], most(e, k, n, (e->cores - n) * e->pus));
		}
	}
}

bool exact_search(struct exact *e, struct way *best)
{
	const struct topo *t = e->x->t;
	bool done;

	begin(e, best);
	if (e->n < 1 || e->n > e->cores)
		return e->n < 1;
	/* Turns of those are worth more than the sum of their slices. */
	for (int k = 0; k < e->n; k++)
		if (e->x->r->in[e->job[k]].program->phase[e->x->r->in[e->job[k]].phase].bursty)
			return false;
	if (are_too_many(e))
		return false;
	e->leaf = try_levers;
	deal_row(e, (UINT32_C(1) << e->n) - 1, 0, 0);
	if (t->n_domains <= 2 && e->all[0] <= EVERY_MAX && e->all[t->n_domains - 1] <= EVERY_MAX)
		deal_all(e, 0, 0, e->all[0]);
	done = try_turns(e);
	return done && !is_over(e);
}

/* Each domain has its own cache and its own memory, and all are of one size. */
static bool are_alike(const struct machine *m)
{
	const struct topo *t = m->topo;

	return t->n_domains == m->n_caches && t->n_domains == m->n_memories &&
	       t->n_cores % t->n_domains == 0;
}

/* The cores of a domain are equal where they have one cache and as many threads. */
static bool is_plain(const struct machine *m, struct exact *ret)
{
	const struct topo *t = m->topo;
	int core = 0;

	ret->pus = t->n_pus / t->n_cores;
	ret->alike = are_alike(m);
	for (int d = 0; d < t->n_domains; d++) {
		const struct topo_domain *td = &t->domain[d];
		const int *own = &t->domain_core[td->first_core];

		ret->all[d] = (short)td->n_cores;
		ret->alike &= td->n_cores == t->domain[0].n_cores;
		for (int c = 0; c < td->n_cores; c++) {
			ret->domain[core++] = (signed char)d;
			if (m->core_cache[own[c]] != m->core_cache[own[0]] ||
				coreset_count(&t->core[own[c]].pus) != ret->pus)
				return false;
		}
		for (int o = 0; o < d; o++)
			ret->alike &= m->core_cache[own[0]] !=
				      m->core_cache[t->domain_core[t->domain[o].first_core]];
	}
	ret->cores = core;
	return core == t->n_cores;
}

struct exact *exact_create(struct joint *x)
{
	const struct machine *m = x->d->m;
	struct exact *e;

	if (x->d->n_jobs > JOINT_EXACT || m->topo->n_cores > JOINT_CORES ||
		m->p.numa != NUMA_FOLLOW)
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->x = x;
	e->speed = calloc(SPEED_SLOTS, sizeof(*e->speed));
	e->seen = calloc(SEEN_SLOTS, sizeof(*e->seen));
	if (!e->speed || !e->seen || !is_plain(m, e)) {
		exact_free(e);
		return NULL;
	}
	return e;
}

void exact_free(struct exact *e)
{
	if (!e)
		return;
	free(e->speed);
	free(e->seen);
	free(e);
}
