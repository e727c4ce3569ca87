/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reading.c - one reading of a step: utilisation from schedstat always; rates from hardware
 * counters where probing found any, else from the program's stored profile, scaled by live
 * utilisation. What neither has stays PROVENANCE_NONE. Then what it is taken for.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/counters/calls.h"
#include "nodesvc/measure/internal.h"

/* Readings in a row after a start or a move: two that say nothing (SKIP_SAMPLES), two for a
 * reference (phase.h), two that confirm. */
#define UNSETTLED 6
/* More threads (READ_THREADS), and longer, no reading goes on; the next goes on where it stopped
 * (utilization.c). */
#define READ_THREADS_NS INT64_C(3000000)
/* In one interval: the one that is cut at its end is then a small part. */
#define MANY_REPORTS 10

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

void reading_open(const struct measure *m, struct step *s)
{
	struct errbuf err;

	if (!s->util && utilization_open(&s->util, &m->use.node->root, &err) < 0)
		log_warning("step %s: utilisation: %s", s->id, err.text);
	if (record_profile_find(m->use.record, s->type, s->user,
		    topo_count_cores(m->use.node->topo, &s->envelope), m->use.node->type,
		    &s->profile, &err) == 0) {
		s->has_profile = true;
		/* Nothing live yet: as it was alone. */
		scale_profile(s, s->profile.utilization);
		s->sample_no++;
	}
	priors_open(m, s);
}

void reading_close(const struct measure *m, struct step *s)
{
	m->use.node->counters.ops->close(s->counters);
	s->counters = NULL;
	counting_forget(s);
}

static void read_counters(const struct measure *m, struct step *s, const pid_t *tid, int n_tids)
{
	char cgroup[sizeof(s->cgroup.step_path) + 1];
	/* perf counts a whole v2 cgroup at once; one it does not take, thread by thread. */
	struct counter_target target = {.tid = tid, .n_tids = n_tids, .cgroup = cgroup};
	struct sample now;
	struct errbuf err;

	if (m->use.node->counters.ops == &counters_none)
		return;
	snprintf(cgroup, sizeof(cgroup), "/%s", s->cgroup.step_path);
	if (!s->counters && m->use.node->counters.ops->open(&s->counters, &target, &err) < 0) {
		log_debug("step %s: counters: %s", s->id, err.text);
		return;
	}
	if (m->use.node->counters.ops->read(s->counters, &target, &now, &err) < 0)
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
	double by_calls = speed_by_calls(s);

	if (signal_is_sane(SIGNAL_PROGRESS, by_calls))
		s->signal[SIGNAL_PROGRESS] = (struct signal){by_calls, PROVENANCE_CALLS};
	else if (s->signal[SIGNAL_PROGRESS].provenance == PROVENANCE_CALLS)
		s->signal[SIGNAL_PROGRESS] = (struct signal){NAN, PROVENANCE_NONE};
	if (!s->pages)
		return;
	app_read(&s->pages->app, s->pages->report, now_ns, &s->signal[SIGNAL_PROGRESS]);
	qsort(tid, (size_t)n_tids, sizeof(*tid), compare_pids);
	app_release(&s->pages->app, s->pages->report, tid, n_tids);
}

/* ---- what a reading is taken for ---- */

void reading_skip(struct step *s)
{
	s->seen.done = 0;
}

void reading_disturb(struct step *s)
{
	s->seen.skip = SKIP_SAMPLES;
	reading_unsettle(s);
}

void reading_unsettle(struct step *s)
{
	s->pace.restless = UNSETTLED;
	s->pace.calm = 0;
}

/* Work of @seconds, on what the plan gives it. */
static void add_span(const struct measure *m, struct step *s, double units, double seconds)
{
	struct step_seen *t = &s->seen;
	bool alone = jobs_is_alone(m->use.jobs, s);

	if (seconds > 0 && !alone) {
		t->shared.units += units;
		t->shared.seconds += seconds;
	} else if (seconds > 0 && topo_count_cores(m->use.node->topo, speed_cores(s)) ==
					  topo_count_cores(m->use.node->topo, &s->envelope)) {
		t->alone.units += units;
		t->alone.seconds += seconds;
	}
}

/*
 * A step that runs steadily is read every 8 s: where it changes what its work counts for, what it
 * did since is taken first, or it would be lost while the time stayed in the co-run's.
 */
