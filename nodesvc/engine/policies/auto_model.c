/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto_model.c - what is known of programs and their phases, and how sure that is.
 */
#include <math.h>
#include <string.h>

#include "nodesvc/engine/policies/auto.h"

#define SMOOTH      0.25
#define SLOW        0.1  /* of what hardly changes: signature, bytes, misses */
#define NEAR_REFS   0.25 /* ln: further off is another phase */
#define NEAR_LOADS  0.12
#define DEVIATING   3    /* samples in a row */
#define IDLE_BELOW  0.5  /* cores that it uses */
#define AWAKE_FROM  0.8  /* utilisation */
#define NEAR_BUSY   0.15 /* utilisation on as many cores */
#define SEEN_MOST   64   /* samples that count; so that old ones fade */
#define NOISE       0.02 /* of a sample; counters that take turns are good to that */
#define MISFIT      0.03 /* of the model, however many samples */
#define STORED_OFF  0.10 /* of a speed of earlier runs: other input, all phases, other company */
#define STORED_MOST 16   /* of chi squared: what is seen now has the last word */
#define LATENCY_TOP 0.95 /* load beyond which a memory gives no more */
/*
 * Cycles that a miss costs over those of an instruction without, where nothing is known but its
 * misses: 85 ns at 2.2 GHz, four at a time, over 0.67. The grid has a quarter to four times that.
 */
#define STALL_PER_MISS 70.0
/* Most programs have 0.3 to 0.7 (Hartstein et al., Computing Frontiers 2006), but not all. */
#define THETA_OFF   0.8
#define THETA_MOST  2.0
#define MISS_OFF    0.05 /* ln: of misses beside one company */
#define WALLED_NEAR 0.15 /* ln: parts of the cache that count as one */
#define BYTES_PER_S 4e9  /* of memory for each core, until more was seen */
#define LINE_BYTES  64
#define BLOCK       8 /* widths of a curve that are summed at once: the compiler's vectors */

static const double alphas[AUTO_ALPHAS] = {0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 1};
static const double alpha_prior[AUTO_ALPHAS] = {1, 1, 1.5, 1.5, 1.5, 2, 1, 0.2};
static const double gammas[AUTO_GAMMAS] = {0, 5e-4, 5e-3, 2.5e-2};
static const double gamma_prior[AUTO_GAMMAS] = {1, 0.6, 0.15, 0.05};
static const double stalls[AUTO_STALLS] = {0.25, 0.6, 1.5, 4};
static const double stall_prior[AUTO_STALLS] = {0.6, 1, 1, 0.4};
/* Part of what is lost by imperfect scaling that shows as sleep, and how far off that may be. */
#define SLEEP_PART      0.6
#define EFFICIENCY_OFF  0.2
#define EFFICIENCY_TAIL 0.02
/*
 * The same of curves below what is seen: threads that spin, or wait for memory, are busy. Of nine
 * real programs, all busy, five had an alpha of 0.3 or more (nodesvc/sim/models).
 */
#define BUSY_TAIL 1.0

void auto_model_init(struct auto_model *m, const struct policy_cfg *cfg)
{
	size_t jobs = (size_t)cfg->max_jobs, stride;

	m->t = cfg->topo;
	m->max_jobs = cfg->max_jobs;
	m->most = cfg->topo->n_cores;
	m->stride = (m->most / BLOCK + 1) * BLOCK;
	stride = (size_t)m->stride;
	m->n_programs = cfg->max_jobs + 32; /* so that some that are gone are remembered */
	m->program = arena_alloc(cfg->memory, (size_t)m->n_programs, sizeof(*m->program));
	m->job = arena_alloc(cfg->memory, jobs, sizeof(*m->job));
	m->curve = arena_alloc(cfg->memory, jobs * stride, sizeof(float));
	m->speedup = arena_alloc(cfg->memory, AUTO_CURVES * stride, sizeof(float));
	m->capacity = arena_alloc(cfg->memory, (size_t)cfg->topo->n_domains, sizeof(double));
	for (int c = 0; m->speedup && c < AUTO_CURVES; c++)
		for (int n = 1; n <= m->most; n++) {
			double a = alphas[c / AUTO_GAMMAS], g = gammas[c % AUTO_GAMMAS];

			if (a + g > 1)
				g = 0;
			m->speedup[c * m->stride + n] = (float)-log(a + (1 - a - g) / n + g * n);
		}
	for (int d = 0; m->capacity && d < cfg->topo->n_domains; d++)
		m->capacity[d] = BYTES_PER_S * cfg->topo->domain[d].n_cores;
}

