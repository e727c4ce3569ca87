/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes.h - the scheduling class of a step's single threads: as it was, or SCHED_IDLE, at which a
 * thread runs where nobody else wants to.
 *
 * Every original is in the ledger, in the rows of idle.h, before any class is changed; so
 * idle_restore() and idle_restore_all() put back what is done here. Threads that are born later
 * inherit the class; they are noted with the original of their process, or of the one that forked
 * it, so they come back as well; what was idle by its own choice, and what it forks, stays so.
 * Called from the daemon's loop only.
 */
#ifndef COLOC_ACTUATE_CLASSES_H
#define COLOC_ACTUATE_CLASSES_H

#include "nodesvc/actuate/actuate.h"

struct class_thread {
	pid_t tid, tgid;
	uint64_t start_ticks;
	int original; /* SCHED_OTHER or SCHED_BATCH, unless it is fixed */
	/* Left alone: of another class by its own or somebody's decision, or idle_may_leave() says
	 * no. */
	bool fixed;
	struct coreset cpu; /* where it may run now */
};

/*
 * classes_list - all threads of the step, slurmstepd's left out, processes in order of their
 * numbers, each with its main thread first; notes the originals of those that the ledger lacks.
 * @before: the last list of the same step (NULL, 0: none); tells a thread that was idle by itself
 * from one born of a thread that we made so. *ret malloc'ed. Errors: -ENOENT the step has ended,
 * -ENOTSUP no cgroup hierarchy, or the ledger's; nothing is changed by any.
 */
int classes_list(struct actuate *a, const struct step_cgroup *s, const struct class_thread *before,
	int n_before, struct class_thread **ret, int *ret_n, struct errbuf *err);
/* 0, also when it has ended meanwhile; -EPERM and the like. A fixed thread stays as it is. */
int classes_set(const struct class_thread *t, bool low, struct errbuf *err);
/*
 * classes_look - does it run or wait for a core now, or has it run since the last look? @fd: kept
 * between looks at the same thread (-1 at first; closed by the caller), NULL: not worth keeping.
 * *run_ns: its cpu time at the last look, 0 none. Asleep, stopped, frozen or ended: false.
 */
bool classes_look(const struct actuate *a, const struct class_thread *t, int *fd, uint64_t *run_ns);

#endif
