/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/levers/owed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ipc.h"
#include "nodesvc/actuate/idle.h"
#include "nodesvc/actuate/mems.h"
#include "nodesvc/actuate/wakeup.h"
#include "nodesvc/base/health.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/memory.h"
#include "nodesvc/log.h"

/* A part of a pass; one way back may take longer (a step of many threads), and then the next part
 * waits so many times as long. */
#define PART_NS  INT64_C(2000000)
#define PART_OFF 20

/* Looks of owed_pass(), and the time between them. */
#define LOOKS_MAX 3
#define LOOK_NS   5000000

struct kind {
	const char *name;
	/* Is the row of @path in use? Then it is none of ours. */
	bool (*is_held)(const struct daemon *d, const char *path);
	/* 0 back or gone, and forgotten; 1 to be looked at again; <0. */
	int (*restore)(struct daemon *d, const char *path, struct errbuf *err);
};

/* ---- whose a row is ------------------------------------------------------------------------ */

static bool is_at_or_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return n && strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

/* The step's own directory, what a container runtime made below, and a job that was widened. */
static bool is_of(const struct step *s, const char *path)
{
	return s->located &&
	       (is_at_or_below(path, s->cgroup.step_path) || strcmp(path, s->cgroup.job_path) == 0);
}

static bool holds_cpuset(const struct daemon *d, const char *path)
{
	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];

		/* Or it is on its way back, aside (putback.h). */
		if ((status_is_managed(step_standing(s)) || s->back) && is_of(s, path))
			return true;
	}
	return false;
}

static bool holds_priority(const struct daemon *d, const char *path)
{
	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];

		if (is_of(s, path) && (!coreset_is_empty(&s->lent) ||
					      !coreset_is_empty(&s->prio.low) || s->prio.n))
			return true;
	}
	return false;
}

static bool holds_ways(const struct daemon *d, const char *path)
{
	(void)path;
	return d->ways.n > 0;
}

static bool holds_polling(const struct daemon *d, const char *path)
{
	(void)path;
	return d->idlepoll.on;
}

/* ---- the ways back ------------------------------------------------------------------------- */

static int restore_cpuset(struct daemon *d, const char *path, struct errbuf *err)
{
	/* The path alone: the ledger has the inode. */
	struct step_cgroup s = {.step_path = ""};

	snprintf(s.step_path, sizeof(s.step_path), "%s", path);
	return actuate_get_ops(d->actuate)->restore(d->actuate, &s, err);
}

static int restore_priority(struct daemon *d, const char *path, struct errbuf *err)
{
	return idle_restore_path(d->actuate, path, err);
}

static int restore_mems(struct daemon *d, const char *path, struct errbuf *err)
{
	return mems_restore_path(d->actuate, path, err);
}

static int restore_polling(struct daemon *d, const char *path, struct errbuf *err)
{
	int rc = wakeup_restore(&d->node.root, d->ledger, err);

	(void)path;
	return rc < 0 ? rc : 0;
}

static const struct kind KINDS[] = {
	[LEDGER_CPUSET] = {"CPUs", holds_cpuset, restore_cpuset},
	[LEDGER_CPU_IDLE] = {"cpu.idle", holds_priority, restore_priority},
	[LEDGER_SCHED] = {"threads' priorities", holds_priority, restore_priority},
	[LEDGER_AUTOGROUP] = {"sessions' priorities", holds_priority, restore_priority},
	[LEDGER_MEMS] = {"memory nodes", memory_holds, restore_mems},
	[LEDGER_FREEZER] = {"freezer", rotate_holds, rotate_restore_path},
	[LEDGER_RESCTRL] = {"cache ways", holds_ways, ways_restore_path},
	[LEDGER_HALTPOLL] = {"idle CPUs", holds_polling, restore_polling},
};
_Static_assert(sizeof(KINDS) / sizeof(KINDS[0]) == LEDGER_KINDS, "every kind has a way back");

const char *owed_kind_name(enum ledger_kind kind)
{
	return KINDS[kind].name;
}

/* ---- passes -------------------------------------------------------------------------------- */

static void begin_pass(struct owed *o)
{
	o->kind = 0;
	o->after[0] = o->first[0] = '\0';
	o->failed = o->waiting = 0;
	o->noted = false;
}

