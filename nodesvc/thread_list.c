/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/thread_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int thread_list_update(
	struct thread_list *l, struct actuate *a, const struct step_cgroup *s, bool *ret_changed)
{
	const struct actuate_ops *ops = actuate_get_ops(a);
	uint64_t mark = 0;
	pid_t *tid;
	int n, rc;

	*ret_changed = false;
	/* The number first: who comes in between is found at the next update. */
	rc = ops->mark ? ops->mark(a, s, &mark) : -ENOTSUP;
	if (rc == 0 && l->has_mark && l->mark == mark)
		return 0;
	if (rc == -ENOENT)
		return rc;
	l->has_mark = rc == 0;
	l->mark = mark;
	rc = ops->threads(a, s, &tid, &n);
	if (rc < 0) {
		l->has_mark = false;
		return rc;
	}
	*ret_changed = !l->tid || n != l->n || memcmp(tid, l->tid, (size_t)n * sizeof(*tid)) != 0;
	free(l->tid);
	l->tid = tid;
	l->n = n;
	return 0;
}

void thread_list_done(struct thread_list *l)
{
	free(l->tid);
	*l = (struct thread_list){.tid = NULL};
}
