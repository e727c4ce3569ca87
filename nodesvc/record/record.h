/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - profiles and accounting in SQLite; with ledger.c the only place with SQL.
 *
 * The daemon is the only writer; readers (colocacct, colocctl) open read-only. Times are Unix
 * nanoseconds. Blank (NULL) is unknown, never 0.
 */
#ifndef COLOC_RECORD_RECORD_H
#define COLOC_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/record/figures.h"

struct record;
struct checkpointer;

enum step_state {
	STEP_RUNNING,
	STEP_COMPLETED, /* every task's exit status was 0 */
	STEP_FAILED,    /* a task exited with another status or by a signal */
	STEP_UNKNOWN,   /* vanished while nobody looked; its status is not known */
};
const char *step_state_name(enum step_state s); /* "RUNNING" "COMPLETED" "FAILED" "UNKNOWN" */

/* One row of accounting. Strings are the caller's; NULL unknown. */
struct step_row {
	int64_t row_id;                       /* 0 new */
	uint32_t job_id, step_id;             /* SLURM_BATCH_SCRIPT = 0xfffffffb */
	uint32_t array_job_id, array_task_id; /* 0 / 0xfffffffe none */
	const char *node;
	const char *name;    /* job name */
	const char *program; /* argv[0]'s last component, or --coloc-type */
	uint32_t uid;
	const char *user, *account, *partition;
	const char *policy; /* that ruled; "none" when only observed */
	const char *req_policy;
	const char *reason;          /* why it was not placed, or as it was; NULL nothing to say */
	int cores;                   /* of the last coreset; 0 unknown */
	const char *coreset;         /* last */
	const char *coreset_history; /* "0-1;0;0-1" */
	const char *partners;        /* ids of steps it shared the node with, "2.0,3.0" */
	int64_t start_ns, end_ns;    /* end 0: running */
	int rebinds;                 /* changes of placement after the first */
	int tasks;
	int exit_code; /* highest wait status of its tasks; -1 unknown */
	enum step_state state;
	bool dry_run;
	const struct step_figures *figures; /* NULL: nothing is known; read rows always have them */
};

/*
 * record_open - a new file has mode 0600: users read their own rows through the daemon.
 * Errors name the file: -ENOENT, -EBADMSG damaged or no database, -EMEDIUMTYPE a database of
 * someone else, -EPROTONOSUPPORT another schema; such a file is left as it is.
 */
int record_open(struct record **ret, const char *path, bool read_only, struct errbuf *err);
void record_close(struct record *r);
/* Each is the other from now on: whoever holds a pointer to @a writes into what @b had open. */
void record_swap(struct record *a, struct record *b);

/*
 * Several writes as one: what is written in between is there when record_end() has committed, or
 * not at all. -EBUSY and the like: nothing was begun.
 */
int record_begin(struct record *r, struct errbuf *err);
/* Commits when @rc is 0, else rolls back; returns the first error. */
int record_end(struct record *r, int rc, struct errbuf *err);
/* Between the two, and nothing has undone it (a full disk does). */
bool record_is_open(const struct record *r);

/* Pages that wait in the log. Commits do not wait for the disk, but a checkpoint does: the owner
 * chooses when, and by whom (db.c). */
int record_wal_frames(const struct record *r);
void record_checkpoint(struct record *r, struct checkpointer *by);

/* Inserts (row_id 0: then set) or updates; committed on return. */
int record_step_put(struct record *r, struct step_row *row, struct errbuf *err);
/* At start: rows still RUNNING whose row_id is not in @alive become UNKNOWN with @end_ns. Returns
 * how many. */
int record_step_close_lost(
	struct record *r, const int64_t *alive, int n_alive, int64_t end_ns, struct errbuf *err);

/*
 * Speeds in company of ended steps like @like (program, user, node, unit of its figures) that were
 * launched as @launch; newest first, at most @limit. A non-zero return of @fn ends it.
 */
int record_launches(struct record *r, const struct step_row *like, const char *launch, int limit,
	int (*fn)(double speed, void *arg), void *arg, struct errbuf *err);

