/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "nodesvc/counters/callpick_internal.h"

/* Windows of so many calls, within these bounds. */
#define TRY_CALLS    10
#define TRY_MIN_NS   (100 * MS)
#define TRY_MAX_NS   (2000 * MS)
#define TRY_GAP_NS   (50 * MS)
#define SILENT_GAP   (400 * MS) /* nothing has called yet; later NONE_GAP_NS */
#define SILENT_TRIES 40
#define NONE_GAP_NS  (10000 * MS)
/* What is called too often to be counted always has few windows before one is chosen: of so many
 * calls. */
#define TRY_MANY    300
#define TRY_LONG_NS (100 * MS)
/* Where so many windows differ more than that they catch a different share of the program's steps:
 * the next ones are twice as long, and as far apart, at most so often. Half as many are as good if
 * they differ by so much less; the program has longer steps where they do not. */
#define STRETCH_AFTER 8
#define STRETCH_ABOVE 0.1
#define STRETCH_MOST  2
#define STRETCH_GAIN  0.75
/* So many budgets may all take that are looked at in one window. */
#define TOGETHER  4
#define AGAIN_GAP (200 * MS)
/* Others are looked at between the windows of the chosen one so often at most. */
#define LOOKS_MOST 200
/* For so long of its own time in windows, from its start, those after the glances are for the one
 * of earlier runs alone, until it calls: while a program reads its input others do, or none. Who
 * takes turns is frozen for most of a window; after so many it has been waited for anyway. */
#define PREFERRED_S    0.9
#define PREFERRED_MOST 96
/* Later, where another was chosen for want of it, it is looked at when so much has passed, each
 * time by half of that more, and so often at most: figures of one program's runs are compared, so
 * they are to be of one function. */
#define RETURN_S    1.0
#define RETURN_MOST 30
/* What may be counted all the time for a moment takes less of its callers' time. */
#define ASKED_MOST 0.5
/* Looking for it may cost the budget of so many seconds ahead. */
#define AHEAD_S 4.0

enum round { GLANCES, WINDOWS, UNSEEN, AGAIN, COSTLY_WINDOWS, SILENT_ONES, ROUNDS };

