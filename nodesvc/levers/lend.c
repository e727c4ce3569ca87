/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/levers/lend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/actuate/idle.h"
#include "nodesvc/base/health.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/log.h"

/* A loan that has just changed stands so long, unless it is taken back for a move: the policies'
 * own bounds for donors are further apart than a second's noise in utilisation. */
#define DWELL_NS INT64_C(1000000000)

void lend_plan(struct daemon *d, const struct plan *p, struct step *const *step)
{
	for (int i = 0; i < d->jobs.n; i++)
		coreset_zero(&d->jobs.step[i]->lent_wanted);
	for (int i = 0; i < p->n_jobs; i++)
		for (int l = 0; l < p->job[i].n_lent; l++)
			coreset_or(&step[i]->lent_wanted, &step[i]->lent_wanted,
				&p->job[i].lent[l].coreset);
	threads_plan(d, p, step);
	ways_plan(d, p, step);
}

static int apply(struct daemon *d, struct step *s, struct errbuf *err)
{
	struct coreset cpus = step_cpus(s);
	struct actuate_result result;

	return actuate_get_ops(d->actuate)->apply(d->actuate, &s->cgroup, &cpus, &result, err);
}

static void note_error(const struct step *s, const struct errbuf *err)
{
	log_error("step %s: %s", s->id, err->text);
	health_error("step %s: %.200s", s->id, err->text);
}

static void wake(struct daemon *d, struct step *s)
{
	struct errbuf err;

	int rc = idle_restore(d->actuate, &s->cgroup, &err);

	coreset_zero(&s->lent);
	if (rc < 0) {
		err_wrap(&err, 0, "its priority");
		note_error(s, &err);
	}
	if (rc)
		owed_note(d, rc < 0 ? err.text : NULL);
}

void lend_end(struct daemon *d, struct step *s)
{
	threads_end(d, s);
	ways_end(d, s);
	if (!coreset_is_empty(&s->lent))
		wake(d, s);
}

/* Not again for this step: it runs well enough on its own. @before: what it had borrowed. */
static void give_up(
	struct daemon *d, struct step *s, const struct coreset *before, const struct errbuf *why)
{
	struct errbuf err;

	s->lent_failed = true;
	snprintf(s->reason, sizeof(s->reason), "borrows no cores: %.120s", why->text);
	log_warning("step %s: %s", s->id, s->reason);
	/* Idle until the last has gone; if it does not go, until the step is placed anew or ends.
	 */
	coreset_zero(&s->lent);
	if (!coreset_is_empty(before) && apply(d, s, &err) < 0) {
		s->lent = *before;
		note_error(s, &err);
		return;
	}
	wake(d, s);
}

static void change(struct daemon *d, struct step *s)
{
	char cpus[CORESET_STR_MAX];
	struct coreset before = s->lent;
	struct errbuf err;
	int rc = 0;

	/* Idle before the first foreign core, and until the last has gone. */
	if (!coreset_is_empty(&s->lent_wanted))
		rc = step_check_threads(s, STEP_THREADS_EACH, &err);
	if (rc == 0 && !coreset_is_empty(&s->lent_wanted))
		rc = idle_set(d->actuate, &s->cgroup, &err);
	if (rc == 0) {
		s->lent = s->lent_wanted;
		rc = apply(d, s, &err);
	}
	if (rc == -ENOENT) {
		wake(d, s); /* ended; some of its threads may be noted by now */
		return;
	}
	if (rc < 0) {
		give_up(d, s, &before, &err);
		return;
	}
	if (coreset_is_empty(&s->lent))
		wake(d, s);
	log_info("step %s: %s%s", s->id,
		coreset_is_empty(&s->lent) ? "gives back what it borrowed" : "borrows ",
		coreset_is_empty(&s->lent) ? "" : coreset_format(&s->lent, cpus, sizeof(cpus)));
}

void lend_update(struct daemon *d)
{
	int64_t now_ns = ipc_now_ns();

	/* A trial compares placements, not loans; it ends those it meets. */
	if (trial_is_on(d))
		return;
	/* First those who give back. */
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < d->jobs.n; i++) {
			struct step *s = d->jobs.step[i];

			if (s->status != STATUS_PLACED || !s->located || s->lent_failed ||
				s->dry_run || d->conf.dry_run ||
				coreset_is_equal(&s->lent, &s->lent_wanted) ||
				now_ns - s->lent_changed_ns < DWELL_NS ||
				coreset_is_empty(&s->lent_wanted) != (pass == 0))
				continue;
			s->lent_changed_ns = now_ns;
			change(d, s);
		}
	threads_update(d);
	ways_update(d);
}
