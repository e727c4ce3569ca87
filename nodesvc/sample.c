/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample.c - the signals of the live steps: utilisation from schedstat always; rates from
 * hardware counters where probing found any, else from the program's stored profile, scaled by
 * live utilisation. What neither has stays PROVENANCE_NONE.
 *
 * Reading a step costs per thread. So a step is read at every interval only while something
 * changes, or where it reports work or is counted by hardware. In between there are looks, which
 * cost per process: does it run as much as when it was read? One that runs otherwise is read at
 * once, any step after STEADY_MS, or CALM_MS and then LONG_MS where it has been steady for a while.
 * Utilisation is a mean since the last reading, not of a moment: nothing is lost but the time at
 * which a change is seen that cpu time does not show (more waiting for the same running).
 *
 * Measured on a 2-core virtual machine with Linux 6.18, 64 steps of 8 tasks each 100 ms: a line of
 * schedstat 3.7 us, a process's clock 0.4 us (contrib/bench/overhead).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/log.h"
#include "nodesvc/runtime/sleeper.h"

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
/* Readings in a row after a start or a move: two that say nothing (track.c), two for a reference
 * (phase.c), two that confirm. */
#define UNSETTLED 6
/* A round in which many steps have to be read takes milliseconds. Whoever registers meanwhile waits
 * no longer than for this much of it. */
#define SLICE_NS INT64_C(250000)
/*
 * How many threads a step has its user chooses. More than this, and longer, no reading goes on; the
 * next goes on where it stopped (utilization.c). What costs for each of its threads and cannot go
 * on is not done for a step that has more: clocks, counters of threads, the names of sleepers.
 */
#define READ_THREADS    1024
#define READ_THREADS_NS INT64_C(3000000)
/* After a round that took long: so many times as long without one. */
#define PAUSE 4
/* So long of it may be gone through at once for who asks (sample_refresh()). */
#define REFRESH_NS INT64_C(5000000)
/* Work that a step's reading has begun goes on between rounds, a slice (1.5 ms) each so often. */
#define SLICES_MS 8
/* Another share of its cores than when it was read. A phase is 1.6 times, from a quarter up: 0.15
 * (phase.h, track.c). */
#define RUN_CHANGE 0.1

static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void scale_profile(struct step *s, double live)
{
	struct signal scaled[SIGNAL_COUNT];

	memset(scaled, 0, sizeof(scaled));
	profile_scale(&s->profile, live, scaled);
	for (int i = 0; i < SIGNAL_COUNT; i++)
		if (i != SIGNAL_UTILIZATION && s->signal[i].provenance != PROVENANCE_HW &&
			(scaled[i].provenance != PROVENANCE_NONE ||
				!(isnan(scaled[i].value) || scaled[i].value == 0)))
			s->signal[i] = scaled[i]; /* what cannot be, too: it is unknown now */
}

void sample_open_step(struct daemon *d, struct step *s)
{
	struct errbuf err;

	if (!s->util && utilization_open(&s->util, &d->node.root, &err) < 0)
		log_warning("step %s: utilisation: %s", s->id, err.text);
	if (record_profile_find(d->record, s->type, s->user,
		    topo_count_cores(d->node.topo, &s->envelope), d->node.type, &s->profile,
		    &err) == 0) {
		s->has_profile = true;
		/* Nothing live yet: as it was alone. */
		scale_profile(s, s->profile.utilization);
		s->sample_no++;
	}
	track_open(d, s);
}

void sample_close_step(struct daemon *d, struct step *s)
{
	d->counters.ops->close(s->counters);
	s->counters = NULL;
}

int sample_count(struct daemon *d, struct step *s, struct sample *ret)
{
	char cgroup[sizeof(s->cgroup.step_path) + 1];
	struct counter_target target = {
		.tid = s->pace.list.tid, .n_tids = s->pace.list.n, .cgroup = cgroup};
	struct errbuf err;

	if (!s->counters || s->pace.list.n == 0)
		return -ENODATA;
	snprintf(cgroup, sizeof(cgroup), "/%s", s->cgroup.step_path);
	return d->counters.ops->read(s->counters, &target, ret, &err);
}