struct step_filter {
	const uint32_t (*job_step)[2]; /* step 0xffffffff: all steps of the job */
	int n_job_steps;
	bool duplicates;        /* with job_step: not only the newest record of each step */
	int64_t from_ns, to_ns; /* overlap with [from, to]; 0 open */
	bool has_uid;
	uint32_t uid;
};
/* Calls @fn for each row by start time; a non-zero return ends it and is returned. */
int record_step_list(struct record *r, const struct step_filter *f,
	int (*fn)(const struct step_row *row, void *arg), void *arg, struct errbuf *err);

/* Removes ended rows whose end is before @before_ns; returns how many. */
int record_step_prune(struct record *r, int64_t before_ns, struct errbuf *err);
/* The same for at most @max_rows, oldest first. */
int record_prune_slice(struct record *r, int64_t before_ns, int max_rows, struct errbuf *err);
int64_t record_count_before(struct record *r, int64_t before_ns, struct errbuf *err);
/* In use; what is free in the file is not counted. */
int64_t record_size_bytes(struct record *r, struct errbuf *err);
/* Gives up to @n free pages back to the file system; nothing in files of before schema 3. */
int record_release_pages(struct record *r, int n, struct errbuf *err);
/* Writes the file anew without holes: seconds for a large one, nobody else may have it open. */
int record_compact(struct record *r, struct errbuf *err);

/*
 * What a live step registered with: its step_start message as it came, and its tasks, for the
 * daemon that is started next. Pointers are the caller's, in the callback the database's.
 */
struct registration {
	uint32_t job_id, step_id;
	uint32_t nodeid; /* of its node within the step */
	int64_t row_id, start_ns;
	pid_t pid;          /* of a task; 0 none yet */
	const char *cgroup; /* its directory below the fsroot; NULL not found yet */
	uint64_t inode;     /* of that */
	const char *tasks;  /* "LID:PID,..."; NULL none */
	const void *message;
	size_t message_len;
	const void *figures; /* what was measured of it (carry.h); NULL none saved */
	size_t figures_len;
	int64_t figures_ns; /* when they were saved, Unix; 0 never */
};
/* Leaves the figures as they are, see below. */
int record_registration_put(struct record *r, const struct registration *reg, struct errbuf *err);
/* The figures of one that is there. */
int record_registration_figures(
	struct record *r, const struct registration *reg, struct errbuf *err);
int record_registration_rm(
	struct record *r, uint32_t job_id, uint32_t step_id, uint32_t nodeid, struct errbuf *err);
/* By start time. @fn must not write to @r. */
int record_registration_list(struct record *r, int (*fn)(const struct registration *reg, void *arg),
	void *arg, struct errbuf *err);

/*
 * What a step went through, for the timeline. All are of a row in the store (@row_id, never 0),
 * at Unix time @t_ns (one per instant: a later one replaces), and go with their row. Lists are
 * by time; a non-zero return of @fn ends them and is returned.
 */

/* It was moved to @coreset (cpulist of OS PU numbers) because of @why (NULL unknown). */
int record_coreset(struct record *r, int64_t row_id, int64_t t_ns, const char *coreset,
	const char *why, struct errbuf *err);
int record_coreset_list(struct record *r, int64_t row_id,
	int (*fn)(int64_t t_ns, const char *coreset, const char *why, void *arg), void *arg,
	struct errbuf *err);

/* Its behaviour changed; @signature tells the new phase (detector's words; NULL unknown). */
int record_phase(
	struct record *r, int64_t row_id, int64_t t_ns, const char *signature, struct errbuf *err);
int record_phase_list(struct record *r, int64_t row_id,
	int (*fn)(int64_t t_ns, const char *signature, void *arg), void *arg, struct errbuf *err);

/*
 * Signals, thinned: a step keeps at most RECORD_SAMPLES_MAX. When they are full every second one
 * goes and the step's interval doubles, so that a long step is as cheap as a short one.
 * One record_thin per live step, zeroed with the step; after a restart it finds its place again.
 */
