/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_msgdump - stands where colocd would: prints every message of the plugin as one line (tabs
 * between records, connection number and peer uid first), and answers as its options say. For
 * tests only: it places nothing.
 *
 *   live_msgdump SOCKET [--env-file FILE] [--refuse REASON] [--mute TYPE] [--stop] [--once]
 *
 * --env-file  its lines NAME=VALUE are the env= records of step_ok; read anew for each step
 * --refuse    step_refused with this reason
 * --mute      no answer to messages of this type ("all": to none)
 * --stop      listen, then stop with SIGSTOP: connections end up in the backlog
 * --once      close the connection after each answer, as a restarted daemon would
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/msg.h"

#define CONNS_MAX 64

static struct {
	const char *env_file, *refuse, *mute;
	bool stop, once;
} opt;

static struct pollfd fds[CONNS_MAX];
static int serial[CONNS_MAX];
static unsigned int peer_uid[CONNS_MAX];

static void usage(void)
{
	fprintf(stderr, "usage: live_msgdump SOCKET [--env-file FILE] [--refuse REASON] "
			"[--mute TYPE] [--stop] [--once]\n");
	exit(2);
}

static void die(const char *what)
{
	fprintf(stderr, "live_msgdump: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put_env_file(struct msg *m)
{
	char line[1024];
	FILE *f = opt.env_file ? fopen(opt.env_file, "re") : NULL;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		msg_put(m, "env", line);
	}
	if (f)
		fclose(f);
}

static void print(int at, const struct msg *m)
{
	printf("%d\tpeer=%u", serial[at], peer_uid[at]);
	for (size_t i = 0; i < m->len; i += strlen(m->buf + i) + 1)
		printf("\t%s", m->buf + i);
	putchar('\n');
	fflush(stdout);
}

static bool wants_answer(const char *type)
{
	if (opt.mute && (strcmp(opt.mute, "all") == 0 || strcmp(opt.mute, type) == 0))
		return false;
	return strcmp(type, "step_start") == 0 || strcmp(type, "task_start") == 0;
}

static void answer(int at, const struct msg *m)
{
	static struct msg reply;
	const char *type = msg_get(m, "type");
	const char *policy = msg_get(m, "policy");

	if (!wants_answer(type))
		return;
	if (strcmp(type, "task_start") == 0) {
		msg_init(&reply, "task_ok");
		msg_put(&reply, "coreset", "0");
		msg_put(&reply, "cores", "1");
		msg_put(&reply, "reason", "a test says so");
	} else if (opt.refuse) {
		msg_init(&reply, "step_refused");
		msg_put(&reply, "reason", opt.refuse);
	} else {
		msg_init(&reply, "step_ok");
		msg_put(&reply, "policy", policy ? policy : "none");
		put_env_file(&reply);
	}
	ipc_send(fds[at].fd, &reply, ipc_now_ns() + INT64_C(1000000000), NULL);
}

static void drop(int at)
{
	close(fds[at].fd);
	fds[at].fd = -1;
}

static void serve(int at)
{
	static struct msg m;
	int rc = ipc_recv(fds[at].fd, &m, ipc_now_ns() + INT64_C(1000000), NULL);

	if (rc == -ETIMEDOUT)
		return;
	if (rc < 0) {
		printf("%d\tclosed\n", serial[at]);
		fflush(stdout);
		drop(at);
		return;
	}
	print(at, &m);
	answer(at, &m);
	if (opt.once && wants_answer(msg_get(&m, "type")))
		drop(at);
}

static void take(void)
{
	static int next = 1;
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	int fd = accept4(fds[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int at = 1;

	if (fd < 0)
		return;
	while (at < CONNS_MAX && fds[at].fd >= 0)
		at++;
	if (at == CONNS_MAX) {
		close(fd);
		return;
	}
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	fds[at] = (struct pollfd){.fd = fd, .events = POLLIN};
	serial[at] = next++;
	peer_uid[at] = peer.uid;
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		die(path);
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 8) < 0)
		die(path);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-')
		usage();
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--stop") == 0)
			opt.stop = true;
		else if (strcmp(argv[i], "--once") == 0)
			opt.once = true;
		else if (i + 1 == argc) /* NOLINT(bugprone-branch-clone): the rest take a value */
			usage();
		else if (strcmp(argv[i], "--env-file") == 0)
			opt.env_file = argv[++i];
		else if (strcmp(argv[i], "--refuse") == 0)
			opt.refuse = argv[++i];
		else if (strcmp(argv[i], "--mute") == 0)
			opt.mute = argv[++i];
		else
			usage();
	}
	for (int at = 0; at < CONNS_MAX; at++)
		fds[at].fd = -1;
	fds[0] = (struct pollfd){.fd = listen_at(argv[1]), .events = POLLIN};
	if (opt.stop)
		raise(SIGSTOP);
	for (;;) {
		if (poll(fds, CONNS_MAX, -1) < 0 && errno != EINTR)
			die("poll");
		for (int at = 1; at < CONNS_MAX; at++)
			if (fds[at].fd >= 0 && fds[at].revents)
				serve(at);
		if (fds[0].revents)
			take();
	}
}
