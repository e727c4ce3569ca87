/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/choose/launches.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "common/ipc.h"
#include "common/text.h"
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
#define NARROW        "/granted"
/* Draws that a store may tell of: more there have not been; and the logarithm of seconds, or of
 * seconds per unit of work. */
#define DRAW_MAX  (UINT64_C(1) << 48)
#define LOG_S_MAX 100.0

struct launch_key {
	char name[NAME_SIZE];
	uint64_t id; /* of the name; 0: free */
	char owner[sizeof(((struct step *)0)->user)];
	int64_t ended_ns;
	struct gain_mean log_s; /* of all launches that completed */
	struct launch_pairs pairs;
};

struct launches {
	struct launch_draws draws;
	uint64_t draw; /* the current one; 0 none yet */
	enum launch_side side;
	int64_t drawn_ns; /* 0: by a former daemon */
	struct launch_key key[LAUNCHES_KEYS];
};

void launches_close(struct choose *ch)
{
	free(ch->launches);
	ch->launches = NULL;
}

static uint64_t id_of(const char *name)
{
	return text_hash(TEXT_HASH_START, name) >> 1 | 1;
}

static struct launch_key *find_key(struct launches *l, const char *name)
{
	for (int i = 0; i < LAUNCHES_KEYS; i++)
		if (l->key[i].id && strcmp(l->key[i].name, name) == 0)
			return &l->key[i];
	return NULL;
}

static int count_of(const struct launches *l, const char *owner)
{
	int n = 0;

	for (int i = 0; i < LAUNCHES_KEYS; i++)
		n += l->key[i].id && strcmp(l->key[i].owner, owner) == 0;
	return n;
}

/* In a free place; else in that of the user who has most, whichever ended first: a user calls his
 * programs as he likes. */
static struct launch_key *make_key(struct launches *l, const char *name, const char *owner)
{
	struct launch_key *k = &l->key[0];
	int most = 0;

	for (int i = 0; i < LAUNCHES_KEYS; i++) {
		struct launch_key *one = &l->key[i];
		int n = one->id ? count_of(l, one->owner) : INT_MAX;

		if (n > most || (n == most && one->id && one->ended_ns < k->ended_ns)) {
			most = n;
			k = one;
		}
		if (!one->id)
			break;
	}
	*k = (struct launch_key){.id = id_of(name), .ended_ns = ipc_now_ns()};
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->owner, sizeof(k->owner), "%s", owner);
	return k;
}

static struct launch_key *key_of(struct launches *l, uint64_t id)
{
	for (int i = 0; i < LAUNCHES_KEYS && id; i++)
		if (l->key[i].id == id)
			return &l->key[i];
	return NULL;
}

/* ---- for the next daemon ---- */

/* "12 4.1 0.02 7 1 0 1 4.1; 0 3 2 8.2; ": of all its launches, of the draw that is open (which, its
 * side, kind, launches, sum), then of what waits, by side and kind. */
static void format_key(const struct launch_key *k, char *buf, size_t size)
{
	const struct launch_pairs *p = &k->pairs;
	size_t len = (size_t)snprintf(buf, size, "%d %.17g %.17g %" PRIu64 " %d %d %d %.17g;",
		k->log_s.n, k->log_s.mean, k->log_s.m2, p->open.draw, (int)p->open.side,
		p->open.kind, p->open.n, p->open.sum);

	for (int side = LAUNCH_WITH; side <= LAUNCH_WITHOUT; side++)
		for (int kind = 0; kind < LAUNCH_KINDS && len < size; kind++)
			if (p->waiting[side][kind].n)
				len += (size_t)snprintf(buf + len, size - len, " %d %d %d %.17g;",
					side, kind, p->waiting[side][kind].n,
					p->waiting[side][kind].sum);
}

static bool is_sum(int n, double sum)
{
	return n >= 0 && fabs(sum) <= LOG_S_MAX * n;
}

