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
#include "nodesvc/daemon.h"
#include "nodesvc/log.h"

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

static void sample_step(struct daemon *d, struct step *s, int64_t now_ns)
{
	cleanup_free pid_t *tid = NULL;
	struct errbuf err;
	double runnable;
	int n_tids = 0;

	if (actuate_get_ops(d->actuate)->threads(d->actuate, &s->cgroup, &tid, &n_tids) < 0 ||
		n_tids == 0)
		return;
	s->threads = n_tids;
	if (!s->util || utilization_read(s->util, tid, n_tids,
				/* A frozen step could not run: its clock stands. */
				now_ns - rotate_frozen_ns(s, now_ns),
				topo_count_cores(d->topo, &s->envelope),
				&s->signal[SIGNAL_UTILIZATION], &runnable, &err) < 0)
		return;
	read_counters(d, s, tid, n_tids);
	if (s->has_profile && s->signal[SIGNAL_UTILIZATION].provenance != PROVENANCE_NONE)
		scale_profile(s, s->signal[SIGNAL_UTILIZATION].value);
	s->sample_no++;
}

bool sample_run(struct daemon *d, int64_t now_ns, bool force)
{
	if (!force && now_ns - d->last_sample_ns < d->conf.interval_ms * INT64_C(1000000))
		return false;
	d->last_sample_ns = now_ns;
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i]->located)
			sample_step(d, d->jobs.step[i], now_ns);
	return true;
}
