/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_client - says to colocd's socket whatever a test wants said, as whatever user. For tests of
 * what is refused.
 *
 *   live_client SOCKET UID MODE [ARG...]
 *
 *   say TYPE [key=value...]    one message; prints the answer's records, a line each, or "closed"
 *   flood SECONDS CMD          the ctl command again and again, on four connections; prints how
 * many answers came hold N SECONDS             N connections that say nothing; prints how many are
 * still open raw BYTES                  a packet of so many bytes 'x'; prints the answer or
 * "closed" time N CMD                 the ctl command N times, 5 ms apart; prints the median, the
 * 99th percentile and the longest, in whole ms
 *
 * UID 0 stays root. Exit 0 when it could say it, whatever the answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/msg.h"

#define ANSWER_NS INT64_C(5000000000)
#define HOLD_MAX  4096

static const char *path;

static int dial(void)
{
	struct errbuf err;
	int fd = ipc_connect(path, ipc_now_ns() + ANSWER_NS, &err);

	if (fd < 0) {
		fprintf(stderr, "live_client: %s\n", err.text);
		exit(1);
	}
	return fd;
}

static bool put(struct msg *m, const char *type, char **record)
{
	msg_init(m, type);
	for (; *record; record++) {
		char *eq = strchr(*record, '=');

		if (!eq)
			return false;
		*eq = '\0';
		msg_put(m, *record, eq + 1);
	}
	return true;
}

static void print_answer(int fd, struct msg *m)
{
	struct errbuf err;

	/* The answer to "ctl" comes in parts. */
	do {
		if (ipc_recv(fd, m, ipc_now_ns() + ANSWER_NS, &err) < 0) {
			puts(strstr(err.text, "time") ? "silent" : "closed");
			return;
		}
		for (size_t at = 0; at < m->len; at += strlen(m->buf + at) + 1)
			puts(m->buf + at);
	} while (strcmp(msg_get(m, "type"), "ctl_part") == 0);
}

static int say(char **arg)
{
	static struct msg m;
	struct errbuf err;
	int fd = dial();

	if (!*arg || !put(&m, *arg, arg + 1)) {
		fprintf(stderr, "live_client: say TYPE key=value...\n");
		return 2;
	}
	if (ipc_send(fd, &m, ipc_now_ns() + ANSWER_NS, &err) < 0)
		puts("closed");
	else
		print_answer(fd, &m);
	return 0;
}

static int raw(char **arg)
{
	static struct msg m;
	static char bytes[1 << 17];
	size_t n = (size_t)atoi(*arg);
	int fd = dial();

	if (n > sizeof(bytes))
		return 2;
	memset(bytes, 'x', n);
	if (send(fd, bytes, n, MSG_NOSIGNAL) < 0)
		printf("not sent: %s\n", strerror(errno));
	else
		print_answer(fd, &m);
	return 0;
}

static int flood(char **arg)
{
	static struct msg m;
	int64_t until = ipc_now_ns() + atoi(arg[0]) * INT64_C(1000000000);
	struct pollfd p[4];
	long answers = 0;

	for (int i = 0; i < 4; i++)
		p[i] = (struct pollfd){.fd = dial(), .events = POLLIN};
	msg_init(&m, "ctl");
	msg_put(&m, "cmd", arg[1]);
	while (ipc_now_ns() < until) {
		for (int i = 0; i < 4; i++)
			while (send(p[i].fd, m.buf, m.len, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
				;
		poll(p, 4, 20);
		for (int i = 0; i < 4; i++) {
			static char buf[MSG_MAX];

			while (recv(p[i].fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
				answers++;
		}
	}
	printf("%ld answers\n", answers);
	return 0;
}

static int hold(char **arg)
{
	static int fd[HOLD_MAX];
	int n = atoi(arg[0]), open = 0;
	char byte;

	for (int i = 0; i < n && i < HOLD_MAX; i++)
		fd[i] = dial();
	sleep((unsigned int)atoi(arg[1]));
	for (int i = 0; i < n && i < HOLD_MAX; i++)
		open += recv(fd[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
	printf("%d open\n", open);
	return 0;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int take_times(char **arg)
{
	static struct msg m;
	struct errbuf err;
	int n = atoi(arg[0]), fd = dial(), half, most;
	int64_t *took = n > 0 ? calloc((size_t)n, sizeof(*took)) : NULL;

	for (int i = 0; took && i < n; i++) {
		int64_t start = ipc_now_ns();

		msg_init(&m, "ctl");
		msg_put(&m, "cmd", arg[1]);
		if (ipc_send(fd, &m, start + 10 * ANSWER_NS, &err) < 0)
			return 1;
		do {
			if (ipc_recv(fd, &m, start + 10 * ANSWER_NS, &err) < 0)
				return 1;
		} while (strcmp(msg_get(&m, "type"), "ctl_part") == 0);
		took[i] = ipc_now_ns() - start;
		usleep(5000);
	}
	if (!took)
		return 2;
	qsort(took, (size_t)n, sizeof(*took), ascending);
	half = n / 2;
	most = (n - 1) * 99 / 100;
	printf("%.0f %.0f %.0f\n", (double)took[half] / 1e6, (double)took[most] / 1e6,
		(double)took[n - 1] / 1e6);
	free(took);
	return 0;
}

int main(int argc, char **argv)
{
	uid_t uid;

	if (argc < 5) {
		fprintf(stderr, "usage: live_client SOCKET UID say|flood|hold|raw|time ARG...\n");
		return 2;
	}
	path = argv[1];
	uid = (uid_t)atoi(argv[2]);
	if (uid && (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0)) {
		perror("live_client: setuid");
		return 1;
	}
	if (strcmp(argv[3], "say") == 0)
		return say(argv + 4);
	if (strcmp(argv[3], "raw") == 0)
		return raw(argv + 4);
	if (argc >= 6 && strcmp(argv[3], "flood") == 0)
		return flood(argv + 4);
	if (argc >= 6 && strcmp(argv[3], "hold") == 0)
		return hold(argv + 4);
	if (argc >= 6 && strcmp(argv[3], "time") == 0)
		return take_times(argv + 4);
	fprintf(stderr, "live_client: '%s'?\n", argv[3]);
	return 2;
}
