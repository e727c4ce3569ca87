/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locate_pid.c - from a process to its step's directories, in whichever hierarchy. */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

int locate_mount(const struct fsroot *root,
	int (*find)(const char *mountinfo, char *mount, char *top, size_t size), const char *what,
	char *mount, char *top, size_t size, struct errbuf *err)
{
	cleanup_free char *text = NULL;
	ssize_t n = fsroot_read_alloc(root, "proc/self/mountinfo", &text);

	if (n < 0)
		return err_set(err, -ENOTSUP, "/proc/self/mountinfo: %s", strerror((int)-n));
	if (find(text, mount, top, size) < 0)
		return err_set(err, -ENOTSUP, "no %s hierarchy is mounted", what);
	return 0;
}

/* /proc names the directory within the hierarchy, of which only a part may be mounted. */
static const char *in_mount(const struct actuate *a, const char *path)
{
	size_t top = strlen(a->mount_root);

	if (!top)
		return path;
	return strncmp(path + 1, a->mount_root, top) == 0 ? path + 1 + top : "";
}

/* "slurm_n/..." of the mounted directory becomes "<mount>/slurm_n/...". */
static int below_mount(const struct actuate *a, char *path, size_t size)
{
	char rel[256];
	int n;

	snprintf(rel, sizeof(rel), "%s", path);
	n = snprintf(path, size, "%s/%s", a->mount, rel);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int locate_pid(struct actuate *a, pid_t pid, const char *controller,
	int (*parse)(const char *path, struct step_cgroup *ret), struct step_cgroup *ret,
	struct errbuf *err)
{
	char file[64], path[512];
	cleanup_free char *text = NULL;
	struct step_cgroup s;
	ssize_t n;
	int rc;

	snprintf(file, sizeof(file), "proc/%d/cgroup", (int)pid);
	n = fsroot_read_alloc(a->root, file, &text);
	if (n < 0)
		return err_set(err, n == -ESRCH ? -ENOENT : (int)n, "process %d: %s", (int)pid,
			strerror((int)-n));
	if (locate_cgroup_path(text, controller, path, sizeof(path)) < 0)
		return err_set(err, -ENOENT, "process %d is in no %s hierarchy", (int)pid,
			*controller ? controller : "cgroup v2");
	if (parse(in_mount(a, path), &s) < 0)
		return err_set(
			err, -ENOENT, "process %d is in '%.150s', no Slurm step", (int)pid, path);
	rc = below_mount(a, s.job_path, sizeof(s.job_path));
	if (rc == 0)
		rc = below_mount(a, s.step_path, sizeof(s.step_path));
	if (rc < 0)
		return err_set(err, rc, "process %d: '%.150s': path too long", (int)pid, path);
	rc = change_inode(a, s.step_path, &s.step_inode, err);
	if (rc < 0)
		return rc;
	*ret = s;
	return 0;
}
