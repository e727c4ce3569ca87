/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>

#include "nodesvc/counters/calls_internal.h"

#define HELD_MOST 0.5 /* of the time: the rest is not believed */

struct callpick_cfg calls_cfg(const struct calls_step *s)
{
	return (struct callpick_cfg){.budget = s->c->budget, .hit_cost_s = s->c->cost_ns / 1e9};
}

/* Each call that is counted holds up its task: by so much of the time, where @per_s are. */
static double held_share(const struct calls_step *s, double per_s, int callers)
{
	return per_s / callpick_payers(&s->pick, callers) * s->c->cost_ns / 1e9;
}

/* Without that it would have done more. */
static double undisturbed(double rate, double share)
{
	return rate / (1 - fmin(share, HELD_MOST));
}

/* Its work is the calls of @k, from now on. */
void calls_count_of(struct calls_step *s, int k)
{
	s->chosen = k;
	snprintf(s->unit, sizeof(s->unit), CALLS_UNIT "%.38s", s->name[k]);
	s->has_work = s->exact = false;
	s->total = 0;
	s->t_ns = 0;
	s->rate = NAN;
}

/* The windows by which it was chosen tell how fast it is: its work is counted from there on. */
void calls_take_chosen(struct calls_step *s)
{
	const struct callpick_candidate *c;

	if (s->pick.chosen < 0 || s->pick.chosen == s->chosen)
		return;
	calls_count_of(s, s->pick.chosen);
	c = &s->pick.candidate[s->chosen];
	if (c->n == 0 || c->silent || !s->added_own_ns)
		return;
	s->rate = c->window[(c->n - 1) % CALLPICK_KEPT].per_s;
	s->rate = undisturbed(s->rate, held_share(s, s->rate, c->callers));
	s->t_ns = s->news.t_ns;
	s->own_ns = s->added_own_ns;
	s->work_cpu_ns = s->cpu_ns;
	s->figures++;
	s->has_work = true;
}

/* What a figure is of: from when to when by the program's own clock, and how long that was. */
struct span {
	int64_t from_own_ns, to_own_ns;
	double seconds, wall_s;
	double of_look; /* the share of what passed between the request and the look */
};

/* The worker opens later than it is told, and says what it has when it has taken its traps out:
 * tens of ms. So neither the request's time nor that of the look is the figure's. */
static struct span span_of(const struct calls_step *s, const struct calls_look *l)
{
	bool read = !s->window && s->told_ns;
	int64_t began_ns = s->news.began_ns > s->open_ns ? s->news.began_ns : s->open_ns;
	int64_t from_ns = read ? s->told_ns : began_ns;
	struct span ret = {.from_own_ns = read ? s->read_own_ns : l->own_at(l->turn, began_ns),
		.to_own_ns = l->own_at(l->turn, s->news.t_ns),
		.wall_s = (double)(s->news.t_ns - from_ns) / 1e9,
		.of_look = 1};

	ret.seconds = (double)(ret.to_own_ns - ret.from_own_ns) / 1e9;
	if (!read && l->now_ns > s->open_ns)
		ret.of_look = ret.wall_s * 1e9 / (double)(l->now_ns - s->open_ns);
	return ret;
}

static void note(struct calls_step *s, const struct calls_look *l, double units, double rate,
	const struct span *of)
{
	s->total += units;
	s->rate = rate;
	s->t_ns = s->news.t_ns;
	s->own_ns = of->to_own_ns;
	s->work_cpu_ns = l->cpu_ns;
	s->figures++;
	s->has_work = true;
}

/* What is counted all the time, since it was read last. */
static void take_reading(struct calls_step *s, const struct calls_look *l, const struct span *of,
	uint64_t calls, int callers)
{
	double rate = (double)(calls - s->counted) / of->seconds;
	double free = s->attended ? undisturbed(rate, held_share(s, rate, callers)) : rate;

	/* What it did before it was opened. */
	if (s->t_ns && s->own_ns < of->from_own_ns && s->rate > 0)
		s->total += s->rate * (double)(of->from_own_ns - s->own_ns) / 1e9;
	note(s, l, free * of->seconds, free, of);
}

/* What the traps of a window took from the program: of the time, and of its processor time. */
struct held {
	double share, cpu_s;
};

/*
 * A task that traps loses the trap's time, and so do the others of its team, which wait for it.
 * They sleep meanwhile, or spin. Where they spin the window has as much processor time as the time
 * beside it (@busy cores), and more of that was for nothing. @counted: all @n functions, for all
 * trap, not only the one that marks the work.
 */
static struct held held_by_traps(const struct calls_step *s, double seconds, double cpu_s,
	double busy, const struct callpick_counted *counted, int n)
{
	struct held ret = {0};
	double traps_s = 0, spun_s;

	for (int i = 0; i < n; i++) {
		ret.share += held_share(s, counted[i].per_s, counted[i].callers);
		traps_s += (double)counted[i].calls * s->c->cost_ns / 1e9;
	}
	ret.share = fmin(ret.share, HELD_MOST);
	spun_s = fmin(cpu_s - busy * (1 - ret.share) * seconds, busy * ret.share * seconds);
	ret.cpu_s = fmax(traps_s, spun_s);
	return ret;
}

