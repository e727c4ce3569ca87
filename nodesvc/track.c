/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/track.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/base/health.h"
#include "nodesvc/choose/quarantine.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/log.h"

/* After a start or a move: caches fill, threads settle. */
#define SKIP_SAMPLES 2
/* A phase is one seen before when both figures are this near (science.md 1.2: known phases). */
#define SAME_PHASE 1.25
/* A co-run's figures need the speeds of all for this share of its time. */
#define KNOWN_SHARE 0.8
/* A sample taken at the same tick needs no second reading. */
#define FRESH_NS INT64_C(5000000)
/* In one interval: the one that is cut at its end is then a small part. */
#define MANY_REPORTS 10
/* Below it a step mostly waits: twice a few per cent is no other phase (seen: 0.05 and 0.10 from
 * one sample to the next of a loop that naps 4 ms). */
#define BUSY_FLOOR        0.25
#define INSTRUCTIONS_UNIT "instr"
/* Cores run on, below which the cpu time of a little work says nothing of it. */
#define RUNS_MIN 0.05

static int64_t unix_s(void)
{
	return time(NULL);
}

double track_unix_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- work and speed ---- */

static bool is_one_thread(const struct step *s)
{
	return s->threads == 1 && s->ntasks <= 1 && s->nnodes == 1;
}

void track_read_work(struct daemon *d, struct step *s, int64_t now_ns, struct track_work *ret)
{
	struct signal rate;
	struct sample now;

	*ret = (struct track_work){.basis = PROVENANCE_NONE};
	if (s->pages) {
		app_read(&s->pages->app, s->pages->report, now_ns, &rate);
		if (s->pages->app.reports) {
			*ret = (struct track_work){.total = s->pages->app.total,
				.t_ns = s->pages->app.updated_ns,
				.count = s->pages->app.reports,
				.basis = PROVENANCE_APP};
			return;
		}
	}
	if (!s->has_sample || !is_one_thread(s))
		return;
	/* The last sample may be of another placement: interval_ms ago. */
	now = s->last_sample;
	if (now_ns - now.t_ns > FRESH_NS && sample_count(d, s, &now) < 0)
		return;
	if (now.valid & COUNTER_BIT(COUNTER_INSTRUCTIONS))
		*ret = (struct track_work){.total = (double)now.count[COUNTER_INSTRUCTIONS],
			.t_ns = now.t_ns,
			.count = s->sample_no,
			.basis = PROVENANCE_HW};
}

double track_speed(const struct track_work *a, const struct track_work *b, uint64_t min_count)
{
	double seconds = (double)(b->t_ns - a->t_ns) / 1e9;

	if (a->basis != b->basis || a->basis == PROVENANCE_NONE || seconds <= 0 ||
		b->total < a->total)
		return NAN;
	/* Counters are exact at every reading; between two reports a program has done more. */
	if (a->basis == PROVENANCE_APP && (b->count < a->count || b->count - a->count < min_count))
		return NAN;
	return (b->total - a->total) / seconds;
}

const char *track_unit(const struct step *s)
{
	if (s->track.last.basis == PROVENANCE_HW)
		return INSTRUCTIONS_UNIT;
	if (s->track.last.basis != PROVENANCE_APP)
		return "";
	if (s->pages && *s->pages->app.unit)
		return s->pages->app.unit;
	return *s->track.unit ? s->track.unit : "units";
}

static bool counts_as_company(const struct step *s)
{
	return s->located && !s->gone && s->status != STATUS_ASIDE && s->status != STATUS_PENDING &&
	       s->status != STATUS_SUSPENDED;
}

bool track_is_alone(const struct daemon *d, const struct step *s)
{
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i] != s && counts_as_company(d->jobs.step[i]))
			return false;
	return true;
}

static const struct coreset *cores_of(const struct step *s)
{
	return coreset_is_empty(&s->coreset) ? &s->slurm_step : &s->coreset;
}

/* ---- what the store knows ---- */

struct walk {
	struct daemon *d;
	struct step *s;
	int cores;              /* of its envelope */
	int rank[SIGNAL_COUNT]; /* of what is taken so far */
};

