/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/record/record.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SQLite wants some tens of KiB; a default stack is 8 MiB of address space. */
#define STACK_BYTES (512 << 10)

struct checkpointer {
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	bool busy, stop;
	char path[PATH_MAX]; /* of the one that goes on */
};

static void checkpoint(const char *path)
{
	sqlite3 *db = NULL;

	/* Not made where it is gone: moved aside as damaged, say. Before it has read something a
	 * connection does not know that there is a log. */
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
		sqlite3_exec(db, "PRAGMA schema_version", NULL, NULL, NULL) == SQLITE_OK)
		sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	sqlite3_close(db);
}

static void *work(void *checkpointer)
{
	struct checkpointer *c = checkpointer;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->busy && !c->stop)
			pthread_cond_wait(&c->wake, &c->lock);
		if (!c->busy)
			break;
		pthread_mutex_unlock(&c->lock);
		checkpoint(c->path);
		pthread_mutex_lock(&c->lock);
		c->busy = false;
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static bool start(struct checkpointer *c)
{
	pthread_attr_t attr;
	sigset_t all, old;

	if (c->running)
		return true;
	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* Signals are the loop's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	c->running = pthread_create(&c->thread, &attr, work, c) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return c->running;
}

struct checkpointer *checkpoint_new(void)
{
	struct checkpointer *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	return c;
}

bool checkpoint_ask(struct checkpointer *c, const char *path)
{
	bool taken = false;

	if (strlen(path) >= sizeof(c->path) || !start(c))
		return false;
	pthread_mutex_lock(&c->lock);
	if (!c->busy) {
		snprintf(c->path, sizeof(c->path), "%s", path);
		c->busy = taken = true;
		pthread_cond_signal(&c->wake);
	}
	pthread_mutex_unlock(&c->lock);
	return taken;
}

void checkpoint_free(struct checkpointer *c)
{
	if (!c)
		return;
	if (c->running) {
		pthread_mutex_lock(&c->lock);
		c->stop = true;
		pthread_cond_signal(&c->wake);
		pthread_mutex_unlock(&c->lock);
		pthread_join(c->thread, NULL);
	}
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
