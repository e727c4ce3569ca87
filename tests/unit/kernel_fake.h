/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_fake.h - cpusets and threads' masks as the kernel keeps them (v1, v2, with and without a
 * memory of masks), behind an fsroot, and one thing that happens at a call that the test names:
 * an error, a fork, a death, a step that vanishes, or the caller's own end. Values are served from
 * memory; directories are true ones.
 *
 * Link it with kernel_fake_link of actuate.mk, which wrap what the actuators call.
 */
#ifndef COLOC_TESTS_KERNEL_FAKE_H
#define COLOC_TESTS_KERNEL_FAKE_H

#include "nodesvc/actuate/internal.h"
#include "tests/unit/fstree.h"

#define FAKE_DIRS    5
#define FAKE_THREADS 256

struct fake_thread {
	pid_t tid, tgid, ppid;
	bool alive;
	bool orphan;            /* who forked it is gone and nobody can tell its first mask */
	bool pinned;            /* by its program, after the first change */
	bool stubborn;          /* refuses every mask, as a kernel's own thread does */
	bool stepd;             /* slurmstepd */
	bool young;             /* its process has hardly run; else it has, and starts nobody */
	int64_t cpu_ns;         /* of its process; 0: as young says */
	const char *executable; /* NULL: one that starts nobody */
	struct coreset asked;   /* by sched_setaffinity() last */
	struct coreset first;   /* its mask without anything of ours */
};

enum fake_event {
	FAKE_NOTHING,
	FAKE_FAIL,    /* that call fails, with the @which-th of the errors it may have */
	FAKE_FAIL_ON, /* that and all later ones */
	FAKE_REFUSE,  /* from that call on no thread takes a mask */
	FAKE_FORK,    /* before the call each process gets a thread and a child */
	FAKE_DIE,     /* the last rank's process and its threads end */
	FAKE_VANISH,  /* the whole step ends */
	FAKE_STOP,    /* the caller is killed: from here no call has an effect */
};

struct kernel_fake {
	struct fstree tree;
	bool v2;
	bool remembers;   /* Linux 6.2 and later */
	int n_dirs, step; /* directories; the one that is changed. Threads are in the last. */
	struct {
		const char *path;
		int parent;
		struct coreset cpus;
		struct coreset first; /* in force at the start */
	} dir[FAKE_DIRS];
	bool gone;
	struct fake_thread thread[FAKE_THREADS];
	int n_threads;
	/* What happens at call @at from now, the first being 1. */
	enum fake_event event;
	int at, which;
	int stop_after;   /* the caller is killed so many calls later; 0 not */
	int calls;        /* since fake_at() */
	int lists;        /* readings of a directory's threads or processes */
	int64_t later_us; /* passes before the clock is read next */
	bool happened;    /* the call came, and could fail */
	bool more;        /* it may fail with more errors than the @which-th */
	char where[96];   /* what call it was */
};

extern struct kernel_fake fake;

/* A node of 16 CPUs, a job with 0-9, a step with @step_cpus of it. */
void fake_open(bool v2, bool remembers, const char *step_cpus);
void fake_close(void);
/* Returns its index. @leader -1: a process of its own, a child of @ppid; else a thread of that. */
int fake_add_thread(int leader, pid_t ppid, const char *mask);
/* The process of thread @i ends, or thread @i alone. */
void fake_end(int i);
/* CPUs go offline: v1 takes them out of every cpuset for good, v2 of what is in force. */
void fake_offline(const char *cpus);
/* What sched_getaffinity() says. */
struct coreset fake_mask(const struct fake_thread *t);
/* CPUs in force in a directory. */
struct coreset fake_in_force(int dir);
/* Arms @event for call @at; FAKE_NOTHING: all is well from here. */
void fake_at(enum fake_event event, int at, int which);
struct coreset fake_set(const char *text);

#endif