static bool is_known(const struct view_job *j, enum signal_id id)
{
	return j->signal[id].provenance != PROVENANCE_NONE;
}

double auto_live_speed(const struct view_job *j)
{
	const struct signal *s = &j->signal[SIGNAL_PROGRESS];

	if (is_known(j, SIGNAL_PROGRESS))
		return s->value > 0 ? s->value : 0;
	/* Of a stored profile they say nothing about now. */
	s = &j->signal[SIGNAL_INSTRUCTIONS];
	if (s->provenance != PROVENANCE_HW || !(s->value > 0))
		return 0;
	return s->value * (j->threads > 0 ? j->threads : 1);
}

double auto_traffic(const struct view_job *j)
{
	int threads = j->threads > 0 ? j->threads : 1;

	if (is_known(j, SIGNAL_MEM_BYTES))
		return j->signal[SIGNAL_MEM_BYTES].value * threads;
	if (is_known(j, SIGNAL_LLC_MISSES))
		return j->signal[SIGNAL_LLC_MISSES].value * LINE_BYTES * threads;
	return NAN;
}

double auto_latency(double load)
{
	double r = load < LATENCY_TOP ? load : LATENCY_TOP;
	double l = 1 + r / (2 * (1 - r));

	return load > LATENCY_TOP ? l * load / LATENCY_TOP : l;
}

double auto_speedup(const struct auto_model *m, int curve, double n)
{
	const float *s = m->speedup + (ptrdiff_t)curve * m->stride;
	int low = (int)n;

	if (n <= 1)
		return log(n > 0.01 ? n : 0.01);
	if (low >= m->most)
		return s[m->most];
	return s[low] + (s[low + 1] - s[low]) * (n - low);
}

static uint64_t hash_name(const struct view_job *j)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	h = (h ^ (uint64_t)j->owner) * 1099511628211u;
	for (const char *c = j->type ? j->type : j->id; *c; c++)
		h = (h ^ (uint64_t)(unsigned char)*c) * 1099511628211u;
	return h ? h : 1;
}

/* The owner's program of that name; else a free place; else that of the one nobody is for the
 * longest. */
static int find_program(struct auto_model *m, uint64_t name, int64_t owner, double now_s)
{
	int best = -1;

	for (int i = 0; i < m->n_programs; i++)
		if (m->program[i].name == name && m->program[i].owner == owner)
			return i;
	for (int i = 0; i < m->n_programs; i++) {
		if (m->program[i].name && m->program[i].used_s >= now_s)
			continue; /* someone lives there */
		if (best < 0 || !m->program[i].name ||
			(m->program[best].name && m->program[i].used_s < m->program[best].used_s))
			best = i;
		if (!m->program[i].name)
			break;
	}
	/* There are more places than jobs. */
	m->program[best] = (struct auto_program){.name = name, .owner = owner};
	return best;
}

static void begin_phase(struct auto_phase *f, const struct auto_phase *like)
{
	*f = *like;
	f->used = true;
	f->fitted = -1;
}

static void take_stored(struct auto_program *p, const struct view_job *j)
{
	p->n_stored = 0;
	for (int i = 0; i < j->n_speed && p->n_stored < AUTO_STORED; i++) {
		p->stored_cores[p->n_stored] = (float)j->speed[i].cores;
		p->stored_speed[p->n_stored++] = (float)log(j->speed[i].speed);
	}
}

