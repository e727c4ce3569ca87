/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lifecycle.c - steps come (step_start, task_start) and go (task_exit, step_end). Messages were
 * checked to come from root. What a step_start says is read in admit.c; steps that end unseen are
 * found in reconcile.c; account.c writes it all down.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/base/health.h"
#include "nodesvc/books/books.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/launch/launch.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/engine/policy.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"

/* A control launch is placed when its runtime has chosen its threads and its way of waiting. */
#define CONTROL_NS INT64_C(1000000000)
/* An executable that is not read in this time, a fraction of the plugin's budget, is not known. */
/* Refused steps are logged one in so long. */
#define REFUSALS_NS INT64_C(60000000000)
/* The two clocks differ by this much only if one was set. */
#define CLOCK_SET_NS INT64_C(2000000000)

struct step_key {
	uint32_t job_id, step_id, nodeid;
};

static int step_ids(const struct msg *m, struct step_key *ret, struct errbuf *err)
{
	int64_t job, step, node = 0;
	int rc = msg_get_int(m, "job", 1, UINT32_MAX, &job, err);

	if (rc == 0)
		rc = msg_get_int(m, "step", 0, UINT32_MAX, &step, err);
	if (rc == 0 && msg_get(m, "nodeid"))
		rc = msg_get_int(m, "nodeid", 0, UINT32_MAX, &node, err);
	if (rc < 0)
		return rc;
	*ret = (struct step_key){(uint32_t)job, (uint32_t)step, (uint32_t)node};
	return 0;
}

static struct step *find_step(struct daemon *d, const struct step_key *k)
{
	return jobs_find(&d->jobs, k->job_id, k->step_id, k->nodeid);
}

/* A site that keeps many out, by its lists, is not to find that in its log for each step. */
static void log_refusal(const char *id, const char *why)
{
	static int64_t last_ns = -REFUSALS_NS;
	static int unsaid;
	int64_t now_ns = ipc_now_ns();

	if (now_ns - last_ns < REFUSALS_NS) {
		unsaid++;
		log_debug("step %s: refused: %s", id, why);
		return;
	}
	if (unsaid)
		log_info("step %s: refused: %s (and %d more steps since the last such line)", id,
			why, unsaid);
	else
		log_info("step %s: refused: %s", id, why);
	last_ns = now_ns;
	unsaid = 0;
}

static void put_step_reply(const struct step *s, struct msg *reply)
{
	char names[512] = "";

	msg_init(reply, "step_ok");
	msg_put(reply, "policy", s->policy);
	msg_put(reply, "req_policy", s->req_policy);
	msg_put(reply, "reason", step_reason(s));
	/* For cores lent to it, and turns of single threads. */
	if (s->status != STATUS_EXCLUDED && !s->dry_run)
		msg_put(reply, "may_idle", "1");
	for (int i = 0; i < s->n_env; i++) {
		if (*s->env[i].why)
			continue;
		msg_putf(reply, "env", "%s=%s", s->env[i].name, s->env[i].value);
		step_note(names, sizeof(names), ",", s->env[i].name, false);
	}
}

static void refuse_step(struct msg *reply, const char *why)
{
	msg_init(reply, "step_refused");
	msg_put(reply, "reason", why);
}

void lifecycle_note_partners(struct daemon *d, struct step *s)
{
	for (int i = 0; i < d->jobs.n; i++) {
		struct step *o = d->jobs.step[i];

		if (o == s || o->job_id == s->job_id || o->status == STATUS_SUSPENDED)
			continue;
		step_note(s->partners, sizeof(s->partners), ",", o->id, false);
		step_note(o->partners, sizeof(o->partners), ",", s->id, false);
	}
}

/* One launch in so many without the levers that act before exec, to know what they are worth. */
static bool start_control(struct daemon *d, struct step *s)
{
	if (s->batch || drand48() >= d->conf.control_fraction)
		return false;
	s->track.launch = "control";
	s->track.control_until_ns = s->start_mono_ns + CONTROL_NS;
	log_debug("step %s: starts without a lever, to compare", s->id);
	return true;
}

