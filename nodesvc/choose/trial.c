/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trial.c - placements for a moment, to learn from: the experiments that a plan asks for, and
 * stretches under Slurm's own placement in pairs A B B A (gain.c). One trial at a time; any
 * arrival, end, phase change or release ends it, and everybody is back where the plan wants him.
 *
 * Nothing here is a move: the ledger has the originals, the accounting counts plans only.
 */

#include <math.h>
#include <stdio.h>

#include "common/ipc.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"

/* Caches and threads settle after a change of cores before anything is measured. */
#define SETTLE_MS 100
/* A stretch of a window: some hundred reports of a program that reports each millisecond, and
 * five of one that does so each 100 ms. */
#define STRETCH_MS      500
#define STRETCH_REPORTS 5
/* Longer, where counted calls are rare: so many tell a speed to a few per cent, less than half of
 * that do not. */
#define STRETCH_CALLS   20
#define STRETCH_MOST_MS 2000
/* Under the plan's placement a stretch costs nobody anything: so much longer, its noise adds half
 * as much to a window's. Of turns it has whole rounds: a second of four slices of 0.1 s has two of
 * some and three of others, the same ones each time. */
#define PLACED_TIMES 2
/* An experiment whose program has not reported twice is given this much longer, times over. */
#define EXPERIMENT_TRIES 8
/* ... then it is not asked again for so long. */
#define NO_SPEED_NS INT64_C(30000000000)
/* Nor one that could not be moved: an interpreter is seen to work after a second, and what hardly
 * runs maybe never. Twice as long each time. */
#define UNMOVED_NS  INT64_C(2000000000)
#define UNMOVED_MAX 6
/* After the last move: the placement that is compared is in force. */
#define QUIET_NS INT64_C(2000000000)

enum { A1, B1, B2, A2 };
/* Before the first, the second and the last of them is SETTLE_MS. */
#define STAGES_SETTLED 3

bool trial_is_on(const struct choose *ch)
{
	return ch->trial.kind != TRIAL_NONE;
}

bool trial_displaces(const struct choose *ch)
{
	return trial_is_on(ch) && ch->trial.displaced;
}

static bool is_placed(const struct step *s)
{
	return s->located && s->status == STATUS_PLACED && !coreset_is_empty(&s->coreset);
}

static void tell_apart(struct choose *ch, bool apart)
{
	for (int i = 0; i < ch->jobs->n; i++)
		if (is_placed(ch->jobs->step[i]))
			reading_displace(ch->measure, ch->jobs->step[i], apart);
}

static void put_all(struct choose *ch, bool planned)
{
	if (!planned)
		tell_apart(ch, true);
	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];

		if (is_placed(s))
			levers_displace(ch->levers, s, planned ? &s->coreset : NULL);
	}
	if (!planned)
		return;
	levers_apply(ch->levers, true);
	tell_apart(ch, false);
}

static void finish(struct choose *ch)
{
	ch->trial.kind = TRIAL_NONE;
	measure_attend(ch->measure, false);
	loop_set_timer(ch->trial.timer, 0, 0);
}

/* What it showed wants a decision. */
static void tell(const struct choose *ch)
{
	if (ch->on.trial_over)
		ch->on.trial_over(ch->on.arg);
}

void trial_abort(struct choose *ch)
{
	if (!trial_is_on(ch))
		return;
	/* Only while somebody is elsewhere. */
	if (ch->trial.displaced)
		put_all(ch, true);
	ch->trial.displaced = false;
	ch->n_results = 0;
	finish(ch);
}

/* ---- windows ---- */

static void mark_all(struct choose *ch)
{
	for (int i = 0; i < ch->jobs->n; i++)
		if (is_placed(ch->jobs->step[i]))
			speed_read_now(ch->measure, ch->jobs->step[i], ipc_now_ns(),
				&ch->jobs->step[i]->trial_mark);
}

