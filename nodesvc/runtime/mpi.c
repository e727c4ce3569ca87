/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mpi.c - libcoloc_mpi: stands before the MPI library (LD_PRELOAD, or linked before it) and counts
 * the operations that its process calls, for nothing: a call more and an addition. Some times a
 * second colocd is told how many there were. Nothing else is done: all arguments and results go
 * through as they are.
 *
 * It needs no mpi.h and is linked to no MPI library, so that one serves for all: of every
 * implementation the arguments of these functions are integers and pointers, which the calling
 * conventions of Linux pass in a register or a place of the stack of a pointer's size each. Theirs
 * is found as the dynamic linker would have done: in what is loaded after us, or else, where
 * the program is an interpreter's module that has loaded its own or is linked to it statically, in
 * whatever has it.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/runtime/client.h"
#include "nodesvc/runtime/coloc.h"
#include "nodesvc/runtime/page.h"

#define EXPORT __attribute__((visibility("default")))

_Static_assert(sizeof(long) == sizeof(void *), "an argument of any kind is a long");

/* A thread tells about so often, while it calls operations. */
#define TELL_NS INT64_C(100000000)

/* ---- counting ---- */

static struct coloc *coloc;
static int attached; /* 0 not yet, 1 somebody does, 2 done */

/* Of this thread: within an operation, as Fortran's may call C's; operations that were not told of;
 * when it told last. */
static __thread int depth __attribute__((tls_model("initial-exec")));
static __thread unsigned int untold __attribute__((tls_model("initial-exec")));
static __thread int64_t told_ns __attribute__((tls_model("initial-exec")));

/* Where nobody answers the first time, or another thread asks just now, it is told later. */
static struct coloc *service(void)
{
	int none = 0;

	if (__atomic_load_n(&attached, __ATOMIC_ACQUIRE) == 2)
		return coloc;
	if (__atomic_compare_exchange_n(
		    &attached, &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		coloc = coloc_attach();
		__atomic_store_n(&attached, 2, __ATOMIC_RELEASE);
	}
	return none ? NULL : coloc;
}

static void tell(int64_t now_ns)
{
	struct coloc *c = service();

	told_ns = now_ns;
	if (!c || !untold)
		return;
	client_counted(c, COLOC_OPERATIONS, untold);
	untold = 0;
}

/* To some milliseconds, for a fifth of the price. */
static int64_t about_now_ns(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void enter(void)
{
	int64_t now_ns;

	if (depth++ > 0)
		return;
	untold++;
	now_ns = about_now_ns();
	if (now_ns - told_ns >= TELL_NS)
		tell(now_ns);
}

/* ---- theirs ---- */

typedef void any_f(void);

struct loaded {
	char **path;
	size_t n;
};

/* Nothing is opened here: another thread that opens has the loader's lock, and waits for that of
 * its list. */
static int note_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct loaded *l = arg;
	char **more = realloc(l->path, (l->n + 1) * sizeof(*more));

	(void)size;
	if (!more)
		return 0;
	l->path = more;
	l->path[l->n] = strdup(info->dlpi_name ? info->dlpi_name : "");
	l->n += l->path[l->n] != NULL;
	return 0;
}

/* "libmpi.so.40", "libmpich.so.12", "libmpi_mpifh.so.40", "libmpifort.so.12" */
static bool is_mpi(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && strncmp(name, "/libmpi", 7) == 0;
}

static bool is_ours(void *f)
{
	Dl_info self, its;

	return dladdr(&attached, &self) && dladdr(f, &its) && its.dli_fbase == self.dli_fbase;
}

/* In what has @name at @path; it stays loaded then. */
static void *look_into(const char *path, const char *name)
{
	void *handle = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found = handle ? dlsym(handle, name) : NULL;

	if (found && !is_ours(found))
		return found;
	if (handle)
		dlclose(handle);
	return NULL;
}

/* Whatever has been loaded for a module alone; MPI's libraries first, as a module may have linked
 * one into itself. */
static void *look_everywhere(const char *name)
{
	struct loaded l = {NULL, 0};
	void *found = NULL;

	dl_iterate_phdr(note_path, &l);
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < l.n && !found; i++)
			if (is_mpi(l.path[i]) != others)
				found = look_into(l.path[i], name);
	while (l.n > 0)
		free(l.path[--l.n]);
	free(l.path);
	return found;
}

