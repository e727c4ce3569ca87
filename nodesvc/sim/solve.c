/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve.c - the machine's equations.
 *
 * Cores first (who runs how wide, by what penalties), then caches and memory as one fixed point:
 * what a job holds of a cache follows from how fast it misses, how fast it misses from what it
 * holds and from the latency, and the latency from everyone's traffic.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/bursts.h"
#include "nodesvc/sim/solve.h"

#define LINE_BYTES 64.0
/* Write-backs and prefetches on top of demand misses: our assumption. */
#define TRAFFIC_FACTOR 1.3
/* Nobody profits from more cache than this many working sets: there the miss curve is within a
 * tenth of its floor. */
#define OCCUPANCY_CAP 3.0
/* Highest load of the queueing formula; above it the loop closes on the bandwidth. */
#define RHO_MAX    0.985
#define ITERATIONS 200
#define TOLERANCE  1e-7

struct pair {
	int job, cache;
	double share;      /* of the job's threads */
	uint32_t ways;     /* that it may fill */
	double most_bytes; /* per second, that it may draw */
	double hz;
	double working_set; /* bytes in this cache */
	double held;        /* bytes */
	double instr_per_s;
	double misses_per_s;
};

struct solver {
	const struct machine *m;
	int max_jobs, n_pairs, iterations;
	struct pair *pair;    /* [max_jobs * n_caches] jobs ascending */
	int *by_cache;        /* the same, grouped by cache */
	int *first;           /* [n_caches + 1] into by_cache */
	double *latency;      /* [n_memories] seconds, loaded */
	double *load, *gain;  /* [n_memories] bytes/s; step of the search */
	double *step;         /* [n_memories] last change */
	double *penalty;      /* [max_jobs] divisor of the rate */
	double *cpi;          /* [max_jobs] core part */
	double *extra;        /* [max_jobs] lent width */
	double *share;        /* [max_jobs * n_caches] with lent time in it */
	double *demand;       /* [max_jobs] cores */
	double *want, *on;    /* [max_jobs] of a pool: threads while it runs; part of the time */
	double *step_held;    /* [max_jobs] bytes, of one cache */
	unsigned char *fixed; /* [max_jobs] */
};

