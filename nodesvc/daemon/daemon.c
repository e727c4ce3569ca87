/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.c - who is told of what: the rooms know nobody above them, their handlers are here.
 */
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <string.h>

#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/books/books.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/socket/socket.h"

void daemon_init(struct daemon *d)
{
	static struct conf conf;
	static struct node node;
	static struct jobs jobs;
	static struct course course;

	memset(&conf, 0, sizeof(conf));
	memset(&node, 0, sizeof(node));
	memset(&jobs, 0, sizeof(jobs));
	memset(&course, 0, sizeof(course));
	*d = (struct daemon){.conf = &conf, .node = &node, .jobs = &jobs, .course = &course};
}

/* ---- measure/ ---- */

static bool stands_back(void *daemon, int64_t late_ns)
{
	return daemon_stands_back(daemon, late_ns);
}

static bool displaces(void *daemon)
{
	const struct daemon *d = daemon;

	return d->choose && trial_displaces(d->choose);
}

/* Each change of phase is an event of its own. */
static void on_round(void *daemon)
{
	struct daemon *d = daemon;

	for (int i = 0; i < d->jobs->n; i++) {
		struct step *s = d->jobs->step[i];

		if (!s->phase_changed)
			continue;
		s->phase_changed = false;
		s->dirty = true;
		if (step_is_managed(s))
			decide_run(d->choose, EVENT_PHASE, s->id, NULL);
	}
}

static void on_slice(void *daemon, struct step *s)
{
	const struct daemon *d = daemon;

	putback_go_on(d->levers, s);
}

