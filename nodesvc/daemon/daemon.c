/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.c - who is told of what: the rooms know nobody above them, their handlers are here.
 */
#include "nodesvc/daemon/daemon.h"

#include "nodesvc/levers/putback.h"
#include "nodesvc/measure/measure.h"

static bool stands_back(void *daemon, int64_t late_ns)
{
	return decide_stands_back(daemon, late_ns);
}

static bool displaces(void *daemon)
{
	return trial_displaces(daemon);
}

static void on_round(void *daemon)
{
	decide_phases(daemon);
}

static void on_slice(void *daemon, struct step *s)
{
	putback_go_on(daemon, s);
}

int daemon_open_measure(struct daemon *d, struct errbuf *err)
{
	const struct measure_uses uses = {
		.loop = d->loop,
		.conf = &d->conf,
		.node = &d->node,
		.jobs = &d->jobs,
		.actuate = d->actuate,
		.record = d->record,
		.counters = &d->counters,
		.work = &d->work,
	};
	const struct measure_events events = {
		.stands_back = stands_back,
		.displaces = displaces,
		.on_round = on_round,
		.on_slice = on_slice,
		.arg = d,
	};

	return measure_open(&d->measure, &uses, &events, err);
}