void auto_model_meet(struct auto_model *m, const struct view_job *j, int slot, double now_s)
{
	struct auto_job *s = &m->job[slot];
	struct auto_program *p;

	if (!s->known) {
		*s = (struct auto_job){
			.known = true,
			.next_phase = -1,
			.curve_program = -1,
			.met_s = now_s,
			.since_s = now_s,
			.lent_s = -INFINITY,
			.program = find_program(m, hash_name(j), j->owner, now_s),
		};
		p = &m->program[s->program];
		if (!p->phase[0].used) {
			begin_phase(&p->phase[0],
				&(struct auto_phase){.utilization = NAN, .held = NAN});
			take_stored(p, j);
		}
	}
	s->has_speed = auto_live_speed(j) > 0;
	m->program[s->program].used_s = INFINITY;
}

void auto_model_forget(struct auto_model *m, int slot, double now_s)
{
	struct auto_job *s = &m->job[slot];
	bool alive = false;

	if (s->known) {
		for (int i = 0; i < m->max_jobs; i++)
			alive |= i != slot && m->job[i].known && m->job[i].program == s->program;
		if (!alive)
			m->program[s->program].used_s = now_s;
	}
	*s = (struct auto_job){.known = false};
}

/* What a sample shows of the phase it is of. */
static void read_signature(const struct view_job *j, double cores, struct auto_phase *ret)
{
	double instr = j->signal[SIGNAL_INSTRUCTIONS].value;
	double refs = j->signal[SIGNAL_LLC_REFS].value, loads = j->signal[SIGNAL_LOADS].value;

	*ret = (struct auto_phase){.utilization = NAN, .held = NAN};
	if (is_known(j, SIGNAL_UTILIZATION))
		ret->utilization = j->signal[SIGNAL_UTILIZATION].value;
	ret->idle = cores > 0 && ret->utilization * cores < IDLE_BELOW;
	ret->signed_ = !ret->idle && is_known(j, SIGNAL_INSTRUCTIONS) && instr > 0 &&
		       is_known(j, SIGNAL_LLC_REFS) && is_known(j, SIGNAL_LOADS);
	if (ret->signed_) {
		ret->refs = log(fmax(refs / instr, 1e-6));
		ret->loads = log(fmax(loads / instr, 1e-6));
	}
}

enum likeness { UNLIKE, MAY_BE, LIKE };

/* Utilisation tells only where it was seen on as many cores. */
static enum likeness likeness(
	const struct auto_phase *f, const struct auto_phase *sample, double cores)
{
	double off = INFINITY;

	if (!f->used || f->idle != sample->idle)
		return UNLIKE;
	/* Where one has no signature yet, or none can be had. */
	if (f->signed_ && sample->signed_ &&
		(fabs(f->refs - sample->refs) >= NEAR_REFS ||
			fabs(f->loads - sample->loads) >= NEAR_LOADS))
		return UNLIKE;
	if (f->idle || !isfinite(sample->utilization))
		return LIKE;
	for (int i = 0; i < AUTO_SEEN; i++)
		if (f->seen[i].n > 0 && fabs(f->seen[i].own - cores) < 0.5)
			off = fmin(off, fabs(f->seen[i].utilization - sample->utilization));
	if (!isfinite(off))
		return MAY_BE;
	return off < NEAR_BUSY ? LIKE : UNLIKE;
}

/* The phase that is like the sample, or may be; or the least seen is made so. */
static int pick_phase(
	struct auto_program *p, const struct auto_phase *sample, double cores, int now)
{
	int least = -1;

	for (int want = LIKE; want > UNLIKE; want--)
		for (int f = 0; f < AUTO_PHASES; f++)
			if (f != now && (int)likeness(&p->phase[f], sample, cores) == want)
				return f;
	for (int f = 0; f < AUTO_PHASES; f++)
		if (f != now && (least < 0 || !p->phase[f].used ||
					(p->phase[least].used &&
						p->phase[f].samples < p->phase[least].samples)))
			least = f;
	begin_phase(&p->phase[least], sample);
	return least;
}

/* True: the job is in another phase now. */
static bool follow_phase(
	struct auto_model *m, int slot, const struct auto_phase *sample, double cores, double now_s)
{
	struct auto_job *s = &m->job[slot];
	struct auto_program *p = &m->program[s->program];
	struct auto_phase *f = &p->phase[s->phase];
	double lasted = now_s - s->since_s;

