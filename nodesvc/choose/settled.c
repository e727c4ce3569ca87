/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/choose/settled.h"

#include <stddef.h>
#include <string.h>

#include "nodesvc/choose/quarantine.h"

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
static bool is_settled(const struct daemon *d, const struct view *v, bool *ret_fallback)
{
	/* A ruling policy that lacks a signal is not asked further, and remembers nothing of it. */
	*ret_fallback = !engine_has_signals(d->engine, v);
	return *ret_fallback
		       ? engine_has_signals(d->fallback, v) && engine_policy(d->fallback)->settles
		       : engine_policy(d->engine)->settles;
}

static bool asks_more(const struct plan *p)
{
	for (int i = 0; i < p->n_jobs; i++)
		if (p->job[i].n_lent)
			return true;
	return p->n_slices || p->n_experiments || p->hysteresis_ms || p->clusters_asked;
}

void settled_note(const struct daemon *d, const struct view *v, bool fallback)
{
	last.on = is_settled(d, v, &last.fallback) && last.fallback == fallback &&
		  !asks_more(&d->plan);
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

bool settled_is(struct daemon *d, const struct view *v)
{
	bool fallback;

	if (!last.on || d->trace || v->n_jobs != last.n)
		return false;
	for (int i = 0; i < v->n_jobs; i++)
		if (!is_same_job(&v->job[i], &last.job[i]))
			return false;
	return is_settled(d, v, &fallback) && fallback == last.fallback &&
	       !quarantine_holds(d, fallback);
}
