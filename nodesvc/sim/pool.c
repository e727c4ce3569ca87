/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "nodesvc/sim/pool.h"

#define WORKERS_MAX 64

struct state {
	const struct pool *p;
	atomic_int next, done, failed;
	pthread_mutex_t lock;
	struct errbuf err;
	int rc;
};

static void *work(void *arg)
{
	struct state *s = arg;

	for (int i; (i = atomic_fetch_add(&s->next, 1)) < s->p->n && !s->failed;) {
		struct errbuf err = {""};
		int rc = s->p->run(s->p->ctx, i, &err);

		if (rc) {
			pthread_mutex_lock(&s->lock);
			if (!s->rc) {
				s->rc = rc;
				s->err = err;
			}
			pthread_mutex_unlock(&s->lock);
			s->failed = 1;
		}
		rc = atomic_fetch_add(&s->done, 1) + 1;
		if (s->p->progress)
			s->p->progress(rc, s->p->n);
	}
	return NULL;
}

int pool_run(const struct pool *p, struct errbuf *err)
{
	struct state s = {.p = p, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t thread[WORKERS_MAX];
	long workers = p->workers > 0 ? p->workers : sysconf(_SC_NPROCESSORS_ONLN);
	int started = 0;

	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	while (started < workers - 1 && pthread_create(&thread[started], NULL, work, &s) == 0)
		started++;
	work(&s);
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	if (s.rc)
		return err_set(err, s.rc, "%s", s.err.text);
	return 0;
}