static enum launch_around around(const struct daemon *d, const struct step *s)
{
	struct choose_state state;
	const struct policy_ops *ops;

	choose_get_state(d->choose, &state);
	ops = state.decided_by ? policy_find(state.decided_by) : NULL;
	/* Whoever decided gives cores to one at a time, and the node and the step allow of it. */
	if (ops && ops->in_turns && !s->held && !s->batch && s->nnodes == 1 &&
		!levers_no_turns(d->levers))
		return LAUNCH_IN_TURNS;
	/* CPUs poll for nobody who may not wait that way: a script, or what is not known. */
	return levers_will_poll(d->levers) && !s->held && (s->links & LINKS_LIBGOMP)
		       ? LAUNCH_POLLED
		       : LAUNCH_SHARES;
}

/* Only where there is something to choose. */
static void find_links(struct daemon *d, struct step *s, const struct msg *m)
{
	const struct command c = {msg_get(m, "name"), msg_get(m, "cwd"), msg_get(m, "path")};

	if (!c.name || s->batch || !d->conf.launch_env.enabled)
		return;
	s->links = linkage_of(d->linkage, &c, s->uid, LINKAGE_WAIT_MS, s->start_mono_ns);
}

/* For a colocd that comes after this one: all but what only a launch needs. */
static void keep_message(struct step *s, const struct msg *m)
{
	s->message = malloc(m->len);
	for (size_t at = 0; s->message && at < m->len;) {
		const char *record = m->buf + at;
		size_t len = strlen(record) + 1;

		at += len;
		if (strncmp(record, "cwd=", 4) == 0 || strncmp(record, "path=", 5) == 0)
			continue;
		memcpy(s->message + s->message_len, record, len);
		s->message_len += len;
	}
}

void lifecycle_step_start(struct daemon *d, const struct msg *m, struct msg *reply)
{
	struct errbuf err;
	struct step *s;
	struct step_key key = {0};
	int rc = step_ids(m, &key, &err);

	d->finish_put_off = false;
	if (rc < 0 || key.step_id == STEP_EXTERN) {
		refuse_step(reply, rc < 0 ? err.text : "the extern step is never touched");
		return;
	}
	if (d->jobs.n == 0)
		online_look(d); /* nothing ticked meanwhile */
	s = find_step(d, &key);
	if (s && s->n_tasks == 0) { /* sent twice: same answer */
		put_step_reply(s, reply);
		return;
	}
	if (s) /* requeued under the same ids: the old life is over */
		lifecycle_end(d, s, ipc_unix_ns());
	if (d->draining) {
		refuse_step(reply, "the node drains: colocctl resume");
		return;
	}
	/* Slurm stops whom a job preempts just before. */
	suspend_look(d->suspend, ipc_now_ns());
	s = jobs_add(&d->jobs, key.job_id, key.step_id, key.nodeid);
	if (!s) {
		refuse_step(reply, "the table of steps is full");
		return;
	}
	rc = lifecycle_read_step(m, s, &err);
	if (rc == 0)
		rc = lifecycle_admit(d, s, m, &err);
	if (rc < 0) {
		log_refusal(s->id, err.text);
		refuse_step(reply, err.text);
		jobs_remove(&d->jobs, s);
		return;
	}
	keep_message(s, m);
	if (s->owned)
		kept_mark_owner(d->books, s);
	lifecycle_note_partners(d, s);
	if (s->status == STATUS_PENDING) {
		reading_open(d->measure, s);
		decide_run(d->choose, EVENT_ARRIVAL, s->id, s);
		/* The guard judges placements: both sides of its windows have the environment. */
		if ((strcmp(s->policy, "none") != 0 || s->held) && !s->dry_run &&
			!d->conf.dry_run && !start_control(d, s)) {
			find_links(d, s, m);
			launch_decide(&d->conf, s, m, topo_count_cores(d->node.topo, &s->envelope),
				topo_count_cores(
					d->node.topo, s->held ? &s->envelope : &s->coreset),
				around(d, s));
		}
		if (s->n_env && !s->track.launch)
			s->track.launch = "lever";
	}
	/* Its tasks are about to register: they would wait for it. */
	d->finish_put_off = s->status == STATUS_PENDING;
	daemon_start_ticking(d);
	put_step_reply(s, reply);
}