static void take_base(struct track *t, const struct measurement *m)
{
	for (int i = 0; i < t->n_bases; i++)
		if (t->base[i].cores == m->cores && strcmp(t->base[i].unit, m->unit) == 0) {
			if (m->kind == MEASURED_SOLO || !t->base[i].solo)
				t->base[i] = (struct track_base){
					.cores = m->cores,
					.speed = m->mean,
					.solo = m->kind == MEASURED_SOLO,
				};
			snprintf(t->base[i].unit, sizeof(t->base[i].unit), "%s", m->unit);
			return;
		}
	if (t->n_bases == TRACK_BASES)
		return;
	t->base[t->n_bases] = (struct track_base){
		.cores = m->cores, .speed = m->mean, .solo = m->kind == MEASURED_SOLO};
	snprintf(t->base[t->n_bases].unit, sizeof(t->base[0].unit), "%s", m->unit);
	t->n_bases++;
}

static int take_measurement(const struct measurement *m, void *arg)
{
	struct walk *w = arg;
	struct signal *sig = &w->s->signal[m->signal];
	int rank;

	if (strcmp(m->node_type, w->d->node.type) != 0 || !(m->mean > 0))
		return 0;
	if (m->signal == SIGNAL_PROGRESS && m->kind != MEASURED_SHARED)
		take_base(&w->s->track, m);
	/* Rates that hardware counted in earlier runs: until this run has its own. Utilisation
	 * is always live. At its own width rather than another, alone rather than in company. */
	rank = 1 + (int)m->kind + (m->cores == w->cores ? MEASURED_COUNT : 0);
	if (m->signal <= SIGNAL_LLC_MISS_RATIO && rank > w->rank[m->signal]) {
		w->rank[m->signal] = rank;
		if (signal_is_sane(m->signal, m->mean))
			*sig = (struct signal){m->mean, PROVENANCE_PROFILE};
	}
	return 0;
}

/* The curve for policies that want one: of one unit, ascending. */
static void make_curve(struct step *s)
{
	const struct track *t = &s->track;

	s->n_speed = 0;
	for (int cores = 1; cores <= CORESET_MAX && s->n_speed < STEP_SPEEDS_MAX; cores++)
		for (int i = 0; i < t->n_bases; i++)
			if (t->base[i].cores == cores &&
				strcmp(t->base[i].unit, t->base[0].unit) == 0 &&
				speed_is_sane(t->base[i].speed))
				s->speed[s->n_speed++] = (struct speed_point){
					.cores = cores, .speed = t->base[i].speed};
	/* One point is no shape. */
	if (s->n_speed < 2)
		s->n_speed = 0;
}

void track_open(struct daemon *d, struct step *s)
{
	struct walk w = {.d = d, .s = s, .cores = topo_count_cores(d->node.topo, &s->envelope)};
	struct errbuf err;

	/* A stored profile is a run of its own: it stands. */
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (s->signal[i].provenance != PROVENANCE_NONE)
			w.rank[i] = INT_MAX;

	s->track.rate = NAN;
	s->track.skip = SKIP_SAMPLES;
	if (*s->type && record_measurement_list(
				d->record, s->type, s->user, take_measurement, &w, &err) < 0)
		log_warning("step %s: %s", s->id, err.text);
	make_curve(s);
}

static int64_t unix_ns(void)
{
	return (int64_t)(track_unix_now() * 1e9);
}

void track_adopt(struct step *s, int64_t saved_unix_ns)
{
	struct track_gap *g = &s->track.gap;

	g->open_ns = saved_unix_ns ? saved_unix_ns : s->start_unix_ns;
	g->until_report = s->track.last.basis == PROVENANCE_APP;
}

static void close_gap(struct track_gap *g, int64_t now_ns)
{
	if (!g->open_ns)
		return;
	if (now_ns < g->open_ns) /* the clock was set back */
		now_ns = g->open_ns;
	g->ns += now_ns - g->open_ns;
	g->from_ns = g->from_ns ? g->from_ns : g->open_ns;
	g->to_ns = now_ns;
	g->open_ns = 0;
}