static void failed(struct owed *o, enum ledger_kind kind, const char *why)
{
	if (!o->failed++)
		snprintf(o->first, sizeof(o->first), "%s: %.200s", KINDS[kind].name, why);
}

static void try_one(struct daemon *d, enum ledger_kind kind, const char *path, const char *whose)
{
	struct owed *o = &d->owed;
	struct errbuf err = {""};
	int rc;

	if (KINDS[kind].is_held(d, path))
		return;
	rc = KINDS[kind].restore(d, path, &err);
	if (rc < 0)
		failed(o, kind, err.text);
	o->waiting += rc > 0;
	if (rc == 0)
		log_info("put back %s (%s), left by %s", path, KINDS[kind].name, whose);
}

/* The owners of one kind, from where the pass stands; false: out of time. */
static bool try_kind(struct daemon *d, enum ledger_kind kind, int64_t until_ns, const char *whose)
{
	struct owed *o = &d->owed;
	struct errbuf err = {""};
	char **path = NULL;
	int n = 0, rc = ledger_owners(d->ledger, kind, &path, &n, &err);
	bool in_time = true;

	if (rc < 0)
		failed(o, kind, err.text);
	for (int i = 0; i < n; i++) {
		if (in_time && strcmp(path[i], o->after) > 0) {
			try_one(d, kind, path[i], whose);
			snprintf(o->after, sizeof(o->after), "%s", path[i]);
			in_time = i + 1 == n || ipc_now_ns() < until_ns;
		}
		free(path[i]);
	}
	free(path);
	return in_time;
}

/* True: the pass is over. */
static bool go_on(struct daemon *d, int64_t until_ns, const char *whose)
{
	struct owed *o = &d->owed;

	for (; o->kind < LEDGER_KINDS; o->kind++, o->after[0] = '\0')
		if (!try_kind(d, (enum ledger_kind)o->kind, until_ns, whose))
			return false;
	if (o->failed && strcmp(o->why, o->first) != 0) {
		log_error("%d ways back failed, to be tried again: %s", o->failed, o->first);
		health_error("not put back: %.230s", o->first);
	} else if (o->n && !o->failed && *o->why) {
		log_info("all that was owed is back");
	}
	o->n = o->failed + o->waiting;
	snprintf(o->why, sizeof(o->why), "%s", o->first);
	return true;
}

static void on_timer(void *arg)
{
	struct daemon *d = arg;
	struct owed *o = &d->owed;
	int64_t start_ns = ipc_now_ns(), spent_ms;

	if (go_on(d, start_ns + PART_NS, "an earlier change")) {
		o->armed = o->n > 0 || o->noted;
		begin_pass(o);
	}
	if (!o->armed)
		return;
	spent_ms = (ipc_now_ns() - start_ns) * PART_OFF / 1000000;
	loop_set_timer(o->timer, spent_ms > d->conf.tick_ms ? (int)spent_ms : d->conf.tick_ms, 0);
}

void owed_note(struct daemon *d, const char *why)
{
	struct owed *o = &d->owed;

	if (why && !*o->why)
		snprintf(o->why, sizeof(o->why), "%.239s", why);
	o->n += !o->n;
	o->noted = true;
	if (o->armed || !d->loop)
		return;
	if (!o->timer && loop_add_timer(d->loop, on_timer, d, &o->timer, NULL) < 0)
		return; /* release tries them, and the next start */
	o->armed = true;
	begin_pass(o);
	loop_set_timer(o->timer, d->conf.tick_ms, 0);
}

int owed_pass(struct daemon *d, const char *whose, struct errbuf *err)
{
	struct owed *o = &d->owed;

	/* What is only to be looked at again is so at once: somebody waits for the answer. */
	for (int look = 0; look < LOOKS_MAX; look++) {
		begin_pass(o);
		go_on(d, INT64_MAX, whose);
		if (!o->waiting)
			break;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	if (o->n)
		owed_note(d, NULL);
	begin_pass(o);
	return *o->why ? err_set(err, -EIO, "not put back yet, tried again at each tick: %s",
				 o->why)
		       : 0;
}

void owed_close(struct daemon *d)
{
	if (d->owed.timer)
		loop_remove(d->loop, d->owed.timer);
	d->owed.timer = NULL;
	d->owed.armed = false;
}
