/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v1_out.c - a step that is to run outside its job's allocation (envelope: node). Slurm writes the
 * job's level at each new step and fails that step when an older one holds CPUs outside, so the
 * step's directory cannot be used: its processes move to one of our own, CPUSET/coloc/NAME, where
 * NAME is the step's path with '+' for '/'. slurmstepd stays. Slurm tracks by the freezer
 * hierarchy, where nothing changes.
 *
 * The ledger has the step's row before the directory is made, and its path says where that is.
 */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"

/* Processes that fork while they are moved. */
#define ROUNDS_MAX 20
/* Passes over the levels below, which are removed from the bottom up. */
#define PASSES_MAX 8

/* Splits ".../cpuset/slurm_n/uid_0/job_1/step_0" at the node's directory; 0: it is no such path. */
static size_t mount_len(const char *step_path)
{
	const char *uid = strstr(step_path, "/uid_");

	if (!uid)
		return 0;
	while (uid > step_path && uid[-1] != '/')
		uid--;
	return uid > step_path ? (size_t)(uid - step_path) - 1 : 0;
}

static int own_dir(const char *step_path, char *ret, size_t size)
{
	size_t top = mount_len(step_path);
	int n, at;

	if (!top)
		return -EINVAL;
	n = snprintf(ret, size, "%.*s/" V1_OUT "/", (int)top, step_path);
	at = n;
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	n = snprintf(ret + at, size - (size_t)at, "%s", step_path + top + 1);
	if (n < 0 || (size_t)n >= size - (size_t)at)
		return -ENAMETOOLONG;
	for (char *p = ret + at; *p; p++)
		if (*p == '/')
			*p = '+';
	return 0;
}

int v1_out_look(const struct actuate *a, const char *step_path, char *ret, size_t size)
{
	struct stat st;
	int rc;

	if (own_dir(step_path, ret, size) < 0)
		return 0;
	rc = fsroot_stat(a->root, ret, &st);
	return rc == 0 ? 1 : rc == -ENOENT ? 0 : rc;
}

bool v1_out_where(const struct actuate *a, const char *step_path, char *ret, size_t size)
{
	return v1_out_look(a, step_path, ret, size) > 0;
}

int v1_out_locate(const char *path, struct step_cgroup *ret)
{
	char slurms[sizeof(ret->step_path)];

	if (strncmp(path, "/" V1_OUT "/", sizeof("/" V1_OUT)) != 0)
		return locate_step(path, ret);
	if (snprintf(slurms, sizeof(slurms), "%s", path + sizeof(V1_OUT)) >= (int)sizeof(slurms))
		return -ENOENT;
	for (char *p = slurms; *p; p++)
		if (*p == '+')
			*p = '/';
	return locate_step(slurms, ret);
}

int v1_out_scan(const struct fsroot *root, const char *path, struct proc_known *known,
	struct proc_thread **ret, int *ret_n)
{
	/* slurmstepd's children are without it there. */
	return strstr(path, "/" V1_OUT "/") ? proc_scan_all(root, path, ret, ret_n)
					    : proc_scan_known(root, path, known, ret, ret_n);
}

