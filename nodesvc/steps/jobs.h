/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs.h - the live table: the job steps of this node that registered, their tasks, and what each
 * room keeps of one.
 *
 * Only knows; deciding is decide.c's, kernel state actuate's. Bounded: JOBS_MAX steps. A step is
 * born with step_start and leaves when its cgroup is gone or its last task ended.
 */
#ifndef COLOC_STEPS_JOBS_H
#define COLOC_STEPS_JOBS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "common/coreset.h"
#include "common/err.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/counters/app.h"
#include "nodesvc/counters/callnames.h"
#include "nodesvc/counters/clocks.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/counters/coupling.h"
#include "nodesvc/counters/mapped.h"
#include "nodesvc/counters/polling.h"
#include "nodesvc/engine/burst.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/engine/launch_pairs.h"
#include "nodesvc/engine/phase.h"
#include "nodesvc/engine/plan.h"
#include "nodesvc/engine/view.h"
#include "nodesvc/engine/waits.h"
#include "nodesvc/record/record.h"
#include "nodesvc/runtime/page.h"

struct putback;
struct utilization;

#define JOBS_MAX 1024
/*
 * How many threads a step has its user chooses. What is done to each of them in one go, in one turn
 * of the loop, is not done to a step of more: priorities, loans of cores, cache ways, trials.
 */
#define STEP_THREADS_EACH 1024
/* The kernel freezes and thaws a step in one go, 3 us for a thread, and as it gives all of its
 * threads another cpuset's masks (rebind: cpuset). */
#define STEP_THREADS_FROZEN 4096
#define STEP_DECISIONS_MAX  32
#define STEP_ENV_MAX        32
#define STEP_SPEEDS_MAX     8
#define STEP_CHANGES_MAX    16
#define STEP_BATCH          0xfffffffbu
#define STEP_EXTERN         0xfffffffcu
#define STEP_INTERACTIVE    0xfffffffau

/*
 * What is kept of a step from one sample to the next: when it is read, its phases, its first
 * interval, how fast it was alone and in company. Written by measure/ alone.
 */

/* How often it is looked at. */
struct pace {
	struct thread_list list; /* at the last reading */
	struct clocks clocks;    /* of the processes among them */
	int64_t run_ns;          /* what they showed, at */
	int64_t run_at_ns;       /* on the step's own clock; 0: nothing to compare with */
	double running;          /* cores it ran on at the last reading; NAN unknown */
	int64_t read_ns;         /* time of the last reading; 0 none */
	int64_t read_own_ns;     /* the same on the step's own clock */
	bool confirm;            /* the last reading told of a change */
	int calm;                /* readings in a row that told of nothing */
	int restless;            /* readings to come at every interval */
	int64_t verified_ns;     /* reconcile.c: its cpuset was read */
};

#define SEEN_PHASES   8
#define SEEN_BASES    8
#define SEEN_UNIT_MAX 48

/* Work done so far, by one account. */
struct seen_work {
	double total;          /* units, calls or instructions */
	int64_t t_ns;          /* of the newest report or figure; of the reading */
	uint64_t count;        /* reports; figures; readings */
	enum provenance basis; /* app, calls, hw; none: unknown */
	bool whole;            /* total has all of the run's work */
};

struct seen_phase {
	int cores;
	double utilization, intensity; /* means; intensity: units per cpu second, NAN unknown */
	double seconds;                /* spent in it */
	int n, n_intensity;
};

struct seen_span {
	double units, seconds;
};

struct seen_base { /* speed alone, from the store */
	int cores;
	double speed;
	bool solo; /* of a whole run */
	char unit[SEEN_UNIT_MAX];
};

/* While no daemon measured it, or one that had just come did not hear of it yet. Unix time. */
struct seen_gap {
	int64_t ns, from_ns, to_ns; /* all of them; of the first, of the last; 0 none */
	int64_t open_ns;            /* since when the one lasts that is not over; 0 none */
	bool until_report;          /* its program published: it must find the new daemon first */
};

