/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp_granter - runs a command as colocd would grant it cores: with the daemon's own pages behind a
 * socket of ours.
 *
 *   omp_granter 2,1,4 LIBRARY COMMAND...
 *
 * Grants 2 cores; at each SIGUSR1 the next number, 0 is "unknown", "2x4" are cores of four hardware
 * threads each. A command that sent it itself gets SIGUSR2 then. LIBRARY is preloaded ("" none).
 * With OMP_GRANTER_TELLS set it prints at the end what the command reported: "told 12 regions".
 * Ends with the command's status; ends like shells (128 + signal) when a signal ended it; 75 when
 * the command had given up waiting for the answer (200 ms, libcoloc's own deadline) before we came
 * to give it: on a machine that busy it says nothing of the command.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/counters/app.h"
#include "nodesvc/steps/steps.h"
#include "nodesvc/launch/spin.h"

#define LATE 75 /* EX_TEMPFAIL */

static struct pages *pages;
static bool late;

/* What @text says first; returns what follows. */
static char *grant(const char *text)
{
	struct coreset set;
	char *end;
	long cores = strtol(text, &end, 10), threads = *end == 'x' ? strtol(end + 1, &end, 10) : 1;

	coreset_zero(&set);
	for (int i = 0; i < cores * threads; i++)
		coreset_add(&set, i);
	pages_grant(pages, &set, (int)cores);
	return end;
}

static void answer(int listener)
{
	static struct msg m;
	int fd = accept(listener, NULL, NULL), fds[2] = {pages->grant_fd, pages->report_fd};

	if (fd < 0)
		return;
	if (ipc_recv(fd, &m, ipc_now_ns() + 1000000000, NULL) == 0) {
		msg_init(&m, "attach_ok");
		late |= ipc_send_fds(fd, &m, fds, 2, NULL) < 0;
	}
	close(fd);
}

static void tell(void)
{
	static struct app app;
	struct signal rate;

	app_read(&app, pages->report, ipc_now_ns(), &rate);
	printf("told %.0f %s\n", app.total, app.unit);
}

/* GOMP_SPINCOUNT=13us becomes a count, as colocd would set it. */
static void set_spins(void)
{
	const char *text = getenv("GOMP_SPINCOUNT");
	int us = text ? conf_spin_us(text) : -1;
	char count[24];

	if (us < 0)
		return;
	snprintf(count, sizeof(count), "%ld", spin_count(us));
	setenv("GOMP_SPINCOUNT", count, 1);
}

int main(int argc, char **argv)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct pollfd p[2] = {{.events = POLLIN}, {.events = POLLIN}};
	struct errbuf err = {""};
	char *next;
	sigset_t set;
	pid_t child;
	int status;

	if (argc < 4 || pages_create(&pages, 1000, &err) < 0) {
		fprintf(stderr, "omp_granter: %s\n", argc < 4 ? "N[,N] LIBRARY COMMAND" : err.text);
		return 2;
	}
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/coloc-granter-%d", (int)getpid());
	unlink(addr.sun_path); /* of one that was killed, and had our number */
	p[0].fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(p[0].fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(p[0].fd, 8) < 0) {
		perror("omp_granter: socket");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
	next = grant(argv[1]);
	child = fork();
	if (child == 0) {
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		setenv("COLOC_SOCKET", addr.sun_path, 1);
		set_spins();
		if (*argv[2])
			setenv("LD_PRELOAD", argv[2], 1);
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	for (;;) {
		struct signalfd_siginfo si;

		pages_beat(pages, ipc_now_ns());
		if (poll(p, 2, 500) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			answer(p[0].fd);
		if (!p[1].revents || read(p[1].fd, &si, sizeof(si)) != sizeof(si))
			continue;
		if (si.ssi_signo == SIGUSR1) {
			if (*next == ',')
				next = grant(next + 1);
			/* Who asked for itself waits for the answer; any other program would die of
			 * it. */
			if ((pid_t)si.ssi_pid == child)
				kill(child, SIGUSR2);
		}
		if (waitpid(child, &status, WNOHANG) == child)
			break;
	}
	if (getenv("OMP_GRANTER_TELLS"))
		tell();
	unlink(addr.sun_path);
	pages_free(pages);
	if (late)
		return LATE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
