/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/choose/choose.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ipc.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/base/log.h"

struct quarantine {
	struct judged *set[QUARANTINE_SETS_MAX]; /* oldest window first, as far as it matters */
	int n;

	/* Of the steps that run now, while not stale */
	bool stale;
	unsigned generation; /* of the engines, then */
	int n_members;
	char members[QUARANTINE_MEMBERS_MAX];                 /* "": none, or not to be named */
	char policy[2][sizeof(((struct judged *)0)->policy)]; /* ruling, fallback */
	struct judged *now[2];

	bool fallback;   /* whose plan is in force */
	int unknown, of; /* steps without a speed in the last window, and all; of 0: none yet */
	bool unwritten;  /* the store did not take the last change: said once */
	uint64_t windows, begun;
};

static int64_t duration_s(const struct choose *ch)
{
	return (int64_t)fmax(1, ch->conf->guard.quarantine_h * 3600);
}

/* ---- a set's name ---- */

/* Users choose program names: no separator of ours, nothing for a terminal or a log. */
static size_t put_word(char *buf, size_t size, const char *text)
{
	size_t len = 0;

	for (; *text && len + 4 < size; text++) {
		if (isalnum((unsigned char)*text) || strchr("._-", *text))
			buf[len++] = *text;
		else
			len += (size_t)snprintf(
				buf + len, size - len, "%%%02x", (unsigned char)*text);
	}
	buf[len] = '\0';
	return len;
}

#define MEMBER_MAX 320

void quarantine_name_member(const struct choose *ch, const struct step *s, char *buf, size_t size)
{
	size_t len = put_word(buf, size - 60, s->type);

	buf[len++] = '@';
	len += put_word(buf + len, size - len - 16, s->user);
	snprintf(buf + len, size - len, ":%d", topo_count_cores(ch->node->topo, &s->envelope));
}

