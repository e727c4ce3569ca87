/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/bursts.h"
#include "nodesvc/sim/rng.h"
#include "nodesvc/sim/run.h"

#define MEMO_SLOTS 1024

/*
 * Rates by (placement, phases, homes). Direct-mapped, told apart by a 64-bit hash of all three:
 * with a few thousand states per run a false hit has odds of about 1 in 10^12.
 */
struct memo {
	uint64_t key[MEMO_SLOTS];
	struct solve_out *out; /* [MEMO_SLOTS * n_jobs] */
};

void run_share_coreset(const struct topo *t, int k, int n, struct coreset *ret)
{
	int base = t->n_cores / n, rest = t->n_cores % n;
	int first = k * base + (k < rest ? k : rest), count = base + (k < rest);

	if (base == 0) {
		first = k % t->n_cores;
		count = 1;
	}
	coreset_zero(ret);
	for (int i = first; i < first + count; i++)
		coreset_or(ret, ret, &t->core[t->domain_core[i]].pus);
}

/* First @n cores in the order of the domains. */
static void first_cores(const struct topo *t, int n, struct coreset *ret)
{
	coreset_zero(ret);
	for (int i = 0; i < n && i < t->n_cores; i++)
		coreset_or(ret, ret, &t->core[t->domain_core[i]].pus);
}

/* Seconds of each phase of job @i alone on @cores; instr[] must be known. Returns their sum. */
static double solo(struct run *r, int i, const struct coreset *cores, double *ret_s)
{
	struct run_job *j = &r->job[i];
	struct place place = {.active = true, .own = *cores};
	double sum = 0;

	layout_set(&r->layout[0], &place, 1);
	for (int f = 0; f < j->spec.program->n_phases; f++) {
		struct solve_in in = {j->spec.program, f, j->threads, NULL};
		struct solve_out out;

		solver_run(r->solver, &r->layout[0], &in, &out);
		if (j->spec.program->phase[f].io)
			ret_s[f] = j->spec.program->phase[f].seconds;
		else if (j->instr[f] > 0)
			ret_s[f] = j->instr[f] / out.instr_per_s;
		else
			ret_s[f] = out.instr_per_s; /* asked for the rate */
		sum += ret_s[f];
	}
	return sum;
}

static void solo_times(struct run *r, int i)
{
	struct run_job *j = &r->job[i];
	const struct program *p = j->spec.program;
	const struct topo *t = r->m->topo;
	int unit = t->n_cores / t->n_domains > 0 ? t->n_cores / t->n_domains : 1;
	double rate[PROGRAM_PHASES_MAX], times[PROGRAM_PHASES_MAX], best = DBL_MAX;
	struct coreset set;

	memset(j->instr, 0, sizeof(j->instr));
	solo(r, i, &t->all, rate);
	for (int f = 0; f < p->n_phases; f++)
		j->instr[f] = p->phase[f].io ? 0 : p->phase[f].seconds * rate[f];
	solo(r, i, &t->all, j->phase_all_s);
	for (int n = unit; n <= t->n_cores; n += unit) {
		double sum;

		first_cores(t, n, &set);
		sum = solo(r, i, &set, times);
		if (sum < best) {
			best = sum;
			memcpy(j->phase_best_s, times, sizeof(times));
		}
	}
	run_share_coreset(t, 0, r->n_jobs, &set);
	solo(r, i, &set, j->phase_share_s);
	first_cores(t, t->domain[0].n_cores, &set);
	solo(r, i, &set, j->phase_domain_s);
}

