/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/callpick.h"

#include <math.h>
#include <stdio.h>

#define MS INT64_C(1000000)
/* Which are called at all, and how often: a glance each. */
#define GLANCE_NS (20 * MS)
/* Then windows of so many calls, within these bounds. */
#define TRY_CALLS    10
#define TRY_MIN_NS   (100 * MS)
#define TRY_MAX_NS   (2000 * MS)
#define LONGER_MOST  2 /* times that they are made twice as long */
#define TRY_GAP_NS   (50 * MS)
#define SILENT_GAP   (400 * MS) /* nothing has called yet; later NONE_GAP_NS */
#define SILENT_TRIES 40
#define NONE_GAP_NS  (10000 * MS)
/* Of a function that is called too often to be counted always: 30 calls tell its rate to some
 * percent, if it is called evenly, and how fast a program is differs more than that from one moment
 * to the next, so that many windows tell more than long ones. Programs have short steps and long
 * ones: where the budget has it, a window is longer, and the next one later. Before one is chosen
 * there are few. */
#define WINDOW_CALLS  30
#define TRY_MANY      300
#define WINDOW_MIN_NS (30 * MS)
#define WINDOW_MAX_NS (500 * MS)
#define PERIOD_S      0.8
#define TRY_LONG_NS   (100 * MS)
/* Where so many windows differ more than that they catch a different share of the program's steps:
 * the next ones are twice as long, and as far apart, at most so often. Half as many are as good if
 * they differ by so much less; the program has longer steps where they do not. */
#define STRETCH_AFTER 8
#define STRETCH_ABOVE 0.1
#define STRETCH_MOST  2
#define STRETCH_GAIN  0.75
/* Speed that is older is of no use. */
#define GAP_MAX_NS (5000 * MS)
/* Windows before a function is chosen that no other can beat, before one that will do, if all have
 * had as many, and before any is. */
#define WINDOWS_EARLY 3
#define WINDOWS_ALL   6
#define STEADY_BEST   0.05
#define STEADY_EARLY  0.15
#define STEADY        0.30
/* One that would take so many budgets is looked at after the others. Where its windows would be so
 * far apart, all that were silent are looked at so often before: programs begin with what goes with
 * their input, and call what goes with their work some seconds later. */
#define COSTLY      4
#define DEAREST_S   2.0
#define SILENT_LOOK 3
/* So many budgets may all take that are looked at in one window. */
#define TOGETHER  4
#define AGAIN_GAP (200 * MS)
/* And while it is counted, between its windows, so often at most. */
#define LOOKS_MOST 200
/* Counting holds its callers up, for longer or shorter than is known: by such a share of it. */
#define UNSURE 0.5
/* One that traps holds others up, by so many times what it costs itself: a team whose master is
 * late goes to sleep and has to be woken, and who calls with others traps beside them. A window
 * holds its program up besides, while its traps are put in and taken out. Measured on two cores of
 * a virtual machine (Linux 6.18, 20 us a trap), programs' own rates within windows and beside them:
 * libgomp's regions 25 to 55 us, its barriers 19 us for each of two callers, a window 1 to 3 ms. */
#define HOLDS_TEAM   3
#define HOLDS_OTHERS 2
#define WINDOW_S     0.002
/* What is called rarely may be called by exception: for output, or when a list is due to be
 * rebuilt. So it is worth less, by tenth of the rate of the steady one that is called most of those
 * that are not costly, and is looked at no more where that one is called so many times as often. */
#define RARER   0.04
#define OFTENER 5
/* A count is whole. Of one that calls n times a second, half a second beside neighbours, at a
 * quarter of its speed, tells that to 3/n. */
#define COARSE      3.0
#define COARSE_MOST 0.5
/* A chosen one that has not called in so many windows marks the work no more; one that never called
 * in many belonged to the program's start. */
#define SILENT_MAX   20
#define SILENT_EARLY 3
/* Of so many windows, its first, those after the glances are for the one of earlier runs alone,
 * until it calls: while a program reads its input others do, or none. */
#define PREFERRED_TRIES 12
/* Looking for it may cost the budget of so many seconds ahead. */
#define AHEAD_S 4.0
/* Nothing is known of how many cores it runs on. */
#define CORES_UNKNOWN 1.0
#define CORES_MIN     0.05
#define CORES_WINDOWS 4 /* of which it is a mean */

void callpick_init(struct callpick *p, uint64_t seed)
{
	*p = (struct callpick){.chosen = -1, .preferred = -1, .seed = seed, .cores = CORES_UNKNOWN};
}

