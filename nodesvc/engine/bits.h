/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bits.h - walks over coresets, inline and only over the words a node uses: a decision makes
 * thousands of them.
 */
#ifndef COLOC_ENGINE_BITS_H
#define COLOC_ENGINE_BITS_H

#include "common/topo.h"

/* Next PU after @pu (start with -1), -1 at the end. */
static inline int bits_next(const struct coreset *s, int pu, int words)
{
	int i = ++pu / 64;
	uint64_t w;

	if (i >= words)
		return -1;
	w = s->w[i] & (~UINT64_C(0) << (pu % 64));
	while (!w) {
		if (++i >= words)
			return -1;
		w = s->w[i];
	}
	return i * 64 + __builtin_ctzll(w);
}

#define bits_for_each(pu, s, words)                                                                \
	for (int pu = bits_next((s), -1, (words)); pu >= 0; pu = bits_next((s), pu, (words)))

static inline bool bits_intersect(const struct coreset *a, const struct coreset *b, int words)
{
	for (int i = 0; i < words; i++)
		if (a->w[i] & b->w[i])
			return true;
	return false;
}

static inline bool bits_empty(const struct coreset *s, int words)
{
	for (int i = 0; i < words; i++)
		if (s->w[i])
			return false;
	return true;
}

static inline bool bits_subset(const struct coreset *inner, const struct coreset *outer, int words)
{
	for (int i = 0; i < words; i++)
		if (inner->w[i] & ~outer->w[i])
			return false;
	return true;
}

static inline void bits_add(struct coreset *s, const struct coreset *more, int words)
{
	for (int i = 0; i < words; i++)
		s->w[i] |= more->w[i];
}

#endif
