/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locate_pid.c - from a process to its step's directories, in whichever hierarchy. */
#include "nodesvc/actuate/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

int locate_mount(const struct fsroot *root, const struct mount_kind *kind, char *mount, char *top,
	size_t size, struct errbuf *err)
{
	cleanup_free char *text = NULL;
	ssize_t n = fsroot_read_alloc(root, "proc/self/mountinfo", &text);

	if (n < 0)
		return err_set(err, -ENOTSUP, "/proc/self/mountinfo: %s", strerror((int)-n));
	if (locate_mounted(text, kind, mount, top, size) < 0)
		return err_set(err, -ENOTSUP, "no %s hierarchy is mounted", kind->what);
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

int locate_pid(struct actuate *a, pid_t pid, const char *controller, struct step_cgroup *ret,
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
	if (a->h->parse(in_mount(a, path), &s) < 0)
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

/* What @path, below the fsroot, is to the hierarchy's parser. */
static int parse_dir(struct actuate *a, const char *path, struct step_cgroup *ret)
{
	size_t len = strlen(a->mount);
	struct step_cgroup s;
	int rc;

	if (strncmp(path, a->mount, len) != 0 || path[len] != '/' ||
		a->h->parse(path + len, &s) < 0)
		return -ENOENT;
	rc = below_mount(a, s.job_path, sizeof(s.job_path));
	if (rc == 0)
		rc = below_mount(a, s.step_path, sizeof(s.step_path));
	if (rc == 0)
		*ret = s;
	return rc;
}

int locate_dir(struct actuate *a, const char *path, uint64_t inode, struct step_cgroup *ret,
	struct errbuf *err)
{
	struct step_cgroup s;
	int rc = change_is_there(a, path, inode, err);

	if (rc < 0)
		return rc;
	if (parse_dir(a, path, &s) < 0)
		return err_set(err, -EPROTO, "/%.200s is no Slurm step's directory", path);
	s.step_inode = inode;
	*ret = s;
	return 0;
}

/* Levels below the mount: a container's, slices, the scope or slurm_NODE, uid_N. */
#define IDS_DEPTH_MAX 5

struct ids {
	struct actuate *a;
	const char *tail; /* "job_1/step_0/user" */
	struct step_cgroup *ret;
	int n, max;
};

static void look_in(struct ids *x, const char *dir)
{
	char path[FILE_MAX];
	struct step_cgroup s;

	if (x->n == x->max ||
		snprintf(path, sizeof(path), "%s/%s", dir, x->tail) >= (int)sizeof(path) ||
		!fsroot_exists(x->a->root, path) || parse_dir(x->a, path, &s) < 0 ||
		change_inode(x->a, s.step_path, &s.step_inode, NULL) < 0)
		return;
	x->ret[x->n++] = s;
}

static int look_below(struct ids *x, const char *dir, int depth)
{
	cleanup_dir DIR *d = NULL;
	int fd, rc = 0;

	look_in(x, dir);
	if (depth == IDS_DEPTH_MAX)
		return 0;
	fd = fsroot_openat(x->a->root, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		char sub[FILE_MAX];

		/* What jobs make below themselves is as much as they like. */
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
			strncmp(e->d_name, "job_", 4) == 0 ||
			strcmp(e->d_name, "user.slice") == 0 ||
			snprintf(sub, sizeof(sub), "%s/%s", dir, e->d_name) >= (int)sizeof(sub))
			continue;
		rc = look_below(x, sub, depth + 1);
	}
	return rc;
}

int locate_ids(struct actuate *a, uint32_t job_id, uint32_t step_id, struct step_cgroup *ret,
	int max, struct errbuf *err)
{
	char tail[80], step[24];
	struct ids x = {.a = a, .tail = tail, .ret = ret, .max = max};
	int rc;

	snprintf(step, sizeof(step), "%u", step_id);
	snprintf(tail, sizeof(tail), "job_%u/step_%s%s", job_id,
		step_id == ACTUATE_STEP_BATCH         ? "batch"
		: step_id == ACTUATE_STEP_INTERACTIVE ? "interactive"
						      : step,
		a->h->below_step);
	rc = look_below(&x, a->mount, 0);
	return rc < 0 ? err_set(err, rc, "/%s: cannot be searched: %s", a->mount, strerror(-rc))
		      : x.n;
}
