/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/clocks.h"

#include <errno.h>
#include <stdlib.h>

int clocks_set(struct clocks *c, const pid_t *tid, int n_tids)
{
	clockid_t *id = malloc(((size_t)n_tids + 1) * sizeof(*id));
	int n = 0;

	if (!id)
		return -ENOMEM;
	for (int i = 0; i < n_tids; i++)
		/* A thread that leads no process has no such clock. */
		n += clock_getcpuclockid(tid[i], &id[n]) == 0;
	free(c->id);
	c->id = id;
	c->n = n;
	return 0;
}

int clocks_read(const struct clocks *c, int64_t *ret_ns)
{
	int64_t sum = 0;

	if (c->n == 0)
		return -ENOENT;
	for (int i = 0; i < c->n; i++) {
		struct timespec ts;

		if (clock_gettime(c->id[i], &ts) < 0)
			return -ESRCH;
		sum += ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
	}
	*ret_ns = sum;
	return 0;
}

/* As the kernel numbers them: the complement of the pid, above three bits. */
pid_t clocks_pid(clockid_t id)
{
	return ~(id >> 3);
}

void clocks_done(struct clocks *c)
{
	free(c->id);
	c->id = NULL;
	c->n = 0;
}