int run_create(struct run **ret, const struct machine *m, const struct run_spec *spec, int n_jobs,
	struct errbuf *err)
{
	size_t n = (size_t)n_jobs, memories = (size_t)m->n_memories;
	struct run *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->m = m;
	r->n_jobs = n_jobs;
	r->job = calloc(n, sizeof(*r->job));
	r->place = calloc(n, sizeof(*r->place));
	r->layout = calloc(RUN_SLICES_MAX, sizeof(*r->layout));
	r->weight = calloc(RUN_SLICES_MAX, sizeof(double));
	r->in = calloc(n, sizeof(*r->in));
	r->out = calloc(n, sizeof(*r->out));
	r->part = calloc(n, sizeof(*r->part));
	r->homes = calloc(n * memories, sizeof(double));
	r->memo = calloc(1, sizeof(*r->memo));
	if (r->memo)
		r->memo->out = calloc(n * MEMO_SLOTS, sizeof(*r->memo->out));
	if (!r->job || !r->place || !r->layout || !r->weight || !r->in || !r->out || !r->part ||
		!r->homes || !r->memo || !r->memo->out)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = solver_create(&r->solver, m, n_jobs, err);
	if (!rc)
		rc = layout_init(&r->layout[0], m, n_jobs, err);
	r->max_layouts = rc ? 0 : 1;
	for (int i = 0; i < n_jobs && !rc; i++) {
		struct run_job *j = &r->job[i];

		rc = program_check(spec[i].program, err);
		if (rc) {
			err_wrap(err, rc, "program '%s'", spec[i].program->name);
			break;
		}
		j->spec = spec[i];
		j->threads = spec[i].threads > 0 ? spec[i].threads : m->topo->n_pus;
		j->present = spec[i].arrival_s <= 0;
		j->home = r->homes + (size_t)i * memories;
		solo_times(r, i);
	}
	if (rc) {
		run_free(r);
		return rc;
	}
	r->n_layouts = 0;
	r->stale = true;
	*ret = r;
	return 0;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	for (int k = 0; k < r->max_layouts; k++)
		layout_done(&r->layout[k]);
	solver_free(r->solver);
	if (r->memo)
		free(r->memo->out);
	free(r->memo);
	free(r->job);
	free(r->place);
	free(r->layout);
	free(r->weight);
	free(r->in);
	free(r->out);
	free(r->part);
	free(r->homes);
	free(r);
}

bool run_is_over(const struct run *r, int i)
{
	return r->job[i].spec.runs > 0 && r->job[i].runs >= r->job[i].spec.runs;
}

/*
 * Pages are first touched where a process first runs (sticky memory only): when time goes on, not
 * when it is placed, for it may be placed again before that.
 */
static void settle_homes(struct run *r)
{
	bool settled = true;

	if (r->m->p.numa != NUMA_STICKY)
		return;
	for (int i = 0; i < r->n_jobs; i++)
		settled &= r->job[i].has_home || !r->layout[0].job[i].active;
	if (settled)
		return;
	for (int i = 0; i < r->n_jobs; i++) {
		struct run_job *j = &r->job[i];
		const struct layout_job *l = &r->layout[0].job[i];

		if (j->has_home || !l->active)
			continue;
		memset(j->home, 0, (size_t)r->m->n_memories * sizeof(double));
		for (int c = 0; c < r->m->n_caches; c++)
			j->home[r->m->cache_memory[c]] += l->share[c];
		j->has_home = true;
	}
	r->home_hash = 0;
	for (int i = 0; i < r->n_jobs * r->m->n_memories; i++)
		r->home_hash = rng_mix(r->home_hash + (uint64_t)(r->homes[i] * 1e9));
	r->stale = true;
}

void run_place(struct run *r, const struct place *place, const struct run_slice *slice, int n)
{
	int slices = n > RUN_SLICES_MAX ? RUN_SLICES_MAX : n;
	double total = 0;

	for (int i = 0; i < r->n_jobs; i++) {
		struct run_job *j = &r->job[i];
		struct coreset fresh;
		int all = coreset_count(&place[i].own);
		double part;

		if (!j->present || coreset_is_empty(&r->place[i].own))
			continue;
		coreset_andnot(&fresh, &place[i].own, &r->place[i].own);
		part = all > 0 ? (double)coreset_count(&fresh) / all : 0;
		r->moves += !coreset_is_equal(&place[i].own, &r->place[i].own);
		if (part <= 0)
			continue;
		if (r->now_s < j->warm_until_s)
			part = fmax(part, j->warm_part);
		j->warm_part = part;
		j->warm_until_s = r->now_s + r->m->p.warmup_s;
	}
	memcpy(r->place, place, (size_t)r->n_jobs * sizeof(*place));
	for (int i = 0; i < r->n_jobs; i++)
		if (!place[i].levers.ways && !(place[i].levers.bandwidth > 0) &&
			!(place[i].levers.clock > 0))
			r->place[i].levers = r->job[i].spec.levers;
	for (int k = 0; k < slices; k++)
		total += slice[k].seconds;
	for (int k = 0; k < (slices > 0 ? slices : 1); k++) {
		struct place *p = r->place;
		/* NOLINTNEXTLINE(clang-analyzer-core.VLASize): a run has jobs */
		bool kept[r->n_jobs];

		if (k >= r->max_layouts) {
			if (layout_init(&r->layout[k], r->m, r->n_jobs, NULL))
				break; /* out of memory: fewer slices */
			r->max_layouts = k + 1;
		}
		for (int i = 0; i < r->n_jobs; i++) {
			kept[i] = p[i].active;
			p[i].active &= r->job[i].present && (slices == 0 || slice[k].active[i]);
		}
		layout_set(&r->layout[k], p, r->n_jobs);
		for (int i = 0; i < r->n_jobs; i++)
			/* cppcheck-suppress uninitvar ; the loop above filled it */
			p[i].active = kept[i];
		r->weight[k] =
			slices == 0 ? 1 : fmax(0, slice[k].seconds - r->m->p.gang_switch_s) / total;
		r->n_layouts = k + 1;
	}
	r->stale = true;
}

