/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/base/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/ipc.h"

enum source_kind { SOURCE_FD, SOURCE_TIMER, SOURCE_SIGNAL };

struct loop_source {
	enum source_kind kind;
	int fd;
	bool removed;
	union {
		loop_fd_f fd_fn;
		loop_timer_f timer_fn;
		loop_signal_f signal_fn;
	};
	void *arg;
	struct loop_source *next_removed;
};

struct loop {
	int epoll_fd;
	bool stop;
	int64_t longest_ns;
	/* Freed after the round: epoll_wait may have returned events for them already. */
	struct loop_source *removed;
};

int loop_create(struct loop **ret, struct errbuf *err)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		int rc = -errno;

		free(l);
		return err_set(err, rc, "epoll_create1: %s", strerror(-rc));
	}
	*ret = l;
	return 0;
}

static void free_removed(struct loop *l)
{
	while (l->removed) {
		struct loop_source *s = l->removed;

		l->removed = s->next_removed;
		free(s);
	}
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	free_removed(l);
	close(l->epoll_fd);
	free(l);
}

/* Takes @with.fd over but of SOURCE_FD, also when it fails. */
static int add(struct loop *l, struct loop_source with, uint32_t events, struct loop_source **ret,
	struct errbuf *err)
{
	struct loop_source *s = malloc(sizeof(*s));
	struct epoll_event ev = {.events = events, .data.ptr = s};
	int rc = 0;

	if (!s)
		rc = err_set(err, -ENOMEM, "out of memory");
	else if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, with.fd, &ev) < 0)
		rc = err_set(err, -errno, "epoll_ctl: %s", strerror(errno));
	if (rc < 0) {
		if (with.kind != SOURCE_FD)
			close(with.fd);
		free(s);
		return rc;
	}
	*s = with;
	*ret = s;
	return 0;
}

int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_f fn, void *arg,
	struct loop_source **ret, struct errbuf *err)
{
	return add(l, (struct loop_source){.kind = SOURCE_FD, .fd = fd, .fd_fn = fn, .arg = arg},
		events, ret, err);
}

int loop_set_events(struct loop *l, struct loop_source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev) < 0 ? -errno : 0;
}

int loop_add_timer(
	struct loop *l, loop_timer_f fn, void *arg, struct loop_source **ret, struct errbuf *err)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "timerfd_create: %s", strerror(errno));
	return add(l,
		(struct loop_source){.kind = SOURCE_TIMER, .fd = fd, .timer_fn = fn, .arg = arg},
		EPOLLIN, ret, err);
}

int loop_set_timer(struct loop_source *s, int first_ms, int period_ms)
{
	struct itimerspec its = {
		.it_value = {first_ms / 1000, (first_ms % 1000) * 1000000L},
		.it_interval = {period_ms / 1000, (period_ms % 1000) * 1000000L},
	};

	return timerfd_settime(s->fd, 0, &its, NULL) < 0 ? -errno : 0;
}

int loop_set_timer_at(struct loop_source *s, int64_t mono_ns)
{
	struct itimerspec its = {
		.it_value = {mono_ns / 1000000000, mono_ns % 1000000000},
	};

	return timerfd_settime(s->fd, TFD_TIMER_ABSTIME, &its, NULL) < 0 ? -errno : 0;
}

int loop_add_signals(struct loop *l, const sigset_t *set, loop_signal_f fn, void *arg,
	struct loop_source **ret, struct errbuf *err)
{
	int fd;

	sigprocmask(SIG_BLOCK, set, NULL);
	fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "signalfd: %s", strerror(errno));
	return add(l,
		(struct loop_source){.kind = SOURCE_SIGNAL, .fd = fd, .signal_fn = fn, .arg = arg},
		EPOLLIN, ret, err);
}

void loop_remove(struct loop *l, struct loop_source *s)
{
	if (!s || s->removed)
		return;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	if (s->kind != SOURCE_FD)
		close(s->fd);
	s->removed = true;
	s->next_removed = l->removed;
	l->removed = s;
}

static void dispatch(struct loop_source *s, uint32_t events)
{
	struct signalfd_siginfo si;
	uint64_t expirations;

	switch (s->kind) {
	case SOURCE_FD:
		s->fd_fn(s->fd, events, s->arg);
		break;
	case SOURCE_TIMER:
		if (read(s->fd, &expirations, sizeof(expirations)) == sizeof(expirations))
			s->timer_fn(s->arg);
		break;
	case SOURCE_SIGNAL:
		while (!s->removed && read(s->fd, &si, sizeof(si)) == sizeof(si))
			s->signal_fn((int)si.ssi_signo, s->arg);
		break;
	}
}

int loop_run(struct loop *l)
{
	l->stop = false;
	while (!l->stop) {
		struct epoll_event ev[64];
		int n = epoll_wait(l->epoll_fd, ev, 64, -1);
		int64_t start_ns = ipc_now_ns(), turn_ns;

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			struct loop_source *s = ev[i].data.ptr;

			if (!s->removed)
				dispatch(s, ev[i].events);
		}
		free_removed(l);
		turn_ns = ipc_now_ns() - start_ns;
		if (turn_ns > l->longest_ns)
			l->longest_ns = turn_ns;
	}
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

int64_t loop_longest_ns(const struct loop *l)
{
	return l->longest_ns;
}
