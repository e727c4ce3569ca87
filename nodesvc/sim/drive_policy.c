/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drive_policy.c - the engine on the simulated machine, driven as the node service drives it:
 * samples of counters in, plans out, experiments carried out, events told.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"
#include "nodesvc/sim/drive_internal.h"
#include "nodesvc/sim/exec_policy.h"
#include "nodesvc/sim/phase_watch.h"

#define EVENTS_MAX 1024

/* A run's first interval: what the node keeps of it for the program's next run, coloc.yaml's
 * profile_interval_s. */
#define FIRST_S 2.5

struct first {
	double until_s;
	double sum[SIGNAL_COUNT];
	int n[SIGNAL_COUNT];
	struct signal kept[SIGNAL_COUNT]; /* of the last run that was so long */
};

struct world {
	const struct drive *d;
	struct run *r;
	struct engine *engine, *fallback; /* fallback: as long as signals are missing */
	struct plan plan;
	struct view_job *view;
	char (*id)[JOB_ID_MAX];
	char (*gone)[JOB_ID_MAX]; /* ids of ended jobs that events still name */
	int n_gone;
	struct sensor *sensor;
	struct first *first;       /* [n_jobs] */
	struct phase_watch *watch; /* NULL: the driver does not look for phases */
	struct coreset *current;
	int *run_job; /* [n view jobs] index in the run */
	int *shown; /* [n_jobs] whose signals it shows; others' only where counters are shuffled */
	struct place *place;
	struct event event[EVENTS_MAX];
	int n_events;
	bool arrived;         /* a job has come while nobody may decide: an experiment is over */
	bool profiled;        /* the policy decides by stored solo profiles ... */
	double profile_instr; /* ... of so many instructions */
	double decisions, fallbacks;
	bool *slices; /* [PLAN_SLICES_MAX * n_jobs] */
};

/* Of Tian et al., section 2.1: "we profile 10^8 instructions of every program". */
#define COMPLEX_PROFILE_INSTR 1e8

/*
 * What a solo run on a whole domain would have stored: means of the whole run (LIRA, ROSS 2015,
 * section 5.3: "exclusively on a single socket of the machine", "normalized by the total execution
 * time"), or of its first instructions.
 */
static void read_profile(struct world *w, int i)
{
	struct run_job *j = &w->r->job[i];
	const struct program *p = j->spec.program;
	double seconds = 0, instr = 0, loads = 0, refs = 0, misses = 0;
	struct signal *s = w->view[i].signal;

	for (int f = 0; f < p->n_phases && instr < w->profile_instr; f++) {
		const struct phase *ph = &p->phase[f];
		double cached = w->d->m->llc_bytes, n = 0, part = 1;

		if (!ph->io) {
			n = fmin(j->instr[f], w->profile_instr - instr);
			part = n / j->instr[f];
		}
		seconds += part * j->phase_domain_s[f];
		instr += n;
		loads += n * ph->loads;
		refs += n * ph->refs;
		misses += n * ph->refs * phase_miss_ratio(ph, cached, ph->working_set_bytes);
	}
	seconds *= j->threads; /* rates are per thread */
	s[SIGNAL_INSTRUCTIONS] = (struct signal){instr / seconds, PROVENANCE_PROFILE};
	s[SIGNAL_LOADS] = (struct signal){loads / seconds, PROVENANCE_PROFILE};
	s[SIGNAL_LLC_REFS] = (struct signal){refs / seconds, PROVENANCE_PROFILE};
	s[SIGNAL_LLC_MISSES] = (struct signal){misses / seconds, PROVENANCE_PROFILE};
	s[SIGNAL_MEM_BYTES] = (struct signal){misses * 64 / seconds, PROVENANCE_PROFILE};
	s[SIGNAL_LLC_MISS_RATIO] =
		(struct signal){refs > 0 ? misses / refs : 0, PROVENANCE_PROFILE};
}

