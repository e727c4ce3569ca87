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

struct freezer;
struct guard;
struct resctrl;
struct thread_listing;

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
	int resting; /* threads left where Slurm has them: their process hardly runs */
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

/*
 * thread_list.c: the threads of a step, read anew only where they are others: to list them costs
 * three files for each process, to see that they are the same one for each cgroup of the step
 * (measured: of the daemon's time in a rotation of four MPI programs a third and a twentieth).
 *
 * How many there are its user chooses: an update takes a few milliseconds of the loop at most, and
 * goes on at the next one; what took long is not read again soon.
 */

/* Zeroed: not read yet. */
struct thread_list {
	pid_t *tid; /* [n], slurmstepd's own left out */
	int n;
	uint64_t mark; /* actuate_ops.mark */
	bool has_mark;
	int64_t at_ns;    /* when it was read last, also where it had not changed; 0 never */
	int64_t again_ns; /* not before */
	struct thread_listing *reading;
};

/*
 * thread_list_update - 0, and whether the list is another one: the old one stays while the next is
 * read. <0: there is none (-ENOENT the step is gone, -EAGAIN the first is being read), and the old
 * one stays. Loop thread.
 */
int thread_list_update(
	struct thread_list *l, struct actuate *a, const struct step_cgroup *s, bool *ret_changed);
/* One is being read, over several updates. */
bool thread_list_is_reading(const struct thread_list *l);
void thread_list_done(struct thread_list *l);

/*
 * classes.c: the scheduling class of a step's single threads: as it was, or SCHED_IDLE, at which a
 * thread runs where nobody else wants to.
 *
 * Every original is in the ledger, in the rows of idle.c, before any class is changed; so
 * idle_restore() and idle_restore_all() put back what is done here. Threads that are born later
 * inherit the class; they are noted with the original of their process, or of the one that forked
 * it, so they come back as well; what was idle by its own choice, and what it forks, stays so.
 * Called from the daemon's loop only.
 */

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

/*
 * idle.c: a step that runs only where nobody else wants to: the donee of a core donation, beside
 * the donor on the donor's cores.
 *
 * cgroup v2: cpu.idle of the job's group, the level at which jobs compete. (Below it the value
 * would only count among the job's own groups.) All steps of the job are idle then. cgroup v1:
 * SCHED_IDLE for each thread of the step; threads born later inherit it and come back as their
 * process. A thread that had chosen SCHED_IDLE before has a row too, which says so; one that
 * chooses it while it is lent cannot be told and comes back as it was. Where the kernel groups
 * sessions by itself (autogroup), the session's weight goes to the least too.
 *
 * Originals are in the ledger before they are changed. Called from the daemon's loop only.
 */

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

/*
 * mems.c: a step's memory goes where its threads went: its pages, and then its cpuset.mems.
 *
 * Pages first, by move_pages(2) in chunks at a bounded rate: what the kernel moves itself when
 * cpuset.mems is written (always with cgroup v2, with v1 where cpuset.memory_migrate is 1) it
 * moves in one piece, and the write waits for it. cpuset.mems last, so that with v2 little is left
 * to move then; v1's memory_migrate stays as it is found. "Nodes" are memory nodes, a coreset of
 * the kernel's numbers.
 *
 * The original is in the ledger before it is changed. All but mems_move() is called from the
 * daemon's loop only and does not wait; giving nodes back moves no page.
 */

/* Of a node's memory: so much must stay to be had where a step is kept on it. */
#define MEMS_RESERVE_RATIO 0.1

/* The nodes that @cpus belong to; *ret_n: how many the machine has, 1 where it does not say. */
int mems_of_cpus(const struct fsroot *root, const struct coreset *cpus, struct coreset *ret,
	int *ret_n, struct errbuf *err);
/* Of all @nodes together, bytes: what there is, and what is free or only caches files. */
int mems_free(const struct fsroot *root, const struct coreset *nodes, uint64_t *ret_total,
	uint64_t *ret_free, struct errbuf *err);

/*
 * mems_record - the step's cpuset.mems into the ledger. Errors: -ENOENT the step has ended,
 * -ENOTSUP no cgroup hierarchy, -ERANGE @nodes are not the job's to have, or the ledger's.
 */
int mems_record(struct actuate *a, const struct step_cgroup *s, const struct coreset *nodes,
	struct errbuf *err);
/* Puts back what the ledger has and forgets it. Nothing there, or the step has ended: 0. */
int mems_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
int mems_restore_path(struct actuate *a, const char *path, struct errbuf *err);
/* The same for everything in the ledger, whoever wrote it; number of steps, or <0. */
int mems_restore_all(struct actuate *a, struct errbuf *err);

