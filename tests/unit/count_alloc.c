/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/count_alloc.h"

#include <stdbool.h>
#include <stddef.h>

static long calls, refuse_at;

/* Counts a call; true: this is the one that is to find no memory. */
static bool refused(void)
{
	return ++calls == refuse_at;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the names are those of the linker's --wrap */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
void __real_qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));

long count_alloc(void)
{
	return calls;
}

void count_alloc_refuse(long nth)
{
	refuse_at = nth > 0 ? calls + nth : 0;
}

void *__wrap_malloc(size_t size)
{
	return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return refused() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
	return refused() ? NULL : __real_strdup(s);
}

void __wrap_qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	calls++;
	__real_qsort(base, n, size, compare);
}
/* NOLINTEND(bugprone-reserved-identifier) */
