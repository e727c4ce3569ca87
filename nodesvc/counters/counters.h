/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters.h - where signals come from. A backend turns a job step (its threads, its cgroup)
 * into cumulative counts; rates are made here, from two samples and their own elapsed time.
 *
 * Not thread-safe; the daemon's loop calls it. Nothing here blocks.
 */
#ifndef COLOC_COUNTERS_COUNTERS_H
#define COLOC_COUNTERS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/budget.h"
#include "common/err.h"
#include "common/fsroot.h"
#include "nodesvc/engine/view.h"

enum counter_id {
	COUNTER_INSTRUCTIONS,
	COUNTER_CYCLES,
	COUNTER_LOADS,
	COUNTER_LLC_REFS,
	COUNTER_LLC_MISSES,
	COUNTER_MEM_BYTES,
	COUNTER_COUNT,
};
#define COUNTER_BIT(id) (UINT32_C(1) << (id))

/* Cumulative, summed over the step's threads; multiplexing already scaled. */
struct sample {
	int64_t t_ns;   /* CLOCK_MONOTONIC */
	uint32_t valid; /* COUNTER_BIT()s */
	uint64_t count[COUNTER_COUNT];
	/* of enabled time the counters really ran: 1 = not multiplexed, NAN unknown */
	double running_ratio;
};

struct counter_target {
	const pid_t *tid; /* threads now in the step (slurmstepd left out) */
	int n_tids;
	const char *cgroup; /* v2 or perf_event directory that holds just the step; NULL none */
};

/*
 * What a site counts by instead of a backend's own event (coloc.yaml: events.*): PAPI's name of
 * it, and what one count stands for ("NAME*64": 64 bytes). An empty name: the backend's own.
 */
#define COUNTER_EVENT_MAX 128
struct counter_event {
	char name[COUNTER_EVENT_MAX];
	double factor; /* > 0 */
};
struct counter_events {
	struct counter_event of[COUNTER_COUNT];
};
/* "auto", "NAME" or "NAME*FACTOR". -EINVAL with what is wrong; @ret untouched. */
int counter_event_parse(struct counter_event *ret, const char *text, struct errbuf *err);
/* What a counter is called below events: in coloc.yaml; NULL: it has no key. */
const char *counter_event_key(enum counter_id id);
/* The text that parses to @e, in @ret. */
#define COUNTER_EVENT_TEXT_MAX (COUNTER_EVENT_MAX + 32)
const char *counter_event_text(const struct counter_event *e, char ret[COUNTER_EVENT_TEXT_MAX]);

struct counters; /* a backend's state for one step */

struct counters_ops {
	const char *name; /* "papi", "perf", "profile", "replay", "none" */
	/*
	 * Before a probe, copied: count by these. -EINVAL: *@ret_bad has an event that this
	 * machine's CPU does not, or that another one has as well; nothing changed. Where the
	 * library has no CPU to know events of, it takes them unseen. NULL: the backend knows no
	 * events by name.
	 */
	int (*set_events)(
		const struct counter_events *events, enum counter_id *ret_bad, struct errbuf *why);
	/*
	 * Tries the real thing (opens, attaches to a child, counts, undoes it). 0: usable, and
	 * *ret_provides says which COUNTER_BIT()s were seen to count; -ENOTSUP and friends with
	 * the reason: use the next source.
	 */
	int (*probe)(uint32_t *ret_provides, struct errbuf *why);
	/*
	 * After a probe: the event that counts @c, by its own name, NULL none; *@ret_remark, what
	 * it counts besides or why there is none (NULL nothing to say). Static storage. NULL where
	 * a backend has no events.
	 */
	const char *(*event)(enum counter_id c, const char **ret_remark);
	int (*open)(struct counters **ret, const struct counter_target *target, struct errbuf *err);
	/* Takes up threads that came since; then reads. -ESRCH the step is gone. */
	int (*read)(struct counters *c, const struct counter_target *target, struct sample *ret,
		struct errbuf *err);
	void (*close)(struct counters *c); /* NULL is fine */
};

extern const struct counters_ops counters_papi, counters_perf, counters_none;

struct counters_choice {
	const struct counters_ops *ops; /* never NULL: at worst counters_none */
	uint32_t provides;
	char report[1024]; /* one line per source tried: "papi: reason" */
};
/*
 * Probes in the order of @sources ("papi,perf" ...; NULL: that order) and takes the first.
 * @events: what to count by, where a source knows events by name; NULL the source's own.
 */
