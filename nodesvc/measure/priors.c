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

#include "nodesvc/base/log.h"
#include "nodesvc/counters/calls.h"
#include "nodesvc/measure/internal.h"

/* ---- what the store knows ---- */

struct walk {
	const struct measure *m;
	struct step *s;
	int cores;              /* of its envelope */
	int rank[SIGNAL_COUNT]; /* of what is taken so far */
};

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
	if (m->signal == SIGNAL_PROGRESS && strncmp(m->unit, CALLS_UNIT, strlen(CALLS_UNIT)) == 0)
		snprintf(w->s->seen.calls.prefer, sizeof(w->s->seen.calls.prefer), "%s",
			m->unit + strlen(CALLS_UNIT));
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

	/* In a gap it may have had company. */
	if (t->shared.seconds == 0 && !t->gap.ns && !t->gap.open_ns &&
		t->alone.seconds >= m->use.conf->profile_interval_s)
		keep(m, s, SIGNAL_PROGRESS, t->last.basis,
			topo_count_cores(m->use.node->topo, &s->envelope), MEASURED_SOLO,
			t->alone.units / t->alone.seconds);
}
