/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steer_members.c - the threads of a step that is placed by masks, known from look to look. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/actuate/steer.h"

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_process(const struct steer *st, pid_t tid)
{
	return st->n_procs &&
	       bsearch(&tid, st->procs, (size_t)st->n_procs, sizeof(tid), compare_pids);
}

static int compare_members(const void *a, const void *b)
{
	return compare_pids(&((const struct member *)a)->tid, &((const struct member *)b)->tid);
}

struct member *steer_find(struct steer *st, pid_t tid)
{
	const struct member key = {.tid = tid};

	return st->n ? bsearch(&key, st->member, (size_t)st->n, sizeof(key), compare_members)
		     : NULL;
}

struct member *steer_leader(struct steer *st, const struct member *t)
{
	struct member *leader = t->tid == t->tgid ? NULL : steer_find(st, t->tgid);

	return leader && leader->row ? leader : NULL;
}

struct steered *steer_add_row(struct member *t)
{
	if (!t->row)
		t->row = calloc(1, sizeof(*t->row));
	return t->row;
}

static void member_done(struct member *t)
{
	free(t->row);
	free(t->stray);
}

void steer_members_done(struct steer *st)
{
	for (int i = 0; i < st->n; i++)
		member_done(&st->member[i]);
	free(st->member);
	free(st->procs);
	st->member = NULL;
	st->procs = NULL;
	st->n = st->n_procs = 0;
}

/* Both lists are by number. Who is there no more is dropped. */
static int merge(struct steer *st, const pid_t *tid, int n)
{
	struct member *v = calloc((size_t)n + 1, sizeof(*v));
	int k = 0;

	if (!v)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		while (k < st->n && st->member[k].tid < tid[i])
			member_done(&st->member[k++]);
		if (k < st->n && st->member[k].tid == tid[i]) {
			v[i] = st->member[k++];
			continue;
		}
		v[i].tid = tid[i];
		st->newcomers = true;
	}
	while (k < st->n)
		member_done(&st->member[k++]);
	free(st->member);
	st->member = v;
	st->n = n;
	return 0;
}

static bool is_known(const struct steer *st, const pid_t *tid, int n)
{
	if (n != st->n)
		return false;
	for (int i = 0; i < n; i++)
		if (st->member[i].tid != tid[i])
			return false;
	return true;
}

int steer_list(struct actuate *a, struct steer *st)
{
	cleanup_free pid_t *tid = NULL;
	pid_t *procs;
	int n, rc = proc_pids(a->root, st->dir, st->h->threads_file, &tid, &n);

	if (rc < 0)
		return rc;
	if (!is_known(st, tid, n))
		rc = merge(st, tid, n);
	if (rc < 0 || !st->newcomers)
		return rc;
	/* After the threads: whoever is a process is in it. */
	rc = proc_pids(a->root, st->dir, "cgroup.procs", &procs, &n);
	if (rc < 0)
		return rc;
	free(st->procs);
	st->procs = procs;
	st->n_procs = n;
	st->newcomers = false;
	return 0;
}

/* Slurm's daemon is only in its own directory, if at all. */
static bool may_be_slurmstepds(const struct steer *st)
{
	return st->h->tells_slurmstepd && strcmp(st->dir, st->step.step_path) == 0;
}

/* A thread mostly belongs to the same process as the one before it. */
static bool is_thread_of(const struct actuate *a, pid_t tgid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/task/%d", (int)tgid, (int)tid);
	return fsroot_exists(a->root, path);
}

int steer_learn(struct actuate *a, struct steer *st, struct member *t)
{
	const struct member *before = t > st->member ? t - 1 : NULL;
	struct member *leader;
	int rc = 0;

	if (t->tgid)
		return 0;
	if (is_process(st, t->tid)) {
		rc = may_be_slurmstepds(st)
			     ? proc_is_slurmstepd(a->root, t->tid, st->procs, st->n_procs)
			     : 0;
		if (rc < 0)
			return rc;
		t->foreign = rc > 0;
		t->tgid = t->tid;
		return 0;
	}
	if (before && before->tgid && is_thread_of(a, before->tgid, t->tid))
		t->tgid = before->tgid;
	else
		rc = proc_tgid(a->root, t->tid, &t->tgid);
	if (rc < 0)
		return rc;
	leader = steer_find(st, t->tgid);
	if (leader && leader != t) {
		rc = steer_learn(a, st, leader);
		t->foreign = rc == 0 && leader->foreign;
	}
	return rc;
}