static void read_counters(struct daemon *d, struct step *s, const pid_t *tid, int n_tids)
{
	char cgroup[sizeof(s->cgroup.step_path) + 1];
	/* perf counts a whole v2 cgroup at once; one it does not take, thread by thread. */
	struct counter_target target = {.tid = tid, .n_tids = n_tids, .cgroup = cgroup};
	struct sample now;
	struct errbuf err;

	if (d->counters.ops == &counters_none)
		return;
	snprintf(cgroup, sizeof(cgroup), "/%s", s->cgroup.step_path);
	if (!s->counters && d->counters.ops->open(&s->counters, &target, &err) < 0) {
		log_debug("step %s: counters: %s", s->id, err.text);
		return;
	}
	if (d->counters.ops->read(s->counters, &target, &now, &err) < 0)
		return;
	if (s->has_sample) {
		struct signal rate[SIGNAL_COUNT];

		memset(rate, 0, sizeof(rate));
		counters_rates(&s->last_sample, &now, n_tids, rate);
		for (int i = 0; i < SIGNAL_COUNT; i++)
			if (i != SIGNAL_UTILIZATION && rate[i].provenance != PROVENANCE_NONE)
				s->signal[i] = rate[i];
	}
	s->last_sample = now;
	s->has_sample = true;
}

/* What its processes publish; the figure of a process that has ended goes with it. */
static void read_progress(struct step *s, int64_t now_ns, pid_t *tid, int n_tids)
{
	if (!s->pages)
		return;
	app_read(&s->pages->app, s->pages->report, now_ns, &s->signal[SIGNAL_PROGRESS]);
	qsort(tid, (size_t)n_tids, sizeof(*tid), compare_pids);
	app_release(&s->pages->app, s->pages->report, tid, n_tids);
}

void sample_pause(struct daemon *d, struct step *s)
{
	struct errbuf err;

	track_pause(s);
	s->pace.read_ns = s->pace.run_at_ns = 0;
	s->has_sample = false;
	s->signal[SIGNAL_UTILIZATION] = (struct signal){NAN, PROVENANCE_NONE};
	if (s->pages)
		app_pause(&s->pages->app);
	/* Each of them counts from its last look on. */
	utilization_close(s->turn.util);
	s->turn.util = NULL;
	utilization_close(s->util);
	s->util = NULL;
	if (utilization_open(&s->util, &d->node.root, &err) < 0)
		log_warning("step %s: utilisation: %s", s->id, err.text);
}

void sample_unsettle(struct step *s)
{
	s->pace.restless = UNSETTLED;
	s->pace.calm = 0;
}

/* ---- readings ---- */

/* Takes out those that sleep for libcoloc_omp: they are no work that waits for cores. Returns how
 * many there are then. */
static int drop_sleepers(const struct daemon *d, pid_t *tid, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		char path[64], name[32] = "";

		snprintf(path, sizeof(path), "proc/%d/comm", (int)tid[i]);
		if (fsroot_read_once(&d->node.root, path, name, sizeof(name)) < 0 ||
			strcmp(name, COLOC_SLEEPER "\n") != 0)
			tid[kept++] = tid[i];
	}
	return kept;
}

static bool is_large(const struct step *s)
{
	return s->pace.list.n > READ_THREADS;
}

/* 0, <0 there is none. */
static int list_threads(struct daemon *d, struct step *s)
{
	struct pace *p = &s->pace;
	bool changed;
	int rc = thread_list_update(&p->list, d->actuate, &s->cgroup, &changed);

	if (changed)
		p->calm = -1; /* other threads */
	if (rc < 0 || !changed)
		return rc;
	if (s->omp && !is_large(s))
		p->list.n = drop_sleepers(d, p->list.tid, p->list.n);
	clocks_set(&p->clocks, p->list.tid, is_large(s) ? 0 : p->list.n);
	p->run_at_ns = 0;
	return 0;
}

/* Its own clock: a frozen step could not run. */
static int64_t own_clock(const struct step *s, int64_t now_ns)
{
	return now_ns - rotate_frozen_ns(s, now_ns);
}

/* What its clocks show, to compare the next look with. */
static void note_clocks(struct daemon *d, struct step *s, int64_t own_ns)
{
	struct pace *p = &s->pace;

	d->work.clocks += (uint64_t)p->clocks.n;
	p->run_at_ns = clocks_read(&p->clocks, &p->run_ns) == 0 ? own_ns : 0;
}

