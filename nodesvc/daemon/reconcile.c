/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reconcile.c - what nobody told: steps that ended unseen, cpusets that another hand wrote, batch
 * shells whose job runs no step any more. It looks once a second, and when the kernel tells.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "nodesvc/base/log.h"
#include "nodesvc/choose/choose.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/steps/steps.h"

/* A registered step whose tasks never came, and that has no cgroup: the launch failed before fork.
 */
#define PENDING_MAX_NS INT64_C(30000000000)
/* After so long without a message of its launch, what the kernel has is believed: a message may
 * have been lost (the plugin has a budget for them). */
#define LOST_NS INT64_C(2000000000)
/* So many of its threads are asked whether one is slurmstepd's child still. */
#define LAUNCHING_MAX 256
/* A batch shell comes back into the set when its job ran no step for this long. */
#define ASIDE_BACK_NS INT64_C(2000000000)
#define VERIFY_NS     INT64_C(10000000000)

static bool job_has_steps(const struct daemon *d, const struct step *batch)
{
	for (int i = 0; i < d->jobs->n; i++)
		if (d->jobs->step[i] != batch && d->jobs->step[i]->job_id == batch->job_id)
			return true;
	return false;
}

/* Ours again, after another hand wrote the step's or its job's cpuset. */
static void place_again(struct daemon *d, struct step *s)
{
	struct actuate_result result;
	struct coreset cpus;
	struct errbuf err;
	int rc;

	if (s->status != STATUS_PLACED || trial_is_on(d->choose))
		return;
	cpus = step_cpus(s);
	rc = actuate_get_ops(d->actuate)->apply(d->actuate, &s->cgroup, &cpus, &result, &err);
	if (rc == -ENOENT)
		return; /* ended meanwhile: step_end, or the next look, tells */
	if (rc < 0) {
		log_warning("step %s: placement again: %s", s->id, err.text);
		return;
	}
	s->reapplied++;
	log_info("step %s: its cpuset was rewritten by another hand, placed again", s->id);
}

static void on_rewritten(const char *step_path, void *arg)
{
	struct daemon *d = arg;

	for (int i = 0; i < d->jobs->n; i++)
		if (strcmp(d->jobs->step[i]->cgroup.step_path, step_path) == 0)
			place_again(d, d->jobs->step[i]);
}

void reconcile_watch(int fd, uint32_t events, void *daemon)
{
	struct daemon *d = daemon;

	(void)fd;
	(void)events;
	actuate_watch_read(d->actuate, on_rewritten, d);
}

/* Without a backend that lists a step's threads, its tasks' pids have to tell. */
static bool tasks_gone(const struct step *s)
{
	for (int i = 0; i < s->n_tasks; i++)
		if (!s->task[i].ended && (kill(s->task[i].pid, 0) == 0 || errno != ESRCH))
			return false;
	return s->n_tasks > 0;
}

/* Is the step still there? As threads() says it; where there is a directory, for less. */
static int look_for(struct daemon *d, const struct step *s)
{
	const struct actuate_ops *ops = actuate_get_ops(d->actuate);
	cleanup_free pid_t *tid = NULL;
	int n;

	if (s->cgroup.step_inode) {
		n = fsroot_is_there(&d->node->root, s->cgroup.step_path, s->cgroup.step_inode);
		return n > 0 ? 0 : n == 0 ? -ENOENT : n;
	}
	return ops->threads(d->actuate, &s->cgroup, &tid, &n);
}

/* Somebody may have written unseen: where the kernel tells of writes, this is for those it lost. */
static bool verify_is_due(const struct daemon *d, struct step *s, int64_t now_ns)
{
	int64_t every_ns = actuate_watch_fd(d->actuate) >= 0 ? VERIFY_NS : 0;

	/* Not all in one tick. */
	if (s->pace.verified_ns == 0)
		s->pace.verified_ns = now_ns - s->order % 10 * (every_ns / 10);
	if (s->status != STATUS_PLACED || now_ns - s->pace.verified_ns < every_ns)
		return false;
	s->pace.verified_ns = now_ns;
	return true;
}

/* Does one of the step's processes bear slurmstepd's name, that is, has not exec'ed? Slurm still
 * binds it. Nobody there: neither. */
static bool is_running(struct daemon *d, const struct step *s)
{
	cleanup_free pid_t *tid = NULL;
	int n = 0;

	if (actuate_get_ops(d->actuate)->threads(d->actuate, &s->cgroup, &tid, &n) < 0 || n == 0)
		return false;
	for (int i = 0; i < n && i < LAUNCHING_MAX; i++) {
		char path[64], name[32];

		snprintf(path, sizeof(path), "proc/%d/comm", (int)tid[i]);
		if (fsroot_read(&d->node->root, path, name, sizeof(name)) > 0 &&
			strcmp(name, "slurmstepd\n") == 0)
			return false;
	}
	return true;
}

/* A step of which a task_start never came is placed all the same, once it runs. */
static void look_for_lost(struct daemon *d, struct step *s, int64_t now_ns)
{
	int64_t since_ns = s->last_task_ns ? s->last_task_ns : s->start_mono_ns;
	struct errbuf err;

	if ((s->located && step_is_launched(s)) || now_ns - since_ns < LOST_NS)
		return;
	if (!s->located) {
		if (find_by_ids(d->jobs, d->actuate, s, &err) < 0)
			return;
		quarantine_stale(d->choose);
	}
	if (!is_running(d, s))
		return;
	log_info("step %s: %d of its %d tasks registered; it runs, and is placed", s->id,
		s->n_tasks, s->ntasks);
	s->tasks_lost = true;
	s->exit_unknown = true;
	s->dirty = true;
	if (decide_place(d->choose, s, &err) < 0)
		log_warning("step %s: not placed: %s", s->id, err.text);
	decide_finish(d->choose);
}

void reconcile_look(struct daemon *d, int64_t now_ns)
{
	for (int i = d->jobs->n - 1; i >= 0; i--) {
		struct step *s = d->jobs->step[i];
		struct coreset cpus;
		int rc;

		look_for_lost(d, s, now_ns);
		if (!s->located) {
			if (now_ns - s->start_mono_ns > PENDING_MAX_NS)
				departure_end(d, s, ipc_unix_ns());
			continue;
		}
		rc = look_for(d, s);
		if (rc == -ENOENT || (rc < 0 && !s->cgroup.step_inode && tasks_gone(s))) {
			/* What tells its exit status may wait in the socket: at the next look. */
			if (s->gone)
				departure_end(d, s, ipc_unix_ns());
			else
				s->gone = true;
			continue;
		}
		cpus = step_cpus(s);
		if (verify_is_due(d, s, now_ns) &&
			actuate_get_ops(d->actuate)->verify(d->actuate, &s->cgroup, &cpus) == 1)
			place_again(d, s);
		if (s->status == STATUS_ASIDE && job_has_steps(d, s)) {
			s->last_move_ns = now_ns;
		} else if (s->status == STATUS_ASIDE && now_ns - s->last_move_ns > ASIDE_BACK_NS) {
			s->status = STATUS_PENDING;
			s->reason[0] = '\0';
			decide_run(d->choose, EVENT_ARRIVAL, s->id, NULL);
		}
	}
}