static int open_measure(struct daemon *d, struct errbuf *err)
{
	const struct measure_uses uses = {
		.loop = d->loop,
		.conf = d->conf,
		.node = d->node,
		.jobs = d->jobs,
		.actuate = d->actuate,
		.record = d->record,
		.work = &d->course->work,
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
		pages_grant(s->pages, set, topo_count_cores(d->node->topo, set));
}

static void on_note(void *daemon, struct step *s, const struct coreset *set, const char *why)
{
	(void)daemon;
	history_note(s, set, why);
}

static void on_suspended(void *daemon)
{
	const struct daemon *d = daemon;

	suspend_look_soon(d->jobs->suspend);
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

	return levers_create(&d->levers, d->conf, d->node, d->jobs, &events, d);
}

/* ---- steps/ ---- */

static void on_answer(void *daemon, uint32_t job_id, const struct whose_job *j)
{
	arrival_learn(daemon, job_id, j);
}

static int open_whose(struct daemon *d, struct errbuf *err)
{
	const struct whose_events events = {.on_answer = on_answer, .arg = d};

	return whose_open(&d->jobs->whose, d->loop, d->jobs, &events, err);
}

static void on_change(
	void *daemon, struct step *const *gone, int n_gone, struct step *const *back, int n_back)
{
	suspended_change(daemon, gone, n_gone, back, n_back);
}

int daemon_open_suspend(struct daemon *d, struct errbuf *err)
{
	const struct suspend_uses uses = {
		.loop = d->loop,
		.node = d->node,
		.jobs = d->jobs,
		.ledger = d->ledger,
		.actuate = d->actuate,
	};
	const struct suspend_events events = {.on_change = on_change, .arg = d};

	return suspend_open(&d->jobs->suspend, &uses, &events, err);
}

/* ---- books/ ---- */

static void figures(void *daemon, struct metrics_figures *ret)
{
	const struct daemon *d = daemon;
	struct levers_state levers;
	struct choose_state choose;

	levers_get_state(d->levers, &levers);
	choose_get_state(d->choose, &choose);
	*ret = (struct metrics_figures){
		.policy = choose.ruling,
		.draining = d->course->draining,
		.up_s = (double)(ipc_now_ns() - d->course->start_ns) / 1e9,
		.owed = levers.owed,
		.decisions = choose.decisions,
		.moves = choose.rebinds,
		.decided = *choose.times,
	};
	for (int i = 0; i < quarantine_count(d->choose); i++)
		ret->quarantined += quarantine_is_active(quarantine_get(d->choose, i));
	quarantine_totals(d->choose, &ret->windows, &ret->quarantines);
}

static int open_books(struct daemon *d, struct errbuf *err)
{
	const struct books_uses uses = {
		.loop = d->loop,
		.conf = d->conf,
		.node = d->node,
		.jobs = d->jobs,
		.ledger = d->ledger,
		.record = d->record,
		.measure = d->measure,
	};
	const struct books_events events = {.figures = figures, .arg = d};

	return books_open(&d->books, &uses, &events, err);
}

/* ---- all of them ---- */

int daemon_open_rooms(struct daemon *d, struct errbuf *err)
{
	int rc = open_whose(d, err);

	if (rc == 0)
		rc = open_measure(d, err);
	return rc < 0 ? rc : open_books(d, err);
}

void daemon_close_rooms(struct daemon *d)
{
	books_close(d->books);
	measure_close(d->measure);
	whose_close(d->jobs->whose);
	d->books = NULL;
	d->measure = NULL;
	d->jobs->whose = NULL;
}

/* ---- choose/ ---- */

static void before_trial(void *daemon)
{
	const struct daemon *d = daemon;

	suspend_look(d->jobs->suspend, ipc_now_ns());
}

static void on_trial_over(void *daemon)
{
	const struct daemon *d = daemon;

	decide_run(d->choose, EVENT_TICK, NULL, NULL);
}

int daemon_open_choose(struct daemon *d, struct errbuf *err)
{
	const struct choose_uses uses = {
		.loop = d->loop,
		.conf = d->conf,
		.node = d->node,
		.jobs = d->jobs,
		.actuate = d->actuate,
		.record = d->record,
		.measure = d->measure,
		.books = d->books,
		.levers = d->levers,
	};
	const struct choose_events events = {
		.before_trial = before_trial,
		.trial_over = on_trial_over,
		.arg = d,
	};
	int rc = choose_open(&d->choose, &uses, &events, err);

	return rc < 0 ? rc : loop_add_timer(d->loop, daemon_tick, d, &d->course->timer, err);
}

void daemon_close_choose(struct daemon *d)
{
	choose_close(d->choose);
	d->choose = NULL;
	loop_remove(d->loop, d->course->timer);
	d->course->timer = NULL;
}

/* ---- socket/ ---- */

static int on_message(void *daemon, const struct msg *in, struct msg *out)
{
	struct daemon *d = daemon;
	const char *type = msg_get(in, "type");
	int rc = 0;

	if (strcmp(type, "step_start") == 0) {
		arrival_step(d, in, out);
		rc = 1;
	} else if (strcmp(type, "task_start") == 0) {
		arrival_task(d, in, out);
		rc = 1;
	} else if (strcmp(type, "task_exit") == 0) {
		departure_task(d, in);
	} else if (strcmp(type, "step_end") == 0) {
		departure_step(d, in);
	} else {
		rc = -EPROTO;
	}
	d->course->last_ns = ipc_now_ns();
	return rc;
}

static void on_answered(void *daemon)
{
	struct daemon *d = daemon;

	arrival_after_answer(d);
	d->course->last_ns = ipc_now_ns();
}

int daemon_reload(struct daemon *d, struct conf *ret_old, struct errbuf *err)
{
	int rc = reload_conf(d, ret_old, err);

	if (rc < 0 || !d->course->on)
		return rc;
	d->course->on = false;
	sampler_restart(d->measure);
	daemon_start_ticking(d);
	return 0;
}

static int on_reload(void *daemon, struct conf *ret_old, struct errbuf *err)
{
	return daemon_reload(daemon, ret_old, err);
}

static void on_drain(void *daemon, bool on)
{
	struct daemon *d = daemon;

	d->course->draining = on;
}

static bool is_draining(void *daemon)
{
	const struct daemon *d = daemon;

	return d->course->draining;
}

void daemon_fill_socket(struct daemon *d, struct socket *ret)
{
	*ret = (struct socket){
		.loop = d->loop,
		.conf = d->conf,
		.conf_path = d->course->conf_path,
		.node = d->node,
		.jobs = d->jobs,
		.actuate = d->actuate,
		.ledger = d->ledger,
		.record = d->record,
		.work = &d->course->work,
		.measure = d->measure,
		.books = d->books,
		.levers = d->levers,
		.choose = d->choose,
		.start_ns = d->course->start_ns,
		.on =
			{
				.message = on_message,
				.answered = on_answered,
				.reload = on_reload,
				.drain = on_drain,
				.is_draining = is_draining,
				.arg = d,
			},
	};
}
