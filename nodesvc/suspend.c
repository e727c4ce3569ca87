/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/suspend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"

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
	struct freezer *freezer; /* to read; NULL there is none */
	struct loop_source *timer;
	int next; /* whom to ask first */
};

static void on_timer(void *arg)
{
	suspend_look(arg, ipc_now_ns());
}

void suspend_open(struct daemon *d)
{
	struct suspend *u = calloc(1, sizeof(*u));
	struct errbuf err = {""};

	if (!u)
		return;
	if (freezer_open(&u->freezer, &d->node.root, d->ledger, NULL, &err) < 0)
		log_debug("suspended steps are known by their processes only: %s", err.text);
	if (loop_add_timer(d->loop, on_timer, d, &u->timer, &err) < 0)
		log_warning("suspend: %s", err.text);
	d->suspend = u;
}

void suspend_close(struct daemon *d)
{
	if (!d->suspend)
		return;
	freezer_close(d->suspend->freezer);
	if (d->suspend->timer)
		loop_remove(d->loop, d->suspend->timer);
	free(d->suspend);
	d->suspend = NULL;
}

void suspend_look_soon(struct daemon *d)
{
	if (d->suspend && d->suspend->timer)
		loop_set_timer_at(d->suspend->timer, ipc_now_ns());
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

/* True, *ret: the thread's state. */
static bool state_of(const struct daemon *d, pid_t tid, char *ret)
{
	char path[64], text[512];
	const char *p;

	/* Not /proc/TID/stat: that one sums up all threads of the process at each read. */
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (fsroot_read_once(&d->node.root, path, text, sizeof(text)) <= 0)
		return false;
	p = strrchr(text, ')');
	if (!p || p[1] != ' ')
		return false;
	*ret = p[2];
	return true;
}

/* Of @l some from @from on, evenly spread: all that are left of them are stopped, or @asleep. */
static bool are_stopped(
	const struct daemon *d, const struct thread_list *l, int from, int most, bool asleep)
{
	int n = l->n < most ? l->n : most, stopped = 0;

	for (int i = 0; i < n; i++) {
		char state;

		if (!state_of(d, l->tid[(from + (int64_t)i * l->n / n) % l->n], &state) ||
			state == 'Z' || state == 'X' || (asleep && state == 'S'))
			continue;
		if (state != 'T')
			return false;
		stopped++;
	}
	return stopped > 0 || asleep;
}

/* A shell whose script is stopped does not run, though the srun that it waits for has its own way
 * with SIGTSTP. */
static bool script_is_stopped(const struct daemon *d, const struct step *s)
{
	char state;

	return s->n_tasks && state_of(d, s->task[0].pid, &state) && state == 'T';
}

/* The last reading's threads say no for little; who has come since must not be missed. */
static bool is_stopped(struct daemon *d, struct step *s)
{
	struct stop *p = &s->stop;
	bool changed;

	if (s->batch && !script_is_stopped(d, s))
		return false;
	if (p->kind == STOP_SIGNAL && p->list.n) {
		p->at = (p->at + 1) % p->list.n;
		return are_stopped(d, &p->list, p->at, THREADS_WATCHED, s->batch);
	}
	if (s->pace.list.n && !are_stopped(d, &s->pace.list, 0, THREADS_ASKED, s->batch))
		return false;
	if (thread_list_update(&p->list, d->actuate, &s->cgroup, &changed) < 0)
		return false;
	return are_stopped(d, &p->list, 0, THREADS_ASKED, s->batch);
}

static bool find_group(struct daemon *d, struct step *s)
{
	struct stop *p = &s->stop;
	struct errbuf err;

	if (!d->suspend->freezer)
		return false;
	for (int i = 0; !*p->group && i < s->n_tasks; i++)
		if (!s->task[i].ended && freezer_find(d->suspend->freezer, s->task[i].pid,
						 &s->cgroup, p->group, sizeof(p->group), &err) < 0)
			break;
	/* Its first tasks may have ended long ago. */
	if (!*p->group && s->pace.list.n)
		freezer_find(d->suspend->freezer, s->pace.list.tid[0], &s->cgroup, p->group,
			sizeof(p->group), &err);
	return *p->group;
}

static enum stop_kind look_at(struct daemon *d, struct step *s)
{
	int frozen = find_group(d, s) ? freezer_state(d->suspend->freezer, s->stop.group) : 0;

	if (frozen < 0) /* its end is told by others */
		return s->stop.kind;
	if (frozen)
		return STOP_FROZEN;
	return is_stopped(d, s) ? STOP_SIGNAL : STOP_NONE;
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

/* ---- what becomes of it -------------------------------------------------------------------- */

static void note_decision(struct step *s, const char *event, const char *why)
{
	struct decision *dec = step_new_decision(s);

	dec->event = event;
	snprintf(dec->policy, sizeof(dec->policy), "%s", s->policy);
	dec->from = dec->to = s->coreset;
	snprintf(dec->why, sizeof(dec->why), "%s", why);
	s->dirty = true;
}

static void take_out(struct daemon *d, struct step *s, enum stop_kind kind)
{
	/* Where the plan has it, before it stands aside. */
	trial_abort(d->choose);
	levers_out_of_turns(d->levers, s);
	s->status_before = s->status;
	s->status = STATUS_SUSPENDED;
	s->phase_changed = false;
	s->stop.kind = kind;
	reading_pause(d->measure, s);
	s->stop.carried = true;
	log_info("step %s: %s", s->id, step_suspended_why(s));
	note_decision(s, "suspend", step_suspended_why(s));
}

static void bring_back(struct daemon *d, struct step *s)
{
	char why[sizeof(s->reason)];
	struct errbuf err;

	s->stop.kind = STOP_NONE;
	s->stop.carried = false;
	/* The set it joins may have another policy than the one it left. */
	if (status_is_managed(s->status_before)) {
		if (ruling_admit(d->choose, s->req_policy, s->id, why, sizeof(why), &err) < 0) {
			log_info("step %s: %s", s->id, err.text);
			levers_restore(d->levers, s, STATUS_EXCLUDED, err.text);
			s->status_before = STATUS_EXCLUDED;
		} else if (*why || strncmp(s->reason, "asked for ", 10) == 0) {
			snprintf(s->reason, sizeof(s->reason), "%s", why);
		}
	}
	s->status = s->status_before;
	/* Not placed for a reason of then: the plan to come says. */
	if (s->status == STATUS_OBSERVED && !s->held)
		s->status = STATUS_PENDING;
	reading_disturb(s);
	s->pace.verified_ns = 1; /* long ago: what was written meanwhile was not looked at */
	lifecycle_note_partners(d, s);
	log_info("step %s: goes on after %.1f s", s->id, (double)s->stop.ns / 1e9);
	note_decision(s, "resume", "goes on");
}

/* As placed as a step that has just been launched. */
static void settle(struct daemon *d, struct step *s)
{
	struct choose_state state;
	struct errbuf err;

	choose_get_state(d->choose, &state);
	if (s->status == STATUS_PENDING && step_is_launched(s))
		decide_place(d->choose, s, &err);
	else if (s->status == STATUS_PLACED && strcmp(state.decided_by, "none") == 0)
		levers_restore(d->levers, s, STATUS_OBSERVED, NULL);
}

/* The plan has it among its jobs. */
static bool is_planned(const struct step *s)
{
	enum step_status standing = step_standing(s);

	return status_is_managed(standing) || standing == STATUS_EXCLUDED;
}

/* First all who changed, then what it means: no plan in between is for a half of them. */
static void change(struct daemon *d, struct step **gone, int n_gone, struct step **back, int n_back)
{
	for (int i = 0; i < n_gone; i++)
		take_out(d, gone[i], gone[i]->stop.kind);
	for (int i = 0; i < n_back; i++)
		bring_back(d, back[i]);
	levers_look_at_idle(d->levers);
	for (int i = 0; i < n_gone; i++)
		if (is_planned(gone[i]))
			decide_run(d->choose, EVENT_END, gone[i]->id, NULL);
	for (int i = 0; i < n_back; i++)
		if (is_planned(back[i]))
			decide_run(d->choose, EVENT_ARRIVAL, back[i]->id, NULL);
	for (int i = 0; i < n_back; i++)
		settle(d, back[i]);
}

/* Frozen by our own rotation: Slurm's hand would be known by the watch. */
static bool is_ours(const struct step *s)
{
	return s->turn.hold && freezer_is_frozen(s->turn.hold);
}

void suspend_look(struct daemon *d, int64_t now_ns)
{
	static struct step *gone[JOBS_MAX], *back[JOBS_MAX];
	struct suspend *u = d->suspend;
	int n_gone = 0, n_back = 0, left = LOOKS_MAX, n = d->jobs.n, first;

	if (!u || n == 0)
		return;
	first = u->next % n;
	u->next = 0;
	for (int k = 0; k < n; k++) {
		struct step *s = d->jobs.step[(first + k) % n];
		enum stop_kind kind = s->stop.kind;

		s->stop.ns = step_suspended_ns(s, now_ns);
		s->stop.noted_ns = now_ns;
		if (!s->located || s->gone || is_ours(s) || (!kind && has_run(s)))
			continue;
		if (left-- <= 0) {
			u->next = u->next ? u->next : (first + k) % n;
			continue;
		}
		kind = look_at(d, s);
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
		change(d, gone, n_gone, back, n_back);
}

void suspend_adopt(struct step *s, int64_t saved_unix_ns)
{
	int64_t away_ns = ipc_unix_ns() - saved_unix_ns;

	if (s->stop.carried && away_ns > 0)
		s->stop.ns += away_ns;
	s->stop.carried = false;
}
