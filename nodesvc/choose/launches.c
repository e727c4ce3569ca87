/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/choose/launches.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/engine/launch_pairs.h"

/* A draw holds for so many times what the arriving program takes; where that is not known, so long.
 * Longer ones would be too few. */
#define DRAW_LENGTHS 2
#define DRAW_NS      INT64_C(60000000000)
/* So many windows come as fast as they can, unless there is a verdict before. */
#define WINDOWS_EARLY 12
#define NAME_SIZE     400

struct launch_key {
	char name[NAME_SIZE];
	uint32_t id; /* 0: free */
	int64_t ended_ns;
	struct gain_mean log_s; /* of all launches that completed */
	struct launch_pairs pairs;
};

struct launches {
	struct launch_draws draws;
	uint64_t draw; /* the current one; 0 none yet */
	enum launch_side side;
	int64_t drawn_ns;
	uint32_t last_id;
	struct launch_key key[LAUNCHES_KEYS];
};

int launches_open(struct choose *ch, struct errbuf *err)
{
	ch->launches = calloc(1, sizeof(*ch->launches));
	return ch->launches ? 0 : err_set(err, -ENOMEM, "out of memory");
}

void launches_close(struct choose *ch)
{
	free(ch->launches);
	ch->launches = NULL;
}

static struct launch_key *find_key(struct launches *l, const char *name)
{
	for (int i = 0; i < LAUNCHES_KEYS; i++)
		if (l->key[i].id && strcmp(l->key[i].name, name) == 0)
			return &l->key[i];
	return NULL;
}

static struct launch_key *make_key(struct launches *l, const char *name)
{
	struct launch_key *k = &l->key[0];

	for (int i = 0; i < LAUNCHES_KEYS && k->id; i++)
		if (!l->key[i].id || l->key[i].ended_ns < k->ended_ns)
			k = &l->key[i];
	*k = (struct launch_key){.id = ++l->last_id, .ended_ns = ipc_now_ns()};
	snprintf(k->name, sizeof(k->name), "%s", name);
	return k;
}

static struct launch_key *key_of(struct launches *l, uint32_t id)
{
	for (int i = 0; i < LAUNCHES_KEYS && id; i++)
		if (l->key[i].id == id)
			return &l->key[i];
	return NULL;
}

/* "gmx@ada:8#1a2b3c4d" */
static void name_key(const struct choose *ch, const struct step *s, char buf[static NAME_SIZE])
{
	size_t len;

	quarantine_name_member(ch, s, buf, NAME_SIZE - 16);
	len = strlen(buf);
	if (s->args)
		snprintf(buf + len, NAME_SIZE - len, "#%08x", s->args);
}

static bool runs_drawn(const struct step *s, uint64_t draw)
{
	return s->seen.launch_draw == draw && step_is_managed(s);
}

/* Whoever of another side runs yet has met both. */
static void draw_anew(struct choose *ch, const struct step *about, double without)
{
	struct launches *l = ch->launches;

	l->draw++;
	l->drawn_ns = ipc_now_ns();
	l->side = launch_draw(&l->draws, without, drand48());
	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];

		if (s != about && s->seen.launch_draw && s->seen.launch_side != l->side)
			s->seen.launch_mixed = true;
	}
}

static bool draw_holds(
	const struct choose *ch, const struct step *about, const struct launch_key *k)
{
	const struct launches *l = ch->launches;
	int64_t at_most_ns =
		k->log_s.n ? (int64_t)(DRAW_LENGTHS * exp(k->log_s.mean) * 1e9) : DRAW_NS;

	if (!l->draw || ipc_now_ns() - l->drawn_ns > at_most_ns)
		return false;
	for (int i = 0; i < ch->jobs->n; i++)
		if (ch->jobs->step[i] != about && runs_drawn(ch->jobs->step[i], l->draw))
			return true;
	return false;
}

static double fraction_without(
	const struct choose *ch, const struct launch_key *k, const struct judged *j)
{
	struct judgement judged = {.verdict = VERDICT_UNKNOWN};
	double f = ch->conf->control_fraction;

	if (!k->log_s.n)
		return 0; /* perhaps it never comes again */
	if (j)
		quarantine_judge(ch, j, &judged);
	return judged.verdict == VERDICT_UNKNOWN && (!j || j->windows < WINDOWS_EARLY) && f < 0.5
		       ? 0.5
		       : f;
}

