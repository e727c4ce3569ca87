/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suspended.c - what becomes of steps that another hand stopped, and of those that go on
 * (steps/suspend.c): to the policy an end, and an arrival.
 */
#include <stdio.h>
#include <string.h>

#include "nodesvc/base/log.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/measure/measure.h"

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
	rotate_end(d->levers, s, false);
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
	jobs_note_partners(d->jobs, s);
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
void suspended_change(struct daemon *d, struct step *const *gone, int n_gone,
	struct step *const *back, int n_back)
{
	corun_settle(d->measure);
	for (int i = 0; i < n_gone; i++)
		take_out(d, gone[i], gone[i]->stop.kind);
	for (int i = 0; i < n_back; i++)
		bring_back(d, back[i]);
	idlepoll_update(d->levers);
	for (int i = 0; i < n_gone; i++)
		if (is_planned(gone[i]))
			decide_run(d->choose, EVENT_END, gone[i]->id, NULL);
	for (int i = 0; i < n_back; i++)
		if (is_planned(back[i]))
			decide_run(d->choose, EVENT_ARRIVAL, back[i]->id, NULL);
	for (int i = 0; i < n_back; i++)
		settle(d, back[i]);
}
