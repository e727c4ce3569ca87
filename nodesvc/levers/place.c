/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.c - one step's part of a plan made true, or undone, and how often it may move.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/measure/measure.h"
#include "nodesvc/levers/place.h"
#include "common/ipc.h"
#include "nodesvc/base/health.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/memory.h"
#include "nodesvc/log.h"

static void note_coreset(struct step *s)
{
	char text[CORESET_STR_MAX];

	step_note(s->history, sizeof(s->history), ";",
		coreset_format(&s->coreset, text, sizeof(text)), true);
	history_note(s, &s->coreset, s->why);
}

int place_apply(struct daemon *d, struct step *s, struct errbuf *err)
{
	struct actuate_result result;
	int rc;

	if (d->conf.dry_run || s->dry_run || actuate_get_ops(d->actuate) == &actuate_none) {
		s->status = STATUS_OBSERVED;
		if (actuate_get_ops(d->actuate) == &actuate_none)
			snprintf(s->reason, sizeof(s->reason), "nothing is moved: %.120s",
				actuate_why_not(d->actuate));
		note_coreset(s);
		return 0;
	}
	putback_stop(s);
	rc = d->conf.rebind == REBIND_CPUSET ? step_check_threads(s, STEP_THREADS_FROZEN, err) : 0;
	if (rc == 0)
		rc = actuate_get_ops(d->actuate)
			     ->apply(d->actuate, &s->cgroup, &s->coreset, &result, err);
	if (rc < 0) {
		health_error("step %s: %.200s", s->id, err->text);
		/* It would fail at every tick: leave the step alone from now on. */
		if (rc != -ENOENT && rc != -ESRCH) {
			char why[160];

			log_warning("step %s: %s, left to Slurm's placement", s->id, err->text);
			snprintf(why, sizeof(why), "cannot be moved: %.120s", err->text);
			decide_restore(d, s, STATUS_EXCLUDED, why);
		}
		lend_end(d, s);
		return rc;
	}
	/* A narrower cpuset would make its next call fail. */
	if (d->conf.rebind == REBIND_CPUSET && result.pinned) {
		decide_restore(d, s, STATUS_EXCLUDED,
			"its program binds its threads: under rebind: cpuset it stays on Slurm's "
			"cores");
		return 0;
	}
	/* What was lent was lent beside the old cores: it is off them now. */
	lend_end(d, s);
	s->coreset = result.coreset;
	s->status = STATUS_PLACED;
	reading_disturb(s);
	attach_update(d, s);
	note_coreset(s);
	memory_follow(d, s);
	return 0;
}

int decide_place(struct daemon *d, struct step *s, struct errbuf *err)
{
	struct coreset envelope;

	if (!step_is_managed(s))
		return 0;
	if (ipc_now_ns() < s->track.control_until_ns)
		return 0; /* decide_finish() places it later */
	decide_envelope(d, s, &envelope);
	if (coreset_is_empty(&s->coreset) || !coreset_is_subset(&s->coreset, &envelope)) {
		/* The allocation is not what Slurm's item said: decide again with the truth. */
		coreset_zero(&s->coreset);
		decide_run(d, EVENT_ARRIVAL, s->id, s);
	}
	if (coreset_is_empty(&s->coreset) || strcmp(s->policy, "none") == 0) {
		s->status = STATUS_OBSERVED;
		return 0;
	}
	return place_apply(d, s, err);
}

int decide_restore(struct daemon *d, struct step *s, enum step_status status, const char *why)
{
	struct errbuf err;
	int rc = 0;

	rotate_leave(d, s);
	s->turn.slices = 0;
	memory_leave(d, s);
	if (s->located)
		rc = putback_begin(d, s, &err); /* 1: it goes on */
	/* Idle until it is off the cores that it borrowed. */
	lend_end(d, s);
	if (rc < 0) {
		log_error("step %s: restore: %s", s->id, err.text);
		owed_note(d, err.text);
		health_error("step %s: restore: %.180s", s->id, err.text);
	} else if (s->located) {
		history_note(s, &s->slurm_step, why);
	}
	s->status = status;
	s->to_apply = false;
	coreset_zero(&s->coreset);
	attach_update(d, s);
	if (why)
		snprintf(s->reason, sizeof(s->reason), "%s", why);
	return rc < 0 ? rc : 0;
}

bool place_must_wait(const struct daemon *d, const struct step *s, int64_t now_ns)
{
	if (s->status != STATUS_PLACED)
		return false;
	if (s->last_move_ns && now_ns - s->last_move_ns < (int64_t)(d->conf.min_dwell_s * 1e9))
		return true;
	return d->conf.max_moves_per_min && s->moves_in_window >= d->conf.max_moves_per_min &&
	       now_ns - s->move_window_ns < INT64_C(60000000000);
}

void place_count_move(struct step *s, int64_t now_ns)
{
	if (now_ns - s->move_window_ns >= INT64_C(60000000000)) {
		s->move_window_ns = now_ns;
		s->moves_in_window = 0;
	}
	s->moves_in_window++;
	s->last_move_ns = now_ns;
}
