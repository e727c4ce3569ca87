/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.h - what the parts of colocd share. One thread, one loop; main.c creates and destroys.
 */
#ifndef COLOC_NODESVC_DAEMON_H
#define COLOC_NODESVC_DAEMON_H

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/books/books.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/counters/counters.h"
#include "nodesvc/engine/engine.h"
#include "nodesvc/jobs.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/node/node.h"
#include "nodesvc/record/ledger.h"
#include "nodesvc/record/record.h"
#include "nodesvc/steps/whose.h"
#include "nodesvc/trace/trace.h"
#include "nodesvc/trace/trail.h"
#include "nodesvc/base/work.h"

struct server;
struct ptable;
struct quarantine;
struct suspend;
struct measure;
struct books;

/* trial.c: placements for a moment, to learn from */
enum trial_kind { TRIAL_NONE, TRIAL_EXPERIMENT, TRIAL_WINDOW };
struct trial_experiment {
	char job[JOB_ID_MAX];
	int cores, ms;
	struct coreset coreset;
};
struct trial {
	enum trial_kind kind;
	int stage, tries;
	bool displaced; /* steps are where the plan does not have them */
	bool in_company;
	struct loop_source *timer;
	int n, at;
	struct trial_experiment x[PLAN_EXPERIMENTS_MAX];
	int64_t next_window_ns; /* 0: none considered yet */
};

struct daemon {
	struct conf conf;
	const char *conf_path;
	bool verbose; /* -v: whatever `log` says */
	struct loop *loop;
	struct node node;
	char online[256], online_failed[256]; /* online.c: the kernel's list of CPUs */
	struct coreset start_pus;             /* the topology's when we started */
	int lock_fd;                          /* one daemon per store */
	struct ledger *ledger;
	struct actuate *actuate;
	struct record *record;
	int64_t last_launch_ns; /* somebody registered, or ended */
	struct counters_choice counters;
	struct server *server;
	struct quarantine *quarantine; /* NULL: nothing is judged */
	struct suspend *suspend;       /* NULL: nobody looks who is suspended */
	struct levers *levers;
	struct linkage *linkage; /* NULL: nothing is known of executables */
	struct jobs jobs;
	struct whose *whose;
	struct measure *measure;
	struct books *books;

	/* ruling.c, decide.c */
	struct engine *engine, *fallback;
	struct ptable *ptable;  /* of the das policies */
	bool engine_is_new;     /* it has seen no view, and so no table */
	struct event task_done; /* for the next decision */
	bool has_task_done;
	char ruling[128];           /* spec of the ruling policy */
	char ruling_by[JOB_ID_MAX]; /* step whose request rules; "" the configuration */
	struct plan plan;
	struct loop_source *tick;
	bool ticking;
	int tick_put_off; /* so many times, by a launch */
	int64_t last_reconcile_ns;
	bool draining;
	const char *decided_by; /* policy of the last plan: the ruling one or the fallback */
	char fallback_why[256]; /* last reason logged */
	bool fell_back;         /* the last plan was the fallback's */
	bool new_whys;          /* who decides is another, or why: told though nobody moves */
	struct trial trial;
	/* What experiments showed, for the next decision; ids are the live steps'. */
	struct event result[PLAN_EXPERIMENTS_MAX];
	int n_results;
	struct trace_writer *trace; /* colocctl record; NULL not recording */
	struct trail *trail;        /* what the engines were asked since they were made */
	char slice_ms[16];          /* the option as text */
	const char *unrecorded;     /* event of a plan that is not in the record yet */
	bool finish_put_off;        /* decide_finish() waits for the rest of a launch */

	struct metrics_times decision_times;
	struct work work;

	int64_t start_mono_ns;
	uint64_t n_decisions, n_rebinds;
};

/* daemon.c: the rooms, opened with what they need and told whom to tell. */
int daemon_open_rooms(struct daemon *d, struct errbuf *err);
void daemon_close_rooms(struct daemon *d);