double trial_speed(const struct seen_work *a, const struct seen_work *b)
{
	if (b->basis == PROVENANCE_CALLS && b->total - a->total < STRETCH_CALLS / 2)
		return NAN;
	return speed_between(a, b, STRETCH_REPORTS);
}

/* What each made of the stretch that ends now. */
static void measure_all(struct choose *ch, int stretch)
{
	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];
		struct seen_work now;

		if (!is_placed(s))
			continue;
		speed_read_now(ch->measure, s, ipc_now_ns(), &now);
		s->seen.stretch[stretch] = trial_speed(&s->trial_mark, &now);
		s->trial_mark = now;
	}
}

/* True: decide anew. */
static bool take_windows(struct choose *ch)
{
	struct quarantine_window all = {0};

	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];
		double r;

		if (!is_placed(s))
			continue;
		all.steps++;
		if (!gain_abba(s->seen.stretch, &r))
			continue;
		all.known++;
		all.sum_log += r;
		all.bases |= UINT32_C(1) << s->seen.last.basis;
		gain_mean_add(&s->seen.windows, r);
		s->dirty = true;
		log_debug("step %s: window %d: %.3f, %.3f, %.3f, %.3f", s->id, s->seen.windows.n,
			s->seen.stretch[A1], s->seen.stretch[B1], s->seen.stretch[B2],
			s->seen.stretch[A2]);
	}
	return quarantine_window(ch, &all);
}

static int stretch_ms(const struct choose *ch)
{
	double ms = STRETCH_MS;

	for (int i = 0; i < ch->jobs->n; i++) {
		const struct step *s = ch->jobs->step[i];

		if (is_placed(s) && s->seen.last.basis == PROVENANCE_CALLS && s->seen.rate > 0)
			ms = fmax(ms, 1e3 * STRETCH_CALLS / s->seen.rate);
	}
	return (int)fmin(ms, STRETCH_MOST_MS);
}

static int placed_ms(const struct choose *ch)
{
	int ms = PLACED_TIMES * ch->trial.stretch_ms, round_ms = rotate_round_ms(ch->levers);

	return round_ms > 0 ? (ms + round_ms - 1) / round_ms * round_ms : ms;
}

/* The time under Slurm's placement is what is rationed. */
static int64_t window_pause_ns(const struct choose *ch)
{
	double cost_s = (2 * ch->trial.stretch_ms + SETTLE_MS) / 1e3;

	return (int64_t)(cost_s / ch->conf->baseline_fraction * 1e9);
}

static void step_window(struct choose *ch)
{
	int next_ms = ch->trial.stretch_ms;
	bool decide;

	switch (ch->trial.stage++) {
	case 0:
		mark_all(ch);
		next_ms = ch->trial.placed_ms;
		break;
	case 1:
		measure_all(ch, A1);
		ch->trial.displaced = true;
		put_all(ch, false);
		next_ms = SETTLE_MS;
		break;
	case 2:
		mark_all(ch);
		break;
	case 3:
		measure_all(ch, B1);
		break;
	case 4:
		measure_all(ch, B2);
		put_all(ch, true);
		ch->trial.displaced = false;
		next_ms = SETTLE_MS;
		break;
	case 5:
		mark_all(ch);
		next_ms = ch->trial.placed_ms;
		break;
	default:
		measure_all(ch, A2);
		decide = take_windows(ch);
		finish(ch);
		ch->trial.next_window_ns =
			ipc_now_ns() + window_pause_ns(ch) -
			INT64_C(1000000) * (2 * ch->trial.stretch_ms + 2 * ch->trial.placed_ms +
						   STAGES_SETTLED * SETTLE_MS);
		if (decide)
			tell(ch);
		return;
	}
	loop_set_timer(ch->trial.timer, next_ms, 0);
}

