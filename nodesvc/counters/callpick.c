/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/callpick_internal.h"

#include <math.h>

/* Of a function that is called too often to be counted always: 30 calls tell its rate to some
 * percent, if it is called evenly, and how fast a program is differs more than that from one moment
 * to the next, so that many windows tell more than long ones. Programs have short steps and long
 * ones: where the budget has it, a window is longer, and the next one later. */
#define WINDOW_CALLS  30
#define WINDOW_MAX_NS (500 * MS)
#define PERIOD_S      0.8
/* Speed that is older is of no use. */
#define GAP_MAX_NS (5000 * MS)
/* One that would take so many budgets is looked at after the others; where its windows would be so
 * far apart, what was silent is, before. */
#define COSTLY    4
#define DEAREST_S 2.0
/* One that traps holds others up, by so many times what it costs itself: a team whose master is
 * late goes to sleep and has to be woken, and who calls with others traps beside them. A window
 * holds its program up besides, while its traps are put in and taken out. Measured on two cores of
 * a virtual machine (Linux 6.18, 20 us a trap), programs' own rates within windows and beside them:
 * libgomp's regions 25 to 55 us, its barriers 19 us for each of two callers, a window 1 to 3 ms. */
#define HOLDS_TEAM   3
#define HOLDS_OTHERS 2
#define WINDOW_S     0.002
/* A chosen one that has not called in so many windows marks the work no more; one that never called
 * in many belonged to the program's start. */
#define SILENT_MAX   20
#define SILENT_EARLY 3
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
double pick_presence(const struct callpick *p)
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
double pick_held_s(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	static const double times[] = {[CALL_REGION] = HOLDS_TEAM,
		[CALL_BARRIER] = HOLDS_OTHERS,
		[CALL_WORKSHARE] = HOLDS_OTHERS,
		[CALL_TASK] = HOLDS_OTHERS};
	const struct callpick_candidate *c = &p->candidate[k];

	return cfg->hit_cost_s * fmax(times[c->class], 1) / callpick_payers(p, c->callers);
}

static double per_s_of(const struct callpick_counted *c, double seconds)
{
	return isnan(c->per_s) ? (double)c->calls / seconds : c->per_s;
}

/* A window of all that are costly, unless the program calls little for a while: between two bursts,
 * or since it reads. */
static void note_compared(
	struct callpick *p, double seconds, const struct callpick_counted *counted, int n)
{
	uint64_t all = 0;

	for (int i = 0; i < n; i++)
		all += counted[i].calls;
	if (all < COMPARE_CALLS) {
		p->compares_few++;
		return;
	}
	p->compares++;
	for (int i = 0; i < n; i++) {
		struct callpick_candidate *c = &p->candidate[counted[i].candidate];

		c->joint = counted[i].calls >= COMPARE_EACH ? p->windows : 0;
		c->joint_per_s = c->compared_per_s = per_s_of(&counted[i], seconds);
		/* It calls again. */
		if (c->joint && c->silent) {
			c->n = c->silent = 0;
			c->glance_per_s = c->joint_per_s;
		}
	}
}

void callpick_add(struct callpick *p, const struct callpick_cfg *cfg, double seconds,
	double since_s, double cpu_s, bool asked, const struct callpick_counted *counted, int n)
{
	double paid_s = 0;

	if (!(seconds > 0))
		return;
	if (cpu_s >= 0)
		note_cores(p, cpu_s / seconds);
	p->windows++;
	p->watched_s += seconds;
	p->away_s += since_s;
	for (int i = 0; i < n; i++) {
		struct callpick_candidate *c = &p->candidate[counted[i].candidate];
		double calls = (double)counted[i].calls;
		double per_s = per_s_of(&counted[i], seconds);
		bool bursts;

		if (counted[i].callers > c->callers)
			c->callers = counted[i].callers;
		/* Of the time in which it runs: how much that is of all is not known at its start.
		 */
		paid_s += calls * pick_held_s(p, cfg, counted[i].candidate) * pick_presence(p);
		if (p->comparing)
			continue;
		if (calls > 0 && n > 1) {
			c->joint = p->windows;
			c->joint_per_s = per_s;
		}
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
		c->seen += counted[i].calls && c->seen < WINDOWS_EARLY;
		c->window[c->n++ % CALLPICK_KEPT] = (struct callpick_window){
			.calls = (float)calls,
			.per_s = (float)per_s,
			.per_cpu_s = (float)(cpu_s > 0 ? calls / cpu_s : per_s),
		};
	}
	if (p->comparing)
		note_compared(p, seconds, counted, n);
	p->ahead_s += (asked ? 0 : paid_s) - cfg->budget * since_s * pick_presence(p);
	if (p->ahead_s < 0)
		p->ahead_s = 0;
}

/* ---- what counting one costs ---- */

