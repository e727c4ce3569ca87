/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v2.c - cgroup v2: step_N/user below Slurm's scope. slurmstepd sits beside it, in step_N/slurm,
 * and is not moved; tasks sit in user/task_K, which Slurm leaves without CPUs of their own.
 *
 * A set that is not within the level above is taken by write(2) all the same and silently not in
 * force, so cpuset.cpus.effective is what counts. v2_job.c keeps the job level wide enough.
 */
#include "nodesvc/actuate/steer.h"
#include "nodesvc/actuate/v2.h"

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

static int find_mount(
	const struct fsroot *root, char *mount, char *top, size_t size, struct errbuf *err)
{
	char path[FILE_MAX], text[1024];
	int rc = locate_mount(root, locate_v2_mount, "cgroup v2", mount, top, size, err);
	ssize_t n;

	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	n = fsroot_read(root, path, text, sizeof(text));
	if (n < 0)
		return err_set(err, -ENOTSUP, "/%s: %s", path, strerror((int)-n));
	if (!has_cpuset(text))
		return err_set(err, -ENOTSUP, "the cpuset controller is not in /%s", path);
	return 0;
}

static int v2_probe(const struct fsroot *root, struct errbuf *why)
{
	char mount[256], top[256];

	return find_mount(root, mount, top, sizeof(mount), why);
}

static int v2_locate(struct actuate *a, pid_t pid, struct step_cgroup *ret, struct errbuf *err)
{
	int rc = a->mount[0] ? 0
			     : find_mount(a->root, a->mount, a->mount_root, sizeof(a->mount), err);

	return rc < 0 ? rc : locate_pid(a, pid, "", locate_step_v2, ret, err);
}

static int know_mount(struct actuate *a, struct errbuf *err)
{
	return a->mount[0] ? 0
			   : find_mount(a->root, a->mount, a->mount_root, sizeof(a->mount), err);
}

static int v2_locate_dir(struct actuate *a, const char *path, uint64_t inode,
	struct step_cgroup *ret, struct errbuf *err)
{
	int rc = know_mount(a, err);

	return rc < 0 ? rc : locate_dir(a, path, inode, locate_step_v2, ret, err);
}

static int v2_locate_ids(struct actuate *a, uint32_t job_id, uint32_t step_id,
	struct step_cgroup *ret, int max, struct errbuf *err)
{
	int rc = know_mount(a, err);

	return rc < 0 ? rc : locate_ids(a, job_id, step_id, "/user", locate_step_v2, ret, max, err);
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

static const struct hierarchy v2 = {
	.effective = V2_EFFECTIVE,
	.threads_file = "cgroup.threads",
	.levels_below_job = 2,
	.widen = v2_widen,
	.narrow = v2_narrow,
	.scan = v2_scan,
	.make_room = v2_job_widen,
	.write_back = v2_write_back,
};

static int v2_threads(struct actuate *a, const struct step_cgroup *s, pid_t **ret, int *ret_n)
{
	return proc_list(a->root, s->step_path, "cgroup.threads", false, ret, ret_n);
}

static int v2_mark(struct actuate *a, const struct step_cgroup *s, uint64_t *ret)
{
	return proc_mark(a->root, s->step_path, "cgroup.threads", ret);
}

static int v2_apply(struct actuate *a, const struct step_cgroup *s, const struct coreset *set,
	struct actuate_result *ret, struct errbuf *err)
{
	struct below below = {set, s->step_path};
	int rc = change_check_set(a, s, set, err);

	if (rc == 0 && a->by_masks)
		return steer_apply(&v2, a, s, set, ret, err);
	/* By one before us, whose way was the other. */
	if (rc == 0 && steer_has(a, s->step_path))
		rc = steer_restore(&v2, a, s, err);
	if (rc == 0)
		rc = tree_each(a->root, s->step_path, check_level, &below, err);
	if (rc < 0)
		return rc;
	rc = change_apply(&v2, a, s, set, ret, err);
	/* Also after a failure: wide for a set that did not come. */
	v2_job_settle(a, s->job_path, NULL);
	return rc;
}

static int v2_verify(struct actuate *a, const struct step_cgroup *s, const struct coreset *set)
{
	return (a->by_masks ? steer_verify : change_verify)(&v2, a, s, set);
}

static int v2_current(
	struct actuate *a, const struct step_cgroup *s, struct coreset *ret, struct errbuf *err)
{
	int rc = steer_current(&v2, a, s, ret, err);

	return rc == -ENOENT ? cpus_read(a->root, s->step_path, ret, err) : rc;
}

/* The ledger names steps and widened jobs by their paths; only the former end in "user". */
static int v2_restore(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	char job[sizeof(s->step_path)];
	const char *last = strrchr(s->step_path, '/');
	int rc;

	if (!last || strcmp(last, "/user") != 0)
		return v2_job_settle(a, s->step_path, err);
	rc = steer_restore(&v2, a, s, err);
	if (rc == -EXDEV)
		rc = change_restore(&v2, a, s, err);
	if (rc == 0)
		rc = v2_above(s->step_path, 2, job, sizeof(job));
	return rc < 0 ? rc : v2_job_settle(a, job, err);
}

const struct actuate_ops actuate_cgroup_v2 = {
	.name = "cgroup-v2",
	.probe = v2_probe,
	.locate = v2_locate,
	.locate_dir = v2_locate_dir,
	.locate_ids = v2_locate_ids,
	.threads = v2_threads,
	.mark = v2_mark,
	.allocation = v2_allocation,
	.apply = v2_apply,
	.verify = v2_verify,
	.current = v2_current,
	.restore = v2_restore,
};