/* True: the step entered another phase. */
static bool read_step(struct daemon *d, struct step *s, int64_t now_ns)
{
	struct pace *p = &s->pace;
	double elapsed_s = p->read_ns ? (double)(now_ns - p->read_ns) / 1e9 : 0, runnable;
	int64_t own_ns = own_clock(s, now_ns);
	struct budget budget;
	struct errbuf err = {""};
	bool changed;

	if (list_threads(d, s) < 0 || p->list.n == 0)
		return false;
	s->threads = p->list.n;
	budget = budget_of(READ_THREADS, READ_THREADS_NS);
	if (!s->util || utilization_read(s->util, p->list.tid, p->list.n, own_ns,
				topo_count_cores(d->node.topo, &s->envelope), &budget,
				&s->signal[SIGNAL_UTILIZATION], &runnable, &err) < 0)
		return false;
	note_clocks(d, s, own_ns);
	d->work.readings++;
	d->work.threads += (uint64_t)budget.taken;
	p->running = utilization_running(s->util);
	p->read_ns = now_ns;
	p->read_own_ns = own_ns;
	if (p->restless > 0)
		p->restless--;
	if (polling_sample(&s->polling, &d->node.root, p->list.tid, p->list.n, runnable))
		log_info("step %s: its %d MPI processes %s", s->id, s->polling.ranks,
			s->polling.on ? "poll for one another" : "do not poll any more");
	if (coupling_sample(&s->coupling, &d->node.root, p->list.tid, p->list.n,
		    topo_count_cores(d->node.topo, &s->coreset), utilization_stretch_s(s->util),
		    runnable, s->turn.hold != NULL))
		log_info("step %s: its threads %s", s->id,
			s->coupling.on ? "wait for one another often"
				       : "seldom wait for one another");
	if (!is_large(s))
		read_counters(d, s, p->list.tid, p->list.n);
	if (s->has_profile && s->signal[SIGNAL_UTILIZATION].provenance != PROVENANCE_NONE)
		scale_profile(s, s->signal[SIGNAL_UTILIZATION].value);
	read_progress(s, now_ns, p->list.tid, p->list.n);
	s->sample_no++;
	changed = track_sample(d, s, now_ns, elapsed_s);
	/* A change has to be seen twice. */
	p->confirm = track_is_suspect(s) || s->track.busy.deviating;
	p->calm = p->confirm || changed || p->restless ? 0 : p->calm + 1;
	return changed;
}

int sample_lags(
	const struct daemon *d, const struct step *s, int64_t now_ns, struct lag ret[LAGS_MAX])
{
	const struct thread_list *l = &s->pace.list;
	struct lag lag;
	int n = 0;

	lag = (struct lag){.what = "threads", .of = l->n};
	lag.left = s->util ? utilization_unread(s->util, &lag.behind_ns) : 0;
	if (lag.left)
		ret[n++] = lag;
	if (l->at_ns && (thread_list_is_reading(l) || l->again_ns > now_ns))
		ret[n++] =
			(struct lag){.what = "the list of threads", .behind_ns = now_ns - l->at_ns};
	lag = (struct lag){.what = "placing"};
	lag.left = actuate_left(d->actuate, &s->cgroup, &lag.of);
	if (s->back)
		ret[n++] = (struct lag){.what = "putting back"};
	else if (lag.left)
		ret[n++] = lag;
	lag = (struct lag){.what = "mappings of processes"};
	lag.left = polling_left(&s->polling, &lag.of);
	if (!lag.left)
		lag.left = coupling_left(&s->coupling, &lag.of);
	if (lag.left)
		ret[n++] = lag;
	return n;
}

/* ---- looks ---- */

/* Cores it ran on since the last look; NAN: its processes are others, or no time has passed. */
static double look_running(struct daemon *d, struct step *s, int64_t own_ns)
{
	struct pace *p = &s->pace;
	int64_t before_ns = p->run_ns, at_ns = p->run_at_ns;

	if (!at_ns || own_ns <= at_ns)
		return NAN;
	note_clocks(d, s, own_ns);
	if (!p->run_at_ns || p->run_ns < before_ns)
		return NAN;
	return (double)(p->run_ns - before_ns) / (double)(own_ns - at_ns);
}

static bool runs_otherwise(const struct daemon *d, const struct step *s, double running)
{
	int cores = topo_count_cores(d->node.topo, &s->envelope);

	if (s->threads < cores)
		cores = s->threads;
	return !(fabs(running - s->pace.running) <= RUN_CHANGE * cores);
}