/*
 * What is known of a program as it starts, as on the node (measure/priors.c): what an earlier run
 * has left, else its stored profile, else nothing. Its own counters come with the first samples.
 */
static void read_store(struct world *w, int i)
{
	struct first *f = &w->first[i];

	if (w->profiled || w->d->stored)
		read_profile(w, i);
	for (int k = 0; k < SIGNAL_COUNT && !w->profiled; k++)
		if (f->kept[k].provenance != PROVENANCE_NONE)
			w->view[i].signal[k] = f->kept[k];
	f->until_s = w->r->now_s + FIRST_S;
	memset(f->sum, 0, sizeof(f->sum));
	memset(f->n, 0, sizeof(f->n));
}

static void note_first(struct world *w, int i)
{
	struct first *f = &w->first[i];
	const struct signal *s = w->view[i].signal;

	if (f->until_s == 0)
		return;
	for (int k = 0; k < SIGNAL_COUNT; k++)
		if (s[k].provenance == PROVENANCE_HW) {
			f->sum[k] += s[k].value;
			f->n[k]++;
		}
	if (w->r->now_s < f->until_s)
		return;
	f->until_s = 0;
	for (int k = 0; k < SIGNAL_COUNT; k++)
		if (f->n[k] > 0)
			f->kept[k] = (struct signal){f->sum[k] / f->n[k], PROVENANCE_PROFILE};
}

static void add_event(struct world *w, enum event_type type, const char *job)
{
	if (w->n_events < EVENTS_MAX)
		w->event[w->n_events++] = (struct event){.type = type, .job = job};
}

/* A process starts: a new id, no counts yet, on no core of its own. */
static void begin_job(struct world *w, int i)
{
	struct run_job *j = &w->r->job[i];
	struct view_job *v = &w->view[i];

	snprintf(w->id[i], JOB_ID_MAX, "%d.%.20s.%d", i, j->spec.program->name, j->runs);
	*v = (struct view_job){
		.id = w->id[i],
		.type = j->spec.program->name,
		.owner = j->spec.owner,
		.order = (int64_t)(w->r->now_s * 1e6) * w->r->n_jobs + i,
		.threads = j->threads,
		.home_numa = -1,
		.rss_bytes = -1,
		.core = -1,
		.nodes = 1,
	};
	for (int k = 0; k < SIGNAL_COUNT; k++)
		v->signal[k] = (struct signal){NAN, PROVENANCE_NONE};
	coreset_zero(&w->current[i]);
	sensor_restart(&w->sensor[i], j, w->r->now_s);
	if (w->watch)
		phase_watch_forget(w->watch, i);
	read_store(w, i);
	add_event(w, EVENT_ARRIVAL, w->id[i]);
}

static void end_job(struct world *w, int i)
{
	/* The text must outlive the next decision; begin_job() writes over id[]. */
	if (w->n_gone == EVENTS_MAX)
		return;
	memcpy(w->gone[w->n_gone], w->id[i], JOB_ID_MAX);
	add_event(w, EVENT_END, w->gone[w->n_gone++]);
}

static void watch_phase(struct world *w, int i)
{
	int cores = topo_count_cores(w->d->m->topo, &w->current[i]);

	if (w->watch && phase_watch_sample(w->watch, i, w->r->now_s, cores,
				w->view[i].signal[SIGNAL_UTILIZATION].value))
		add_event(w, EVENT_PHASE, w->id[i]);
}

static void read_sensors(struct world *w)
{
	for (int i = 0; i < w->r->n_jobs; i++) {
		struct view_job *v = &w->view[i];
		struct signal read[SIGNAL_COUNT];

		if (!w->r->job[i].present)
			continue;
		memcpy(read, v->signal, sizeof(read));
		if (!sensor_read(&w->sensor[i], &w->d->sensor, &w->r->job[i], w->r->now_s, read))
			continue;
		v->sample_no++;
		v->has_executed = isfinite(w->sensor[i].executed);
		v->executed = v->has_executed ? w->sensor[i].executed : 0;
		/* Profiles stand; utilisation is always live. */
		if (w->profiled) {
			v->signal[SIGNAL_UTILIZATION] = read[SIGNAL_UTILIZATION];
			continue;
		}
		memcpy(v->signal, read, sizeof(read));
		note_first(w, i);
		watch_phase(w, i);
	}
}