static void keep(struct daemon *d, const struct step *s, enum signal_id signal,
	enum provenance source, int cores, enum measured kind, double value)
{
	struct measurement m = {
		.cores = cores,
		.kind = kind,
		.signal = signal,
		.last_unix_s = unix_s(),
	};
	struct errbuf err;

	if (!*s->type || !isfinite(value) || cores < 1)
		return;
	snprintf(m.type, sizeof(m.type), "%s", s->type);
	snprintf(m.user, sizeof(m.user), "%s", s->user);
	snprintf(m.node_type, sizeof(m.node_type), "%s", d->node.type);
	snprintf(m.source, sizeof(m.source), "%s", provenance_name(source));
	if (signal == SIGNAL_PROGRESS)
		snprintf(m.unit, sizeof(m.unit), "%s", track_unit(s));
	if (record_measurement_add(d->record, &m, value, &err) < 0)
		health_error("%.200s", err.text);
}

void track_keep_speed(struct daemon *d, const struct step *s, int cores, bool alone, double speed)
{
	keep(d, s, SIGNAL_PROGRESS, s->track.last.basis, cores,
		alone ? MEASURED_ALONE : MEASURED_SHARED, speed);
}

/* ---- the first interval ---- */

static void restart_first(struct track *t, int cores, bool alone, int64_t now_ns)
{
	memset(t->sum, 0, sizeof(t->sum));
	memset(t->n, 0, sizeof(t->n));
	memset(&t->first_work, 0, sizeof(t->first_work));
	t->first_cores = cores;
	t->first_alone = alone;
	t->first_ns = now_ns;
}

static void sample_first(struct daemon *d, struct step *s, int64_t now_ns, int cores, bool alone,
	double units, double seconds)
{
	struct track *t = &s->track;

	if (t->first_done)
		return;
	/* Half on two cores and half on one is no interval. */
	if (!t->first_ns || cores != t->first_cores || alone != t->first_alone) {
		restart_first(t, cores, alone, now_ns);
		return;
	}
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (s->signal[i].provenance == PROVENANCE_HW ||
			s->signal[i].provenance == PROVENANCE_OS) {
			t->sum[i] += s->signal[i].value;
			t->n[i]++;
			t->source[i] = s->signal[i].provenance;
		}
	if (seconds > 0) {
		t->first_work.units += units;
		t->first_work.seconds += seconds;
	}
	if ((double)(now_ns - t->first_ns) / 1e9 < d->conf.profile_interval_s)
		return;
	t->first_done = true;
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (t->n[i])
			keep(d, s, (enum signal_id)i, t->source[i], cores,
				alone ? MEASURED_ALONE : MEASURED_SHARED, t->sum[i] / t->n[i]);
	if (t->first_work.seconds > 0)
		track_keep_speed(d, s, cores, alone, t->first_work.units / t->first_work.seconds);
}

/* ---- phases ---- */

/* The table goes by what the detector goes by. */
static bool near(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	return a <= b * SAME_PHASE && b <= a * SAME_PHASE;
}

/* The phase with these figures: one of the table, or a new one. */
static void enter_phase(struct track *t, int cores, double busy, double intensity)
{
	t->phase_unix_s = track_unix_now();
	for (int i = 0; i < t->n_phases; i++)
		if (t->phase[i].cores == cores &&
			near(fmax(t->phase[i].utilization, BUSY_FLOOR), fmax(busy, BUSY_FLOOR)) &&
			near(t->phase[i].intensity, intensity)) {
			t->phase_now = i;
			return;
		}
	/* A full table forgets its first: what is new may come again. */
	if (t->n_phases == TRACK_PHASES)
		memmove(&t->phase[0], &t->phase[1], (TRACK_PHASES - 1) * sizeof(t->phase[0]));
	else
		t->n_phases++;
	t->phase_now = t->n_phases - 1;
	t->phase[t->phase_now] =
		(struct track_phase){.cores = cores, .utilization = NAN, .intensity = NAN};
}

static void add_to_mean(double *mean, int *n, double x)
{
	*mean = *n ? *mean + (x - *mean) / (*n + 1) : x;
	++*n;
}

static struct phase_cfg detector(const struct daemon *d)
{
	struct phase_cfg c = d->conf.phase.detector == DETECTOR_PAPER ? phase_paper : phase_width;