static any_f *theirs(any_f **known, const char *name)
{
	any_f *f = __atomic_load_n(known, __ATOMIC_RELAXED);
	void *found;

	if (f)
		return f;
	found = dlsym(RTLD_NEXT, name);
	if (!found)
		found = look_everywhere(name);
	if (!found) {
		fprintf(stderr, "libcoloc_mpi: no MPI library has %s\n", name);
		abort();
	}
	memcpy(&f, &found, sizeof(f));
	__atomic_store_n(known, f, __ATOMIC_RELAXED);
	return f;
}

/* ---- what it exports ---- */

#define P1  long a1
#define P2  P1, long a2
#define P3  P2, long a3
#define P4  P3, long a4
#define P5  P4, long a5
#define P6  P5, long a6
#define P7  P6, long a7
#define P8  P7, long a8
#define P9  P8, long a9
#define P10 P9, long a10
#define P11 P10, long a11
#define P12 P11, long a12
#define P13 P12, long a13
#define A1  a1
#define A2  A1, a2
#define A3  A2, a3
#define A4  A3, a4
#define A5  A4, a5
#define A6  A5, a6
#define A7  A6, a7
#define A8  A7, a8
#define A9  A8, a9
#define A10 A9, a10
#define A11 A10, a11
#define A12 A11, a12
#define A13 A12, a13

/* NOLINTBEGIN(bugprone-macro-parentheses): lists */
#define ENTRY(name, params, args)                                                                  \
	EXPORT long name(params);                                                                  \
	EXPORT long name(params)                                                                   \
	{                                                                                          \
		static any_f *known;                                                               \
		long (*f)(params) = (long (*)(params))theirs(&known, #name);                       \
		long ret;                                                                          \
                                                                                                   \
		enter();                                                                           \
		ret = f(args);                                                                     \
		depth--;                                                                           \
		return ret;                                                                        \
	}

/* One more, in Fortran: the error. */
#define P_NEXT_1  P2
#define P_NEXT_2  P3
#define P_NEXT_5  P6
#define P_NEXT_6  P7
#define P_NEXT_7  P8
#define P_NEXT_8  P9
#define P_NEXT_9  P10
#define P_NEXT_10 P11
#define P_NEXT_12 P13
#define A_NEXT_1  A2
#define A_NEXT_2  A3
#define A_NEXT_5  A6
#define A_NEXT_6  A7
#define A_NEXT_7  A8
#define A_NEXT_8  A9
#define A_NEXT_9  A10
#define A_NEXT_10 A11
#define A_NEXT_12 A13

#define C(...) __VA_ARGS__
#define MPI_CALL(name, fortran, n)                                                                 \
	ENTRY(MPI_##name, C(P##n), C(A##n))                                                        \
	ENTRY(mpi_##fortran##_, C(P_NEXT_##n), C(A_NEXT_##n))
#include "nodesvc/runtime/mpi_calls.h"
#undef MPI_CALL

/* No operations, but the last ones are told of. */
#define END(name, params, args)                                                                    \
	EXPORT long name(params);                                                                  \
	EXPORT long name(params)                                                                   \
	{                                                                                          \
		static any_f *known;                                                               \
		long (*f)(params) = (long (*)(params))theirs(&known, #name);                       \
		long ret;                                                                          \
                                                                                                   \
		tell(about_now_ns());                                                              \
		depth++;                                                                           \
		ret = f(args);                                                                     \
		depth--;                                                                           \
		return ret;                                                                        \
	}

END(MPI_Finalize, void, )
END(mpi_finalize_, C(P1), C(A1))
/* NOLINTEND(bugprone-macro-parentheses) */
