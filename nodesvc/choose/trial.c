/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trial.c - placements for a moment, to learn from: the experiments that a plan asks for, and
 * stretches under Slurm's own placement in pairs A B B A (gain.h). One trial at a time; any
 * arrival, end, phase change or release ends it, and everybody is back where the plan wants him.
 *
 * Nothing here is a move: the ledger has the originals, the accounting counts plans only.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/choose/quarantine.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"

/* Caches and threads settle after a change of cores before anything is measured. */
#define SETTLE_MS 100
/* A stretch of a window: some hundred reports of a program that reports each millisecond, and
 * five of one that does so each 100 ms. */
#define STRETCH_MS 500
/* Under the plan's placement a stretch costs nobody anything: twice as long, its noise adds half
 * as much to a window's. */
#define PLACED_MS       1000
#define STRETCH_REPORTS 5
/* An experiment whose program has not reported twice is given this much longer, times over. */
#define EXPERIMENT_TRIES 8
/* ... then it is not asked again for so long. */
#define NO_SPEED_NS INT64_C(30000000000)
/* After the last move: the placement that is compared is in force. */
#define QUIET_NS INT64_C(2000000000)

enum { A1, B1, B2, A2 };

bool trial_is_on(const struct daemon *d)
{
	return d->trial.kind != TRIAL_NONE;
}

bool trial_displaces(const struct daemon *d)
{
	return trial_is_on(d) && d->trial.displaced;
}

static bool is_placed(const struct step *s)
{
	return s->located && s->status == STATUS_PLACED && !coreset_is_empty(&s->coreset);
}

static void put_all(struct daemon *d, bool planned)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (!is_placed(s))
			continue;
		levers_displace(d->levers, s, planned ? &s->coreset : NULL);
		reading_displace(s);
	}
	if (planned)
		levers_apply(d->levers, true);
}

static void finish(struct daemon *d)
{
	d->trial.kind = TRIAL_NONE;
	loop_set_timer(d->trial.timer, 0, 0);
}

void trial_abort(struct daemon *d)
{
	if (!trial_is_on(d))
		return;
	/* Only while somebody is elsewhere. */
	if (d->trial.displaced)
		put_all(d, true);
	d->trial.displaced = false;
	d->n_results = 0;
	finish(d);
}

/* ---- windows ---- */

static void mark_all(struct daemon *d)
{
	for (int i = 0; i < d->jobs.n; i++)
		if (is_placed(d->jobs.step[i]))
			speed_read_work(d->measure, d->jobs.step[i], ipc_now_ns(),
				&d->jobs.step[i]->trial_mark);
}

/* What each made of the stretch that ends now; NAN: it has no speed to tell. */
static void measure_all(struct daemon *d, int stretch)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		struct track_work now;

		if (!is_placed(s))
			continue;
		speed_read_work(d->measure, s, ipc_now_ns(), &now);
		s->track.stretch[stretch] = speed_between(&s->trial_mark, &now, STRETCH_REPORTS);
		s->trial_mark = now;
	}
}

/* True: decide anew. */
static bool take_windows(struct daemon *d)
{
	struct quarantine_window all = {0};

	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		double r;

		if (!is_placed(s))
			continue;
		all.steps++;
		if (!gain_abba(s->track.stretch, &r))
			continue;
		all.known++;
		all.sum_log += r;
		all.bases |= UINT32_C(1) << s->track.last.basis;
		gain_mean_add(&s->track.windows, r);
		s->dirty = true;
		log_debug("step %s: window %d: %.3f, %.3f, %.3f, %.3f", s->id, s->track.windows.n,
			s->track.stretch[A1], s->track.stretch[B1], s->track.stretch[B2],
			s->track.stretch[A2]);
	}
	return quarantine_window(d, &all);
}

/* The time under Slurm's placement is what is rationed. */
static int64_t window_pause_ns(const struct daemon *d)
{
	double cost_s = (2 * STRETCH_MS + SETTLE_MS) / 1e3;

	return (int64_t)(cost_s / d->conf.baseline_fraction * 1e9);
}