/*
 * What it did between two windows is taken to have gone as in the second, by processor time: where
 * a team sleeps when its master traps, less is done by the clock in a window than beside it, but
 * not in the time in which threads run, less what the traps took of it. By the clock where that is
 * not known.
 */
static void take_window(struct calls_step *s, const struct calls_look *l, const struct span *of,
	const struct callpick_counted *counted, int n)
{
	double passed_s = (double)(of->to_own_ns - s->own_ns) / 1e9;
	double cpu_s = s->news.count[0].cpu_s, between_s = 0, rate, units;
	struct held held;

	if (s->work_cpu_ns >= 0 && l->cpu_ns > s->work_cpu_ns)
		between_s = (double)(l->cpu_ns - s->work_cpu_ns) / 1e9;
	held = held_by_traps(
		s, of->seconds, cpu_s, passed_s > 0 ? between_s / passed_s : 0, counted, n);
	rate = undisturbed(counted[0].per_s, held.share);
	units = rate * passed_s;
	if (cpu_s > 2 * held.cpu_s && between_s > 0)
		units = fmax(0, between_s - held.cpu_s) * (double)counted[0].calls /
			(cpu_s - held.cpu_s);
	note(s, l, s->t_ns ? units : 0, rate, of);
}

/* The news, by function. */
static int sum_up(const struct calls_step *s, double stretch, struct callpick_counted *ret)
{
	int n = 0;

	for (int i = 0; i < s->n_open; i++) {
		const struct call_counts *from = &s->news.count[i];

		if (!n || ret[n - 1].candidate != s->open_candidate[i])
			ret[n++] = (struct callpick_counted){.candidate = s->open_candidate[i]};
		ret[n - 1].calls += from->calls;
		ret[n - 1].callers += from->callers;
		ret[n - 1].per_s += from->per_s * stretch;
	}
	return n;
}

/* Processor time since its last figures, s; the kernel's where it is of a window. A process that
 * ended has taken its own with it. */
static double cpu_since(
	const struct calls_step *s, const struct calls_look *l, const struct span *of)
{
	if (s->window && s->news.count[0].cpu_s > 0)
		return s->news.count[0].cpu_s;
	return s->cpu_ns >= 0 && l->cpu_ns >= s->cpu_ns
		       ? (double)(l->cpu_ns - s->cpu_ns) / 1e9 * of->of_look
		       : l->running * of->seconds;
}

void calls_take_news(struct calls_step *s, const struct calls_look *l)
{
	struct callpick_counted counted[CALLS_PROBES] = {0};
	struct callpick_cfg c = calls_cfg(s);
	int64_t before_ns = s->added_own_ns;
	struct span of;
	double since_s;
	int n;

	s->has_news = false;
	if (s->news.rc < 0) {
		calls_forget_open(s);
		return;
	}
	/* Their first calls were not seen. */
	if (s->news.started)
		s->exact = false;
	of = span_of(s, l);
	since_s = before_ns ? (double)(of.to_own_ns - before_ns) / 1e9 : of.seconds;
	/* Of a window: by the time in which it was not frozen. */
	n = sum_up(s, of.seconds > 0 ? of.wall_s / of.seconds : 0, counted);
	/* It has not come to its work yet. */
	if (s->begun && s->news.count[0].calls == 0) {
		s->read_own_ns = s->added_own_ns = of.to_own_ns;
		s->told_ns = s->news.t_ns;
		of.seconds = 0;
	}
	/* Else it was frozen for most of it. */
	if (of.seconds > 0 && (!s->window || of.seconds > 0.1 * of.wall_s)) {
		uint64_t calls = counted[0].calls;

		if (!s->window) {
			counted[0].calls -= s->counted;
			counted[0].per_s = NAN;
		}
		callpick_add(&s->pick, &c, of.seconds, since_s, cpu_since(s, l, &of), s->attended,
			counted, n);
		s->added_own_ns = of.to_own_ns;
		/* Else another has been chosen meanwhile. */
		if (!s->window && s->open_candidate[0] == s->chosen)
			take_reading(s, l, &of, calls, counted[0].callers);
		else if (s->window && s->plan.what == CALLPICK_WINDOWS)
			take_window(s, l, &of, counted, n);
		if (!s->window)
			s->counted = calls;
		s->read_own_ns = of.to_own_ns;
		s->told_ns = s->news.t_ns;
		s->cpu_ns = l->cpu_ns;
	}
	if (s->news.ended)
		calls_forget_open(s);
	if (s->news.ended && !s->window)
		s->exact = false;
	if (s->window)
		s->planned = false;
}
