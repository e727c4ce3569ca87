/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quarantine.h - the guard over policies: one that makes the programs that run together slower
 * than Slurm's own placement is noticed, and left alone with them.
 *
 * trial.c takes windows, engine/verdict.h judges what they show of a set of programs under a
 * policy, over all their runs; the store remembers it across restarts. When a policy makes a set
 * worse, by the threshold at least, it is quarantined for this set: the steps go back to Slurm's
 * placement, and stay there whenever the same programs meet again under this policy, until
 * guard.quarantine_h has passed, or the operator forgets it. Then it is tried anew, and nothing of
 * before counts.
 *
 * A set is the programs, each with its user and the cores of its allocation, on a type of node;
 * their order does not matter. The user is part of it so that nobody, by publishing progress that
 * is none, takes a policy away from programs of others that he does not run beside.
 *
 * Speeds are known of programs that publish their progress, or of single threads with hardware
 * counters. Where one step of a set tells none, the verdict is unknown and nothing is done: it may
 * gain what the others lose. Loop thread only. Functions do nothing before quarantine_open().
 */
#ifndef COLOC_NODESVC_QUARANTINE_H
#define COLOC_NODESVC_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "nodesvc/engine/verdict.h"
#include "nodesvc/engine/view.h"
#include "nodesvc/record/record.h"

struct choose;
struct step;

/* More sets than a node meets in a quarantine's time; some 200 KiB. The one that was measured
 * longest ago makes room. */
#define QUARANTINE_SETS_MAX 500
/* The text of a set; what does not fit, some 100 different programs, is not judged. */
#define QUARANTINE_MEMBERS_MAX 4096

/* Reads what former daemons judged. Errors are the record's; without it nothing is known. */
int quarantine_open(struct choose *ch, struct errbuf *err);
void quarantine_close(struct choose *ch);

/* Steps came or went, or another policy rules: who is asked next looks anew. */
void quarantine_stale(struct choose *ch);

/*
 * quarantine_holds - is the policy that just planned (@fallback: the fallback, because the ruling
 * one had no plan) in quarantine for the steps that run now? Also where the ruling one is: who
 * stands in for it is not tried in its place.
 */
bool quarantine_holds(struct choose *ch, bool fallback);
/* All managed steps to Slurm's placement, and told why; cheap where they are. @event: what was
 * decided on. */
void quarantine_hold(struct choose *ch, const char *event);
/* A policy rules them again; @moves: one that places. */
void quarantine_let_go(struct choose *ch, bool moves);

/* One window of all placed steps. */
struct quarantine_window {
	int steps, known; /* all; those whose speed is known on both sides */
	double sum_log;   /* of the known: logarithm of speed under the policy over Slurm's */
	uint32_t bases;   /* bit per enum provenance of the known */
};
/* Adds it to what is known of the set. True: the policy was quarantined, decide again. */
bool quarantine_window(struct choose *ch, const struct quarantine_window *w);

/* ---- for the guard over launches (launches.c): sets of one program ---- */

/* "gmx@ada:8": its program, user, and cores of its allocation. */
void quarantine_name_member(const struct choose *ch, const struct step *s, char *buf, size_t size);
/* What is known of @members under @policy on this node; NULL nothing (@make: no memory, or nothing
 * is judged). Until another is made. */
struct judged *quarantine_row(
	struct choose *ch, const char *policy, const char *members, bool make);
/* Is it in quarantine? One that has passed is over, and nothing of before counts. */
bool quarantine_keeps_away(struct choose *ch, struct judged *j);
/* One window more, @x the logarithm of a ratio of speeds, known by @basis. True: it was
 * quarantined.
 */
bool quarantine_note(struct choose *ch, struct judged *j, double x, const char *basis);

/* ---- what is told ---- */

struct quarantine_says {
	const struct judged *set; /* NULL: nothing is known of what runs now */
	struct judgement judged;
	bool held;
	char why[160]; /* why the verdict is unknown; "" else */
};
/* Of the steps that run now. */
void quarantine_say(struct choose *ch, struct quarantine_says *ret);

int quarantine_count(const struct choose *ch);
const struct judged *quarantine_get(const struct choose *ch, int i);
bool quarantine_is_active(const struct judged *j);
void quarantine_judge(const struct choose *ch, const struct judged *j, struct judgement *ret);
/* "1a2b3c4d": the same at every start. */
uint32_t quarantine_id(const struct judged *j);
/* Forgets the set with this id, or all (NULL): it is as if it was never measured. Returns how many.
 */
int quarantine_forget(struct choose *ch, const uint32_t *id);

/* For metrics.c: windows that were judged, and quarantines that began, since the start. */
void quarantine_totals(const struct choose *ch, uint64_t *ret_windows, uint64_t *ret_begun);

#endif
