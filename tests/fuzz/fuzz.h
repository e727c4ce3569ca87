/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - what the harnesses share: inputs as text, as a file and in parts. A harness calls what
 * reads its kind of input, and abort()s where the contract in the header was broken; the
 * sanitizers see to the rest. The same input does the same each time: nothing is kept between
 * two calls but what costs much to make and is not changed.
 */
#ifndef COLOC_TESTS_FUZZ_H
#define COLOC_TESTS_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold of any input. */
#define FUZZ_ASSERT(x)                                                                             \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #x);     \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* An error has a text that names the thing; nothing else has one. */
#define FUZZ_ASSERT_RESULT(rc, err) FUZZ_ASSERT(((rc) < 0) == ((err).text[0] != '\0'))

/* Are the bytes of @size at @a and @b the same, what is between their fields included? */
static inline bool fuzz_same(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size) == 0;
}

/* A copy with an end and nothing behind it, so that reading past it is seen; free(). */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_ASSERT(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The next part of an input that has several: up to and without "\n===\n"; free(). NULL: no more.
 */
static inline char *fuzz_part(const uint8_t **data, size_t *size)
{
	static const char mark[] = "\n===\n";
	const uint8_t *end;
	char *text;
	size_t n;

	if (!*data)
		return NULL;
	end = memmem(*data, *size, mark, sizeof(mark) - 1);
	n = end ? (size_t)(end - *data) : *size;
	text = fuzz_text(*data, n);
	*size = end ? *size - n - (sizeof(mark) - 1) : 0;
	*data = end ? end + sizeof(mark) - 1 : NULL;
	return text;
}

/* A path where the input lies as a file (in memory) until the next call. */
static inline const char *fuzz_file(const void *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	FUZZ_ASSERT(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

/* A folder for this run in $TMPDIR, which tests/fuzz/run removes. */
static inline const char *fuzz_dir(void)
{
	static char dir[256];
	const char *tmp = getenv("TMPDIR");

	if (!*dir) {
		snprintf(dir, sizeof(dir), "%s/coloc-fuzz-XXXXXX", tmp ? tmp : "/tmp");
		FUZZ_ASSERT(mkdtemp(dir));
	}
	return dir;
}

#endif
