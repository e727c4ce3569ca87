/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * internal.h - what the files of this room share; nobody else includes it.
 */
#ifndef COLOC_ACTUATE_INTERNAL_H
#define COLOC_ACTUATE_INTERNAL_H

#include "common/fsroot.h"
#include "nodesvc/actuate/actuate.h"

/* A cpuset file that is longer than this is no cpulist of a machine we can hold. */
#define CPUS_TEXT_MAX (CORESET_STR_MAX + 2)
/* "<step path>/cpuset.cpus" */
#define FILE_MAX 320

/* Where cgroups are mounted, as a rule. */
#define CGROUPS "sys/fs/cgroup"

/* "sF7DM7XM43H300" */
#define SLUID_LEN 14

/* Rows of one step, sorted by tid: as in the ledger, or as read before a change. */
struct rows {
	struct ledger_thread *v;
	int n, cap;
};

void rows_free(struct rows *r);
int rows_put(struct rows *r, const struct ledger_thread *t);
const struct ledger_thread *rows_find(const struct rows *r, pid_t tid, uint64_t start_ticks);
/* Whatever its start; for rows that were read a moment ago. */
const struct ledger_thread *rows_find_tid(const struct rows *r, pid_t tid);

/* A step that apply() holds: what it wrote last, and who watches the files. */
struct held {
	struct step_cgroup step;
	char dir[FILE_MAX];     /* where its CPUs are */
	struct coreset set;     /* last applied */
	struct coreset job_set; /* job level at that time */
	int wd_step, wd_job;    /* inotify; -1 none. Two steps of a job share wd_job. */
};

/* A set that a step had or was to have, where the way back failed: some of its threads may still
 * have their rank's share of it. */
struct tried {
	char step_path[256]; /* "" free */
	struct coreset set;
};

/* No more steps than this are half-way back at once; the oldest is forgotten first. */
#define TRIED_MAX 32

struct actuate {
	const struct actuate_ops *ops;
	const struct hierarchy *h; /* NULL: none */
	const struct fsroot *root;
	struct ledger *ledger;
	struct coreset all_pus;
	char mount[256];      /* of the cpuset hierarchy, below the fsroot */
	char mount_root[256]; /* which directory of the hierarchy is mounted there; "" the top */
	char why_not[256];    /* why no cgroup backend was chosen */
	struct held *held;
	int n_held;
	struct tried tried[TRIED_MAX];
	int next_tried;
	int watch_fd;         /* -1 none */
	int read_rc;          /* masks.c: what could not be read in this pass, 0 nothing */
	bool outside;         /* sets may go beyond the job's allocation */
	bool by_masks;        /* steps are placed by their threads' masks: steer.c */
	struct steer **steer; /* those that are */
	int n_steers, look_at;
	pid_t newest;        /* during a look: the last that was forked on the node; 0 unknown */
	struct woken *woken; /* idle.c */
	int n_woken, woken_cap;
};

/* ---- locate.c: texts of /proc, no access to files ------------------------------------------ */

/* What is mounted: its type, an option of it (NULL: any), and what messages call it. */
struct mount_kind {
	const char *what, *type, *option;
};

/*
 * Finds the first such mount in the text of /proc/PID/mountinfo. @mount is below the fsroot, @root
 * without leading slash ("" the whole hierarchy). -ENOENT: not mounted.
 */
int locate_mounted(
	const char *mountinfo, const struct mount_kind *kind, char *mount, char *root, size_t size);
/*
 * Finds the line of /proc/PID/cgroup whose controllers include @controller ("": the v2 line, which
 * names none) and copies its path.
 * -ENOENT no such line.
 */
int locate_cgroup_path(const char *cgroup, const char *controller, char *ret, size_t size);
/*
 * Reads a Slurm step out of a cgroup path ("/slurm_n/uid_0/job_1/step_0[/task_0]"); fills all but
 * step_inode, with paths relative to the hierarchy. -ENOENT: not below a Slurm step.
 */
int locate_step(const char *path, struct step_cgroup *ret);
/*
 * The same for v2 ("/system.slice/n_slurmstepd.scope/job_1/step_0/user[/task_0]"): any prefix, any
 * node. -ENOENT also for slurmstepd itself, which sits beside "user" and is not to be moved.
 */
