/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <errno.h>
#include <stdio.h>

#include "common/ipc.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"

/* A loan that has just changed stands so long, unless it is taken back for a move: the policies'
 * own bounds for donors are further apart than a second's noise in utilisation. */
#define DWELL_NS INT64_C(1000000000)

void lend_open(struct levers *lv)
{
	struct errbuf err;
	int n = idle_restore_all(lv->actuate, &err);

	if (n < 0) {
		log_error("priorities that a former colocd changed: %s", err.text);
		owed_note(lv, err.text);
	}
	if (n > 0)
		log_info("put back the priorities of %d steps that borrowed cores", n);
}

void lend_close(struct levers *lv)
{
	struct errbuf err;

	if (lv->actuate && idle_restore_all(lv->actuate, &err) < 0)
		log_error("priorities at stop: %s", err.text);
}

bool lend_plan(struct levers *lv, const struct plan *p, struct step *const *step)
{
	for (int i = 0; i < lv->jobs->n; i++)
		coreset_zero(&lv->jobs->step[i]->lent_wanted);
	for (int i = 0; i < p->n_jobs; i++)
		for (int l = 0; l < p->job[i].n_lent; l++)
			coreset_or(&step[i]->lent_wanted, &step[i]->lent_wanted,
				&p->job[i].lent[l].coreset);
	return false;
}

static int apply(struct levers *lv, struct step *s, struct errbuf *err)
{
	struct coreset cpus = step_cpus(s);
	struct actuate_result result;

	return actuate_get_ops(lv->actuate)->apply(lv->actuate, &s->cgroup, &cpus, &result, err);
}

static void note_error(const struct step *s, const struct errbuf *err)
{
	log_error("step %s: %s", s->id, err->text);
	health_error("step %s: %.200s", s->id, err->text);
}

static void wake(struct levers *lv, struct step *s)
{
	struct errbuf err;

	int rc = idle_restore(lv->actuate, &s->cgroup, &err);

	coreset_zero(&s->lent);
	if (rc < 0) {
		err_wrap(&err, 0, "its priority");
		note_error(s, &err);
	}
	if (rc)
		owed_note(lv, rc < 0 ? err.text : NULL);
}

int lend_end(struct levers *lv, struct step *s, bool ended)
{
	(void)ended;
	if (!coreset_is_empty(&s->lent))
		wake(lv, s);
	return 0;
}

/* Not again for this step: it runs well enough on its own. @before: what it had borrowed. */
static void give_up(
	struct levers *lv, struct step *s, const struct coreset *before, const struct errbuf *why)
{
	struct errbuf err;

	s->lent_failed = true;
	snprintf(s->reason, sizeof(s->reason), "borrows no cores: %.120s", why->text);
	log_warning("step %s: %s", s->id, s->reason);
	/* Idle until the last has gone; if it does not go, until the step is placed anew or ends.
	 */
	coreset_zero(&s->lent);
	if (!coreset_is_empty(before) && apply(lv, s, &err) < 0) {
		s->lent = *before;
		note_error(s, &err);
		return;
	}
	wake(lv, s);
}

static void change(struct levers *lv, struct step *s)
{
	char cpus[CORESET_STR_MAX];
	struct coreset before = s->lent;
	struct errbuf err;
	int rc = 0;

	/* Idle before the first foreign core, and until the last has gone. */
	if (!coreset_is_empty(&s->lent_wanted))
		rc = step_check_threads(s, STEP_THREADS_EACH, &err);
	if (rc == 0 && !coreset_is_empty(&s->lent_wanted))
		rc = idle_set(lv->actuate, &s->cgroup, &err);
	if (rc == 0) {
		s->lent = s->lent_wanted;
		rc = apply(lv, s, &err);
	}
	if (rc == -ENOENT) {
		wake(lv, s); /* ended; some of its threads may be noted by now */
		return;
	}
	if (rc < 0) {
		give_up(lv, s, &before, &err);
		return;
	}
	if (coreset_is_empty(&s->lent))
		wake(lv, s);
	log_info("step %s: %s%s", s->id,
		coreset_is_empty(&s->lent) ? "gives back what it borrowed" : "borrows ",
		coreset_is_empty(&s->lent) ? "" : coreset_format(&s->lent, cpus, sizeof(cpus)));
}

void lend_update(struct levers *lv)
{
	int64_t now_ns = ipc_now_ns();

	/* First those who give back. */
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < lv->jobs->n; i++) {
			struct step *s = lv->jobs->step[i];

			if (s->status != STATUS_PLACED || !s->located || s->lent_failed ||
				s->dry_run || lv->conf->dry_run ||
				coreset_is_equal(&s->lent, &s->lent_wanted) ||
				now_ns - s->lent_changed_ns < DWELL_NS ||
				coreset_is_empty(&s->lent_wanted) != (pass == 0))
				continue;
			s->lent_changed_ns = now_ns;
			change(lv, s);
		}
}

bool lend_holds(const struct levers *lv, const char *path)
{
	for (int i = 0; i < lv->jobs->n; i++) {
		const struct step *s = lv->jobs->step[i];

		if (place_is_of(s, path) && (!coreset_is_empty(&s->lent) ||
						    !coreset_is_empty(&s->prio.low) || s->prio.n))
			return true;
	}
	return false;
}

int lend_restore_path(struct levers *lv, const char *path, struct errbuf *err)
{
	return idle_restore_path(lv->actuate, path, err);
}