	s->woke = false;
	if (likeness(f, sample, cores) != UNLIKE) {
		s->deviating = 0;
		return false;
	}
	/* Who waits for nothing any more on what it has needs no second look. */
	s->woke = f->idle && !sample->idle && sample->utilization > AWAKE_FROM;
	if (++s->deviating < DEVIATING && !s->woke)
		return false;
	f->mean_s = f->mean_s > 0 ? 0.5 * (f->mean_s + lasted) : lasted;
	s->phase = pick_phase(p, sample, cores, s->phase);
	s->since_s = now_s;
	s->deviating = 0;
	s->below = 0;
	return true;
}

static double toward(double was, double now, double part)
{
	return isfinite(was) ? was + part * (now - was) : now;
}

/* Properties of the phase, wherever it runs. */
static void learn_phase(struct auto_phase *f, const struct auto_phase *sample,
	const struct view_job *j, const struct auto_context *x)
{
	double part = f->samples > 9 ? SLOW : 1 / (f->samples + 1);
	double speed = auto_live_speed(j), bytes = auto_traffic(j);
	double instr = j->signal[SIGNAL_INSTRUCTIONS].value;

	if (isfinite(sample->utilization)) {
		f->utilization = toward(f->utilization, sample->utilization, SMOOTH);
		f->cores = x->cores;
	}
	if (sample->signed_) {
		f->refs = f->signed_ ? toward(f->refs, sample->refs, part) : sample->refs;
		f->loads = f->signed_ ? toward(f->loads, sample->loads, part) : sample->loads;
		f->signed_ = true;
	}
	if (x->walled)
		return;
	if (speed > 0 && isfinite(bytes))
		f->bytes = toward(f->bytes, bytes / speed, part);
	if (is_known(j, SIGNAL_INSTRUCTIONS) && is_known(j, SIGNAL_LLC_MISSES) && instr > 0)
		f->stall0 = toward(f->stall0,
			STALL_PER_MISS * j->signal[SIGNAL_LLC_MISSES].value / instr, part);
	if (isfinite(x->held))
		f->held = toward(f->held, x->held, part);
}

const struct auto_seen *auto_seen_find(const struct auto_phase *f, double cores, uint64_t beside)
{
	for (int i = 0; i < AUTO_SEEN; i++)
		if (f->seen[i].n > 0 && f->seen[i].beside == beside &&
			fabs(f->seen[i].cores - cores) < 0.25)
			return &f->seen[i];
	return NULL;
}

const struct auto_seen *auto_seen_own(const struct auto_phase *f, double own, uint64_t beside)
{
	const struct auto_seen *best = NULL;

	for (int i = 0; i < AUTO_SEEN; i++)
		if (f->seen[i].n > 0 && f->seen[i].beside == beside &&
			fabs(f->seen[i].own - own) < 0.25 && (!best || f->seen[i].n > best->n))
			best = &f->seen[i];
	return best;
}

/* True: what it misses is known, and how much of the cache it holds. */
static bool read_misses(const struct view_job *j, const struct auto_context *x, double *ret_ln)
{
	double instr = j->signal[SIGNAL_INSTRUCTIONS].value;
	double misses = j->signal[SIGNAL_LLC_MISSES].value;

	if (!isfinite(x->held) || !is_known(j, SIGNAL_INSTRUCTIONS) ||
		!is_known(j, SIGNAL_LLC_MISSES) || !(instr > 0) || !(misses > 0))
		return false;
	*ret_ln = log(misses / instr);
	return true;
}

/* Where it holds about as much of the cache; else the least seen. */
static struct auto_walled *find_walled(struct auto_phase *f, double held)
{
	struct auto_walled *least = &f->walled[0];

	for (int i = 0; i < AUTO_WALLED; i++) {
		if (f->walled[i].n > 0 && fabs(f->walled[i].held - held) < WALLED_NEAR)
			return &f->walled[i];
		if (f->walled[i].n < least->n)
			least = &f->walled[i];
	}
	*least = (struct auto_walled){0};
	return least;
}