int solver_create(struct solver **ret, const struct machine *m, int max_jobs, struct errbuf *err)
{
	struct solver *s = calloc(1, sizeof(*s));
	size_t jobs = (size_t)max_jobs, caches = (size_t)m->n_caches;
	size_t memories = (size_t)m->n_memories;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->m = m;
	s->max_jobs = max_jobs;
	s->pair = calloc(jobs * caches, sizeof(*s->pair));
	s->by_cache = calloc(jobs * caches, sizeof(int));
	s->first = calloc(caches + 1, sizeof(int));
	s->latency = calloc(memories, sizeof(double));
	s->load = calloc(memories, sizeof(double));
	s->gain = calloc(memories, sizeof(double));
	s->step = calloc(memories, sizeof(double));
	s->penalty = calloc(jobs, sizeof(double));
	s->cpi = calloc(jobs, sizeof(double));
	s->extra = calloc(jobs, sizeof(double));
	s->share = calloc(jobs * caches, sizeof(double));
	s->demand = calloc(jobs, sizeof(double));
	s->want = calloc(jobs, sizeof(double));
	s->on = calloc(jobs, sizeof(double));
	s->step_held = calloc(jobs, sizeof(double));
	s->fixed = calloc(jobs, 1);
	if (!s->pair || !s->by_cache || !s->first || !s->latency || !s->load || !s->gain ||
		!s->step || !s->penalty || !s->cpi || !s->extra || !s->share || !s->demand ||
		!s->want || !s->on || !s->step_held || !s->fixed) {
		solver_free(s);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = s;
	return 0;
}

void solver_free(struct solver *s)
{
	if (!s)
		return;
	free(s->pair);
	free(s->by_cache);
	free(s->first);
	free(s->latency);
	free(s->load);
	free(s->gain);
	free(s->step);
	free(s->penalty);
	free(s->cpi);
	free(s->extra);
	free(s->share);
	free(s->demand);
	free(s->want);
	free(s->on);
	free(s->step_held);
	free(s->fixed);
	free(s);
}

static bool is_in(const struct layout *l, int i, int pool)
{
	return l->job[i].active && l->job[i].pool == pool;
}

static const struct phase *phase_of(const struct solve_in *in)
{
	return &in->program->phase[in->phase];
}

/*
 * Who computes in bursts is slowed while it computes, by those who do then: as wide as if it had
 * only so much of each core. How often the others do follows from how slow they are.
 */
static void share_bursts(struct solver *s, const struct layout *l, int pool,
	const struct solve_in *in, struct solve_out *out)
{
	double cores = l->pool[pool].pus;

	for (int i = 0; i < l->n_jobs; i++) {
		s->want[i] = is_in(l, i, pool) ? fmin(in[i].threads, l->job[i].pus) : 0;
		s->on[i] = phase_of(&in[i])->bursty ? out[i].utilization : 1;
	}
	for (int round = 0; round < 30; round++)
		for (int i = 0; i < l->n_jobs; i++) {
			double met = 0, part;

			if (!is_in(l, i, pool) || !phase_of(&in[i])->bursty)
				continue;
			for (int j = 0; j < l->n_jobs; j++)
				met += s->want[j];
			met = fmin(1, cores / met);
			part = bursts_part(l->n_jobs, i, s->want, s->on, cores);
			part = 1 / (s->m->p.bursts_meet / met + (1 - s->m->p.bursts_meet) / part);
			out[i].width = s->want[i] * part;
			out[i].utilization =
				program_utilization(in[i].program, in[i].phase, out[i].width);
			s->on[i] = out[i].utilization;
		}
}

/*
 * What a program loses whose threads wait for others that are not running. s->want: threads of each
 * that run, or would; those that poll always do.
 */
static double coupling(
	const struct solver *s, const struct layout *l, const struct solve_in *in, int i)
{
	const struct phase *f = phase_of(&in[i]);
	int pool = l->job[i].pool;
	double all = 0, many, narrow;

	if (!(f->coupled > 0))
		return 0;
	for (int j = 0; j < l->n_jobs; j++)
		all += is_in(l, j, pool) ? s->want[j] : 0;
	many = fmax(0, all / l->pool[pool].pus - 1);
	/* Its own do not keep one another from running where they give way. */
	if (f->waits < WAITS_POLLING)
		many = fmin(many, (all - s->want[i]) / l->pool[pool].pus);
	narrow = fmin(1, fmax(0, (double)in[i].threads / l->job[i].pus - 1));
	return f->coupled * (s->m->p.waits[f->waits] * many + s->m->p.narrow * narrow);
}

/*
 * Time sharing of one pool: Linux is fair by thread, and what one cannot use the others get
 * (water filling). A job that gets g cores' worth of time runs as if it had the width on which it
 * would use g; sharing costs come on top, and only where someone else is there.
 */
static void share_pool(struct solver *s, const struct layout *l, int pool,
	const struct solve_in *in, struct solve_out *out)
{
	const struct penalties *pen = &s->m->p.penalties;
	double cores = l->pool[pool].pus, total = 0, left, level;
	int open = 0;
	double weight = 0;
	bool bursty = false;

	for (int i = 0; i < l->n_jobs; i++) {
		if (!is_in(l, i, pool))
			continue;
		out[i].width = fmin(in[i].threads, l->job[i].pus);
		out[i].utilization = program_utilization(in[i].program, in[i].phase, out[i].width);
		bursty |= phase_of(&in[i])->bursty;
	}
	if (bursty && l->pool[pool].jobs > 1)
		share_bursts(s, l, pool, in, out);
	for (int i = 0; i < l->n_jobs; i++) {
		if (!is_in(l, i, pool))
			continue;
		s->demand[i] = out[i].width * out[i].utilization;
		s->want[i] = in[i].threads * out[i].utilization;
		out[i].busy = s->demand[i];
		total += s->demand[i];
		s->fixed[i] = 0;
		weight += in[i].threads;
		open++;
	}
	left = cores;
	/* Each round fixes at least one job that wants less than its part. */
	for (bool again = total > cores; again && open > 0;) {
		again = false;
		level = left / weight;
		for (int i = 0; i < l->n_jobs; i++) {
			if (!l->job[i].active || l->job[i].pool != pool || s->fixed[i])
				continue;
			if (s->demand[i] > level * in[i].threads)
				continue;
			s->fixed[i] = 1;
			left -= s->demand[i];
			weight -= in[i].threads;
			open--;
			again = true;
		}
	}
	for (int i = 0; i < l->n_jobs; i++) {
		const struct phase *f = &in[i].program->phase[in[i].phase];
		double others;

		if (!l->job[i].active || l->job[i].pool != pool)
			continue;
		s->penalty[i] = 1;
		s->cpi[i] = f->cpi;
		if (total > cores && !s->fixed[i]) {
			out[i].busy = left / weight * in[i].threads;
			out[i].width = program_width(
				in[i].program, in[i].phase, out[i].busy, out[i].width);
			out[i].utilization =
				program_utilization(in[i].program, in[i].phase, out[i].width);
		}
		s->penalty[i] += coupling(s, l, in, i);
		if (l->pool[pool].jobs < 2)
			continue;
		/* How often a core is taken by someone else; our model, so that a neighbour that
		 * sleeps costs nothing. */
		others = fmin(1, (total - s->demand[i]) / cores);
		s->penalty[i] += f->sync * (pen->lock_holder * fmax(0, total / cores - 1) +
						   pen->wake * (1 - out[i].utilization) * others);
		s->cpi[i] *= 1 + pen->context * others;
	}
}

double solver_smt(const struct machine *m, int pus, int cores, double busy)
{
	if (pus <= cores || busy <= cores)
		return 1;
	return 1 + (m->p.smt_cpi - 1) * fmin(1, 2 * (busy - cores) / busy);
}

/* Threads that run beside a busy sibling are slower; they fill empty cores first. */
static void share_siblings(
	struct solver *s, const struct layout *l, int pool, const struct solve_out *out)
{
	double running = 0, slower;

	for (int i = 0; i < l->n_jobs; i++)
		if (l->job[i].active && l->job[i].pool == pool)
			running += out[i].busy;
	slower = solver_smt(s->m, l->pool[pool].pus, l->pool[pool].cores, running);
	for (int i = 0; i < l->n_jobs; i++)
		if (l->job[i].active && l->job[i].pool == pool)
			s->cpi[i] *= slower;
}

/* Threads that wait for one another are no faster by a part of a core (machine.c). */
static bool can_take(const struct layout *l, const struct solve_in *in, int i)
{
	const struct phase *f = &in[i].program->phase[in[i].phase];

	return l->job[i].active && !f->io && f->coupled < PHASE_COUPLED;
}

static void lend(struct solver *s, int donee, double cores, const double *share)
{
	if (!(cores > 0))
		return;
	s->extra[donee] += cores;
	for (int c = 0; c < s->m->n_caches; c++)
		s->share[donee * s->m->n_caches + c] += cores * share[c];
}

/*
 * Idle time that a plan lends (SBMP, PACT 2012, section 3.4, and Callisto, ROSS 2015, section 5.1:
 * threads of much lower priority on others' cores). Several takers of one donor get equal parts.
 */
static void share_idle(struct solver *s, const struct layout *l, const struct solve_in *in,
	const struct solve_out *out)
{
	for (int d = 0; d < l->n_jobs; d++) {
		const struct layout_job *donor = &l->job[d];
		double idle, takers = 0;

		if (!donor->active)
			continue;
		idle = donor->pus;
		for (int i = 0; i < l->n_jobs; i++)
			if (l->job[i].active && l->job[i].pool == donor->pool)
				idle -= out[i].busy;
		/* Members of a group lend their common idle time once. */
		idle = fmax(0, idle) * s->m->p.fill / l->pool[donor->pool].jobs;
		for (int i = 0; i < l->n_jobs; i++)
			for (int k = 0; can_take(l, in, i) && k < l->job[i].n_lent; k++)
				takers += l->job[i].lent[k].donor == d;
		for (int i = 0; i < l->n_jobs; i++)
			for (int k = 0; can_take(l, in, i) && k < l->job[i].n_lent; k++)
				if (l->job[i].lent[k].donor == d)
					lend(s, i, idle * l->job[i].lent[k].part / takers,
						l->job[i].lent[k].share);
	}
}

/* Widens donees, and writes each job's threads per cache. */
static void make_pairs(
	struct solver *s, const struct layout *l, const struct solve_in *in, struct solve_out *out)
{
	int caches = s->m->n_caches, n = 0;

	for (int i = 0; i < l->n_jobs; i++) {
		const struct phase *f = &in[i].program->phase[in[i].phase];
		double room = in[i].threads - out[i].width;
		double scale = s->extra[i] > room ? fmax(0, room) / s->extra[i] : 1;
		double total, best = 0;
		double *share = s->share + (size_t)i * (size_t)caches;

		if (!l->job[i].active || f->io)
			continue;
		if (s->extra[i] > 0) {
			double wide = out[i].width + s->extra[i] * scale;
			/* On borrowed time it sleeps as it would on its own. */
			out[i].lent_busy = s->extra[i] * scale *
					   program_utilization(in[i].program, in[i].phase, wide);
			out[i].busy += out[i].lent_busy;
		}
		total = out[i].width + s->extra[i] * scale;
		for (int c = 0; c < caches; c++) {
			share[c] = (l->job[i].share[c] * out[i].width + share[c] * scale) / total;
			best = fmax(best, share[c]);
		}
		s->extra[i] = total; /* from here on: the whole width */
		s->penalty[i] *= 1 + f->comm * fmax(0, 1 - best);
		for (int c = 0; c < caches; c++) {
			if (share[c] <= 1e-12)
				continue;
			/* Half of a working set is its threads' own and moves with them, half is
			 * read by all and stands in each cache: our assumption. */
			s->pair[n++] = (struct pair){
				.job = i,
				.cache = c,
				.share = share[c],
				.ways = l->job[i].levers.ways,
				.most_bytes = l->job[i].levers.bandwidth * s->m->p.bytes_per_s,
				.hz = l->job[i].levers.clock * s->m->p.hz,
				.working_set = f->working_set_bytes * (0.5 + 0.5 * share[c]),
			};
		}
	}
	s->n_pairs = n;
	n = 0;
	for (int c = 0; c < caches; c++) {
		s->first[c] = n;
		for (int k = 0; k < s->n_pairs; k++)
			if (s->pair[k].cache == c)
				s->by_cache[n++] = k;
	}
	s->first[caches] = n;
}

/* Queueing: our choice of a curve that is flat to half the bandwidth and steep towards it. */
static double loaded_latency(const struct machine_params *p, double rho)
{
	rho = fmin(rho, RHO_MAX);
	return p->latency_s * (1 + 0.55 * rho * rho * rho / (1 - rho));
}

static double pair_latency(const struct solver *s, const struct pair *q, const struct solve_in *in)
{
	int here = s->m->cache_memory[q->cache];
	double sum = 0;

	if (!in->home)
		return s->latency[here];
	for (int m = 0; m < s->m->n_memories; m++)
		sum += in->home[m] * s->latency[m] * (m == here ? 1 : s->m->p.remote);
	return sum;
}

/* One pass over all pairs; returns the largest relative change of a rate. */
static double rates(struct solver *s, const struct solve_in *in)
{
	double change = 0;

	memset(s->load, 0, (size_t)s->m->n_memories * sizeof(double));
	for (int k = 0; k < s->n_pairs; k++) {
		struct pair *q = &s->pair[k];
		const struct solve_in *job = &in[q->job];
		const struct phase *f = &job->program->phase[job->phase];
		double miss = f->refs * phase_miss_ratio(f, q->held, q->working_set);
		double cycles = s->cpi[q->job] + miss * pair_latency(s, q, job) * q->hz / f->mlp;
		double rate = phase_speedup(f, s->extra[q->job]) * q->share * q->hz / cycles /
			      s->penalty[q->job];
		double bytes = rate * miss * LINE_BYTES * TRAFFIC_FACTOR;

		/* MBA delays requests; here: until no more than the part that was set gets by. */
		if (bytes > q->most_bytes && q->most_bytes < s->m->p.bytes_per_s)
			rate *= q->most_bytes / bytes;
		change = fmax(change, fabs(rate - q->instr_per_s) / rate);
		q->instr_per_s = rate;
		q->misses_per_s = rate * miss;
		bytes = q->misses_per_s * LINE_BYTES * TRAFFIC_FACTOR;
		if (job->home)
			for (int m = 0; m < s->m->n_memories; m++)
				s->load[m] += bytes * job->home[m];
		else
			s->load[s->m->cache_memory[q->cache]] += bytes;
	}
	return change;
}

/*
 * One cache whose ways are not open to all alike: way by way as below, a job inserting evenly into
 * those it may fill; what one does not want of a way (its cap) the others of that way get.
 */
static double fill_ways(struct solver *s, int first, int last)
{
	double size = s->m->llc_bytes / s->m->p.llc_ways, change = 0;

	for (int k = first; k < last; k++)
		s->step_held[k - first] = 0;
	for (int w = 0; w < s->m->p.llc_ways; w++) {
		double left = size, sum = 0;
		bool again = true;

		for (int k = first; k < last; k++) {
			const struct pair *q = &s->pair[s->by_cache[k]];

			s->fixed[k - first] = !(q->ways >> w & 1);
			if (!s->fixed[k - first])
				sum += (q->misses_per_s + 1e-3) / __builtin_popcount(q->ways);
		}
		while (again) {
			again = false;
			for (int k = first; k < last; k++) {
				const struct pair *q = &s->pair[s->by_cache[k]];
				int n = __builtin_popcount(q->ways);
				double want = (q->misses_per_s + 1e-3) / n;
				double cap = OCCUPANCY_CAP * q->working_set / n;

				if (s->fixed[k - first] || left * want / sum < cap)
					continue;
				s->fixed[k - first] = 1;
				s->step_held[k - first] += cap;
				left -= cap;
				sum -= want;
				again = true;
				break;
			}
		}
		for (int k = first; k < last; k++) {
			const struct pair *q = &s->pair[s->by_cache[k]];

			if (!s->fixed[k - first])
				s->step_held[k - first] += left * (q->misses_per_s + 1e-3) /
							   __builtin_popcount(q->ways) / sum;
		}
	}
	for (int k = first; k < last; k++) {
		struct pair *q = &s->pair[s->by_cache[k]];

		change = fmax(change, fabs(s->step_held[k - first] - q->held));
		q->held += 0.5 * (s->step_held[k - first] - q->held);
	}
	return change / s->m->llc_bytes;
}

/*
 * One cache: occupancy in proportion to insertions, as under random replacement; what exceeds a
 * job's cap goes to the others. Returns the largest change, relative to the cache.
 */
static double fill_cache(struct solver *s, int cache)
{
	int first = s->first[cache], last = s->first[cache + 1];
	double left = s->m->llc_bytes, sum = 0, change = 0;
	bool again = true;

	for (int k = first; k < last; k++)
		if (s->pair[s->by_cache[k]].ways != s->pair[s->by_cache[first]].ways)
			return fill_ways(s, first, last);
	if (last > first)
		left *= (double)__builtin_popcount(s->pair[s->by_cache[first]].ways) /
			s->m->p.llc_ways;

	for (int k = first; k < last; k++) {
		sum += s->pair[s->by_cache[k]].misses_per_s + 1e-3;
		s->fixed[k - first] = 0;
	}
	while (again) {
		again = false;
		for (int k = first; k < last; k++) {
			struct pair *q = &s->pair[s->by_cache[k]];
			double cap = OCCUPANCY_CAP * q->working_set, want = q->misses_per_s + 1e-3;

			if (s->fixed[k - first] || left * want / sum < cap)
				continue;
			s->fixed[k - first] = 1;
			change = fmax(change, fabs(cap - q->held));
			q->held = cap;
			left -= cap;
			sum -= want;
			again = true;
			break;
		}
	}
	for (int k = first; k < last; k++) {
		struct pair *q = &s->pair[s->by_cache[k]];
		double next;

		if (s->fixed[k - first])
			continue;
		next = left * (q->misses_per_s + 1e-3) / sum;
		change = fmax(change, fabs(next - q->held));
		q->held += 0.5 * (next - q->held);
	}
	return change / s->m->llc_bytes;
}

/*
 * Latency by a damped step in its logarithm; the step shrinks when the direction turns, so the
 * steep part of the curve is met like by bisection. At saturation the latency grows until the
 * demand is what the memory can give.
 */
static double load_memory(struct solver *s, int m)
{
	double rho = s->load[m] / s->m->p.bytes_per_s, most = loaded_latency(&s->m->p, RHO_MAX);
	double next = loaded_latency(&s->m->p, rho), step;

	if (s->latency[m] * rho / RHO_MAX > next && s->latency[m] >= most * 0.999)
		next = s->latency[m] * rho / RHO_MAX;
	else if (rho > RHO_MAX)
		next = fmax(next, s->latency[m] * rho / RHO_MAX);
	step = log(next / s->latency[m]);
	if (step * s->step[m] < 0)
		s->gain[m] = fmax(0.01, 0.5 * s->gain[m]);
	else
		s->gain[m] = fmin(0.6, 1.1 * s->gain[m]);
	s->step[m] = step;
	s->latency[m] *= exp(s->gain[m] * step);
	return fabs(step);
}

void solver_run(
	struct solver *s, const struct layout *l, const struct solve_in *in, struct solve_out *ret)
{
	size_t caches = (size_t)s->m->n_caches, jobs = (size_t)l->n_jobs;

	memset(ret, 0, jobs * sizeof(*ret));
	memset(s->extra, 0, jobs * sizeof(double));
	memset(s->share, 0, jobs * caches * sizeof(double));
	for (int p = 0; p < l->n_pools; p++) {
		share_pool(s, l, p, in, ret);
		share_siblings(s, l, p, ret);
	}
	share_idle(s, l, in, ret);
	make_pairs(s, l, in, ret);
	for (int k = 0; k < s->n_pairs; k++) {
		struct pair *q = &s->pair[k];

		q->held = fmin(OCCUPANCY_CAP * q->working_set,
			s->m->llc_bytes / (s->first[q->cache + 1] - s->first[q->cache]));
	}
	for (int m = 0; m < s->m->n_memories; m++) {
		s->latency[m] = s->m->p.latency_s;
		s->gain[m] = 0.5;
		s->step[m] = 0;
	}
	for (s->iterations = 1; s->iterations < ITERATIONS; s->iterations++) {
		double change = rates(s, in);

		for (int c = 0; c < s->m->n_caches; c++)
			change = fmax(change, fill_cache(s, c));
		for (int m = 0; m < s->m->n_memories; m++)
			change = fmax(change, load_memory(s, m));
		if (change < TOLERANCE)
			break;
	}
	for (int k = 0; k < s->n_pairs; k++) {
		const struct pair *q = &s->pair[k];

		ret[q->job].instr_per_s += q->instr_per_s;
		ret[q->job].misses_per_s += q->misses_per_s;
		ret[q->job].bytes_per_s += q->misses_per_s * LINE_BYTES * TRAFFIC_FACTOR;
		ret[q->job].width = s->extra[q->job];
	}
	for (int i = 0; i < l->n_jobs; i++) {
		const struct phase *f = &in[i].program->phase[in[i].phase];

		if (!l->job[i].active || !f->io)
			continue;
		ret[i].io_rate = 1;
		/* What little it runs: no part of its progress, but counters see it. */
		ret[i].instr_per_s = ret[i].busy * l->job[i].levers.clock * s->m->p.hz / f->cpi;
	}
}

double solver_most(
	const struct machine *m, const struct phase *f, double width, double cpi, int memories)
{
	double half = 0.5 * f->working_set_bytes; /* the least of it in one cache */
	double miss = f->refs * phase_miss_ratio(f, fmin(m->llc_bytes, OCCUPANCY_CAP * half), half);
	double cycles = f->cpi * cpi + miss * m->p.latency_s * m->p.hz / f->mlp;
	double rate = phase_speedup(f, width) * m->p.hz / cycles;
	double bytes = rate * miss * LINE_BYTES * TRAFFIC_FACTOR;

	return bytes > memories * m->p.bytes_per_s ? rate * memories * m->p.bytes_per_s / bytes
						   : rate;
}

double solver_occupancy(const struct solver *s, int i, int c)
{
	for (int k = 0; k < s->n_pairs; k++)
		if (s->pair[k].job == i && s->pair[k].cache == c)
			return s->pair[k].held;
	return 0;
}

int solver_iterations(const struct solver *s)
{
	return s->iterations;
}
