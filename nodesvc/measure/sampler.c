/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.c - when each step is read. Reading one costs per thread. So a step is read at every
 * interval only while something changes, or where it reports work or is counted by hardware. In
 * between there are looks, which cost per process: does it run as much as when it was read? One
 * that runs otherwise is read at once, any step after STEADY_MS, or CALM_MS and then LONG_MS where
 * it has been steady for a while. Utilisation is a mean since the last reading, not of a moment:
 * nothing is lost but the time at which a change is seen that cpu time does not show (more waiting
 * for the same running).
 *
 * Measured on a 2-core virtual machine with Linux 6.18, 64 steps of 8 tasks each 100 ms: a line of
 * schedstat 3.7 us, a process's clock 0.4 us (contrib/bench/overhead).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/internal.h"

#define LATE_NS   INT64_C(5000000)
#define STEADY_MS 2000 /* at least one reading in this time */
/* ... twice that after so many readings in a row that told of nothing (ten seconds), and again. */
#define CALM    5
#define CALM_MS 4000
#define LONG_MS 8000
#define LOOK_MS 300 /* and one look; twice that with CALM_MS */
/* A reading that tells of a change is followed by another after this: over a shorter time the
 * threads of a full node run by turns too uneven to confirm anything. */
#define CONFIRM_MS 500
/* A round in which many steps have to be read takes milliseconds. Whoever registers meanwhile waits
 * no longer than for this much of it. */
#define SLICE_NS INT64_C(250000)
/* A round that a launch holds up asks again so soon. */
#define ASK_AGAIN_NS INT64_C(1000000)
/* After a round that took long: so many times as long without one. */
#define PAUSE 4
/* So long of it may be gone through at once for who asks (sampler_refresh()). */
#define REFRESH_NS INT64_C(5000000)
/* Work that a step's reading has begun goes on between rounds, a slice (1.5 ms) each so often. */
#define SLICES_MS 8
/* Another share of its cores than when it was read. A phase is 1.6 times, from a quarter up: 0.15
 * (phase.h, phases.c). */
#define RUN_CHANGE 0.1

/* ---- looks ---- */

/* Cores it ran on since the last look; NAN: its processes are others, or no time has passed. */
static double look_running(struct measure *m, struct step *s, int64_t own_ns)
{
	struct pace *p = &s->pace;
	int64_t before_ns = p->run_ns, at_ns = p->run_at_ns;

	if (!at_ns || own_ns <= at_ns)
		return NAN;
	reading_note_clocks(m, s, own_ns);
	if (!p->run_at_ns || p->run_ns < before_ns)
		return NAN;
	return (double)(p->run_ns - before_ns) / (double)(own_ns - at_ns);
}

static bool runs_otherwise(const struct measure *m, const struct step *s, double running)
{
	int cores = topo_count_cores(m->use.node->topo, &s->envelope);

	if (s->threads < cores)
		cores = s->threads;
	return !(fabs(running - s->pace.running) <= RUN_CHANGE * cores);
}

/* Turns of one in so many rounds, a step's own: not all in one. */
static bool is_turn(const struct measure *m, const struct step *s, int every_ms)
{
	uint64_t n = (uint64_t)(every_ms / m->use.conf->interval_ms);

	return n <= 1 || (m->n_rounds + (uint64_t)s->order) % n == 0;
}

static bool reading_is_due(const struct measure *m, const struct step *s, int64_t now_ns, int ms)
{
	int64_t since_ms = (now_ns - s->pace.read_ns) / 1000000;

	/* Its turn, unless rounds came late and it had one out of turn. */
	return since_ms >= ms || (since_ms >= ms / 2 && is_turn(m, s, ms));
}

/* Hardware counters and reported work tell of phases that no clock shows; that MPI ranks poll, or
 * do not any more, is told by samples in a row (polling.h). */
static bool is_always_read(const struct measure *m, const struct step *s)
{
	return m->use.node->counters.ops != &counters_none || s->pages ||
	       polling_is_unsure(&s->polling);
}

/* Nobody waits for seconds to be told the first figure, or that there are none any more. */
static bool speed_is_news(const struct step *s)
{
	return s->seen.calls.step && isnan(s->seen.rate) != isnan(speed_by_calls(s));
}

/*
 * Of a step that takes turns: too little of its own time has passed to say anything. Its threads
 * stop and go on a little after the moments we noted, by milliseconds on a busy machine.
 */
