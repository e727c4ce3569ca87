/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

bool place_passes(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -EINTR;
}

int place_write(struct levers *lv, struct step *s, struct actuate_result *ret, struct errbuf *err)
{
	int rc;

	putback_stop(s);
	s->cgroup.born_placed = s->born_placed;
	rc = lv->conf->rebind == REBIND_CPUSET ? step_check_threads(s, STEP_THREADS_FROZEN, err)
					       : 0;
	if (rc == 0)
		rc = actuate_get_ops(lv->actuate)
			     ->apply(lv->actuate, &s->cgroup, &s->coreset, ret, err);
	if (rc == 0)
		return 0;
	health_error("step %s: %.200s", s->id, err->text);
	if (rc != -ENOENT && rc != -ESRCH && !place_passes(rc))
		log_warning("step %s: %s, left to Slurm's placement", s->id, err->text);
	return rc;
}

int place_aside(struct levers *lv, struct step *s, const struct coreset *set, bool *ret_there)
{
	const struct actuate_ops *ops = actuate_get_ops(lv->actuate);
	struct actuate_result result = {0};
	struct errbuf err;
	int rc = set ? ops->apply(lv->actuate, &s->cgroup, set, &result, &err)
		     : ops->restore(lv->actuate, &s->cgroup, &err);

	if (rc < 0)
		log_debug("step %s: trial: %s", s->id, err.text);
	*ret_there = rc >= 0 && (!set || result.threads + result.pinned > 0 || result.resting == 0);
	return rc;
}

/* Mostly gone already; then this only empties the ledger. */
static int leave_ended(struct levers *lv, struct step *s)
{
	struct errbuf err;
	int rc;

	putback_stop(s);
	rc = s->located ? actuate_get_ops(lv->actuate)->restore(lv->actuate, &s->cgroup, &err) : 0;
	if (rc < 0) {
		log_error("step %s: restore at its end: %s", s->id, err.text);
		owed_note(lv, err.text);
	}
	return rc;
}

int place_leave(struct levers *lv, struct step *s, bool ended)
{
	struct errbuf err;
	int rc;

	if (ended)
		return leave_ended(lv, s);
	rc = s->located ? putback_begin(lv, s, &err) : 0; /* 1: it goes on */
	if (rc < 0) {
		log_error("step %s: restore: %s", s->id, err.text);
		owed_note(lv, err.text);
		health_error("step %s: restore: %.180s", s->id, err.text);
	}
	return rc < 0 ? rc : 0;
}

void place_close(struct levers *lv)
{
	struct errbuf err;

	if (lv->actuate && actuate_restore_all(lv->actuate, &err) < 0)
		log_error("restore at stop: %s", err.text);
}

bool place_must_wait(const struct conf *c, const struct step *s, int64_t now_ns)
{
	if (s->status != STATUS_PLACED)
		return false;
	if (s->last_move_ns && now_ns - s->last_move_ns < (int64_t)(c->min_dwell_s * 1e9))
		return true;
	return c->max_moves_per_min && s->moves_in_window >= c->max_moves_per_min &&
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

static bool is_at_or_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return n && strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

bool place_is_of(const struct step *s, const char *path)
{
	return s->located &&
	       (is_at_or_below(path, s->cgroup.step_path) || strcmp(path, s->cgroup.job_path) == 0);
}

bool place_holds(const struct levers *lv, const char *path)
{
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];

		/* Or it is on its way back, aside (putback.c). */
		if ((status_is_managed(step_standing(s)) || s->back) && place_is_of(s, path))
			return true;
	}
	return false;
}

int place_restore_path(struct levers *lv, const char *path, struct errbuf *err)
{
	/* The path alone: the ledger has the inode. */
	struct step_cgroup s = {.step_path = ""};

	snprintf(s.step_path, sizeof(s.step_path), "%s", path);
	return actuate_get_ops(lv->actuate)->restore(lv->actuate, &s, err);
}