static int compare_members(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "a@ada:2 + 2*b@bob:4"; "" where there is nobody, or too much to say. */
static void name_set(const struct choose *ch, char *buf, size_t size)
{
	char(*member)[MEMBER_MAX] = calloc((size_t)ch->jobs->n + 1, sizeof(*member));
	size_t len = 0;
	int n = 0, equal = 1;

	*buf = '\0';
	for (int i = 0; member && i < ch->jobs->n; i++)
		if (step_is_managed(ch->jobs->step[i]))
			quarantine_name_member(ch, ch->jobs->step[i], member[n++], MEMBER_MAX);
	if (member)
		qsort(member, (size_t)n, sizeof(*member), compare_members);
	for (int i = 0; i < n; i += equal) {
		char times[16] = "";

		for (equal = 1; i + equal < n && strcmp(member[i], member[i + equal]) == 0;)
			equal++;
		if (equal > 1)
			snprintf(times, sizeof(times), "%d*", equal);
		len += (size_t)snprintf(
			buf + len, size - len, "%s%s%s", len ? " + " : "", times, member[i]);
		if (len >= size) {
			*buf = '\0';
			break;
		}
	}
	free(member);
}

/* With the options that rule it, wherever they were given. */
static void name_policy(struct choose *ch, const char *spec, char *buf, size_t size)
{
	struct policy_option option[CONF_LIST_MAX + 1];
	int n = options_of(ch->conf, spec, option, CONF_LIST_MAX + 1);
	size_t len = strcspn(spec, ","), at;

	at = (size_t)snprintf(buf, size, "%.*s", (int)len, spec);
	for (int i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(
			buf + at, size - at, ",%s=%s", option[i].key, option[i].value);
	if (at < size)
		snprintf(buf + at, size - at, "%s", spec + len);
}

uint32_t quarantine_id(const struct judged *j)
{
	const char *const part[] = {j->policy, j->node_type, j->members};
	uint32_t hash = UINT32_C(2166136261); /* FNV-1a */

	for (int i = 0; i < 3; i++)
		for (const char *p = part[i];; p++) {
			hash = (hash ^ (unsigned char)*p) * UINT32_C(16777619);
			if (!*p)
				break;
		}
	return hash;
}

/* ---- the table ---- */

static struct judged *find(struct choose *ch, const char *policy, const char *members)
{
	struct quarantine *q = ch->quarantine;

	for (int i = 0; i < q->n; i++)
		if (strcmp(q->set[i]->members, members) == 0 &&
			strcmp(q->set[i]->policy, policy) == 0 &&
			strcmp(q->set[i]->node_type, ch->node->type) == 0)
			return q->set[i];
	return NULL;
}

/* With its own copy of the text behind it. */
static struct judged *copy_judged(const struct judged *j)
{
	size_t size = strlen(j->members) + 1;
	struct judged *copy = malloc(sizeof(*copy) + size);

	if (!copy)
		return NULL;
	*copy = *j;
	memcpy(copy + 1, j->members, size);
	copy->members = (char *)(copy + 1);
	return copy;
}

static void drop(struct choose *ch, int i)
{
	struct quarantine *q = ch->quarantine;
	struct errbuf err;

	if (record_judged_rm(ch->record, q->set[i], &err) < 0)
		health_error("%.200s", err.text);
	free(q->set[i]);
	memmove(&q->set[i], &q->set[i + 1], (size_t)(q->n - i - 1) * sizeof(q->set[0]));
	q->n--;
	q->stale = true;
}

bool quarantine_is_active(const struct judged *j)
{
	return j->until_unix_s > time(NULL);
}

/* How many sets each user is in; those whose names meet here count as one. */
struct share {
	struct {
		int sets, last; /* that it was counted for */
	} of[1024];
};

/* The most that any user of set number @set is in; counts those that were not counted for it. */
static int weigh_set(struct share *u, const char *members, int set)
{
	int most = 0;

	/* put_word() leaves no other '@' and ':'. */
	for (const char *at = members; (at = strchr(at, '@')) != NULL;) {
		uint32_t hash = UINT32_C(2166136261); /* FNV-1a */
		size_t i;

		for (at++; *at && *at != ':'; at++)
			hash = (hash ^ (unsigned char)*at) * UINT32_C(16777619);
		i = hash % (sizeof(u->of) / sizeof(u->of[0]));
		if (u->of[i].last < set) {
			u->of[i].last = set;
			u->of[i].sets++;
		}
		most = u->of[i].sets > most ? u->of[i].sets : most;
	}
	return most;
}

/* Room for another: of those that the user of most sets is in, since users make sets as they
 * please; of these one that is not quarantined, else any, the one measured longest ago. */
static void make_room(struct choose *ch)
{
	static struct share user;
	static int weight[QUARANTINE_SETS_MAX];
	struct quarantine *q = ch->quarantine;
	int oldest = -1, most = 0;

	if (q->n < QUARANTINE_SETS_MAX)
		return;
	user = (struct share){0};
	for (int i = 0; i < q->n; i++)
		weigh_set(&user, q->set[i]->members, i + 1);
	for (int i = 0; i < q->n; i++) {
		weight[i] = weigh_set(&user, q->set[i]->members, 0);
		most = weight[i] > most ? weight[i] : most;
	}
	for (int pass = 0; pass < 2 && oldest < 0; pass++)
		for (int i = 0; i < q->n; i++)
			if (weight[i] == most && (pass == 1 || !quarantine_is_active(q->set[i])) &&
				(oldest < 0 ||
					q->set[i]->last_unix_s < q->set[oldest]->last_unix_s))
				oldest = i;
	drop(ch, oldest);
}

static struct judged *add(struct choose *ch, const struct judged *j)
{
	struct quarantine *q = ch->quarantine;
	struct judged *copy;

	make_room(ch);
	copy = copy_judged(j);
	if (copy)
		q->set[q->n++] = copy;
	q->stale = true;
	return copy;
}

/* What is not written is known to this daemon only. */
static void keep(struct choose *ch, const struct judged *j)
{
	struct errbuf err;
	bool failed = record_judged_put(ch->record, j, &err) < 0;

	if (failed) {
		health_error("guard: %.200s", err.text);
		if (!ch->quarantine->unwritten)
			log_warning("guard: a restart would not know: %s", err.text);
	}
	ch->quarantine->unwritten = failed;
}

static void forget_windows(struct judged *j)
{
	j->windows = 0;
	j->mean = j->m2 = 0;
	j->until_unix_s = 0;
	*j->basis = '\0';
}

static int load(const struct judged *j, void *arg)
{
	struct choose *ch = arg;

	return ch->quarantine->n == QUARANTINE_SETS_MAX || add(ch, j) ? 0 : -ENOMEM;
}

int quarantine_open(struct choose *ch, struct errbuf *err)
{
	int active = 0, rc;

	ch->quarantine = calloc(1, sizeof(*ch->quarantine));
	if (!ch->quarantine)
		return err_set(err, -ENOMEM, "out of memory");
	ch->quarantine->stale = true;
	rc = record_judged_list(ch->record, load, ch, err);
	if (rc < 0)
		return rc;
	for (int i = ch->quarantine->n - 1; i >= 0; i--) {
		const struct judged *j = ch->quarantine->set[i];

		active += quarantine_is_active(j);
		if (!quarantine_is_active(j) && j->last_unix_s < time(NULL) - duration_s(ch))
			drop(ch, i);
	}
	if (active)
		log_info("guard: %d sets of programs are in quarantine (colocctl quarantine list)",
			active);
	return 0;
}

void quarantine_close(struct choose *ch)
{
	if (!ch->quarantine)
		return;
	for (int i = 0; i < ch->quarantine->n; i++)
		free(ch->quarantine->set[i]);
	free(ch->quarantine);
	ch->quarantine = NULL;
}

void quarantine_stale(struct choose *ch)
{
	if (ch->quarantine)
		ch->quarantine->stale = true;
}

static void refresh(struct choose *ch)
{
	struct quarantine *q = ch->quarantine;
	int n = jobs_count_managed(ch->jobs);
	char before[sizeof(q->members)];

	if (!q->stale && n == q->n_members && q->generation == ch->generation)
		return;
	memcpy(before, q->members, sizeof(before));
	name_set(ch, q->members, sizeof(q->members));
	if (strcmp(before, q->members) != 0)
		q->of = 0;
	name_policy(ch, ch->ruling, q->policy[0], sizeof(q->policy[0]));
	name_policy(ch, ch->conf->fallback, q->policy[1], sizeof(q->policy[1]));
	for (int i = 0; i < 2; i++)
		q->now[i] = *q->members ? find(ch, q->policy[i], q->members) : NULL;
	q->n_members = n;
	q->generation = ch->generation;
	q->stale = false;
}

/* ---- deciding ---- */

bool quarantine_keeps_away(struct choose *ch, struct judged *j)
{
	int64_t longest_s = time(NULL) + duration_s(ch);

	if (!j || !j->until_unix_s)
		return false;
	/* A clock that was set back, or a shorter time in the configuration. */
	if (j->until_unix_s > longest_s)
		j->until_unix_s = longest_s;
	if (quarantine_is_active(j))
		return true;
	log_info("guard: policy %s is tried again for %.200s: its quarantine is over", j->policy,
		j->members);
	forget_windows(j);
	keep(ch, j);
	return false;
}

/* Naming the set costs per step: where nothing is in quarantine, registrations need not wait. */
static bool any_quarantined(const struct quarantine *q)
{
	for (int i = 0; i < q->n; i++)
		if (q->set[i]->until_unix_s)
			return true;
	return false;
}

bool quarantine_holds(struct choose *ch, bool fallback)
{
	struct quarantine *q = ch->quarantine;

	if (!q)
		return false;
	q->fallback = fallback;
	if (!ch->conf->guard.enabled || !any_quarantined(q))
		return false;
	refresh(ch);
	return quarantine_keeps_away(ch, q->now[0]) ||
	       (fallback && quarantine_keeps_away(ch, q->now[1]));
}

/* The one whose quarantine is in force: the fallback's only where it decides. */
static const struct judged *holding(const struct choose *ch)
{
	const struct quarantine *q = ch->quarantine;

	for (int i = 0; i < (q->fallback ? 2 : 1); i++)
		if (q->now[i] && quarantine_is_active(q->now[i]))
			return q->now[i];
	return NULL;
}

static void say_why(const struct choose *ch, char *buf, size_t size)
{
	const struct judged *j = holding(ch);
	struct judgement judged;
	char until[32];
	time_t t = j ? (time_t)j->until_unix_s : 0;
	struct tm tm;

	if (!j) {
		*buf = '\0';
		return;
	}
	quarantine_judge(ch, j, &judged);
	if (!localtime_r(&t, &tm) || strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		*until = '\0';
	snprintf(buf, size,
		"guard: %.20s made these programs %.3g (%.3g to %.3g) as fast as Slurm's "
		"placement; in quarantine until %.19s",
		j->policy, judged.ratio, judged.lo, judged.hi, until);
}

static void hold_step(struct choose *ch, struct step *s, const char *event, const char *why)
{
	char reason[sizeof(s->reason)];
	struct coreset from = s->coreset;
	struct decision *dec;

	memcpy(reason, s->reason, sizeof(reason));
	if (s->status == STATUS_PLACED) {
		levers_restore(ch->levers, s, STATUS_OBSERVED, why);
		memcpy(s->reason, reason, sizeof(s->reason));
	}
	dec = step_new_decision(s);
	dec->event = event;
	snprintf(dec->policy, sizeof(dec->policy), "none");
	dec->from = from;
	dec->to = s->slurm_step;
	dec->moved = !coreset_is_empty(&from) && !coreset_is_equal(&from, &s->slurm_step);
	snprintf(dec->why, sizeof(dec->why), "%s", why);
	s->held = true;
	snprintf(s->guard, sizeof(s->guard), "quarantined");
	snprintf(s->held_why, sizeof(s->held_why), "%s", why);
	s->dirty = true;
}

void quarantine_hold(struct choose *ch, const char *event)
{
	char why[PLAN_WHY_MAX];
	int64_t now_ns = ipc_now_ns();

	say_why(ch, why, sizeof(why));
	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];

		if (!step_is_managed(s))
			continue;
		if (!s->held || strcmp(s->held_why, why) != 0)
			hold_step(ch, s, event, why);
		snprintf(s->policy, sizeof(s->policy), "none");
		coreset_zero(&s->coreset);
		s->to_apply = false;
		/* Its tasks are there, and it is where it is to be. */
		if (s->located && s->status == STATUS_PENDING && step_is_launched(s) &&
			now_ns >= s->seen.control_until_ns)
			s->status = STATUS_OBSERVED;
	}
}

void quarantine_let_go(struct choose *ch, bool moves)
{
	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];

		if (!s->held)
			continue;
		s->held = false;
		*s->held_why = '\0';
		s->dirty = true;
		/* A move: no window before it has settled. */
		s->last_move_ns = ipc_now_ns();
		/* decide_finish() places it. */
		if (moves && s->status == STATUS_OBSERVED && s->located)
			s->status = STATUS_PENDING;
	}
}

