/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>

#include "nodesvc/counters/callpick_internal.h"

/* So steady is one that no other can beat. */
#define STEADY_BEST 0.05
/* Counting holds its callers up, for longer or shorter than is known: by such a share of it. */
#define UNSURE 0.5
/* What is called rarely may be called by exception: for output, or when a list is due to be
 * rebuilt. So it is worth less, by tenth of the rate of the steady one that is called most of those
 * that are not costly, and is looked at no more where that one is called so many times as often. */
#define RARER   0.04
#define OFTENER 5
/* A count is whole. Of one that calls n times a second, half a second beside neighbours, at a
 * quarter of its speed, tells that to 3/n. */
#define COARSE      3.0
#define COARSE_MOST 0.5
/* One that is called more rarely than that is not taken for the only one while others were glanced
 * at alone: it may be what a program's start has in common with its work, as output. */
#define RARE_PER_S 30.0
/* A costly one that is called so many times as often as when it was compared, or as rarely, is
 * compared again; it is left for one that costs so many times less. */
#define CHANGES 2
#define LESS    2
/* One whose windows are far apart is compared once, for some seconds' budget, when so many windows
 * have looked for others that cost little. */
#define LOOKS_FIRST 4

static bool any_silent(const struct callpick *p, int windows)
{
	for (int k = 0; k < p->n; k++)
		if (pick_is_silent(&p->candidate[k], windows))
			return true;
	return false;
}

/* Calls per second of the steady one that is called most, of those that are not costly. */
double pick_most_often(const struct callpick *p, const struct callpick_cfg *cfg)
{
	double most = 0;

	for (int k = 0; k < p->n; k++)
		if (pick_is_usable(p, cfg, k) && !pick_is_costly(p, cfg, k) &&
			callpick_spread(p, k) <= STEADY_EARLY)
			most = fmax(most, callpick_rate(p, k));
	return most;
}

static double rarity(const struct callpick *p, int k)
{
	double rate = callpick_rate(p, k), rarer = p->often / rate;

	if (p->candidate[k].class == CALL_OWN)
		return 0;
	return (rarer > 1 ? RARER * log10(rarer) : 0) + fmin(COARSE / rate, COARSE_MOST);
}

/* It is called so rarely that others are looked at before it is chosen. */
static bool is_rare(const struct callpick *p, int k)
{
	return p->candidate[k].class != CALL_OWN && callpick_rate(p, k) < RARE_PER_S;
}

bool pick_all_rare(const struct callpick *p)
{
	for (int k = 0; k < p->n; k++)
		if (pick_calls_at_all(&p->candidate[k]) && !is_rare(p, k))
			return false;
	return any_silent(p, 1);
}

/* What a candidate is worth less than one that is perfectly steady. */
double pick_badness(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	static const double by_class[] = {[CALL_OWN] = -0.1, /* the site knows */
		[CALL_BARRIER] = 0.01,
		[CALL_WORKSHARE] = 0.02,
		[CALL_SEND] = 0.02,
		[CALL_RECEIVE] = 0.03,
		[CALL_ONESIDED] = 0.03,
		[CALL_WAIT] = 0.03,
		[CALL_TASK] = 0.05};
	const struct callpick_candidate *c = &p->candidate[k];
	double spread = callpick_spread(p, k),
	       cost = pick_is_dear(p, cfg, k) ? pick_cost_of(p, cfg, k) : 0;

	if (!pick_is_usable(p, cfg, k) || !(spread <= STEADY))
		return INFINITY;
	return spread + by_class[c->class] + (c->called ? 0 : 0.02) +
	       (pick_is_dear(p, cfg, k) ? 0.02 : 0) + UNSURE * fmin(cost, 1) + rarity(p, k);
}

bool pick_any_calls(const struct callpick *p, bool called)
{
	for (int k = 0; k < p->n; k++)
		if (pick_calls_at_all(&p->candidate[k]) && p->candidate[k].called >= called)
			return true;
	return false;
}

/* No file of the program asks for it, and there are others: nobody looks. */
bool pick_is_aside(const struct callpick *p, int k)
{
	const struct callpick_candidate *c = &p->candidate[k];

	return !c->called && !c->glanced && pick_any_calls(p, true);
}

/* A costly one, where another, not known to be unsteady, costs less than half as much, or one that
 * is not costly will do; one that is not, where a steady one is called so much more often. */
