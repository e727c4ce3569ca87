/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtimes.h - the parallel runtimes that a program's libraries tell of, by the names of their
 * files: what it links, or maps while it runs.
 */
#ifndef COLOC_COMMON_RUNTIMES_H
#define COLOC_COMMON_RUNTIMES_H

#include <stddef.h>
#include <stdint.h>

enum {
	RUNTIME_LIBGOMP = 1 << 0, /* GNU */
	RUNTIME_LIBOMP = 1 << 1,  /* LLVM's libomp, Intel's libiomp5 */
	RUNTIME_OPENMPI = 1 << 2,
	RUNTIME_MPICH = 1 << 3, /* and what has its binary interface: Intel MPI, MVAPICH */
	/* Linear algebra with threads of its own, or of one of the above. */
	RUNTIME_OPENBLAS = 1 << 4,
	RUNTIME_MKL = 1 << 5,
	RUNTIME_BLIS = 1 << 6,
	RUNTIMES_ALL = (1 << 7) - 1,
};
#define RUNTIMES_BLAS (RUNTIME_OPENBLAS | RUNTIME_MKL | RUNTIME_BLIS)

/* Of a library's file, or the name it is linked by: "libgomp.so.1", "libgomp-a34b3233.so.1.0.0" of
 * a Python wheel. 0: another one. */
uint32_t runtime_of(const char *file);

/* "libgomp, Open MPI"; "" for 0. */
const char *runtimes_text(uint32_t runtimes, char *buf, size_t size);

#endif