/* The share of its callers' time that counting all of @per_s calls a second takes. */
static double cost_at(const struct callpick *p, const struct callpick_cfg *cfg, int k, double per_s)
{
	return per_s * pick_held_s(p, cfg, k);
}

double pick_cost_of(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return cost_at(p, cfg, k, callpick_rate(p, k));
}

/* It can be counted in windows only. */
bool pick_is_dear(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return pick_cost_of(p, cfg, k) > cfg->budget;
}

/* In few of them. */
static bool is_costly_at(
	const struct callpick *p, const struct callpick_cfg *cfg, int k, double per_s)
{
	return cost_at(p, cfg, k, per_s) > COSTLY * cfg->budget;
}

bool pick_is_costly(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return is_costly_at(p, cfg, k, callpick_rate(p, k));
}

bool callpick_was_costly(const struct callpick *p, const struct callpick_cfg *cfg, int candidate)
{
	return is_costly_at(p, cfg, candidate, p->candidate[candidate].known_per_s);
}

void callpick_prefer(struct callpick *p, const struct callpick_cfg *cfg, int candidate,
	double per_s, double spread)
{
	if (candidate < 0 || (spread > STEADY && is_costly_at(p, cfg, candidate, per_s)))
		return;
	p->preferred = candidate;
	p->candidate[candidate].known_per_s = per_s;
}

int64_t pick_window_ns(double per_s, int calls, int64_t lo, int64_t hi)
{
	double ns = per_s > 0 ? calls / per_s * 1e9 : (double)hi;

	return ns < (double)lo ? lo : ns > (double)hi ? hi : (int64_t)ns;
}

/* Of a window of @per_s calls a second that was made twice as long @stretch times, as what is spent
 * on it. */
static int64_t length_at(
	const struct callpick *p, const struct callpick_cfg *cfg, int k, int stretch, double per_s)
{
	/* For its calls at least as much as for the window. */
	double spent_s = fmax(PERIOD_S * (1 << stretch) * cfg->budget - WINDOW_S, WINDOW_S);
	double affordable = spent_s * 1e9 / cost_at(p, cfg, k, per_s);
	int64_t least = pick_window_ns(per_s, WINDOW_CALLS, WINDOW_MIN_NS, WINDOW_MAX_NS);

	return affordable > (double)least ? (int64_t)fmin(affordable, WINDOW_MAX_NS) : least;
}

static double period_at(
	const struct callpick *p, const struct callpick_cfg *cfg, int k, int stretch, double per_s)
{
	double cost = cost_at(p, cfg, k, per_s);

	if (!(cost > cfg->budget))
		return 0;
	return ((double)length_at(p, cfg, k, stretch, per_s) * 1e-9 * cost + WINDOW_S) /
	       cfg->budget;
}

/* Calls per second that the next window has to be ready for: a start says little of what follows.
 */
static double rate_ahead(const struct callpick *p, int k)
{
	const struct callpick_candidate *c = &p->candidate[k];
	double rate = callpick_rate(p, k);

	return c->seen < WINDOWS_EARLY ? fmax(rate, c->known_per_s) : rate;
}

int64_t pick_length_ns(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return length_at(p, cfg, k, p->stretch, rate_ahead(p, k));
}

double pick_period_s(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return period_at(p, cfg, k, p->stretch, rate_ahead(p, k));
}

bool pick_too_dear(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return period_at(p, cfg, k, p->stretch, callpick_rate(p, k)) * 1e9 > (double)GAP_MAX_NS;
}

/* That windows are longer than they need be, and further apart, is no reason. */
bool pick_is_dearest(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	return period_at(p, cfg, k, 0, callpick_rate(p, k)) >= DEAREST_S;
}

/* ---- is it called? ---- */

bool pick_calls_at_all(const struct callpick_candidate *c)
{
	/* A glance in the program's first moments tells little. */
	return !c->refused && (c->n > c->silent || (c->n == 0 && c->glance_per_s > 0));
}

bool pick_is_usable(const struct callpick *p, const struct callpick_cfg *cfg, int k)
{
	const struct callpick_candidate *c = &p->candidate[k];

	int most = c->n - c->silent < WINDOWS_ALL ? SILENT_EARLY : SILENT_MAX;

	return pick_calls_at_all(c) && c->silent < most && !pick_too_dear(p, cfg, k);
}

/* All that call are. */
bool pick_all_dearest(const struct callpick *p, const struct callpick_cfg *cfg)
{
	bool any = false;

	for (int k = 0; k < p->n; k++) {
		if (!pick_calls_at_all(&p->candidate[k]))
			continue;
		if (!pick_is_dearest(p, cfg, k))
			return false;
		any = true;
	}
	return any;
}

/* The program asks for it; no glance saw a call of it and no window, fewer than @windows so far. */
bool pick_is_silent(const struct callpick_candidate *c, int windows)
{
	return c->called && !c->refused && c->glanced && c->n == c->silent && c->n < windows &&
	       !(c->glance_per_s > 0);
}