int locate_step_v2(const char *path, struct step_cgroup *ret);
/* ---- locate_pid.c: the same for a process -------------------------------------------------- */

/* locate_mounted() of this process's mountinfo. -ENOTSUP: none is mounted. */
int locate_mount(const struct fsroot *root, const struct mount_kind *kind, char *mount, char *top,
	size_t size, struct errbuf *err);
/* @pid's step, by its path in the hierarchy of @controller, told by @a's struct hierarchy. */
int locate_pid(struct actuate *a, pid_t pid, const char *controller, struct step_cgroup *ret,
	struct errbuf *err);
/* struct actuate_ops has these. */
int locate_dir(struct actuate *a, const char *path, uint64_t inode, struct step_cgroup *ret,
	struct errbuf *err);
int locate_ids(struct actuate *a, uint32_t job_id, uint32_t step_id, struct step_cgroup *ret,
	int max, struct errbuf *err);

/* ---- proc.c -------------------------------------------------------------------------------- */

struct proc_stat {
	char comm[64];
	char state;
	pid_t ppid;
	uint64_t start_ticks;  /* since boot, survives exec, tells a reused tid apart */
	uint64_t child_faults; /* of children it has waited for: another when one has ended */
};

struct proc_thread {
	pid_t tid, tgid;
	bool foreign;         /* slurmstepd's own */
	uint64_t start_ticks; /* proc_stat's, where the scan has read it; else 0 */
};

/* What a scan found, by tid; kept for the scans that follow within the same change, in which no
 * number is given anew. Zero-initialised. */
struct proc_known {
	struct proc_thread *v;
	int n;
};

void proc_known_free(struct proc_known *k);

/* Parses the text of /proc/TID/stat; comm may hold anything, also ')' and newlines. -EINVAL. */
int proc_stat_parse(const char *text, struct proc_stat *ret);
/* -ESRCH: gone. A process's own: @tid = @tgid. */
int proc_stat_read(const struct fsroot *root, pid_t tgid, pid_t tid, struct proc_stat *ret);
/* How long the thread that leads process @pid has waited for a CPU in its life, ns; 0: not known.
 */
int64_t proc_waited_ns(const struct fsroot *root, pid_t pid);
/* How long thread @tid of process @tgid has run in its life, ns; -1: not known. */
int64_t proc_ran_ns(const struct fsroot *root, pid_t tgid, pid_t tid);
/*
 * All threads in v1 cpuset directory @path (below the fsroot) and those below it, by process, its
 * leader first; malloc'ed. -ENOENT: no such directory. Leaves it in @known (NULL: nowhere); while
 * nobody is new to that, only the list of threads is read.
 */
int proc_scan_known(const struct fsroot *root, const char *path, struct proc_known *known,
	struct proc_thread **ret, int *ret_n);
/* The same for a directory where none is slurmstepd's. */
int proc_scan_all(
	const struct fsroot *root, const char *path, struct proc_thread **ret, int *ret_n);
/* The same for v2; none is slurmstepd's there. */
int proc_scan_tree(
	const struct fsroot *root, const char *path, struct proc_thread **ret, int *ret_n);
/*
 * The numbers alone, ascending, of the threads that file @threads lists in @path and all below;
 * slurmstepd's own left out where @tell_foreign. For less than a scan: nobody is asked which
 * threads a process has. malloc'ed.
 */
int proc_list(const struct fsroot *root, const char *path, const char *threads, bool tell_foreign,
	pid_t **ret, int *ret_n);
/* The numbers in @file ("tasks", "cgroup.threads", "cgroup.procs") of @path and all below, sorted
 * and without repeats; malloc'ed. */
int proc_pids(
	const struct fsroot *root, const char *path, const char *file, pid_t **ret, int *ret_n);
/* The process that @tid is a thread of. -ESRCH gone. */
int proc_tgid(const struct fsroot *root, pid_t tid, pid_t *ret);
/* Is @pid, one of the processes @procs of a v1 step, its slurmstepd? 0 no (or gone), 1 yes, <0. */
int proc_is_slurmstepd(const struct fsroot *root, pid_t pid, const pid_t *procs, int n);
/* A hash of @file ("tasks", "cgroup.threads") of @path and all below; see actuate.h: mark. */
int proc_mark(const struct fsroot *root, const char *path, const char *file, uint64_t *ret);
/* sched_getaffinity and sched_setaffinity: 0 or -errno (-ESRCH gone). */
int proc_get_mask(pid_t tid, struct coreset *ret);
int proc_set_mask(pid_t tid, const struct coreset *mask);
/* Processor time of process @pid, all its threads, in its life: 0 or -errno. */
int proc_cpu_ns(pid_t pid, int64_t *ret);
/* The path of what it executes, cut where it does not fit: 0 or -errno (-ESRCH gone). */
int proc_executable(const struct fsroot *root, pid_t pid, char *ret, size_t size);