static void add_part(struct solve_out *sum, const struct solve_out *part, double weight)
{
	sum->instr_per_s += weight * part->instr_per_s;
	sum->io_rate += weight * part->io_rate;
	sum->width += weight * part->width;
	sum->utilization += weight * part->utilization;
	sum->busy += weight * part->busy;
	sum->lent_busy += weight * part->lent_busy;
	sum->misses_per_s += weight * part->misses_per_s;
	sum->bytes_per_s += weight * part->bytes_per_s;
}

static const struct phase *phase_now(const struct run *r, int i)
{
	return &r->job[i].spec.program->phase[r->job[i].phase];
}

/* Its slices' part of the time: 1 where it has all, or there are none. */
static double slices_of(const struct run *r, int i)
{
	double sum = 0;

	for (int k = 0; k < r->n_layouts; k++)
		sum += r->layout[k].job[i].active ? r->weight[k] : 0;
	return sum;
}

static bool is_beside(const struct run *r, int a, int b)
{
	for (int k = 0; k < r->n_layouts; k++)
		if (r->layout[k].job[a].active && r->layout[k].job[b].active)
			return true;
	return false;
}

/*
 * A turn that one sleeps through the others get, and what it waits for goes on while it is frozen:
 * each has the part that the slices give it among those that want the cores. r->out: by slices.
 */
static void share_turns(struct run *r)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.VLASize): a run has jobs */
	double want[r->n_jobs], on[r->n_jobs], width[r->n_jobs], part[r->n_jobs], all = 0;
	bool bursty = false;

	for (int k = 0; k < r->n_layouts; k++)
		all += r->weight[k];
	for (int i = 0; i < r->n_jobs; i++) {
		want[i] = slices_of(r, i);
		width[i] = want[i] > 0 ? r->out[i].width / want[i] : 0;
		on[i] = 1;
		bursty |= want[i] > 0 && phase_now(r, i)->bursty;
	}
	if (!bursty)
		return;
	for (int round = 0; round < 30; round++)
		for (int i = 0; i < r->n_jobs; i++) {
			double rivals[r->n_jobs];

			for (int j = 0; j < r->n_jobs; j++)
				rivals[j] = j == i || !is_beside(r, i, j) ? want[j] : 0;
			part[i] = want[i] > 0 ? all * bursts_part(r->n_jobs, i, rivals, on, want[i])
					      : 0;
			if (want[i] > 0 && phase_now(r, i)->bursty)
				on[i] = program_utilization(r->job[i].spec.program, r->job[i].phase,
					part[i] * width[i]);
		}
	for (int i = 0; i < r->n_jobs; i++) {
		const struct phase *f = phase_now(r, i);
		struct solve_out *o = &r->out[i], was = *o;
		double more;

		if (!(want[i] > 0) || !(width[i] > 0))
			continue;
		more = part[i] / want[i];
		if (f->bursty)
			more = phase_speedup(f, part[i] * width[i]) / phase_speedup(f, width[i]) /
			       want[i];
		memset(o, 0, sizeof(*o));
		add_part(o, &was, more);
		if (f->bursty)
			o->utilization = on[i];
	}
}

const struct solve_out *run_rates(struct run *r)
{
	uint64_t key = r->home_hash;
	size_t slot, n = (size_t)r->n_jobs;

	if (!r->stale)
		return r->out;
	r->stale = false;
	for (int k = 0; k < r->n_layouts; k++)
		key = rng_mix(key + r->layout[k].hash) + (uint64_t)(r->weight[k] * 1e9);
	for (int i = 0; i < r->n_jobs; i++) {
		const struct run_job *j = &r->job[i];

		r->in[i] = (struct solve_in){
			j->spec.program, j->phase, j->threads, j->has_home ? j->home : NULL};
		key = rng_mix(key + (uint64_t)j->phase + (j->present ? 64 : 0));
	}
	key |= 1; /* 0: empty slot */
	slot = (size_t)(key >> 32) % MEMO_SLOTS;
	if (r->memo->key[slot] == key) {
		memcpy(r->out, r->memo->out + slot * n, n * sizeof(*r->out));
		return r->out;
	}
	memset(r->out, 0, n * sizeof(*r->out));
	for (int k = 0; k < r->n_layouts; k++) {
		solver_run(r->solver, &r->layout[k], r->in, r->part);
		for (int i = 0; i < r->n_jobs; i++)
			add_part(&r->out[i], &r->part[i], r->weight[k]);
	}
	if (r->n_layouts > 1)
		share_turns(r);
	r->memo->key[slot] = key;
	memcpy(r->memo->out + slot * n, r->out, n * sizeof(*r->out));
	return r->out;
}