/* Uniform in [0, 1): splitmix64. */
static double draw(struct callpick *p)
{
	uint64_t x = p->seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ (x >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

static bool is_of_round(
	const struct callpick *p, const struct callpick_cfg *cfg, int k, enum round round)
{
	const struct callpick_candidate *c = &p->candidate[k];

	if (c->refused)
		return false;
	if (round == GLANCES)
		return !c->glanced && !pick_is_aside(p, k);
	if (round == UNSEEN)
		return pick_is_silent(c, 1);
	if (round == AGAIN)
		return pick_is_silent(c, SILENT_LOOK);
	return round == SILENT_ONES ? !pick_calls_at_all(c)
				    : !pick_is_judged(p, cfg, k, WINDOWS_ALL);
}

/* Those of a round that are counted next, of the costly or of the others; how many. */
static int fill_with(struct callpick *p, const struct callpick_cfg *cfg, enum round round,
	bool costly, struct callpick_plan *ret)
{
	int places = 0;
	double cost = 0;

	for (int i = 0; i < p->n; i++) {
		int k = (p->turn + i) % p->n;
		const struct callpick_candidate *c = &p->candidate[k];

		if (!is_of_round(p, cfg, k, round) || pick_is_costly(p, cfg, k) != costly ||
			places + c->places > CALLPICK_AT_ONCE)
			continue;
		/* One that is called often is looked at alone; of others so many that a tenth of a
		 * second with all of them hardly shows. */
		if (ret->n && cost + pick_cost_of(p, cfg, k) > TOGETHER * cfg->budget)
			continue;
		cost += pick_cost_of(p, cfg, k);
		places += c->places;
		ret->candidate[ret->n++] = k;
	}
	if (ret->n)
		p->turn = (ret->candidate[ret->n - 1] + 1) % p->n;
	return ret->n;
}

/* A window that is about as long as a step of the program has one burst of calls, or two. True:
 * those that can be counted always, and vary, are looked at again in windows of twice the length.
 */
static bool look_longer(struct callpick *p, const struct callpick_cfg *cfg)
{
	double most = STEADY;
	bool any = false;

	if (p->longer == LONGER_MOST)
		return false;
	for (int k = 0; k < p->n; k++) /* that would take longer still */
		if (pick_is_costly(p, cfg, k) && is_of_round(p, cfg, k, WINDOWS))
			most = STEADY_EARLY;
	for (int k = 0; k < p->n; k++) {
		struct callpick_candidate *c = &p->candidate[k];

		if (!pick_calls_at_all(c) || pick_is_costly(p, cfg, k) ||
			!(callpick_spread(p, k) > most))
			continue;
		c->glance_per_s = callpick_rate(p, k);
		c->n = c->silent = 0;
		any = true;
	}
	p->longer += any;
	return any;
}

/* A costly one takes seconds' worth of the budget: the others first. */
static int fill(struct callpick *p, const struct callpick_cfg *cfg, enum round round,
	struct callpick_plan *ret)
{
	switch (round) {
	case WINDOWS:
		return fill_with(p, cfg, round, false, ret) ||
		       (look_longer(p, cfg) && fill_with(p, cfg, round, false, ret));
	case UNSEEN: /* while all are silent it has not begun */
		return pick_any_calls(p, false) && fill_with(p, cfg, round, false, ret);
	case AGAIN:
		return pick_all_dearest(p, cfg) && fill_with(p, cfg, round, false, ret);
	case COSTLY_WINDOWS:
		return fill_with(p, cfg, round, true, ret);
	default:
		return fill_with(p, cfg, round, false, ret) || fill_with(p, cfg, round, true, ret);
	}
}

/* So long after the last window, drawn: no period of the program beats with that. And while the
 * budget is spent nothing is counted. */
static int64_t gap(struct callpick *p, const struct callpick_cfg *cfg, int64_t mean_ns)
{
	double over_s = p->ahead_s / cfg->budget / pick_presence(p) - AHEAD_S;

	return (int64_t)((double)mean_ns * (0.5 + draw(p)) + (over_s > 0 ? over_s * 1e9 : 0));
}

/* The one of earlier runs has not called yet, and may still. */
static bool awaits_preferred(const struct callpick *p)
{
	const struct callpick_candidate *c = p->preferred < 0 ? NULL : &p->candidate[p->preferred];

	return c && c->glanced && !c->refused && !pick_calls_at_all(c) &&
	       p->watched_s < PREFERRED_S && p->windows < PREFERRED_MOST;
}

static void plan_preferred(
	struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret)
{
	ret->what = CALLPICK_TRY;
	ret->n = 1;
	ret->candidate[0] = p->preferred;
	ret->length_ns = TRY_MIN_NS;
	ret->gap_ns = p->windows ? gap(p, cfg, TRY_GAP_NS) : 0;
	ret->max_hits = TRY_MANY;
}

/* Another stands for it, since it did not call. */
static bool is_away(const struct callpick *p)
{
	return p->chosen >= 0 && p->preferred >= 0 && p->chosen != p->preferred &&
	       !p->candidate[p->preferred].refused;
}

/* False: it is not due. */
static bool plan_return(
	struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret)
{
	if (!is_away(p) || pick_calls_at_all(&p->candidate[p->preferred]) ||
		p->away_s < RETURN_S * (1 + 0.5 * p->returns) || p->returns == RETURN_MOST)
		return false;
	p->away_s = 0;
	p->returns++;
	p->sought = true;
	plan_preferred(p, cfg, ret);
	ret->gap_ns = 0;
	return true;
}

/* One window of those that were filled in. */
static void plan_round(struct callpick *p, const struct callpick_cfg *cfg, enum round round,
	struct callpick_plan *ret)
{
	double allowed, held = 0;
	int64_t gap_ns = TRY_GAP_NS;
	double least = INFINITY;

	for (int i = 0; i < ret->n; i++)
		held = fmax(held, pick_held_s(p, cfg, ret->candidate[i]));
	allowed = AHEAD_S / 4 * cfg->budget / held;
	ret->length_ns = round == GLANCES ? GLANCE_NS : TRY_MIN_NS;
	if (round == SILENT_ONES)
		gap_ns = p->windows < SILENT_TRIES * p->n ? SILENT_GAP : NONE_GAP_NS;
	else if (round == AGAIN)
		gap_ns = AGAIN_GAP;
	for (int i = 0; i < ret->n; i++)
		least = fmin(least, callpick_rate(p, ret->candidate[i]));
	/* For half of what one try may cost. */
	if (round == COSTLY_WINDOWS)
		ret->length_ns = pick_window_ns(
			least, (int)fmax(TRY_MANY, allowed / 2), WINDOW_MIN_NS, TRY_LONG_NS);
	else if (round == WINDOWS)
		ret->length_ns =
			pick_window_ns(least, TRY_CALLS, TRY_MIN_NS << p->longer, TRY_MAX_NS);
	ret->what = CALLPICK_TRY;
	ret->gap_ns = p->windows ? gap(p, cfg, gap_ns) : 0;
	ret->max_hits = allowed > 100 ? (uint64_t)allowed : 100;
}

static void plan_try(struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret)
{
	enum round round = GLANCES;

	/* Windows of what is called rarely are long. */
	if (!fill(p, cfg, GLANCES, ret))
		round = pick_all_rare(p) && fill(p, cfg, UNSEEN, ret) ? UNSEEN : WINDOWS;
	while (round < ROUNDS && ret->n == 0 && !fill(p, cfg, round, ret))
		round++;
	if (round == ROUNDS)
		p->none = true;
	else
		plan_round(p, cfg, round, ret);
}

/* Between two windows of a chosen one that are far apart others are looked at that cost less, or
 * nothing. False: there is none, or no time. */
static bool plan_between(
	struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret)
{
	enum round round = WINDOWS;
	double s;

	if (!pick_is_dearest(p, cfg, p->chosen) || p->looks == LOOKS_MOST)
		return false;
	if (!fill_with(p, cfg, round, false, ret) &&
		!fill_with(p, cfg, round = SILENT_ONES, false, ret))
		return false;
	plan_round(p, cfg, round, ret);
	s = (double)(ret->gap_ns + ret->length_ns) * 1e-9;
	if (p->between_s + s > pick_period_s(p, cfg, p->chosen)) {
		*ret = (struct callpick_plan){.n = 0};
		return false;
	}
	p->between_s += s;
	p->looks++;
	return true;
}

/* False: there is nothing to compare. */
static bool plan_compare(
	struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret)
{
	double all = 0, held = 0, allowed;

	ret->n = pick_compared(p, cfg, ret->candidate);
	if (!ret->n)
		return false;
	for (int i = 0; i < ret->n; i++) {
		all += callpick_rate(p, ret->candidate[i]);
		held = fmax(held, pick_held_s(p, cfg, ret->candidate[i]));
	}
	/* Where a trap costs much more than that, too: with fewer it would tell nothing. */
	allowed = fmax(AHEAD_S / 2 * cfg->budget / held, COMPARE_SURE);
	ret->what = CALLPICK_TRY;
	ret->length_ns = pick_window_ns(all, (int)allowed, GLANCE_NS, TRY_LONG_NS);
	ret->max_hits = (uint64_t)allowed;
	ret->gap_ns = gap(p, cfg, TRY_GAP_NS);
	p->comparing = true;
	return true;
}

/* @is_new: no speed is known by it yet. */
static void plan_chosen(
	struct callpick *p, const struct callpick_cfg *cfg, bool is_new, struct callpick_plan *ret)
{
	int k = p->chosen;
	double rate = callpick_rate(p, k), period = pick_period_s(p, cfg, k);
	int64_t between;

	ret->n = 1;
	ret->candidate[0] = k;
	ret->what = period > 0 ? CALLPICK_WINDOWS : CALLPICK_ALWAYS;
	ret->gap_ns = 0;
	if (!(period > 0))
		return;
	ret->length_ns = pick_length_ns(p, cfg, k);
	ret->max_hits = (uint64_t)(4 * rate * (double)ret->length_ns * 1e-9) + TRY_MANY;
	between = (int64_t)((period - p->between_s) * 1e9) - ret->length_ns;
	p->between_s = 0;
	if (is_new && between > TRY_GAP_NS)
		between = TRY_GAP_NS;
	ret->gap_ns = gap(p, cfg, between > 0 ? between : 0);
}

/* Its work may be of another kind by now. */
static void begin_anew(struct callpick *p)
{
	for (int k = 0; k < p->n; k++) {
		p->candidate[k].n = p->candidate[k].silent = p->candidate[k].callers = 0;
		p->candidate[k].joint = 0;
		p->candidate[k].glanced = false;
		p->candidate[k].glance_per_s = 0;
	}
	p->chosen = -1;
	p->longer = p->stretch = p->looks = p->compares = p->compares_few = 0;
	p->between_s = 0;
	p->stretched = false;
	p->none = false;
}

/* The chosen one's windows are twice as long from now on. */
static void stretch(struct callpick *p)
{
	struct callpick_candidate *c = &p->candidate[p->chosen];

	p->stretch++;
	c->glance_per_s = callpick_rate(p, p->chosen);
	c->n = c->silent = 0;
}

static void look_longer_at_chosen(struct callpick *p, const struct callpick_cfg *cfg)
{
	struct callpick_candidate *c = p->chosen >= 0 ? &p->candidate[p->chosen] : NULL;
	double spread;

	if (!c || p->stretched || c->n < STRETCH_AFTER || !pick_is_dear(p, cfg, p->chosen))
		return;
	spread = callpick_spread(p, p->chosen);
	p->stretched = p->stretch == STRETCH_MOST || !(spread > STRETCH_ABOVE);
	if (p->stretch && spread > STRETCH_GAIN * p->stretch_spread) {
		p->stretch--;
		p->stretched = true;
	}
	if (p->stretched)
		return;
	p->stretch_spread = spread;
	stretch(p);
}

/* They differ too much, and may become longer. */
static bool is_too_short(const struct callpick *p, const struct callpick_cfg *cfg)
{
	return callpick_spread(p, p->chosen) > STEADY && pick_is_dear(p, cfg, p->chosen) &&
	       p->stretch < STRETCH_MOST;
}

double callpick_chosen_spread(const struct callpick *p, const struct callpick_cfg *cfg)
{
	return is_too_short(p, cfg) ? NAN : callpick_spread(p, p->chosen);
}

/* One that was chosen before it had as many windows as others. Short ones of a program that calls
 * in bursts differ whatever it is. */
static void look_at_chosen(struct callpick *p, const struct callpick_cfg *cfg)
{
	struct callpick_candidate *c = p->chosen >= 0 ? &p->candidate[p->chosen] : NULL;

	if (!c || c->n != CALLPICK_KEPT || callpick_spread(p, p->chosen) <= STEADY ||
		p->chosen == p->preferred)
		return;
	if (is_too_short(p, cfg)) {
		stretch(p);
		return;
	}
	c->uneven = true;
	p->chosen = -1;
}

/* In place of the chosen one. */
static int one_that_costs_less(const struct callpick *p, const struct callpick_cfg *cfg)
{
	double least = INFINITY;
	int found = p->chosen;

	for (int k = 0; k < p->n; k++) {
		double bad = pick_is_costly(p, cfg, k) ? INFINITY : pick_badness(p, cfg, k);

		if (p->candidate[k].n < WINDOWS_ALL || bad >= least)
			continue;
		least = bad;
		found = k;
	}
	return found;
}

void callpick_next(struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret)
{
	int before = p->chosen;
	bool sought = p->sought, compared = p->comparing;

	p->sought = p->comparing = false;
	*ret = (struct callpick_plan){.what = CALLPICK_NONE, .gap_ns = NONE_GAP_NS};
	look_at_chosen(p, cfg);
	look_longer_at_chosen(p, cfg);
	p->often = pick_most_often(p, cfg);
	if (p->none || (p->chosen >= 0 && !pick_is_usable(p, cfg, p->chosen)))
		begin_anew(p);
	/* One that was left since it costs too much is not taken again. */
	if ((p->chosen < 0 && p->preferred >= 0 && pick_is_usable(p, cfg, p->preferred)) ||
		(sought && is_away(p) && pick_is_usable(p, cfg, p->preferred) &&
			!pick_is_dearest(p, cfg, p->preferred)))
		p->chosen = p->preferred;
	if (p->chosen < 0 && !awaits_preferred(p))
		p->chosen = pick_best(p, cfg);
	if (p->chosen >= 0 && p->chosen == before && compared && p->compares)
		p->chosen = pick_cheaper(p, cfg);
	if (p->chosen >= 0 && pick_is_dearest(p, cfg, p->chosen))
		p->chosen = one_that_costs_less(p, cfg);
	/* One that told nothing is not followed by another: the work goes by the chosen one's. */
	if (p->chosen == before && p->chosen >= 0 && !compared && plan_compare(p, cfg, ret))
		return;
	if (p->chosen == before && plan_return(p, cfg, ret))
		return;
	if (p->chosen >= 0 && (p->chosen != before || !plan_between(p, cfg, ret)))
		plan_chosen(p, cfg, p->chosen != before, ret);
	else if (p->chosen < 0 && awaits_preferred(p))
		plan_preferred(p, cfg, ret);
	else if (p->chosen < 0)
		plan_try(p, cfg, ret);
}

bool callpick_bears_attention(const struct callpick *p, const struct callpick_cfg *cfg)
{
	return p->chosen >= 0 && pick_cost_of(p, cfg, p->chosen) < ASKED_MOST;
}
