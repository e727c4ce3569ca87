/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The step that was found in this very directory before, or NULL. */
static const struct step *owner_of(const struct jobs *j, const struct step_cgroup *cg)
{
	for (int i = 0; i < j->n; i++) {
		const struct step *s = j->step[i];

		if (s->located && s->cgroup.step_inode == cg->step_inode &&
			strcmp(s->cgroup.step_path, cg->step_path) == 0)
			return s;
	}
	return NULL;
}

/* @s is in @cg, if that is its. */
static int set_place(const struct jobs *j, struct actuate *a, struct step *s,
	struct step_cgroup *cg, const char *who, struct errbuf *err)
{
	const struct step *owner = owner_of(j, cg);
	int rc;

	/* A path without the job's number (actuate.h: sluid) leaves the plugin's word for it, but
	 * for a directory that is another's already. */
	if (cg->sluid[0])
		cg->job_id = owner ? owner->job_id : s->job_id;
	if (cg->job_id != s->job_id || cg->step_id != s->step_id)
		return err_set(err, -EPROTO, "%s is in step %u.%u, not %s", who, cg->job_id,
			cg->step_id, s->id);
	rc = actuate_get_ops(a)->allocation(a, cg, &s->slurm_job, &s->slurm_step, err);
	if (rc < 0)
		return rc;
	s->cgroup = *cg;
	s->located = true;
	s->envelope = s->slurm_job;
	return 0;
}

int find_by_pid(
	const struct jobs *j, struct actuate *a, struct step *s, pid_t pid, struct errbuf *err)
{
	struct step_cgroup cg;
	char who[24];
	int rc = actuate_get_ops(a)->locate(a, pid, &cg, err);

	snprintf(who, sizeof(who), "pid %d", (int)pid);
	return rc < 0 ? rc : set_place(j, a, s, &cg, who, err);
}

int find_by_dir(const struct jobs *j, struct actuate *a, struct step *s, const char *path,
	uint64_t inode, struct errbuf *err)
{
	const struct actuate_ops *ops = actuate_get_ops(a);
	struct step_cgroup cg;
	int rc = ops->locate_dir ? ops->locate_dir(a, path, inode, &cg, err)
				 : err_set(err, -ENOENT, "no cgroup hierarchy to look in");

	return rc < 0 ? rc : set_place(j, a, s, &cg, path, err);
}

/* Slurm nodes of one kernel: a test's, mostly. */
#define NODES_MAX 64

int find_by_ids(const struct jobs *j, struct actuate *a, struct step *s, struct errbuf *err)
{
	static struct step_cgroup cg[NODES_MAX]; /* one thread looks */
	const struct actuate_ops *ops = actuate_get_ops(a);
	struct step_cgroup *its = NULL;
	int n = ops->locate_ids ? ops->locate_ids(a, s->job_id, s->step_id, cg, NODES_MAX, err) : 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		if (owner_of(j, &cg[i]))
			continue;
		/* Of several nobody can tell which is this node's. */
		if (its)
			return err_set(err, -ENOENT, "several nodes have a step %s", s->id);
		its = &cg[i];
	}
	return its ? set_place(j, a, s, its, its->step_path, err)
		   : err_set(err, -ENOENT, "no cgroup of step %s", s->id);
}