/* ---- tree.c -------------------------------------------------------------------------------- */

/*
 * Calls @fn for @dir and every directory below it, until one returns other than 0, which is
 * returned. -ENOENT from @fn below @dir: that level has gone, the walk goes on.
 */
int tree_each(const struct fsroot *root, const char *dir,
	int (*fn)(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err),
	void *arg, struct errbuf *err);

/* ---- masks.c: the rules of masks ----------------------------------------------------------- */

struct hierarchy;

struct masks {
	struct actuate *a;
	const struct hierarchy *h;
	const char *path;        /* of the step: what the ledger knows it by */
	char dir[FILE_MAX];      /* has its CPUs and threads; @path, unless they were moved out */
	struct coreset original; /* CPUs of the step before anything of ours */
	struct coreset before;   /* CPUs of the step before this change */
	/* What cpuset.cpus read at these times: v2 lets it be empty, or not in force. */
	struct coreset original_cpus, before_cpus;
	bool is_ours;               /* the ledger knew the step before this change */
	bool has_ranks;             /* Slurm bound the step's tasks to different parts of it */
	struct coreset last;        /* what apply() gave the step last; else @before */
	struct rows ledger;         /* what is in the ledger */
	struct rows recorded_pins;  /* the same of pins, as of the last change */
	struct rows seen;           /* every thread's mask before this change */
	struct rows pins;           /* those of them that the program chose, displaced ones too */
	struct proc_thread *thread; /* as listed when @seen was read */
	int n_threads;
	pid_t *workers; /* those of them that are no processes, sorted */
	int n_workers;
	struct proc_known known;
};

void masks_done(struct masks *m);
/* Reads every thread's mask into @seen. */
int masks_look(struct masks *m, struct errbuf *err);
/* The same, and writes to the ledger what it lacks, pins too, in one transaction; @cs NULL when the
 * step is there already. */
int masks_record(struct masks *m, const struct ledger_cpuset *cs, struct errbuf *err);
/*
 * Before the cpuset is written: ranks' threads off their shares. At any time a thread has its
 * rank's share of the cpuset that is in force, or none, so whoever comes after a crash can tell it
 * from a program's own mask.
 */
int masks_let_go(struct masks *m, struct errbuf *err);
/* After the cpuset holds @set: every thread onto it, until none turns up that is not. */
int masks_release(
	struct masks *m, const struct coreset *set, struct actuate_result *ret, struct errbuf *err);
/* After the cpuset holds @target again: masks back to @rows (the ledger's, or @seen). */
int masks_put_back(
	struct masks *m, const struct rows *rows, const struct coreset *target, struct errbuf *err);

/* ---- ranks.c ------------------------------------------------------------------------------- */

/* @ret: the part of @set that is to it as @part is to @whole, by the order of CPUs. No CPU of @part
 * in @whole, or an empty @set: empty. */
void ranks_share(struct coreset *ret, const struct coreset *part, const struct coreset *whole,
	const struct coreset *set);

/* ---- change.c: one change of a step's cpuset and masks, the same in both hierarchies ------- */

/*
 * A hierarchy of cgroups as Slurm uses it: what is different in it. It is one file, which
 * actuate/local.mk names twice.
 */