#define RECORD_SAMPLES_MAX 256
struct record_thin {
	bool is_known; /* n and every_ns were read from the store */
	int n;
	int64_t every_ns, last_ns;
};
/* @signal: SIGNAL_COUNT, those of PROVENANCE_NONE are blank. 1 stored, 0 thinned away. */
int record_sample(struct record *r, int64_t row_id, struct record_thin *thin, int64_t t_ns,
	const struct signal *signal, struct errbuf *err);
int record_sample_list(struct record *r, int64_t row_id,
	int (*fn)(int64_t t_ns, const struct signal *signal, void *arg), void *arg,
	struct errbuf *err);

/* Replaces the profile of the same (type, user, threads, node_type). NAN fields are blank. */
int record_profile_put(struct record *r, const struct profile *p, struct errbuf *err);
/*
 * Of the same type, the user's own or else root's, which are the site's: what another user calls
 * by that name says nothing of this one's. Then same width, node type, newest. -ENOENT none.
 */
int record_profile_find(struct record *r, const char *type, const char *user, int threads,
	const char *node_type, struct profile *ret, struct errbuf *err);
int record_profile_list(struct record *r, int (*fn)(const struct profile *p, void *arg), void *arg,
	struct errbuf *err);
/* Removes by type (and user unless NULL); returns how many. */
int record_profile_rm(struct record *r, const char *type, const char *user, struct errbuf *err);

/*
 * What intervals on the live node measured of a program, one per signal: the first interval of each
 * run, and experiments at several core counts. Apart from the profiles of `colocctl profile`, which
 * are runs of their own.
 */
enum measured {
	MEASURED_SHARED, /* other steps ran on the node */
	MEASURED_ALONE,  /* an interval of a run that was alone so far, or an experiment */
	MEASURED_SOLO,   /* a whole run, or what of it was alone, on its whole envelope */
	MEASURED_COUNT
};
const char *measured_name(enum measured k); /* "shared" "alone" "solo" */

struct measurement {
	char type[JOB_TYPE_MAX];
	char user[33];
	char node_type[64];
	int cores; /* it had; width of the measurement */
	enum measured kind;
	enum signal_id signal;
	char unit[48];  /* of progress; "" else */
	char source[8]; /* provenance_name() of the intervals */
	int count;      /* intervals */
	double mean;
	double m2; /* sum of squared deviations: spread = sqrt(m2 / (count - 1)) */
	int64_t first_unix_s, last_unix_s;
};
/* Of a user so many stay, those that were measured last: some hundred programs. */
#define RECORD_MEASUREMENTS_MAX 2000
/* Adds one interval's @value to the measurement with the key of @m (all above count). A source or
 * unit other than the stored one starts it anew. */
int record_measurement_add(
	struct record *r, const struct measurement *m, double value, struct errbuf *err);
/* Replaces the one with the key of @m; of its user those measured last stay. -EINVAL: it cannot be
 * (empty type, no count, ...). */
int record_measurement_put(struct record *r, const struct measurement *m, struct errbuf *err);
/* Of a type (NULL all) and a user (NULL all), by type, user, node type, cores, kind, signal. */
int record_measurement_list(struct record *r, const char *type, const char *user,
	int (*fn)(const struct measurement *m, void *arg), void *arg, struct errbuf *err);
/* Removes by type (and user unless NULL); returns how many. */
int record_measurement_rm(struct record *r, const char *type, const char *user, struct errbuf *err);

/*
 * What paired windows showed of a set of programs under a policy, and whether the guard keeps the
 * policy away from it (quarantine.c). The key is policy, node type and members.
 */
struct judged {
	char policy[192]; /* with its options: "lira,tie=missbal" */
	char node_type[64];
	const char *members; /* "gmx@bob:8 + 2*lmp@ada:4", by name; the caller's, in lists the
			      * database's */
	char basis[16];      /* signals behind the speeds: "app", "hw", "app,hw" */
	int windows;
	double mean, m2;      /* of the logarithms of speed under the policy over under Slurm's
			       * placement; sum of squared deviations */
	int64_t last_unix_s;  /* of the newest window */
	int64_t until_unix_s; /* quarantined until then; 0 not */
	int times;            /* it was quarantined */
};
/* Replaces the one with the key of @j. -EINVAL: it cannot be (no members, no policy). */
int record_judged_put(struct record *r, const struct judged *j, struct errbuf *err);
/* Oldest window first; a non-zero return of @fn ends it and is returned. */
int record_judged_list(struct record *r, int (*fn)(const struct judged *j, void *arg), void *arg,
	struct errbuf *err);
