/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.c - the directories below a cgroup. */
#include "nodesvc/actuate/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/cleanup.h"

/* Slurm makes one level; a program that got its group delegated may make more. */
#define DEPTH_MAX 8

static int each(const struct fsroot *root, const char *dir, int depth,
	int (*fn)(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err),
	void *arg, struct errbuf *err)
{
	cleanup_dir DIR *d = NULL;
	int fd, rc = fn(root, dir, arg, err);
	struct stat st;

	if (rc || depth == DEPTH_MAX)
		return rc;
	/* Most have no levels below: a directory's links are its name, "." and each one's "..". */
	if (fsroot_stat(root, dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_nlink == 2)
		return 0;
	fd = fsroot_openat(root, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return err_set(err, fd, "%s: %s", dir, strerror(-fd));
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	for (struct dirent *e; rc == 0 && (errno = 0, e = readdir(d));) {
		char sub[FILE_MAX];

		if (aside_breathe())
			return -ECANCELED;
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
			snprintf(sub, sizeof(sub), "%s/%s", dir, e->d_name) >= (int)sizeof(sub))
			continue;
		rc = each(root, sub, depth + 1, fn, arg, err);
		if (rc == -ENOENT)
			rc = 0;
		errno = 0;
	}
	return rc == 0 && errno ? err_set(err, -errno, "%s: %s", dir, strerror(errno)) : rc;
}

int tree_each(const struct fsroot *root, const char *dir,
	int (*fn)(const struct fsroot *root, const char *dir, void *arg, struct errbuf *err),
	void *arg, struct errbuf *err)
{
	return each(root, dir, 0, fn, arg, err);
}