struct hierarchy {
	struct actuate_ops ops;  /* CGROUP_OPS, and what it does in its own way */
	struct mount_kind mount; /* that has the cpusets */
	const char *controller;  /* its line of /proc/PID/cgroup; "": the one that names none */
	const char *below_step;  /* of a step's directory, below step_N */
	const char *mems;        /* file with the memory nodes that are in force */
	/* Optional: why what is mounted at @mount is of no use: -ENOTSUP. */
	int (*check)(const struct fsroot *root, const char *mount, struct errbuf *err);
	/* The step that a directory is of; -ENOENT: of none. */
	int (*parse)(const char *path, struct step_cgroup *ret);
	/* As actuate_find(). */
	bool (*find)(const struct fsroot *root, struct actuate_found *ret);
	/* ops.apply() with cpusets. */
	int (*apply)(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
		struct actuate_result *ret, struct errbuf *err);
	/* idle_set(). */
	int (*idle)(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
	/* Where it freezes, and how. */
	struct freezer_kind {
		struct mount_kind mount;
		const char *controller, *file, *freeze, *thaw;
		const char *events; /* a file that has "frozen 1" also by a level above; NULL: file
				       tells */
	} freezer;
	/* Optional: has the step been moved out of its directory? Then @ret is where to. */
	bool (*where)(const struct actuate *a, const char *step_path, char *ret, size_t size);
	/* File with the CPUs that are in force; v1: cpuset.cpus says it itself. */
	const char *effective;
	const char *threads_file; /* lists a directory's */
	bool tells_slurmstepd;    /* it is among them */
	int levels_below_job;     /* of a step's directory */
	/* As proc_scan_known(). */
	int (*scan)(const struct fsroot *root, const char *path, struct proc_known *known,
		struct proc_thread **ret, int *ret_n);
	/* Optional: called before each write of a set into the step; undone by who called apply. */
	int (*make_room)(const struct masks *m, const struct coreset *set, struct errbuf *err);
	/*
	 * Writes @cpus, an earlier value of the step's cpuset.cpus, or as much of it as the levels
	 * above still allow; @ret: the CPUs in force then.
	 */
	int (*write_back)(const struct masks *m, const struct coreset *cpus, struct coreset *ret,
		struct errbuf *err);
	/* steer.c: the step's cpuset as wide as it goes, at least @set; its originals are in the
	 * ledger. And back, if it is; also of a step that has ended. */
	int (*widen)(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
		struct errbuf *err);
	int (*narrow)(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
};

/* All that there are, up to a NULL. The kernel gives the cpuset controller to one hierarchy: at
 * most one of them has it, also on a hybrid node. */
extern const struct hierarchy *const hierarchies[];

/* ---- cgroup.c: ops that go by struct hierarchy alone --------------------------------------- */

int cgroup_locate(struct actuate *a, pid_t pid, struct step_cgroup *ret, struct errbuf *err);
int cgroup_threads(struct actuate *a, const struct step_cgroup *s, pid_t **ret, int *ret_n);
int cgroup_mark(struct actuate *a, const struct step_cgroup *s, uint64_t *ret);
int cgroup_apply(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *err);
int cgroup_verify(struct actuate *a, const struct step_cgroup *s, const struct coreset *set);
int cgroup_current(
	struct actuate *a, const struct step_cgroup *s, struct coreset *ret, struct errbuf *err);

/* For find(): there, but of no use, and the cure. True. */
bool cgroup_unfit(struct actuate_found *ret, const char *text, const char *advice);

#define CGROUP_OPS                                                                                 \
	.locate = cgroup_locate, .locate_dir = locate_dir, .locate_ids = locate_ids,               \
	.threads = cgroup_threads, .mark = cgroup_mark, .apply = cgroup_apply,                     \
	.verify = cgroup_verify, .current = cgroup_current

/* The directory that has the CPUs and the threads of step @path. */
void change_where(const struct hierarchy *h, const struct actuate *a, const char *path, char *ret,
	size_t size);

/* Of the ops of the same name; what differs comes by @h. */
int change_apply(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct actuate_result *ret, struct errbuf *err);
int change_verify(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set);
int change_restore(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err);
/* As change_restore(), but the ledger keeps the originals. */
int change_put_back(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err);
/* The step's originals into the ledger, nothing else. */
int change_record(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err);
/* -EINVAL empty, -ERANGE not within the node's CPUs, -ENOENT the step has ended. */
int change_check_set(const struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct errbuf *err);
/* Is @path the directory of this inode? 0 yes, -ENOENT it is known to be gone, else the error that
 * keeps it from being known. */
int change_is_there(const struct actuate *a, const char *path, uint64_t inode, struct errbuf *err);
/* What the ledger is to know @path by. */
int change_inode(const struct actuate *a, const char *path, uint64_t *ret, struct errbuf *err);
/*
 * What the ledger has on directory @path: 0, or -ENOENT nothing. Rows of an earlier directory of
 * that name are forgotten. @ret and @ret_set (the original cpuset.cpus) may be NULL.
 */
int change_recorded(struct actuate *a, const char *path, struct ledger_cpuset *ret,
	struct coreset *ret_set, struct errbuf *err);

/* ---- cpus.c: cpuset.cpus of a directory below the fsroot ------------------------------------ */

/* @file of @dir, which holds a cpulist. */
int cpus_read_file(const struct fsroot *root, const char *dir, const char *file,
	struct coreset *ret, struct errbuf *err);
int cpus_read(const struct fsroot *root, const char *dir, struct coreset *ret, struct errbuf *err);
/* The text without trailing newlines; @ret may be NULL. */
int cpus_read_text(const struct fsroot *root, const char *dir, char *text, size_t size,
	struct coreset *ret, struct errbuf *err);
/* -EIO: the kernel holds something else than @set; the text has both. */
int cpus_check(const struct fsroot *root, const char *dir, const char *file,
	const struct coreset *set, struct errbuf *err);
/* Writes unless it reads so already, then checks. An empty set is written as the kernel wants it.
 */
int cpus_write(
	const struct fsroot *root, const char *dir, const struct coreset *set, struct errbuf *err);
/* @ret: the part of @set that the level above @dir has in force (its file @effective), or all of
 * that where nothing is left. */
int cpus_cut_to_above(const struct fsroot *root, const char *dir, const char *effective,
	const struct coreset *set, struct coreset *ret, struct errbuf *err);
/*
 * cpus_put_back - the part of @set, an earlier value, that the level above @dir allows by now (a
 * CPU may have gone offline, Slurm have taken some away), or all of what that has where nothing is
 * left. @effective: as struct hierarchy's; where that is another file than cpuset.cpus (v2), the
 * kernel takes what the level above lacks and lets it wait there. @ret: what was written.
 */
int cpus_put_back(const struct fsroot *root, const char *dir, const char *effective,
	const struct coreset *set, struct coreset *ret, struct errbuf *err);

/* ---- idle.c -------------------------------------------------------------------------------- */

/* The ledger's row of a thread whose scheduling class is changed; idle_restore() takes it back. */
void idle_row(struct ledger_setting *ret, const char *path, uint64_t inode, pid_t tid,
	uint64_t start_ticks, int policy);
/* What a hierarchy may have for idle_set(): the job's group as a whole, or thread by thread. */
int idle_set_group(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
int idle_set_threads(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
/* A step's threads, also where they were moved out of its directory. */
int idle_scan(struct actuate *a, const char *step_path, struct proc_thread **ret, int *ret_n);

/* ---- watch.c ------------------------------------------------------------------------------- */

void watch_open(struct actuate *a);
/* Notes that @s holds @set in @dir (job level @job_set) and watches its files. Never fails: a step
 * that cannot be watched is still found by verify(). */
void watch_hold(struct actuate *a, const struct step_cgroup *s, const char *dir,
	const struct coreset *set, const struct coreset *job_set);
void watch_drop(struct actuate *a, const char *step_path);
/* What the step was given last; false: this daemon has not given it anything. */
bool watch_last(const struct actuate *a, const char *step_path, struct coreset *ret);
/* Notes that the way back from @set failed, until watch_drop(). */
void watch_tried(struct actuate *a, const char *step_path, const struct coreset *set);
/* The next such set of the step after the *@at-th place, which is moved on; NULL no more. */
const struct coreset *watch_next_tried(const struct actuate *a, const char *step_path, int *at);
/* We have written @set into the job level: no news. */
void watch_job(struct actuate *a, const char *job_path, const struct coreset *set);
void watch_close(struct actuate *a);

/* mems_file.c: between mems.c (cpuset.mems) and mems_move.c (pages). */

#define MEMS_FILE "cpuset.mems"

/* The nodes in force in directory @path. */
int mems_read(const struct actuate *a, const char *path, struct coreset *ret, struct errbuf *err);
/* Writes directory @path's nodes and reads back what is in force. -ENOENT gone, -EIO other. */
int mems_write(
	const struct actuate *a, const char *path, const struct coreset *nodes, struct errbuf *err);

/* One mapping of a line of /proc/PID/numa_maps. */
struct mems_vma {
	uint64_t start;
	uint64_t foreign; /* pages of 4 KiB (or what a page is) on other nodes than those wanted */
	bool is_file;     /* of a file on disk: others may map it too */
};
/* False: nothing of it is elsewhere, or it cannot be moved (huge pages of their own kind). */
bool mems_vma_parse(const char *line, const struct coreset *nodes, struct mems_vma *ret);

/*
 * resctrl_dirs.c: how groups come and go; tests have directories that the kernel does not fill.
 */

struct resctrl_dirs {
	int (*make)(const struct fsroot *root, const char *path);
	int (*remove)(const struct fsroot *root, const char *path);
};
void resctrl_set_dirs(struct resctrl *r, const struct resctrl_dirs *dirs);

/* v1.c: between v1.c (steps), v1_below.c (what lies below them) and v1_out.c (moved out). */

/*
 * Before @set is written into the step of @m: levels below get @set, their originals in the ledger
 * first; the step has @set and what it had until it is written itself. Nothing below: 0 at once.
 */
int v1_below_follow(const struct masks *m, const struct coreset *set, struct errbuf *err);
/* How many levels are below a step's. */
int v1_below_count(struct actuate *a, const char *step_path, int *ret_n, struct errbuf *err);
/* Is @path below a step's level? */
bool v1_is_below(const char *path);
/* One level below a step, back to what the ledger has, as far as the step allows it. */
int v1_below_restore(struct actuate *a, const char *path, struct errbuf *err);
/* All of a step that has been restored, or has ended. */
int v1_below_restore_all(struct actuate *a, const char *step_path, struct errbuf *err);

/* Our own directory of the cpuset hierarchy. */
#define V1_OUT "coloc"

/* Has the step been moved out? 1 yes, @ret is its directory there; 0 no; <0 that cannot be told. */
int v1_out_look(const struct actuate *a, const char *step_path, char *ret, size_t size);
/* The same, for what does no harm where it is taken to be at its place. */
bool v1_out_where(const struct actuate *a, const char *step_path, char *ret, size_t size);
/* As locate_step(), also for a process that was moved out. */
int v1_out_locate(const char *path, struct step_cgroup *ret);
int v1_out_scan(const struct fsroot *root, const char *path, struct proc_known *known,
	struct proc_thread **ret, int *ret_n);
/* Out: same CPUs as before. Its originals are in the ledger. On failure it is where it was, unless
 * v1_out_where() says that the way back failed too. */
int v1_out_move(struct actuate *a, const struct step_cgroup *s, struct errbuf *err);
/* Back, and the directory removed. Not moved out: 0. -EBUSY: a step that has ended is still in it;
 * to be asked again. */
int v1_out_return(struct actuate *a, const char *step_path, struct errbuf *err);

/* v2.c: between v2.c (steps) and v2_job.c (their jobs' level). */

#define V2_EFFECTIVE "cpuset.cpus.effective"

/* The directory @levels above @path. -EINVAL: there are not so many. */
int v2_above(const char *path, int levels, char *ret, size_t size);
/*
 * Before @set is written into the step of @m: sees to it that the job's CPUs in force cover it, the
 * original in the ledger first. -ERANGE: the levels above the job do not have it.
 */
int v2_job_widen(const struct masks *m, const struct coreset *set, struct errbuf *err);
/*
 * After a change: the job's level, if it is in the ledger, becomes its original plus what its steps
 * in the ledger hold; without such steps it is forgotten.
 */
int v2_job_settle(struct actuate *a, const char *job_path, struct errbuf *err);

/* ---- steer.c: a step is placed by its threads' masks; ops of the same name ------------------- */

int steer_apply(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set, struct actuate_result *ret, struct errbuf *err);
int steer_verify(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	const struct coreset *set);
/* -EXDEV: its masks are not ours, nothing is done. */
int steer_restore(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct errbuf *err);
/* Is the step placed so, by us or by one before us? */
bool steer_has(struct actuate *a, const char *step_path);
/* Where it is to be; takes over from one before us. -ENOENT: its masks are not ours. */
int steer_current(const struct hierarchy *h, struct actuate *a, const struct step_cgroup *s,
	struct coreset *ret, struct errbuf *err);
void steer_close(struct actuate *a);

#endif
