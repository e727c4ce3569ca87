/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure.h - what is seen of the steps: when each is read (sampler.c), what a reading is taken for
 * (reading.c), how fast it is (speed.c), its phases (phases.c), what earlier runs tell and what
 * this one leaves (priors.c), what the co-run is worth (corun.c), what its time went into
 * (waits.c). What is kept of a step between two samples is in steps/jobs.h. Nobody is placed here,
 * and nothing is decided: who wants to know of a round has given a handler. Loop thread only.
 */
#ifndef COLOC_MEASURE_MEASURE_H
#define COLOC_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/node/node.h"
#include "nodesvc/steps/jobs.h"
#include "nodesvc/base/work.h"

struct command;
struct measure;

/* What it works with; all of it outlives it. */
struct measure_uses {
	struct loop *loop; /* NULL: no timers, rounds come when they are asked for */
	const struct conf *conf;
	const struct node *node;
	struct jobs *jobs;
	struct actuate *actuate;
	struct record *record;
	struct work *work;
};

/* Whom it asks and tells; a function may be NULL. */
struct measure_events {
	/* Should a round that is so late wait for a launch? NULL: never. */
	bool (*stands_back)(void *arg, int64_t late_ns);
	/* Are steps where no plan has them? Then samples say nothing of them. NULL: never. */
	bool (*displaces)(void *arg);
	/* All steps were looked at; those with phase_changed entered another phase. */
	void (*on_round)(void *arg);
	/* A slice of the loop for @s's way back (step.back). */
	void (*on_slice)(void *arg, struct step *s);
	void *arg;
};

/* Copies both. */
int measure_open(struct measure **ret, const struct measure_uses *u, const struct measure_events *e,
	struct errbuf *err);
/* NULL is fine. */
void measure_close(struct measure *m);

/* ---- sampler.c: a timer of its own, every interval_ms, and after half of it where a sample is
 * suspect (engine/phase.h) ---- */

/* Unless it is on already. It stops by itself with the last step. */
void sampler_start(struct measure *m);
/* The interval is another one. */
void sampler_restart(struct measure *m);
/* One look at all steps, at @now_ns: each is read, or found to run as before. */
void sampler_round(struct measure *m, int64_t now_ns);
/* Reads all steps, if interval_ms have passed since they were read; what takes longer than some
 * milliseconds goes on later. */
void sampler_refresh(struct measure *m);
/* Something of a step goes on between rounds. NULL is fine: it goes on at the next. */
void sampler_go_on_later(struct measure *m);
/* Rounds so far. */
uint64_t sampler_rounds(const struct measure *m);

/* ---- reading.c ---- */

/* At registration: its meters, and what earlier runs of its program tell. */
void reading_open(const struct measure *m, struct step *s);
void reading_close(const struct measure *m, struct step *s);
/* It stands still from now on: what was read of it begins anew when it goes on, and nothing that is
 * measured may reach beyond. */
void reading_pause(const struct measure *m, struct step *s);
/* It was moved, or will be for a while: the next samples say nothing of phases. */
void reading_disturb(struct step *s);
/* The same, or its neighbours were moved: it is read at every interval for a while. */
void reading_unsettle(struct step *s);
/* A trial is about to put it where the plan does not have it (@apart), or has put it back: what it
 * does in between does not count, what it did before does. */
void reading_displace(const struct measure *m, struct step *s, bool apart);
/* What a reading is taken for, after the signals of @s were set: its speed, first interval, phase.
 * @elapsed_s: since the reading before. True: another phase. */
bool reading_judge(struct measure *m, struct step *s, int64_t now_ns, double elapsed_s);
/* Nobody has looked at @s this time: no work to speak of. */
void reading_skip(struct step *s);

/* Work of a size that its user chose, and that does not get to its end at once. */
struct lag {
	const char *what;
	int left, of;      /* things; of 0: it has no number */
	int64_t behind_ns; /* the oldest of what is known instead is from so long ago; 0 unknown */
};
#define LAGS_MAX 5
/* What of @s lags at @now_ns; how many. */
int reading_lags(
	const struct measure *m, const struct step *s, int64_t now_ns, struct lag ret[LAGS_MAX]);

/* ---- counting.c ---- */

/* From now on calls are counted, by a process of its own (counters/callworker.h). */
int measure_count_calls(struct measure *m, struct errbuf *err);
/* @s has registered, to execute @c: its functions are looked for before it begins. */
void measure_expect(struct measure *m, struct step *s, const struct command *c);
/* All its tasks are there and none has begun. */
void measure_begin(struct measure *m, struct step *s);
/* Why calls are not counted on this node; NULL: they are. */
const char *measure_calls_why_not(const struct measure *m);
/* Processor time of a call that is counted, ns; 0 unknown. */
double measure_calls_cost_ns(const struct measure *m);
/* While it is on (a trial measures), who is counted in windows is counted all the time. */
void measure_attend(struct measure *m, bool on);
/* How @s is counted, or why it is not; NULL: it is not to be. */
const char *measure_calls_why(const struct measure *m, const struct step *s);

/* ---- speed.c ---- */

/* Work so far, read now, at @now_ns (CLOCK_MONOTONIC). */
void speed_read_work(
	const struct measure *m, struct step *s, int64_t now_ns, struct seen_work *ret);
/* The same of a moment that is to be compared with another soon: what is counted is asked for, some
 * milliseconds at most. */
void speed_read_now(const struct measure *m, struct step *s, int64_t now_ns, struct seen_work *ret);
/* Units/s between two readings with at least @min_count reports between, if it is reports they are
 * of; NAN unknown. */
double speed_between(const struct seen_work *a, const struct seen_work *b, uint64_t min_count);
const char *speed_unit(const struct step *s);
/* Speed alone on the whole envelope; NAN unknown. *@ret_basis: "alone", "profile"; NULL none. */
double speed_solo(const struct measure *m, const struct step *s, const char **ret_basis);
/* Adopted, with the figures that were saved at @saved_unix_ns (0: none were). */
void speed_adopt(struct step *s, int64_t saved_unix_ns);

/* ---- priors.c ---- */

void priors_open(const struct measure *m, struct step *s);
/* A line of the store's kind PRIORS_MARKS; false: it cannot be. */
#define PRIORS_MARKS "calls"
bool priors_parse_mark(const char *value, struct seen_mark *ret);
/* Keeps a speed with its program. */
void priors_keep_speed(
	const struct measure *m, const struct step *s, int cores, bool alone, double speed);
/* At its end: what is worth keeping of a run alone. */
void priors_close(const struct measure *m, struct step *s);

/* ---- phases.c ---- */

/* Its last sample may hold a change of phase: the next one is wanted early. */
bool phases_are_suspect(const struct step *s);

/* ---- corun.c ---- */

/* After all steps' samples: what the co-run is worth. */
void corun_round(const struct measure *m, double elapsed_s);
/* Who runs together is about to change: what all did since they were read is the co-run's of
 * before. Some milliseconds at most; who is not reached then has it with its next reading. */
void corun_settle(struct measure *m);
/* The last figures of @s, which ends. */
void corun_end(struct measure *m, struct step *s);
/* Everything known; texts are the step's or static. @complete: it did all its work, so that a
 * stored profile's time tells its speed alone. */
void corun_figures(
	const struct measure *m, const struct step *s, bool complete, struct step_figures *ret);

#endif