int callpick_candidate(struct callpick *p, enum call_class class, bool called, int places)
{
	if (p->n == CALLPICK_MAX)
		return -1;
	if (places > CALLPICK_AT_ONCE)
		places = CALLPICK_AT_ONCE;
	p->candidate[p->n] = (struct callpick_candidate){
		.class = class, .called = called, .places = places > 0 ? places : 1};
	/* A glance is too short for a solver's steps. */
	if (class == CALL_OWN) {
		p->candidate[p->n].glanced = true;
		p->candidate[p->n].glance_per_s = 1;
	}
	return p->n++;
}

void callpick_refuse(struct callpick *p, int candidate)
{
	p->candidate[candidate].refused = true;
	if (p->chosen == candidate)
		p->chosen = -1;
}

void callpick_prefer(struct callpick *p, int candidate)
{
	p->preferred = candidate;
}

/* Uniform in [0, 1): splitmix64. */
static double draw(struct callpick *p)
{
	uint64_t x = p->seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ (x >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

static int kept(const struct callpick_candidate *c)
{
	return c->n < CALLPICK_KEPT ? c->n : CALLPICK_KEPT;
}

double callpick_rate(const struct callpick *p, int candidate)
{
	const struct callpick_candidate *c = &p->candidate[candidate];
	double sum = 0;

	for (int i = 0; i < kept(c); i++)
		sum += c->window[i].per_s;
	return kept(c) ? sum / kept(c) : c->glance_per_s;
}

static double spread_of(const struct callpick_candidate *c, bool by_cpu, double grain)
{
	double sum = 0, sum2 = 0, mean, variance;
	int n = kept(c);

	for (int i = 0; i < n; i++) {
		double x = by_cpu ? c->window[i].per_cpu_s : c->window[i].per_s;

		sum += x;
		sum2 += x * x;
	}
	mean = sum / n;
	if (!(mean > 0))
		return NAN;
	/* A count is whole: that much they differ where the calls come as evenly as can be. */
	variance = (sum2 - n * mean * mean) / (n - 1) / (mean * mean) - grain;
	return variance > 0 ? sqrt(variance) : 0;
}

double callpick_spread(const struct callpick *p, int candidate)
{
	const struct callpick_candidate *c = &p->candidate[candidate];
	double calls = 0, grain, by_time, by_cpu;

	if (kept(c) < WINDOWS_EARLY)
		return NAN;
	for (int i = 0; i < kept(c); i++)
		calls += c->window[i].calls;
	calls /= kept(c);
	grain = calls > 0 ? 1 / (6 * calls * calls) : 0;
	/* Neighbours change how much it runs, its spinning how long that seems: where either is
	 * steady its work is. */
	by_time = spread_of(c, false, grain);
	by_cpu = spread_of(c, true, grain);
	return by_cpu < by_time ? by_cpu : by_time;
}

double callpick_payers(const struct callpick *p, int callers)
{
	return fmin(callers > 1 ? callers : 1, fmax(p->cores, CORES_MIN));
}

/* The share of the time in which it runs at all. */
static double presence(const struct callpick *p)
{
	return fmin(fmax(p->cores, CORES_MIN), 1);
}

/* A program's first windows are of its start, in which it waits for files: their mean, until there
 * are enough for one of late. */
static void note_cores(struct callpick *p, double cores)
{
	int of = p->windows < CORES_WINDOWS ? p->windows + 1 : CORES_WINDOWS;

	p->cores += (cores - p->cores) / of;
}

/* Time that a counted call takes of those who call it, s. */
static double held_s(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	static const double times[] = {[CALL_REGION] = HOLDS_TEAM,
		[CALL_BARRIER] = HOLDS_OTHERS,
		[CALL_WORKSHARE] = HOLDS_OTHERS,
		[CALL_TASK] = HOLDS_OTHERS};
	const struct callpick_candidate *c = &p->candidate[k];

	return cfg->hit_cost_s * fmax(times[c->class], 1) / callpick_payers(p, c->callers);
}

void callpick_add(struct callpick *p, const struct callpick_cfg *cfg, double seconds,
	double since_s, double cpu_s, const struct callpick_counted *counted, int n)
{
	double paid_s = 0;

	if (!(seconds > 0))
		return;
	if (cpu_s >= 0)
		note_cores(p, cpu_s / seconds);
	p->windows++;
	for (int i = 0; i < n; i++) {
		struct callpick_candidate *c = &p->candidate[counted[i].candidate];
		double calls = (double)counted[i].calls;
		double per_s = isnan(counted[i].per_s) ? calls / seconds : counted[i].per_s;
		bool bursts;

		if (counted[i].callers > c->callers)
			c->callers = counted[i].callers;
		/* Of the time in which it runs: how much that is of all is not known at its start.
		 */
		paid_s += calls * held_s(p, cfg, counted[i].candidate) * presence(p);
		bursts = calls > 0 && seconds * 1e9 < GLANCE_NS && !(c->glance_per_s > 0);
		/* It begins to call: what was before is not how it does. */
		if (calls > 0 && c->n == c->silent)
			c->n = c->silent = 0;
		/* What has ended its first window by a burst tells no more than a glance. */
		if (!c->glanced || (bursts && c->n == 0)) {
			c->glanced = true;
			c->glance_per_s = per_s;
			continue;
		}
		c->silent = counted[i].calls ? 0 : c->silent + 1;
		c->window[c->n++ % CALLPICK_KEPT] = (struct callpick_window){
			.calls = (float)calls,
			.per_s = (float)per_s,
			.per_cpu_s = (float)(cpu_s > 0 ? calls / cpu_s : per_s),
		};
	}
	p->ahead_s += paid_s - cfg->budget * since_s * presence(p);
	if (p->ahead_s < 0)
		p->ahead_s = 0;
}

/* ---- which ---- */

/* The share of its callers' time that counting all its calls takes. */
static double cost_of(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return callpick_rate(p, k) * held_s(p, cfg, k);
}

/* It can be counted in windows only. */
static bool is_dear(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return cost_of(p, cfg, k) > cfg->budget;
}

/* In few of them. */
static bool is_costly(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return cost_of(p, cfg, k) > COSTLY * cfg->budget;
}

static int64_t window_ns(double per_s, int calls, int64_t lo, int64_t hi)
{
	double ns = per_s > 0 ? calls / per_s * 1e9 : (double)hi;

	return ns < (double)lo ? lo : ns > (double)hi ? hi : (int64_t)ns;
}

/* Of a window of one that cannot be counted always. */
static int64_t length_ns(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	/* For its calls at least as much as for the window. */
	double spent_s = fmax(PERIOD_S * (1 << p->stretch) * cfg->budget - WINDOW_S, WINDOW_S);
	double affordable = spent_s * 1e9 / cost_of(p, cfg, k);
	int64_t least = window_ns(callpick_rate(p, k), WINDOW_CALLS, WINDOW_MIN_NS, WINDOW_MAX_NS);

	return affordable > (double)least ? (int64_t)fmin(affordable, WINDOW_MAX_NS) : least;
}

/* Mean distance between two windows' ends; 0: it is counted always. */
static double period_s(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	if (!is_dear(p, cfg, k))
		return 0;
	return ((double)length_ns(p, cfg, k) * 1e-9 * cost_of(p, cfg, k) + WINDOW_S) / cfg->budget;
}

static bool too_dear(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return period_s(p, cfg, k) * 1e9 > (double)GAP_MAX_NS;
}

static bool calls_at_all(const struct callpick_candidate *c)
{
	/* A glance in the program's first moments tells little. */
	return !c->refused && (c->n > c->silent || (c->n == 0 && c->glance_per_s > 0));
}

static bool is_usable(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	const struct callpick_candidate *c = &p->candidate[k];

	int most = c->n - c->silent < WINDOWS_ALL ? SILENT_EARLY : SILENT_MAX;

	return calls_at_all(c) && c->silent < most && !too_dear(p, cfg, k);
}

/* It can be counted in windows that are far apart, at most. */
static bool is_dearest(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return period_s(p, cfg, k) >= DEAREST_S;
}

/* All that call are. */
static bool all_dearest(const struct callpick *p, const struct callpick_cfg *cfg)
{
	bool any = false;

	for (int k = 0; k < p->n; k++) {
		if (!calls_at_all(&p->candidate[k]))
			continue;
		if (!is_dearest(p, cfg, k))
			return false;
		any = true;
	}
	return any;
}

/* The program asks for it; no glance saw a call of it and no window, fewer than @windows so far. */
static bool is_silent(const struct callpick_candidate *c, int windows)
{
	return c->called && !c->refused && c->glanced && c->n == c->silent && c->n < windows &&
	       !(c->glance_per_s > 0);
}

static bool any_silent(const struct callpick *p, int windows)
{
	for (int k = 0; k < p->n; k++)
		if (is_silent(&p->candidate[k], windows))
			return true;
	return false;
}

/* Calls per second of the steady one that is called most, of those that are not costly. */
static double most_often(const struct callpick *p, const struct callpick_cfg *cfg)
{
	double most = 0;

	for (int k = 0; k < p->n; k++)
		if (is_usable(p, cfg, k) && !is_costly(p, cfg, k) &&
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

/* What a candidate is worth less than one that is perfectly steady. */
static double badness(const struct callpick *p, const struct callpick_cfg *cfg, int k)
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
	double spread = callpick_spread(p, k), cost = is_dear(p, cfg, k) ? cost_of(p, cfg, k) : 0;

	if (!is_usable(p, cfg, k) || !(spread <= STEADY))
		return INFINITY;
	return spread + by_class[c->class] + (c->called ? 0 : 0.02) +
	       (is_dear(p, cfg, k) ? 0.02 : 0) + UNSURE * fmin(cost, 1) + rarity(p, k);
}

static bool any_calls(const struct callpick *p, bool called)
{
	for (int k = 0; k < p->n; k++)
		if (calls_at_all(&p->candidate[k]) && p->candidate[k].called >= called)
			return true;
	return false;
}

/* No file of the program asks for it, and there are others: nobody looks. */
static bool is_aside(const struct callpick *p, int k)
{
	const struct callpick_candidate *c = &p->candidate[k];

	return !c->called && !c->glanced && any_calls(p, true);
}

/* A costly one, where another, not known to be unsteady, costs less than half as much, or one that
 * is not costly will do; one that is not, where a steady one is called so much more often. */
static bool is_needless(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	if (!is_costly(p, cfg, k))
		return p->candidate[k].class != CALL_OWN &&
		       p->often > OFTENER * callpick_rate(p, k);
	for (int i = 0; i < p->n; i++) {
		double spread = callpick_spread(p, i);

		if (!is_usable(p, cfg, i) || p->candidate[i].uneven)
			continue;
		if (is_costly(p, cfg, i)
				? !(spread > STEADY) && 2 * cost_of(p, cfg, i) < cost_of(p, cfg, k)
				: spread <= STEADY)
			return true;
	}
	return false;
}

/* After so many windows nothing is missing to tell what it is worth. */
static bool is_judged(const struct callpick *p, const struct callpick_cfg *cfg, int k, int windows)
{
	const struct callpick_candidate *c = &p->candidate[k];

	return c->refused || is_aside(p, k) ||
	       (c->glanced &&
		       (!calls_at_all(c) || too_dear(p, cfg, k) || is_needless(p, cfg, k))) ||
	       c->n >= windows;
}

/* The one that the program asks for and calls, where no other does: there is nothing to choose. If
 * it turns out to be uneven it is none. */
static int only_one(const struct callpick *p, const struct callpick_cfg *cfg)
{
	int found = -1;

	for (int k = 0; k < p->n; k++) {
		const struct callpick_candidate *c = &p->candidate[k];

		if (!c->refused && !c->glanced && !is_aside(p, k))
			return -1;
		if (!calls_at_all(c))
			continue;
		if (found >= 0 || !c->called || c->n == 0 || c->silent || c->uneven ||
			!is_usable(p, cfg, k))
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
		double bad = badness(p, cfg, k);

		all &= is_judged(p, cfg, k, WINDOWS_ALL);
		some &= is_judged(p, cfg, k, WINDOWS_EARLY);
		cheap &= is_costly(p, cfg, k) || is_judged(p, cfg, k, WINDOWS_EARLY);
		if (bad < least) {
			least = bad;
			found = k;
		}
	}
	/* What only windows tell of is not waited for where one will do that is counted always. */
	some |= cheap && found >= 0 && !is_costly(p, cfg, found);
	return all || least <= STEADY_BEST || (some && least <= STEADY_EARLY) ? found : -1;
}

/* Where all are costly: the one that costs least, after its first window. They are called thousands
 * of times a second, so most likely with the work; if not, look_at_chosen() sees it. */
static int least_costly(const struct callpick *p, const struct callpick_cfg *cfg)
{
	double least = INFINITY;
	int found = -1;

	for (int k = 0; k < p->n; k++) {
		const struct callpick_candidate *c = &p->candidate[k];

		if (!c->refused && !c->glanced && !is_aside(p, k))
			return -1;
		if (!is_usable(p, cfg, k))
			continue;
		if (!is_judged(p, cfg, k, is_costly(p, cfg, k) ? 1 : WINDOWS_ALL) ||
			(!is_costly(p, cfg, k) && p->longer < LONGER_MOST))
			return -1;
		if (!is_costly(p, cfg, k) || c->n == 0 || c->silent || c->uneven ||
			cost_of(p, cfg, k) >= least)
			continue;
		least = cost_of(p, cfg, k);
		found = k;
	}
	return found;
}

static int best(const struct callpick *p, const struct callpick_cfg *cfg)
{
	int found = only_one(p, cfg);

	if (found < 0)
		found = steadiest(p, cfg);
	if (found < 0)
		found = least_costly(p, cfg);
	/* What can only be counted in windows is held up while it is. One that is called rarely, as
	 * once in each step of a solver, was most likely missed by a glance. */
	if (found >= 0 && is_costly(p, cfg, found) &&
		any_silent(p, all_dearest(p, cfg) ? SILENT_LOOK : 1))
		return -1;
	return found;
}

/* ---- when ---- */

enum round { GLANCES, WINDOWS, UNSEEN, AGAIN, COSTLY_WINDOWS, SILENT_ONES, ROUNDS };

static bool is_of_round(
	const struct callpick *p, const struct callpick_cfg *cfg, int k, enum round round)
{
	const struct callpick_candidate *c = &p->candidate[k];

	if (c->refused)
		return false;
	if (round == GLANCES)
		return !c->glanced && !is_aside(p, k);
	if (round == UNSEEN)
		return is_silent(c, 1);
	if (round == AGAIN)
		return is_silent(c, SILENT_LOOK);
	return round == SILENT_ONES ? !calls_at_all(c) : !is_judged(p, cfg, k, WINDOWS_ALL);
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

		if (!is_of_round(p, cfg, k, round) || is_costly(p, cfg, k) != costly ||
			places + c->places > CALLPICK_AT_ONCE)
			continue;
		/* One that is called often is looked at alone; of others so many that a tenth of a
		 * second with all of them hardly shows. */
		if (ret->n && cost + cost_of(p, cfg, k) > TOGETHER * cfg->budget)
			continue;
		cost += cost_of(p, cfg, k);
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
		if (is_costly(p, cfg, k) && is_of_round(p, cfg, k, WINDOWS))
			most = STEADY_EARLY;
	for (int k = 0; k < p->n; k++) {
		struct callpick_candidate *c = &p->candidate[k];

		if (!calls_at_all(c) || is_costly(p, cfg, k) || !(callpick_spread(p, k) > most))
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
		return any_calls(p, false) && fill_with(p, cfg, round, false, ret);
	case AGAIN:
		return all_dearest(p, cfg) && fill_with(p, cfg, round, false, ret);
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
	double over_s = p->ahead_s / cfg->budget / presence(p) - AHEAD_S;

	return (int64_t)((double)mean_ns * (0.5 + draw(p)) + (over_s > 0 ? over_s * 1e9 : 0));
}

/* The one of earlier runs has not called yet, and may still. */
static bool awaits_preferred(const struct callpick *p)
{
	const struct callpick_candidate *c = p->preferred < 0 ? NULL : &p->candidate[p->preferred];

	return c && c->glanced && !c->refused && !calls_at_all(c) && p->windows < PREFERRED_TRIES;
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

/* One window of those that were filled in. */
static void plan_round(struct callpick *p, const struct callpick_cfg *cfg, enum round round,
	struct callpick_plan *ret)
{
	double allowed, held = 0;
	int64_t gap_ns = TRY_GAP_NS;
	double least = INFINITY;

	for (int i = 0; i < ret->n; i++)
		held = fmax(held, held_s(p, cfg, ret->candidate[i]));
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
		ret->length_ns = window_ns(
			least, (int)fmax(TRY_MANY, allowed / 2), WINDOW_MIN_NS, TRY_LONG_NS);
	else if (round == WINDOWS)
		ret->length_ns = window_ns(least, TRY_CALLS, TRY_MIN_NS << p->longer, TRY_MAX_NS);
	ret->what = CALLPICK_TRY;
	ret->gap_ns = p->windows ? gap(p, cfg, gap_ns) : 0;
	ret->max_hits = allowed > 100 ? (uint64_t)allowed : 100;
}

static void plan_try(struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret)
{
	enum round round = GLANCES;

	while (round < ROUNDS && !fill(p, cfg, round, ret))
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

	if (!is_dearest(p, cfg, p->chosen) || p->looks == LOOKS_MOST)
		return false;
	if (!fill_with(p, cfg, round, false, ret) &&
		!fill_with(p, cfg, round = SILENT_ONES, false, ret))
		return false;
	plan_round(p, cfg, round, ret);
	s = (double)(ret->gap_ns + ret->length_ns) * 1e-9;
	if (p->between_s + s > period_s(p, cfg, p->chosen)) {
		*ret = (struct callpick_plan){.n = 0};
		return false;
	}
	p->between_s += s;
	p->looks++;
	return true;
}

/* @is_new: no speed is known by it yet. */
static void plan_chosen(
	struct callpick *p, const struct callpick_cfg *cfg, bool is_new, struct callpick_plan *ret)
{
	int k = p->chosen;
	double rate = callpick_rate(p, k), period = period_s(p, cfg, k);
	int64_t between;

	ret->n = 1;
	ret->candidate[0] = k;
	ret->what = period > 0 ? CALLPICK_WINDOWS : CALLPICK_ALWAYS;
	ret->gap_ns = 0;
	if (!(period > 0))
		return;
	ret->length_ns = length_ns(p, cfg, k);
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
		p->candidate[k].glanced = false;
		p->candidate[k].glance_per_s = 0;
	}
	p->chosen = -1;
	p->longer = p->stretch = p->looks = 0;
	p->between_s = 0;
	p->stretched = false;
	p->none = false;
}

static void look_longer_at_chosen(struct callpick *p, const struct callpick_cfg *cfg)
{
	struct callpick_candidate *c = p->chosen >= 0 ? &p->candidate[p->chosen] : NULL;
	double spread;

	if (!c || p->stretched || c->n < STRETCH_AFTER || !is_dear(p, cfg, p->chosen))
		return;
	spread = callpick_spread(p, p->chosen);
	p->stretched = p->stretch == STRETCH_MOST || !(spread > STRETCH_ABOVE);
	if (p->stretch && spread > STRETCH_GAIN * p->stretch_spread) {
		p->stretch--;
		p->stretched = true;
	}
	if (p->stretched)
		return;
	p->stretch++;
	p->stretch_spread = spread;
	c->glance_per_s = callpick_rate(p, p->chosen);
	c->n = c->silent = 0;
}

/* One that was chosen before it had as many windows as others. */
static void look_at_chosen(struct callpick *p)
{
	struct callpick_candidate *c = p->chosen >= 0 ? &p->candidate[p->chosen] : NULL;

	if (!c || c->n != CALLPICK_KEPT || callpick_spread(p, p->chosen) <= STEADY ||
		p->chosen == p->preferred)
		return;
	c->uneven = true;
	p->chosen = -1;
}

/* In place of the chosen one. */
static int one_that_costs_less(const struct callpick *p, const struct callpick_cfg *cfg)
{
	double least = INFINITY;
	int found = p->chosen;

	for (int k = 0; k < p->n; k++) {
		double bad = is_costly(p, cfg, k) ? INFINITY : badness(p, cfg, k);

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

	*ret = (struct callpick_plan){.what = CALLPICK_NONE, .gap_ns = NONE_GAP_NS};
	look_at_chosen(p);
	look_longer_at_chosen(p, cfg);
	p->often = most_often(p, cfg);
	if (p->none || (p->chosen >= 0 && !is_usable(p, cfg, p->chosen)))
		begin_anew(p);
	if (p->chosen < 0 && p->preferred >= 0 && is_usable(p, cfg, p->preferred))
		p->chosen = p->preferred;
	if (p->chosen < 0 && !awaits_preferred(p))
		p->chosen = best(p, cfg);
	if (p->chosen >= 0 && is_dearest(p, cfg, p->chosen))
		p->chosen = one_that_costs_less(p, cfg);
	if (p->chosen >= 0 && (p->chosen != before || !plan_between(p, cfg, ret)))
		plan_chosen(p, cfg, p->chosen != before, ret);
	else if (p->chosen < 0 && awaits_preferred(p))
		plan_preferred(p, cfg, ret);
	else if (p->chosen < 0)
		plan_try(p, cfg, ret);
}

bool callpick_bears_attention(const struct callpick *p, const struct callpick_cfg *cfg)
{
	return p->chosen >= 0 && !is_dearest(p, cfg, p->chosen);
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

		glanced += c->glanced || is_aside(p, k);
		judged += is_judged(p, cfg, k, WINDOWS_ALL);
		if (!calls_at_all(c))
			continue;
		calling++;
		if (too_dear(p, cfg, k))
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
