/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/socket/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static int make_dir(const char *socket_path, struct errbuf *err)
{
	char dir[sizeof(((struct listener *)0)->path)];
	struct stat st;
	char *slash;

	snprintf(dir, sizeof(dir), "%s", socket_path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return 0;
	*slash = '\0';
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	/* Who may write there could put a socket of his own in the place of ours. */
	if (stat(dir, &st) < 0)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_set(
			err, -EPERM, "key 'socket': %s: owner or mode lets others write", dir);
	return 0;
}

/* Removes what a dead predecessor left; refuses to take a living one's place. */
static int clear_path(const char *path, struct errbuf *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	cleanup_close int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST, "%s is there and no socket", path);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 || errno == EAGAIN)
		return err_set(err, -EADDRINUSE, "%s: another colocd serves there", path);
	unlink(path);
	return 0;
}

int listener_open(struct listener *ret, const char *path, struct errbuf *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	cleanup_close int fd = -1;
	struct stat st;
	int rc;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(err, -ENAMETOOLONG, "key 'socket': path longer than %zu",
			sizeof(addr.sun_path) - 1);
	rc = make_dir(path, err);
	if (rc == 0)
		rc = clear_path(path, err);
	if (rc < 0)
		return rc;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		chmod(path, 0666) < 0 || listen(fd, 512) < 0 || lstat(path, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	memcpy(ret->path, addr.sun_path, sizeof(ret->path));
	ret->fd = take_fd(fd);
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return 0;
}

bool listener_is_there(const struct listener *l)
{
	struct stat st;

	return lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino;
}

void listener_close(struct listener *l)
{
	if (listener_is_there(l))
		unlink(l->path);
	close(l->fd);
	l->fd = -1;
}
