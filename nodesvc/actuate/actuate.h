/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actuate.h - how a plan becomes true, and how it is undone.
 *
 * Every original cpuset and thread mask is in the ledger before it is changed; apply reads back
 * what the kernel took. All paths go through one fsroot. Called from the daemon's loop only.
 */
#ifndef COLOC_ACTUATE_ACTUATE_H
#define COLOC_ACTUATE_ACTUATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/coreset.h"
#include "common/err.h"
#include "common/fsroot.h"
#include "nodesvc/record/ledger.h"

/* Step numbers of Slurm's special steps (slurm.h: SLURM_BATCH_SCRIPT and so on). */
#define ACTUATE_STEP_BATCH       UINT32_C(0xfffffffb)
#define ACTUATE_STEP_EXTERN      UINT32_C(0xfffffffc)
#define ACTUATE_STEP_INTERACTIVE UINT32_C(0xfffffffa)

/* Where a step lives, found from /proc/PID/cgroup, never built from ids. */
struct step_cgroup {
	char node[64];            /* Slurm node name as in the path; "" when the path has none */
	uint32_t job_id, step_id; /* as the path says; step: SLURM_BATCH_SCRIPT etc. kept */
	char job_path[256];       /* below the fsroot: "sys/fs/cgroup/cpuset/slurm_n/uid_0/job_1" */
	char step_path[256];      /* its cpuset: ".../step_0", with cgroup v2 ".../step_0/user" */
	uint64_t step_inode;
	/*
	 * The job's directory where its name is no job number (Slurm 26.05 on cgroup v2), else "".
	 * job_id is 0 then: the path proves the step number and that it is a step of Slurm's, but
	 * not whose; the caller has to take the job's number from who told it the pid.
	 */
	char sluid[16];
	/*
	 * The caller's word, which locate() leaves false: its tasks start nobody, and how their
	 * runtime waits hangs on the mask that it is born with. They are moved before they execute
	 * their program (rebind: masks), not once they run.
	 */
	bool born_placed;
};

struct actuate_result {
	struct coreset coreset; /* what the kernel took: cpuset.cpus read back */
	int threads; /* threads that have the whole set, or their rank's share, read back */
	int pinned;  /* threads whose mask the program itself chose, inside it or not */
	int foreign; /* threads left alone: slurmstepd's own */
};

struct actuate; /* a live backend: fsroot, ledger, node's PUs */

