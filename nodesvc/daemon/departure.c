/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * departure.c - tasks end (task_exit), and steps (step_end, or reconcile.c found it so).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/launches.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/launch/learned.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/steps/steps.h"

/* The two clocks differ by this much only if one was set. */
#define CLOCK_SET_NS INT64_C(2000000000)

/* A clock that was set meanwhile is no part of how long the step ran. */
static int64_t end_of(const struct step *s, int64_t end_unix_ns)
{
	int64_t ran_ns = ipc_now_ns() - s->start_mono_ns;
	int64_t set_ns = end_unix_ns - s->start_unix_ns - ran_ns;

	return ran_ns >= 0 && (set_ns > CLOCK_SET_NS || set_ns < -CLOCK_SET_NS)
		       ? s->start_unix_ns + ran_ns
		       : end_unix_ns;
}

/* Who begins on fewer cores than its envelope may get more: the next launch is to know, and what
 * the threads that it began with made of them. */
static void learn_cores(struct daemon *d, const struct step *s)
{
	int64_t now_ns = ipc_now_ns();
	struct learned_run run = {
		.cores = step_mean_cores(s, now_ns),
		.all = !s->narrow,
	};

	if (!s->granted || s->granted >= topo_count_cores(d->node->topo, &s->envelope))
		return;
	if (step_final_state(s) != STEP_COMPLETED) {
		if (s->takes_all)
			learned_note_lost(linkage_learned(d->linkage), s->uid, s->program_key);
		return;
	}
	if (s->counts_granted && s->seen.launch && strcmp(s->seen.launch, "lever") == 0)
		run.took_s = fmax(step_fair_s(s, now_ns), s->seen.waits.sum.s[WAIT_RAN]);
	learned_note_run(linkage_learned(d->linkage), s->uid, s->program_key, &run);
}

void departure_end(struct daemon *d, struct step *s, int64_t end_unix_ns)
{
	bool managed = step_is_managed(s);
	char id[JOB_ID_MAX];

	corun_end(d->measure, s);
	levers_end(d->levers, s);
	trial_abort(d->choose);
	end_unix_ns = end_of(s, end_unix_ns);
	launches_end(d->choose, s, end_unix_ns);
	learn_cores(d, s);
	account_end(d->books, s, step_final_state(s), end_unix_ns);
	reading_close(d->measure, s);
	snprintf(id, sizeof(id), "%s", s->id);
	books_step_ended(d->books, s);
	if (step_final_state(s) == STEP_COMPLETED)
		decide_note_done(d->choose, s);
	jobs_remove(d->jobs, s);
	idlepoll_update(d->levers);
	if (managed)
		decide_run(d->choose, EVENT_END, id, NULL);
}

void departure_task(struct daemon *d, const struct msg *m)
{
	struct errbuf err;
	struct step_key key = {0};
	int64_t lid, status;
	struct step *s;
	struct task *t;

	if (registration_key(m, &key, &err) < 0 ||
		msg_get_int(m, "task", 0, UINT32_MAX, &lid, &err) < 0)
		return;
	s = registration_step(d->jobs, &key);
	t = s ? step_find_task(s, (uint32_t)lid) : NULL;
	if (!t || t->ended)
		return;
	t->ended = true;
	s->n_alive--;
	if (msg_get_int(m, "status", 0, INT32_MAX, &status, &err) == 0) {
		t->status = (int)status;
		if (t->status > s->exit_status)
			s->exit_status = t->status;
	}
	rotate_task_exited(d->levers, s);
}

void departure_step(struct daemon *d, const struct msg *m)
{
	struct errbuf err;
	struct step_key key = {0};
	struct step *s;

	if (registration_key(m, &key, &err) < 0)
		return;
	s = registration_step(d->jobs, &key);
	if (s)
		departure_end(d, s, ipc_unix_ns());
}
