/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/actuate/actuate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/aside.h"
#include "common/ipc.h"

/* Of the loop's time, at an update. */
#define SLICE_NS INT64_C(1500000)
/* A list that took longer is not read again before so many times as much has passed: at most two
 * parts in a hundred of the loop's time are a step's list, however long it is. */
#define LONG_NS INT64_C(1000000)
#define PAUSE   50

/* One reading, which may go on over several updates. */
struct thread_listing {
	struct aside *work;
	struct actuate *a;
	struct step_cgroup cgroup;
	bool had_mark;
	uint64_t old_mark;
	/* What it found: @rc <0 nothing; @same: those of the mark before. */
	int rc;
	bool same, has_mark;
	uint64_t mark;
	pid_t *tid;
	int n;
};

static void read_list(void *arg)
{
	struct thread_listing *r = arg;
	const struct actuate_ops *ops = actuate_get_ops(r->a);

	/* The number first: who comes in between is found at the next update. */
	r->rc = ops->mark ? ops->mark(r->a, &r->cgroup, &r->mark) : -ENOTSUP;
	r->has_mark = r->rc == 0;
	r->same = r->has_mark && r->had_mark && r->mark == r->old_mark;
	if (r->same || r->rc == -ENOENT || r->rc == -ECANCELED)
		return;
	r->rc = ops->threads(r->a, &r->cgroup, &r->tid, &r->n);
}

static void drop(struct thread_list *l)
{
	if (!l->reading)
		return;
	aside_end(l->reading->work);
	free(l->reading->tid);
	free(l->reading);
	l->reading = NULL;
}

static int begin(struct thread_list *l, struct actuate *a, const struct step_cgroup *s)
{
	struct thread_listing *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	*r = (struct thread_listing){.a = a,
		.cgroup = *s,
		.had_mark = l->has_mark,
		.old_mark = l->mark,
		.rc = -ECANCELED};
	rc = aside_start(&r->work, read_list, r, NULL);
	if (rc < 0) {
		free(r);
		return rc;
	}
	l->reading = r;
	return 0;
}

static int finish(struct thread_list *l, bool *ret_changed)
{
	struct thread_listing *r = l->reading;
	int64_t spent_ns = aside_spent_ns(r->work), now_ns = ipc_now_ns();
	int rc = r->rc;

	l->at_ns = now_ns;
	l->again_ns = spent_ns > LONG_NS ? now_ns + PAUSE * spent_ns : 0;
	if (rc == 0 && !r->same) {
		*ret_changed = !l->tid || r->n != l->n ||
			       memcmp(r->tid, l->tid, (size_t)r->n * sizeof(*r->tid)) != 0;
		free(l->tid);
		l->tid = r->tid;
		l->n = r->n;
		r->tid = NULL;
	}
	l->has_mark = rc == 0 && r->has_mark;
	l->mark = r->mark;
	drop(l);
	return rc;
}

int thread_list_update(
	struct thread_list *l, struct actuate *a, const struct step_cgroup *s, bool *ret_changed)
{
	int rc;

	*ret_changed = false;
	if (!l->reading && l->tid && ipc_now_ns() < l->again_ns)
		return 0;
	rc = l->reading ? 0 : begin(l, a, s);
	if (rc < 0)
		return rc;
	if (!aside_go_on(l->reading->work, SLICE_NS))
		return l->tid ? 0 : -EAGAIN;
	return finish(l, ret_changed);
}

bool thread_list_is_reading(const struct thread_list *l)
{
	return l->reading;
}

void thread_list_done(struct thread_list *l)
{
	drop(l);
	free(l->tid);
	*l = (struct thread_list){.tid = NULL};
}
