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

int64_t ipc_unix_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
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

/* Takes the descriptors out of a received header; what is not wanted is closed. */
static int take_fds(struct msghdr *h, int *fds, int max)
{
	int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < max)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

int ipc_recv_fds(int fd, struct msg *ret, int *fds, int max, int *ret_n, int64_t deadline_ns,
	struct errbuf *err)
{
	for (;;) {
		union {
			struct cmsghdr align;
			char buf[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))];
		} control;
		struct iovec iov = {.iov_base = ret->buf, .iov_len = sizeof(ret->buf)};
		struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n;
		int rc, n_fds = 0;

		if (max > 0) {
			h.msg_control = control.buf;
			h.msg_controllen = sizeof(control.buf);
		}
		n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
		if (n >= 0 && max > 0)
			n_fds = take_fds(&h, fds, max);
		if (n > 0 && n <= (ssize_t)sizeof(ret->buf)) {
			ret->len = (size_t)n;
			ret->overflow = false;
			rc = msg_check(ret, err);
			if (rc == 0) {
				*ret_n = n_fds;
				return 0;
			}
		} else if (n > 0) {
			rc = err_set(err, -EMSGSIZE, "message of %zd bytes, limit %d", n, MSG_MAX);
		} else if (n == 0) {
			rc = err_set(err, -ECONNRESET, "the other side closed the connection");
		} else if (errno == EINTR) {
			continue;
		} else if (errno != EAGAIN) {
			rc = err_set(err, -errno, "recv: %s", strerror(errno));
		} else {
			rc = wait_for(fd, POLLIN, deadline_ns);
			if (rc == 0)
				continue;
			return err_set(err, rc, "recv: %s", strerror(-rc));
		}
		while (n_fds > 0)
			close(fds[--n_fds]);
		return rc;
	}
}

int ipc_recv(int fd, struct msg *ret, int64_t deadline_ns, struct errbuf *err)
{
	int none, n;

	return ipc_recv_fds(fd, ret, &none, 0, &n, deadline_ns, err);
}

int ipc_send_fds(int fd, const struct msg *m, const int *fds, int n, struct errbuf *err)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(IPC_FDS_MAX * sizeof(int))];
	} control = {.buf = {0}};
	struct iovec iov = {.iov_base = (void *)m->buf, .iov_len = m->len};
	struct msghdr h = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);

	if (m->overflow || n < 1 || n > IPC_FDS_MAX)
		return err_set(err, -EMSGSIZE, "%d descriptors, or more than %d bytes", n, MSG_MAX);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	if (sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_set(err, -errno, "send: %s", strerror(errno));
	return 0;
}
