/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coreset.h - a set of OS PU numbers (hardware threads, as in cpuset.cpus and cpu_set_t), its
 * text form (kernel cpulist, "0-3,8"), and set algebra.
 *
 * Plain values, no allocation, thread-safe. 1024 PUs: the size of glibc's cpu_set_t, and above
 * every machine of tests/topo.
 */
#ifndef COLOC_COMMON_CORESET_H
#define COLOC_COMMON_CORESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define CORESET_MAX   1024
#define CORESET_WORDS (CORESET_MAX / 64)
/* Longest text: every other PU, "1022," each. */
#define CORESET_STR_MAX 2600

struct coreset {
	uint64_t w[CORESET_WORDS];
};

void coreset_zero(struct coreset *s);
void coreset_add(struct coreset *s, unsigned int pu_os); /* >= CORESET_MAX: ignored */
void coreset_add_range(struct coreset *s, unsigned int first, unsigned int last);
void coreset_del(struct coreset *s, unsigned int pu_os);
bool coreset_has(const struct coreset *s, unsigned int pu_os);
int coreset_count(const struct coreset *s);
bool coreset_is_empty(const struct coreset *s);
bool coreset_is_equal(const struct coreset *a, const struct coreset *b);
bool coreset_is_subset(const struct coreset *inner, const struct coreset *outer);
bool coreset_intersects(const struct coreset *a, const struct coreset *b);
void coreset_and(struct coreset *ret, const struct coreset *a, const struct coreset *b);
void coreset_or(struct coreset *ret, const struct coreset *a, const struct coreset *b);
void coreset_andnot(struct coreset *ret, const struct coreset *a, const struct coreset *b);

/* Next PU >= @from, or -1. */
int coreset_next(const struct coreset *s, int from);
/* NOLINTBEGIN(bugprone-macro-parentheses): @pu is declared here */
#define coreset_for_each(pu, s)                                                                    \
	for (int pu = coreset_next((s), 0); pu >= 0; pu = coreset_next((s), pu + 1))
/* NOLINTEND(bugprone-macro-parentheses) */

/*
 * coreset_parse - reads a cpulist; surrounding white space and a trailing newline are taken, an
 * empty text is the empty set. Errors: -EINVAL text is no cpulist, -ERANGE a PU >= CORESET_MAX;
 * @ret untouched.
 */
int coreset_parse(struct coreset *ret, const char *text, struct errbuf *err);

/* Writes the shortest cpulist; returns @buf. Cut (never overrun) when @size is too small. */
char *coreset_format(const struct coreset *s, char *buf, size_t size);

#endif