static bool is_quiet(const struct choose *ch, int64_t now_ns)
{
	bool speed = false;

	/* One would seem to gain as much as the others lose, and less than that on average. */
	if (rotate_has_foreground(ch->levers))
		return false;
	for (int i = 0; i < ch->jobs->n; i++) {
		const struct step *s = ch->jobs->step[i];

		if (!step_is_managed(s))
			continue;
		/* Half a set put back is not Slurm's placement. */
		if (!is_placed(s) || s->nnodes > 1 || s->threads > STEP_THREADS_EACH ||
			now_ns - s->last_move_ns < QUIET_NS || now_ns - s->start_mono_ns < QUIET_NS)
			return false;
		speed |= s->seen.has_last;
	}
	return speed;
}

void trial_consider(struct choose *ch, int64_t now_ns)
{
	if (trial_is_on(ch) || ch->conf->baseline_fraction <= 0 || ch->conf->dry_run ||
		actuate_get_ops(ch->actuate) == &actuate_none)
		return;
	/* Before it goes through all steps. */
	if (now_ns < ch->trial.next_window_ns || !is_quiet(ch, now_ns))
		return;
	ch->trial.stretch_ms = stretch_ms(ch);
	if (!ch->trial.next_window_ns) {
		/* The first one has to wait its share too; not at the same distance from each
		 * start. */
		ch->trial.next_window_ns =
			now_ns + (int64_t)((double)window_pause_ns(ch) * (0.5 + drand48() / 2));
		return;
	}
	ch->trial.placed_ms = placed_ms(ch);
	ch->trial.kind = TRIAL_WINDOW;
	measure_attend(ch->measure, true);
	ch->trial.stage = 0;
	/* Until the traps are in: by an older figure the first stretch would be of no whole rounds,
	 * and who goes first would seem slower there than who goes last. */
	loop_set_timer(ch->trial.timer, SETTLE_MS, 0);
}

/* ---- experiments ---- */

static struct step *subject(struct choose *ch)
{
	return jobs_find_id(ch->jobs, ch->trial.x[ch->trial.at].job);
}

/* The job on the cores asked for; the others on what that leaves them, or, where that is nothing,
 * where they are. */
static void place_experiment(struct choose *ch)
{
	const struct coreset *own = &ch->trial.x[ch->trial.at].coreset;
	struct step *of = subject(ch);

	ch->trial.displaced = true;
	ch->trial.in_company = ch->trial.unmoved = false;
	ch->trial.stage = ch->trial.tries = 0;
	tell_apart(ch, true);
	if (of && is_placed(of))
		ch->trial.unmoved = !levers_displace(ch->levers, of, own);
	/* Nobody makes room for nothing. */
	for (int i = 0; i < ch->jobs->n && !ch->trial.unmoved; i++) {
		struct step *s = ch->jobs->step[i];
		struct coreset rest;

		if (s == of || !is_placed(s))
			continue;
		coreset_andnot(&rest, &s->coreset, own);
		if (coreset_is_empty(&rest))
			ch->trial.in_company = true;
		levers_displace(ch->levers, s, coreset_is_empty(&rest) ? &s->coreset : &rest);
	}
	loop_set_timer(ch->trial.timer, ch->trial.unmoved ? 1 : SETTLE_MS, 0);
}

static void end_experiments(struct choose *ch)
{
	put_all(ch, true);
	ch->trial.displaced = false;
	finish(ch);
	tell(ch);
}

