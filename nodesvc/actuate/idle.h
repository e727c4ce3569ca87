/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle.h - a step that runs only where nobody else wants to: the donee of a core donation, beside
 * the donor on the donor's cores.
 *
 * cgroup v2: cpu.idle of the job's group, the level at which jobs compete. (Below it the value
 * would only count among the job's own groups.) All steps of the job are idle then.
 * cgroup v1: SCHED_IDLE for each thread of the step; threads born later inherit it and come back as
 * their process. A thread that had chosen SCHED_IDLE before has a row too, which says so; one that
 * chooses it while it is lent cannot be told and comes back as it was. Where the kernel groups
 * sessions by itself (autogroup), the session's weight goes to the least too.
 *
 * Originals are in the ledger before they are changed. Called from the daemon's loop only.
 */
#ifndef COLOC_ACTUATE_IDLE_H
#define COLOC_ACTUATE_IDLE_H

#include "nodesvc/actuate/actuate.h"

/*
 * May process @pid ask for SCHED_OTHER while it is SCHED_IDLE? It believes itself there already, so
 * the kernel's refusal (which goes by RLIMIT_NICE) would be our fault. The plugin gives steps the
 * limit for it; nobody without is made idle thread by thread.
 */
bool idle_may_leave(const struct actuate *a, pid_t pid);
/* -ENOENT the step has ended, -ENOTSUP no such control here, -EACCES a process could not leave
 * SCHED_IDLE by itself, -EAGAIN its threads do not settle, or
 * the ledger's; then nothing is changed that is not in the ledger. */
int idle_set(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
/*
 * Puts back what the ledger has for the step and forgets it. Nothing there, or it has ended: 0.
 * 1: who was idle is so no more, but a fork that had begun may still bear one who is: the rows stay
 * for another look, which finds nobody when all who were woken have slept or run since. <0: they
 * stay too.
 */
int idle_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
/* The same by a path of the ledger, a step's or a job's. */
int idle_restore_path(struct actuate *a, const char *path, struct errbuf *err);
/* The same for everything in the ledger, whoever wrote it, with as many looks as it takes (1 s at
 * most); number of steps, or <0. */
int idle_restore_all(struct actuate *a, struct errbuf *err);

#endif
