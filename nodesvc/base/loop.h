/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop.h - one epoll loop: descriptors, one-shot and periodic timers, signals. One thread; a
 * callback may add and remove anything, itself included.
 */
#ifndef COLOC_BASE_LOOP_H
#define COLOC_BASE_LOOP_H

#include <signal.h>
#include <stdint.h>

#include "common/err.h"

struct loop;
struct loop_source;

typedef void (*loop_fd_f)(int fd, uint32_t epoll_events, void *arg);
typedef void (*loop_timer_f)(void *arg);
typedef void (*loop_signal_f)(int signo, void *arg);

int loop_create(struct loop **ret, struct errbuf *err);
void loop_free(struct loop *l);

/* @events: EPOLLIN, EPOLLOUT. The descriptor stays the caller's. */
int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_f fn, void *arg,
	struct loop_source **ret, struct errbuf *err);
int loop_set_events(struct loop *l, struct loop_source *s, uint32_t events);
/* Created disarmed. */
int loop_add_timer(
	struct loop *l, loop_timer_f fn, void *arg, struct loop_source **ret, struct errbuf *err);
/* First after @first_ms, then every @period_ms (0: once); first 0: disarm. */
int loop_set_timer(struct loop_source *s, int first_ms, int period_ms);
/* Once, at @mono_ns (CLOCK_MONOTONIC): what is set from the last deadline does not drift. 0:
 * disarm. A time that has passed fires at once. */
int loop_set_timer_at(struct loop_source *s, int64_t mono_ns);
/* Blocks the signals in this thread and delivers them through @fn. */
int loop_add_signals(struct loop *l, const sigset_t *set, loop_signal_f fn, void *arg,
	struct loop_source **ret, struct errbuf *err);
/* NULL is fine. Safe inside callbacks. */
void loop_remove(struct loop *l, struct loop_source *s);

/* Until loop_stop(); returns 0, or -errno of epoll itself. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* The longest that all sources that were ready at once had to themselves, so far: whoever comes
 * meanwhile waits as long. */
int64_t loop_longest_ns(const struct loop *l);

#endif
