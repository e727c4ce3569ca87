/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seen.h - what is kept of a step from one sample to the next: when it is read, its phases, its
 * first interval, how fast it was alone and in company. Data only, written by measure/. Everything
 * follows from samples.
 */
#ifndef COLOC_STEPS_SEEN_H
#define COLOC_STEPS_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "nodesvc/actuate/thread_list.h"
#include "nodesvc/counters/clocks.h"
#include "nodesvc/engine/gain.h"
#include "nodesvc/engine/phase.h"
#include "nodesvc/engine/view.h"

/* How often it is looked at. */
struct pace {
	struct thread_list list; /* at the last reading */
	struct clocks clocks;    /* of the processes among them */
	int64_t run_ns;          /* what they showed, at */
	int64_t run_at_ns;       /* on the step's own clock; 0: nothing to compare with */
	double running;          /* cores it ran on at the last reading; NAN unknown */
	int64_t read_ns;         /* time of the last reading; 0 none */
	int64_t read_own_ns;     /* the same on the step's own clock */
	bool confirm;            /* the last reading told of a change */
	int calm;                /* readings in a row that told of nothing */
	int restless;            /* readings to come at every interval */
	int64_t verified_ns;     /* reconcile.c: its cpuset was read */
};

#define SEEN_PHASES 8
#define SEEN_BASES  8

/* Work done so far, by one account. */
struct seen_work {
	double total;          /* units, or instructions */
	int64_t t_ns;          /* of the newest report; of the reading */
	uint64_t count;        /* reports; readings */
	enum provenance basis; /* app, hw; none: unknown */
};

struct seen_phase {
	int cores;
	double utilization, intensity; /* means; intensity: units per cpu second, NAN unknown */
	double seconds;                /* spent in it */
	int n, n_intensity;
};

struct seen_span {
	double units, seconds;
};

struct seen_base { /* speed alone, from the store */
	int cores;
	double speed;
	bool solo; /* of a whole run */
	char unit[16];
};

/* While no daemon measured it, or one that had just come did not hear of it yet. Unix time. */
struct seen_gap {
	int64_t ns, from_ns, to_ns; /* all of them; of the first, of the last; 0 none */
	int64_t open_ns;            /* since when the one lasts that is not over; 0 none */
	bool until_report;          /* its program published: it must find the new daemon first */
};

struct step_seen {
	struct seen_work last;
	bool has_last;
	double rate;    /* units/s now; NAN unknown */
	double done;    /* units of the last interval; NAN unknown */
	bool displaced; /* since the last sample */
	bool is_apart;  /* the last sample was of a trial's placement, in part at least */
	char unit[16];  /* as speed_unit() had it last */
	struct seen_gap gap;

	/* phases */
	struct phase busy, intensity;
	int skip; /* samples that say nothing: of the start, of a move, of a trial */
	int phase_cores;
	int phase_now, n_phases; /* into phase[]; n_phases 0: none yet */
	int changes;
	struct seen_phase phase[SEEN_PHASES];
	double phase_unix_s; /* of the last change */

	/* first interval */
	bool first_done;
	int first_cores;
	bool first_alone;
	int64_t first_ns;
	double sum[SIGNAL_COUNT];
	int n[SIGNAL_COUNT];
	enum provenance source[SIGNAL_COUNT];
	struct seen_span first_work;

	/* speeds */
	struct seen_span alone, shared; /* alone: on the whole envelope */
	struct seen_base base[SEEN_BASES];
	int n_bases;

	/* co-run */
	double known_s, unknown_s;    /* in company, with and without everybody's speed */
	double stp_full, stp_share;   /* solo seconds of work done by all in known_s; NAN unknown */
	double antt_full, antt_share; /* newest */

	/* windows and launches */
	struct gain_mean windows; /* logarithms */
	double stretch[4];
	const char *launch; /* "lever", "control"; NULL neither */
	int64_t control_until_ns;
	int64_t no_speed_until_ns; /* an experiment saw no progress: not asked again before */
};

#endif