static bool ran_too_short(const struct measure *m, const struct step *s, int64_t now_ns)
{
	int64_t passed_ns = now_ns - s->pace.read_ns;
	int64_t own_ns = turn_clock(&s->turn, now_ns) - s->pace.read_own_ns;

	return s->pace.read_ns && own_ns < passed_ns &&
	       own_ns < m->use.conf->interval_ms * INT64_C(1000000) / 2;
}

static int steady_pace(const struct pace *p)
{
	if (p->confirm)
		return CONFIRM_MS;
	return p->calm > 2 * CALM ? LONG_MS : p->calm > CALM ? CALM_MS : STEADY_MS;
}

static bool look_at(struct measure *m, struct step *s, int64_t now_ns)
{
	struct pace *p = &s->pace;
	int steady_ms = steady_pace(p);
	double running;

	if (ran_too_short(m, s, now_ns)) {
		reading_skip(s);
		return false;
	}
	/* One that is not read whole is not told by its clocks either. */
	if (is_always_read(m, s) || speed_is_news(s) || p->restless > 0 || !p->read_ns ||
		(!p->run_at_ns && !threads_are_many(s)) || reading_is_due(m, s, now_ns, steady_ms))
		return reading_take(m, s, now_ns);
	if (threads_are_many(s) || !is_turn(m, s, p->calm > CALM ? 2 * LOOK_MS : LOOK_MS)) {
		reading_skip(s);
		return false;
	}
	m->use.work->looks++;
	running = look_running(m, s, turn_clock(&s->turn, now_ns));
	if (runs_otherwise(m, s, running)) {
		p->calm = -1;
		return reading_take(m, s, now_ns);
	}
	reading_skip(s);
	return false;
}

/* The next one where it would be without this one's lateness; soon, where it may show a change. */
static void arm(struct measure *m, int64_t due_ns, int64_t now_ns)
{
	int64_t interval_ns = m->use.conf->interval_ms * INT64_C(1000000), next_ns;

	for (int i = 0; i < m->use.jobs->n; i++)
		if (is_always_read(m, m->use.jobs->step[i]) &&
			phases_are_suspect(m->use.jobs->step[i])) {
			interval_ns /= 2;
			break;
		}
	next_ns = due_ns + interval_ns;
	if (next_ns < now_ns + interval_ns / 2)
		next_ns = now_ns + interval_ns;
	if (next_ns < now_ns + PAUSE * m->round.spent_ns)
		next_ns = now_ns + PAUSE * m->round.spent_ns;
	m->next_ns = next_ns;
	loop_set_timer_at(m->timer, next_ns);
}

/* ---- work that goes on ---- */

static bool has_work(const struct step *s)
{
	return s->back || thread_list_is_reading(&s->pace.list) || s->polling.look ||
	       s->coupling.look || s->mapped.look;
}

/* The next step that has some, all in turn. */
static struct step *next_with_work(const struct measure *m)
{
	struct step *first = NULL;

	for (int i = 0; i < m->use.jobs->n; i++) {
		struct step *s = m->use.jobs->step[i];

		if (!has_work(s))
			continue;
		if (s->order > m->slice_of)
			return s;
		if (!first)
			first = s;
	}
	return first;
}

void sampler_go_on_later(struct measure *m)
{
	if (m && m->slices && next_with_work(m))
		loop_set_timer(m->slices, SLICES_MS, 0);
}

static bool stands_back(const struct measure *m, int64_t late_ns)
{
	return m->tell.stands_back && m->tell.stands_back(m->tell.arg, late_ns);
}

static void on_slice(void *arg)
{
	struct measure *m = arg;
	struct step *s = next_with_work(m);

	if (s && !stands_back(m, 0)) {
		m->slice_of = s->order;
		if (s->back && m->tell.on_slice)
			m->tell.on_slice(m->tell.arg, s);
		else if (thread_list_is_reading(&s->pace.list))
			threads_list(m, s);
		else if (s->polling.look)
			polling_go_on(&s->polling);
		else if (s->coupling.look)
			coupling_go_on(&s->coupling);
		else
			mapped_go_on(&s->mapped);
	}
	sampler_go_on_later(m);
}

/* ---- rounds ---- */

static void begin_round(struct measure *m, int64_t now_ns)
{
	m->round.on = true;
	m->round.next = m->round.spent_ns = 0;
	m->round.elapsed_s = (double)(now_ns - m->last_ns) / 1e9;
	m->last_ns = now_ns;
	m->n_rounds++;
}

