/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * adopt.c - a daemon that is started anew goes on with the steps that still run: what they
 * registered with is kept beside the accounting, what Slurm gave them is in the ledger, where
 * they are now the kernel knows. Whatever belongs to no living step is put back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/ipc.h"
#include "common/msg.h"
#include "nodesvc/base/log.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/steps/steps.h"

struct kept {
	struct registration reg;
	char *tasks, *cgroup; /* NULL none */
	struct msg msg, figures;
};

struct kept_list {
	struct kept **item;
	int n;
};

static int copy_kept(const struct registration *reg, void *arg)
{
	struct kept_list *l = arg;
	struct kept *k, **items;

	if (l->n == JOBS_MAX || reg->message_len > sizeof(k->msg.buf))
		return 0;
	items = realloc(l->item, (size_t)(l->n + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	l->item = items;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->reg = *reg;
	k->tasks = reg->tasks ? strdup(reg->tasks) : NULL;
	k->cgroup = reg->cgroup && *reg->cgroup ? strdup(reg->cgroup) : NULL;
	memcpy(k->msg.buf, reg->message, reg->message_len);
	k->msg.len = reg->message_len;
	if (reg->figures && reg->figures_len <= sizeof(k->figures.buf)) {
		memcpy(k->figures.buf, reg->figures, reg->figures_len);
		k->figures.len = reg->figures_len;
	}
	l->item[l->n++] = k;
	return 0;
}

static void add_tasks(struct step *s, const char *text)
{
	unsigned int lid;
	int pid, used;

	while (sscanf(text, "%u:%d%n", &lid, &pid, &used) == 2) {
		step_add_task(s, lid, pid);
		text += used;
		if (*text++ != ',')
			break;
	}
}

/* What the former daemon measured; without it all of the step's life so far was measured by
 * nobody. Tasks that ended unseen leave its status unknown. */
static void take_figures(struct step *s, const struct kept *k)
{
	struct errbuf err;
	bool have = k->figures.len > 0;

	if (have && carry_load(s, &k->figures, &err) < 0) {
		log_warning("step %s: what was measured of it is lost: %s", s->id, err.text);
		have = false;
	}
	speed_adopt(s, have ? k->reg.figures_ns : 0);
	suspend_adopt(s, k->reg.figures_ns);
	if (s->n_tasks < s->ntasks)
		s->exit_unknown = true;
	/* Those that ended while nobody looked never register. */
	s->tasks_lost = s->n_tasks < s->ntasks && s->was_placed;
}

/* By one of its tasks: of a colocd that kept no directory. */
static int find_by_tasks(struct daemon *d, struct step *s, const char *text, struct errbuf *err)
{
	int pid, used, rc = err_set(err, -ENOENT, "no task of it is left");

	while (rc < 0 && sscanf(text, "%*u:%d%n", &pid, &used) == 1) {
		rc = find_by_pid(d->jobs, d->actuate, s, pid, err);
		text += used;
		if (*text++ != ',')
			break;
	}
	return rc;
}

/* Where it is, and what Slurm gave it: the kernel's and the ledger's word. A step is a job, a step
 * and a directory; its first task may have ended long ago. */
static int find_placement(
	struct daemon *d, struct step *s, const struct kept *k, struct errbuf *err)
{
	struct ledger_cpuset original;
	int rc = -ENOENT;

	if (k->cgroup && k->reg.inode)
		rc = find_by_dir(d->jobs, d->actuate, s, k->cgroup, k->reg.inode, err);
	else if (k->tasks)
		rc = find_by_tasks(d, s, k->tasks, err);
	if (rc == -ENOENT && !(k->cgroup && k->reg.inode))
		rc = find_by_ids(d->jobs, d->actuate, s, err);
	if (rc < 0)
		return rc;
	if (ledger_get_cpuset(d->ledger, s->cgroup.step_path, &original, err) == 0 &&
		original.inode == s->cgroup.step_inode) {
		/* slurm_step is the original already; where it runs only the kernel knows. */
		rc = actuate_get_ops(d->actuate)->current(d->actuate, &s->cgroup, &s->coreset, err);
		s->was_placed = rc == 0;
	}
	return rc;
}

static int adopt_one(struct daemon *d, const struct kept *k, struct errbuf *err)
{
	struct step *s;
	int64_t age_ns;
	int rc = msg_check(&k->msg, err);

	if (rc < 0)
		return rc;
	s = jobs_add(d->jobs, k->reg.job_id, k->reg.step_id, k->reg.nodeid);
	if (!s)
		return err_set(err, -ENOMEM, "the table of steps is full");
	rc = registration_read(&k->msg, s, err);
	if (rc == 0)
		rc = find_placement(d, s, k, err);
	if (rc == 0)
		rc = arrival_admit(d, s, &k->msg, err);
	if (rc < 0) {
		jobs_remove(d->jobs, s);
		return rc;
	}
	/* The allocation as the kernel has it, not as the message's abstract cores say. */
	s->envelope = s->slurm_job;
	if (k->tasks)
		add_tasks(s, k->tasks);
	s->kept_tasks = s->n_tasks;
	/* For the daemon after this one, and for its release to be remembered. */
	s->kept = true;
	s->message = malloc(k->msg.len);
	if (s->message) {
		memcpy(s->message, k->msg.buf, k->msg.len);
		s->message_len = k->msg.len;
	}
	s->row_id = k->reg.row_id;
	age_ns = ipc_unix_ns() - k->reg.start_ns;
	/* Negative: the clock was set back since. */
	s->start_mono_ns -= age_ns > 0 ? age_ns : 0;
	s->start_unix_ns = k->reg.start_ns;
	take_figures(s, k);
	if (s->status == STATUS_PENDING && s->was_placed) {
		s->status = STATUS_PLACED;
		/* A daemon that placed the other way, or Slurm since: not only when it is looked at
		 * in its turn. */
		s->to_apply =
			actuate_get_ops(d->actuate)->verify(d->actuate, &s->cgroup, &s->coreset) ==
			1;
	}
	reading_open(d->measure, s);
	log_info("step %s: adopted", s->id);
	return 0;
}

static bool was_suspended(const struct kept *k)
{
	const char *text;

	if (!k->figures.len || msg_check(&k->figures, NULL) < 0)
		return false;
	text = msg_get(&k->figures, "suspended");
	return text && strcmp(text, "1") == 0;
}

/* What keeps us from looking says nothing of the step: its registration stays. */
static bool is_no_answer(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -EIO || rc == -EACCES ||
	       rc == -EINTR;
}

void adopt_all(struct daemon *d)
{
	static int64_t alive[JOBS_MAX];
	struct kept_list list = {NULL, 0};
	struct errbuf err;
	int n;

	if (record_registration_list(d->record, copy_kept, &list, &err) < 0)
		log_error("steps of a former colocd are not adopted: %s", err.text);
	/* Whose policy rules is for those to say who run: who was suspended comes after them. */
	for (int i = 0; i < 2 * list.n; i++) {
		struct kept *k = list.item[i % list.n];
		struct registration *reg = &k->reg;
		int rc;

		if (was_suspended(k) != (i >= list.n))
			continue;
		rc = adopt_one(d, k, &err);
		if (rc < 0 && is_no_answer(rc)) {
			log_error("step %u.%u is not adopted: %s", reg->job_id, reg->step_id,
				err.text);
		} else if (rc < 0) {
			log_info("step %u.%u is gone: %s", reg->job_id, reg->step_id, err.text);
			record_registration_rm(
				d->record, reg->job_id, reg->step_id, reg->nodeid, NULL);
		}
	}
	for (int i = 0; i < list.n; i++) {
		free(list.item[i]->tasks);
		free(list.item[i]->cgroup);
		free(list.item[i]);
	}
	free(list.item);
	/* Of steps that nobody registered, or that are not to be moved any more. */
	owed_pass(d->levers, "a former colocd", NULL);
	for (int i = 0; i < d->jobs->n; i++)
		alive[i] = d->jobs->step[i]->row_id;
	n = record_step_close_lost(d->record, alive, d->jobs->n, ipc_unix_ns(), &err);
	if (n > 0)
		log_info("%d steps ended while no colocd ran: their state is unknown", n);
	/* Before anybody is placed: who is suspended has no part in it. */
	suspend_look(d->jobs->suspend, ipc_now_ns());
	for (int i = d->jobs->n - 1; i >= 0; i--)
		if (d->jobs->step[i]->status != STATUS_SUSPENDED) {
			decide_run(d->choose, EVENT_ARRIVAL, d->jobs->step[i]->id, NULL);
			break;
		}
	if (d->jobs->n)
		daemon_start_ticking(d);
	/* Placed all along, but their memory nodes were put back: memory_open(). */
	for (int i = 0; i < d->jobs->n; i++)
		if (d->jobs->step[i]->status == STATUS_PLACED && !d->conf->dry_run &&
			!d->jobs->step[i]->dry_run)
			memory_follow(d->levers, d->jobs->step[i]);
}