static void step_experiment(struct choose *ch)
{
	struct trial_experiment *x = &ch->trial.x[ch->trial.at];
	struct step *s = subject(ch);
	struct seen_work now;
	double speed;

	if (s && ch->trial.unmoved) {
		s->seen.no_speed_until_ns = ipc_now_ns() + (UNMOVED_NS << s->seen.unmoved);
		if (s->seen.unmoved < UNMOVED_MAX)
			s->seen.unmoved++;
	} else if (s && is_placed(s) && ch->trial.stage == 0) {
		ch->trial.stage = 1;
		speed_read_now(ch->measure, s, ipc_now_ns(), &s->trial_mark);
		loop_set_timer(ch->trial.timer, x->ms, 0);
		return;
	} else if (s && is_placed(s)) {
		speed_read_now(ch->measure, s, ipc_now_ns(), &now);
		speed = speed_between(&s->trial_mark, &now, 2);
		s->seen.unmoved = 0;
		if (isnan(speed) && ++ch->trial.tries < EXPERIMENT_TRIES) {
			loop_set_timer(ch->trial.timer, x->ms, 0);
			return;
		}
		if (speed > 0 && ch->n_results < PLAN_EXPERIMENTS_MAX) {
			ch->result[ch->n_results++] =
				(struct event){.type = EVENT_EXPERIMENT_RESULT,
					.job = s->id,
					.cores = x->cores,
					.speed = speed};
			priors_keep_speed(ch->measure, s, x->cores,
				!ch->trial.in_company && jobs_is_alone(ch->jobs, s), speed);
			log_debug("step %s: experiment: %.4g %s/s on %d cores%s", s->id, speed,
				speed_unit(s), x->cores,
				ch->trial.in_company ? ", not alone there" : "");
		} else {
			s->seen.no_speed_until_ns = ipc_now_ns() + NO_SPEED_NS;
		}
	}
	if (++ch->trial.at < ch->trial.n)
		place_experiment(ch);
	else
		end_experiments(ch);
}

const char *trial_refuses(struct choose *ch, const struct plan *p, char *buf, size_t size)
{
	int64_t now_ns = ipc_now_ns();

	for (int i = 0; i < p->n_experiments; i++) {
		const struct step *s = jobs_find_id(ch->jobs, p->job[p->experiment[i].job].id);
		const char *why = NULL;

		if (!s || !s->located)
			why = "has not started";
		else if (s->nnodes > 1)
			why = "runs on several nodes";
		else if (s->dry_run || ch->conf->dry_run)
			why = "is not to be touched";
		else if (s->threads > STEP_THREADS_EACH)
			why = "has too many threads to be moved for a moment";
		else if (s->seen.unmoved && now_ns < s->seen.no_speed_until_ns)
			why = "hardly runs and is not moved";
		else if (!s->seen.has_last || now_ns < s->seen.no_speed_until_ns)
			why = "tells no speed";
		if (!why)
			continue;
		snprintf(buf, size, "experiments, but step %s %s", s ? s->id : "?", why);
		return buf;
	}
	return NULL;
}

void trial_experiments(struct choose *ch, const struct plan *p)
{
	if (trial_is_on(ch) || p->n_experiments == 0)
		return;
	for (int i = 0; i < p->n_experiments; i++) {
		const struct plan_experiment *x = &p->experiment[i];

		snprintf(ch->trial.x[i].job, sizeof(ch->trial.x[i].job), "%s", p->job[x->job].id);
		ch->trial.x[i].cores = x->cores;
		ch->trial.x[i].ms = x->ms > 0 ? x->ms : STRETCH_MS;
		ch->trial.x[i].coreset = x->coreset;
	}
	ch->trial.n = p->n_experiments;
	ch->trial.at = 0;
	ch->trial.kind = TRIAL_EXPERIMENT;
	measure_attend(ch->measure, true);
	ch->n_results = 0;
	place_experiment(ch);
}

static void on_timer(void *arg)
{
	struct choose *ch = arg;

	/* Who stands still since a moment ago ends the trial before it is measured. */
	if (ch->on.before_trial)
		ch->on.before_trial(ch->on.arg);
	if (ch->trial.kind == TRIAL_WINDOW)
		step_window(ch);
	else if (ch->trial.kind == TRIAL_EXPERIMENT)
		step_experiment(ch);
}

int trial_open(struct choose *ch, struct errbuf *err)
{
	return loop_add_timer(ch->loop, on_timer, ch, &ch->trial.timer, err);
}

void trial_close(struct choose *ch)
{
	loop_remove(ch->loop, ch->trial.timer);
	ch->trial.timer = NULL;
}