/* Where its memory is: measure/home.c. */
struct seen_home {
	int64_t look_ns; /* the last one; 0: none yet */
	int numa;        /* that has most of it; -1 unknown */
	double bytes;    /* that no file backs; -1 unknown */
};

/* The cores of its plans, since its program began. */
struct step_grants {
	int64_t since_ns; /* of the newest; 0 none */
	int cores;
	double part;            /* of them, where others share them */
	double work, work_core; /* what it filled of them, core ns; times how many it had */
	double fair_ns;         /* part, over time */
};

/* What its time went into: measure/waits.c. */
struct seen_waits {
	struct waits sum;
	char text[96];        /* of the sum; "" nothing is known */
	int64_t last_ns;      /* the reading before; 0 none */
	double running;       /* CPUs it ran on between the last two, by the wall's clock */
	bool no_pressure;     /* the kernel has no pressure stall information of it */
	bool has_child_ticks; /* of its processes' children that have ended, when it was asked */
	uint64_t child_ticks;
	bool pressure_read; /* it told stalled_s, in all, when it was asked last */
	/* The span that is being gathered since, by its own clock; from_ns 0 none. And what had
	 * been counted then. */
	int64_t from_ns, from_own_ns;
	struct waits_span span;
	struct coreset cpus;
	double busy_s, stolen_s;
	double stalled_s;
	/* waits_own_busy(), when it was asked last; own_ns 0 never */
	int64_t own_ns;
	struct coreset own_cpus;
	double own_busy_s;
};

struct calls_step;

/* The function whose calls mark the work of a program, as the store has it: measure/priors.c. */
struct seen_mark {
	char name[CALLNAME_MAX]; /* "" none is known */
	double spread;           /* between windows of a run; NAN not known */
	double alone_per_s;      /* calls a second, of a run alone on */
	int alone_cores;         /* so many cores; 0 no run was */
};

/* counting.c */
struct seen_calls {
	struct calls_step *step; /* NULL: nobody counts it */
	bool knows;              /* what its executable has */
	int fd, asks;            /* 0: its functions are not being read */
	int64_t asked_ns, ask_ns;
	uint64_t asked_code; /* mapped_code() of whom was asked last; 0 unknown, or no answer */
	struct callnames_own asked_own; /* the site's functions that were asked for */
	struct seen_mark mark_before;   /* of its program's earlier runs */
	uint64_t mark;                  /* of its list of threads, as it was counted last */
	int n_tids;
};

struct step_seen {
	struct seen_work last;
	bool has_last;
	double rate;              /* units/s now; NAN unknown */
	double done;              /* units of the last interval; NAN unknown */
	double owed;              /* units that were taken between intervals */
	bool is_apart;            /* a trial has it elsewhere, or the last sample was of that */
	char unit[SEEN_UNIT_MAX]; /* as speed_unit() had it last */
	struct seen_gap gap;
	struct seen_calls calls;

	/* phases */
	struct phase busy, intensity;
	int skip; /* samples that say nothing: of the start, of a move, of a trial */
	int phase_cores;
	int phase_now, n_phases; /* into phase[]; n_phases 0: none yet */
	int changes;
	struct seen_phase phase[SEEN_PHASES];
	double phase_unix_s; /* of the last change */

	/* first interval */
	bool first_done;
	int first_cores;
	bool first_alone;
	int64_t first_ns;
	double sum[SIGNAL_COUNT];
	int n[SIGNAL_COUNT];
	enum provenance source[SIGNAL_COUNT];
	struct seen_span first_work;

	/* speeds */
	struct seen_span alone, shared; /* alone: on the whole envelope */
	struct seen_base base[SEEN_BASES];
	int n_bases;

	struct seen_waits waits;
	struct seen_home home;

	/* co-run */
	double known_s, unknown_s; /* in company, with and without everybody's speed */
	/* The same of its own speed alone on the cores that it had; seconds of its work by that. */
	double share_known_s, share_unknown_s, share_solo_s;
	double stp_full, stp_share;   /* solo seconds of work done by all in known_s; NAN unknown */
	double antt_full, antt_share; /* newest */

