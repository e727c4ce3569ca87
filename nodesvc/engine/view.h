/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view.h - all that a policy may know: the engine's only input.
 *
 * The driver (colocd, colocsim plan/replay/run) owns every array and string in a view; the engine
 * keeps no pointer into it after engine_decide() returns. Time and randomness come in here, so
 * node, replay and simulator agree bit for bit.
 *
 * "Job" below is what is placed as one: on a node a job step, id "JOB.STEP".
 */
#ifndef COLOC_ENGINE_VIEW_H
#define COLOC_ENGINE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"

#define JOB_ID_MAX   48
#define JOB_TYPE_MAX 64

enum signal_id {
	/* per thread, per second */
	SIGNAL_INSTRUCTIONS,
	SIGNAL_LOADS,
	SIGNAL_LLC_REFS,
	SIGNAL_LLC_MISSES,
	SIGNAL_MEM_BYTES,
	/* ratios, 0..1 */
	SIGNAL_LLC_MISS_RATIO,
	SIGNAL_UTILIZATION, /* per job: (run + run-queue delay) / (min(threads, cores) * time) */
	/* per job */
	SIGNAL_PROGRESS,  /* units/s */
	SIGNAL_TIME_LEFT, /* s */
	SIGNAL_COUNT,
};
#define SIGNAL_BIT(id) (UINT32_C(1) << (id))

/* Where a figure comes from; shown wherever the figure is shown. */
enum provenance {
	PROVENANCE_NONE,    /* unknown: the value means nothing */
	PROVENANCE_HW,      /* hardware counters of this run */
	PROVENANCE_APP,     /* published by the program */
	PROVENANCE_PROFILE, /* stored profile, scaled by live utilisation */
	PROVENANCE_OS,      /* kernel accounting (schedstat): live utilisation */
	PROVENANCE_CALLS,   /* calls of its runtime's functions, counted by the kernel */
	PROVENANCE_COUNT,
};
/* Here, so that a reader of the accounting needs no engine. */
static inline const char *provenance_name(enum provenance p)
{
	static const char *const name[PROVENANCE_COUNT] = {
		[PROVENANCE_NONE] = "none",
		[PROVENANCE_HW] = "hw",
		[PROVENANCE_APP] = "app",
		[PROVENANCE_PROFILE] = "profile",
		[PROVENANCE_OS] = "os",
		[PROVENANCE_CALLS] = "calls",
	};

	return (unsigned int)p < PROVENANCE_COUNT ? name[p] : "none";
}
/* JSON key: "loads_per_s", "utilization", ... */
static inline const char *signal_name(enum signal_id id)
{
	static const char *const name[SIGNAL_COUNT] = {
		[SIGNAL_INSTRUCTIONS] = "instructions_per_s",
		[SIGNAL_LOADS] = "loads_per_s",
		[SIGNAL_LLC_REFS] = "llc_refs_per_s",
		[SIGNAL_LLC_MISSES] = "llc_misses_per_s",
		[SIGNAL_MEM_BYTES] = "mem_bytes_per_s",
		[SIGNAL_LLC_MISS_RATIO] = "llc_miss_ratio",
		[SIGNAL_UTILIZATION] = "utilization",
		[SIGNAL_PROGRESS] = "progress_per_s",
		[SIGNAL_TIME_LEFT] = "remaining_s",
	};

	return name[id];
}

/*
 * The most a figure can be; beyond it, or under 0, it says nothing and its job has none. Far above
 * what machines do (a thread has some 1e10 instructions a second), far below where sums, products
 * and squares of figures overflow.
 */
static inline double signal_max(enum signal_id id)
{
	switch (id) {
	case SIGNAL_LLC_MISS_RATIO:
	case SIGNAL_UTILIZATION:
		return 1.000001; /* 1, and what rounding adds */
	case SIGNAL_PROGRESS:    /* in the program's own unit */
		return 1e30;
	default:
		return 1e15;
	}
}

/* Neither is a NAN; nor what is more than none, but so little that quotients by it overflow. */
static inline bool signal_is_sane(enum signal_id id, double value)
{
	return (value == 0 || value >= 1e-30) && value <= signal_max(id);
}

/* Of a view's curves, and of experiments. */
static inline bool speed_is_sane(double speed)
{
	return speed >= 1e-30 && speed <= 1e30;
}

/* Of task_done events and trace tables. */
static inline bool seconds_are_sane(double seconds)
{
	return seconds >= 1e-12 && seconds <= 1e12;
}

struct signal {
	double value;
	enum provenance provenance;
};

struct speed_point {
	int cores;
	double speed; /* any unit, the same for all points of a job; > 0 */
};

