/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/arena.h"

#include <stdint.h>
#include <stdlib.h>

struct arena_piece {
	struct arena_piece *before;
	max_align_t data[];
};

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
	struct arena_piece *p = NULL;

	if (size == 0 || n <= (SIZE_MAX - sizeof(*p)) / size)
		p = calloc(1, sizeof(*p) + n * size);
	if (!p) {
		a->failed = true;
		return NULL;
	}
	p->before = a->last;
	a->last = p;
	return p->data;
}

void arena_free(struct arena *a)
{
	while (a->last) {
		struct arena_piece *p = a->last;

		a->last = p->before;
		free(p);
	}
	a->failed = false;
}
