/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corun.c - what the co-run is worth, and all that is known of a step as its row has it.
 */
#include <math.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/measure/internal.h"

/* A co-run's figures need the speeds of all for this share of its time; so does one of its own. */
#define KNOWN_SHARE 0.8
/* Of the loop, when a step ends. */
#define SETTLE_NS INT64_C(5000000)

/* What a step did, in seconds alone on as many cores as it has now. */
static void note_share(const struct measure *m, struct step *s, double elapsed_s)
{
	struct step_seen *t = &s->seen;
	double alone_s = (t->done + t->owed) / speed_solo_share(m, s);

	if (isnan(alone_s)) {
		t->share_unknown_s += elapsed_s;
		return;
	}
	t->share_known_s += elapsed_s;
	t->share_solo_s += alone_s;
}

static bool is_displaced(const struct measure *m)
{
	return m->tell.displaces && m->tell.displaces(m->tell.arg);
}

static void add_time(const struct measure *m, double elapsed_s)
{
	double full = 0, share = 0, ntt_full = 0, ntt_share = 0, solo, solo_on_share;
	int n = 0;

	for (int i = 0; i < m->use.jobs->n; i++) {
		const struct step *s = m->use.jobs->step[i];
		const char *basis;

		if (!step_is_company(s))
			continue;
		/* Of its time nothing is known; what is owed was done before. */
		if (s->seen.is_apart && elapsed_s > 0)
			return;
		n++;
		/* One that nobody knows the speed of, and all that follows is known. */
		if (isnan(full))
			continue;
		solo = speed_solo(m, s, &basis);
		solo_on_share = speed_solo_share(m, s);
		/* Work done, not the rate of the moment: a program that loads its next input
		 * publishes nothing, and that is part of its speed. */
		full += (s->seen.done + s->seen.owed) / solo;
		share += (s->seen.done + s->seen.owed) / solo_on_share;
		ntt_full += solo / speed_shared(s);
		ntt_share += solo_on_share / speed_shared(s);
	}
	for (int i = 0; n < 2 && i < m->use.jobs->n; i++)
		m->use.jobs->step[i]->seen.owed = 0; /* it was in no co-run */
	if (n < 2)
		return;
	for (int i = 0; i < m->use.jobs->n; i++) {
		struct step_seen *t = &m->use.jobs->step[i]->seen;

		if (!step_is_company(m->use.jobs->step[i]))
			continue;
		note_share(m, m->use.jobs->step[i], elapsed_s);
		t->owed = 0;
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

void corun_round(const struct measure *m, double elapsed_s)
{
	if (!is_displaced(m))
		add_time(m, elapsed_s);
}

void corun_settle(struct measure *m)
{
	int64_t now_ns = ipc_now_ns();
	double elapsed_s = m->on && !is_displaced(m) ? (double)(now_ns - m->last_ns) / 1e9 : 0;

	for (int i = 0; i < m->use.jobs->n; i++) {
		struct step *s = m->use.jobs->step[i];

		if (isfinite(s->seen.done)) {
			/* Of a round that has not got to its end, and so to nobody's sum. */
			if (m->round.on && s->order < m->round.next)
				s->seen.owed += s->seen.done;
			s->seen.done = 0;
		}
		if (ipc_now_ns() - now_ns < SETTLE_NS)
			reading_close_span(m, s);
	}
	add_time(m, elapsed_s);
	if (m->on)
		m->last_ns = now_ns;
}

void corun_end(struct measure *m, struct step *s)
{
	int64_t now_ns = ipc_now_ns();
	struct seen_work work = {.basis = PROVENANCE_NONE};

	/* One that ends before its first reading was counted, too. */
	if (s->seen.calls.step)
		speed_read_now(m, s, now_ns, &work);
	corun_settle(m);
	if (!s->seen.calls.step || work.basis != PROVENANCE_CALLS)
		return;
	/* The last calls may be missing. */
	work.whole = work.whole && work.t_ns >= now_ns;
	s->seen.last = work;
	log_debug("step %s: %.0f %s in all%s", s->id, work.total, speed_unit(s),
		work.whole ? "" : ", in part an estimate");
}

static bool is_known(double known_s, double unknown_s)
{
	return known_s > 0 && known_s >= KNOWN_SHARE * (known_s + unknown_s);
}

void corun_figures(
	const struct measure *m, const struct step *s, bool complete, struct step_figures *ret)
{
	const struct step_seen *t = &s->seen;
	struct step_figures f = STEP_FIGURES_NONE;
	struct gain_estimate gain;
	struct seen_gap gap = t->gap;
	double solo = speed_solo(m, s, &f.speed_basis);

	speed_close_gap(&gap, ipc_unix_ns());
	f.gap_ns = gap.ns;
	f.gap_from_ns = gap.from_ns;
	f.gap_to_ns = gap.to_ns;
	/* What it did in a gap is in nobody's total. */
	if (isnan(solo) && complete && !gap.ns && s->has_profile && s->profile.solo_s > 0 &&
		t->last.basis == PROVENANCE_APP) {
		solo = t->last.total / s->profile.solo_s;
		f.speed_basis = "progress";
	}
	f.shared_speed = speed_shared(s);
	f.solo_speed = solo;
	if (s->seen.last.basis != PROVENANCE_NONE)
		f.speed_unit = speed_unit(s);
	if (isfinite(f.shared_speed))
		f.ntt_full = solo / f.shared_speed;
	if (t->share_solo_s > 0 && is_known(t->share_known_s, t->share_unknown_s))
		f.ntt_share = t->share_known_s / t->share_solo_s;
	if (is_known(t->known_s, t->unknown_s)) {
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
	f.guard = step_guard(s);
	f.waits = *t->waits.text ? t->waits.text : NULL;
	f.phases = t->n_phases ? t->changes : -1;
	f.moves = s->rebinds;
	*ret = f;
}
