/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v1.c - cgroup v1: the step's cpuset directory, beside any v2 tree (hybrid). Writes the step
 * level only; the job level is Slurm's, which rewrites it to its allocation at each new step and
 * fails that step when an older one holds CPUs outside. So a set outside the job level is refused,
 * or the step moves out of Slurm's tree (v1_out.c).
 * v1_below.c takes along what a container runtime made below the step.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STAYS_INSIDE "%s: has cpusets of its own below, it stays inside its job's CPUs"

static int v1_check(const struct fsroot *root, const char *mount, struct errbuf *err)
{
	char path[FILE_MAX];

	snprintf(path, sizeof(path), "%s/cpuset.cpus", mount);
	return fsroot_exists(root, path) ? 0 : err_set(err, -ENOTSUP, "/%s is not there", path);
}

static bool v1_find(const struct fsroot *root, struct actuate_found *ret)
{
	if (!fsroot_exists(root, CGROUPS "/cpuset/cpuset.cpus"))
		return false;
	ret->advice = NULL;
	snprintf(ret->text, sizeof(ret->text), "v1 with cpuset%s%s",
		fsroot_exists(root, CGROUPS "/freezer") ? " and freezer" : "",
		fsroot_exists(root, CGROUPS "/unified/cgroup.procs") ? ", hybrid" : "");
	return true;
}

static int v1_allocation(struct actuate *a, const struct step_cgroup *s, struct coreset *ret_job,
	struct coreset *ret_step, struct errbuf *err)
{
	struct coreset job, step;
	int rc = cpus_read(a->root, s->job_path, &job, err);

	if (rc < 0)
		return rc;
	/* Under us the file holds our set: Slurm's is in the ledger. */
	rc = change_recorded(a, s->step_path, NULL, &step, err);
	if (rc == -ENOENT)
		rc = cpus_read(a->root, s->step_path, &step, err);
	if (rc < 0)
		return rc;
	*ret_job = job;
	*ret_step = step;
	return 0;
}

/* An earlier set, or what the job level still allows of it. */
static int v1_write_back(
	const struct masks *m, const struct coreset *cpus, struct coreset *ret, struct errbuf *err)
{
	int rc = cpus_cut_to_above(m->a->root, m->dir, "cpuset.cpus", cpus, ret, err);

	if (rc == 0)
		rc = v1_below_follow(m, ret, err);
	return rc < 0 ? rc : cpus_put_back(m->a->root, m->dir, "cpuset.cpus", cpus, ret, err);
}

/* Out of Slurm's tree: its job's level is Slurm's. */
static int widen_out(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	char dir[FILE_MAX];
	int n = 0, rc = 0;

	if (!v1_out_where(a, s->step_path, dir, sizeof(dir))) {
		rc = v1_below_count(a, s->step_path, &n, err);
		if (rc == 0 && n)
			rc = err_set(err, -EBUSY, STAYS_INSIDE, s->step_path);
		if (rc == 0)
			rc = v1_out_move(a, s, err);
	}
	if (rc == 0 && !v1_out_where(a, s->step_path, dir, sizeof(dir)))
		rc = err_set(err, -ENOENT, "%s: the step has ended", s->step_path);
	return rc < 0 ? rc : cpus_write(a->root, dir, &a->all_pus, err);
}

static int v1_widen(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct errbuf *err)
{
	struct coreset job;
	int rc = cpus_read(a->root, s->job_path, &job, err);

	if (rc == 0 && a->outside && !coreset_is_subset(&a->all_pus, &job)) {
		rc = widen_out(a, s, err);
		if (rc != -EBUSY || !coreset_is_subset(set, &job))
			return rc;
		rc = 0;
	}
	if (rc < 0 || !coreset_is_subset(set, &job))
		return rc; /* who asked finds that it is not inside */
	return cpus_write(a->root, s->step_path, &job, err);
}

static int v1_narrow(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	const struct masks m = {.a = a, .path = s->step_path};
	struct coreset original, now;
	struct masks in;
	char dir[FILE_MAX];
	bool out = v1_out_where(a, s->step_path, dir, sizeof(dir));
	int rc = v1_out_return(a, s->step_path, err);

	if (rc == 0 && out)
		rc = v1_below_restore_all(a, dir, err);
	if (rc == 0)
		rc = change_recorded(a, s->step_path, NULL, &original, err);
	if (rc == 0)
		rc = cpus_read(a->root, s->step_path, &now, err);
	/* What it has lost is not ours to give back. */
	if (rc == 0 && !coreset_is_subset(&now, &original)) {
		in = m;
		snprintf(in.dir, sizeof(in.dir), "%s", s->step_path);
		rc = v1_write_back(&in, &original, &now, err);
	}
	return rc == -ENOENT ? 0 : rc;
}

