/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits.h - what the wall time of a step went into: what its threads ran, and why they did not.
 * Pure: figures of a span of time in, seconds of each cause out.
 *
 * A step has lanes: as many of its cores as it has threads that work. Each lane's time is one of
 * the causes below, so the shares of a step add up to 1. A thread that spins runs. What slows a
 * thread while it runs (others in its cache, in memory's bandwidth) is in no cause.
 */
#ifndef COLOC_ENGINE_WAITS_H
#define COLOC_ENGINE_WAITS_H

#include <stdbool.h>
#include <stddef.h>

enum wait_cause {
	WAIT_RAN,       /* none: it ran */
	WAIT_OWN,       /* for its own threads: one has more to do than the others */
	WAIT_NEIGHBOUR, /* for a core that another step has, or for cores left to others */
	WAIT_TURNS,     /* for its turn: frozen by Coloc */
	WAIT_OUTSIDE,   /* for a core that somebody has whom Coloc does not place */
	WAIT_STOLEN,    /* the hypervisor had the CPU */
	WAIT_STALLED,   /* for memory or a disk */
	WAIT_IDLE,      /* for nothing that is seen here: network, a timer, input */
	WAIT_CAUSES,
};

/* Of a span of time; seconds. */
struct waits_span {
	double wall_s;        /* in which it was not suspended by others */
	double frozen_s;      /* of that: out of its turn */
	double ran_s, held_s; /* of all threads: on a CPU; in line for one */
	double most_ran_s;    /* of the thread with most: on a CPU */
	double most_wanted_s; /* on a CPU or in line for one */
	int threads;          /* that work */
	int envelope, placed; /* cores of its envelope; where it was */
	double neighbours_s;  /* other steps ran on the CPUs where it was */
	double outside_s;     /* all others did */
	double stolen_s;      /* the hypervisor had these CPUs, of what would have been its time */
	double stalled_s;     /* all of its threads that were not asleep waited for memory or a
				 disk; NAN not known */
};

struct waits {
	double s[WAIT_CAUSES]; /* lane seconds */
	bool stalls;           /* WAIT_STALLED is told apart from WAIT_IDLE */
};

/* Adds the span to @w, zeroed before the first one. Figures that cannot be (negative, not finite,
 * no time): nothing is added. */
void waits_add(struct waits *w, const struct waits_span *f);
/* Of all its time; NAN: nothing is known. */
double waits_share(const struct waits *w, enum wait_cause cause);
/* Because of which it waited longest. WAIT_RAN: of none for a hundredth of its time. Nothing is
 * known: WAIT_CAUSES. */
enum wait_cause waits_largest(const struct waits *w);
/* "neighbour", "own threads": as users read it. Static. */
const char *waits_name(enum wait_cause cause);
/* "neighbour", "own_threads"; "ran": as programs do. Static. */
const char *waits_key(enum wait_cause cause);
/* "neighbour 43%, own threads 5%": those of a hundredth at least, the largest first. "" nothing is
 * known; "none": it ran throughout. Returns @buf. */
char *waits_text(const struct waits *w, char *buf, size_t size);

#endif