	/* windows and launches */
	struct gain_mean windows; /* logarithms */
	double stretch[4];
	const char *launch; /* "lever", "control", "withheld"; NULL neither */
	/* choose/launches.c: which draw decided that; 0 none */
	uint64_t launch_draw;
	enum launch_side launch_side;
	bool launch_mixed;   /* it ran beside a draw of the other side */
	uint64_t launch_key; /* its program there */
	struct judgement
		launch_judged; /* what its launches show: at its end, or why it is withheld */
	int64_t control_until_ns;
	int64_t no_speed_until_ns; /* an experiment saw no progress: not asked again before */
	int unmoved; /* so many times in a row as it was not where it was to be tried */
};

/* ---- what each lever holds of a step: only levers/ writes it ---- */

/* With turns of 100 ms those of six seconds, with the shortest, 10 ms, of 0.6: more than a window
 * of calls and its answer take. */
#define TURN_FREEZES 32
/* Its part in the rotation. */
struct turn {
	uint32_t slices; /* bit s: runs in slice s; 0: takes no part */
	struct freezer_hold *hold;
	bool waiting;                       /* wants no core: thawed in every slice */
	bool lent;                          /* waits, and goes on in its slice when it comes back */
	int64_t look_ns;                    /* at all its threads, while it goes first */
	bool refused;                       /* cannot be frozen; the step's reason says why */
	int64_t frozen_since_ns, frozen_ns; /* CLOCK_MONOTONIC; sum of ended freezes */
	struct {
		int64_t from_ns, until_ns;
	} freeze[TURN_FREEZES]; /* the newest that have ended, in a ring */
	uint32_t freezes;
	bool wants;                  /* a core, since; it was in the rotation then */
	int64_t noted_ns, wanted_ns; /* ... and until then so long in all */
	int64_t off_until_ns;        /* left alone so long: Slurm is ending it */
	/* It starts, and is thawed in every slice, until it computes or then; 0 it has started. */
	int64_t start_until_ns;
	int64_t start_look_ns; /* when it was looked at for that */
	int busy_looks;        /* so many, up to the last, found it computing */
	struct utilization *util;
	struct burst burst;
	struct thread_list list; /* at the last look */
};

/* Its threads' priorities. */
struct step_prio {
	struct coreset low, wanted; /* others' CPUs: in force, and as the plan has it */
	struct class_thread *thread;
	int n;
	uint64_t mark; /* of the list; see actuate.h */
	bool has_mark, failed;
};

/* Its cache ways; 0: none, else its cluster + 1. */
struct step_ways {
	int cluster, wanted;
	bool failed;
};

/* Its memory nodes. */
struct step_memory {
	struct coreset wanted; /* nodes; empty: Slurm's */
	bool waiting;          /* for the worker */
	bool held;             /* the ledger has its original */
	bool failed;           /* not again for this step */
};

/* ---- suspend.c ---- */

enum stop_kind { STOP_NONE, STOP_FROZEN, STOP_SIGNAL };

/* Of one step. Zeroed: it runs, and has not been looked at. */
struct stop {
	enum stop_kind kind;
	bool carried;            /* it was so when its figures were put into the store */
	int64_t noted_ns, ns;    /* CLOCK_MONOTONIC, of the last look; stopped in all until then */
	char group[256];         /* of the freezer, below the fsroot; "" not found yet */
	struct thread_list list; /* when it was found to be stopped by a signal */
	clockid_t witness;       /* a process that ran at the last look, and its clock then */
	int64_t witness_ns;
	int64_t window_ns; /* the minute in which its stops are counted */
	int n_in_window;
	int at; /* of the clocks, the witness; of the list, whom to ask next */
};

/* ---- a step ---- */

/* The two pages (runtime/page.h) that a step's processes share with colocd, as memory files: the
 * grant, which the kernel lets nobody but colocd write, and the reports. Their sizes are sealed: no
 * other side can make colocd fault. */
struct pages {
	int grant_fd;  /* read-only: what is handed out */
	int report_fd; /* handed out for reading and writing */
	struct coloc_grant *grant;
	struct coloc_report *report;
	struct app app;
};

