/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bits.h - walks over coresets, inline and only over the words a node uses: a decision makes
 * thousands of them.
 */
#ifndef COLOC_ENGINE_BITS_H
#define COLOC_ENGINE_BITS_H

#include "common/topo.h"

/*
 * Every PU of a set, ascending. Three loops in one: `continue` goes on with the next PU, but a
 * `break` leaves only the innermost; use return.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): @pu is declared here */
#define bits_for_each(pu, s, words)                                                                \
	for (int pu##_word = 0; pu##_word < (words); pu##_word++)                                  \
		for (uint64_t pu##_left = (s)->w[pu##_word]; pu##_left;                            \
			pu##_left &= pu##_left - 1)                                                \
			for (int pu = pu##_word * 64 + __builtin_ctzll(pu##_left), pu##_once = 1;  \
				pu##_once; pu##_once = 0)
/* NOLINTEND(bugprone-macro-parentheses) */

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

/* The same over all words, without a branch for each. */
static inline bool bits_subset_all(const struct coreset *inner, const struct coreset *outer)
{
	uint64_t more = 0;

	for (int i = 0; i < CORESET_WORDS; i++)
		more |= inner->w[i] & ~outer->w[i];
	return !more;
}

static inline bool bits_equal_all(const struct coreset *a, const struct coreset *b)
{
	uint64_t differ = 0;

	for (int i = 0; i < CORESET_WORDS; i++)
		differ |= a->w[i] ^ b->w[i];
	return !differ;
}

static inline bool bits_has(const struct coreset *s, int pu)
{
	return s->w[pu / 64] >> (pu % 64) & 1;
}

static inline void bits_put(struct coreset *s, int pu)
{
	s->w[pu / 64] |= UINT64_C(1) << (pu % 64);
}

/* Takes all out of @s but @from..@to - 1. */
static inline void bits_clip(struct coreset *s, int from, int to)
{
	for (int i = 0; i < CORESET_WORDS; i++) {
		int low = from - i * 64, high = to - i * 64;

		if (high <= 0 || low >= 64)
			s->w[i] = 0;
		if (low > 0 && low < 64)
			s->w[i] &= ~UINT64_C(0) << low;
		if (high > 0 && high < 64)
			s->w[i] &= ~(~UINT64_C(0) << high);
	}
}

static inline void bits_add(struct coreset *s, const struct coreset *more, int words)
{
	for (int i = 0; i < words; i++)
		s->w[i] |= more->w[i];
}

#endif
