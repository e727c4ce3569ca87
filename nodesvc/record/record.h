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
 * chooses when, and by whom (db.h). */
int record_wal_frames(const struct record *r);
void record_checkpoint(struct record *r, struct checkpointer *by);

/* Inserts (row_id 0: then set) or updates; committed on return. */
int record_step_put(struct record *r, struct step_row *row, struct errbuf *err);
/* At start: rows still RUNNING whose row_id is not in @alive become UNKNOWN with @end_ns. Returns
 * how many. */
int record_step_close_lost(
	struct record *r, const int64_t *alive, int n_alive, int64_t end_ns, struct errbuf *err);
/* row_id of a RUNNING row of this step on this node, to adopt it after a restart; 0 none. */
int64_t record_step_find_running(
	struct record *r, uint32_t job_id, uint32_t step_id, const char *node);

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
/* Best match: same type; then same user, width, node type, newest. -ENOENT none. */
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
/* Adds one interval's @value to the measurement with the key of @m (all above count). A source or
 * unit other than the stored one starts it anew. */
int record_measurement_add(
	struct record *r, const struct measurement *m, double value, struct errbuf *err);
/* Replaces the one with the key of @m. -EINVAL: it cannot be (empty type, no count, ...). */
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

#endif