static void add_walled(struct auto_walled *w, double mean, double miss, double held)
{
	if (w->n < SEEN_MOST)
		w->n++;
	w->mean += (mean - w->mean) / w->n;
	w->miss += (miss - w->miss) / w->n;
	w->held += (held - w->held) / w->n;
}

/* Beside what was seen without clusters. */
static void learn_walled(struct auto_phase *f, struct auto_job *s, const struct view_job *j,
	const struct auto_context *x)
{
	const struct auto_seen *without = auto_seen_own(f, x->own, x->beside);
	double mean, miss;

	if (without) {
		mean = log(auto_live_speed(j)) + x->span - without->speed;
		add_walled(&s->walled, mean, 0, 0);
	}
	if (s->side != AUTO_NO_SIDE && read_misses(j, x, &miss)) {
		struct auto_walled *w = find_walled(f, x->held);

		add_walled(w, 0, miss, x->held);
		if (w->n < 4)
			f->fitted = -1;
	}
}

/* What it does to a cache that all may fill. */
static void learn_cache(struct auto_phase *f, const struct view_job *j)
{
	double part;

	if (!is_known(j, SIGNAL_LLC_REFS) || !is_known(j, SIGNAL_LLC_MISSES))
		return;
	part = f->llc_samples > 9 ? SLOW : 1 / (f->llc_samples + 1);
	f->llc_refs += part * (j->signal[SIGNAL_LLC_REFS].value - f->llc_refs);
	f->llc_misses += part * (j->signal[SIGNAL_LLC_MISSES].value - f->llc_misses);
	f->llc_samples++;
}

/* How much it misses on the part of the cache that it holds there. */
static void learn_held(struct auto_seen *o, const struct view_job *j, const struct auto_context *x)
{
	double miss;

	if (!read_misses(j, x, &miss))
		return;
	if (o->n_held < SEEN_MOST)
		o->n_held++;
	o->miss += (miss - o->miss) / o->n_held;
	o->held += (x->held - o->held) / o->n_held;
}

static void learn_speed(struct auto_phase *f, const struct auto_job *s, const struct view_job *j,
	double utilization, const struct auto_context *x)
{
	struct auto_seen *o = (struct auto_seen *)auto_seen_find(f, x->cores, x->beside);

	if (!o) {
		o = &f->seen[0];
		for (int i = 1; i < AUTO_SEEN; i++)
			if (f->seen[i].n < o->n)
				o = &f->seen[i];
		*o = (struct auto_seen){
			.cores = x->cores, .own = x->own, .beside = x->beside, .lent = s->lent};
		f->fitted = -1;
	}
	if (o->n < SEEN_MOST)
		o->n++;
	o->speed += (log(auto_live_speed(j)) + x->span - o->speed) / o->n;
	o->latency += (x->latency - o->latency) / o->n;
	if (isfinite(utilization))
		o->utilization += (utilization - o->utilization) / o->n;
	learn_held(o, j, x);
}

bool auto_model_look(struct auto_model *m, const struct view_job *j, int slot,
	const struct auto_context *x, double now_s)
{
	struct auto_job *s = &m->job[slot];
	struct auto_phase sample, *f;
	bool changed;

	if (s->sample_no == j->sample_no)
		return false;
	s->sample_no = j->sample_no;
	read_signature(j, x->own, &sample);
	changed = follow_phase(m, slot, &sample, x->own, now_s);
	f = auto_phase_of(m, slot);
	if (s->deviating > 0 || sample.idle || x->cores <= 0)
		return changed;
	learn_phase(f, &sample, j, x);
	f->samples++;
	if (!x->settled || changed)
		return changed;
	if (!x->walled)
		learn_cache(f, j);
	if (s->has_speed && x->walled)
		learn_walled(f, s, j, x);
	else if (s->has_speed)
		learn_speed(f, s, j, sample.utilization, x);
	return changed;
}

/* What utilisation says of a curve, before any speed. */
static double prior(const struct auto_model *m, const struct auto_phase *f, int curve)
{
	double p = alpha_prior[curve / AUTO_GAMMAS] * gamma_prior[curve % AUTO_GAMMAS], off;

	if (!isfinite(f->utilization) || !(f->cores >= 1))
		return p;
	off = exp(auto_speedup(m, curve, f->cores)) / f->cores -
	      fmax(0.1, 1 - (1 - f->utilization) / SLEEP_PART);
	off /= EFFICIENCY_OFF;
	return p * (exp(-0.5 * off * off) + (off < 0 ? BUSY_TAIL : EFFICIENCY_TAIL));
}

