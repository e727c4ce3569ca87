/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/runtimes.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *begins; /* then no letter, or any (below) */
	uint32_t runtime;
	bool any;
} FILES[] = {
	{"libgomp", RUNTIME_LIBGOMP, false},
	{"libomp", RUNTIME_LIBOMP, false}, /* and libomp5 */
	{"libiomp5", RUNTIME_LIBOMP, false},
	/* Open MPI from 2.0 on; before, its number was MPICH's. */
	{"libmpi.so.20", RUNTIME_OPENMPI, false},
	{"libmpi.so.40", RUNTIME_OPENMPI, false},
	{"libopen-rte", RUNTIME_OPENMPI, false},
	{"libopen-pal", RUNTIME_OPENMPI, false},
	{"libmpich", RUNTIME_MPICH, false},
	{"libmpi.so.12", RUNTIME_MPICH, false},
	/* "libopenblasp-r0.3.21.so", "libscipy_openblas64_-ff651d7f.so" */
	{"libopenblas", RUNTIME_OPENBLAS, true},
	{"libscipy_openblas", RUNTIME_OPENBLAS, true},
	{"libmkl_", RUNTIME_MKL, true},
	{"libblis", RUNTIME_BLIS, false},
};

uint32_t runtime_of(const char *file)
{
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
		size_t n = strlen(FILES[i].begins);

		if (strncmp(file, FILES[i].begins, n) == 0 &&
			(FILES[i].any || !isalpha((unsigned char)file[n])) &&
			strstr(file + 3, ".so"))
			return FILES[i].runtime;
	}
	return 0;
}

const char *runtimes_text(uint32_t runtimes, char *buf, size_t size)
{
	static const char *const name[] = {
		"libgomp", "libomp", "Open MPI", "MPICH", "OpenBLAS", "MKL", "BLIS"};

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		size_t len = strlen(buf);

		if (runtimes & (UINT32_C(1) << i))
			snprintf(buf + len, size - len, "%s%s", len ? ", " : "", name[i]);
	}
	return buf;
}