static bool same_place(const struct place *a, const struct place *b)
{
	if (a->active != b->active || !coreset_is_equal(&a->own, &b->own) || a->n_lent != b->n_lent)
		return false;
	if (a->levers.ways != b->levers.ways || a->levers.bandwidth != b->levers.bandwidth)
		return false;
	for (int k = 0; k < a->n_lent; k++)
		if (a->lent[k].donor != b->lent[k].donor ||
			!coreset_is_equal(&a->lent[k].coreset, &b->lent[k].coreset))
			return false;
	return true;
}

/* Contiguous, disjoint ways, the first cluster's lowest; as many as its part, one at least. */
static void set_levers(const struct world *w, const struct plan *p, int cluster, struct levers *ret)
{
	int ways = w->r->m->p.llc_ways, from, to;
	double before = 0;

	for (int k = 0; k < cluster; k++)
		before += p->cluster[k].ways;
	from = (int)lround(before * ways);
	to = (int)lround((before + p->cluster[cluster].ways) * ways);
	if (from >= ways)
		from = ways - 1;
	if (to <= from)
		to = from + 1;
	ret->ways = (uint32_t)((UINT64_C(1) << to) - (UINT64_C(1) << from));
	ret->bandwidth = p->cluster[cluster].bandwidth;
}

static bool has_slice(const struct plan *p, int job)
{
	for (int k = 0; k < p->n_slices; k++)
		for (int j = 0; j < p->slice[k].n_jobs; j++)
			if (p->slice[k].job[j] == job)
				return true;
	return false;
}

/* Carries the plan out. */
static void apply(struct world *w)
{
	const struct plan *p = &w->plan;
	struct run_slice slice[PLAN_SLICES_MAX];
	int n = w->r->n_jobs;
	bool same = p->n_slices == 0 && w->r->n_layouts == 1;

	for (int i = 0; i < n; i++)
		w->place[i] = (struct place){0};
	for (int k = 0; k < p->n_jobs; k++) {
		struct place *to = &w->place[w->run_job[k]];

		to->active = true;
		to->own = p->job[k].coreset;
		if (p->job[k].cluster < 0)
			to->levers = w->r->job[w->run_job[k]].spec.levers;
		else
			set_levers(w, p, p->job[k].cluster, &to->levers);
		for (int l = 0; l < p->job[k].n_lent && l < LENT_MAX; l++) {
			to->lent[to->n_lent].coreset = p->job[k].lent[l].coreset;
			to->lent[to->n_lent++].donor = w->run_job[p->job[k].lent[l].donor];
		}
		for (int d = 0; d < p->n_jobs && to->n_lent < LENT_MAX; d++) {
			struct coreset low;

			/* Threads of low priority fill as those of a donee do. */
			coreset_and(&low, &p->job[k].low, &p->job[d].coreset);
			if (d == k || coreset_is_empty(&low))
				continue;
			to->lent[to->n_lent].coreset = low;
			to->lent[to->n_lent++].donor = w->run_job[d];
		}
		w->current[w->run_job[k]] = to->own;
	}
	for (int i = 0; i < n && same; i++)
		same = same_place(&w->place[i], &w->r->place[i]);
	if (same && w->r->n_layouts > 0)
		return;
	memset(w->slices, 0, (size_t)PLAN_SLICES_MAX * (size_t)n * sizeof(bool));
	for (int k = 0; k < p->n_slices; k++) {
		slice[k].active = w->slices + (size_t)k * (size_t)n;
		slice[k].seconds = p->slice[k].ms / 1e3;
		/* Who is in none runs beside all. */
		for (int i = 0; i < p->n_jobs; i++)
			w->slices[(size_t)k * (size_t)n + (size_t)w->run_job[i]] = !has_slice(p, i);
		for (int j = 0; j < p->slice[k].n_jobs; j++)
			w->slices[(size_t)k * (size_t)n + (size_t)w->run_job[p->slice[k].job[j]]] =
				true;
	}
	run_place(w->r, w->place, slice, p->n_slices);
}

