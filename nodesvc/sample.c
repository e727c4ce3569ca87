/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample.c - the signals of the live steps: utilisation from schedstat always; rates from
 * hardware counters where probing found any, else from the program's stored profile, scaled by
 * live utilisation. What neither has stays PROVENANCE_NONE.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/daemon.h"
#include "nodesvc/log.h"

#define LATE_NS INT64_C(5000000)

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
			scaled[i].provenance != PROVENANCE_NONE)
			s->signal[i] = scaled[i];
}

void sample_open_step(struct daemon *d, struct step *s)
{
	struct errbuf err;

	if (!s->util && utilization_open(&s->util, &d->root, &err) < 0)
		log_warning("step %s: utilisation: %s", s->id, err.text);
	if (record_profile_find(d->record, s->type, s->user,
		    topo_count_cores(d->topo, &s->envelope), d->node_type, &s->profile,
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

/* True: the step entered another phase. */
static bool sample_step(struct daemon *d, struct step *s, int64_t now_ns, double elapsed_s)
{
	cleanup_free pid_t *tid = NULL;
	struct errbuf err;
	double runnable;
	int n_tids = 0;

	if (actuate_get_ops(d->actuate)->threads(d->actuate, &s->cgroup, &tid, &n_tids) < 0 ||
		n_tids == 0)
		return false;
	s->threads = n_tids;
	if (!s->util || utilization_read(s->util, tid, n_tids,
				/* A frozen step could not run: its clock stands. */
				now_ns - rotate_frozen_ns(s, now_ns),
				topo_count_cores(d->topo, &s->envelope),
				&s->signal[SIGNAL_UTILIZATION], &runnable, &err) < 0)
		return false;
	if (polling_sample(&s->polling, &d->root, tid, n_tids, runnable))
		log_info("step %s: its %d MPI processes %s", s->id, s->polling.ranks,
			s->polling.on ? "poll for one another" : "do not poll any more");
	read_counters(d, s, tid, n_tids);
	if (s->has_profile && s->signal[SIGNAL_UTILIZATION].provenance != PROVENANCE_NONE)
		scale_profile(s, s->signal[SIGNAL_UTILIZATION].value);
	read_progress(s, now_ns, tid, n_tids);
	s->sample_no++;
	return track_sample(d, s, now_ns, elapsed_s);
}

/* The next one where it would be without this one's lateness; soon, where it may show a change. */
static void arm(struct daemon *d, int64_t due_ns, int64_t now_ns)
{
	int64_t interval_ns = d->conf.interval_ms * INT64_C(1000000), next_ns;

	for (int i = 0; i < d->jobs.n; i++)
		if (track_is_suspect(d->jobs.step[i])) {
			interval_ns /= 2;
			break;
		}
	next_ns = due_ns + interval_ns;
	if (next_ns < now_ns + interval_ns / 2)
		next_ns = now_ns + interval_ns;
	d->next_sample_ns = next_ns;
	loop_set_timer_at(d->sampler, next_ns);
}

static void sample_all(struct daemon *d, int64_t due_ns)
{
	int64_t now_ns = ipc_now_ns();
	double elapsed_s = (double)(now_ns - d->last_sample_ns) / 1e9;

	/* Whoever judges how soon a change is seen leaves out what the machine was late. */
	if (now_ns - due_ns > LATE_NS)
		log_debug("samples late by %.3f s, unix=%.3f", (double)(now_ns - due_ns) / 1e9,
			track_unix_now());
	d->last_sample_ns = now_ns;
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (s->located && sample_step(d, s, now_ns, elapsed_s))
			s->phase_changed = true;
	}
	track_corun(d, elapsed_s);
	arm(d, due_ns, now_ns);
}

static void on_timer(void *daemon)
{
	struct daemon *d = daemon;

	/* Nothing to watch: an idle node costs no wake-ups. */
	if (d->jobs.n == 0)
		return;
	sample_all(d, d->next_sample_ns);
	decide_phases(d);
}

void sample_refresh(struct daemon *d)
{
	int64_t now_ns = ipc_now_ns();

	if (d->sampler && d->jobs.n &&
		now_ns - d->last_sample_ns >= d->conf.interval_ms * INT64_C(1000000))
		sample_all(d, now_ns);
}

void sample_start(struct daemon *d)
{
	d->last_sample_ns = ipc_now_ns();
	arm(d, d->last_sample_ns, d->last_sample_ns);
}

int sample_open(struct daemon *d, struct errbuf *err)
{
	return loop_add_timer(d->loop, on_timer, d, &d->sampler, err);
}

void sample_close(struct daemon *d)
{
	if (d->sampler)
		loop_remove(d->loop, d->sampler);
	d->sampler = NULL;
}
