/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.h - who is here: how a step of the table (jobs.h) is registered, found in the kernel, and
 * stopped; whose its job is; what its processes share with us; what outlives us. Loop thread only.
 */
#ifndef COLOC_STEPS_STEPS_H
#define COLOC_STEPS_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/coreset.h"
#include "common/err.h"
#include "common/msg.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/base/loop.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/steps/jobs.h"

struct actuate;
struct ledger;
struct loop;
struct node;

/* ---- registration.c ---- */

/* What a step_start says: every field is checked here, and the site's lists of who may come. It
 * places nothing and answers nothing. */

struct step_key {
	uint32_t job_id, step_id, nodeid;
};

/* Of any message about a step. */
int registration_key(const struct msg *m, struct step_key *ret, struct errbuf *err);
/* NULL: no such step. */
struct step *registration_step(struct jobs *j, const struct step_key *k);
/* -EINVAL, -ERANGE: the field is named. */
int registration_read(const struct msg *m, struct step *s, struct errbuf *err);
/* What the system calls @uid; one without a name is its number, and asked for again after a minute.
 * So is one whose directory service takes over 0.15 s, until it has answered. From the loop's
 * thread.
 */
void registration_user_name(uint32_t uid, char *ret, size_t size);
/* Keeps it for a colocd that comes after this one: all but what only a launch needs. */
void registration_keep(struct step *s, const struct msg *m);

/* -EPERM: not in the configuration's lists; of a job, after slurmctld said whose it is. */
int registration_check_user(const struct conf *c, const struct step *s, struct errbuf *err);
int registration_check_job(const struct conf *c, const struct step *s, struct errbuf *err);
/* Do its lists go by what slurmctld says of a job? */
bool registration_goes_by_job(const struct conf *c);

/* ---- find.c ---- */

/* Where a step is in the kernel, and what Slurm gave it: its cgroup, allocation and envelope. A
 * directory belongs to one step of the table. Errors: -EPROTO it is another step's. */

/* By one of its processes. */
int find_by_pid(
	const struct jobs *j, struct actuate *a, struct step *s, pid_t pid, struct errbuf *err);
/* By its directory; -ENOENT: known to be gone. */
int find_by_dir(const struct jobs *j, struct actuate *a, struct step *s, const char *path,
	uint64_t inode, struct errbuf *err);
/* By its ids alone; -ENOENT: nothing, or more than one, that is nobody else's. */
int find_by_ids(const struct jobs *j, struct actuate *a, struct step *s, struct errbuf *err);

/* ---- whose.c ---- */

/*
 * The partition and account of a job, in slurmctld's words. What the step's environment says of
 * them is the user's to write, so lists that go by them (allow:) wait for these.
 *
 * A child runs `squeue` for one job at a time, never the daemon itself; what it said is kept. While
 * slurmctld does not answer, it is asked again, at longer and longer intervals.
 */

struct whose_job {
	uint32_t job_id, uid;
	char partition[64], account[64]; /* "" it has none */
};

struct whose_events {
	/* @j NULL: not known yet, whose_trouble() says why. */
	void (*on_answer)(void *arg, uint32_t job_id, const struct whose_job *j);
	void *arg;
};

int whose_open(struct whose **ret, struct loop *loop, const struct jobs *jobs,
	const struct whose_events *events, struct errbuf *err);
void whose_close(struct whose *w);
/* False: not known yet. It is being asked, and on_answer() is told. */
bool whose_ask(struct whose *w, uint32_t job_id, struct whose_job *ret);
/* Why the last question was not answered; "" it was, or was not asked. */
const char *whose_trouble(const struct whose *w);
/* "JOB UID PARTITION ACCOUNT", the account to the end of the line. False: not that. */
bool whose_parse(const char *line, struct whose_job *ret);
/* Keeps it, and tells. */
void whose_learn(struct whose *w, const struct whose_job *j);

/* ---- pages.c ---- */

/* Errors: -errno of memfd_create and friends. */
int pages_create(struct pages **ret, int beat_ms, struct errbuf *err);
/* NULL is fine. The processes keep their mappings; the grant says that nobody renews it. */
void pages_free(struct pages *p);
/* Tells a grant and wakes the waiters, when it is another than before. */
void pages_grant(struct pages *p, const struct coreset *set, int cores);
/* The daemon lives. */
void pages_beat(struct pages *p, int64_t now_ns);

/* ---- suspend.c ---- */

/*
 * Steps that another hand stopped: Slurm (scontrol suspend, preemption, its own gang scheduling),
 * or whoever sends SIGSTOP. Such a step competes for nothing: to the policy its stop is an end, its
 * going on an arrival: on_change() is told. Nothing here stops or wakes anybody, and
 * what the kernel holds of the step (cpuset, masks, priority) stays as it is meanwhile.
 *
 * Slurm sends SIGTSTP, and freezes the step's own freezer group two seconds later (22.05 to 26.05;
 * its gang scheduler and a preemption do the same). So a step is taken for stopped when its group
 * is frozen, not by our rotation, or when all its processes are stopped. Of a step with many
 * threads some, spread over all, stand for the rest; what ran since the last look is not asked.
 *
 * A step's standing (jobs.h) is kept in status_before.
 */

/* What it works with; all of it outlives it. */
struct suspend_uses {
	struct loop *loop;
	const struct node *node;
	struct jobs *jobs;
	struct ledger *ledger;
	struct actuate *actuate;
};

struct suspend_events {
	/* Who stopped, stop.kind says how, and who goes on; their status is as it was. */
	void (*on_change)(void *arg, struct step *const *gone, int n_gone, struct step *const *back,
		int n_back);
	void *arg;
};

/* Copies both. Without a freezer stopped processes still tell. */
int suspend_open(struct suspend **ret, const struct suspend_uses *uses,
	const struct suspend_events *events, struct errbuf *err);
/* NULL is fine. */
void suspend_close(struct suspend *u);
/* At each tick, and before something is measured. NULL: nobody looks. */
void suspend_look(struct suspend *u, int64_t now_ns);
/* The same, from the loop, as soon as it is free. */
void suspend_look_soon(struct suspend *u);
/* Adopted, with figures of @saved_unix_ns: who was stopped then was so ever since. */
void suspend_adopt(struct step *s, int64_t saved_unix_ns);

/* ---- carry.c ---- */

/*
 * What was measured of a step, carried over a restart of the daemon: sums, windows, phases, how it
 * was launched, its way so far. Kept with its registration (adopt.c); as the records of a message
 * (common/msg.h), so that one reader checks both.
 *
 * Between the last keeping and the first sample of the next daemon nobody measured: that gap is
 * told with whatever rests on the figures (struct seen_gap).
 */

/* Writes @s's figures; more ended tasks than fit are left out. */
void carry_save(const struct step *s, struct msg *ret);

/*
 * carry_load - sets @s's figures to those saved, and its ended tasks. -EINVAL, -EPROTO: @m is not
 * what carry_save() wrote (the field is named); then @s is as it was.
 */
int carry_load(struct step *s, const struct msg *m, struct errbuf *err);

#endif