/* Where a job's memory is: nothing to tell where it follows. What is told to be resident is the
 * largest working set, the least it can be. */
static void tell_memory(const struct world *w, int i, struct view_job *ret)
{
	const struct run_job *j = &w->r->job[i];
	const struct program *p = j->spec.program;
	int home = 0;

	ret->home_numa = -1;
	ret->rss_bytes = -1;
	if (!j->has_home || w->d->m->n_memories != w->d->m->topo->n_numa)
		return;
	for (int m = 1; m < w->d->m->n_memories; m++)
		home = j->home[m] > j->home[home] ? m : home;
	ret->home_numa = home;
	for (int f = 0; f < p->n_phases; f++)
		ret->rss_bytes = fmax(ret->rss_bytes, p->phase[f].working_set_bytes);
}

/* What a node finds out by how long threads run at a stretch, and by what steps ask for. */
static void tell_waits(const struct run_job *j, struct view_job *ret)
{
	const struct phase *f = &j->spec.program->phase[j->phase];
	bool wait = f->coupled >= PHASE_COUPLED && j->threads > 1;

	ret->bursty = f->bursty;
	/* Who never leaves a core runs there until the kernel takes it. */
	ret->coupled = wait && f->waits < WAITS_POLLING;
	ret->polling = wait && f->waits == WAITS_POLLING ? j->threads : 0;
	ret->yielding = wait && f->waits == WAITS_YIELDING ? j->threads : 0;
}

static int decide(struct world *w, struct errbuf *err)
{
	struct view v = {.now_s = w->r->now_s, .seed = w->d->seed, .event = w->event};
	/* NOLINTNEXTLINE(clang-analyzer-core.VLASize): a run has jobs */
	struct view_job jobs[w->r->n_jobs];
	int order[w->r->n_jobs], n = 0, rc;
	struct errbuf why = {""};

	for (int i = 0; i < w->r->n_jobs; i++)
		if (w->r->job[i].present)
			order[n++] = i;
	for (int k = 0; k < n; k++) {
		/* cppcheck-suppress uninitvar ; the loop above filled n of them */
		jobs[k] = w->view[order[k]];
		jobs[k].current = w->current[order[k]];
		tell_memory(w, order[k], &jobs[k]);
		tell_waits(&w->r->job[order[k]], &jobs[k]);
		w->run_job[k] = order[k];
		if (w->d->shuffle) {
			const struct view_job *other = &w->view[w->shown[order[k]]];

			memcpy(jobs[k].signal, other->signal, sizeof(jobs[k].signal));
			jobs[k].has_executed = other->has_executed;
			jobs[k].executed = other->executed;
		}
	}
	if (n == 0) {
		w->n_events = w->n_gone = 0;
		return 0;
	}
	v.n_events = w->n_events;
	v.job = jobs;
	v.n_jobs = n;
	v.cache_ways = w->r->m->p.llc_ways;
	w->decisions++;
	rc = engine_decide(w->engine, &v, &w->plan, &why);
	if (rc == -ENODATA) {
		/* As on the node: equal shares until the signals are there. Events wait. */
		w->fallbacks++;
		rc = engine_decide(w->fallback, &v, &w->plan, err);
	} else if (rc) {
		return err_set(err, rc, "%s", why.text);
	}
	if (rc)
		return rc;
	if (w->d->watch)
		w->d->watch->decided(w->d->watch->ctx, &v, &w->plan, *why.text ? why.text : NULL);
	if (!*why.text)
		w->n_events = w->n_gone = 0;
	apply(w);
	return 0;
}

