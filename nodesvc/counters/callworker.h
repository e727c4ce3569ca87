/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callworker.h - a process of its own that counts how often programs come by places in files
 * (tracefs.h): it alone has the probes and perf's descriptors.
 *
 * Of its own, because the first opening of a place and the last closing wait for all CPUs, and
 * since no other child of the daemon's may hold a descriptor: a program traps until the last one is
 * closed. It ends with the daemon, however that ends, and takes its names out of the kernel; what
 * it left when it was killed itself goes at the next start. The daemon asks and never waits, but
 * for callworker_ask().
 *
 * Counting never touches a program but for the trap, 1 to 10 us each. Events are tracepoint events
 * with inherit: threads and children of a task are counted with it, exactly. perf's own "uprobe"
 * events must not be used: with inherit, clone() of what they count fails with EFAULT (Linux 6.18).
 *
 * To open an event on a program that runs, the kernel writes its traps into it, and waits for all
 * CPUs first: 10 ms on a quiet node, 70 on a busy one. Before a task executes its program there is
 * nothing to write: its events begin at the exec, and are opened at once.
 */
#ifndef COLOC_COUNTERS_CALLWORKER_H
#define COLOC_COUNTERS_CALLWORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/fsroot.h"

struct callworker;

#define CALLS_PROBES     8   /* of a set, counted at once */
#define CALLS_TIDS       512 /* of a message */
#define CALLS_PROBES_ALL 256
/* What takes it so long hangs. */
#define CALLS_HANG_NS INT64_C(10000000000)
#define CALLS_NOBODY  UINT32_MAX

enum call_op {
	CALL_PROBE, /* place .probe[0] is .offset of the file whose descriptor comes with it */
	CALL_DROP,  /* .probe[0] is wanted no more */
	CALL_OPEN, /* counts .probe[] of .tid[] as .set; .length_ns: closed by itself after that, or
		    * when .max_hits of them all are reached; 0: when it is told */
	CALL_TASKS, /* .tid[] too */
	CALL_READ,  /* says what .set has */
	CALL_CLOSE, /* the same, and no more of it */
};

struct call_request {
	enum call_op op;
	uint32_t set;
	uint32_t ask; /* comes back with the answer */
	int n_probes;
	uint32_t probe[CALLS_PROBES];
	uint64_t offset;
	int64_t length_ns;
	uint64_t max_hits;
	bool unstarted; /* OPEN, TASKS: who has not executed its program yet is counted from there
			 */
	int n_tids;     /* so many of tid[] are sent */
	uint32_t owner; /* uid of whose program it is about, for callworker_hangs() */
	pid_t tid[CALLS_TIDS];
};

struct call_counts {
	uint64_t calls;
	double per_s; /* sum over the tasks, each by its own time */
	double cpu_s; /* processor time of the tasks and who they started, while it was counted; of
			 a window with that of switching between them */
	int callers;  /* tasks that made any */
};

enum call_kind {
	CALL_READY, /* once, at the start: .rc, .text why it does not work here; else .cost_ns */
	CALL_MADE,  /* a probe: .probe, .rc, .text */
	CALL_COUNTS,
};

struct call_answer {
	enum call_kind kind;
	uint32_t set, ask, probe;
	int rc;
	char text[160];
	double cost_ns; /* of one call, processor time */
	/* of a set */
	bool ended;       /* it is closed */
	int64_t began_ns; /* CLOCK_MONOTONIC: its first task was opened */
	int64_t t_ns;     /* it was read */
	int n_probes;
	int tasks, failed; /* counted; could not be, .text has the first reason */
	int started;       /* of .unstarted, had executed their program before */
	struct call_counts count[CALLS_PROBES];
};

/* @owner: as of tracefs_open(). @root outlives it. Before the daemon opens anything, if it can. */
int callworker_start(
	struct callworker **ret, const struct fsroot *root, const char *owner, struct errbuf *err);
/* It closes what it has by itself, and nobody waits for it. NULL is fine. */
void callworker_stop(struct callworker *w);
/* Readable: an answer, or it is gone. */
int callworker_fd(const struct callworker *w);
pid_t callworker_pid(const struct callworker *w);
/*
 * callworker_hangs - a file system has not answered for CALLS_HANG_NS, be it that a user has it in
 * his hands: *ret_owner is of the request, CALLS_NOBODY of none. Then callworker_kill(), and start
 * another.
 */
bool callworker_hangs(const struct callworker *w, uint32_t *ret_owner);
void callworker_kill(const struct callworker *w);

/* @fd: for CALL_PROBE, else -1; stays the caller's. -EAGAIN: it has too much to do; -EPIPE gone. */
int callworker_send(struct callworker *w, const struct call_request *r, int fd);
/* 1; 0: none is there; -EPIPE it is gone. */
int callworker_take(struct callworker *w, struct call_answer *ret);

#endif