struct view_job {
	const char *id;   /* unique among the live jobs, < JOB_ID_MAX; never reused for another */
	const char *type; /* program name for profiles and the trace table; NULL unknown */
	/*
	 * Whose it is: a number that is the same for all jobs of one user, and no two users'; which
	 * one means nothing. What is learnt of a program is its owner's: what outlives a job is
	 * kept by owner and type. 0 for all: one owner.
	 */
	int64_t owner;
	int64_t order;           /* order of arrival: smaller came first; unique */
	int threads;             /* that it has; 0 unknown */
	int cores;               /* core count asked for / fair share; 0: the policy chooses */
	int min_cores;           /* 0 or 1: no wish; no more than its envelope has counts */
	struct coreset envelope; /* PUs it may ever get; empty: the whole node */
	struct coreset current;  /* PUs it has now; empty: not placed yet */
	/* From here to home_numa: what changes with each sample. A policy that settles (policy.h)
	 * goes by none of it. */
	struct signal signal[SIGNAL_COUNT];
	double runnable;    /* of its threads, that ran or wanted to, on average; 0 unknown */
	uint64_t sample_no; /* changes with every new sample of signal[]; smoothing keys on it */
	const struct speed_point *speed; /* measured scalability, ascending cores; NULL none */
	int n_speed;
	/* It is in a rotation; there so far, s: it wanted a core, in line or in its slice; of that,
	 * it was not kept waiting. false: it is in none, or its driver does not know. */
	bool in_turns;
	double wanted_s, served_s;
	/*
	 * Processor time it had on the CPUs it has by right over all the time of those, 0..1;
	 * unlike utilisation without what it waited, and over what it was dealt. false: not told;
	 * where it borrows nothing else tells it, utilisation is of all that it may use.
	 */
	bool has_executed;
	double executed;
	int home_numa;    /* -1 unknown */
	double rss_bytes; /* < 0 unknown */
	bool has_priority, priority_high;
	int core;   /* core_lx it runs on (das-*); -1 none */
	double qos; /* least fraction of its fair-share speed; 0: policy's default */
	int nodes;  /* nodes of the step; > 1 keeps its envelope unless independent */
	/*
	 * Processes that wait for one another by polling; 0 none known. On fewer cores than that
	 * they take turns with the others (shares.c). A driver that cannot freeze it says 0.
	 */
	int polling;
	/* Processes of an MPI that was told to give their core away while they wait for one
	 * another; 0 none known. Threads beside them were not. */
	int yielding;
	/* Computes for a while, waits for long, and again: what it leaves the others get. Where all
	 * do, none of them goes before the others (gang). false: it was not seen to. */
	bool bursty;
	/* Its threads wait for one another at least every millisecond of their running, and it
	 * always has some to run: caches that others fill meanwhile cost it much (shared_turns.c).
	 * false: not known to, or no driver to freeze it. */
	bool coupled;
	bool borrows;  /* it may run on others' CPUs, too */
	bool excluded; /* counted, never moved (--coloc-exclude, user binding) */
};

enum event_type {
	EVENT_ARRIVAL,
	EVENT_END,
	EVENT_PHASE,
	EVENT_TICK,
	EVENT_EXPERIMENT_RESULT,
	EVENT_TASK_DONE,
};

const char *event_type_name(enum event_type e); /* "arrival" "end" "phase" ... */

struct event {
	enum event_type type;
	const char *job;       /* arrival, end, phase, experiment_result; else NULL */
	int cores;             /* experiment_result */
	double speed;          /* experiment_result */
	const char *task_type; /* task_done, and whose: */
	int64_t owner;
	int core, width; /* task_done: core_lx and cores */
	double seconds;  /* task_done */
};

struct ptt_entry {
	const char *type;
	int core, width;
	double seconds;
	int64_t owner; /* of the programs of that type */
};

struct view {
	double now_s; /* monotonic, any origin */
	uint64_t seed;
	int slice_ms;              /* a turn of a polling job; 0: 100 */
	const struct event *event; /* in order; job events are seen before the decision */
	int n_events;
	const struct view_job *job; /* the live jobs (an ended one is only in event[]) */
	int n_jobs;
	const int *capacity; /* overrides cores per domain; NULL: the topology's */
	int n_capacity;
	const struct coreset *fast_cores; /* das-fa*: statically fast PUs; NULL unknown */
	const struct coreset *reserved;   /* PUs nobody may get; NULL none */
	/* Of the last-level caches, that the driver can deal to clusters of jobs; 0: none, or
	 * nobody tells. Who sets clusters unasked looks here. */
	int cache_ways;
	const struct ptt_entry *ptt; /* first view only: initial trace table */
	int n_ptt;
};

/*
 * Threads for which it has something to do: programs and their libraries have others that only
 * sleep. Of what is not known, all.
 */
static inline double view_job_wants(const struct view_job *j)
{
	return j->runnable > 0 && j->runnable < j->threads ? j->runnable : j->threads;
}

#endif