/*
 * Time passes; what happens in between is told to the policy at once. Where it may not decide, a
 * job that comes ends it: it has no cores before a decision, and on a node too it ends a trial.
 */
static int advance(struct world *w, double until_s, bool may_decide, struct errbuf *err)
{
	int who, rc = 0;

	while (w->r->now_s < until_s && !rc && !w->arrived && !drive_is_over(w->d, w->r)) {
		enum run_event e = run_advance(w->r, until_s, &who);

		if (e == RUN_UNTIL || e == RUN_PHASE)
			continue;
		if (e == RUN_ENDED)
			end_job(w, who);
		if (w->r->job[who].present) {
			begin_job(w, who);
			w->arrived = !may_decide;
		}
		if (may_decide)
			rc = decide(w, err);
	}
	return rc;
}

/*
 * One experiment: the job on the cores asked for, alone there; whoever owns them makes do with
 * the rest, or waits. The result is what its counters showed.
 */
static int experiment(struct world *w, const struct plan_experiment *x, int job, struct errbuf *err)
{
	struct place *place = calloc((size_t)w->r->n_jobs, sizeof(*place));
	/* Shuffled counters: what is measured is the job whose counters this one shows. */
	int who = w->d->shuffle && w->r->job[w->shown[job]].present ? w->shown[job] : job;
	double before, seconds, start = w->r->now_s;
	int rc, run = w->r->job[who].runs;
	char *id = w->id[job];

	if (!place)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < w->r->n_jobs; i++) {
		place[i] = (struct place){.active = w->r->job[i].present, .own = w->current[i]};
		if (i != who)
			coreset_andnot(&place[i].own, &place[i].own, &x->coreset);
		else
			place[i].own = x->coreset;
	}
	run_place(w->r, place, NULL, 0);
	free(place);
	before = w->r->job[who].counts.instr;
	rc = advance(w, start + x->ms / 1e3, false, err);
	seconds = w->r->now_s - start;
	/* Ended meanwhile: the figure belongs to two processes. Cut short: as on a node, none. */
	if (rc || w->arrived || seconds <= 0 || w->r->job[who].runs != run ||
		w->n_events == EVENTS_MAX)
		return rc;
	w->event[w->n_events++] = (struct event){
		.type = EVENT_EXPERIMENT_RESULT,
		.job = id,
		.cores = x->cores,
		.speed = (w->r->job[who].counts.instr - before) / seconds *
			 (1 + w->d->sensor.noise * rng_normal(&w->sensor[who].rng)),
	};
	return 0;
}

static int experiments(struct world *w, struct errbuf *err)
{
	int rc = 0;

	/* Results bring new questions at most a few times; then the next sample is due. */
	for (int round = 0; round < 64 && w->plan.n_experiments > 0 && !rc; round++) {
		struct plan_experiment x[PLAN_EXPERIMENTS_MAX];
		int n = w->plan.n_experiments, job[PLAN_EXPERIMENTS_MAX];

		for (int k = 0; k < n; k++) {
			x[k] = w->plan.experiment[k];
			job[k] = w->run_job[x[k].job];
		}
		for (int k = 0; k < n && !rc && !w->arrived && !drive_is_over(w->d, w->r); k++)
			rc = experiment(w, &x[k], job[k], err);
		w->arrived = false;
		if (rc || drive_is_over(w->d, w->r))
			break;
		rc = decide(w, err);
	}
	return rc;
}

static void world_free(struct world *w)
{
	engine_free(w->engine);
	engine_free(w->fallback);
	plan_done(&w->plan);
	free(w->view);
	free(w->id);
	free(w->gone);
	free(w->sensor);
	free(w->first);
	phase_watch_free(w->watch);
	free(w->current);
	free(w->run_job);
	free(w->shown);
	free(w->place);
	free(w->slices);
	free(w);
}

