/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/load/echo.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"

/* Bytes, as of colocd's and the plugin's own. */
#define STEP_ASKED    127
#define STEP_ANSWERED 154
#define TASK_ASKED    64
#define TASK_ANSWERED 111

static _Noreturn void answer(int fd)
{
	char text[STEP_ANSWERED] = "";

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		ssize_t n = recv(fd, text, sizeof(text), 0);

		if (n <= 0)
			_exit(0);
		send(fd, text, n == STEP_ASKED ? STEP_ANSWERED : TASK_ANSWERED, MSG_NOSIGNAL);
	}
}

void echo_up(struct echo *e)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0) {
		perror("overhead: socketpair");
		exit(1);
	}
	fflush(NULL);
	e->child = fork();
	if (e->child < 0) {
		perror("overhead: fork");
		exit(1);
	}
	if (e->child == 0) {
		close(fd[0]);
		answer(fd[1]);
	}
	close(fd[1]);
	e->fd = fd[0];
}

int64_t echo_take(struct echo *e, int tasks)
{
	int64_t start = ipc_now_ns();
	char text[STEP_ANSWERED] = "";

	for (int i = 0; i <= tasks; i++) {
		size_t n = i ? TASK_ASKED : STEP_ASKED;

		if (send(e->fd, text, n, MSG_NOSIGNAL) != (ssize_t)n ||
			recv(e->fd, text, sizeof(text), 0) <= 0) {
			perror("overhead: echo");
			exit(1);
		}
	}
	return ipc_now_ns() - start;
}

void echo_down(struct echo *e)
{
	close(e->fd);
	while (waitpid(e->child, NULL, 0) < 0 && errno == EINTR)
		;
}