static bool is_needless(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	if (!pick_is_costly(p, cfg, k))
		return p->candidate[k].class != CALL_OWN &&
		       p->often > OFTENER * callpick_rate(p, k);
	for (int i = 0; i < p->n; i++) {
		double spread = callpick_spread(p, i);

		if (!pick_is_usable(p, cfg, i) || p->candidate[i].uneven)
			continue;
		if (pick_is_costly(p, cfg, i)
				? !(spread > STEADY) &&
					  2 * pick_cost_of(p, cfg, i) < pick_cost_of(p, cfg, k)
				: spread <= STEADY)
			return true;
	}
	return false;
}

/* After so many windows nothing is missing to tell what it is worth. */
bool pick_is_judged(const struct callpick *p, const struct callpick_cfg *cfg, int k, int windows)
{
	const struct callpick_candidate *c = &p->candidate[k];

	return c->refused || pick_is_aside(p, k) ||
	       (c->glanced && (!pick_calls_at_all(c) || pick_too_dear(p, cfg, k) ||
				      is_needless(p, cfg, k))) ||
	       c->n >= windows;
}

/* The one that the program asks for and calls, where no other does: there is nothing to choose. If
 * it turns out to be uneven it is none. */
static int only_one(const struct callpick *p, const struct callpick_cfg *cfg)
{
	int found = -1;

	for (int k = 0; k < p->n; k++) {
		const struct callpick_candidate *c = &p->candidate[k];

		if (!c->refused && !c->glanced && !pick_is_aside(p, k))
			return -1;
		if (!pick_calls_at_all(c))
			continue;
		if (found >= 0 || !c->called || c->n == 0 || c->silent || c->uneven ||
			!pick_is_usable(p, cfg, k))
			return -1;
		found = k;
	}
	return found;
}

static int steadiest(const struct callpick *p, const struct callpick_cfg *cfg)
{
	double least = INFINITY;
	int found = -1;
	bool all = true, some = true, cheap = true;

	for (int k = 0; k < p->n; k++) {
		double bad = pick_badness(p, cfg, k);

		all &= pick_is_judged(p, cfg, k, WINDOWS_ALL);
		some &= pick_is_judged(p, cfg, k, WINDOWS_EARLY);
		cheap &= pick_is_costly(p, cfg, k) || pick_is_judged(p, cfg, k, WINDOWS_EARLY);
		if (bad < least) {
			least = bad;
			found = k;
		}
	}
	/* What only windows tell of is not waited for where one will do that is counted always. */
	some |= cheap && found >= 0 && !pick_is_costly(p, cfg, found);
	return all || least <= STEADY_BEST || (some && least <= STEADY_EARLY) ? found : -1;
}

/* One costs less than another: by the window that saw both, where there was one. Two windows of a
 * program whose steps are as long as they are catch much of one, or little. */
static bool costs_less(const struct callpick *p, const struct callpick_cfg *cfg, int k, int than)
{
	const struct callpick_candidate *a = &p->candidate[k], *b = &p->candidate[than];

	if (a->joint && a->joint == b->joint)
		return a->joint_per_s * pick_held_s(p, cfg, k) <
		       b->joint_per_s * pick_held_s(p, cfg, than);
	return pick_cost_of(p, cfg, k) < pick_cost_of(p, cfg, than);
}

/* Where all are costly: the one that costs least, after its first window. They are called thousands
 * of times a second, so most likely with the work; if not, look_at_chosen() sees it. */
static int least_costly(const struct callpick *p, const struct callpick_cfg *cfg)
{
	int found = -1;

	for (int k = 0; k < p->n; k++) {
		const struct callpick_candidate *c = &p->candidate[k];

		if (!c->refused && !c->glanced && !pick_is_aside(p, k))
			return -1;
		if (!pick_is_usable(p, cfg, k))
			continue;
		if (!pick_is_judged(p, cfg, k, pick_is_costly(p, cfg, k) ? 1 : WINDOWS_ALL) ||
			(!pick_is_costly(p, cfg, k) && p->longer < LONGER_MOST))
			return -1;
		if (pick_is_costly(p, cfg, k) && c->n > 0 && !c->silent && !c->uneven &&
			(found < 0 || costs_less(p, cfg, k, found)))
			found = k;
	}
	return found;
}

/* By what is known of it now it was compared when it did something else. */
static bool has_changed(const struct callpick *p, int k)
{
	double rate = callpick_rate(p, k), then = p->candidate[k].compared_per_s;

	return rate > CHANGES * then || then > CHANGES * rate;
}

/* By windows of its own another costly one costs less than the chosen one; they may be of other
 * times. */
