/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/node/node.h"

/* Steps that are asked in one look: what did not run since the last one, some 10 us each. The
 * others have their turn at the next. */
#define LOOKS_MAX 32
/* Threads that stand for all of a step's. */
#define THREADS_ASKED 64
/* Of one that is stopped already, at each look. */
#define THREADS_WATCHED 2
/* A user may stop his own step as often as he likes, and each time others are moved: so often in a
 * minute, twice what Slurm's gang does at its shortest (5 s); then it keeps its cores. */
#define STOPS_MAX 12
#define MINUTE_NS INT64_C(60000000000)

struct suspend {
	struct suspend_uses use;
	struct suspend_events tell;
	struct freezer *freezer; /* to read; NULL there is none */
	struct loop_source *timer;
	int next; /* whom to ask first */
};

static void on_timer(void *arg)
{
	suspend_look(arg, ipc_now_ns());
}

int suspend_open(struct suspend **ret, const struct suspend_uses *uses,
	const struct suspend_events *events, struct errbuf *err)
{
	struct suspend *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return err_set(err, -ENOMEM, "out of memory");
	u->use = *uses;
	u->tell = *events;
	if (freezer_open(&u->freezer, &uses->node->root, uses->ledger, NULL, err) < 0)
		log_debug("suspended steps are known by their processes only: %s", err->text);
	rc = loop_add_timer(uses->loop, on_timer, u, &u->timer, err);
	if (rc < 0) {
		suspend_close(u);
		return rc;
	}
	*ret = u;
	return 0;
}

void suspend_close(struct suspend *u)
{
	if (!u)
		return;
	freezer_close(u->freezer);
	loop_remove(u->use.loop, u->timer);
	free(u);
}

void suspend_look_soon(struct suspend *u)
{
	if (u)
		loop_set_timer_at(u->timer, ipc_now_ns());
}

/* ---- is it stopped? ------------------------------------------------------------------------ */

/* One system call for a step that computes: the process that did so before does so again. */
static bool has_run(struct step *s)
{
	const struct clocks *c = &s->pace.clocks;
	struct stop *p = &s->stop;
	struct timespec ts;
	int64_t before_ns = p->witness_ns, ns;
	clockid_t before = p->witness;

	if (c->n == 0)
		return false;
	p->at %= c->n;
	if (clock_gettime(c->id[p->at], &ts) < 0) {
		p->at++;
		return false;
	}
	ns = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
	p->witness = c->id[p->at];
	p->witness_ns = ns;
	if (before == p->witness && ns != before_ns)
		return true;
	if (before == p->witness)
		p->at++; /* perhaps another does */
	return false;
}

/* Of @l some from @from on, evenly spread: all that are left of them are stopped, or @asleep. */
static bool are_stopped(
	const struct suspend *u, const struct thread_list *l, int from, int most, bool asleep)
{
	int n = l->n < most ? l->n : most, stopped = 0;

	for (int i = 0; i < n; i++) {
		pid_t tid = l->tid[(from + (int64_t)i * l->n / n) % l->n];
		char text[512];
		const char *state = fsroot_task_stat(&u->use.node->root, tid, text, sizeof(text));

		if (!state || *state == 'Z' || *state == 'X' || (asleep && *state == 'S'))
			continue;
		if (*state != 'T')
			return false;
		stopped++;
	}
	return stopped > 0 || asleep;
}

/* A shell whose script is stopped does not run, though the srun that it waits for has its own way
 * with SIGTSTP. */
static bool script_is_stopped(const struct suspend *u, const struct step *s)
{
	const struct fsroot *root = &u->use.node->root;
	char text[512];
	const char *state;

	state = s->n_tasks ? fsroot_task_stat(root, s->task[0].pid, text, sizeof(text)) : NULL;
	return state && *state == 'T';
}

