/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priors.c - what earlier runs of a step's program tell of it, and what this run leaves for later
 * ones: its first interval, experiments, its speed alone.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "nodesvc/base/log.h"
#include "nodesvc/counters/calls.h"
#include "nodesvc/measure/internal.h"

/* ---- what the store knows ---- */

/* Programs whose marking functions are kept, of all users. */
#define MARKS_MAX 256
/* No program calls a function more often. */
#define PER_S_MAX 1e12

struct walk {
	const struct measure *m;
	struct step *s;
	int cores;              /* of its envelope */
	int rank[SIGNAL_COUNT]; /* of what is taken so far */
	int64_t marked_unix_s;  /* when the measurement was made whose unit names the function */
};

/* ---- which function marks its work ---- */

/* "GOMP_parallel 0.021 9980 2" */
static void format_mark(const struct seen_mark *k, char *buf, size_t size)
{
	snprintf(buf, size, "%s %.3g %.6g %d", k->name, k->spread, k->alone_per_s, k->alone_cores);
}

bool priors_parse_mark(const char *value, struct seen_mark *ret)
{
	struct seen_mark k;
	int used = 0;

	_Static_assert(sizeof(k.name) == 128, "the width below");
	if (sscanf(value, "%127s %lf %lf %9d%n", k.name, &k.spread, &k.alone_per_s, &k.alone_cores,
		    &used) != 4 ||
		value[used] || !text_is_clean(k.name) || (!isnan(k.spread) && !(k.spread >= 0)) ||
		!(k.alone_per_s >= 0 && k.alone_per_s <= PER_S_MAX) || k.alone_cores < 0 ||
		k.alone_cores > CORESET_MAX)
		return false;
	*ret = k;
	return true;
}

static int take_mark(const struct learnt *l, void *arg)
{
	struct step *s = arg;

	priors_parse_mark(l->value, &s->seen.calls.mark_before);
	return 0;
}

static struct learnt mark_key(const struct measure *m, const struct step *s)
{
	return (struct learnt){.what = PRIORS_MARKS,
		.node_type = m->use.node->type,
		.owner = s->user,
		.name = s->type};
}

/* What its runs alone showed stays as long as it is the same function. */
static void keep_mark(const struct measure *m, struct step *s)
{
	struct seen_mark *k = &s->seen.calls.mark_before;
	const struct seen_span *alone = &s->seen.alone;
	struct learnt l = mark_key(m, s);
	struct calls_choice choice;
	char value[LEARNT_VALUE_MAX];
	struct errbuf err;

	if (!*s->type || !s->seen.calls.step || !calls_step_choice(s->seen.calls.step, &choice))
		return;
	if (strcmp(k->name, choice.name) != 0)
		*k = (struct seen_mark){.spread = NAN};
	snprintf(k->name, sizeof(k->name), "%s", choice.name);
	if (!isnan(choice.spread))
		k->spread = choice.spread;
	if (s->seen.last.basis == PROVENANCE_CALLS && alone->units > 0 &&
		alone->seconds >= m->use.conf->profile_interval_s) {
		k->alone_per_s = fmin(alone->units / alone->seconds, PER_S_MAX);
		k->alone_cores = topo_count_cores(m->use.node->topo, &s->envelope);
	}
	format_mark(k, value, sizeof(value));
	l.value = value;
	l.put_unix_s = time(NULL);
	if (record_learnt_put(m->use.record, &l, MARKS_MAX, &err) < 0)
		health_error("%.200s", err.text);
}

void priors_note_mark(const struct measure *m, struct step *s)
{
	struct calls_choice choice;

	if (s->seen.calls.step && calls_step_choice(s->seen.calls.step, &choice) &&
		strcmp(s->seen.calls.mark_before.name, choice.name) != 0)
		keep_mark(m, s);
}

/* ---- speeds ---- */

static void take_base(struct step_seen *t, const struct measurement *m)
{
	for (int i = 0; i < t->n_bases; i++)
		if (t->base[i].cores == m->cores && strcmp(t->base[i].unit, m->unit) == 0) {
			if (m->kind == MEASURED_SOLO || !t->base[i].solo)
				t->base[i] = (struct seen_base){
					.cores = m->cores,
					.speed = m->mean,
					.solo = m->kind == MEASURED_SOLO,
				};
			snprintf(t->base[i].unit, sizeof(t->base[i].unit), "%s", m->unit);
			return;
		}
	if (t->n_bases == SEEN_BASES)
		return;
	t->base[t->n_bases] = (struct seen_base){
		.cores = m->cores, .speed = m->mean, .solo = m->kind == MEASURED_SOLO};
	snprintf(t->base[t->n_bases].unit, sizeof(t->base[0].unit), "%s", m->unit);
	t->n_bases++;
}

