/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * internal.h - what the files of measure/ share, and nobody else.
 */
#ifndef COLOC_MEASURE_INTERNAL_H
#define COLOC_MEASURE_INTERNAL_H

#include "nodesvc/counters/idle.h"
#include "nodesvc/measure/measure.h"

/* After a start or a move: caches fill, threads settle. */
#define SKIP_SAMPLES 2

struct measure {
	struct measure_uses use;
	struct measure_events tell;
	struct loop_source *timer, *slices; /* slices: work that goes on between rounds */
	int64_t slice_of;                   /* order of the step that had the last one */
	struct counting *counting;          /* NULL: nobody counts calls */
	bool attending;                     /* measure_attend() */
	bool on;
	int64_t last_ns, next_ns; /* of rounds */
	uint64_t n_rounds;
	struct waits_node *waits; /* waits.c; NULL: nothing is known of the node */
	struct {
		bool on;      /* it goes on after other work */
		int64_t next; /* order of the next step */
		int64_t spent_ns;
		double elapsed_s; /* since the round before */
	} round;
};

/*
 * How many threads a step has its user chooses. Of more than this nothing is done that costs for
 * each and cannot go on later: clocks, counters of threads, the names of sleepers.
 */
#define READ_THREADS 1024

/* threads.c */
/* Its list of threads as it is now, in pace.list; 0, <0 there is none. */
int threads_list(struct measure *m, struct step *s);
/* They are more than are read at once. */
bool threads_are_many(const struct step *s);
bool threads_are_one(const struct step *s);

/* reading.c. True: the step entered another phase. */
bool reading_take(struct measure *m, struct step *s, int64_t now_ns);
/* What it did since it was read, as if it were read now: for who changes what that counts for. */
void reading_close_span(const struct measure *m, struct step *s);
/* What its clocks show, to compare the next look with. */
void reading_note_clocks(struct measure *m, struct step *s, int64_t own_ns);

/* counting.c */
void counting_close(struct measure *m);
/* There are steps; it stops by itself with the last one. */
void counting_start(struct measure *m);
/* @s is not counted any more. */
void counting_forget(struct step *s);
/* What @s has done until now, if it is counted all the time; waits some milliseconds at most. */
void counting_now(const struct measure *m, struct step *s);

/* waits.c. -ENOMEM. */
int waits_open(struct measure *m);
void waits_close(struct measure *m);
/* Its threads were read, at @own_ns by its own clock. */
void waits_reading(struct measure *m, struct step *s, int64_t now_ns, int64_t own_ns);
/* It stands still: what is being gathered is no span. */
void waits_forget(struct step *s);
/* Part of the time of a step's own CPUs that somebody ran there since it was asked last; NAN: not
 * known yet, or not now. */
double waits_own_busy(struct measure *m, struct step *s, int64_t now_ns);
/* What the step had of the CPUs it has by right (view.h). */
void reading_executed(struct measure *m, struct step *s, int64_t now_ns);

/* home.c */
void home_look(const struct measure *m, struct step *s, int64_t now_ns);
/*
 * A memory.numa_stat, cut into lines on the way: @ret_node holds most of the memory that no file
 * backs, @ret_bytes is all of that; both -1: there is none.
 */
void home_parse(char *text, int n_nodes, double page_bytes, int *ret_node, double *ret_bytes);

/* speed.c */
/* Its newest figure, calls/s; NAN: it has none. */
double speed_by_calls(const struct step *s);
void speed_close_gap(struct seen_gap *g, int64_t now_ns); /* of the clock on the wall */
/* Where it is, by the plan or else by Slurm. */
const struct coreset *speed_cores(const struct step *s);
/* Alone on as many cores as its share has; in company. NAN unknown. */
double speed_solo_share(const struct measure *m, const struct step *s);
double speed_shared(const struct step *s);

/* priors.c: the function that marks its work goes to the store, if it is another than before. */
void priors_note_mark(const struct measure *m, struct step *s);
/* A sample of its first interval. */
void priors_first(const struct measure *m, struct step *s, int64_t now_ns, int cores, bool alone,
	double units, double seconds);

/* phases.c. True: another one. */
bool phases_sample(const struct measure *m, struct step *s, int64_t now_ns, double elapsed_s,
	int cores, double intensity);

#endif