	if (c.mode == PHASE_PAPER) {
		c.epoch_s = d->conf.phase.epoch_s;
		c.first_epoch_s = d->conf.phase.first_epoch_s;
	}
	if (d->conf.phase.ratio > 1)
		c.ratio = d->conf.phase.ratio;
	return c;
}

static void note_phase(struct daemon *d, struct step *s, double busy, double intensity)
{
	char text[96];
	struct errbuf err;

	if (isfinite(intensity))
		snprintf(text, sizeof(text), "busy %.2f, %.4g %s per cpu second", busy, intensity,
			track_unit(s));
	else
		snprintf(text, sizeof(text), "busy %.2f", busy);
	log_debug("step %s: phase change, to %d of %d: %s, unix=%.3f", s->id,
		s->track.phase_now + 1, s->track.n_phases, text, s->track.phase_unix_s);
	if (s->row_id && record_phase(d->record, s->row_id, (int64_t)(s->track.phase_unix_s * 1e9),
				 text, &err) < 0)
		health_error("%.200s", err.text);
}

/*
 * Two figures, either of which may tell: utilisation (does it want its cores?), and progress per
 * cpu second, which a neighbour taking cpu time does not change, as progress alone would be.
 */
static bool sample_phase(struct daemon *d, struct step *s, int64_t now_ns, double elapsed_s,
	int cores, double intensity)
{
	struct track *t = &s->track;
	struct phase_cfg cfg = detector(d);
	double now_s = (double)now_ns / 1e9, busy = s->signal[SIGNAL_UTILIZATION].value, busy_high;
	bool by_busy, by_intensity = false;

	if (s->signal[SIGNAL_UTILIZATION].provenance != PROVENANCE_OS)
		return false;
	if (t->skip > 0) {
		t->skip--;
		return false;
	}
	if (t->phase_cores != cores || !t->busy.started) {
		phase_restart(&t->busy, &cfg, now_s, cores);
		phase_restart(&t->intensity, &cfg, now_s, cores);
		if (t->phase_cores != cores)
			enter_phase(t, cores, busy, intensity);
		t->phase_cores = cores;
	}
	busy_high = busy;
	if (phase_asks_high(&t->busy, &cfg, fmax(busy, BUSY_FLOOR)))
		busy_high = fmax(busy, utilization_at_most(s->util));
	by_busy = phase_sample_range(
		&t->busy, &cfg, now_s, fmax(busy, BUSY_FLOOR), fmax(busy_high, BUSY_FLOOR));
	/* Who hardly ran has no figure: two that deviate with such a sample between them are not in
	 * a row, nor is the first looked at again and again. (Who reports seldom has one at every
	 * other sample: those are.) */
	if (isfinite(intensity))
		by_intensity = phase_sample(&t->intensity, &cfg, now_s, intensity);
	else if (!(utilization_running(s->util) > RUNS_MIN))
		phase_no_sample(&t->intensity);
	if (by_busy || by_intensity) {
		/* One change, not one of each: the other starts anew. With width both do: the
		 * sample that told may be of half an interval, in which on a crowded node a
		 * thread's delay is not yet booked: no reference. */
		if (!by_intensity || cfg.mode == PHASE_WIDTH)
			phase_restart(&t->intensity, &cfg, now_s, cores);
		if (!by_busy || cfg.mode == PHASE_WIDTH)
			phase_restart(&t->busy, &cfg, now_s, cores);
		t->changes++;
		enter_phase(t, cores, busy, intensity);
		note_phase(d, s, busy, intensity);
	}
	/* A sample that deviates may be the next phase's: into nobody's mean. */
	if (t->n_phases && !t->busy.deviating && !t->intensity.deviating) {
		struct track_phase *p = &t->phase[t->phase_now];

		add_to_mean(&p->utilization, &p->n, busy);
		if (isfinite(intensity))
			add_to_mean(&p->intensity, &p->n_intensity, intensity);
		p->seconds += elapsed_s;
	}
	return by_busy || by_intensity;
}

bool track_is_suspect(const struct step *s)
{
	return s->track.busy.suspect || s->track.intensity.suspect;
}