static bool may_cost_less(const struct callpick *p, const struct callpick_cfg *cfg)
{
	for (int k = 0; k < p->n; k++)
		if (k != p->chosen && pick_is_usable(p, cfg, k) && !p->candidate[k].uneven &&
			pick_is_costly(p, cfg, k) &&
			LESS * pick_cost_of(p, cfg, k) < pick_cost_of(p, cfg, p->chosen))
			return true;
	return false;
}

int pick_compared(const struct callpick *p, const struct callpick_cfg *cfg, int *ret)
{
	const struct callpick_candidate *chosen = &p->candidate[p->chosen];
	int n = 0, places = chosen->places;

	/* What earlier runs were told by stays, and what the site names; who is silent now says
	 * nothing of the others; and those that cost nothing are not to wait until the budget has
	 * it. */
	if (p->chosen == p->preferred || chosen->class == CALL_OWN || chosen->n == 0 ||
		chosen->silent || !pick_is_costly(p, cfg, p->chosen))
		return 0;
	if (pick_is_dearest(p, cfg, p->chosen) &&
		(p->compares || p->looks < LOOKS_FIRST || !may_cost_less(p, cfg)))
		return 0;
	if (p->compares == COMPARES_MOST || p->compares_few == COMPARES_FEW ||
		(p->compares && !has_changed(p, p->chosen)))
		return 0;
	ret[n++] = p->chosen;
	for (int k = 0; k < p->n; k++) {
		const struct callpick_candidate *c = &p->candidate[k];

		if (k == p->chosen || c->uneven || !pick_calls_at_all(c) ||
			places + c->places > CALLPICK_AT_ONCE)
			continue;
		places += c->places;
		ret[n++] = k;
	}
	return n > 1 ? n : 0;
}

int pick_cheaper(const struct callpick *p, const struct callpick_cfg *cfg)
{
	int found = p->chosen;
	double least = p->candidate[found].joint == p->windows ? p->candidate[found].joint_per_s
							       : callpick_rate(p, found);

	least *= pick_held_s(p, cfg, found) / LESS;
	for (int k = 0; k < p->n; k++) {
		const struct callpick_candidate *c = &p->candidate[k];
		double cost = c->joint_per_s * pick_held_s(p, cfg, k);

		if (k == p->chosen || c->joint != p->windows || cost >= least ||
			!pick_is_usable(p, cfg, k) || callpick_spread(p, k) > STEADY)
			continue;
		least = cost;
		found = k;
	}
	return found;
}

int pick_best(const struct callpick *p, const struct callpick_cfg *cfg)
{
	int found = only_one(p, cfg);

	if (found < 0)
		found = steadiest(p, cfg);
	if (found < 0)
		found = least_costly(p, cfg);
	/* What can only be counted in windows is held up while it is. One that is called rarely, as
	 * once in each step of a solver, was most likely missed by a glance. */
	if (found >= 0 && (pick_is_costly(p, cfg, found) || is_rare(p, found)) &&
		any_silent(p, pick_all_dearest(p, cfg) ? SILENT_LOOK : 1))
		return -1;
	return found;
}

const char *callpick_why(
	const struct callpick *p, const struct callpick_cfg *cfg, char *buf, size_t size)
{
	int glanced = 0, calling = 0, judged = 0, often = -1, even = -1;

	buf[0] = '\0';
	if (p->chosen >= 0)
		return buf;
	for (int k = 0; k < p->n; k++) {
		const struct callpick_candidate *c = &p->candidate[k];

		glanced += c->glanced || pick_is_aside(p, k);
		judged += pick_is_judged(p, cfg, k, WINDOWS_ALL);
		if (!pick_calls_at_all(c))
			continue;
		calling++;
		if (pick_too_dear(p, cfg, k))
			often = k;
		else if (callpick_spread(p, k) > STEADY &&
			 (even < 0 || callpick_spread(p, k) < callpick_spread(p, even)))
			even = k;
	}
	if (p->n && glanced == p->n && !calling)
		snprintf(buf, size, "none of its %d functions that could be counted is called",
			p->n);
	else if (judged < p->n || !p->n)
		snprintf(buf, size, "which function stands for its work is not known yet");
	else if (even >= 0)
		snprintf(buf, size, "no function is called steadily: %s vary by %.0f %%",
			call_class_text(p->candidate[even].class), 100 * callpick_spread(p, even));
	else if (often >= 0)
		snprintf(buf, size, "%s are too many to be counted cheaply: %.0f a second",
			call_class_text(p->candidate[often].class), callpick_rate(p, often));
	else
		snprintf(buf, size, "no function could be counted");
	return buf;
}
