/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v2.c - cgroup v2: step_N/user below Slurm's scope. slurmstepd sits beside it, in step_N/slurm,
 * and is not moved; tasks sit in user/task_K, which Slurm leaves without CPUs of their own.
 *
 * A set that is not within the level above is taken by write(2) all the same and silently not in
 * force, so cpuset.cpus.effective is what counts. v2_job.c keeps the job level wide enough.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Does @text, a cgroup.controllers, name cpuset? */
static bool has_cpuset(const char *text)
{
	for (const char *p = text; *p; p += strcspn(p, " \n"), p += strspn(p, " \n"))
		if (strcspn(p, " \n") == 6 && memcmp(p, "cpuset", 6) == 0)
			return true;
	return false;
}

static int v2_check(const struct fsroot *root, const char *mount, struct errbuf *err)
{
	char path[FILE_MAX], text[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	n = fsroot_read(root, path, text, sizeof(text));
	if (n < 0)
		return err_set(err, -ENOTSUP, "/%s: %s", path, strerror((int)-n));
	return has_cpuset(text)
		       ? 0
		       : err_set(err, -ENOTSUP, "the cpuset controller is not in /%s", path);
}

static bool v2_find(const struct fsroot *root, struct actuate_found *ret)
{
	char text[1024];

	if (fsroot_read(root, CGROUPS "/cgroup.controllers", text, sizeof(text)) < 0)
		return false;
	if (!has_cpuset(text))
		return cgroup_unfit(ret, "v2, but its root has no cpuset controller",
			"Boot without a v1 cpuset hierarchy (systemd.unified_cgroup_hierarchy=1) "
			"on a kernel with CONFIG_CPUSETS.");
	*ret = (struct actuate_found){.text = "v2, with cpuset"};
	return true;
}

/* What the ledger says a directory had, or what is in force there. */
static int slurms_cpus(struct actuate *a, const char *path, struct coreset *ret, struct errbuf *err)
{
	struct coreset set;
	int rc = change_recorded(a, path, NULL, &set, err);

	if (rc == -ENOENT || (rc == 0 && coreset_is_empty(&set)))
		rc = cpus_read_file(a->root, path, V2_EFFECTIVE, &set, err);
	if (rc == 0)
		*ret = set;
	return rc;
}

static int v2_allocation(struct actuate *a, const struct step_cgroup *s, struct coreset *ret_job,
	struct coreset *ret_step, struct errbuf *err)
{
	struct coreset job, step;
	int rc = slurms_cpus(a, s->job_path, &job, err);

	if (rc == 0)
		rc = slurms_cpus(a, s->step_path, &step, err);
	if (rc < 0)
		return rc;
	*ret_job = job;
	*ret_step = step;
	return 0;
}

struct below {
	const struct coreset *set;
	const char *step_path;
};

/* A level below the step with CPUs of its own would keep its threads off part of the set. */
static int check_level(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	const struct below *b = arg;
	char want[CORESET_STR_MAX], have[CORESET_STR_MAX];
	struct coreset own;

	if (strcmp(dir, b->step_path) == 0 || cpus_read(root, dir, &own, NULL) < 0 ||
		coreset_is_empty(&own) || coreset_is_subset(b->set, &own))
		return 0;
	return err_set(err, -EBUSY, "cannot write '%.40s': a level below holds '%.40s': %.120s",
		coreset_format(b->set, want, sizeof(want)),
		coreset_format(&own, have, sizeof(have)), dir);
}

/*
 * Going back: CPUs that the levels above do not allow any more are taken and wait there. An empty
 * file cannot be had again while there are threads (ENOSPC before Linux 7): then the CPUs of the
 * level above, as Slurm itself does it; in force is the same.
 */
static int v2_write_back(
	const struct masks *m, const struct coreset *cpus, struct coreset *ret, struct errbuf *err)
{
	int rc = cpus_put_back(m->a->root, m->path, V2_EFFECTIVE, cpus, ret, err);

	return rc < 0 ? rc : cpus_read_file(m->a->root, m->path, V2_EFFECTIVE, ret, err);
}

/* None is slurmstepd's: nothing to be known. */
static int v2_scan(const struct fsroot *root, const char *path, struct proc_known *known,
	struct proc_thread **ret, int *ret_n)
{
	(void)known;
	return proc_scan_tree(root, path, ret, ret_n);
}

/* The step as wide as its job, and that as far as the levels above it go, where it may. Where Slurm
 * left the step's file empty it has what its job has. */
static int v2_widen(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct errbuf *err)
{
	const struct masks m = {.a = a, .path = s->step_path};
	struct coreset own, job;
	int rc = a->outside ? v2_job_widen(&m, &a->all_pus, err) : -ERANGE;

	if (rc == -ERANGE)
		rc = v2_job_widen(&m, set, err);
	if (rc == 0)
		rc = cpus_read_file(a->root, s->job_path, V2_EFFECTIVE, &job, err);
	if (rc == 0)
		rc = cpus_read(a->root, s->step_path, &own, err);
	if (rc < 0 || coreset_is_empty(&own))
		return rc;
	coreset_or(&own, &own, &job);
	return cpus_write(a->root, s->step_path, &own, err);
}

static int v2_narrow(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	const struct masks m = {.a = a, .path = s->step_path};
	struct coreset original, now;
	int rc = change_recorded(a, s->step_path, NULL, &original, err);

	if (rc == 0)
		rc = cpus_read(a->root, s->step_path, &now, err);
	/* What it has lost is not ours to give back. */
	if (rc == 0 && !coreset_is_subset(&now, &original))
		rc = v2_write_back(&m, &original, &now, err);
	if (rc == 0)
		rc = v2_job_settle(a, s->job_path, err);
	return rc == -ENOENT ? 0 : rc;
}

static int v2_apply(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *err)
{
	struct below below = {set, s->step_path};
	int rc = tree_each(a->root, s->step_path, check_level, &below, err);

	if (rc < 0)
		return rc;
	rc = change_apply(a->h, a, s, set, ret, err);
	/* Also after a failure: wide for a set that did not come. */
	v2_job_settle(a, s->job_path, NULL);
	return rc;
}

/* The ledger names steps and widened jobs by their paths; only the former end in "user". */
static int v2_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	char job[sizeof(s->step_path)];
	const char *last = strrchr(s->step_path, '/');
	int rc;

	if (!last || strcmp(last, "/user") != 0)
		return v2_job_settle(a, s->step_path, err);
	rc = steer_restore(a->h, a, s, err);
	if (rc == -EXDEV)
		rc = change_restore(a->h, a, s, err);
	if (rc == 0)
		rc = v2_above(s->step_path, 2, job, sizeof(job));
	return rc < 0 ? rc : v2_job_settle(a, job, err);
}

const struct hierarchy hierarchy_v2 = {
	.ops = {.name = "cgroup-v2",
		CGROUP_OPS,
		.allocation = v2_allocation,
		.restore = v2_restore},
	.mount = {"cgroup v2", "cgroup2", NULL},
	.controller = "",
	.below_step = "/user",
	.mems = "cpuset.mems.effective",
	.check = v2_check,
	.parse = locate_step_v2,
	.find = v2_find,
	.apply = v2_apply,
	.idle = idle_set_group,
	.freezer = {{"cgroup v2", "cgroup2", NULL}, "", "cgroup.freeze", "1", "0", "cgroup.events"},
	.effective = V2_EFFECTIVE,
	.threads_file = "cgroup.threads",
	.levels_below_job = 2,
	.scan = v2_scan,
	.make_room = v2_job_widen,
	.write_back = v2_write_back,
	.widen = v2_widen,
	.narrow = v2_narrow,
};