static void say_withheld(const struct choose *ch, const struct judged *j, char *buf, size_t size)
{
	struct judgement judged;
	char until[32];
	time_t t = (time_t)j->until_unix_s;
	struct tm tm;

	quarantine_judge(ch, j, &judged);
	if (!localtime_r(&t, &tm) || strftime(until, sizeof(until), "%Y-%m-%dT%H:%M", &tm) == 0)
		*until = '\0';
	snprintf(buf, size,
		"guard: with it the program was %.3g (%.3g to %.3g) as fast; until %.19s",
		judged.ratio, judged.lo, judged.hi, until);
}

static void note_window(struct choose *ch, const struct launch_key *k, int kind, double x)
{
	struct judged *j = quarantine_row(ch, LAUNCHES_POLICY, k->name, true);
	struct judgement judged;

	if (!j || !quarantine_note(ch, j, x, kind & LAUNCH_BY_WORK ? "elapsed,work" : "elapsed"))
		return;
	quarantine_judge(ch, j, &judged);
	log_warning("guard: the launch environment makes %.200s slower: %.3f (%.3f to %.3f) in %d "
		    "comparisons; withheld for %g h",
		k->name, judged.ratio, judged.lo, judged.hi, j->windows,
		ch->conf->guard.quarantine_h);
}

enum launch_draw launches_draw(struct choose *ch, struct step *s, char *why, size_t size)
{
	struct launches *l = ch->launches;
	double f = ch->conf->control_fraction, x;
	char name[NAME_SIZE];
	struct launch_key *k;
	struct judged *j;

	*why = '\0';
	/* Of a step on several nodes each would draw another side. */
	if (!l || s->batch || s->nnodes > 1)
		return LAUNCH_SET;
	name_key(ch, s, name);
	j = quarantine_row(ch, LAUNCHES_POLICY, name, false);
	if (ch->conf->guard.enabled && j && quarantine_keeps_away(ch, j)) {
		quarantine_judge(ch, j, &s->seen.launch_judged);
		say_withheld(ch, j, why, size);
		return LAUNCH_WITHHELD;
	}
	/* All or none: nothing is drawn. */
	if (f <= 0 || f >= 1)
		return f <= 0 ? LAUNCH_SET : LAUNCH_CONTROL;
	k = find_key(l, name);
	if (!k)
		k = make_key(l, name);
	if (!draw_holds(ch, s, k))
		draw_anew(ch, s, fraction_without(ch, k, j));
	if (launch_pairs_close(&k->pairs, l->draw, &x))
		note_window(ch, k, k->pairs.open.kind, x);
	s->seen.launch_key = k->id;
	s->seen.launch_draw = l->draw;
	s->seen.launch_side = l->side;
	return l->side == LAUNCH_WITHOUT ? LAUNCH_CONTROL : LAUNCH_SET;
}

/* It did not end by itself. */
static bool was_ended(const struct step *s)
{
	int sig = s->exit_status > 0 && WIFSIGNALED(s->exit_status) ? WTERMSIG(s->exit_status) : 0;

	return sig == SIGTERM || sig == SIGKILL || sig == SIGXCPU;
}

static bool is_work(const struct seen_work *w)
{
	/* Instructions are none: threads that spin have the most. Calls are where all of them were
	 * counted. */
	return w->basis == PROVENANCE_APP || (w->basis == PROVENANCE_CALLS && w->whole);
}

static void tell_gain(struct choose *ch, struct step *s, const char *name)
{
	struct judged *j = quarantine_row(ch, LAUNCHES_POLICY, name, false);

	if (!j)
		return;
	quarantine_judge(ch, j, &s->seen.launch_judged);
	s->dirty = true;
}

void launches_end(struct choose *ch, struct step *s, int64_t end_unix_ns)
{
	struct launch_key *k = ch->launches ? key_of(ch->launches, s->seen.launch_key) : NULL;
	double seconds =
		(double)(end_unix_ns - s->start_unix_ns - step_suspended_ns(s, ipc_now_ns())) / 1e9;
	enum step_state state = step_final_state(s);
	double log_s = log(seconds), x;
	bool completed = state == STEP_COMPLETED;
	int kind = *s->partners ? LAUNCH_IN_COMPANY : 0, before;

	if (!k || !(seconds > 0))
		return;
	k->ended_ns = ipc_now_ns();
	if (!completed && !(was_ended(s) && k->log_s.n && log_s > k->log_s.mean))
		return;
	if (completed)
		gain_mean_add(&k->log_s, log_s);
	if (is_work(&s->seen.last) && s->seen.last.total > 0) {
		kind |= LAUNCH_BY_WORK;
		log_s -= log(s->seen.last.total);
	}
	before = k->pairs.open.kind;
	if (!s->seen.launch_mixed && launch_pairs_add(&k->pairs, s->seen.launch_draw,
					     s->seen.launch_side, kind, log_s, &x))
		note_window(ch, k, before, x);
	tell_gain(ch, s, k->name);
}