/* daemon.c: d->levers, told whom to tell. -ENOMEM. */
int daemon_create_levers(struct daemon *d);

/* decide.c, with ruling.c (engines, who rules): policies, plans and
 * their execution */
int decide_open(struct daemon *d, struct errbuf *err);
void decide_close(struct daemon *d);
/* Starts the ruling policy for a step that asks for @spec ("": the default). 0: it rules or may
 * join; *ret_reason tells a joiner that another policy rules. -EPERM refused with the reason. */
int decide_admit(struct daemon *d, const char *spec, const char *step_id, char *ret_reason,
	size_t size, struct errbuf *err);
/* Where @s may be placed: its allocation, or with envelope: node those of all co-located jobs; less
 * what is reserved. */
void decide_envelope(const struct daemon *d, const struct step *s, struct coreset *ret);
/* Rebuilds the default after the configuration changed. */
int decide_reconfigure(struct daemon *d, struct errbuf *err);
/*
 * decide_run - view, engine, plan, and the plan made true for all steps but @later (its tasks
 * have not started: its part is made true by decide_place(), the others' by decide_finish(),
 * which the caller must call).
 */
void decide_run(struct daemon *d, enum event_type type, const char *about_id, struct step *later);
/* The rest of decide_run() with @later: the other steps' moves, the record. Where nobody comes to
 * call it (a launch that got stuck), the next tick does. */
void decide_finish(struct daemon *d);
/* Makes the last plan true for a step whose first task just started. */
int decide_place(struct daemon *d, struct step *s, struct errbuf *err);
void decide_tick(void *daemon);
/* Changes of phase that samples showed: each is an event of its own. */
/* A launch is a message for each task, one after another: ticks and rounds, milliseconds on a full
 * node, wait until none has come for LAUNCH_PAUSE_NS, but not longer in all than LAUNCH_MAX_NS, of
 * which @late_ns have passed. */
#define LAUNCH_PAUSE_NS INT64_C(1000000)
#define LAUNCH_MAX_NS   INT64_C(20000000)
bool decide_stands_back(const struct daemon *d, int64_t late_ns);
void decide_phases(struct daemon *d);
void decide_start_ticking(struct daemon *d);

/* The configured options of @spec's policy; at most @max. They point into the configuration. */
int decide_options(struct daemon *d, const char *spec, struct policy_option *ret, int max);
/* Both engines anew, with nothing remembered. */
int decide_renew(struct daemon *d, struct errbuf *err);

/* recording.c: the trail, for explain --save-view, and colocctl record */
/* A decision: its view, then the answer of each engine that was asked (a plan, or why not). */
void recording_begin(struct daemon *d, const struct view *v);
void recording_answer(
	struct daemon *d, bool fallback, const struct plan *p, const struct errbuf *why);
void recording_end(struct daemon *d);
/* trail_page() with the head of this node. */
int recording_page(struct daemon *d, uint64_t from, uint64_t to, json_object **ret,
	uint64_t *ret_next, struct errbuf *err);
/* @path without '/': in the store. -EBUSY one is on, -EEXIST the file is there. */
int recording_start(struct daemon *d, const char *path, uint64_t max_bytes, struct errbuf *err);
/* -ENOENT none is on; else it is over, and an error is the first that writing met. */
int recording_stop(
	struct daemon *d, uint64_t *ret_decisions, uint64_t *ret_bytes, struct errbuf *err);
/* An engine was made anew. */
void recording_engine(struct daemon *d, bool fallback);
/* Ends a recording that failed or is full. */
void recording_check(struct daemon *d);

/* trial.c */
int trial_open(struct daemon *d, struct errbuf *err);
bool trial_is_on(const struct daemon *d);
/* Steps are where the plan does not have them: samples say nothing of it. */
bool trial_displaces(const struct daemon *d);
/* Puts everybody where the plan has him; results that nobody heard are lost. */
void trial_abort(struct daemon *d);
/* At a tick: starts a window when one is due. */
void trial_consider(struct daemon *d, int64_t now_ns);
/* Why the plan's experiments cannot be carried out; NULL they can. */
const char *trial_refuses(struct daemon *d, const struct plan *p, char *buf, size_t size);
void trial_experiments(struct daemon *d, const struct plan *p);
/* lifecycle.c, with admit.c (what a step_start says), account.c (its row) and reconcile.c (what
 * nobody told): steps come and go */
