/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases.c - when a step has become another to the policy: by utilisation, or by progress per cpu
 * second. The detector is engine/phase.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/internal.h"

/* A phase is one seen before when both figures are this near (science.md 1.2: known phases). */
#define SAME_PHASE 1.25

/* The table goes by what the detector goes by. */
static bool near(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	return a <= b * SAME_PHASE && b <= a * SAME_PHASE;
}

/* The phase with these figures: one of the table, or a new one. */
static void enter_phase(struct step_seen *t, int cores, double busy, double intensity)
{
	t->phase_unix_s = (double)ipc_unix_ns() / 1e9;
	for (int i = 0; i < t->n_phases; i++)
		if (t->phase[i].cores == cores &&
			near(fmax(t->phase[i].utilization, IDLE_WAITS), fmax(busy, IDLE_WAITS)) &&
			near(t->phase[i].intensity, intensity)) {
			t->phase_now = i;
			return;
		}
	/* A full table forgets its first: what is new may come again. */
	if (t->n_phases == SEEN_PHASES)
		memmove(&t->phase[0], &t->phase[1], (SEEN_PHASES - 1) * sizeof(t->phase[0]));
	else
		t->n_phases++;
	t->phase_now = t->n_phases - 1;
	t->phase[t->phase_now] =
		(struct seen_phase){.cores = cores, .utilization = NAN, .intensity = NAN};
}

static void add_to_mean(double *mean, int *n, double x)
{
	*mean = *n ? *mean + (x - *mean) / (*n + 1) : x;
	++*n;
}

static struct phase_cfg detector(const struct measure *m)
{
	struct phase_cfg c =
		m->use.conf->phase.detector == DETECTOR_PAPER ? phase_paper : phase_width;

	if (c.mode == PHASE_PAPER) {
		c.epoch_s = m->use.conf->phase.epoch_s;
		c.first_epoch_s = m->use.conf->phase.first_epoch_s;
	}
	if (m->use.conf->phase.ratio > 1)
		c.ratio = m->use.conf->phase.ratio;
	return c;
}

static void note_phase(const struct measure *m, struct step *s, double busy, double intensity)
{
	char text[96];
	struct errbuf err;

	if (isfinite(intensity))
		snprintf(text, sizeof(text), "busy %.2f, %.4g %s per cpu second", busy, intensity,
			speed_unit(s));
	else
		snprintf(text, sizeof(text), "busy %.2f", busy);
	log_debug("step %s: phase change, to %d of %d: %s, unix=%.3f", s->id, s->seen.phase_now + 1,
		s->seen.n_phases, text, s->seen.phase_unix_s);
	if (s->row_id && record_phase(m->use.record, s->row_id,
				 (int64_t)(s->seen.phase_unix_s * 1e9), text, &err) < 0)
		health_error("%.200s", err.text);
}

/*
 * Two figures, either of which may tell: utilisation (does it want its cores?), and progress per
 * cpu second, which a neighbour taking cpu time does not change, as progress alone would be.
 */
bool phases_sample(const struct measure *m, struct step *s, int64_t now_ns, double elapsed_s,
	int cores, double intensity)
{
	struct step_seen *t = &s->seen;
	struct phase_cfg cfg = detector(m);
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
	if (phase_asks_high(&t->busy, &cfg, fmax(busy, IDLE_WAITS)))
		busy_high = fmax(busy, utilization_at_most(s->util));
	by_busy = phase_sample_range(
		&t->busy, &cfg, now_s, fmax(busy, IDLE_WAITS), fmax(busy_high, IDLE_WAITS));
	/* Who hardly ran has no figure: two that deviate with such a sample between them are not in
	 * a row, nor is the first looked at again and again. (Who reports seldom has one at every
	 * other sample: those are.) */
	if (isfinite(intensity))
		by_intensity = phase_sample(&t->intensity, &cfg, now_s, intensity);
	else if (!(utilization_running(s->util) > IDLE_RUNS))
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
		note_phase(m, s, busy, intensity);
	}
	/* A sample that deviates may be the next phase's: into nobody's mean. */
	if (t->n_phases && !t->busy.deviating && !t->intensity.deviating) {
		struct seen_phase *p = &t->phase[t->phase_now];

		add_to_mean(&p->utilization, &p->n, busy);
		if (isfinite(intensity))
			add_to_mean(&p->intensity, &p->n_intensity, intensity);
		p->seconds += elapsed_s;
	}
	return by_busy || by_intensity;
}

bool phases_are_suspect(const struct step *s)
{
	return s->seen.busy.suspect || s->seen.intensity.suspect;
}
