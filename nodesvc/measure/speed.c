/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speed.c - a step's work, how fast it does it, and how fast it was alone. Speed is progress that
 * the program publishes, or instructions of a step that is one thread (which cannot spin on
 * another's account), or calls of its runtime that stand for its work (counting.c); of others it is
 * unknown and stays so.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/counters/calls.h"
#include "nodesvc/measure/internal.h"

/* A sample taken at the same tick needs no second reading. */
#define FRESH_NS          INT64_C(5000000)
#define INSTRUCTIONS_UNIT "instr"

static int count_now(const struct measure *m, struct step *s, struct sample *ret)
{
	char cgroup[sizeof(s->cgroup.step_path) + 1];
	struct counter_target target = {
		.tid = s->pace.list.tid, .n_tids = s->pace.list.n, .cgroup = cgroup};
	struct errbuf err;

	if (!s->counters || s->pace.list.n == 0)
		return -ENODATA;
	snprintf(cgroup, sizeof(cgroup), "/%s", s->cgroup.step_path);
	return m->use.node->counters.ops->read(s->counters, &target, ret, &err);
}

double speed_by_calls(const struct step *s)
{
	return s->seen.calls.step ? calls_step_rate(s->seen.calls.step) : NAN;
}

/* By its runtime's calls. */
static void read_calls(const struct step *s, struct seen_work *ret)
{
	struct calls_work work;

	if (s->seen.calls.step && calls_step_work(s->seen.calls.step, &work))
		*ret = (struct seen_work){.total = work.total,
			.t_ns = work.t_ns,
			.count = work.figures,
			.basis = PROVENANCE_CALLS,
			.whole = work.exact};
}

void speed_read_work(const struct measure *m, struct step *s, int64_t now_ns, struct seen_work *ret)
{
	struct signal rate;
	struct sample now;

	*ret = (struct seen_work){.basis = PROVENANCE_NONE};
	if (s->pages) {
		app_read(&s->pages->app, s->pages->report, now_ns, &rate);
		if (s->pages->app.reports) {
			*ret = (struct seen_work){.total = s->pages->app.total,
				.t_ns = s->pages->app.updated_ns,
				.count = s->pages->app.reports,
				.basis = app_basis(&s->pages->app),
				.whole = true};
			return;
		}
	}
	if (!s->has_sample || !threads_are_one(s)) {
		read_calls(s, ret);
		return;
	}
	/* The last sample may be of another placement: interval_ms ago. */
	now = s->last_sample;
	if (now_ns - now.t_ns > FRESH_NS && count_now(m, s, &now) < 0)
		return;
	if (now.valid & COUNTER_BIT(COUNTER_INSTRUCTIONS))
		*ret = (struct seen_work){.total = (double)now.count[COUNTER_INSTRUCTIONS],
			.t_ns = now.t_ns,
			.count = s->sample_no,
			.basis = PROVENANCE_HW};
}

void speed_read_now(const struct measure *m, struct step *s, int64_t now_ns, struct seen_work *ret)
{
	counting_now(m, s);
	speed_read_work(m, s, now_ns, ret);
}

double speed_between(const struct seen_work *a, const struct seen_work *b, uint64_t min_count)
{
	double seconds = (double)(b->t_ns - a->t_ns) / 1e9;

	if (a->basis != b->basis || a->basis == PROVENANCE_NONE || seconds <= 0 ||
		b->total < a->total)
		return NAN;
	/* Of calls a figure may be an estimate, of no other time than between the two. */
	if (a->basis == PROVENANCE_CALLS && b->count <= a->count)
		return NAN;
	/* Counters are exact at every reading; between two reports a program has done more. */
	if (a->basis == PROVENANCE_APP && (b->count < a->count || b->count - a->count < min_count))
		return NAN;
	return (b->total - a->total) / seconds;
}

const char *speed_unit(const struct step *s)
{
	if (s->seen.last.basis == PROVENANCE_HW)
		return INSTRUCTIONS_UNIT;
	if (s->seen.last.basis == PROVENANCE_CALLS && s->pages && s->pages->app.reports)
		return s->pages->app.unit;
	if (s->seen.last.basis == PROVENANCE_CALLS && s->seen.calls.step)
		return calls_step_unit(s->seen.calls.step);
	if (s->seen.last.basis == PROVENANCE_CALLS)
		return s->seen.unit;
	if (s->seen.last.basis != PROVENANCE_APP)
		return "";
	if (s->pages && *s->pages->app.unit)
		return s->pages->app.unit;
	return *s->seen.unit ? s->seen.unit : "units";
}

void speed_adopt(struct step *s, int64_t saved_unix_ns)
{
	struct seen_gap *g = &s->seen.gap;

	g->open_ns = saved_unix_ns ? saved_unix_ns : s->start_unix_ns;
	g->until_report = s->seen.last.basis == PROVENANCE_APP;
}

void speed_close_gap(struct seen_gap *g, int64_t now_ns)
{
	if (!g->open_ns)
		return;
	if (now_ns < g->open_ns) /* the clock was set back */
		now_ns = g->open_ns;
	g->ns += now_ns - g->open_ns;
	g->from_ns = g->from_ns ? g->from_ns : g->open_ns;
	g->to_ns = now_ns;
	g->open_ns = 0;
}

const struct coreset *speed_cores(const struct step *s)
{
	return coreset_is_empty(&s->coreset) ? &s->slurm_step : &s->coreset;
}

double speed_solo(const struct measure *m, const struct step *s, const char **ret_basis)
{
	const struct step_seen *t = &s->seen;
	int cores = topo_count_cores(m->use.node->topo, &s->envelope);

	*ret_basis = NULL;
	if (t->alone.seconds >= m->use.conf->profile_interval_s) {
		*ret_basis = "alone";
		return t->alone.units / t->alone.seconds;
	}
	for (int i = 0; i < t->n_bases; i++)
		if (t->base[i].cores == cores && strcmp(t->base[i].unit, speed_unit(s)) == 0) {
			*ret_basis = "profile";
			return t->base[i].speed;
		}
	return NAN;
}

/* Alone on as many cores as its share has. */
double speed_solo_share(const struct measure *m, const struct step *s)
{
	const struct step_seen *t = &s->seen;
	int cores = topo_count_cores(m->use.node->topo, speed_cores(s));
	const char *basis;

	if (cores == topo_count_cores(m->use.node->topo, &s->envelope))
		return speed_solo(m, s, &basis);
	for (int i = 0; i < t->n_bases; i++)
		if (t->base[i].cores == cores && strcmp(t->base[i].unit, speed_unit(s)) == 0)
			return t->base[i].speed;
	return NAN;
}

double speed_shared(const struct step *s)
{
	const struct seen_span *w = &s->seen.shared;

	return w->seconds > 0 && w->units > 0 ? w->units / w->seconds : NAN;
}