static int world_create(
	struct world **ret, const struct drive *d, struct run *r, struct errbuf *err)
{
	struct policy_cfg cfg = {.topo = d->m->topo, .max_jobs = r->n_jobs};
	size_t n = (size_t)r->n_jobs;
	struct world *w = calloc(1, sizeof(*w));
	const char *name;
	int rc;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->d = d;
	w->r = r;
	w->view = calloc(n, sizeof(*w->view));
	w->id = calloc(n, sizeof(*w->id));
	w->gone = calloc(EVENTS_MAX, sizeof(*w->gone));
	w->sensor = calloc(n, sizeof(*w->sensor));
	w->first = calloc(n, sizeof(*w->first));
	if (d->phases != PHASES_NONE)
		w->watch = phase_watch_create(r->n_jobs, d->phases == PHASES_PAPER);
	w->current = calloc(n, sizeof(*w->current));
	w->run_job = calloc(n, sizeof(int));
	w->shown = calloc(n, sizeof(int));
	w->place = calloc(n, sizeof(*w->place));
	w->slices = calloc(n * PLAN_SLICES_MAX, sizeof(bool));
	rc = plan_init(&w->plan, r->n_jobs, err);
	if (!rc && (!w->view || !w->id || !w->gone || !w->sensor || !w->first ||
			   (d->phases != PHASES_NONE && !w->watch) || !w->current || !w->run_job ||
			   !w->shown || !w->place || !w->slices))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = exec_policy_engine(&w->engine, d->policy, &cfg, err);
	if (!rc)
		rc = engine_create(&w->fallback, d->fallback ? d->fallback : "fair", &cfg, err);
	if (rc) {
		world_free(w);
		return rc;
	}
	name = engine_policy(w->engine)->name;
	w->profiled = strcmp(name, "lira-static") == 0 || strcmp(name, "llc-complex") == 0;
	w->profile_instr = strcmp(name, "llc-complex") == 0 ? COMPLEX_PROFILE_INSTR : INFINITY;
	*ret = w;
	return 0;
}

/* A test of the comparison: what a policy gains must come from the counters. */
static void shuffle(struct world *w)
{
	struct rng r;

	rng_init(&r, w->d->seed, 4711);
	for (int i = 0; i < w->r->n_jobs; i++) {
		int j = rng_below(&r, i + 1);

		w->shown[i] = w->shown[j];
		w->shown[j] = i;
	}
}

int drive_policy_run(
	const struct drive *d, struct run *r, struct drive_result *ret, struct errbuf *err)
{
	struct world *w = NULL;
	int rc = world_create(&w, d, r, err);
	double sample = d->sample_s, decision = d->decide_s > 0 ? d->decide_s : d->sample_s;
	double every = decision;

	if (rc)
		return rc;
	for (int i = 0; i < r->n_jobs; i++) {
		sensor_init(&w->sensor[i], d->seed, (uint64_t)i);
		if (r->job[i].present)
			begin_job(w, i);
	}
	shuffle(w);
	rc = decide(w, err);
	if (!rc)
		rc = experiments(w, err);
	/* Experiments take time: what fell due meanwhile happens once, now. */
	while (!rc && !drive_is_over(d, r)) {
		rc = advance(w, fmin(fmin(sample, decision), d->most_s), true, err);
		if (rc || drive_is_over(d, r))
			break;
		if (r->now_s >= sample) {
			read_sensors(w);
			sample = fmax(sample + d->sample_s, r->now_s);
		}
		if (r->now_s < decision)
			continue;
		decision = fmax(decision + every, r->now_s);
		add_event(w, EVENT_TICK, NULL);
		rc = decide(w, err);
		if (!rc)
			rc = experiments(w, err);
	}
	ret->decisions = w->decisions;
	ret->fallbacks = w->fallbacks;
	world_free(w);
	return rc;
}
