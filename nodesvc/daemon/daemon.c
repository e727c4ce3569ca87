/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.c - who is told of what: the rooms know nobody above them, their handlers are here.
 */
#include "nodesvc/daemon/daemon.h"

#include "nodesvc/measure/measure.h"
#include "nodesvc/socket/pages.h"

/* ---- measure/ ---- */

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
	const struct daemon *d = daemon;

	levers_go_on(d->levers, s);
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

/* ---- levers/ ---- */

static void on_grant(void *daemon, struct step *s, const struct coreset *set)
{
	const struct daemon *d = daemon;

	if (s->pages)
		pages_grant(s->pages, set, topo_count_cores(d->node.topo, set));
}

static void on_note(void *daemon, struct step *s, const struct coreset *set, const char *why)
{
	(void)daemon;
	history_note(s, set, why);
}

static void on_suspended(void *daemon)
{
	suspend_look_soon(daemon);
}

static void on_way_back(void *daemon)
{
	const struct daemon *d = daemon;

	sampler_go_on_later(d->measure);
}

int daemon_create_levers(struct daemon *d)
{
	static const struct levers_events events = {
		.grant = on_grant,
		.note = on_note,
		.suspended = on_suspended,
		.goes_on = on_way_back,
	};

	return levers_create(&d->levers, &d->conf, &d->node, &d->jobs, &events, d);
}
