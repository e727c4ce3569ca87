/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tick.c - what is done every tick_ms while there are steps, in this order; more seldom, while
 * there is one that has been alone for a while.
 */
#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/books/books.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/launch/learned.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/socket/socket.h"

/* Nobody has registered for so long: what waits for the disk may be written. */
#define QUIET_NS INT64_C(250000000)
/* Of a tick, for threads that have bound themselves. */
#define LOOK_NS INT64_C(2000000)
/* A step that has been alone on the node for so long: nothing is to be decided, so a tick in so
 * many will do, but for none of more than that. */
#define ALONE_NS    INT64_C(10000000000)
#define ALONE_TIMES 4
#define ALONE_MS    500

static void tick_every(struct daemon *d, int first_ms, int ms)
{
	d->course->tick_ms = ms;
	loop_set_timer(d->course->timer, first_ms, ms);
}

void daemon_start_ticking(struct daemon *d)
{
	/* Each stops by itself with the last step: the next one may come between the two. */
	sampler_start(d->measure);
	if (!d->course->on || d->course->tick_ms != d->conf->tick_ms)
		tick_every(d, d->conf->tick_ms, d->conf->tick_ms);
	d->course->on = true;
}

int daemon_pace_ms(const struct daemon *d)
{
	int ms = d->conf->tick_ms;

	/* Libcoloc is told what to do at each tick. */
	if (d->jobs->n != 1 || d->jobs->step[0]->pages ||
		ipc_now_ns() - d->course->last_ns < ALONE_NS || ms >= ALONE_MS)
		return ms;
	return ms * ALONE_TIMES < ALONE_MS ? ms * ALONE_TIMES : ALONE_MS;
}

bool daemon_stands_back(const struct daemon *d, int64_t late_ns)
{
	return ipc_now_ns() - d->course->last_ns < LAUNCH_PAUSE_NS && late_ns < LAUNCH_MAX_NS;
}

/* What steps were seen to load, for their programs' next launches. */
static void learn_loaded(struct daemon *d)
{
	struct errbuf err;

	for (int i = 0; i < d->jobs->n; i++) {
		struct step *s = d->jobs->step[i];

		if (s->mapped.runtimes == s->learned)
			continue;
		s->learned = s->mapped.runtimes;
		learned_note(linkage_learned(d->linkage), s->uid, s->program_key, s->learned);
	}
	if (learned_save(linkage_learned(d->linkage), d->record, &err) < 0)
		health_error("%.200s", err.text);
}

void daemon_tick(void *daemon)
{
	struct daemon *d = daemon;
	int64_t now_ns = ipc_now_ns();
	int ms;

	if (daemon_stands_back(d, d->course->put_off * LAUNCH_PAUSE_NS)) {
		d->course->put_off++;
		tick_every(d, LAUNCH_PAUSE_NS / 1000000, d->conf->tick_ms);
		return;
	}
	d->course->put_off = 0;
	if (d->course->finish_put_off)
		decide_finish(d->choose);
	d->course->finish_put_off = false;
	online_look(d);
	if (now_ns - d->course->reconciled_ns >= INT64_C(1000000000)) {
		d->course->reconciled_ns = now_ns;
		reconcile_look(d, now_ns);
		attach_beat(d->jobs, now_ns);
	}
	ptable_flush(d->choose);
	account_flush(d->books);
	store_checkpoint(d->books, now_ns - d->course->last_ns >= QUIET_NS);
	recording_check(d->choose);
	if (d->jobs->n == 0) {
		/* Whatever is still in the ledger is nobody's. */
		if (ledger_count(d->ledger) > 0)
			owed_note(d->levers, NULL);
		/* Nothing to watch: an idle node costs no wake-ups. */
		loop_set_timer(d->course->timer, 0, 0);
		d->course->on = false;
		return;
	}
	linkage_refresh(d->linkage, LINKAGE_WAIT_MS, now_ns);
	learn_loaded(d);
	suspend_look(d->jobs->suspend, now_ns);
	actuate_look(d->actuate, LOOK_NS);
	if (jobs_count_managed(d->jobs))
		decide_run(d->choose, EVENT_TICK, NULL, NULL);
	levers_tick(d->levers, now_ns);
	trial_consider(d->choose, now_ns);
	ms = daemon_pace_ms(d);
	if (ms != d->course->tick_ms)
		tick_every(d, ms, ms);
	work_note(&d->course->work.ticks, ipc_now_ns() - now_ns);
}
