/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.c - names of signals and events, and look-ups in a view.
 */
#include "nodesvc/engine/view.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "nodesvc/engine/policy.h"

const char *event_type_name(enum event_type e)
{
	static const char *const name[] = {
		[EVENT_ARRIVAL] = "arrival",
		[EVENT_END] = "end",
		[EVENT_PHASE] = "phase",
		[EVENT_TICK] = "tick",
		[EVENT_EXPERIMENT_RESULT] = "experiment_result",
		[EVENT_TASK_DONE] = "task_done",
	};

	return name[e];
}

int view_job_index(const struct view *v, const char *id)
{
	for (int i = 0; id && i < v->n_jobs; i++)
		if (strcmp(v->job[i].id, id) == 0)
			return i;
	return -1;
}

int policy_no_signal(
	struct errbuf *err, const char *policy, const struct view_job *j, enum signal_id id)
{
	double value = j->signal[id].value;

	/* Of what was made of a bad profile the value is left (counters/rates.c). */
	if (!isnan(value) && !signal_is_sane(id, value))
		return err_set(err, -ENODATA,
			"job %s: %s of %g is no figure, policy '%s' needs one", j->id,
			signal_name(id), value, policy);
	return err_set(err, -ENODATA, "job %s: %s is missing, policy '%s' needs it", j->id,
		signal_name(id), policy);
}

int view_slice_ms(const struct view *v)
{
	return v->slice_ms > 0 ? v->slice_ms : 100;
}

bool view_is_earlier(const struct view *v, int a, int b)
{
	if (v->job[a].order != v->job[b].order)
		return v->job[a].order < v->job[b].order;
	return strcmp(v->job[a].id, v->job[b].id) < 0;
}
