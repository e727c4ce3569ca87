/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/ipc.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"

#define NS_PER_MS INT64_C(1000000)

int64_t ipc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Waits for @events until the deadline: 0, -ETIMEDOUT or -errno. */
static int wait_for(int fd, short events, int64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int64_t left = deadline_ns - ipc_now_ns();
		struct timespec ts;
		int n;

		if (left <= 0)
			return -ETIMEDOUT;
		ts.tv_sec = left / (1000 * NS_PER_MS);
		ts.tv_nsec = left % (1000 * NS_PER_MS);
		n = ppoll(&p, 1, &ts, NULL);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

int ipc_connect(const char *path, int64_t deadline_ns, struct errbuf *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	cleanup_close int fd = -1;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(err, -ENAMETOOLONG, "socket path '%.80s...' is too long", path);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	while (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		struct timespec nap = {.tv_nsec = 2 * NS_PER_MS};

		/* EAGAIN: the backlog is full (a stopped daemon); poll() cannot tell when not. */
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "%s: %s", path, strerror(errno));
		if (ipc_now_ns() + nap.tv_nsec >= deadline_ns)
			return err_set(err, -ETIMEDOUT, "%s: no answer in time", path);
		nanosleep(&nap, NULL);
	}
	return take_fd(fd);
}

int ipc_send(int fd, const struct msg *m, int64_t deadline_ns, struct errbuf *err)
{
	if (m->overflow)
		return err_set(err, -EMSGSIZE, "message larger than %d bytes", MSG_MAX);
	for (;;) {
		ssize_t n = send(fd, m->buf, m->len, MSG_NOSIGNAL | MSG_DONTWAIT);
		int rc;

		if (n >= 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return err_set(err, -errno, "send: %s", strerror(errno));
		rc = wait_for(fd, POLLOUT, deadline_ns);
		if (rc < 0)
			return err_set(err, rc, "send: %s", strerror(-rc));
	}
}

int ipc_recv(int fd, struct msg *ret, int64_t deadline_ns, struct errbuf *err)
{
	for (;;) {
		ssize_t n = recv(fd, ret->buf, sizeof(ret->buf), MSG_DONTWAIT | MSG_TRUNC);
		int rc;

		if (n > (ssize_t)sizeof(ret->buf))
			return err_set(
				err, -EMSGSIZE, "message of %zd bytes, limit %d", n, MSG_MAX);
		if (n > 0) {
			ret->len = (size_t)n;
			ret->overflow = false;
			return msg_check(ret, err);
		}
		if (n == 0)
			return err_set(err, -ECONNRESET, "the other side closed the connection");
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return err_set(err, -errno, "recv: %s", strerror(errno));
		rc = wait_for(fd, POLLIN, deadline_ns);
		if (rc < 0)
			return err_set(err, rc, "recv: %s", strerror(-rc));
	}
}