static void step_window(struct daemon *d)
{
	int next_ms = STRETCH_MS;
	bool decide;

	switch (d->trial.stage++) {
	case 0:
		measure_all(d, A1);
		d->trial.displaced = true;
		put_all(d, false);
		next_ms = SETTLE_MS;
		break;
	case 1:
		mark_all(d);
		break;
	case 2:
		measure_all(d, B1);
		break;
	case 3:
		measure_all(d, B2);
		put_all(d, true);
		d->trial.displaced = false;
		next_ms = SETTLE_MS;
		break;
	case 4:
		mark_all(d);
		next_ms = PLACED_MS;
		break;
	default:
		measure_all(d, A2);
		decide = take_windows(d);
		finish(d);
		d->trial.next_window_ns =
			ipc_now_ns() + window_pause_ns(d) -
			INT64_C(1000000) * (2 * PLACED_MS + 2 * STRETCH_MS + 2 * SETTLE_MS);
		if (decide)
			decide_run(d, EVENT_TICK, NULL, NULL);
		return;
	}
	loop_set_timer(d->trial.timer, next_ms, 0);
}

static bool is_quiet(const struct daemon *d, int64_t now_ns)
{
	bool speed = false;

	/* One would seem to gain as much as the others lose, and less than that on average. */
	if (levers_have_foreground(d->levers))
		return false;
	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];

		if (!step_is_managed(s))
			continue;
		/* Half a set put back is not Slurm's placement. */
		if (!is_placed(s) || s->nnodes > 1 || s->threads > STEP_THREADS_EACH ||
			now_ns - s->last_move_ns < QUIET_NS || now_ns - s->start_mono_ns < QUIET_NS)
			return false;
		speed |= s->track.has_last;
	}
	return speed;
}

void trial_consider(struct daemon *d, int64_t now_ns)
{
	if (trial_is_on(d) || d->conf.baseline_fraction <= 0 || d->conf.dry_run ||
		actuate_get_ops(d->actuate) == &actuate_none)
		return;
	/* Before it goes through all steps. */
	if (now_ns < d->trial.next_window_ns || !is_quiet(d, now_ns))
		return;
	if (!d->trial.next_window_ns) {
		/* The first one has to wait its share too; not at the same distance from each
		 * start. */
		d->trial.next_window_ns =
			now_ns + (int64_t)((double)window_pause_ns(d) * (0.5 + drand48() / 2));
		return;
	}
	d->trial.kind = TRIAL_WINDOW;
	d->trial.stage = 0;
	mark_all(d);
	loop_set_timer(d->trial.timer, PLACED_MS, 0);
}

/* ---- experiments ---- */

static struct step *subject(struct daemon *d)
{
	return jobs_find_id(&d->jobs, d->trial.x[d->trial.at].job);
}

/* The job on the cores asked for; the others on what that leaves them, or, where that is nothing,
 * where they are. */
static void place_experiment(struct daemon *d)
{
	const struct coreset *own = &d->trial.x[d->trial.at].coreset;

	d->trial.in_company = false;
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];
		struct coreset rest;

		if (!is_placed(s))
			continue;
		reading_displace(s);
		if (s == subject(d)) {
			levers_displace(d->levers, s, own);
			continue;
		}
		coreset_andnot(&rest, &s->coreset, own);
		if (coreset_is_empty(&rest))
			d->trial.in_company = true;
		levers_displace(d->levers, s, coreset_is_empty(&rest) ? &s->coreset : &rest);
	}
	d->trial.displaced = true;
	d->trial.stage = 0;
	d->trial.tries = 0;
	loop_set_timer(d->trial.timer, SETTLE_MS, 0);
}

static void end_experiments(struct daemon *d)
{
	put_all(d, true);
	d->trial.displaced = false;
	finish(d);
	decide_run(d, EVENT_TICK, NULL, NULL);
}

