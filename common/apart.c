/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/apart.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY ((gid_t)65534)

static bool drop_rights(uid_t uid)
{
	return geteuid() != 0 ||
	       (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		       setresuid(uid, uid, uid) == 0);
}

/* The grandchild is init's to wait for, however long its file system takes. */
static void work_apart(
	const struct apart_work *w, void *arg, uid_t uid, unsigned int deadline_s, int fd)
{
	/* However long it stays, it must keep no lock or socket of the caller's. */
	if (fd > 3)
		close_range(3, (unsigned int)fd - 1, 0);
	close_range((unsigned int)fd + 1, ~0U, 0);
	if (fork() != 0)
		_exit(0);
	alarm(deadline_s);
	if (w->prepare)
		w->prepare(arg);
	if (drop_rights(uid))
		w->answer(arg, fd);
	_exit(0);
}

int apart_run(const struct apart_work *w, void *arg, uid_t uid, unsigned int deadline_s)
{
	int fd[2], rc = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		work_apart(w, arg, uid, deadline_s, fd[1]);
	}
	if (pid < 0)
		rc = -errno;
	close(fd[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc < 0)
		close(fd[0]);
	return rc < 0 ? rc : fd[0];
}
