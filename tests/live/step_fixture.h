/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_fixture.h - a cpuset tree as Slurm makes it, with processes of ours in it.
 *
 * Lives under slurm_coloctest<pid> of this test alone. step_tree_sweep() kills what is in it and
 * removes it; call it from a process that outlives the tests, so that nothing stays after a crash.
 */
#ifndef COLOC_TESTS_STEP_FIXTURE_H
#define COLOC_TESTS_STEP_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/coreset.h"

#define STEP_THREADS_MAX 16

/* NULL when such trees can be made here, else why not. */
const char *step_tree_why_not(void);
/* Makes slurm_.../uid_0/job_1/step_0 with these CPUs on all levels. */
void step_tree_make(const char *top, const char *cpus);
/* Makes one more directory below the top ("uid_0/job_1/step_1"). */
void step_tree_mkdir(const char *top, const char *sub, const char *cpus);
void step_tree_sweep(const char *top);

/* Writes <top>/<sub>/cpuset.cpus: 0 or -errno. */
int step_write(const char *top, const char *sub, const char *cpus);
/* Reads it, without the newline, into a static buffer. */
const char *step_read(const char *top, const char *sub);

enum worker_kind {
	WORKER_IDLE,    /* threads that wait */
	WORKER_THREADS, /* creates and joins short-lived threads without pause */
	WORKER_FORKS,   /* forks short-lived children without pause */
	WORKER_PARENT,  /* one child, its own process (worker.tid[1]), that waits */
	WORKER_LATER,   /* the same, forked at worker_fork() */
};

struct worker {
	pid_t pid;
	int n;                       /* threads, the leader included */
	pid_t tid[STEP_THREADS_MAX]; /* tid[0] is pid */
	int fd;                      /* where it tells of a new one */
};

/*
 * Starts a process in <top>/<sub>, under @comm; @mask: cpulist that it is bound to before it makes
 * its threads, NULL none. Returns when all @n threads are there.
 */
struct worker worker_start(const char *top, const char *sub, const char *comm, const char *mask,
	int n, enum worker_kind kind);
/* WORKER_LATER: its child's pid. */
pid_t worker_fork(struct worker *w);
void worker_stop(struct worker *w);

/* A thread's mask as text, "gone" when it is not there; static buffer of 8, so usable in pairs. */
const char *mask_of(pid_t tid);
void set_mask_of(pid_t tid, const char *cpus);

/* Every thread of a step: its mask and the cpuset as one text, for comparison; malloc'ed. */
char *step_snapshot(const char *top, const char *sub);

/*
 * Runs @suite, which it takes over, with a tree of its own: @top gets its name, @ret_pus the CPUs
 * there are. Returns an exit status: 77 where such trees cannot be made, with the reason printed.
 */
int step_tree_main(Suite *suite, char *top, size_t size, struct coreset *ret_pus);

#endif