/* A first change that fails leaves nothing in the ledger, unless the way back failed as well. */
static int move_out(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	char dir[FILE_MAX];
	struct errbuf why;
	bool is_ours = change_recorded(a, s->step_path, NULL, NULL, &why) == 0;
	int n = 0, rc = v1_below_count(a, s->step_path, &n, err);

	if (rc == 0 && n)
		rc = err_set(err, -EBUSY, STAYS_INSIDE, s->step_path);
	if (rc == 0)
		rc = change_record(a->h, a, s, err);
	if (rc < 0)
		return rc;
	rc = v1_out_move(a, s, err);
	if (rc < 0 && !is_ours && !v1_out_where(a, s->step_path, dir, sizeof(dir)))
		ledger_forget(a->ledger, s->step_path, &why);
	return rc;
}

static int v1_apply(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *err)
{
	char want[CORESET_STR_MAX], have[CORESET_STR_MAX];
	struct coreset job;
	char dir[FILE_MAX];
	int rc;

	if (v1_out_where(a, s->step_path, dir, sizeof(dir)))
		return change_apply(a->h, a, s, set, ret, err);
	rc = cpus_read(a->root, s->job_path, &job, err);
	if (rc < 0)
		return rc;
	if (!coreset_is_subset(set, &job) && a->outside) {
		rc = move_out(a, s, err);
		return rc < 0 ? rc : change_apply(a->h, a, s, set, ret, err);
	}
	if (!coreset_is_subset(set, &job))
		return err_set(err, -ERANGE, "%s: '%.60s' is not inside the job's CPUs '%.60s'",
			s->step_path, coreset_format(set, want, sizeof(want)),
			coreset_format(&job, have, sizeof(have)));
	return change_apply(a->h, a, s, set, ret, err);
}

static int v1_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	char dir[FILE_MAX];
	struct stat st;
	bool out;
	int rc;

	/* The ledger names levels below a step too. */
	if (v1_is_below(s->step_path))
		return v1_below_restore(a, s->step_path, err);
	rc = steer_restore(a->h, a, s, err);
	if (rc != -EXDEV)
		return rc;
	rc = v1_out_look(a, s->step_path, dir, sizeof(dir));
	out = rc > 0;
	if (rc < 0)
		return err_set(err, rc, "%s: cannot be looked at: %s", dir, strerror(-rc));
	rc = out ? fsroot_stat(a->root, s->step_path, &st) : 0;
	/* First to Slurm's CPUs where they are, so that no thread loses its mask on the way. */
	if (out && rc == 0)
		rc = change_put_back(a->h, a, s, err);
	else if (rc == -ENOENT)
		rc = 0;
	else if (rc < 0)
		err_set(err, rc, "%s: %s", s->step_path, strerror(-rc));
	if (rc == 0)
		rc = v1_out_return(a, s->step_path, err);
	/* Levels that were made below went with it: only their rows are left. */
	if (rc == 0 && out)
		rc = v1_below_restore_all(a, dir, err);
	if (rc < 0)
		return rc;
	rc = change_restore(a->h, a, s, err);
	return rc < 0 ? rc : v1_below_restore_all(a, s->step_path, err);
}

const struct hierarchy hierarchy_v1 = {
	.ops = {.name = "cgroup-v1",
		CGROUP_OPS,
		.allocation = v1_allocation,
		.restore = v1_restore},
	.mount = {"cgroup v1 cpuset", "cgroup", "cpuset"},
	.controller = "cpuset",
	.below_step = "",
	.mems = "cpuset.mems",
	.check = v1_check,
	.parse = v1_out_locate,
	.find = v1_find,
	.apply = v1_apply,
	.idle = idle_set_threads,
	.freezer = {{"cgroup v1 freezer", "cgroup", "freezer"}, "freezer", "freezer.state",
		"FROZEN", "THAWED", NULL},
	.effective = "cpuset.cpus",
	.threads_file = "tasks",
	.tells_slurmstepd = true,
	.levels_below_job = 1,
	.where = v1_out_where,
	.scan = v1_out_scan,
	.make_room = v1_below_follow,
	.write_back = v1_write_back,
	.widen = v1_widen,
	.narrow = v1_narrow,
};
