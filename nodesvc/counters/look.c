/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/look.h"

#include <stdlib.h>

#include "common/aside.h"

/* Of the loop's time, at a sample. */
#define SLICE_NS INT64_C(1500000)

struct look *look_begin(const struct fsroot *root, const pid_t *tid, int n, int first, int most,
	void (*fn)(void *look))
{
	int k = n < most ? n : most;
	struct look *l = calloc(1, sizeof(*l) + (size_t)k * sizeof(*tid));

	if (!l)
		return NULL;
	l->root = root;
	l->n = k;
	for (int i = 0; i < k; i++)
		l->tid[i] = tid[(first + i) % n];
	if (aside_start(&l->work, fn, l, NULL) < 0) {
		free(l);
		return NULL;
	}
	return l;
}

bool look_go_on(struct look *l)
{
	return l && aside_go_on(l->work, SLICE_NS);
}

int look_left(const struct look *l, int *ret_of)
{
	*ret_of = l ? l->n : 0;
	return l ? l->n - l->at : 0;
}

void look_done(struct look **l)
{
	if (!*l)
		return;
	aside_end((*l)->work);
	free(*l);
	*l = NULL;
}