static bool parse_key(const char *text, struct launch_key *ret)
{
	struct launch_pairs *p = &ret->pairs;
	int side, kind, n, used = -1;
	double sum;

	if (sscanf(text, "%9d %lf %lf %15" SCNu64 " %9d %9d %9d %lf;%n", &ret->log_s.n,
		    &ret->log_s.mean, &ret->log_s.m2, &p->open.draw, &side, &p->open.kind,
		    &p->open.n, &p->open.sum, &used) != 8 ||
		used < 0 || p->open.draw > DRAW_MAX || ret->log_s.n < 1 ||
		!is_sum(1, ret->log_s.mean) || !is_sum(ret->log_s.n, sqrt(ret->log_s.m2)) ||
		(side & ~1) || (p->open.kind & ~(LAUNCH_KINDS - 1)) ||
		!is_sum(p->open.n, p->open.sum))
		return false;
	p->open.side = (enum launch_side)side;
	for (text += used; *text; text += used) {
		used = -1;
		if (sscanf(text, " %9d %9d %9d %lf;%n", &side, &kind, &n, &sum, &used) != 4 ||
			used < 0 || (side & ~1) || (kind & ~(LAUNCH_KINDS - 1)) || !is_sum(n, sum))
			return false;
		p->waiting[side][kind].n = n;
		p->waiting[side][kind].sum = sum;
	}
	return true;
}

static void keep(const struct choose *ch, const struct launch_key *k)
{
	char value[LEARNT_VALUE_MAX];
	const struct learnt m = {.what = LAUNCHES_POLICY,
		.node_type = ch->node->type,
		.owner = k->owner,
		.name = k->name,
		.value = value,
		.put_unix_s = time(NULL)};
	struct errbuf err;

	/* Nothing that another daemon could go on with. */
	if (!k->log_s.n)
		return;
	format_key(k, value, sizeof(value));
	if (record_learnt_put(ch->record, &m, LAUNCHES_KEYS, &err) < 0)
		health_error("%.200s", err.text);
}

struct loading {
	const struct choose *ch;
	int n;
};

static int load(const struct learnt *m, void *arg)
{
	struct loading *w = arg;
	struct launches *l = w->ch->launches;
	struct launch_key k = {.id = 0}, *to;

	if (strcmp(m->node_type, w->ch->node->type) != 0 || strlen(m->name) >= sizeof(k.name) ||
		strlen(m->owner) >= sizeof(k.owner) || !parse_key(m->value, &k))
		return 0;
	to = make_key(l, m->name, m->owner);
	to->log_s = k.log_s;
	to->pairs = k.pairs;
	/* Before all that end from now on, in their order. */
	to->ended_ns = ++w->n;
	if (k.pairs.open.draw > l->draw)
		l->draw = k.pairs.open.draw;
	return 0;
}

int launches_open(struct choose *ch, struct errbuf *err)
{
	struct loading w = {.ch = ch};

	ch->launches = calloc(1, sizeof(*ch->launches));
	if (!ch->launches)
		return err_set(err, -ENOMEM, "out of memory");
	if (record_learnt_list(ch->record, LAUNCHES_POLICY, load, &w, err) < 0)
		log_warning("guard: launches of before are not known: %s", err->text);
	return 0;
}

/* "gmx@ada:8#1a2b3c4d"; with fewer threads than Slurm has cores for its launches are another's. */
static void name_key(
	const struct choose *ch, const struct step *s, bool narrow, char buf[static NAME_SIZE])
{
	size_t len;

	quarantine_name_member(ch, s, buf, NAME_SIZE - 16 - sizeof(NARROW));
	len = strlen(buf);
	if (s->args)
		len += (size_t)snprintf(buf + len, NAME_SIZE - len, "#%08x", s->args);
	if (narrow)
		snprintf(buf + len, NAME_SIZE - len, NARROW);
}

static bool runs_drawn(const struct step *s, uint64_t draw)
{
	return s->seen.launch_draw == draw && step_is_managed(s);
}