/* The steps that have not had their turn, which steps that end meanwhile do not change; at least
 * one. True: that was the last one. */
static bool go_on(struct measure *m, int64_t now_ns, int64_t until_ns)
{
	for (int i = 0; i < m->use.jobs->n; i++) {
		struct step *s = m->use.jobs->step[i];

		if (s->order < m->round.next || !s->located)
			continue;
		m->round.next = s->order + 1;
		if (s->status == STATUS_SUSPENDED)
			continue;
		if (look_at(m, s, now_ns))
			s->phase_changed = true;
		if (ipc_now_ns() >= until_ns)
			return false;
	}
	m->round.on = false;
	corun_round(m, m->round.elapsed_s);
	return true;
}

void sampler_round(struct measure *m, int64_t now_ns)
{
	begin_round(m, now_ns);
	go_on(m, now_ns, INT64_MAX);
}

/* Whoever judges how soon a change is seen leaves out what the machine was late. */
static void tell_late(int64_t due_ns, int64_t now_ns)
{
	if (now_ns - due_ns > LATE_NS)
		log_debug("samples late by %.3f s, unix=%.3f", (double)(now_ns - due_ns) / 1e9,
			(double)ipc_unix_ns() / 1e9);
}

static void on_timer(void *arg)
{
	struct measure *m = arg;
	int64_t start_ns = ipc_now_ns(), looked_ns;
	bool all;

	/* Nothing to watch: an idle node costs no wake-ups. */
	if (m->use.jobs->n == 0) {
		m->on = m->round.on = false;
		return;
	}
	if (stands_back(m, start_ns - m->next_ns)) {
		loop_set_timer_at(m->timer, start_ns + ASK_AGAIN_NS);
		return;
	}
	if (!m->round.on) {
		tell_late(m->next_ns, start_ns);
		begin_round(m, start_ns);
	}
	all = go_on(m, start_ns, start_ns + SLICE_NS);
	m->round.spent_ns += ipc_now_ns() - start_ns;
	if (!all) {
		loop_set_timer_at(m->timer, start_ns);
		return;
	}
	looked_ns = ipc_now_ns();
	arm(m, m->next_ns, start_ns);
	sampler_go_on_later(m);
	if (m->tell.on_round)
		m->tell.on_round(m->tell.arg);
	work_note(&m->use.work->rounds, m->round.spent_ns + ipc_now_ns() - looked_ns);
}

void sampler_refresh(struct measure *m)
{
	int64_t now_ns = ipc_now_ns();

	if (!m->timer || m->use.jobs->n == 0 ||
		now_ns - m->last_ns < m->use.conf->interval_ms * INT64_C(1000000))
		return;
	begin_round(m, now_ns);
	if (go_on(m, now_ns, now_ns + REFRESH_NS))
		arm(m, now_ns, now_ns);
	else
		loop_set_timer_at(m->timer, now_ns);
}

static void start(struct measure *m)
{
	m->on = true;
	m->last_ns = ipc_now_ns();
	arm(m, m->last_ns, m->last_ns);
}

void sampler_start(struct measure *m)
{
	if (m && !m->on)
		start(m);
	if (m)
		counting_start(m);
}

void sampler_restart(struct measure *m)
{
	if (m)
		start(m);
}

uint64_t sampler_rounds(const struct measure *m)
{
	return m->n_rounds;
}

int measure_open(struct measure **ret, const struct measure_uses *u, const struct measure_events *e,
	struct errbuf *err)
{
	struct measure *m = calloc(1, sizeof(*m));
	int rc = 0;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->use = *u;
	if (e)
		m->tell = *e;
	rc = waits_open(m);
	if (rc < 0)
		rc = err_set(err, rc, "out of memory");
	if (rc == 0 && u->loop)
		rc = loop_add_timer(u->loop, on_timer, m, &m->timer, err);
	if (rc == 0 && u->loop)
		rc = loop_add_timer(u->loop, on_slice, m, &m->slices, err);
	if (rc < 0) {
		measure_close(m);
		return rc;
	}
	*ret = m;
	return 0;
}

void measure_close(struct measure *m)
{
	if (!m)
		return;
	counting_close(m);
	loop_remove(m->use.loop, m->timer);
	loop_remove(m->use.loop, m->slices);
	waits_close(m);
	free(m);
}
