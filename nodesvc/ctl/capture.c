/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ipc.h"

/* `scontrol show config` of a large site is 100 KiB; what comes behind this is read and dropped. */
#define OUTPUT_MAX ((size_t)16 << 20)

void capture_notice(const char *what, int timeout_ms)
{
	fprintf(stderr, "colocctl: waiting for %s (up to %g s)\n", what, timeout_ms / 1e3);
}

static void notice(char *const argv[], int timeout_ms)
{
	char what[128] = "";
	size_t len = 0;

	for (int i = 0; argv[i] && len < sizeof(what); i++)
		len += (size_t)snprintf(
			what + len, sizeof(what) - len, "%s%s", i ? " " : "", argv[i]);
	capture_notice(what, timeout_ms);
}

/* A group of its own, to be killed as a whole; it goes with us should we be killed. */
static pid_t spawn(char *const argv[], int out)
{
	pid_t parent = getpid(), pid = fork();
	int null;

	if (pid != 0) {
		if (pid > 0)
			setpgid(pid, pid);
		return pid;
	}
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CAPTURE_NO_PROGRAM);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], argv);
	_exit(CAPTURE_NO_PROGRAM);
}

static int waited_ms(int64_t start_ns)
{
	return (int)((ipc_now_ns() - start_ns) / 1000000);
}

/* Until the end of the output. -ETIMEDOUT, -ENOMEM */
static int read_all(int fd, char *const argv[], int64_t start, int timeout_ms, struct ctl_text *t)
{
	bool told = timeout_ms <= CAPTURE_NOTICE_MS;
	char more[4096];

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int waited = waited_ms(start);
		ssize_t n;

		if (waited >= timeout_ms)
			return -ETIMEDOUT;
		if (!told && waited >= CAPTURE_NOTICE_MS) {
			notice(argv, timeout_ms);
			told = true;
		}
		if (poll(&p, 1, (told ? timeout_ms : CAPTURE_NOTICE_MS) - waited) <= 0)
			continue;
		n = read(fd, more, sizeof(more));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (client_text_add(t, more, (size_t)n, OUTPUT_MAX) == -ENOMEM)
			return -ENOMEM;
	}
}

int capture(char *const argv[], int timeout_ms, char **ret)
{
	struct ctl_text t = {0};
	cleanup_close int in = -1;
	int64_t start = ipc_now_ns();
	int fd[2], rc, status = 0;
	pid_t pid;

	*ret = NULL;
	if (client_text_add(&t, "", 0, OUTPUT_MAX) < 0)
		return -ENOMEM;
	*ret = t.buf;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	in = fd[0];
	pid = spawn(argv, fd[1]);
	rc = pid < 0 ? -errno : 0;
	close(fd[1]);
	if (rc < 0)
		return rc;
	rc = read_all(in, argv, start, timeout_ms, &t);
	*ret = t.buf;
	/* Programs close their output some time before they end. */
	while (rc == 0 && waitpid(pid, &status, WNOHANG) == 0) {
		if (waited_ms(start) >= timeout_ms)
			rc = -ETIMEDOUT;
		else
			poll(NULL, 0, 5);
	}
	if (rc < 0) {
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		return rc;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