/* Whoever of another side runs yet has met both. */
static void draw_anew(struct choose *ch, const struct step *about, double without)
{
	struct launches *l = ch->launches;

	/* Also those that a former daemon drew. */
	for (int i = 0; i < ch->jobs->n; i++)
		if (ch->jobs->step[i]->seen.launch_draw > l->draw)
			l->draw = ch->jobs->step[i]->seen.launch_draw;
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

	if (!l->drawn_ns || ipc_now_ns() - l->drawn_ns > at_most_ns)
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

	/* First: what is used up must not make a window again after a crash. */
	keep(ch, k);
	if (!j || !quarantine_note(ch, j, x, kind & LAUNCH_BY_WORK ? "elapsed,work" : "elapsed"))
		return;
	quarantine_judge(ch, j, &judged);
	log_warning("guard: the launch environment makes %.200s slower: %.3f (%.3f to %.3f) in %d "
		    "comparisons; withheld for %g h",
		k->name, judged.ratio, judged.lo, judged.hi, j->windows,
		ch->conf->guard.quarantine_h);
}

/* Whose launches tell how often one is to be compared: its own, or where there were none of that
 * width yet, those of the other; before it begins it may get that (launches_change_width()). */
static struct launch_key *tells(const struct choose *ch, const struct step *s, struct launch_key *k)
{
	char name[NAME_SIZE];
	struct launch_key *other = NULL;

	if (!k->log_s.n) {
		name_key(ch, s, !s->narrow, name);
		other = find_key(ch->launches, name);
	}
	return other ? other : k;
}

enum launch_draw launches_draw(struct choose *ch, struct step *s, char *why, size_t size)
{
	struct launches *l = ch->launches;
	double f = ch->conf->control_fraction, x;
	char name[NAME_SIZE];
	struct launch_key *k, *like;
	struct judged *j;

	*why = '\0';
	/* Of a step on several nodes each would draw another side. */
	if (!l || s->batch || s->nnodes > 1)
		return LAUNCH_SET;
	name_key(ch, s, s->narrow, name);
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
		k = make_key(l, name, s->user);
	like = tells(ch, s, k);
	if (like != k)
		j = quarantine_row(ch, LAUNCHES_POLICY, like->name, false);
	if (!draw_holds(ch, s, like))
		draw_anew(ch, s, fraction_without(ch, like, j));
	if (launch_pairs_close(&k->pairs, l->draw, &x))
		note_window(ch, k, k->pairs.open.kind, x);
	s->seen.launch_key = k->id;
	s->seen.launch_draw = l->draw;
	s->seen.launch_side = l->side;
	return l->side == LAUNCH_WITHOUT ? LAUNCH_CONTROL : LAUNCH_SET;
}

bool launches_change_width(struct choose *ch, struct step *s)
{
	char name[NAME_SIZE];
	struct launch_key *k;
	struct judged *j;

	if (!ch->launches)
		return true;
	name_key(ch, s, s->narrow, name);
	j = quarantine_row(ch, LAUNCHES_POLICY, name, false);
	if (ch->conf->guard.enabled && j && quarantine_keeps_away(ch, j))
		return false;
	/* The side of a draw is the same for all that are in it. */
	if (s->seen.launch_key) {
		k = find_key(ch->launches, name);
		if (!k)
			k = make_key(ch->launches, name, s->user);
		s->seen.launch_key = k->id;
	}
	return true;
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
	char name[NAME_SIZE];
	bool completed = state == STEP_COMPLETED;
	int kind = *s->partners ? LAUNCH_IN_COMPANY : 0, before;

	if (!ch->launches)
		return;
	/* Another daemon drew it, or knew why its settings were withheld. */
	if (!k)
		name_key(ch, s, s->narrow, name);
	if (!k && s->seen.launch && strcmp(s->seen.launch, "withheld") == 0)
		tell_gain(ch, s, name);
	if (!k && s->seen.launch_draw && !(k = find_key(ch->launches, name)))
		k = make_key(ch->launches, name, s->user);
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
	else
		keep(ch, k);
	tell_gain(ch, s, k->name);
}
