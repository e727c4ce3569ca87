/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * freeze.h - freezing whole steps, only where Slurm itself thaws: the step's own group of the v1
 * freezer, step_N/user of cgroup v2. A job level would hold slurmstepd, a group of our own drains
 * the node. Batch, extern and interactive steps are never frozen.
 *
 * A step that takes part has one row in the ledger from before its first freeze until
 * freezer_drop(), and a slot with the guard. Who else writes the file (Slurm: suspend, resume, and
 * a thaw before each signal that is to end a step) is told from ourselves by fanotify.
 * Called from the daemon's loop only.
 */
#ifndef COLOC_ACTUATE_FREEZE_H
#define COLOC_ACTUATE_FREEZE_H

#include <stdbool.h>
#include <stdint.h>

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/actuate/guard.h"

/* More steps at once take no part. */
#define FREEZER_MAX 1024

struct freezer;
struct freezer_hold; /* one step that takes part */

/*
 * freezer_open - finds the freezer: the v1 controller if it is mounted, else cgroup v2. @guard may
 * be NULL (tests); all three outlive it. -ENOTSUP: there is none, the text says why.
 */
int freezer_open(struct freezer **ret, const struct fsroot *root, struct ledger *ledger,
	struct guard *guard, struct errbuf *err);
/* Thaws and drops whatever is held. NULL is fine. */
void freezer_close(struct freezer *f);

/* Thaws what a former daemon left frozen and empties the ledger of it; number of rows, or <0.
 * @thawed: its guard has done the former (guard_take_mark()), and what is frozen is Slurm's. */
int freezer_restore_all(struct freezer *f, bool thawed, struct errbuf *err);
/* The same of one directory. */
int freezer_restore_path(struct freezer *f, const char *path, struct errbuf *err);
/* Is a step of this directory held? */
bool freezer_holds(const struct freezer *f, const char *path);

/*
 * freezer_hold - takes a step in: place, ledger, guard, watch. @pid: one of its tasks. Nothing is
 * frozen yet. Errors: -EPERM its kind is never frozen, -ENOENT it has ended, -EPROTO the process
 * is in another step, -ENOSPC too many, or the ledger's; nothing is held then.
 */
int freezer_hold(struct freezer *f, pid_t pid, const struct step_cgroup *s,
	struct freezer_hold **ret, struct errbuf *err);
/* Thaws (unless Slurm holds it frozen), forgets, frees. 0, or what stopped it: the row stays. */
int freezer_drop(struct freezer *f, struct freezer_hold *h, struct errbuf *err);

/*
 * freezer_freeze, freezer_thaw - nothing is written when it is so already. The guard thaws it at
 * @until_ns at the latest. Tasks stop when they next leave the kernel: nobody waits for that here.
 * -ENOENT: the step has ended; -EBUSY: Slurm holds it frozen.
 */
int freezer_freeze(struct freezer *f, struct freezer_hold *h, int64_t until_ns, struct errbuf *err);
int freezer_thaw(struct freezer *f, struct freezer_hold *h, struct errbuf *err);
/*
 * freezer_find - the group of a step of any kind, which need not take part: by one of its processes
 * (-ENOENT it has ended, -EPROTO it is in another step). freezer_state: 1 the group is frozen, by
 * whomever and at whatever level; 0 it is not; -ENOENT it is gone.
 */
int freezer_find(struct freezer *f, pid_t pid, const struct step_cgroup *s, char *ret, size_t size,
	struct errbuf *err);
int freezer_state(const struct freezer *f, const char *dir);
bool freezer_is_frozen(const struct freezer_hold *h); /* by us */
bool freezer_is_suspended(const struct freezer_hold *h);

/* Starts telling others' writes; without it Slurm's suspend would be undone, so rotate refuses.
 * -EPERM, -ENOSYS ... */
int freezer_watch(struct freezer *f, struct errbuf *err);
int freezer_watch_fd(const struct freezer *f); /* -1: no watch */
enum freezer_news {
	FREEZER_SUSPENDED, /* frozen by Slurm: ours no longer, its ledger row is gone */
	FREEZER_RESUMED,   /* thawed again: ours again */
	FREEZER_THAWED,    /* thawed by Slurm without a suspend: a signal is on its way */
};
/* Calls @fn for each step that somebody else wrote to. */
void freezer_watch_read(struct freezer *f,
	void (*fn)(struct freezer_hold *h, enum freezer_news news, void *arg), void *arg);

#endif
