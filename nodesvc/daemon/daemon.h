/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.h - what the parts of colocd share. One thread, one loop; main.c creates and destroys.
 */
#ifndef COLOC_NODESVC_DAEMON_H
#define COLOC_NODESVC_DAEMON_H

#include "nodesvc/actuate/actuate.h"
#include "nodesvc/books/books.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/levers/levers.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/node/node.h"
#include "nodesvc/record/ledger.h"
#include "nodesvc/record/record.h"
#include "nodesvc/steps/steps.h"
#include "nodesvc/base/work.h"

struct socket;
struct measure;
struct server;

/* How the daemon's own time goes. */
struct course {
	const char *conf_path;
	int64_t start_ns; /* CLOCK_MONOTONIC */
	/* tick.c */
	struct loop_source *timer;
	bool on;
	int tick_ms; /* between two ticks, as the timer is set */
	int put_off; /* so many times, by a launch */
	int64_t reconciled_ns;
	struct work work; /* what ticks and rounds cost */
	/* arrival.c */
	int64_t last_ns;     /* somebody registered, or ended */
	bool finish_put_off; /* decide_finish() waits for the rest of a launch */
	bool draining;       /* colocctl drain: nobody comes */
};

struct daemon {
	struct conf *conf;
	struct node *node;
	struct jobs *jobs;
	struct course *course;
	struct loop *loop;
	struct ledger *ledger;
	struct record *record;
	struct actuate *actuate;
	struct measure *measure;
	struct books *books;
	struct levers *levers;
	struct choose *choose;
	struct linkage *linkage; /* NULL: nothing is known of executables */
	struct server *server;
};

/* daemon.c: nothing is open; what there is one of is zeroed. */
void daemon_init(struct daemon *d);
/* daemon.c: the rooms, opened with what they need and told whom to tell. */
int daemon_open_rooms(struct daemon *d, struct errbuf *err);
void daemon_close_rooms(struct daemon *d);
/* From now on stopped steps are looked for. */
int daemon_open_suspend(struct daemon *d, struct errbuf *err);

/* suspended.c */
void suspended_change(struct daemon *d, struct step *const *gone, int n_gone,
	struct step *const *back, int n_back);

/* daemon.c: d->levers, told whom to tell. -ENOMEM. */
int daemon_create_levers(struct daemon *d);
/* With the tick. */
int daemon_open_choose(struct daemon *d, struct errbuf *err);
void daemon_close_choose(struct daemon *d);
/* tick.c */
/* A step is there: tick and sampler run, until the last has gone. */
void daemon_start_ticking(struct daemon *d);
/* How far apart ticks are, as things are now. */
int daemon_pace_ms(const struct daemon *d);
/* A launch is a message for each task, one after another: ticks and rounds, milliseconds on a full
 * node, wait until none has come for LAUNCH_PAUSE_NS, but not longer in all than LAUNCH_MAX_NS, of
 * which @late_ns have passed. */
#define LAUNCH_PAUSE_NS INT64_C(1000000)
#define LAUNCH_MAX_NS   INT64_C(20000000)
bool daemon_stands_back(const struct daemon *d, int64_t late_ns);
void daemon_tick(void *daemon);
/* The configuration again (reload_conf()), and the timers that go by it. */
int daemon_reload(struct daemon *d, struct conf *ret_old, struct errbuf *err);
/* What the answers to who asks are made of. */
void daemon_fill_socket(struct daemon *d, struct socket *ret);

struct msg;
struct whose_job;

/* arrival.c: steps come. */
void arrival_step(struct daemon *d, const struct msg *m, struct msg *reply);
void arrival_task(struct daemon *d, const struct msg *m, struct msg *reply);
/* What need not hold up the step: after the answer to a launch's last message. */
void arrival_after_answer(struct daemon *d);
/* May @s, which @m registered, come? Its status and reason say what becomes of it. */
int arrival_admit(struct daemon *d, struct step *s, const struct msg *m, struct errbuf *err);
/* Admits, or keeps out, the job's steps that waited for @j; NULL: not known yet, the reason says
 * why. */
void arrival_learn(struct daemon *d, uint32_t job_id, const struct whose_job *j);

/* departure.c: steps go. */
void departure_task(struct daemon *d, const struct msg *m);
void departure_step(struct daemon *d, const struct msg *m);
void departure_end(struct daemon *d, struct step *s, int64_t end_unix_ns);

/* reconcile.c: what nobody told. */
/* Looks at /proc and the cgroups: what ended unseen, what Slurm rewrote. */
void reconcile_look(struct daemon *d, int64_t now_ns);
/* Descriptor callback: somebody wrote to a cpuset that we hold (Slurm does at a new step). */
void reconcile_watch(int fd, uint32_t events, void *daemon);

/* adopt.c: living through a restart of the daemon */
/* At start: takes over the steps that still run; puts back what belongs to none. */
void adopt_all(struct daemon *d);

/* reload.c */
/* Policies and their options are checked too: "colocd -t" must find what a start would. */
int reload_check(struct daemon *d, struct errbuf *err);
/* Reads the file again; *ret_old is what held before. On an error nothing changed. */
int reload_conf(struct daemon *d, struct conf *ret_old, struct errbuf *err);

/* online.c: have CPUs gone or come? Then all is planned anew on what there is. */
void online_look(struct daemon *d);

#endif