void track_disturb(struct step *s)
{
	s->track.skip = SKIP_SAMPLES;
	sample_unsettle(s);
}

void track_pause(struct step *s)
{
	struct track *t = &s->track;

	t->has_last = false;
	t->rate = NAN;
	t->done = 0;
	t->first_ns = 0;
	t->busy.started = t->intensity.started = false;
}

void track_displace(struct step *s)
{
	s->track.displaced = true;
	track_disturb(s);
}

/* ---- a sample ---- */

void track_skip(struct step *s)
{
	s->track.done = 0;
}

/*
 * Units per cpu second. Of many reports all but a little of one interval's cpu time is told, also
 * where others took the cpu for a part of it. Of few the rate between the reports has to serve; of
 * one, nothing: its cpu time is not the interval's.
 */
static double per_cpu_second(const struct step *s, double units, double speed, uint64_t reports)
{
	double running = utilization_running(s->util), ran_s = utilization_ran_s(s->util);

	if (!(running > RUNS_MIN) || reports < 2)
		return NAN;
	return reports < MANY_REPORTS ? speed / running : units / ran_s;
}

bool track_sample(struct daemon *d, struct step *s, int64_t now_ns, double elapsed_s)
{
	struct track *t = &s->track;
	struct track_work work;
	bool alone = track_is_alone(d, s);
	int cores = topo_count_cores(d->node.topo, cores_of(s));
	double units = 0, seconds = 0, intensity = NAN;

	track_read_work(d, s, now_ns, &work);
	if (!t->gap.until_report || work.basis == PROVENANCE_APP)
		close_gap(&t->gap, unix_ns());
	t->done = t->gap.open_ns ? NAN : 0;
	if (t->has_last) {
		double speed = track_speed(&t->last, &work, 1);

		if (isfinite(speed)) {
			units = work.total - t->last.total;
			seconds = (double)(work.t_ns - t->last.t_ns) / 1e9;
			intensity = per_cpu_second(s, units, speed, work.count - t->last.count);
			t->rate = speed;
		} else if (work.basis == PROVENANCE_APP && s->pages) {
			t->rate = s->signal[SIGNAL_PROGRESS].value;
		}
	}
	if (work.basis != PROVENANCE_NONE) {
		t->last = work;
		t->has_last = true;
		snprintf(t->unit, sizeof(t->unit), "%s", track_unit(s));
	}
	t->is_apart = t->displaced || trial_displaces(d);
	t->displaced = false;
	if (t->is_apart) {
		track_disturb(s);
		return false;
	}
	if (!t->gap.open_ns)
		t->done = units;
	if (seconds > 0 && !alone) {
		t->shared.units += units;
		t->shared.seconds += seconds;
	} else if (seconds > 0 && cores == topo_count_cores(d->node.topo, &s->envelope)) {
		t->alone.units += units;
		t->alone.seconds += seconds;
	}
	sample_first(d, s, now_ns, cores, alone, units, seconds);
	return sample_phase(d, s, now_ns, elapsed_s, cores, intensity);
}

/* ---- co-run ---- */

double track_solo(struct daemon *d, const struct step *s, const char **ret_basis)
{
	const struct track *t = &s->track;
	int cores = topo_count_cores(d->node.topo, &s->envelope);

	*ret_basis = NULL;
	if (t->alone.seconds >= d->conf.profile_interval_s) {
		*ret_basis = "alone";
		return t->alone.units / t->alone.seconds;
	}
	for (int i = 0; i < t->n_bases; i++)
		if (t->base[i].cores == cores && strcmp(t->base[i].unit, track_unit(s)) == 0) {
			*ret_basis = "profile";
			return t->base[i].speed;
		}
	return NAN;
}

/* Alone on as many cores as its share has. */
static double solo_share(struct daemon *d, const struct step *s)
{
	const struct track *t = &s->track;
	int cores = topo_count_cores(d->node.topo, cores_of(s));
	const char *basis;

	if (cores == topo_count_cores(d->node.topo, &s->envelope))
		return track_solo(d, s, &basis);
	for (int i = 0; i < t->n_bases; i++)
		if (t->base[i].cores == cores && strcmp(t->base[i].unit, track_unit(s)) == 0)
			return t->base[i].speed;
	return NAN;
}