enum step_status {
	STATUS_PENDING,   /* registered; no task yet */
	STATUS_PLACED,    /* has a coreset of ours */
	STATUS_OBSERVED,  /* under us, but Slurm's placement stands (policy none, dry run, error) */
	STATUS_EXCLUDED,  /* never to be moved: its user bound it, --coloc-exclude */
	STATUS_ASIDE,     /* a batch shell whose job has steps running: Slurm's placement */
	STATUS_RELEASED,  /* colocctl release: Slurm's placement until it ends */
	STATUS_SUSPENDED, /* suspend.c: stopped by another hand; status_before has what it was */
	STATUS_COUNT,
};
const char *step_status_name(enum step_status s);

struct task {
	uint32_t lid;
	pid_t pid;
	bool ended;
	int status; /* wait status; -1 unknown */
};

/* A plan's sentence, and why it is the fallback's. */
#define STEP_WHY_MAX (PLAN_WHY_MAX + 96)

/* One decision's figures (a JSON object), shared by all steps it was about. */
struct explanation {
	int refs;
	char text[];
};

struct decision {
	uint64_t number; /* recent.c */
	double t_unix;
	const char *event; /* static text */
	char policy[32];
	struct coreset from, to;
	bool moved;
	double score; /* NAN none */
	char why[STEP_WHY_MAX];
	char shares[128];            /* ids of steps on the same coreset */
	struct explanation *explain; /* of the whole decision; NULL none */
};

/* A coreset that the store does not have yet. */
struct step_change {
	int64_t t_ns; /* Unix */
	struct coreset coreset;
	char why[STEP_WHY_MAX];
};

struct launch_var {
	char name[64], value[128];
	char why[96]; /* why it was not set; "" set */
};

struct step {
	/* What ticks and rounds look at, of each step: in a few lines of the processor's cache. */
	enum step_status status, status_before;
	bool gone;     /* its cgroup was not there at the last look */
	bool to_apply; /* coreset is decided, the kernel does not have it yet */
	bool located;
	bool phase_changed; /* the engine has not been told */
	bool held;          /* quarantine.c: left to Slurm's placement */
	bool dirty;         /* its accounting row is to be written */
	bool kept;          /* it is in the store */
	bool unowned;       /* whose.c: kept out until slurmctld has said whose job it is */
	int64_t carried_ns; /* when its figures were put there last; monotonic */
	int64_t row_id;
	int64_t order;
	int64_t start_mono_ns, start_unix_ns;
	int64_t last_move_ns; /* monotonic; 0 never */
	struct stop stop;     /* suspend.c */
	char policy[32];      /* that rules it now */
	struct pages *pages;  /* shared with its processes; NULL none asked */
	struct pace pace;

	uint32_t job_id, step_id;
	uint32_t nodeid;     /* of this node within the step: several slurmd may share a kernel */
	char id[JOB_ID_MAX]; /* "12.0", "12.batch"; "12.0@2" beside a "12.0" of another slurmd */
	uint32_t array_job, array_task;
	uint32_t uid;
	char user[33], account[64], partition[64], job_name[128];
	bool owned; /* account and partition are slurmctld's word, not the environment's */
	char program[JOB_TYPE_MAX]; /* argv[0]'s last component */
	char type[JOB_TYPE_MAX];    /* --coloc-type, else program */
	uint32_t args;              /* class of its arguments (common/command.h); 0 unknown */
	uint32_t links;       /* RUNTIME_: its executable links, or was seen to load; 0 not known */
	bool links_learned;   /* the latter */
	bool runs_any;        /* it starts others: what else they load is not known */
	uint64_t program_key; /* launch/learned.h; 0 not known */
	uint32_t learned;     /* what that has been told of this step */
	char req_policy[128]; /* what the user asked for; "" the default */
	char reason[PLAN_WHY_MAX]; /* why it is not placed, or not as asked; else "" */
	char why[STEP_WHY_MAX];    /* the last plan's sentence */
	char held_why[PLAN_WHY_MAX];
	char guard[16];   /* what the guard said of its set: "better", "worse", "quarantined"; "" */
	bool born_placed; /* struct step_cgroup has it */
	bool has_priority, priority_high, user_bound, dry_run;
	double qos;
#define NUMBER(member, key, least, most) int member;
#define FLAG(member, key)                bool member;
#include "nodesvc/steps/registration.def"
#undef NUMBER
#undef FLAG
	struct step_cgroup cgroup;
	struct coreset slurm_job, slurm_step; /* what Slurm gave, read before we changed it */
	struct coreset envelope;
	struct coreset coreset; /* where it is; empty: nowhere yet */