struct actuate_ops {
	const char *name; /* "cgroup-v1", "cgroup-v2", "none" */
	/* -ENOENT: @pid is in no Slurm step of this hierarchy. */
	int (*locate)(struct actuate *a, pid_t pid, struct step_cgroup *ret, struct errbuf *err);
	/* The step whose directory @path bore @inode, as locate() gave it. -ENOENT: it has ended.
	 * NULL: this backend knows no directories. */
	int (*locate_dir)(struct actuate *a, const char *path, uint64_t inode,
		struct step_cgroup *ret, struct errbuf *err);
	/* Directories of that job and step, one for each node of Slurm's on this kernel: how many,
	 * at most @max. Not where job directories bear no number (sluid). NULL as above. */
	int (*locate_ids)(struct actuate *a, uint32_t job_id, uint32_t step_id,
		struct step_cgroup *ret, int max, struct errbuf *err);
	/* All threads in the step, slurmstepd's own left out; *ret malloc'ed. Also says whether the
	 * step still exists: -ENOENT. */
	int (*threads)(struct actuate *a, const struct step_cgroup *s, pid_t **ret, int *ret_n);
	/* A number that is another when the list of threads is; to know without threads() that
	 * nobody came or went. -ENOENT as above. NULL: this backend cannot tell. */
	int (*mark)(struct actuate *a, const struct step_cgroup *s, uint64_t *ret);
	/* What Slurm gave: the job level's CPUs (the envelope) and the step's. */
	int (*allocation)(struct actuate *a, const struct step_cgroup *s, struct coreset *ret_job,
		struct coreset *ret_step, struct errbuf *err);
	/*
	 * Ledger, cpuset, every thread's mask (until no new thread turns up), read back. Every
	 * thread of the step gets the whole set, or, where Slurm bound the step's tasks side by
	 * side, its task's share of it; threads that the program pinned inside the set stay so. On
	 * failure all is as before. Errors:
	 * -EINVAL empty set, -ERANGE not inside the job level (v1, unless actuate_allow_outside():
	 * then the step's processes move to a cpuset of our own until restore; v2 widens the job
	 * level, which is in the ledger then) or no such CPU, -EBUSY a level below the step holds
	 * other CPUs (v2; v1 takes levels below along), -ENOENT the step has ended, -EIO the kernel
	 * took something else, -EAGAIN threads do not settle, or the ledger's.
	 *
	 * Not before Slurm has bound *all* local tasks of the step, that is, at task_start of the
	 * last one: slurmstepd calls sched_setaffinity() on the tasks one after the other, and one
	 * whose mask is outside a set that is already narrower ends the step ("task_g_set_affinity:
	 * Invalid argument", then "task 1 launch failed", seen with 22.05).
	 */
	int (*apply)(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
		struct actuate_result *ret, struct errbuf *err);
	/* Does the kernel still hold @set? 0 yes, 1 no, <0 error (-ENOENT: the step has ended).
	 * Cheap: reads the step's cpuset only. */
	int (*verify)(struct actuate *a, const struct step_cgroup *s, const struct coreset *set);
	/* Where the step is now: what it was given, by us or by one before us whose place is taken
	 * over then; else what its level holds in the kernel. 0 or -errno. */
	int (*current)(struct actuate *a, const struct step_cgroup *s, struct coreset *ret,
		struct errbuf *err);
	/* Puts back what the ledger holds for the step and forgets it there; nothing recorded or
	 * step gone: 0. A job level that was widened goes back with the last of its steps. */
	int (*restore)(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
};

extern const struct actuate_ops actuate_none;

/*
 * actuate_open - chooses (v1, v2: whichever has the cpuset controller), else "none", which
 * finds steps but changes nothing; actuate_why_not() then has the reasons. @root and @ledger
 * outlive it.
 */
int actuate_open(struct actuate **ret, const struct fsroot *root, struct ledger *ledger,
	const struct coreset *all_pus, struct errbuf *err);
void actuate_close(struct actuate *a);
const struct actuate_ops *actuate_get_ops(const struct actuate *a);
/* Why no cgroup backend was chosen; "" when one was. */
const char *actuate_why_not(const struct actuate *a);

/* What a node's files show of a hierarchy, for who asks without acting. */
struct actuate_found {
	char text[96];
	const char *advice; /* static, what to do about it; NULL: it can be used */
};
/* Of the last hierarchy that is there; false: none is. */
bool actuate_find(const struct fsroot *root, struct actuate_found *ret);

/* May apply() take sets beyond the job's allocation (v1: false at first; v2 takes them always)? */
void actuate_allow_outside(struct actuate *a, bool allow);

/* CPUs have gone offline or come: these are the node's now. */
void actuate_set_pus(struct actuate *a, const struct coreset *all_pus);

/* How apply() places (false at first): true, by the masks of the step's threads, its cpuset stays
 * Slurm's; false, by its cpuset. */
void actuate_by_masks(struct actuate *a, bool yes);
/*
 * actuate_look - where masks place: whoever has bound itself, or was born on another mask, is put
 * where its step is to be; changes that apply() left unfinished go on. Returns after @budget_ns or
 * so and goes on from there when it is called next; true: all have been looked at.
 */
bool actuate_look(struct actuate *a, int64_t budget_ns);
/* Threads of a step, of so many, that a change which goes on has not come to; 0 none goes on. */
int actuate_left(const struct actuate *a, const struct step_cgroup *s, int *ret_of);

/*
 * actuate_restore_all - puts back everything in the ledger, whoever wrote it: on stop, release
 * and at start after a crash. Returns the number of steps restored or dropped as gone, <0 when
 * some could not be (they stay in the ledger; the text names the first).
 */
int actuate_restore_all(struct actuate *a, struct errbuf *err);

/*
 * actuate_watch_fd - poll for POLLIN: cpuset.cpus of a step that apply() holds, or of its job, has
 * been written (inotify; tells of v1 files as well). -1 where the kernel gave no descriptor:
 * verify() at each tick finds the same.
 */
int actuate_watch_fd(const struct actuate *a);
/*
 * actuate_watch_read - calls @fn for each step whose own cpuset.cpus no longer holds what apply()
 * wrote, or whose job's has changed since; once per step and call. Our own writes are told from
 * others' by their value. @fn may apply and restore. Returns the number of calls.
 */
int actuate_watch_read(struct actuate *a, void (*fn)(const char *step_path, void *arg), void *arg);

#endif