void reading_close_span(const struct measure *m, struct step *s)
{
	struct step_seen *t = &s->seen;
	struct seen_work work;

	if (!t->has_last || t->gap.open_ns)
		return;
	speed_read_work(m, s, ipc_now_ns(), &work);
	if (!t->is_apart && strcmp(t->unit, speed_unit(s)) == 0 &&
		isfinite(speed_between(&t->last, &work, 1))) {
		t->owed += work.total - t->last.total;
		add_span(
			m, s, work.total - t->last.total, (double)(work.t_ns - t->last.t_ns) / 1e9);
	}
	if (work.basis == t->last.basis && work.total >= t->last.total)
		t->last = work;
}

void reading_displace(const struct measure *m, struct step *s, bool apart)
{
	reading_close_span(m, s);
	s->seen.is_apart = apart;
	reading_disturb(s);
}

/*
 * Units per cpu second. Of many reports all but a little of one interval's cpu time is told, also
 * where others took the cpu for a part of it. Of few the rate between the reports has to serve; of
 * one, nothing: its cpu time is not the interval's.
 */
static double per_cpu_second(const struct step *s, double units, double speed, uint64_t reports)
{
	double running = utilization_running(s->util), ran_s = utilization_ran_s(s->util);

	if (!(running > IDLE_RUNS) || reports < 2)
		return NAN;
	return reports < MANY_REPORTS ? speed / running : units / ran_s;
}

/* Another account of its work than before: sums of the two say nothing. */
static void begin_unit(struct step_seen *t)
{
	t->alone = t->shared = (struct seen_span){0};
	t->owed = 0;
	t->first_ns = 0;
	t->rate = NAN;
}

bool reading_judge(struct measure *m, struct step *s, int64_t now_ns, double elapsed_s)
{
	struct step_seen *t = &s->seen;
	struct seen_work work;
	bool alone = jobs_is_alone(m->use.jobs, s);
	int cores = topo_count_cores(m->use.node->topo, speed_cores(s));
	bool was_apart = t->is_apart;
	double units = 0, seconds = 0, intensity = NAN;

	speed_read_work(m, s, now_ns, &work);
	if (!t->gap.until_report || work.basis == PROVENANCE_APP)
		speed_close_gap(&t->gap, ipc_unix_ns());
	t->done = t->gap.open_ns ? NAN : 0;
	if (t->has_last) {
		double speed = speed_between(&t->last, &work, 1);

		if (isfinite(speed)) {
			units = work.total - t->last.total;
			seconds = (double)(work.t_ns - t->last.t_ns) / 1e9;
			intensity = per_cpu_second(s, units, speed, work.count - t->last.count);
			t->rate = speed;
		} else if (s->pages && s->pages->app.reports) {
			t->rate = s->signal[SIGNAL_PROGRESS].value;
		}
	}
	if (work.basis != PROVENANCE_NONE) {
		t->last = work;
		t->has_last = true;
		if (*t->unit && strcmp(t->unit, speed_unit(s)) != 0) {
			begin_unit(t);
			units = seconds = 0;
		}
		snprintf(t->unit, sizeof(t->unit), "%s", speed_unit(s));
	}
	/* Of calls its newest figure is a speed by itself: with the first one it is known, and not
	 * any more when they are given up. */
	if (work.basis == PROVENANCE_CALLS && s->seen.calls.step &&
		(isnan(t->rate) || isnan(speed_by_calls(s))))
		t->rate = speed_by_calls(s);
	t->is_apart = m->tell.displaces && m->tell.displaces(m->tell.arg);
	if (t->is_apart || was_apart) {
		reading_disturb(s);
		return false;
	}
	if (!t->gap.open_ns)
		t->done = units;
	add_span(m, s, units, seconds);
	priors_note_mark(m, s);
	priors_first(m, s, now_ns, cores, alone, units, seconds);
	return phases_sample(m, s, now_ns, elapsed_s, cores, intensity);
}

static void pause_figures(struct step *s)
{
	struct step_seen *t = &s->seen;

	t->has_last = false;
	t->rate = NAN;
	t->done = t->owed = 0;
	t->first_ns = 0;
	t->busy.started = t->intensity.started = false;
}

void reading_pause(const struct measure *m, struct step *s)
{
	struct errbuf err;

	pause_figures(s);
	waits_forget(s);
	s->pace.read_ns = s->pace.run_at_ns = 0;
	s->has_sample = false;
	s->signal[SIGNAL_UTILIZATION] = (struct signal){NAN, PROVENANCE_NONE};
	s->has_executed = false;
	s->runnable = 0;
	if (s->pages)
		app_pause(&s->pages->app);
	if (s->seen.calls.step)
		calls_step_pause(s->seen.calls.step);
	/* Each of them counts from its last look on. */
	utilization_close(s->turn.util);
	s->turn.util = NULL;
	utilization_close(s->util);
	s->util = NULL;
	if (utilization_open(&s->util, &m->use.node->root, &err) < 0)
		log_warning("step %s: utilisation: %s", s->id, err.text);
}

