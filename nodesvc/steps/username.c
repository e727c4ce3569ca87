/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * username.c - what the system calls a user. A directory service may need seconds, or hang: a
 * thread asks, one name at a time, and the loop waits for it no longer than a launch can bear.
 */
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/ipc.h"
#include "common/text.h"
#include "nodesvc/steps/steps.h"

/* Who has no name now may have one when the directory service answers again. */
#define NAMELESS_NS INT64_C(60000000000)
/* The plugin waits for a quarter of a second. */
#define WAIT_NS        150000000L
#define NAME_MAX_BYTES 33
/* Of an entry: those of a directory have long fields. */
#define ENTRY_BYTES 65536
#define KEPT        64

static struct {
	int64_t until_ns; /* 0: not in use */
	uint32_t uid;
	char name[NAME_MAX_BYTES];
} cache[KEPT]; /* of the loop's thread alone, by uid % KEPT */

/* What the loop and the thread share. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	enum { NO_THREAD, IDLE, ASKED, ANSWERED } state;
	uint32_t uid;
	bool found;
	char name[NAME_MAX_BYTES];
} asking = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool look_up(uint32_t uid, char *ret, size_t size)
{
	struct passwd pw, *found = NULL;
	char *buf = malloc(ENTRY_BYTES);

	if (buf && getpwuid_r(uid, &pw, buf, ENTRY_BYTES, &found) == 0 && found)
		text_copy(ret, size, found->pw_name);
	free(buf);
	return found != NULL;
}

static void *ask_for_names(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&asking.lock);
	for (;;) {
		char name[NAME_MAX_BYTES] = "";
		uint32_t uid;
		bool found;

		while (asking.state != ASKED)
			pthread_cond_wait(&asking.change, &asking.lock);
		uid = asking.uid;
		pthread_mutex_unlock(&asking.lock);
		found = look_up(uid, name, sizeof(name));
		pthread_mutex_lock(&asking.lock);
		text_copy(asking.name, sizeof(asking.name), name);
		asking.found = found;
		asking.state = ANSWERED;
		pthread_cond_broadcast(&asking.change);
	}
	return NULL;
}

/* With the lock held. */
static bool start_thread(void)
{
	pthread_condattr_t monotonic;
	pthread_attr_t detached;
	pthread_t thread;
	sigset_t all, before;
	int rc;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&asking.change, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all); /* they are the loop's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, &detached, ask_for_names, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
	if (rc == 0)
		asking.state = IDLE;
	return rc == 0;
}

static void keep(uint32_t uid, const char *name, bool found)
{
	size_t at = uid % KEPT;

	if (found)
		text_copy(cache[at].name, sizeof(cache[at].name), name);
	else
		snprintf(cache[at].name, sizeof(cache[at].name), "%u", uid);
	cache[at].uid = uid;
	cache[at].until_ns = found ? INT64_MAX : ipc_now_ns() + NAMELESS_NS;
}

static bool is_kept(uint32_t uid)
{
	return cache[uid % KEPT].uid == uid && ipc_now_ns() < cache[uid % KEPT].until_ns;
}

/* With the lock held: what was asked for and came later than it was waited for. */
static void take_answer(void)
{
	if (asking.state != ANSWERED)
		return;
	keep(asking.uid, asking.name, asking.found);
	asking.state = IDLE;
}

static void wait_for_answer(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_NS;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	while (asking.state == ASKED &&
		pthread_cond_timedwait(&asking.change, &asking.lock, &until) != ETIMEDOUT)
		;
}

void registration_user_name(uint32_t uid, char *ret, size_t size)
{
	if (!is_kept(uid)) {
		pthread_mutex_lock(&asking.lock);
		take_answer();
		if (!is_kept(uid) && (asking.state != NO_THREAD || start_thread()) &&
			asking.state == IDLE) {
			asking.uid = uid;
			asking.state = ASKED;
			pthread_cond_broadcast(&asking.change);
			wait_for_answer();
			take_answer();
		}
		pthread_mutex_unlock(&asking.lock);
	}
	if (is_kept(uid))
		snprintf(ret, size, "%s", cache[uid % KEPT].name);
	else
		snprintf(ret, size, "%u", uid);
}