struct msg;
void lifecycle_step_start(struct daemon *d, const struct msg *m, struct msg *reply);
/* What need not hold up the step: after the answer to a launch's last message. */
void lifecycle_after_answer(struct daemon *d);
void lifecycle_task_start(struct daemon *d, const struct msg *m, struct msg *reply);
void lifecycle_task_exit(struct daemon *d, const struct msg *m);
void lifecycle_step_end(struct daemon *d, const struct msg *m);
/* Parts of the above, for adopt.c. */
int lifecycle_read_step(const struct msg *m, struct step *s, struct errbuf *err);
int lifecycle_admit(struct daemon *d, struct step *s, const struct msg *m, struct errbuf *err);
int lifecycle_locate(struct daemon *d, struct step *s, pid_t pid, struct errbuf *err);
/* The same by its directory; -ENOENT: known to be gone. */
int lifecycle_locate_dir(
	struct daemon *d, struct step *s, const char *path, uint64_t inode, struct errbuf *err);
/* The same by its ids alone; -ENOENT: nothing, or more than one, that is nobody else's. */
int lifecycle_find(struct daemon *d, struct step *s, struct errbuf *err);
/* Do its lists go by what slurmctld says of a job? */
bool lifecycle_goes_by_job(const struct conf *c);
/* Admits, or keeps out, the job's steps that waited for @j; NULL: not known yet, the reason says
 * why. */
void lifecycle_learn(struct daemon *d, uint32_t job_id, const struct whose_job *j);
/* Looks at /proc and the cgroups: what ended unseen, what Slurm rewrote. */
void lifecycle_reconcile(struct daemon *d, int64_t now_ns);
/* Descriptor callback: somebody wrote to a cpuset that we hold (Slurm does at a new step). */
void lifecycle_watch(int fd, uint32_t events, void *daemon);
void lifecycle_end(struct daemon *d, struct step *s, int64_t end_unix_ns);
/* It runs beside those that run now: each is the other's partner. */
void lifecycle_note_partners(struct daemon *d, struct step *s);

/* adopt.c: living through a restart of the daemon */
/* At start: takes over the steps that still run; puts back what belongs to none. */
void adopt_all(struct daemon *d);

/* attach.c: libcoloc's processes */
/* Answers "attach" of a peer; 0: *ret_fds are to go with it, and stay the step's. */
int attach_answer(struct daemon *d, uint32_t uid, pid_t pid, struct msg *reply, int ret_fds[2]);
/* Tells a step's processes what they may use now. */
void attach_update(struct daemon *d, struct step *s);
void attach_beat(struct daemon *d, int64_t now_ns);

/* ctl.c: what colocctl asks; appends to @ret_json (malloc'ed), 0 or 1 as exit status */
int ctl_run(
	struct daemon *d, uint32_t uid, const struct msg *m, char **ret_json, struct errbuf *err);
/* reload.c */
/* Policies and their options are checked too: "colocd -t" must find what a start would. */
int reload_check(struct daemon *d, struct errbuf *err);
/* Reads the file again; *ret_old is what held before. On an error nothing changed. */
int daemon_reload(struct daemon *d, struct conf *ret_old, struct errbuf *err);

/* online.c: have CPUs gone or come? Then all is planned anew on what there is. */
void online_look(struct daemon *d);

/* server.c */
int server_create(struct server **ret, struct daemon *d, struct errbuf *err);
void server_free(struct server *s);
/* Registrations that waited for slurmctld's word on the job, or that there is none, go on. */
void server_learned(struct server *s, uint32_t job_id);

#endif