/* The last reading's threads say no for little; who has come since must not be missed. */
static bool is_stopped(const struct suspend *u, struct step *s)
{
	struct stop *p = &s->stop;
	bool changed;

	if (s->batch && !script_is_stopped(u, s))
		return false;
	if (p->kind == STOP_SIGNAL && p->list.n) {
		p->at = (p->at + 1) % p->list.n;
		return are_stopped(u, &p->list, p->at, THREADS_WATCHED, s->batch);
	}
	if (s->pace.list.n && !are_stopped(u, &s->pace.list, 0, THREADS_ASKED, s->batch))
		return false;
	if (thread_list_update(&p->list, u->use.actuate, &s->cgroup, &changed) < 0)
		return false;
	return are_stopped(u, &p->list, 0, THREADS_ASKED, s->batch);
}

static bool find_group(const struct suspend *u, struct step *s)
{
	struct stop *p = &s->stop;
	struct errbuf err;

	if (!u->freezer)
		return false;
	for (int i = 0; !*p->group && i < s->n_tasks; i++)
		if (!s->task[i].ended && freezer_find(u->freezer, s->task[i].pid, &s->cgroup,
						 p->group, sizeof(p->group), &err) < 0)
			break;
	/* Its first tasks may have ended long ago. */
	if (!*p->group && s->pace.list.n)
		freezer_find(u->freezer, s->pace.list.tid[0], &s->cgroup, p->group,
			sizeof(p->group), &err);
	return *p->group;
}

static enum stop_kind look_at(const struct suspend *u, struct step *s)
{
	int frozen = find_group(u, s) ? freezer_state(u->freezer, s->stop.group) : 0;

	if (frozen < 0) /* its end is told by others */
		return s->stop.kind;
	if (frozen)
		return STOP_FROZEN;
	return is_stopped(u, s) ? STOP_SIGNAL : STOP_NONE;
}

static bool may_stop(struct step *s, int64_t now_ns)
{
	struct stop *p = &s->stop;

	if (now_ns - p->window_ns >= MINUTE_NS) {
		p->window_ns = now_ns;
		p->n_in_window = 0;
	}
	if (p->n_in_window < STOPS_MAX) {
		p->n_in_window++;
		return true;
	}
	if (p->n_in_window++ == STOPS_MAX)
		log_info("step %s: stopped more than %d times in a minute, keeps its cores", s->id,
			STOPS_MAX);
	return false;
}

/* Frozen by our own rotation: Slurm's hand would be known by the watch. */
static bool is_ours(const struct step *s)
{
	return s->turn.hold && freezer_is_frozen(s->turn.hold);
}

void suspend_look(struct suspend *u, int64_t now_ns)
{
	static struct step *gone[JOBS_MAX], *back[JOBS_MAX];
	int n_gone = 0, n_back = 0, left = LOOKS_MAX, n = u ? u->use.jobs->n : 0, first;

	if (n == 0)
		return;
	first = u->next % n;
	u->next = 0;
	for (int k = 0; k < n; k++) {
		struct step *s = u->use.jobs->step[(first + k) % n];
		enum stop_kind kind = s->stop.kind;

		s->stop.ns = step_suspended_ns(s, now_ns);
		s->stop.noted_ns = now_ns;
		if (!s->located || s->gone || is_ours(s) || (!kind && has_run(s)))
			continue;
		if (left-- <= 0) {
			u->next = u->next ? u->next : (first + k) % n;
			continue;
		}
		kind = look_at(u, s);
		if (kind && s->status != STATUS_SUSPENDED) {
			if (!may_stop(s, now_ns))
				continue;
			s->stop.kind = kind;
			gone[n_gone++] = s;
		} else if (kind) {
			s->stop.kind = kind;
		} else if (s->status == STATUS_SUSPENDED) {
			back[n_back++] = s;
		}
	}
	if (n_gone || n_back)
		u->tell.on_change(u->tell.arg, gone, n_gone, back, n_back);
}

void suspend_adopt(struct step *s, int64_t saved_unix_ns)
{
	int64_t away_ns = ipc_unix_ns() - saved_unix_ns;

	if (s->stop.carried && away_ns > 0)
		s->stop.ns += away_ns;
	s->stop.carried = false;
}