/* ---- windows ---- */

static void name_bases(uint32_t bases, char *buf, size_t size)
{
	*buf = '\0';
	for (int p = PROVENANCE_NONE + 1; p < PROVENANCE_COUNT; p++)
		if (bases & UINT32_C(1) << p)
			step_note(buf, size, ",", provenance_name((enum provenance)p), true);
}

void quarantine_judge(const struct choose *ch, const struct judged *j, struct judgement *ret)
{
	struct verdict_cfg cfg = {
		.error = 1 - ch->conf->guard.confidence,
		.margin = ch->conf->guard.threshold,
		.min_windows = ch->conf->guard.min_windows,
	};

	verdict_judge(&cfg, j->windows, j->mean, j->m2, ret);
}

struct judged *quarantine_row(struct choose *ch, const char *policy, const char *members, bool make)
{
	struct judged fresh = {.members = members}, *j;

	if (!ch->quarantine)
		return NULL;
	j = find(ch, policy, members);
	if (j || !make)
		return j;
	snprintf(fresh.policy, sizeof(fresh.policy), "%s", policy);
	snprintf(fresh.node_type, sizeof(fresh.node_type), "%s", ch->node->type);
	return add(ch, &fresh);
}

/* The set's own, whoever of it runs; a new one is made where it is not known. */
static struct judged *current(struct choose *ch)
{
	struct quarantine *q = ch->quarantine;
	int which = q->fallback ? 1 : 0;

