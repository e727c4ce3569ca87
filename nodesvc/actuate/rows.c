/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - threads and their masks, sorted by tid. */
#include "nodesvc/actuate/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void rows_free(struct rows *r)
{
	free(r->v);
	*r = (struct rows){.v = NULL};
}

/* First row whose tid is not below @tid. */
static int lower_bound(const struct rows *r, pid_t tid)
{
	int lo = 0, hi = r->n;

	/* Threads mostly come in ascending order. */
	if (hi && r->v[hi - 1].tid < tid)
		return hi;
	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (r->v[mid].tid < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct ledger_thread *rows_find(const struct rows *r, pid_t tid, uint64_t start_ticks)
{
	for (int i = lower_bound(r, tid); i < r->n && r->v[i].tid == tid; i++)
		if (r->v[i].start_ticks == start_ticks)
			return &r->v[i];
	return NULL;
}

const struct ledger_thread *rows_find_tid(const struct rows *r, pid_t tid)
{
	int i = lower_bound(r, tid);

	return i < r->n && r->v[i].tid == tid ? &r->v[i] : NULL;
}

int rows_put(struct rows *r, const struct ledger_thread *t)
{
	int at;

	if (r->n == r->cap) {
		int cap = r->cap ? r->cap * 2 : 16;
		struct ledger_thread *v = realloc(r->v, (size_t)cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		r->v = v;
		r->cap = cap;
	}
	at = lower_bound(r, t->tid);
	memmove(&r->v[at + 1], &r->v[at], (size_t)(r->n - at) * sizeof(*r->v));
	r->v[at] = *t;
	r->n++;
	return 0;
}
