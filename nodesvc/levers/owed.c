/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ipc.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

/* A part of a pass; one way back may take longer (a step of many threads), and then the next part
 * waits so many times as long. */
#define PART_NS  INT64_C(2000000)
#define PART_OFF 20

/* Looks of owed_pass(), and the time between them. */
#define LOOKS_MAX 3
#define LOOK_NS   5000000

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
		snprintf(o->first, sizeof(o->first), "%s: %.200s", o->kind_of[kind].name, why);
}

static void try_one(struct levers *lv, enum ledger_kind kind, const char *path, const char *whose)
{
	struct owed *o = &lv->owed;
	struct errbuf err = {""};
	int rc;

	if (o->kind_of[kind].is_held(lv, path))
		return;
	rc = o->kind_of[kind].restore(lv, path, &err);
	if (rc < 0)
		failed(o, kind, err.text);
	o->waiting += rc > 0;
	if (rc == 0)
		log_info("put back %s (%s), left by %s", path, o->kind_of[kind].name, whose);
}

/* The owners of one kind, from where the pass stands; false: out of time. */
static bool try_kind(struct levers *lv, enum ledger_kind kind, int64_t until_ns, const char *whose)
{
	struct owed *o = &lv->owed;
	struct errbuf err = {""};
	char **path = NULL;
	int n = 0, rc = ledger_owners(lv->ledger, kind, &path, &n, &err);
	bool in_time = true;

	if (rc < 0)
		failed(o, kind, err.text);
	for (int i = 0; i < n; i++) {
		if (in_time && strcmp(path[i], o->after) > 0) {
			try_one(lv, kind, path[i], whose);
			snprintf(o->after, sizeof(o->after), "%s", path[i]);
			in_time = i + 1 == n || ipc_now_ns() < until_ns;
		}
		free(path[i]);
	}
	free(path);
	return in_time;
}

/* True: the pass is over. */
static bool go_on(struct levers *lv, int64_t until_ns, const char *whose)
{
	struct owed *o = &lv->owed;

	for (; o->kind < LEDGER_KINDS; o->kind++, o->after[0] = '\0')
		if (!try_kind(lv, (enum ledger_kind)o->kind, until_ns, whose))
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
	struct levers *lv = arg;
	struct owed *o = &lv->owed;
	int64_t start_ns = ipc_now_ns(), spent_ms;

	if (go_on(lv, start_ns + PART_NS, "an earlier change")) {
		o->armed = o->n > 0 || o->noted;
		begin_pass(o);
	}
	if (!o->armed)
		return;
	spent_ms = (ipc_now_ns() - start_ns) * PART_OFF / 1000000;
	loop_set_timer(
		o->timer, spent_ms > lv->conf->tick_ms ? (int)spent_ms : lv->conf->tick_ms, 0);
}

void owed_note(struct levers *lv, const char *why)
{
	struct owed *o = &lv->owed;

	if (why && !*o->why)
		snprintf(o->why, sizeof(o->why), "%.239s", why);
	o->n += !o->n;
	o->noted = true;
	if (o->armed || !lv->loop)
		return;
	if (!o->timer && loop_add_timer(lv->loop, on_timer, lv, &o->timer, NULL) < 0)
		return; /* release tries them, and the next start */
	o->armed = true;
	begin_pass(o);
	loop_set_timer(o->timer, lv->conf->tick_ms, 0);
}

int owed_pass(struct levers *lv, const char *whose, struct errbuf *err)
{
	struct owed *o = &lv->owed;

	/* What is only to be looked at again is so at once: somebody waits for the answer. */
	for (int look = 0; look < LOOKS_MAX; look++) {
		begin_pass(o);
		go_on(lv, INT64_MAX, whose);
		if (!o->waiting)
			break;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	if (o->n)
		owed_note(lv, NULL);
	begin_pass(o);
	return *o->why ? err_set(err, -EIO, "not put back yet, tried again at each tick: %s",
				 o->why)
		       : 0;
}

void owed_close(struct levers *lv)
{
	loop_remove(lv->loop, lv->owed.timer);
	lv->owed.timer = NULL;
	lv->owed.armed = false;
}