struct mems_moved {
	uint64_t moved_bytes, left_bytes; /* left: the kernel would not, or shared with others */
};
/*
 * mems_move - moves the pages of the step's processes to @nodes, at most @mib_per_s MiB a second,
 * then writes cpuset.mems (in the ledger by mems_record()). Takes long: for a process of its own,
 * which may be killed at any moment. Pages of files that others map too stay with it.
 * Errors: -ENOSPC @nodes have no room for them, with MEMS_RESERVE_RATIO to spare: nothing is moved;
 * -ENOENT the step has ended, -EIO the kernel holds other nodes than were written.
 */
int mems_move(struct actuate *a, const struct step_cgroup *s, const struct coreset *nodes,
	int mib_per_s, struct mems_moved *ret, struct errbuf *err);

/*
 * guard.c: a process of its own that thaws what the daemon froze, when the daemon cannot: killed
 * (the socket between them ends) or hung (a group stays frozen past its deadline).
 *
 * libc only; forked before the daemon opens anything, so it holds no lock, socket or database. It
 * shares one table with the daemon: which files, what to write into them, until when. It sleeps
 * while nothing is frozen and survives SIGTERM, SIGINT and SIGHUP; SIGKILL to it alone is seen by
 * the daemon (guard_fd), which thaws, and starts it again. Called from the daemon's loop only.
 */

/*
 * @max: files at once. @root outlives it. @mark: a file below it that the guard makes when the
 * daemon has gone and all that was frozen is thawed; "" none.
 */
int guard_start(struct guard **ret, const struct fsroot *root, const char *mark, int max,
	struct errbuf *err);
/*
 * guard_take_mark - 1: a guard of before thawed what its daemon left, so that whatever is frozen
 * now is so by another hand; 0: none says so. Takes the mark away, without which this daemon's own
 * end would be misread: <0 it could not.
 */
int guard_take_mark(const struct guard *g);
/* Forks it anew after it died; what was armed stays armed. */
int guard_restart(struct guard *g, struct errbuf *err);
/* Ends it; it thaws first whatever is still armed. NULL is fine. */
void guard_stop(struct guard *g);

pid_t guard_pid(const struct guard *g);
/* A pidfd: readable when the process has gone. */
int guard_fd(const struct guard *g);

/* guard_add - a slot for @file (below the fsroot) which @thaw written into it thaws. Returns the
 * slot; -ENOSPC, -ENAMETOOLONG. */
int guard_add(struct guard *g, const char *file, const char *thaw);
/* Before the file is frozen: thaw it if the daemon ends, or at @until_ns (CLOCK_MONOTONIC). */
void guard_arm(struct guard *g, int slot, int64_t until_ns);
/* After it was thawed, or when the freeze became another's. */
void guard_disarm(struct guard *g, int slot);
void guard_remove(struct guard *g, int slot);
/* Instead of that, where it could not be thawed: the guard does, at once and as often as it takes,
 * and then frees the slot. */
void guard_leave(struct guard *g, int slot);

/*
 * freeze.c: freezing whole steps, only where Slurm itself thaws: the step's own group of the v1
 * freezer, step_N/user of cgroup v2. A job level would hold slurmstepd, a group of our own drains
 * the node. Batch, extern and interactive steps are never frozen.
 *
 * A step that takes part has one row in the ledger from before its first freeze until
 * freezer_drop(), and a slot with the guard. Who else writes the file (Slurm: suspend, resume, and
 * a thaw before each signal that is to end a step) is told from ourselves by fanotify. Called from
 * the daemon's loop only.
 */

/* More steps at once take no part. */
#define FREEZER_MAX 1024

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

/*
 * resctrl.c: ways of the last-level cache and steps of memory bandwidth for a few clusters of
 * steps, by the kernel's resctrl file system (Intel CAT and MBA, AMD QoS).
 *
 * A cluster is a control group "coloc-N". Masks of clusters are contiguous and disjoint; steps in
 * none share the whole cache as before, in the default group. Groups of others are never touched,
 * nor threads that are in one. Every group is in the ledger before it is made; removing it puts
 * its threads back into the default group. Called from the daemon's loop only.
 *
 * Source: the kernel's Documentation/arch/x86/resctrl.rst; few clusters, not one class per job:
 * El-Sayed et al., KPart, HPCA 2018.
 */

#define RESCTRL_CLUSTERS_MAX 4
#define RESCTRL_CACHES_MAX   64

struct resctrl_caps {
	int n_ways;              /* 0: no cache allocation */
	uint32_t ways;           /* cbm_mask: all of them */
	uint32_t shareable;      /* ways that other hardware may use too */
	int min_ways;            /* of a group */
	bool code_data;          /* code and data apart (mount option cdp) */
	int n_groups;            /* the kernel's limit, the default group included */
	int bandwidth_step;      /* percent; 0: no bandwidth allocation in percent */
	int bandwidth_least;     /* percent */
	int n_caches, n_domains; /* of cache and bandwidth lines */
	int cache[RESCTRL_CACHES_MAX], domain[RESCTRL_CACHES_MAX]; /* their ids */
};