/* How well a curve explains what earlier runs had, at whatever level: ln. */
static double likelihood_stored(const struct auto_model *m, const struct auto_program *p, int curve)
{
	double off[AUTO_STORED], mean = 0, chi = 0;

	for (int i = 0; i < p->n_stored; i++) {
		off[i] = p->stored_speed[i] - auto_speedup(m, curve, p->stored_cores[i]);
		mean += off[i] / p->n_stored;
	}
	for (int i = 0; i < p->n_stored; i++)
		chi += (off[i] - mean) * (off[i] - mean) / (STORED_OFF * STORED_OFF);
	return -0.5 * fmin(chi, STORED_MOST);
}

/* What was seen of a phase, as it is weighed. */
struct evidence {
	int n;
	double weight[AUTO_SEEN], cores[AUTO_SEEN], speed[AUTO_SEEN];
	double slow[AUTO_STALLS][AUTO_SEEN]; /* ln, by what memory there was */
	double sum;
};

static void read_evidence(const struct auto_phase *f, struct evidence *ret)
{
	ret->n = 0;
	ret->sum = 0;
	for (int i = 0; i < AUTO_SEEN; i++) {
		const struct auto_seen *o = &f->seen[i];
		int n = ret->n;

		if (o->n == 0 || o->lent)
			continue;
		ret->weight[n] = 1 / (NOISE * NOISE / o->n + MISFIT * MISFIT);
		ret->cores[n] = o->cores;
		ret->speed[n] = o->speed;
		for (int x = 0; x < AUTO_STALLS; x++) {
			double stall = stalls[x] * f->stall0;
			double then =
				o->n_held > 0 ? stalls[x] * STALL_PER_MISS * exp(o->miss) : stall;

			ret->slow[x][n] = log((1 + then * o->latency) / (1 + stall));
		}
		ret->sum += ret->weight[n];
		ret->n++;
	}
}

/* How well a curve, given at the cores seen, and a stall explain it: ln; the level that does best.
 */
static double likelihood(
	const struct evidence *e, const double *speedup, int stall, double *ret_level)
{
	double mean = 0, chi = 0;

	for (int i = 0; i < e->n; i++)
		mean += e->weight[i] * (e->speed[i] - speedup[i] + e->slow[stall][i]);
	*ret_level = e->n > 0 ? mean / e->sum : 0;
	for (int i = 0; i < e->n; i++) {
		double rest = e->speed[i] - speedup[i] + e->slow[stall][i] - *ret_level;

		chi += e->weight[i] * rest * rest;
	}
	return -0.5 * chi;
}

/* Misses over the part of the cache that was held, as a line is put through them. */
struct slope {
	double n[AUTO_SEEN + AUTO_WALLED], held[AUTO_SEEN + AUTO_WALLED];
	double miss[AUTO_SEEN + AUTO_WALLED];
	double sum, mean_held, mean_miss; /* of n, and weighed by it */
	int all;
};

static void add_point(struct slope *x, double samples, double held, double miss)
{
	double n = samples / (samples + 1);

	if (samples <= 0)
		return;
	x->n[x->all] = n;
	x->held[x->all] = held;
	x->miss[x->all++] = miss;
	x->sum += n;
	x->mean_held += n * held;
	x->mean_miss += n * miss;
}

/*
 * By how much misses fall with the part of the cache that is held, by a power law: least squares
 * over what was seen. Nothing, until it was seen to: that a program misses does not say that it
 * would hit with more.
 */