static void step_experiment(struct daemon *d)
{
	struct trial_experiment *x = &d->trial.x[d->trial.at];
	struct step *s = subject(d);
	struct track_work now;
	double speed;

	if (s && is_placed(s) && d->trial.stage == 0) {
		d->trial.stage = 1;
		speed_read_work(d->measure, s, ipc_now_ns(), &s->trial_mark);
		loop_set_timer(d->trial.timer, x->ms, 0);
		return;
	}
	if (s && is_placed(s)) {
		speed_read_work(d->measure, s, ipc_now_ns(), &now);
		speed = speed_between(&s->trial_mark, &now, 2);
		if (isnan(speed) && ++d->trial.tries < EXPERIMENT_TRIES) {
			loop_set_timer(d->trial.timer, x->ms, 0);
			return;
		}
		if (speed > 0 && d->n_results < PLAN_EXPERIMENTS_MAX) {
			d->result[d->n_results++] = (struct event){.type = EVENT_EXPERIMENT_RESULT,
				.job = s->id,
				.cores = x->cores,
				.speed = speed};
			priors_keep_speed(d->measure, s, x->cores,
				!d->trial.in_company && jobs_is_alone(&d->jobs, s), speed);
			log_debug("step %s: experiment: %.4g %s/s on %d cores%s", s->id, speed,
				speed_unit(s), x->cores,
				d->trial.in_company ? ", not alone there" : "");
		} else {
			s->track.no_speed_until_ns = ipc_now_ns() + NO_SPEED_NS;
		}
	}
	if (++d->trial.at < d->trial.n)
		place_experiment(d);
	else
		end_experiments(d);
}

const char *trial_refuses(struct daemon *d, const struct plan *p, char *buf, size_t size)
{
	int64_t now_ns = ipc_now_ns();

	for (int i = 0; i < p->n_experiments; i++) {
		const struct step *s = jobs_find_id(&d->jobs, p->job[p->experiment[i].job].id);
		const char *why = NULL;

		if (!s || !s->located)
			why = "has not started";
		else if (s->nnodes > 1)
			why = "runs on several nodes";
		else if (s->dry_run || d->conf.dry_run)
			why = "is not to be touched";
		else if (s->threads > STEP_THREADS_EACH)
			why = "has too many threads to be moved for a moment";
		else if (!s->track.has_last || now_ns < s->track.no_speed_until_ns)
			why = "tells no speed";
		if (!why)
			continue;
		snprintf(buf, size, "experiments, but step %s %s", s ? s->id : "?", why);
		return buf;
	}
	return NULL;
}

void trial_experiments(struct daemon *d, const struct plan *p)
{
	if (trial_is_on(d) || p->n_experiments == 0)
		return;
	for (int i = 0; i < p->n_experiments; i++) {
		const struct plan_experiment *x = &p->experiment[i];

		snprintf(d->trial.x[i].job, sizeof(d->trial.x[i].job), "%s", p->job[x->job].id);
		d->trial.x[i].cores = x->cores;
		d->trial.x[i].ms = x->ms > 0 ? x->ms : STRETCH_MS;
		d->trial.x[i].coreset = x->coreset;
	}
	d->trial.n = p->n_experiments;
	d->trial.at = 0;
	d->trial.kind = TRIAL_EXPERIMENT;
	d->n_results = 0;
	place_experiment(d);
}

static void on_timer(void *daemon)
{
	struct daemon *d = daemon;

	/* Who stands still since a moment ago ends the trial before it is measured. */
	suspend_look(d, ipc_now_ns());
	if (d->trial.kind == TRIAL_WINDOW)
		step_window(d);
	else if (d->trial.kind == TRIAL_EXPERIMENT)
		step_experiment(d);
}

int trial_open(struct daemon *d, struct errbuf *err)
{
	return loop_add_timer(d->loop, on_timer, d, &d->trial.timer, err);
}
