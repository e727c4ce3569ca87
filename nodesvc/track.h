/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track.h - what is kept of a step from one sample to the next: its phases, its first interval, how
 * fast it was alone and in company. Everything follows from samples; deciding is decide.c's.
 *
 * Speed is progress that the program publishes, or instructions of a step that is one thread (which
 * cannot spin on another's account); of others it is unknown and stays so.
 */
#ifndef COLOC_NODESVC_TRACK_H
#define COLOC_NODESVC_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "nodesvc/engine/phase.h"
#include "nodesvc/engine/view.h"
#include "nodesvc/engine/gain.h"

#define TRACK_PHASES 8
#define TRACK_BASES  8

/* Work done so far, by one account. */
struct track_work {
	double total;          /* units, or instructions */
	int64_t t_ns;          /* of the newest report; of the reading */
	uint64_t count;        /* reports; readings */
	enum provenance basis; /* app, hw; none: unknown */
};

struct track_phase {
	int cores;
	double utilization, intensity; /* means; intensity: units per cpu second, NAN unknown */
	double seconds;                /* spent in it */
	int n, n_intensity;
};

struct track_span {
	double units, seconds;
};

struct track_base { /* speed alone, from the store */
	int cores;
	double speed;
	bool solo; /* of a whole run */
	char unit[16];
};

/* While no daemon measured it, or one that had just come did not hear of it yet. Unix time. */
struct track_gap {
	int64_t ns, from_ns, to_ns; /* all of them; of the first, of the last; 0 none */
	int64_t open_ns;            /* since when the one lasts that is not over; 0 none */
	bool until_report;          /* its program published: it must find the new daemon first */
};

struct track {
	struct track_work last;
	bool has_last;
	double rate;    /* units/s now; NAN unknown */
	double done;    /* units of the last interval; NAN unknown */
	bool displaced; /* since the last sample */
	bool is_apart;  /* the last sample was of a trial's placement, in part at least */
	char unit[16];  /* as track_unit() had it last */
	struct track_gap gap;

	/* phases */
	struct phase busy, intensity;
	int skip; /* samples that say nothing: of the start, of a move, of a trial */
	int phase_cores;
	int phase_now, n_phases; /* into phase[]; n_phases 0: none yet */
	int changes;
	struct track_phase phase[TRACK_PHASES];
	double phase_unix_s; /* of the last change */

	/* first interval */
	bool first_done;
	int first_cores;
	bool first_alone;
	int64_t first_ns;
	double sum[SIGNAL_COUNT];
	int n[SIGNAL_COUNT];
	enum provenance source[SIGNAL_COUNT];
	struct track_span first_work;

	/* speeds */
	struct track_span alone, shared; /* alone: on the whole envelope */
	struct track_base base[TRACK_BASES];
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

struct daemon;
struct step;
struct step_figures;

/* At registration: what earlier runs of the program tell (priors, speeds alone). */
void track_open(struct daemon *d, struct step *s);
/* Adopted, with the figures that were saved at @saved_unix_ns (0: none were). */
void track_adopt(struct step *s, int64_t saved_unix_ns);
/* After each sample of @s. @elapsed_s: since the sample before. True: another phase. */
bool track_sample(struct daemon *d, struct step *s, int64_t now_ns, double elapsed_s);
/* Nobody has looked at @s this time: no work to speak of. */
void track_skip(struct step *s);
/* After all steps' samples: what the co-run is worth. */
void track_corun(struct daemon *d, double elapsed_s);
/* A trial put it where the plan does not have it, or back: what it does until the next sample does
 * not count. */
void track_displace(struct step *s);
/* Its last sample may hold a change of phase: the next one is wanted early. */
bool track_is_suspect(const struct step *s);
/* It was moved, or will be for a while: the next samples say nothing of phases. */
void track_disturb(struct step *s);
/* It stands still from now on: nothing that is measured may reach beyond. */
void track_pause(struct step *s);
/* At its end: what is worth keeping of a run alone. */
void track_close(struct daemon *d, struct step *s);

/* Work so far, read now, at @now_ns (CLOCK_MONOTONIC). */
void track_read_work(struct daemon *d, struct step *s, int64_t now_ns, struct track_work *ret);
/* Units/s between two readings with at least @min_count reports between, if it is reports they are
 * of; NAN unknown. */
double track_speed(const struct track_work *a, const struct track_work *b, uint64_t min_count);
const char *track_unit(const struct step *s);
/* Seconds, as whoever reads the log has them. */
double track_unix_now(void);
/* Other steps run on this node. */
bool track_is_alone(const struct daemon *d, const struct step *s);

/* Speed alone on the whole envelope; NAN unknown. *@ret_basis: "alone", "profile"; NULL none. */
double track_solo(struct daemon *d, const struct step *s, const char **ret_basis);
/* Everything known; texts are the step's or static. */
/* @complete: it did all its work, so that a stored profile's time tells its speed alone. */
void track_figures(struct daemon *d, struct step *s, bool complete, struct step_figures *ret);

#endif
