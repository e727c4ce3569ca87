/* SPDX-License-Identifier: GPL-2.0-or-later */

#include <stddef.h>
#include <string.h>

#include "nodesvc/choose/internal.h"

static struct {
	bool on, fallback;
	int n;
	struct view_job job[JOBS_MAX];
} last;

void settled_forget(void)
{
	last.on = false;
}

/* Who answers a tick over @v, if that is settled. */
static bool is_settled(const struct choose *ch, const struct view *v, bool *ret_fallback)
{
	/* A ruling policy that lacks a signal is not asked further, and remembers nothing of it. */
	*ret_fallback = !engine_has_signals(ch->engine, v);
	return *ret_fallback
		       ? engine_has_signals(ch->fallback, v) && engine_policy(ch->fallback)->settles
		       : engine_policy(ch->engine)->settles;
}

static bool asks_more(const struct plan *p)
{
	for (int i = 0; i < p->n_jobs; i++)
		if (p->job[i].n_lent)
			return true;
	return p->n_slices || p->n_experiments || p->hysteresis_ms || p->clusters_asked;
}

void settled_note(const struct choose *ch, const struct view *v, bool fallback)
{
	last.on = is_settled(ch, v, &last.fallback) && last.fallback == fallback &&
		  !asks_more(&ch->plan);
	if (!last.on)
		return;
	last.n = v->n_jobs;
	memcpy(last.job, v->job, (size_t)v->n_jobs * sizeof(last.job[0]));
}

/* All but the signals and what was measured: padding is zero (build_view()). */
static bool is_same_job(const struct view_job *a, const struct view_job *b)
{
	static const size_t from = offsetof(struct view_job, signal);
	static const size_t to = offsetof(struct view_job, home_numa);

	return memcmp(a, b, from) == 0 &&
	       memcmp((const char *)a + to, (const char *)b + to, sizeof(*a) - to) == 0;
}

bool settled_is(const struct choose *ch, const struct view *v, bool *ret_fallback)
{
	if (!last.on || ch->trace || v->n_jobs != last.n)
		return false;
	for (int i = 0; i < v->n_jobs; i++)
		if (!is_same_job(&v->job[i], &last.job[i]))
			return false;
	return is_settled(ch, v, ret_fallback) && *ret_fallback == last.fallback;
}