static int copy_file(const struct fsroot *root, const char *from, const char *to, const char *file,
	struct errbuf *err)
{
	char path[FILE_MAX], text[CPUS_TEXT_MAX];
	ssize_t n;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", from, file);
	n = fsroot_read(root, path, text, sizeof(text));
	if (n < 0)
		return err_set(err, (int)n, "%s: %s", path, strerror((int)-n));
	snprintf(path, sizeof(path), "%s/%s", to, file);
	rc = fsroot_write(root, path, text);
	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

/* Makes @dir, with the CPUs and memory nodes of @like; it may be there. */
static int make_dir(
	const struct fsroot *root, const char *dir, const char *like, struct errbuf *err)
{
	int rc = fsroot_mkdir(root, dir);

	if (rc == -EEXIST)
		rc = 0;
	else if (rc < 0)
		err_set(err, rc, "%s: %s", dir, strerror(-rc));
	if (rc == 0)
		rc = copy_file(root, like, dir, "cpuset.mems", err);
	if (rc == 0)
		rc = copy_file(root, like, dir, "cpuset.cpus", err);
	return rc;
}

/* Only where nobody is in it and nothing below: the kernel sees to that. */
static int remove_level(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err)
{
	(void)arg;
	(void)err;
	(void)fsroot_rmdir(root, dir);
	return 0;
}

/* With the empty levels that a container runtime left below. -EBUSY: somebody is still in it. */
static int remove_dir(const struct fsroot *root, const char *dir, struct errbuf *err)
{
	struct errbuf why;

	struct stat st;

	for (int pass = 0; pass < PASSES_MAX && fsroot_exists(root, dir); pass++)
		(void)tree_each(root, dir, remove_level, NULL, &why); /* it may go under its feet */
	return fsroot_stat(root, dir, &st) == -ENOENT
		       ? 0
		       : err_set(err, -EBUSY, "%s: cannot be removed: processes are still in it",
				 dir);
}

/* All processes but slurmstepd, until none is left. */
static int move(const struct fsroot *root, const char *from, const char *to, struct errbuf *err)
{
	char file[FILE_MAX];

	snprintf(file, sizeof(file), "%s/cgroup.procs", to);
	for (int round = 0; round < ROUNDS_MAX; round++) {
		cleanup_free struct proc_thread *t = NULL;
		int n, left = 0, rc = v1_out_scan(root, from, NULL, &t, &n);

		if (rc < 0)
			return err_set(err, rc, "%s: cannot list its processes", from);
		for (int i = 0; i < n; i++) {
			char pid[16];

			if (t[i].foreign || (i && t[i].tgid == t[i - 1].tgid))
				continue;
			left++;
			snprintf(pid, sizeof(pid), "%d", (int)t[i].tgid);
			rc = fsroot_write(root, file, pid);
			if (rc < 0 && rc != -ESRCH)
				return err_set(
					err, rc, "%s: process %s: %s", file, pid, strerror(-rc));
		}
		if (!left)
			return 0;
	}
	return err_set(err, -EAGAIN, "%s: its processes do not settle", from);
}

int v1_out_move(struct actuate *a, const struct step_cgroup *s, struct errbuf *err)
{
	char dir[FILE_MAX], top[FILE_MAX], mount[sizeof(s->step_path)];
	size_t len = mount_len(s->step_path);
	struct errbuf why;
	int rc = own_dir(s->step_path, dir, sizeof(dir));

	if (rc < 0)
		return err_set(err, rc, "%s: no path of a step's", s->step_path);
	snprintf(mount, sizeof(mount), "%.*s", (int)len, s->step_path);
	snprintf(top, sizeof(top), "%s/" V1_OUT, mount);
	if (!fsroot_exists(a->root, top)) {
		rc = make_dir(a->root, top, mount, err);
		if (rc < 0) /* without CPUs it would be in the way of the next */
			remove_dir(a->root, top, &why);
	}
	if (rc == 0)
		rc = make_dir(a->root, dir, s->step_path, err);
	if (rc == 0)
		rc = move(a->root, s->step_path, dir, err);
	if (rc < 0) {
		if (fsroot_exists(a->root, dir))
			move(a->root, dir, s->step_path, &why);
		remove_dir(a->root, dir, &why);
	}
	return rc;
}

int v1_out_return(struct actuate *a, const char *step_path, struct errbuf *err)
{
	char dir[FILE_MAX];
	struct stat st;
	int rc = v1_out_look(a, step_path, dir, sizeof(dir));

	if (rc > 0) {
		rc = fsroot_stat(a->root, step_path, &st);
		rc = rc == 0 ? 1 : rc == -ENOENT ? 2 : rc;
	}
	if (rc <= 0)
		return rc < 0 ? err_set(err, rc, "%s: cannot be looked at: %s", step_path,
					strerror(-rc))
			      : 0;
	rc = rc == 1 ? move(a->root, dir, step_path, err) : 0;
	/* A step that has ended has left nobody, or Slurm is still killing him. */
	return rc < 0 ? rc : remove_dir(a->root, dir, err);
}