void lifecycle_after_answer(struct daemon *d)
{
	if (!d->finish_put_off)
		decide_finish(d->choose);
	for (int i = 0; i < d->jobs.n; i++)
		if (d->jobs.step[i]->row_id == 0)
			d->jobs.step[i]->dirty = true;
}

/* The step that was found in this very directory before, or NULL. */
static const struct step *owner_of(const struct daemon *d, const struct step_cgroup *cg)
{
	for (int i = 0; i < d->jobs.n; i++) {
		const struct step *s = d->jobs.step[i];

		if (s->located && s->cgroup.step_inode == cg->step_inode &&
			strcmp(s->cgroup.step_path, cg->step_path) == 0)
			return s;
	}
	return NULL;
}

/* @s is in @cg, if that is its. */
static int set_place(struct daemon *d, struct step *s, struct step_cgroup *cg, const char *who,
	struct errbuf *err)
{
	const struct step *owner = owner_of(d, cg);
	int rc;

	/* A path without the job's number (actuate.h: sluid) leaves the plugin's word for it, but
	 * for a directory that is another's already. */
	if (cg->sluid[0])
		cg->job_id = owner ? owner->job_id : s->job_id;
	if (cg->job_id != s->job_id || cg->step_id != s->step_id)
		return err_set(err, -EPROTO, "%s is in step %u.%u, not %s", who, cg->job_id,
			cg->step_id, s->id);
	rc = actuate_get_ops(d->actuate)
		     ->allocation(d->actuate, cg, &s->slurm_job, &s->slurm_step, err);
	if (rc < 0)
		return rc;
	s->cgroup = *cg;
	s->located = true;
	s->envelope = s->slurm_job;
	return 0;
}

int lifecycle_locate(struct daemon *d, struct step *s, pid_t pid, struct errbuf *err)
{
	struct step_cgroup cg;
	char who[24];
	int rc = actuate_get_ops(d->actuate)->locate(d->actuate, pid, &cg, err);

	snprintf(who, sizeof(who), "pid %d", (int)pid);
	return rc < 0 ? rc : set_place(d, s, &cg, who, err);
}

int lifecycle_locate_dir(
	struct daemon *d, struct step *s, const char *path, uint64_t inode, struct errbuf *err)
{
	const struct actuate_ops *ops = actuate_get_ops(d->actuate);
	struct step_cgroup cg;
	int rc = ops->locate_dir ? ops->locate_dir(d->actuate, path, inode, &cg, err)
				 : err_set(err, -ENOENT, "no cgroup hierarchy to look in");

	return rc < 0 ? rc : set_place(d, s, &cg, path, err);
}

/* Slurm nodes of one kernel: a test's, mostly. */
#define NODES_MAX 64

int lifecycle_find(struct daemon *d, struct step *s, struct errbuf *err)
{
	static struct step_cgroup cg[NODES_MAX]; /* one thread looks */
	const struct actuate_ops *ops = actuate_get_ops(d->actuate);
	struct step_cgroup *its = NULL;
	int n = ops->locate_ids
			? ops->locate_ids(d->actuate, s->job_id, s->step_id, cg, NODES_MAX, err)
			: 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		if (owner_of(d, &cg[i]))
			continue;
		/* Of several nobody can tell which is this node's. */
		if (its)
			return err_set(err, -ENOENT, "several nodes have a step %s", s->id);
		its = &cg[i];
	}
	return its ? set_place(d, s, its, its->step_path, err)
		   : err_set(err, -ENOENT, "no cgroup of step %s", s->id);
}