/* Parts of the present phase done per second. */
static double phase_rate(const struct run *r, int i)
{
	const struct run_job *j = &r->job[i];
	const struct phase *f = &j->spec.program->phase[j->phase];

	if (!j->present)
		return 0;
	if (f->io)
		return r->out[i].io_rate / f->seconds;
	return r->out[i].instr_per_s / j->instr[j->phase] *
	       (r->now_s < j->warm_until_s ? 1 - 0.5 * j->warm_part : 1);
}

double run_speed(const struct run *r, int i, const struct solve_out *o)
{
	const struct run_job *j = &r->job[i];

	if (j->spec.program->phase[j->phase].io)
		return o[i].io_rate;
	return o[i].instr_per_s / j->instr[j->phase] * j->phase_share_s[j->phase];
}

static void integrate(struct run *r, double dt)
{
	for (int i = 0; i < r->n_jobs; i++) {
		struct run_job *j = &r->job[i];
		const struct phase *f = &j->spec.program->phase[j->phase];
		const struct solve_out *o = &r->out[i];
		double slow = r->now_s < j->warm_until_s ? 1 - 0.5 * j->warm_part : 1;
		double part = phase_rate(r, i) * dt, instr = o->instr_per_s * dt * slow;

		if (!j->present)
			continue;
		j->present_s += dt;
		j->done += part;
		j->all_s += part * j->phase_all_s[j->phase];
		j->best_s += part * j->phase_best_s[j->phase];
		j->share_s += part * j->phase_share_s[j->phase];
		j->counts.instr += instr;
		j->counts.loads += instr * f->loads;
		j->counts.refs += f->io ? 0 : instr * f->refs;
		j->counts.misses += o->misses_per_s * dt * slow;
		j->counts.bytes += o->bytes_per_s * dt * slow;
		j->counts.utilization_s += o->utilization * dt;
		j->counts.executed_s += (o->busy - o->lent_busy) * dt;
		for (int k = 0; k < r->n_layouts; k++)
			if (r->layout[k].job[i].active)
				j->counts.own_s += r->weight[k] * r->layout[k].job[i].pus * dt;
	}
	r->now_s += dt;
}

static enum run_event end_phase(struct run *r, int i)
{
	struct run_job *j = &r->job[i];

	j->done = 0;
	r->stale = true;
	if (++j->phase < j->spec.program->n_phases)
		return RUN_PHASE;
	j->phase = 0;
	j->runs++;
	j->run_sum_s += r->now_s - j->started_s;
	j->started_s = r->now_s;
	j->has_home = false; /* a new process touches its memory anew */
	if (run_is_over(r, i))
		j->present = false;
	return RUN_ENDED;
}

enum run_event run_advance(struct run *r, double until_s, int *ret_job)
{
	*ret_job = -1;
	while (r->now_s < until_s) {
		double next = until_s;
		int who = -1;
		bool arrives = false;

		settle_homes(r);
		run_rates(r);
		for (int i = 0; i < r->n_jobs; i++) {
			struct run_job *j = &r->job[i];
			double rate = phase_rate(r, i), end;

			if (!j->present && !run_is_over(r, i) && j->spec.arrival_s < next) {
				next = fmax(j->spec.arrival_s, r->now_s);
				who = i;
				arrives = true;
			}
			if (j->present && r->now_s < j->warm_until_s && j->warm_until_s < next) {
				next = j->warm_until_s;
				who = -1;
				arrives = false;
			}
			end = rate > 0 ? r->now_s + (1 - j->done) / rate : DBL_MAX;
			if (j->present && end <= next) {
				next = end;
				who = i;
				arrives = false;
			}
		}
		integrate(r, next - r->now_s);
		r->now_s = next;
		if (who < 0)
			continue;
		*ret_job = who;
		if (arrives) {
			r->job[who].present = true;
			r->job[who].started_s = r->now_s;
			r->stale = true;
			return RUN_ARRIVED;
		}
		return end_phase(r, who);
	}
	return RUN_UNTIL;
}