static int take_measurement(const struct measurement *m, void *arg)
{
	struct walk *w = arg;
	struct signal *sig = &w->s->signal[m->signal];
	int rank;

	if (strcmp(m->node_type, w->m->use.node->type) != 0 || !(m->mean > 0))
		return 0;
	/* Of another node, or of a store from before. */
	if (m->signal == SIGNAL_PROGRESS && m->last_unix_s >= w->marked_unix_s &&
		strncmp(m->unit, CALLS_UNIT, strlen(CALLS_UNIT)) == 0) {
		snprintf(w->s->seen.calls.mark_before.name,
			sizeof(w->s->seen.calls.mark_before.name), "%s",
			m->unit + strlen(CALLS_UNIT));
		w->marked_unix_s = m->last_unix_s;
	}
	if (m->signal == SIGNAL_PROGRESS && m->kind != MEASURED_SHARED)
		take_base(&w->s->seen, m);
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
	const struct step_seen *t = &s->seen;

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

void priors_open(const struct measure *m, struct step *s)
{
	struct walk w = {
		.m = m, .s = s, .cores = topo_count_cores(m->use.node->topo, &s->envelope)};
	const struct learnt key = mark_key(m, s);
	struct errbuf err;

	/* A stored profile is a run of its own: it stands. */
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (s->signal[i].provenance != PROVENANCE_NONE)
			w.rank[i] = INT_MAX;

	s->seen.rate = NAN;
	s->seen.skip = SKIP_SAMPLES;
	if (*s->type && record_measurement_list(
				m->use.record, s->type, s->user, take_measurement, &w, &err) < 0)
		log_warning("step %s: %s", s->id, err.text);
	if (*s->type && record_learnt_get(m->use.record, &key, take_mark, s, &err) < 0)
		log_warning("step %s: %s", s->id, err.text);
	make_curve(s);
}

/* ---- what it leaves ---- */

static void keep(const struct measure *m, const struct step *s, enum signal_id signal,
	enum provenance source, int cores, enum measured kind, double value)
{
	struct measurement told = {
		.cores = cores,
		.kind = kind,
		.signal = signal,
		.last_unix_s = time(NULL),
	};
	struct errbuf err;

	if (!*s->type || !isfinite(value) || cores < 1)
		return;
	snprintf(told.type, sizeof(told.type), "%s", s->type);
	snprintf(told.user, sizeof(told.user), "%s", s->user);
	snprintf(told.node_type, sizeof(told.node_type), "%s", m->use.node->type);
	snprintf(told.source, sizeof(told.source), "%s", provenance_name(source));
	if (signal == SIGNAL_PROGRESS)
		snprintf(told.unit, sizeof(told.unit), "%s", speed_unit(s));
	if (record_measurement_add(m->use.record, &told, value, &err) < 0)
		health_error("%.200s", err.text);
}

void priors_keep_speed(
	const struct measure *m, const struct step *s, int cores, bool alone, double speed)
{
	keep(m, s, SIGNAL_PROGRESS, s->seen.last.basis, cores,
		alone ? MEASURED_ALONE : MEASURED_SHARED, speed);
}

static void restart_first(struct step_seen *t, int cores, bool alone, int64_t now_ns)
{
	memset(t->sum, 0, sizeof(t->sum));
	memset(t->n, 0, sizeof(t->n));
	memset(&t->first_work, 0, sizeof(t->first_work));
	t->first_cores = cores;
	t->first_alone = alone;
	t->first_ns = now_ns;
}

void priors_first(const struct measure *m, struct step *s, int64_t now_ns, int cores, bool alone,
	double units, double seconds)
{
	struct step_seen *t = &s->seen;

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
	if ((double)(now_ns - t->first_ns) / 1e9 < m->use.conf->profile_interval_s)
		return;
	t->first_done = true;
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (t->n[i])
			keep(m, s, (enum signal_id)i, t->source[i], cores,
				alone ? MEASURED_ALONE : MEASURED_SHARED, t->sum[i] / t->n[i]);
	if (t->first_work.seconds > 0)
		priors_keep_speed(m, s, cores, alone, t->first_work.units / t->first_work.seconds);
}

void priors_close(const struct measure *m, struct step *s)
{
	struct step_seen *t = &s->seen;

	keep_mark(m, s);
	/* In a gap it may have had company. */
	if (t->shared.seconds == 0 && !t->gap.ns && !t->gap.open_ns &&
		t->alone.seconds >= m->use.conf->profile_interval_s)
		keep(m, s, SIGNAL_PROGRESS, t->last.basis,
			topo_count_cores(m->use.node->topo, &s->envelope), MEASURED_SOLO,
			t->alone.units / t->alone.seconds);
}