static double shared_speed(const struct step *s)
{
	const struct track_span *w = &s->track.shared;

	return w->seconds > 0 && w->units > 0 ? w->units / w->seconds : NAN;
}

void track_corun(struct daemon *d, double elapsed_s)
{
	double full = 0, share = 0, ntt_full = 0, ntt_share = 0, solo, solo_on_share;
	int n = 0;

	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];
		const char *basis;

		if (!counts_as_company(s))
			continue;
		if (s->track.is_apart)
			return;
		n++;
		/* One that nobody knows the speed of, and all that follows is known. */
		if (isnan(full))
			continue;
		solo = track_solo(d, s, &basis);
		solo_on_share = solo_share(d, s);
		/* Work done, not the rate of the moment: a program that loads its next input
		 * publishes nothing, and that is part of its speed. */
		full += s->track.done / solo;
		share += s->track.done / solo_on_share;
		ntt_full += solo / shared_speed(s);
		ntt_share += solo_on_share / shared_speed(s);
	}
	if (n < 2)
		return;
	for (int i = 0; i < d->jobs.n; i++) {
		struct track *t = &d->jobs.step[i]->track;

		if (!counts_as_company(d->jobs.step[i]))
			continue;
		/* NAN of one is NAN of all. */
		if (isnan(full)) {
			t->unknown_s += elapsed_s;
			continue;
		}
		t->known_s += elapsed_s;
		t->stp_full += full;
		t->stp_share += share;
		t->antt_full = ntt_full / n;
		t->antt_share = ntt_share / n;
	}
}

void track_figures(struct daemon *d, struct step *s, bool complete, struct step_figures *ret)
{
	struct track *t = &s->track;
	struct step_figures f = STEP_FIGURES_NONE;
	struct gain_estimate gain;
	struct track_gap gap = t->gap;
	double solo = track_solo(d, s, &f.speed_basis);

	close_gap(&gap, unix_ns());
	f.gap_ns = gap.ns;
	f.gap_from_ns = gap.from_ns;
	f.gap_to_ns = gap.to_ns;
	/* What it did in a gap is in nobody's total. */
	if (isnan(solo) && complete && !gap.ns && s->has_profile && s->profile.solo_s > 0 &&
		t->last.basis == PROVENANCE_APP) {
		solo = t->last.total / s->profile.solo_s;
		f.speed_basis = "progress";
	}
	f.shared_speed = shared_speed(s);
	f.solo_speed = solo;
	if (s->track.last.basis != PROVENANCE_NONE)
		f.speed_unit = track_unit(s);
	if (isfinite(f.shared_speed)) {
		f.ntt_full = solo / f.shared_speed;
		f.ntt_share = solo_share(d, s) / f.shared_speed;
	}
	if (t->known_s > 0 && t->known_s >= KNOWN_SHARE * (t->known_s + t->unknown_s)) {
		f.stp_full = t->stp_full / t->known_s;
		f.stp_share = t->stp_share / t->known_s;
		f.antt_full = t->antt_full;
		f.antt_share = t->antt_share;
	}
	gain_paired(&t->windows, &gain);
	f.gain_placement = gain.ratio;
	f.gain_placement_lo = gain.lo;
	f.gain_placement_hi = gain.hi;
	f.windows = t->windows.n;
	if (t->windows.n)
		f.gain_basis = provenance_name(t->last.basis);
	f.launch = t->launch;
	f.guard = quarantine_word(s);
	f.phases = t->n_phases ? t->changes : -1;
	f.moves = s->rebinds;
	*ret = f;
}

void track_close(struct daemon *d, struct step *s)
{
	struct track *t = &s->track;

	/* In a gap it may have had company. */
	if (t->shared.seconds == 0 && !t->gap.ns && !t->gap.open_ns &&
		t->alone.seconds >= d->conf.profile_interval_s)
		keep(d, s, SIGNAL_PROGRESS, t->last.basis,
			topo_count_cores(d->node.topo, &s->envelope), MEASURED_SOLO,
			t->alone.units / t->alone.seconds);
}