	refresh(ch);
	if (q->now[which] || !*q->members)
		return q->now[which];
	return quarantine_row(ch, q->policy[which], q->members, true);
}

static void tell_steps(struct choose *ch, enum verdict v)
{
	for (int i = 0; i < ch->jobs->n; i++) {
		struct step *s = ch->jobs->step[i];

		/* That it was quarantined once is what its record is to say. */
		if (!step_is_managed(s) || strcmp(s->guard, "quarantined") == 0)
			continue;
		snprintf(s->guard, sizeof(s->guard), "%s",
			v == VERDICT_UNKNOWN ? "" : verdict_name(v));
		s->dirty = true;
	}
}

bool quarantine_note(struct choose *ch, struct judged *j, double x, const char *basis)
{
	struct quarantine *q = ch->quarantine;
	struct judgement judged;
	struct gain_mean m;

	if (j->last_unix_s < time(NULL) - duration_s(ch))
		forget_windows(j);
	m = (struct gain_mean){.n = j->windows, .mean = j->mean, .m2 = j->m2};
	gain_mean_add(&m, x);
	j->windows = m.n;
	j->mean = m.mean;
	j->m2 = m.m2;
	j->last_unix_s = time(NULL);
	snprintf(j->basis, sizeof(j->basis), "%s", basis);
	q->windows++;
	quarantine_judge(ch, j, &judged);
	log_debug("guard: %s under %s: window %d: %.3f; %s, %.3f (%.3f to %.3f)", j->members,
		j->policy, j->windows, exp(x), verdict_name(judged.verdict), judged.ratio,
		judged.lo, judged.hi);
	if (judged.verdict == VERDICT_WORSE && judged.matters) {
		j->until_unix_s = time(NULL) + duration_s(ch);
		j->times++;
		q->begun++;
	}
	/* Before anything is put back: whoever starts next knows. */
	keep(ch, j);
	q->stale = true;
	return j->until_unix_s != 0;
}