	struct task *task;
	int n_tasks, n_alive;
	int kept_tasks;       /* so many of them are in the store */
	bool tasks_lost;      /* some never registered, but the step runs: reconcile.c */
	int64_t last_task_ns; /* one registered; monotonic */
	int exit_status;      /* highest wait status; -1 none known */
	bool exit_unknown;    /* a task ended while no daemon ran */

	char *message; /* step_start as it came, for the next daemon */
	size_t message_len;
	bool flushing, flushed_kept; /* account.c: as they were before this tick's writing */
	int64_t flushed_row_id;
	bool was_placed;  /* adopted with a placement of ours */
	bool short_spins; /* launch.c: fit for CPUs that poll */

	struct utilization *util;
	struct counters *counters;
	struct sample last_sample;
	bool has_sample, has_profile;
	struct profile profile;
	struct signal signal[SIGNAL_COUNT];
	uint64_t sample_no;
	bool has_executed; /* view.h */
	double executed;
	int threads;
	double runnable; /* of those, that ran or wanted to, at the last reading; 0 unknown */

	struct step_seen seen;
	struct seen_work trial_mark;
	struct speed_point speed[STEP_SPEEDS_MAX]; /* of earlier runs and experiments */
	int n_speed;
	struct turn turn;
	struct polling polling;
	struct coupling coupling;
	struct mapped mapped;
	/* lend.c: others' cores it may use while they idle, at the lowest priority */
	struct coreset lent, lent_wanted;
	bool lent_failed;
	int64_t lent_changed_ns;
	struct step_prio prio;
	struct step_ways ways;
	struct step_memory memory;
	struct putback *back; /* its way back that goes on (levers/); NULL none */
	void (*back_stop)(struct step *s);

	struct launch_var env[STEP_ENV_MAX];
	int n_env;
	/* Cores that its plan gave it by right when its program began, and that earlier runs of its
	 * program had which began on fewer than their envelope; 0: its threads are not counted by
	 * that. */
	int granted;
	double usual_cores;
	bool counts_granted;   /* some number of its threads goes by that */
	bool takes_all;        /* ... which is Slurm's, however few are granted */
	bool narrow;           /* it began with fewer threads than Slurm has cores for */
	int width;             /* cores that its threads fill; 0: all it is given */
	char threads_why[160]; /* why so many; "" it was not Coloc's to say */
	struct step_grants grants;

	int rebinds, reapplied;
	int64_t move_window_ns; /* start of the minute in which moves are counted */
	int moves_in_window;
	char history[512];                            /* "0-1;0" */
	char partners[256];                           /* "2.0,3.0" */
	struct decision decision[STEP_DECISIONS_MAX]; /* ring */
	int n_decisions;

	struct step_change change[STEP_CHANGES_MAX]; /* history.c */
	int n_changes;
	struct record_thin thin;
	int64_t last_record_ns;
	uint64_t sample_written;
};

struct suspend;
struct whose;

struct jobs {
	struct step *step[JOBS_MAX]; /* by order of arrival */
	int n;
	int64_t next_order;
	struct suspend *suspend; /* who is stopped; NULL: nobody looks */
	struct whose *whose;     /* whose jobs they are */
};

struct step *jobs_find(struct jobs *j, uint32_t job_id, uint32_t step_id, uint32_t nodeid);
/* By "12", "12.0", "12.batch"; of a job the first that does not stand aside, or else the first.
 * NULL none. */