static void fit_theta(struct auto_phase *f)
{
	double square = 1 / (THETA_OFF * THETA_OFF), product = 0;
	struct slope x = {.all = 0};

	for (int i = 0; i < AUTO_SEEN; i++) {
		const struct auto_seen *o = &f->seen[i];

		add_point(&x, fmin(o->n, o->n_held), o->held, o->miss);
	}
	for (int i = 0; i < AUTO_WALLED; i++)
		add_point(&x, f->walled[i].n, f->walled[i].held, f->walled[i].miss);
	for (int i = 0; i < x.all; i++) {
		double w = x.n[i] / (MISS_OFF * MISS_OFF), off = x.held[i] - x.mean_held / x.sum;

		square += w * off * off;
		product -= w * off * (x.miss[i] - x.mean_miss / x.sum);
	}
	f->theta = fmin(fmax(product / square, 0), THETA_MOST);
}

static void weigh(const struct auto_model *m, const struct auto_program *of, struct auto_phase *f)
{
	double best = -INFINITY, sum = 0, level, stall = 0;
	double ln[AUTO_CURVES * AUTO_STALLS], levels[AUTO_CURVES * AUTO_STALLS];
	struct evidence e;

	if (isfinite(f->held))
		fit_theta(f);
	read_evidence(f, &e);
	for (int c = 0; c < AUTO_CURVES; c++) {
		double p = log(prior(m, f, c)) + likelihood_stored(m, of, c);
		double speedup[AUTO_SEEN];

		for (int i = 0; i < e.n; i++)
			speedup[i] = auto_speedup(m, c, e.cores[i]);

		for (int x = 0; x < AUTO_STALLS; x++) {
			int h = c * AUTO_STALLS + x;

			ln[h] = p + log(stall_prior[x]) + likelihood(&e, speedup, x, &levels[h]);
			best = fmax(best, ln[h]);
		}
	}
	for (int h = 0; h < AUTO_CURVES * AUTO_STALLS; h++) {
		ln[h] = exp(ln[h] - best);
		sum += ln[h];
	}
	level = 0;
	for (int h = 0; h < AUTO_CURVES * AUTO_STALLS; h++) {
		f->weight[h] = (float)(ln[h] / sum);
		level += ln[h] / sum * levels[h];
		stall += ln[h] / sum * stalls[h % AUTO_STALLS] * f->stall0;
	}
	f->level = level;
	f->stall = stall;
}

static inline void add_block(float *restrict sum, float weight, const float *restrict part)
{
	for (int i = 0; i < BLOCK; i++)
		sum[i] += weight * part[i];
}

void auto_model_fit(struct auto_model *m, int slot)
{
	struct auto_job *s = &m->job[slot];
	struct auto_phase *f = auto_phase_of(m, slot);
	float *curve = m->curve + (size_t)slot * (size_t)m->stride;
	bool stale = s->curve_program != s->program || s->curve_phase != s->phase ||
		     s->curve_fitted != f->fitted;

	/* Often at first, then whenever there is a fifth more. */
	if (f->fitted < 0 || f->samples > 1.2 * f->fitted + 0.5) {
		weigh(m, &m->program[s->program], f);
		f->fitted = f->samples;
		stale = true;
	}
	if (!stale)
		return;
	s->curve_program = s->program;
	s->curve_phase = s->phase;
	s->curve_fitted = f->fitted;
	memset(curve, 0, (size_t)m->stride * sizeof(float));
	for (int c = 0; c < AUTO_CURVES && !f->idle; c++) {
		const float *one = m->speedup + (ptrdiff_t)c * m->stride;
		const float *w = f->weight + (ptrdiff_t)c * AUTO_STALLS;
		float weight = w[0] + w[1] + w[2] + w[3];

		for (int n = 0; n < m->stride; n += BLOCK)
			add_block(curve + n, weight, one + n);
	}
}

double auto_spread(const struct auto_model *m, int slot, double from, double to)
{
	const struct auto_phase *f = auto_phase_of(m, slot);
	double mean = 0, square = 0;

	for (int c = 0; c < AUTO_CURVES; c++) {
		const float *w = f->weight + (ptrdiff_t)c * AUTO_STALLS;
		double d = auto_speedup(m, c, to) - auto_speedup(m, c, from);
		double weight = (double)w[0] + w[1] + w[2] + w[3];

		mean += weight * d;
		square += weight * d * d;
	}
	return fmax(0, square - mean * mean);
}
