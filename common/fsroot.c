/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/fsroot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/aside.h"
#include "common/cleanup.h"

/* No file of the kernel's that is read whole is longer. */
#define READ_MAX (64u << 20)

int fsroot_open(struct fsroot *ret, const char *path, struct errbuf *err)
{
	int fd = open(path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path ? path : "/", strerror(errno));
	ret->fd = fd;
	return 0;
}

int fsroot_mount_apart(const char *type)
{
	/* glibc has the calls from 2.36 on. */
	int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC), dir = -1, saved;

	if (fs >= 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		dir = (int)syscall(
			SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	saved = errno;
	if (fs >= 0)
		close(fs);
	return dir < 0 ? -saved : dir;
}

void fsroot_close(struct fsroot *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

/* The path below the root, or NULL when it would leave it. */
static const char *below(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (p[2] == '/' || p[2] == '\0'))
			return NULL;
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

int fsroot_openat(const struct fsroot *r, const char *path, int flags)
{
	const char *rel = below(path);
	int fd;

	if (!rel)
		return -EINVAL;
	fd = openat(r->fd, rel, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool fsroot_exists(const struct fsroot *r, const char *path)
{
	const char *rel = below(path);

	return rel && faccessat(r->fd, rel, F_OK, 0) == 0;
}

int fsroot_stat(const struct fsroot *r, const char *path, struct stat *ret)
{
	const char *rel = below(path);

	return !rel ? -EINVAL : fstatat(r->fd, rel, ret, 0) < 0 ? -errno : 0;
}

int fsroot_stat_known(const struct fsroot *r, const char *path, struct stat *ret)
{
	const char *rel = *path ? below(path) : path;
	struct statx x;

	if (!rel)
		return -EINVAL;
	if (statx(r->fd, rel, AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		    STATX_TYPE | STATX_INO | STATX_SIZE, &x) < 0)
		return -errno;
	*ret = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_size = (off_t)x.stx_size,
	};
	return 0;
}

ino_t fsroot_inode(const struct fsroot *r, const char *path)
{
	struct stat st;

	return fsroot_stat(r, path, &st) < 0 ? 0 : st.st_ino;
}

/* The nearest directory above that is there can be read: then what is not in it is not there. */
static int read_above(const struct fsroot *r, const char *path)
{
	char dir[512];
	int fd = -ENOENT;

	if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	while (fd == -ENOENT || fd == -ENOTDIR) {
		char *slash = strrchr(dir, '/');

		if (slash)
			*slash = '\0';
		fd = fsroot_openat(r, slash ? dir : ".", O_RDONLY | O_DIRECTORY);
		if (!slash)
			break;
	}
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int fsroot_is_there(const struct fsroot *r, const char *path, uint64_t inode)
{
	struct stat st;
	int rc = fsroot_stat(r, path, &st);

	if (rc == 0)
		return (uint64_t)st.st_ino == inode;
	return rc == -ENOENT || rc == -ENOTDIR ? read_above(r, path) : rc;
}

ssize_t fsroot_read(const struct fsroot *r, const char *path, char *buf, size_t size)
{
	cleanup_close int fd = fsroot_openat(r, path, O_RDONLY);
	size_t len = 0;

	if (fd < 0)
		return fd;
	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			buf[len] = '\0';
			return (ssize_t)len;
		}
		len += (size_t)n;
	}
	if (size)
		buf[size - 1] = '\0';
	return -EFBIG;
}

ssize_t fsroot_read_once(const struct fsroot *r, const char *path, char *buf, size_t size)
{
	cleanup_close int fd = fsroot_openat(r, path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

bool fsroot_find(const struct fsroot *r, const char *path, const char *const *text, int n)
{
	enum { OVERLAP = 63 };
	cleanup_close int fd = fsroot_openat(r, path, O_RDONLY);
	char buf[OVERLAP + 4096 + 1];
	size_t kept = 0;

	while (fd >= 0 && !aside_breathe()) {
		ssize_t got = read(fd, buf + kept, sizeof(buf) - 1 - kept);
		size_t len;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len = kept + (size_t)got;
		for (int i = 0; i < n; i++)
			if (memmem(buf, len, text[i], strlen(text[i])))
				return true;
		/* One may have begun there. */
		kept = len < OVERLAP ? len : OVERLAP;
		memmove(buf, buf + len - kept, kept);
	}
	return false;
}

const char *fsroot_task_stat(const struct fsroot *r, pid_t tid, char *buf, size_t size)
{
	char path[64];
	const char *end;

	/* Not /proc/TID/stat: that one sums up all threads of the process at each read. */
	snprintf(path, sizeof(path), "proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (fsroot_read_once(r, path, buf, size) <= 0)
		return NULL;
	end = strrchr(buf, ')');
	return end && end[1] == ' ' && end[2] ? end + 2 : NULL;
}

/* A thread's own number is its process's only for the first. */
bool fsroot_is_process(const struct fsroot *r, pid_t tid)
{
	char path[64], text[512];
	const char *tgid;

	snprintf(path, sizeof(path), "proc/%d/status", (int)tid);
	text[0] = '\0';
	fsroot_read(r, path, text, sizeof(text)); /* cut: Tgid is among the first lines */
	tgid = strstr(text, "\nTgid:");
	return tgid && strtol(tgid + 6, NULL, 10) == tid;
}

/* Opened once: a list of threads is made anew by the kernel each time. */
static ssize_t read_all(int fd, char **ret)
{
	cleanup_free char *buf = malloc(4096);
	size_t size = 4096, len = 0;

	while (buf) {
		ssize_t n = read(fd, buf + len, size - len);
		char *grown;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
		if (n == 0) { /* there is room for it */
			buf[len] = '\0';
			*ret = take_ptr(buf);
			return (ssize_t)len;
		}
		if (aside_breathe())
			return -ECANCELED;
		if (len < size)
			continue;
		if (size > READ_MAX)
			return -EFBIG;
		grown = realloc(buf, size * 4);
		if (!grown)
			return -ENOMEM;
		buf = grown;
		size *= 4;
	}
	return -ENOMEM;
}

ssize_t fsroot_read_alloc(const struct fsroot *r, const char *path, char **ret)
{
	cleanup_close int fd = fsroot_openat(r, path, O_RDONLY);

	return fd < 0 ? fd : read_all(fd, ret);
}

ssize_t fsroot_read_alloc_owner(const struct fsroot *r, const char *path, char **ret)
{
	cleanup_close int fd = fsroot_openat(r, path, O_RDONLY);
	struct stat st;

	if (fd == -EACCES && fsroot_stat(r, path, &st) == 0) {
		setfsuid(st.st_uid);
		fd = fsroot_openat(r, path, O_RDONLY);
		setfsuid(geteuid());
	}
	return fd < 0 ? fd : read_all(fd, ret);
}

int fsroot_write(const struct fsroot *r, const char *path, const char *text)
{
	cleanup_close int fd = fsroot_openat(r, path, O_WRONLY);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = write(fd, text, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int fsroot_mkdir(const struct fsroot *r, const char *path)
{
	const char *rel = below(path);

	return !rel ? -EINVAL : mkdirat(r->fd, rel, 0755) < 0 ? -errno : 0;
}

int fsroot_rmdir(const struct fsroot *r, const char *path)
{
	const char *rel = below(path);

	return !rel ? -EINVAL : unlinkat(r->fd, rel, AT_REMOVEDIR) < 0 ? -errno : 0;
}