/* Turns of one in so many rounds, a step's own: not all in one. */
static bool is_turn(const struct daemon *d, const struct step *s, int every_ms)
{
	uint64_t n = (uint64_t)(every_ms / d->conf.interval_ms);

	return n <= 1 || (d->n_rounds + (uint64_t)s->order) % n == 0;
}

static bool reading_is_due(const struct daemon *d, const struct step *s, int64_t now_ns, int ms)
{
	int64_t since_ms = (now_ns - s->pace.read_ns) / 1000000;

	/* Its turn, unless rounds came late and it had one out of turn. */
	return since_ms >= ms || (since_ms >= ms / 2 && is_turn(d, s, ms));
}

/* Hardware counters and reported work tell of phases that no clock shows; whether MPI ranks poll is
 * told by samples in a row (polling.h). */
static bool is_always_read(const struct daemon *d, const struct step *s)
{
	return d->counters.ops != &counters_none || s->pages || s->polling.ranks > 1;
}

/*
 * Of a step that takes turns: too little of its own time has passed to say anything. Its threads
 * stop and go on a little after the moments we noted, by milliseconds on a busy machine.
 */
static bool ran_too_short(const struct daemon *d, const struct step *s, int64_t now_ns)
{
	int64_t passed_ns = now_ns - s->pace.read_ns;
	int64_t own_ns = own_clock(s, now_ns) - s->pace.read_own_ns;

	return s->pace.read_ns && own_ns < passed_ns &&
	       own_ns < d->conf.interval_ms * INT64_C(1000000) / 2;
}

static int steady_pace(const struct pace *p)
{
	if (p->confirm)
		return CONFIRM_MS;
	return p->calm > 2 * CALM ? LONG_MS : p->calm > CALM ? CALM_MS : STEADY_MS;
}

static bool look_at(struct daemon *d, struct step *s, int64_t now_ns)
{
	struct pace *p = &s->pace;
	int steady_ms = steady_pace(p);
	double running;

	if (ran_too_short(d, s, now_ns)) {
		track_skip(s);
		return false;
	}
	/* One that is not read whole is not told by its clocks either. */
	if (is_always_read(d, s) || p->restless > 0 || !p->read_ns ||
		(!p->run_at_ns && !is_large(s)) || reading_is_due(d, s, now_ns, steady_ms))
		return read_step(d, s, now_ns);
	if (is_large(s) || !is_turn(d, s, p->calm > CALM ? 2 * LOOK_MS : LOOK_MS)) {
		track_skip(s);
		return false;
	}
	d->work.looks++;
	running = look_running(d, s, own_clock(s, now_ns));
	if (runs_otherwise(d, s, running)) {
		p->calm = -1;
		return read_step(d, s, now_ns);
	}
	track_skip(s);
	return false;
}

/* The next one where it would be without this one's lateness; soon, where it may show a change. */
static void arm(struct daemon *d, int64_t due_ns, int64_t now_ns)
{
	int64_t interval_ns = d->conf.interval_ms * INT64_C(1000000), next_ns;

	for (int i = 0; i < d->jobs.n; i++)
		if (is_always_read(d, d->jobs.step[i]) && track_is_suspect(d->jobs.step[i])) {
			interval_ns /= 2;
			break;
		}
	next_ns = due_ns + interval_ns;
	if (next_ns < now_ns + interval_ns / 2)
		next_ns = now_ns + interval_ns;
	if (next_ns < now_ns + PAUSE * d->round.spent_ns)
		next_ns = now_ns + PAUSE * d->round.spent_ns;
	d->next_sample_ns = next_ns;
	loop_set_timer_at(d->sampler, next_ns);
}

/* ---- work that goes on ---- */

static bool has_work(const struct step *s)
{
	return s->back || thread_list_is_reading(&s->pace.list) || s->polling.look ||
	       s->coupling.look;
}

/* The next step that has some, all in turn. */
static struct step *next_with_work(const struct daemon *d)
{
	struct step *first = NULL;

	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (!has_work(s))
			continue;
		if (s->order > d->slice_of)
			return s;
		if (!first)
			first = s;
	}
	return first;
}