/* The one with the key of @j; returns how many, 0 or 1. */
int record_judged_rm(struct record *r, const struct judged *j, struct errbuf *err);

/*
 * What was learned of a program, for the service that is started next: text of its writer's, who
 * reads it with care. The key is all but value and time. Strings are the caller's, in a callback
 * the database's.
 */
#define LEARNT_VALUE_MAX 1024
struct learnt {
	const char *what;      /* whose it is: "launch", "loads", "calls" */
	const char *node_type; /* "": it holds on any */
	const char *owner;     /* the user whose program it is; nobody else is told */
	const char *name;      /* the program */
	const char *value;
	int64_t put_unix_s;
};
/* Replaces the one with the key of @m. Of its `what' no more than @most stay: of the owners who
 * have most, those that were put last. Within a transaction, or one of its own. -EINVAL: it cannot
 * be kept. */
int record_learnt_put(struct record *r, const struct learnt *m, int most, struct errbuf *err);
/* All of @what, the one that was put last at the end; a non-zero return of @fn ends it and is
 * returned. @fn must not write to @r. */
int record_learnt_list(struct record *r, const char *what,
	int (*fn)(const struct learnt *m, void *arg), void *arg, struct errbuf *err);
/* The same of the one with @key, or none. */
int record_learnt_get(struct record *r, const struct learnt *key,
	int (*fn)(const struct learnt *m, void *arg), void *arg, struct errbuf *err);
/* Those of @name, and of @owner unless NULL; returns how many. */
int record_learnt_rm(struct record *r, const char *what, const char *owner, const char *name,
	struct errbuf *err);

/*
 * checkpoint.c: checkpoints of SQLite databases in a thread of their own. A checkpoint waits for
 * the disk, 5 to 20 ms and at times far longer, and in the daemon's loop a starting step would
 * wait with it.
 *
 * The thread has connections of its own, opened for each checkpoint, and shares nothing with the
 * owner's: SQLite's locks keep them apart, and a passive checkpoint waits for nobody.
 */

/* NULL: no memory. The thread starts with the first checkpoint. */
struct checkpointer *checkpoint_new(void);
/* One of the database at @path (copied), soon. Does not wait. False: the last one goes on still, or
 * there is no thread to be had. What fails leaves the log as it is, for the next one. */
bool checkpoint_ask(struct checkpointer *c, const char *path);
/* Waits for the one that goes on. NULL is fine. */
void checkpoint_free(struct checkpointer *c);

/* step_id.c: a step's name as Slurm's commands print it: "12.0", "12.batch", "7_3.0". */

#define STEP_ID_INTERACTIVE UINT32_C(0xfffffffa)
#define STEP_ID_BATCH       UINT32_C(0xfffffffb)
#define STEP_ID_EXTERN      UINT32_C(0xfffffffc)
#define STEP_ID_ALL         UINT32_C(0xffffffff) /* not a step: the whole job was meant */
#define ARRAY_TASK_NONE     UINT32_C(0xfffffffe)

#define STEP_ID_STR_MAX 48

/* What a user asks for: JOB, JOB.STEP, JOB_TASK or JOB_TASK.STEP. */
struct step_term {
	uint32_t job_id;
	uint32_t array_task_id; /* ARRAY_TASK_NONE: any */
	uint32_t step_id;       /* STEP_ID_ALL: any */
};

/* -EINVAL with the text quoted; @ret untouched. */
int step_term_parse(const char *text, struct step_term *ret, struct errbuf *err);

/* Does a step (array_job 0, array_task ARRAY_TASK_NONE: no array) fall under the term? */
bool step_term_matches(const struct step_term *t, uint32_t job_id, uint32_t step_id,
	uint32_t array_job, uint32_t array_task);