struct resctrl_cluster {
	double ways;      /* part of the cache, (0, 1]; the clusters' sum is at most 1 */
	double bandwidth; /* part of the bandwidth its cores may draw, (0, 1]; 0: no limit */
};

/*
 * resctrl_open - looks at what is mounted. -ENOTSUP: the text says what is missing and how it is
 * had. @root and @ledger outlive it.
 */
int resctrl_open(
	struct resctrl **ret, const struct fsroot *root, struct ledger *ledger, struct errbuf *err);
/* Groups that are there stay: see resctrl_clear(). NULL is fine. */
void resctrl_close(struct resctrl *r);
const struct resctrl_caps *resctrl_get_caps(const struct resctrl *r);

/*
 * resctrl_masks - each cluster's ways: contiguous, disjoint, at least min_ways, without those that
 * other hardware shares where enough are left; parts by largest remainder. Errors: -EINVAL parts
 * outside (0, 1] or more than 1 together, -ERANGE not so many ways. @ret untouched then.
 */
int resctrl_masks(const struct resctrl_caps *caps, const struct resctrl_cluster *c, int n,
	uint32_t *ret, struct errbuf *err);
/* The nearest step of bandwidth, percent. */
int resctrl_bandwidth(const struct resctrl_caps *caps, double part);

/*
 * resctrl_set - 2 to RESCTRL_CLUSTERS_MAX clusters as they are to be: makes groups, writes and
 * reads back their schemata; groups of ours beyond @n go. Errors: as resctrl_masks(); -ENOTSUP no
 * such lever here; -ENOSPC no group is left; -EEXIST a group of that name is not ours; -EIO the
 * kernel holds something else; or the ledger's. On an error no group of ours is left.
 */
int resctrl_set(struct resctrl *r, const struct resctrl_cluster *c, int n, struct errbuf *err);
/*
 * resctrl_assign - all threads of the step into cluster @cluster (-1: the default group), until no
 * new one turns up; what they fork goes with them. -EBUSY: one is in a group of others', nothing
 * is moved; -ENOENT the step has ended, -EAGAIN its threads do not settle.
 */
int resctrl_assign(struct resctrl *r, struct actuate *a, const struct step_cgroup *s, int cluster,
	struct errbuf *err);
/* Removes every group in the ledger, whoever made it; number of them, or <0. */
int resctrl_clear(struct resctrl *r, struct errbuf *err);
/* One of them; the second where there is no resctrl to open any more. */
int resctrl_remove(struct resctrl *r, const char *path, struct errbuf *err);
int resctrl_remove_left(
	const struct fsroot *root, struct ledger *ledger, const char *path, struct errbuf *err);

/*
 * wakeup.c: idle CPUs of a virtual machine that look for work for a moment before they halt, so
 * that a thread that has gone to sleep there runs at once when it is woken soon.
 *
 * A virtual CPU that halts has to be brought back by its hypervisor. The kernel's cpuidle governor
 * haltpoll polls first, for as long as has paid lately and at most guest_halt_poll_ns: 200 us as
 * kernels have it, and 0, never, where it was turned off. A thread that becomes runnable takes the
 * CPU from the polling at once. It is one setting for all CPUs.
 *
 * The original is in the ledger before it is changed; what somebody else has written since is left
 * as it is. Called from the daemon's loop only. Source: the kernel's Documentation/virt/guest-
 * halt-polling.rst.
 */

/* The kernel's own default. 50 us and 1 ms did as well (doc/results/waitpolicy.md). */
#define WAKEUP_POLL_NS 200000

/*
 * wakeup_probe - can idle CPUs be told to poll? -ENOTSUP: the text says why not.
 * *ret_polls: they do as it is, for WAKEUP_POLL_NS or longer.
 */
int wakeup_probe(const struct fsroot *root, bool *ret_polls, struct errbuf *err);

/* They poll for WAKEUP_POLL_NS at most from now on, read back; who polls as long leaves it. Errors:
 * -EIO the kernel holds something else, or what reading and writing and the ledger give. */
int wakeup_poll(const struct fsroot *root, struct ledger *ledger, struct errbuf *err);
/* Puts back what the ledger has, whoever wrote it, and forgets it. 1, 0 there was nothing, or <0:
 * it could not be, and stays in the ledger. */
int wakeup_restore(const struct fsroot *root, struct ledger *ledger, struct errbuf *err);

#endif