struct step *jobs_find_id(struct jobs *j, const char *id);
/* New, zeroed, with id, order and start times; NULL: full or out of memory. */
struct step *jobs_add(struct jobs *j, uint32_t job_id, uint32_t step_id, uint32_t nodeid);
/* May a user keep one more, @s, that was added already? As many as there are places free, so at
 * most half of all; some are left for the others. */
bool jobs_has_room_for(const struct jobs *j, const struct step *s);
/* Takes it out and frees it (counters and tables too). */
void jobs_remove(struct jobs *j, struct step *s);
void jobs_done(struct jobs *j);

/* Writes Slurm's name of a step: "12.0", "12.batch", "12.interactive". */
void step_format_id(uint32_t job_id, uint32_t step_id, char *buf, size_t size);
/* With one reference; NULL out of memory. explanation_put(NULL) is fine. */
struct explanation *explanation_new(const char *text);
void explanation_put(struct explanation *e);

/* The slot for a new decision; the oldest is dropped. */
struct decision *step_new_decision(struct step *s);
/* k-th newest decision, 0 the last; NULL none. */
const struct decision *step_get_decision(const struct step *s, int k);
/* A live task with this pid or local id, or NULL. */
struct task *step_find_task(struct step *s, uint32_t lid);
/* As many as there are. -ENOMEM. */
int step_add_task(struct step *s, uint32_t lid, pid_t pid);
/* Adds "text" to a separated list unless it is (last: the end; else anywhere) there. */
void step_note(char *list, size_t size, const char *sep, const char *text, bool last);
/* Where its threads may run: its own cores, those lent to it, and those it fills. */
struct coreset step_cpus(const struct step *s);
/* From now on its plan gives it so many cores, of which @part is its by right. */
void step_note_cores(struct step *s, int cores, double part, int64_t now_ns);
/* Mean of its cores so far, each as long as it takes it to do as much: another number of threads
 * has the same. And what was its by right, core seconds. 0 unknown. */
double step_mean_cores(const struct step *s, int64_t now_ns);
double step_fair_s(const struct step *s, int64_t now_ns);
/* Why it is where it is, or not where it was asked to be; "" nothing to say. */
const char *step_reason(const struct step *s);
/* What the guard last said of its set; NULL nothing. */
const char *step_guard(const struct step *s);
/* It runs, as far as others are concerned. */
bool step_is_company(const struct step *s);
/* How long it was stopped by another hand so far, ns; and by which. */
int64_t step_suspended_ns(const struct step *s, int64_t now_ns);
const char *step_suspended_why(const struct step *s);
/* How it ended, by what its tasks told. */
enum step_state step_final_state(const struct step *s);
/* Have all its tasks been forked and bound by Slurm? */
bool step_is_launched(const struct step *s);
/* What it is, or was before it was suspended, and is when it goes on. */
enum step_status step_standing(const struct step *s);
/* May the engine place it? (not excluded, aside, released, suspended) */
bool status_is_managed(enum step_status status);
bool step_is_managed(const struct step *s);
/* 0, or -E2BIG: @s has more threads than @most. */
int step_check_threads(const struct step *s, int most, struct errbuf *err);
int jobs_count_managed(const struct jobs *j);
/* It runs beside those that run now: each is the other's partner. */
void jobs_note_partners(struct jobs *j, struct step *s);
/* No other step runs on this node. */
bool jobs_is_alone(const struct jobs *j, const struct step *s);

/* ---- held.c ---- */

/* How long it has been frozen up to @at_ns, ns: now, or as long ago as its freezes are kept. */
int64_t turn_frozen_ns(const struct turn *t, int64_t at_ns);
/* The step's own clock, which stands while it is frozen: what it did is measured by it. */
int64_t turn_clock(const struct turn *t, int64_t at_ns);
/* Its freeze, if it is in one, has ended. */
void turn_thawed(struct turn *t, int64_t now_ns);
/* How long it was in the rotation and wanted a core so far, ns; and of that was not frozen. Waits
 * and its start are not in it, nor what it was suspended for. */
int64_t turn_wanted_ns(const struct turn *t, int64_t now_ns);
int64_t turn_served_ns(const struct turn *t, int64_t now_ns);
void turn_done(struct turn *t);

#endif