/* "12.0", "12.batch", or in an array "7_3.0"; STEP_ID_ALL: without step. Returns @buf. */
char *step_id_format(uint32_t job_id, uint32_t step_id, uint32_t array_job, uint32_t array_task,
	char *buf, size_t size);

/*
 * acct_query.c: accounting rows as JSON: the same text for colocacct run by root (which reads the
 * database) and by a user (whom the daemon answers on its socket).
 *
 * Filter (every key optional; unknown keys are refused, so that a filter never widens unseen):
 *   {"jobs": ["12", "12.0", "12.batch", "7_3"], "from_ns": N, "to_ns": N,
 *    "uids": [N], "states": ["RUNNING"], "accounts": ["a"], "partitions": ["p"], "names": ["job"],
 *    "nodes": ["n1"], "duplicates": true, "truncate": true, "history": true}
 * With "jobs", of several records of one step (ids were used again, or the job was requeued) only
 * the newest is listed unless "duplicates". "truncate": times outside the window are cut to it.
 * A row is one JSON object on one line, without newline; null is unknown:
 *   {"id", "job_id", "step_id" (text for batch, extern, interactive), "array_job_id",
 *    "array_task_id", "node", "name", "program", "uid", "user", "account", "partition",
 *    "policy", "req_policy", "reason", "cores", "coreset", "coreset_history": [..],
 *    "partners": [..], "start_unix_s", "end_unix_s", "elapsed_s", "rebinds", "tasks",
 *    "exit_status", "exit_signal", "state", "dry_run",
 *    and the keys of figures.h}
 * and with "history": {"coreset_changes": [{"unix_s", "coreset", "why"}], "phase_changes":
 * [{"unix_s", "signature"}], "samples": [{"unix_s", SIGNAL: value, ...}],
 * "sample_sources": {SIGNAL: provenance, ...}}
 */

/*
 * acct_query_json - calls @emit for each row of the filter by start time; a non-zero return ends
 * it and is returned. @uid: only rows of this user, whatever the filter says; 0 all.
 * @filter_json may be NULL or "". Errors: -EINVAL with the key, -EPERM @uid asks for others.
 */
int acct_query_json(struct record *r, uint32_t uid, const char *filter_json,
	int (*emit)(const char *json_row, void *arg), void *arg, struct errbuf *err);

/*
 * summary.c: what a node says of a job in Slurm's accounting (AdminComment): short, and free of
 * what sacctmgr or sacct would change or trip over (quotes, '|', line feeds).
 *
 * coloc/1{node=n1;policy=lira;steps=2;coreset=0-1;...}{node=n2;...}
 *
 * One pair of braces per node; text of others around it is left alone. Unknown keys are skipped by
 * readers, unknown values are left out. All pure text: no Slurm here.
 */

#define SUMMARY_MARK     "coloc/1"
#define SUMMARY_PART_MAX 640
/* slurmdbd's column is TEXT: MariaDB cuts at 65 535 bytes without a word. */
#define SUMMARY_COMMENT_MAX 60000

/*
 * summary_of_job - the part of this node, "{node=...}", from the rows of @job_id in @r. What
 * differs between steps is left out, what counts is summed. -ENOENT no rows.
 */
int summary_of_job(struct record *r, uint32_t job_id, const char *node, char ret[SUMMARY_PART_MAX],
	struct errbuf *err);

/*
 * summary_merge - @comment (NULL: none) with @part in place of an earlier one of the same node,
 * malloc'ed. Errors: -EBADMSG the comment holds what sacctmgr would change (quotes of another
 * tool's, line feeds): it must not be written; -E2BIG it would be longer than
 * SUMMARY_COMMENT_MAX.
 */
int summary_merge(const char *comment, const char *part, char **ret, struct errbuf *err);

/* Calls @fn for every "key=value" of every part of @comment, with the part's number; values are
 * copies. A non-zero return ends it and is returned. */
int summary_parse(const char *comment,
	int (*fn)(int part, const char *key, const char *value, void *arg), void *arg);

#endif
