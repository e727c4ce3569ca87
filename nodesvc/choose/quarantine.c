/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/choose/quarantine.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ipc.h"
#include "nodesvc/base/health.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"

struct quarantine {
	struct judged *set[QUARANTINE_SETS_MAX]; /* oldest window first, as far as it matters */
	int n;

	/* Of the steps that run now, while not stale */
	bool stale;
	int n_members;
	char members[QUARANTINE_MEMBERS_MAX];                 /* "": none, or not to be named */
	char policy[2][sizeof(((struct judged *)0)->policy)]; /* ruling, fallback */
	struct judged *now[2];

	bool fallback;   /* whose plan is in force */
	int unknown, of; /* steps without a speed in the last window, and all; of 0: none yet */
	bool unwritten;  /* the store did not take the last change: said once */
	uint64_t windows, begun;
};

static int64_t duration_s(const struct daemon *d)
{
	return (int64_t)fmax(1, d->conf.guard.quarantine_h * 3600);
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

static void name_member(const struct daemon *d, const struct step *s, char *buf, size_t size)
{
	size_t len = put_word(buf, size - 60, s->type);

	buf[len++] = '@';
	len += put_word(buf + len, size - len - 16, s->user);
	snprintf(buf + len, size - len, ":%d", topo_count_cores(d->node.topo, &s->envelope));
}

static int compare_members(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "a@ada:2 + 2*b@bob:4"; "" where there is nobody, or too much to say. */
static void name_set(const struct daemon *d, char *buf, size_t size)
{
	char(*member)[MEMBER_MAX] = calloc((size_t)d->jobs.n + 1, sizeof(*member));
	size_t len = 0;
	int n = 0, equal = 1;

	*buf = '\0';
	for (int i = 0; member && i < d->jobs.n; i++)
		if (step_is_managed(d->jobs.step[i]))
			name_member(d, d->jobs.step[i], member[n++], MEMBER_MAX);
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
static void name_policy(struct daemon *d, const char *spec, char *buf, size_t size)
{
	struct policy_option option[CONF_LIST_MAX + 1];
	int n = decide_options(d, spec, option, CONF_LIST_MAX + 1);
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

static struct judged *find(struct daemon *d, const char *policy, const char *members)
{
	struct quarantine *q = d->quarantine;

	for (int i = 0; i < q->n; i++)
		if (strcmp(q->set[i]->members, members) == 0 &&
			strcmp(q->set[i]->policy, policy) == 0 &&
			strcmp(q->set[i]->node_type, d->node.type) == 0)
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

static void drop(struct daemon *d, int i)
{
	struct quarantine *q = d->quarantine;
	struct errbuf err;

	if (record_judged_rm(d->record, q->set[i], &err) < 0)
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

/* Room for another: of those that are not quarantined, else of all, the one measured longest ago.
 */
static void make_room(struct daemon *d)
{
	struct quarantine *q = d->quarantine;
	int oldest = -1;

	if (q->n < QUARANTINE_SETS_MAX)
		return;
	for (int pass = 0; pass < 2 && oldest < 0; pass++)
		for (int i = 0; i < q->n; i++)
			if ((pass == 1 || !quarantine_is_active(q->set[i])) &&
				(oldest < 0 ||
					q->set[i]->last_unix_s < q->set[oldest]->last_unix_s))
				oldest = i;
	drop(d, oldest);
}

static struct judged *add(struct daemon *d, const struct judged *j)
{
	struct quarantine *q = d->quarantine;
	struct judged *copy;

	make_room(d);
	copy = copy_judged(j);
	if (copy)
		q->set[q->n++] = copy;
	q->stale = true;
	return copy;
}

/* What is not written is known to this daemon only. */
static void keep(struct daemon *d, const struct judged *j)
{
	struct errbuf err;
	bool failed = record_judged_put(d->record, j, &err) < 0;

	if (failed) {
		health_error("guard: %.200s", err.text);
		if (!d->quarantine->unwritten)
			log_warning("guard: a restart would not know: %s", err.text);
	}
	d->quarantine->unwritten = failed;
}

static void forget_windows(struct judged *j)
{
	j->windows = 0;
	j->mean = j->m2 = 0;
	j->until_unix_s = 0;
	*j->basis = '\0';
}

static int load(const struct judged *j, void *daemon)
{
	struct daemon *d = daemon;

	return d->quarantine->n == QUARANTINE_SETS_MAX || add(d, j) ? 0 : -ENOMEM;
}

int quarantine_open(struct daemon *d, struct errbuf *err)
{
	int active = 0, rc;

	d->quarantine = calloc(1, sizeof(*d->quarantine));
	if (!d->quarantine)
		return err_set(err, -ENOMEM, "out of memory");
	d->quarantine->stale = true;
	rc = record_judged_list(d->record, load, d, err);
	if (rc < 0)
		return rc;
	for (int i = d->quarantine->n - 1; i >= 0; i--) {
		const struct judged *j = d->quarantine->set[i];

		active += quarantine_is_active(j);
		if (!quarantine_is_active(j) && j->last_unix_s < time(NULL) - duration_s(d))
			drop(d, i);
	}
	if (active)
		log_info("guard: %d sets of programs are in quarantine (colocctl quarantine list)",
			active);
	return 0;
}

void quarantine_close(struct daemon *d)
{
	if (!d->quarantine)
		return;
	for (int i = 0; i < d->quarantine->n; i++)
		free(d->quarantine->set[i]);
	free(d->quarantine);
	d->quarantine = NULL;
}

void quarantine_stale(struct daemon *d)
{
	if (d->quarantine)
		d->quarantine->stale = true;
}

static void refresh(struct daemon *d)
{
	struct quarantine *q = d->quarantine;
	int n = jobs_count_managed(&d->jobs);
	char before[sizeof(q->members)];

	if (!q->stale && n == q->n_members)
		return;
	memcpy(before, q->members, sizeof(before));
	name_set(d, q->members, sizeof(q->members));
	if (strcmp(before, q->members) != 0)
		q->of = 0;
	name_policy(d, d->ruling, q->policy[0], sizeof(q->policy[0]));
	name_policy(d, d->conf.fallback, q->policy[1], sizeof(q->policy[1]));
	for (int i = 0; i < 2; i++)
		q->now[i] = *q->members ? find(d, q->policy[i], q->members) : NULL;
	q->n_members = n;
	q->stale = false;
}

/* ---- deciding ---- */

/* A quarantine that has just passed is over, and what led to it does not count any more. */
static bool keeps_away(struct daemon *d, struct judged *j)
{
	int64_t longest_s = time(NULL) + duration_s(d);

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
	keep(d, j);
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

bool quarantine_holds(struct daemon *d, bool fallback)
{
	struct quarantine *q = d->quarantine;

	if (!q)
		return false;
	q->fallback = fallback;
	if (!d->conf.guard.enabled || !any_quarantined(q))
		return false;
	refresh(d);
	return keeps_away(d, q->now[0]) || (fallback && keeps_away(d, q->now[1]));
}

/* The one whose quarantine is in force: the fallback's only where it decides. */
static const struct judged *holding(const struct daemon *d)
{
	const struct quarantine *q = d->quarantine;

	for (int i = 0; i < (q->fallback ? 2 : 1); i++)
		if (q->now[i] && quarantine_is_active(q->now[i]))
			return q->now[i];
	return NULL;
}

static void say_why(const struct daemon *d, char *buf, size_t size)
{
	const struct judged *j = holding(d);
	struct judgement judged;
	char until[32];
	time_t t = j ? (time_t)j->until_unix_s : 0;
	struct tm tm;

	if (!j) {
		*buf = '\0';
		return;
	}
	quarantine_judge(d, j, &judged);
	if (!localtime_r(&t, &tm) || strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		*until = '\0';
	snprintf(buf, size,
		"guard: %.20s made these programs %.3g (%.3g to %.3g) as fast as Slurm's "
		"placement; in quarantine until %.19s",
		j->policy, judged.ratio, judged.lo, judged.hi, until);
}

static void hold_step(struct daemon *d, struct step *s, const char *event, const char *why)
{
	char reason[sizeof(s->reason)];
	struct coreset from = s->coreset;
	struct decision *dec;

	memcpy(reason, s->reason, sizeof(reason));
	if (s->status == STATUS_PLACED) {
		levers_restore(d->levers, s, STATUS_OBSERVED, why);
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

void quarantine_hold(struct daemon *d, const char *event)
{
	char why[PLAN_WHY_MAX];
	int64_t now_ns = ipc_now_ns();

	say_why(d, why, sizeof(why));
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		if (!step_is_managed(s))
			continue;
		if (!s->held || strcmp(s->held_why, why) != 0)
			hold_step(d, s, event, why);
		snprintf(s->policy, sizeof(s->policy), "none");
		coreset_zero(&s->coreset);
		s->to_apply = false;
		/* Its tasks are there, and it is where it is to be. */
		if (s->located && s->status == STATUS_PENDING && step_is_launched(s) &&
			now_ns >= s->track.control_until_ns)
			s->status = STATUS_OBSERVED;
	}
}

void quarantine_let_go(struct daemon *d, bool moves)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

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
	for (int p = PROVENANCE_NONE + 1; p <= PROVENANCE_OS; p++)
		if (bases & UINT32_C(1) << p)
			step_note(buf, size, ",", provenance_name((enum provenance)p), true);
}

void quarantine_judge(const struct daemon *d, const struct judged *j, struct judgement *ret)
{
	struct verdict_cfg cfg = {
		.error = 1 - d->conf.guard.confidence,
		.margin = d->conf.guard.threshold,
		.min_windows = d->conf.guard.min_windows,
	};

	verdict_judge(&cfg, j->windows, j->mean, j->m2, ret);
}

/* The set's own, whoever of it runs; a new one is made where it is not known. */
static struct judged *current(struct daemon *d)
{
	struct quarantine *q = d->quarantine;
	int which = q->fallback ? 1 : 0;
	struct judged fresh = {.members = q->members};

	refresh(d);
	if (q->now[which] || !*q->members)
		return q->now[which];
	memcpy(fresh.policy, q->policy[which], sizeof(fresh.policy));
	snprintf(fresh.node_type, sizeof(fresh.node_type), "%s", d->node.type);
	return add(d, &fresh);
}

static void tell_steps(struct daemon *d, enum verdict v)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *s = d->jobs.step[i];

		/* That it was quarantined once is what its record is to say. */
		if (!step_is_managed(s) || strcmp(s->guard, "quarantined") == 0)
			continue;
		snprintf(s->guard, sizeof(s->guard), "%s",
			v == VERDICT_UNKNOWN ? "" : verdict_name(v));
		s->dirty = true;
	}
}

bool quarantine_window(struct daemon *d, const struct quarantine_window *w)
{
	struct quarantine *q = d->quarantine;
	struct judgement judged;
	struct judged *j;
	struct gain_mean m;

	if (!q || !d->conf.guard.enabled || w->steps == 0)
		return false;
	q->stale = true;
	refresh(d);
	q->unknown = w->steps - w->known;
	q->of = w->steps;
	if (w->known < w->steps)
		return false;
	j = current(d);
	if (!j)
		return false;
	if (j->last_unix_s < time(NULL) - duration_s(d))
		forget_windows(j);
	m = (struct gain_mean){.n = j->windows, .mean = j->mean, .m2 = j->m2};
	gain_mean_add(&m, w->sum_log / w->steps);
	j->windows = m.n;
	j->mean = m.mean;
	j->m2 = m.m2;
	j->last_unix_s = time(NULL);
	name_bases(w->bases, j->basis, sizeof(j->basis));
	q->windows++;
	quarantine_judge(d, j, &judged);
	tell_steps(d, judged.verdict);
	log_debug("guard: %s under %s: window %d: %.3f; %s, %.3f (%.3f to %.3f)", j->members,
		j->policy, j->windows, exp(w->sum_log / w->steps), verdict_name(judged.verdict),
		judged.ratio, judged.lo, judged.hi);
	if (judged.verdict == VERDICT_WORSE && judged.matters) {
		j->until_unix_s = time(NULL) + duration_s(d);
		j->times++;
		q->begun++;
		log_warning("guard: policy %s makes %.200s slower than Slurm's placement: %.3f "
			    "(%.3f to %.3f) in %d windows; in quarantine for %g h",
			j->policy, j->members, judged.ratio, judged.lo, judged.hi, j->windows,
			d->conf.guard.quarantine_h);
	}
	/* Before anything is put back: whoever starts next knows. */
	keep(d, j);
	q->stale = true;
	return j->until_unix_s != 0;
}

/* ---- what is told ---- */

/* Why no window came, or will come. */
static void say_unknown(struct daemon *d, const struct judgement *j, char *buf, size_t size)
{
	const struct quarantine *q = d->quarantine;
	int silent = 0, n = 0;

	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];

		if (!step_is_managed(s))
			continue;
		n++;
		silent += !s->track.has_last;
		if (s->nnodes > 1) {
			snprintf(buf, size, "step %s runs on several nodes", s->id);
			return;
		}
	}
	if (q->of) {
		silent = q->unknown;
		n = q->of;
	}
	if (!d->conf.guard.enabled)
		snprintf(buf, size, "guard.enabled is no");
	else if (d->conf.baseline_fraction <= 0)
		snprintf(buf, size, "baseline_fraction is 0: no windows");
	else if (strcmp(engine_policy(d->engine)->name, "none") == 0 || d->conf.dry_run ||
		 actuate_get_ops(d->actuate) == &actuate_none)
		snprintf(buf, size, "nothing is moved");
	else if (!*q->members)
		snprintf(buf, size, "too many programs to name");
	else if (silent)
		snprintf(buf, size, "%d of %d steps tell no speed", silent, n);
	else if (j->windows < d->conf.guard.min_windows)
		snprintf(buf, size, "%d of at least %d windows", j->windows,
			d->conf.guard.min_windows);
	else
		snprintf(buf, size, "the windows allow both");
}

void quarantine_say(struct daemon *d, struct quarantine_says *ret)
{
	struct quarantine *q = d->quarantine;

	memset(ret, 0, sizeof(*ret));
	verdict_judge(&(struct verdict_cfg){0}, 0, 0, 0, &ret->judged);
	if (!q)
		return;
	refresh(d);
	if (d->conf.guard.enabled) {
		ret->set = holding(d);
		ret->held = ret->set;
		if (!ret->set)
			ret->set = q->now[q->fallback ? 1 : 0];
	}
	if (ret->set)
		quarantine_judge(d, ret->set, &ret->judged);
	if (ret->judged.verdict == VERDICT_UNKNOWN)
		say_unknown(d, &ret->judged, ret->why, sizeof(ret->why));
}

int quarantine_count(const struct daemon *d)
{
	return d->quarantine ? d->quarantine->n : 0;
}

const struct judged *quarantine_get(const struct daemon *d, int i)
{
	return d->quarantine->set[i];
}

int quarantine_forget(struct daemon *d, const uint32_t *id)
{
	int n = 0;

	for (int i = quarantine_count(d) - 1; i >= 0; i--) {
		if (id && quarantine_id(d->quarantine->set[i]) != *id)
			continue;
		drop(d, i);
		n++;
	}
	return n;
}

void quarantine_totals(const struct daemon *d, uint64_t *ret_windows, uint64_t *ret_begun)
{
	*ret_windows = d->quarantine ? d->quarantine->windows : 0;
	*ret_begun = d->quarantine ? d->quarantine->begun : 0;
}