void lifecycle_task_start(struct daemon *d, const struct msg *m, struct msg *reply)
{
	char cores[CORESET_STR_MAX];
	struct errbuf err;
	struct step_key key = {0};
	int64_t pid = 0, lid = 0;
	struct step *s = NULL;
	int rc = step_ids(m, &key, &err);

	d->finish_put_off = false;
	if (rc == 0)
		rc = msg_get_int(m, "pid", 1, INT32_MAX, &pid, &err);
	if (rc == 0)
		rc = msg_get_int(m, "task", 0, UINT32_MAX, &lid, &err);
	if (rc == 0 && !(s = find_step(d, &key)))
		rc = err_set(
			&err, -ENOENT, "step %u.%u is not registered", key.job_id, key.step_id);
	if (rc == 0 && !s->located) {
		rc = lifecycle_locate(d, s, (pid_t)pid, &err);
		quarantine_stale(d->choose); /* its allocation may be another than was said */
	}
	if (rc == 0 && !step_find_task(s, (uint32_t)lid))
		rc = step_add_task(s, (uint32_t)lid, (pid_t)pid);
	/* All tasks of a step wait for the last one's fork before any execs, and Slurm still sets
	 * masks of its own meanwhile: one placement, when all are there. */
	if (rc == 0 && step_is_launched(s))
		rc = decide_place(d->choose, s, &err);
	else
		d->finish_put_off = rc == 0;
	if (rc < 0) {
		log_warning("step %u.%u: task not placed: %s", key.job_id, key.step_id, err.text);
		msg_init(reply, "task_refused");
		msg_put(reply, "reason", err.text);
		return;
	}
	msg_init(reply, "task_ok");
	msg_put(reply, "coreset", coreset_format(&s->coreset, cores, sizeof(cores)));
	msg_putf(reply, "cores", "%d", topo_count_cores(d->node.topo, &s->coreset));
	msg_put(reply, "policy", s->policy);
	msg_put(reply, "reason", *step_reason(s) ? step_reason(s) : s->why);
}

/* A clock that was set meanwhile is no part of how long the step ran. */
static int64_t end_of(const struct step *s, int64_t end_unix_ns)
{
	int64_t ran_ns = ipc_now_ns() - s->start_mono_ns;
	int64_t set_ns = end_unix_ns - s->start_unix_ns - ran_ns;

	return ran_ns >= 0 && (set_ns > CLOCK_SET_NS || set_ns < -CLOCK_SET_NS)
		       ? s->start_unix_ns + ran_ns
		       : end_unix_ns;
}

void lifecycle_end(struct daemon *d, struct step *s, int64_t end_unix_ns)
{
	bool managed = step_is_managed(s);
	char id[JOB_ID_MAX];

	levers_end(d->levers, s);
	trial_abort(d->choose);
	account_end(d->books, s, step_final_state(s), end_of(s, end_unix_ns));
	reading_close(d->measure, s);
	snprintf(id, sizeof(id), "%s", s->id);
	books_step_ended(d->books, s);
	if (step_final_state(s) == STEP_COMPLETED)
		decide_note_done(d->choose, s);
	jobs_remove(&d->jobs, s);
	levers_look_at_idle(d->levers);
	if (managed)
		decide_run(d->choose, EVENT_END, id, NULL);
}

void lifecycle_task_exit(struct daemon *d, const struct msg *m)
{
	struct errbuf err;
	struct step_key key = {0};
	int64_t lid, status;
	struct step *s;
	struct task *t;

	if (step_ids(m, &key, &err) < 0 || msg_get_int(m, "task", 0, UINT32_MAX, &lid, &err) < 0)
		return;
	s = find_step(d, &key);
	t = s ? step_find_task(s, (uint32_t)lid) : NULL;
	if (!t || t->ended)
		return;
	t->ended = true;
	s->n_alive--;
	if (msg_get_int(m, "status", 0, INT32_MAX, &status, &err) == 0) {
		t->status = (int)status;
		if (t->status > s->exit_status)
			s->exit_status = t->status;
	}
	levers_task_exited(d->levers, s);
}

void lifecycle_step_end(struct daemon *d, const struct msg *m)
{
	struct errbuf err;
	struct step_key key = {0};
	struct step *s;

	if (step_ids(m, &key, &err) < 0)
		return;
	s = find_step(d, &key);
	if (s)
		lifecycle_end(d, s, ipc_unix_ns());
}
