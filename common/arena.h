/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena.h - memory that lives as long as its owner: asked for piece by piece while that is made,
 * freed all at once. Not thread-safe.
 */
#ifndef COLOC_ARENA_H
#define COLOC_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_piece;

/* Zeroed: empty. */
struct arena {
	struct arena_piece *last;
	bool failed; /* there was no memory for a piece: whoever made all of them asks once */
};

/* @n of @size bytes, zeroed; NULL, and @a->failed: out of memory. */
void *arena_alloc(struct arena *a, size_t n, size_t size);
/* All pieces; @a is empty then. */
void arena_free(struct arena *a);

#endif
