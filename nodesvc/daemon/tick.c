/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tick.c - what is done every tick_ms while there are steps, in this order.
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

void daemon_start_ticking(struct daemon *d)
{
	/* Each stops by itself with the last step: the next one may come between the two. */
	sampler_start(d->measure);
	if (!d->course->on)
		loop_set_timer(d->course->timer, d->conf->tick_ms, d->conf->tick_ms);
	d->course->on = true;
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

	if (daemon_stands_back(d, d->course->put_off * LAUNCH_PAUSE_NS)) {
		d->course->put_off++;
		loop_set_timer(d->course->timer, LAUNCH_PAUSE_NS / 1000000, d->conf->tick_ms);
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
	work_note(&d->course->work.ticks, ipc_now_ns() - now_ns);
}
