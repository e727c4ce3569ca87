/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callpick.h - which of a program's functions marks its work, and when its calls are counted. Pure:
 * what was counted in windows goes in, what is to be counted next comes out.
 *
 * A function marks the work if as many calls come in every second while nothing changes around the
 * program: its rate is steady. Of those that are, regions and collectives are taken before sends,
 * waits and tasks, and what can be counted all the time before what cannot.
 *
 * A call that is counted takes its caller @hit_cost_s. A team waits for its master meanwhile, and
 * goes to sleep over that: what only one calls costs all of them more than that time; ranks that
 * all call pay at once. Over time it is kept below @budget of the callers' time: what is called
 * more often is counted in windows. Their distance is drawn, half to one and a half of its mean, so
 * that no period of the program beats with them. Programs call in bursts, once in each of their
 * steps: where all windows differ, longer ones follow. While the function is looked for, some
 * seconds' worth of the budget is spent ahead. A costly one that was chosen is compared with the
 * others in a window of all: what it was chosen by may have been the program's start. Where nothing
 * that calls can be counted but in windows two seconds or more apart, others are looked at first
 * and between those windows: the chosen one is left for one that costs less.
 */
#ifndef COLOC_COUNTERS_CALLPICK_H
#define COLOC_COUNTERS_CALLPICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nodesvc/counters/callnames.h"

#define CALLPICK_MAX     32 /* candidates */
#define CALLPICK_AT_ONCE 8
#define CALLPICK_KEPT    12 /* windows of each, the newest */

struct callpick_cfg {
	double budget;     /* share of its callers' processor time; 0.005 */
	double hit_cost_s; /* processor time of one call that is counted */
};

struct callpick_window {
	float calls, per_s, per_cpu_s;
};

struct callpick_candidate {
	enum call_class class;
	bool called;  /* the program asks for it by name */
	bool refused; /* it cannot be counted */
	bool uneven;  /* it was chosen for want of others, and varied too much */
	int places;   /* in how many functions of files that is */
	bool glanced; /* a first, short window told how often it is called: */
	double glance_per_s;
	int joint;          /* the last window in which others were counted, too, from 1; 0 none */
	double joint_per_s; /* in that */
	double compared_per_s; /* in the last window that compared, of all that are costly */
	double known_per_s;    /* in earlier runs, alone; 0 not known */
	int seen;              /* windows with calls, as long as they are few */
	int n;                 /* windows since, the newest in window[(n - 1) % KEPT] */
	int silent;            /* windows without a call, one after the other */
	int callers;           /* at once, the most of its windows; 0 not known */
	struct callpick_window window[CALLPICK_KEPT];
};

struct callpick {
	int n, chosen, preferred; /* -1 none */
	int turn;
	int longer;            /* windows were made twice as long so often */
	int stretch;           /* those of the chosen one so often */
	bool stretched;        /* no more often */
	double stretch_spread; /* how much they differed before the last time */
	int looks;             /* at others, while the chosen one's windows are far apart */
	double between_s;      /* the time of those since its last window */
	bool none;             /* it was said that none is; the next look begins anew */
	double often;     /* most_often() at the last callpick_next(): asked for each by each */
	int windows;      /* in all */
	double watched_s; /* their length, without the time in which it was frozen */
	double away_s;    /* since the preferred one was looked at while another is chosen */
	int returns;      /* such looks */
	bool sought;      /* the last window was one */
	int compares;     /* windows of all that are costly, that told how they compare */
	int compares_few; /* without enough calls */
	bool comparing;   /* the last window was one of these */
	double cores;     /* on which it runs, mean of late */
	double ahead_s;   /* of the time in which callers run, what counting has cost beyond the
			     budget so far */
	uint64_t seed;
	struct callpick_candidate candidate[CALLPICK_MAX];
};

enum callpick_what {
	CALLPICK_TRY,     /* one window, to find out */
	CALLPICK_ALWAYS,  /* the chosen one all the time; what it counts is told now and then */
	CALLPICK_WINDOWS, /* one window of the chosen one */
	CALLPICK_NONE,    /* no function marks its work; again, after gap_ns */
};

struct callpick_plan {
	enum callpick_what what;
	int n;                           /* candidates */
	int candidate[CALLPICK_AT_ONCE]; /* to be counted at once */
	int64_t gap_ns;                  /* wait that long first */
	int64_t length_ns;               /* then count for that long, but ... */
	uint64_t max_hits;               /* ... for no more calls than that, of all together */
};

/* @seed: any number; another for each program. */
void callpick_init(struct callpick *p, uint64_t seed);
/* In the order of symbols.h; its index, or -1: there are too many. */
int callpick_candidate(struct callpick *p, enum call_class class, bool called, int places);
/* It cannot be counted here. */
void callpick_refuse(struct callpick *p, int candidate);
/*
 * callpick_prefer - what was chosen for this program the last time: taken again as soon as it
 * calls.
 * @per_s: how often it was called then, alone; 0: not known. Programs call it now and then while
 * they start: its first windows are no longer, and no closer, than that allows. @spread: how much
 * its windows differed; NAN: not known. A costly one may have been chosen before that was known: if
 * they differed too much for a function that marks the work it is not preferred.
 */
void callpick_prefer(struct callpick *p, const struct callpick_cfg *cfg, int candidate,
	double per_s, double spread);

struct callpick_counted {
	int candidate;
	uint64_t calls;
	double per_s; /* calls per second; NAN: calls / @seconds */
	int callers;  /* tasks that made them; 0 not known: one */
};
/*
 * callpick_add - a window is over, or what is counted all the time was read, of the time since it
 * was read last. @seconds: it lasted; @since_s: since the last one was over, its own included. Both
 * without the time in which the program was frozen. @cpu_s: processor time of the program in the
 * window; NAN: not known. @asked: its speed of just then was asked for, which has a share of the
 * time of its own (baseline_fraction): the budget is for windows, which would not come for minutes.
 */
void callpick_add(struct callpick *p, const struct callpick_cfg *cfg, double seconds,
	double since_s, double cpu_s, bool asked, const struct callpick_counted *counted, int n);

void callpick_next(struct callpick *p, const struct callpick_cfg *cfg, struct callpick_plan *ret);
/* In earlier runs a candidate was called so often that to count it all the time takes several times
 * the budget: half a second of that takes what is due for many. */
bool callpick_was_costly(const struct callpick *p, const struct callpick_cfg *cfg, int candidate);
/* The chosen one can be counted all the time for a moment: that takes less than half of its
 * callers' time. False too: none is. */
bool callpick_bears_attention(const struct callpick *p, const struct callpick_cfg *cfg);

/* Mean calls per second of its kept windows, 0 without; and how much they differ: the standard
 * deviation over the mean, NAN: too few. */
double callpick_rate(const struct callpick *p, int candidate);
double callpick_spread(const struct callpick *p, int candidate);
/* That of the chosen one, for later runs. NAN, too: they are to become longer, since short windows
 * of a program that calls in bursts differ whatever it is. */
double callpick_chosen_spread(const struct callpick *p, const struct callpick_cfg *cfg);
/* How many of @callers, tasks that call, are held up by their calls at the same time: no more than
 * run. */
double callpick_payers(const struct callpick *p, int callers);
/* Why none is chosen, for people; "" one is. */
const char *callpick_why(
	const struct callpick *p, const struct callpick_cfg *cfg, char *buf, size_t size);

#endif