/* ---- readings ---- */

/*
 * schedstat counts a thread's time wherever it was. What one that borrows had of its own CPUs is
 * what anybody had there: nobody borrows from who borrows.
 */
void reading_executed(struct measure *m, struct step *s, int64_t now_ns)
{
	double cpus = coreset_count(&s->coreset), part = utilization_running(s->util) / cpus;

	if (coreset_is_empty(&s->lent))
		s->seen.waits.own_ns = 0;
	else
		part = waits_own_busy(m, s, now_ns);
	s->has_executed = cpus > 0 && part >= 0;
	s->executed = s->has_executed ? fmin(part, 1) : 0;
}

void reading_note_clocks(struct measure *m, struct step *s, int64_t own_ns)
{
	struct pace *p = &s->pace;

	m->use.work->clocks += (uint64_t)p->clocks.n;
	p->run_at_ns = clocks_read(&p->clocks, &p->run_ns) == 0 ? own_ns : 0;
}

bool reading_take(struct measure *m, struct step *s, int64_t now_ns)
{
	struct pace *p = &s->pace;
	double elapsed_s = p->read_ns ? (double)(now_ns - p->read_ns) / 1e9 : 0, runnable;
	int64_t own_ns = turn_clock(&s->turn, now_ns);
	struct budget budget;
	struct errbuf err = {""};
	bool changed;

	if (threads_list(m, s) < 0 || p->list.n == 0)
		return false;
	s->threads = p->list.n;
	budget = budget_of(READ_THREADS, READ_THREADS_NS);
	if (!s->util || utilization_read(s->util, p->list.tid, p->list.n, own_ns,
				topo_count_cores(m->use.node->topo, &s->envelope), &budget,
				&s->signal[SIGNAL_UTILIZATION], &runnable, &err) < 0)
		return false;
	reading_executed(m, s, now_ns);
	waits_reading(m, s, now_ns, own_ns);
	home_look(m, s, now_ns);
	reading_note_clocks(m, s, own_ns);
	m->use.work->readings++;
	m->use.work->threads += (uint64_t)budget.taken;
	p->running = utilization_running(s->util);
	p->read_ns = now_ns;
	p->read_own_ns = own_ns;
	if (p->restless > 0)
		p->restless--;
	s->runnable = runnable > 0 ? runnable : 0; /* nor a NAN */
	if (polling_sample(&s->polling, &m->use.node->root, p->list.tid, p->list.n, runnable))
		log_info("step %s: its %d MPI processes %s", s->id, s->polling.ranks,
			s->polling.on ? "poll for one another" : "do not poll any more");
	if (coupling_sample(&s->coupling, &m->use.node->root, p->list.tid, p->list.n,
		    topo_count_cores(m->use.node->topo, &s->coreset),
		    utilization_stretch_s(s->util), runnable, s->turn.hold != NULL))
		log_info("step %s: its threads %s", s->id,
			s->coupling.on ? "wait for one another often"
				       : "seldom wait for one another");
	if (!s->batch)
		mapped_sample(&s->mapped, &m->use.node->root, p->list.tid, p->list.n, now_ns);
	if (!threads_are_many(s))
		read_counters(m, s, p->list.tid, p->list.n);
	if (s->has_profile && s->signal[SIGNAL_UTILIZATION].provenance != PROVENANCE_NONE)
		scale_profile(s, s->signal[SIGNAL_UTILIZATION].value);
	read_progress(s, now_ns, p->list.tid, p->list.n);
	s->sample_no++;
	changed = reading_judge(m, s, now_ns, elapsed_s);
	/* A change has to be seen twice. */
	p->confirm = phases_are_suspect(s) || s->seen.busy.deviating;
	p->calm = p->confirm || changed || p->restless ? 0 : p->calm + 1;
	return changed;
}

int reading_lags(
	const struct measure *m, const struct step *s, int64_t now_ns, struct lag ret[LAGS_MAX])
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
	lag.left = actuate_left(m->use.actuate, &s->cgroup, &lag.of);
	if (s->back)
		ret[n++] = (struct lag){.what = "putting back"};
	else if (lag.left)
		ret[n++] = lag;
	lag = (struct lag){.what = "mappings of processes"};
	lag.left = look_left(s->polling.look, &lag.of);
	if (!lag.left)
		lag.left = look_left(s->coupling.look, &lag.of);
	if (!lag.left)
		lag.left = look_left(s->mapped.look, &lag.of);
	if (lag.left)
		ret[n++] = lag;
	return n;
}
