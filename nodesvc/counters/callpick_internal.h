/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callpick_internal.h - what callpick's files share: callpick.c knows what was counted, and what
 * counting costs; callpick_best.c says which function is the best; callpick_next.c what is counted
 * next. Each asks those named before it only.
 */
#ifndef COLOC_COUNTERS_CALLPICK_INTERNAL_H
#define COLOC_COUNTERS_CALLPICK_INTERNAL_H

#include "nodesvc/counters/callpick.h"

#define MS INT64_C(1000000)
/* Which are called at all, and how often: a glance each. */
#define GLANCE_NS     (20 * MS)
#define WINDOW_MIN_NS (30 * MS)
#define LONGER_MOST   2 /* times that windows are made twice as long */
/* Windows before a function is chosen that no other can beat, before one that will do, if all have
 * had as many, and before any is. */
#define WINDOWS_EARLY 3
#define WINDOWS_ALL   6
#define STEADY_EARLY  0.15
#define STEADY        0.30
/* Where all are far apart: all that were silent are looked at so often before, for programs begin
 * with what goes with their input, and call what goes with their work some seconds later. */
#define SILENT_LOOK 3

/* A window that compares has so many calls at least, for which it is made for some more, and so
 * many of each that is compared; so many such windows at most, and so many with fewer. */
#define COMPARES_MOST 3
#define COMPARE_CALLS 300
#define COMPARE_SURE  400
#define COMPARE_EACH  20
#define COMPARES_FEW  20

/* The share of the time in which it runs at all. */
double pick_presence(const struct callpick *p);
/* Time that a counted call takes of those who call it, s. */
double pick_held_s(const struct callpick *p, const struct callpick_cfg *cfg, int k);
/* The share of its callers' time that counting all its calls takes. */
double pick_cost_of(const struct callpick *p, const struct callpick_cfg *cfg, int k);
/* It can be counted in windows only; ... in few of them; ... that are far apart; ... too far. */
bool pick_is_dear(const struct callpick *p, const struct callpick_cfg *cfg, int k);
bool pick_is_costly(const struct callpick *p, const struct callpick_cfg *cfg, int k);
bool pick_is_dearest(const struct callpick *p, const struct callpick_cfg *cfg, int k);
bool pick_too_dear(const struct callpick *p, const struct callpick_cfg *cfg, int k);
/* In which so many calls come. */
int64_t pick_window_ns(double per_s, int calls, int64_t lo, int64_t hi);
/* Of a window of one that cannot be counted always; mean distance between two windows' ends, 0:
 * it can. */
int64_t pick_length_ns(const struct callpick *p, const struct callpick_cfg *cfg, int k);
double pick_period_s(const struct callpick *p, const struct callpick_cfg *cfg, int k);
/* It was seen to call; ... not too long ago, and can be counted. */
bool pick_calls_at_all(const struct callpick_candidate *c);
bool pick_is_usable(const struct callpick *p, const struct callpick_cfg *cfg, int k);
/* All that call can be counted in windows that are far apart, at most. */
bool pick_all_dearest(const struct callpick *p, const struct callpick_cfg *cfg);
/* The program asks for it; no glance saw a call of it and no window, fewer than @windows so far. */
bool pick_is_silent(const struct callpick_candidate *c, int windows);

/* ---- which (callpick_best.c) ---- */

/* Calls per second of the steady one that is called most, of those that are not costly. */
double pick_most_often(const struct callpick *p, const struct callpick_cfg *cfg);
/* What a candidate is worth less than one that is perfectly steady. */
double pick_badness(const struct callpick *p, const struct callpick_cfg *cfg, int k);
/* One does; @called: that the program asks for by name. */
bool pick_any_calls(const struct callpick *p, bool called);
/* No file of the program asks for it, and there are others: nobody looks. */
bool pick_is_aside(const struct callpick *p, int k);
/* All that call do so rarely, and there are others that only a glance, which may have been too
 * early, told not to call. */
bool pick_all_rare(const struct callpick *p);
/* After so many windows nothing is missing to tell what it is worth. */
bool pick_is_judged(const struct callpick *p, const struct callpick_cfg *cfg, int k, int windows);
/* Those with which the chosen one, a costly one, is to be compared, itself among them, in one
 * window: how many, 0 or two at least. @ret has room for CALLPICK_AT_ONCE. */
int pick_compared(const struct callpick *p, const struct callpick_cfg *cfg, int *ret);
/* The one that costs least by that window, if that is much less than the chosen one; else that. */
int pick_cheaper(const struct callpick *p, const struct callpick_cfg *cfg);
/* The one to choose; -1 none, or not yet. */
int pick_best(const struct callpick *p, const struct callpick_cfg *cfg);

#endif