bool quarantine_window(struct choose *ch, const struct quarantine_window *w)
{
	struct quarantine *q = ch->quarantine;
	char basis[sizeof(((struct judged *)0)->basis)];
	struct judgement judged;
	struct judged *j;
	bool quarantined;

	if (!q || !ch->conf->guard.enabled || w->steps == 0)
		return false;
	q->stale = true;
	refresh(ch);
	q->unknown = w->steps - w->known;
	q->of = w->steps;
	if (w->known < w->steps)
		return false;
	j = current(ch);
	if (!j)
		return false;
	name_bases(w->bases, basis, sizeof(basis));
	quarantined = quarantine_note(ch, j, w->sum_log / w->steps, basis);
	quarantine_judge(ch, j, &judged);
	tell_steps(ch, judged.verdict);
	if (quarantined)
		log_warning("guard: policy %s makes %.200s slower than Slurm's placement: %.3f "
			    "(%.3f to %.3f) in %d windows; in quarantine for %g h",
			j->policy, j->members, judged.ratio, judged.lo, judged.hi, j->windows,
			ch->conf->guard.quarantine_h);
	return quarantined;
}

/* ---- what is told ---- */

/* Why no window came, or will come. */
static void say_unknown(struct choose *ch, const struct judgement *j, char *buf, size_t size)
{
	const struct quarantine *q = ch->quarantine;
	int silent = 0, n = 0;

	for (int i = 0; i < ch->jobs->n; i++) {
		const struct step *s = ch->jobs->step[i];

		if (!step_is_managed(s))
			continue;
		n++;
		silent += !s->seen.has_last;
		if (s->nnodes > 1) {
			snprintf(buf, size, "step %s runs on several nodes", s->id);
			return;
		}
	}
	if (q->of) {
		silent = q->unknown;
		n = q->of;
	}
	if (!ch->conf->guard.enabled)
		snprintf(buf, size, "guard.enabled is no");
	else if (ch->conf->baseline_fraction <= 0)
		snprintf(buf, size, "baseline_fraction is 0: no windows");
	else if (strcmp(engine_policy(ch->engine)->name, "none") == 0 || ch->conf->dry_run ||
		 actuate_get_ops(ch->actuate) == &actuate_none)
		snprintf(buf, size, "nothing is moved");
	else if (!*q->members)
		snprintf(buf, size, "too many programs to name");
	else if (silent)
		snprintf(buf, size, "%d of %d steps tell no speed", silent, n);
	else if (j->windows < ch->conf->guard.min_windows)
		snprintf(buf, size, "%d of at least %d windows", j->windows,
			ch->conf->guard.min_windows);
	else
		snprintf(buf, size, "the windows allow both");
}

void quarantine_say(struct choose *ch, struct quarantine_says *ret)
{
	struct quarantine *q = ch->quarantine;

	memset(ret, 0, sizeof(*ret));
	verdict_judge(&(struct verdict_cfg){0}, 0, 0, 0, &ret->judged);
	if (!q)
		return;
	refresh(ch);
	if (ch->conf->guard.enabled) {
		ret->set = holding(ch);
		ret->held = ret->set;
		if (!ret->set)
			ret->set = q->now[q->fallback ? 1 : 0];
	}
	if (ret->set)
		quarantine_judge(ch, ret->set, &ret->judged);
	if (ret->judged.verdict == VERDICT_UNKNOWN)
		say_unknown(ch, &ret->judged, ret->why, sizeof(ret->why));
}

int quarantine_count(const struct choose *ch)
{
	return ch->quarantine ? ch->quarantine->n : 0;
}

const struct judged *quarantine_get(const struct choose *ch, int i)
{
	return ch->quarantine->set[i];
}

int quarantine_forget(struct choose *ch, const uint32_t *id)
{
	int n = 0;

	for (int i = quarantine_count(ch) - 1; i >= 0; i--) {
		if (id && quarantine_id(ch->quarantine->set[i]) != *id)
			continue;
		drop(ch, i);
		n++;
	}
	return n;
}

void quarantine_totals(const struct choose *ch, uint64_t *ret_windows, uint64_t *ret_begun)
{
	*ret_windows = ch->quarantine ? ch->quarantine->windows : 0;
	*ret_begun = ch->quarantine ? ch->quarantine->begun : 0;
}
