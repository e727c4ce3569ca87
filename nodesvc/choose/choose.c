/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/choose/choose.h"

#include <errno.h>
#include <stdlib.h>

#include "nodesvc/choose/internal.h"
#include "nodesvc/choose/launches.h"

int choose_open(struct choose **ret, const struct choose_uses *u, const struct choose_events *e,
	struct errbuf *err)
{
	struct choose *ch = calloc(1, sizeof(*ch));
	int rc;

	if (!ch)
		return err_set(err, -ENOMEM, "out of memory");
	ch->loop = u->loop;
	ch->conf = u->conf;
	ch->node = u->node;
	ch->jobs = u->jobs;
	ch->actuate = u->actuate;
	ch->record = u->record;
	ch->measure = u->measure;
	ch->books = u->books;
	ch->levers = u->levers;
	ch->on = *e;
	rc = plan_init(&ch->plan, JOBS_MAX, err);
	ch->plan.want_explain = true;
	if (rc == 0)
		rc = ruling_open(ch, err);
	if (rc == 0)
		rc = trial_open(ch, err);
	if (rc == 0)
		rc = launches_open(ch, err);
	if (rc < 0) {
		choose_close(ch);
		return rc;
	}
	*ret = ch;
	return 0;
}

void choose_close(struct choose *ch)
{
	if (!ch)
		return;
	ptable_close(ch);
	quarantine_close(ch);
	launches_close(ch);
	trial_close(ch);
	ruling_close(ch);
	plan_done(&ch->plan);
	free(ch);
}

void choose_get_state(const struct choose *ch, struct choose_state *ret)
{
	*ret = (struct choose_state){
		.policy = engine_policy(ch->engine)->name,
		.ruling = ch->ruling,
		.ruling_by = ch->ruling_by,
		.decided_by = ch->decided_by,
		.decisions = ch->n_decisions,
		.rebinds = ch->n_rebinds,
		.number = recent_number(ch->recent),
		.times = &ch->decision_times,
	};
}

int recording_start(struct choose *ch, const char *path, uint64_t max_bytes, struct errbuf *err)
{
	trial_abort(ch);
	return recording_begin_file(ch, path, max_bytes, ruling_renew, err);
}