void sample_go_on_later(struct daemon *d)
{
	if (d->slices && next_with_work(d))
		loop_set_timer(d->slices, SLICES_MS, 0);
}

static void on_slice(void *daemon)
{
	struct daemon *d = daemon;
	struct step *s = next_with_work(d);

	if (s && !decide_stands_back(d, 0)) {
		d->slice_of = s->order;
		if (s->back)
			putback_go_on(d, s);
		else if (thread_list_is_reading(&s->pace.list))
			list_threads(d, s);
		else if (s->polling.look)
			polling_go_on(&s->polling);
		else
			coupling_go_on(&s->coupling);
	}
	sample_go_on_later(d);
}

/* ---- rounds ---- */

static void begin_round(struct daemon *d, int64_t now_ns)
{
	d->round =
		(struct round){.on = true, .elapsed_s = (double)(now_ns - d->last_sample_ns) / 1e9};
	d->last_sample_ns = now_ns;
	d->n_rounds++;
}

/* The steps that have not had their turn, which steps that end meanwhile do not change; at least
 * one. True: that was the last one. */
static bool go_on(struct daemon *d, int64_t now_ns, int64_t until_ns)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (s->order < d->round.next || !s->located)
			continue;
		d->round.next = s->order + 1;
		if (s->status == STATUS_SUSPENDED)
			continue;
		if (look_at(d, s, now_ns))
			s->phase_changed = true;
		if (ipc_now_ns() >= until_ns)
			return false;
	}
	d->round.on = false;
	track_corun(d, d->round.elapsed_s);
	return true;
}

void sample_round(struct daemon *d, int64_t now_ns)
{
	begin_round(d, now_ns);
	go_on(d, now_ns, INT64_MAX);
}

/* Whoever judges how soon a change is seen leaves out what the machine was late. */
static void tell_late(int64_t due_ns, int64_t now_ns)
{
	if (now_ns - due_ns > LATE_NS)
		log_debug("samples late by %.3f s, unix=%.3f", (double)(now_ns - due_ns) / 1e9,
			track_unix_now());
}

static void on_timer(void *daemon)
{
	struct daemon *d = daemon;
	int64_t start_ns = ipc_now_ns(), looked_ns;
	bool all;

	/* Nothing to watch: an idle node costs no wake-ups. */
	if (d->jobs.n == 0) {
		d->sampling = d->round.on = false;
		return;
	}
	if (decide_stands_back(d, start_ns - d->next_sample_ns)) {
		loop_set_timer_at(d->sampler, start_ns + LAUNCH_PAUSE_NS);
		return;
	}
	if (!d->round.on) {
		tell_late(d->next_sample_ns, start_ns);
		begin_round(d, start_ns);
	}
	all = go_on(d, start_ns, start_ns + SLICE_NS);
	d->round.spent_ns += ipc_now_ns() - start_ns;
	if (!all) {
		loop_set_timer_at(d->sampler, start_ns);
		return;
	}
	looked_ns = ipc_now_ns();
	arm(d, d->next_sample_ns, start_ns);
	sample_go_on_later(d);
	decide_phases(d);
	work_note(&d->work.rounds, d->round.spent_ns + ipc_now_ns() - looked_ns);
}

void sample_refresh(struct daemon *d)
{
	int64_t now_ns = ipc_now_ns();

	if (!d->sampler || d->jobs.n == 0 ||
		now_ns - d->last_sample_ns < d->conf.interval_ms * INT64_C(1000000))
		return;
	begin_round(d, now_ns);
	if (go_on(d, now_ns, now_ns + REFRESH_NS))
		arm(d, now_ns, now_ns);
	else
		loop_set_timer_at(d->sampler, now_ns);
}

void sample_start(struct daemon *d)
{
	d->sampling = true;
	d->last_sample_ns = ipc_now_ns();
	arm(d, d->last_sample_ns, d->last_sample_ns);
}

int sample_open(struct daemon *d, struct errbuf *err)
{
	int rc = loop_add_timer(d->loop, on_timer, d, &d->sampler, err);

	return rc < 0 ? rc : loop_add_timer(d->loop, on_slice, d, &d->slices, err);
}

void sample_close(struct daemon *d)
{
	if (d->sampler)
		loop_remove(d->loop, d->sampler);
	if (d->slices)
		loop_remove(d->loop, d->slices);
	d->sampler = d->slices = NULL;
}