void counters_choose(
	struct counters_choice *ret, const char *sources, const struct counter_events *events);

/* Two samples of one step -> per-thread rates of the SIGNAL_* they hold, provenance hw. Counters
 * that went backwards, or no time elapsed: that signal stays PROVENANCE_NONE. */
void counters_rates(const struct sample *before, const struct sample *after, int n_threads,
	struct signal ret[SIGNAL_COUNT]);

/*
 * Live utilisation: (run time + run-queue delay) of the step's threads from
 * /proc/TID/schedstat / (min(threads, cores) * elapsed), clamped to 0..1. Threads that came or
 * went between two reads count with what was seen of them.
 */
struct utilization;
int utilization_open(struct utilization **ret, const struct fsroot *root, struct errbuf *err);
/* First call after open (or of a new thread) only remembers. 0 with provenance os (or none when
 * no time elapsed); *ret_runnable: mean number of threads that ran or wanted to. */
int utilization_read(struct utilization *u, const pid_t *tid, int n_tids, int64_t now_ns, int cores,
	struct budget *budget, struct signal *ret, double *ret_runnable, struct errbuf *err);
/* How many threads the last reading knew from earlier ones, and how long ago the oldest of those
 * was; 0 all were read. */
int utilization_unread(const struct utilization *u, int64_t *ret_ns);
/* Cores that its threads really ran on, mean since the read before; NAN unknown. */
double utilization_running(const struct utilization *u);
/* Cpu time of its threads between the last two reads, s; NAN unknown. */
double utilization_ran_s(const struct utilization *u);
/* Of that, for each time that one of them was given a CPU, s; NAN unknown. */
double utilization_stretch_s(const struct utilization *u);
/*
 * utilization_still_runs - since it was last looked at, by this or by utilization_read(), did the
 * thread that ran most before the last read run for @share of the time and more? One line of proc.
 * False may mean anything: others run, no time has passed, it ended. Changes none of the others'
 * results.
 */
bool utilization_still_runs(struct utilization *u, int64_t now_ns, double share);
/*
 * What the last read's utilisation may have been without others on the cores, >= its value; NAN
 * unknown. A thread that is held up may hold up those that wait for it: at most as if the step had
 * had only the time in which nobody was held up. One that could run but did not in all the interval
 * waits still, its delay is not booked yet: it wanted all of it. Reads a state per thread that did
 * not run: for samples that would tell a change.
 */
double utilization_at_most(const struct utilization *u);
/* Of the time between the last two reads; seconds. */
struct utilization_span {
	double ran_s, held_s; /* its threads, together: on a CPU; in line for one */
	double most_ran_s;    /* the one with most: on a CPU */
	double most_wanted_s; /* on a CPU or in line */
	int works; /* threads that since they were first seen did so for a twentieth of the time */
};
/* False: not known; also where half of its threads or more were not seen before: what began and
 * ended in between has run unseen. */
bool utilization_span(const struct utilization *u, struct utilization_span *ret);
void utilization_close(struct utilization *u);

/*
 * What a solo run of a program measured; rates per thread. Stored per (type, user, width, node
 * type); see record.h.
 */
struct profile {
	char type[JOB_TYPE_MAX];
	char user[33];
	char node_type[64];
	char source[16];           /* "papi", "perf", "cachegrind" */
	int threads;               /* width of the run */
	double solo_s;             /* native wall time, alone; median of the runs */
	double utilization;        /* native, alone */
	double rate[SIGNAL_COUNT]; /* per thread per second of the native run; NAN unknown */
	double ll_bytes;           /* cachegrind's LL size; 0 where hardware counted */
	int64_t taken_unix_s;
	int count;     /* runs behind it */
	double spread; /* (max-min)/median of the native times; NAN with one run */
};
/* Scaled signals of a running step: solo per-thread rate * live / solo utilisation; the miss ratio
 * as it was. @live_utilization NAN: none. Writes the same signals as counters_rates(). Of a signal
 * that comes out as no machine's (signal_is_sane()) the value is left, with provenance none. */
void profile_scale(
	const struct profile *p, double live_utilization, struct signal ret[SIGNAL_COUNT]);

#endif
