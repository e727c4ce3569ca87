/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp_entry.c - what libcoloc_omp exports: the functions that compilers call to start a region, and
 * the two of OpenMP's own that have to know. libgomp's are plain C; the signatures are those of
 * its ABI (GCC manual "The libgomp ABI", and libgomp's symbol list).
 *
 * LLVM's __kmpc_fork_call takes any number of arguments and cannot be called on from C: a few
 * instructions save the registers, ask us, and jump. They exist for x86-64 only; elsewhere LLVM's
 * programs run as if we were not there.
 */
#include <stdint.h>

#include "nodesvc/runtime/omp.h"

#define EXPORT __attribute__((visibility("default")))

typedef void region_f(void *);

#define CALLER()       omp_find(__builtin_return_address(0))
#define REAL(rt, name) ((__typeof__(&(name)))omp_real(rt, OMP_##name, 1))

/* One definition per entry point: parameters up to the size, those after it, and how to pass them
 * on. num_threads 0 is "open"; a clause, or if(0), gives another. */
#define ENTRY(type, name, after, pass)                                                             \
	EXPORT type name(region_f *fn, void *data, unsigned int n after);                          \
	EXPORT type name(region_f *fn, void *data, unsigned int n after)                           \
	{                                                                                          \
		struct omp_runtime *rt = CALLER();                                                 \
                                                                                                   \
		if (n == 0)                                                                        \
			n = omp_team(rt);                                                          \
		else                                                                               \
			omp_given(rt, n);                                                          \
		return REAL(rt, name)(fn, data, n pass);                                           \
	}

#define COMMA ,
#define LOOP  COMMA long start COMMA long end COMMA long incr
#define LOOP_ COMMA start COMMA end COMMA incr
#define CHUNK COMMA long chunk
#define FLAGS COMMA unsigned int flags

/* clang-format off */
ENTRY(void, GOMP_parallel, FLAGS, COMMA flags)
ENTRY(unsigned int, GOMP_parallel_reductions, FLAGS, COMMA flags)
ENTRY(void, GOMP_parallel_loop_static, LOOP CHUNK FLAGS, LOOP_ COMMA chunk COMMA flags)
ENTRY(void, GOMP_parallel_loop_dynamic, LOOP CHUNK FLAGS, LOOP_ COMMA chunk COMMA flags)
ENTRY(void, GOMP_parallel_loop_guided, LOOP CHUNK FLAGS, LOOP_ COMMA chunk COMMA flags)
ENTRY(void, GOMP_parallel_loop_nonmonotonic_dynamic, LOOP CHUNK FLAGS,
	LOOP_ COMMA chunk COMMA flags)
ENTRY(void, GOMP_parallel_loop_nonmonotonic_guided, LOOP CHUNK FLAGS,
	LOOP_ COMMA chunk COMMA flags)
ENTRY(void, GOMP_parallel_loop_runtime, LOOP FLAGS, LOOP_ COMMA flags)
ENTRY(void, GOMP_parallel_loop_nonmonotonic_runtime, LOOP FLAGS, LOOP_ COMMA flags)
ENTRY(void, GOMP_parallel_loop_maybe_nonmonotonic_runtime, LOOP FLAGS, LOOP_ COMMA flags)
ENTRY(void, GOMP_parallel_sections, COMMA unsigned int count FLAGS, COMMA count COMMA flags)
/* Of gcc before 4.9: the region goes on in the caller until GOMP_parallel_end(). */
ENTRY(void, GOMP_parallel_start, , )
ENTRY(void, GOMP_parallel_loop_static_start, LOOP CHUNK, LOOP_ COMMA chunk)
ENTRY(void, GOMP_parallel_loop_dynamic_start, LOOP CHUNK, LOOP_ COMMA chunk)
ENTRY(void, GOMP_parallel_loop_guided_start, LOOP CHUNK, LOOP_ COMMA chunk)
ENTRY(void, GOMP_parallel_loop_runtime_start, LOOP, LOOP_)
ENTRY(void, GOMP_parallel_sections_start, COMMA unsigned int count, COMMA count)
/* clang-format on */

/* ---- the program asks, or chooses ---------------------------------------------------------- */

EXPORT int omp_get_max_threads(void);
EXPORT int omp_get_max_threads(void)
{
	return omp_tell_max(CALLER());
}

/* Fortran */
EXPORT int32_t omp_get_max_threads_(void);
EXPORT int32_t omp_get_max_threads_(void)
{
	return omp_tell_max(CALLER());
}

EXPORT void omp_set_num_threads(int n);
EXPORT void omp_set_num_threads(int n)
{
	struct omp_runtime *rt = CALLER();

	omp_hands_off();
	REAL(rt, omp_set_num_threads)(n);
}

EXPORT void omp_set_num_threads_(const int32_t *n);
EXPORT void omp_set_num_threads_(const int32_t *n)
{
	struct omp_runtime *rt = CALLER();

	omp_hands_off();
	REAL(rt, omp_set_num_threads_)(n);
}

EXPORT void omp_set_num_threads_8_(const int64_t *n);
EXPORT void omp_set_num_threads_8_(const int64_t *n)
{
	struct omp_runtime *rt = CALLER();

	omp_hands_off();
	REAL(rt, omp_set_num_threads_8_)(n);
}

/* ---- LLVM ---------------------------------------------------------------------------------- */

#ifdef __x86_64__

/* NOLINTBEGIN(bugprone-reserved-identifier): the names are LLVM's */

/* Threads of the region that this thread starts next; 0 it has no clause. */
static __thread int clause __attribute__((tls_model("initial-exec")));

EXPORT void __kmpc_push_num_threads(void *loc, int32_t gtid, int32_t n);
EXPORT void __kmpc_push_num_threads(void *loc, int32_t gtid, int32_t n)
{
	struct omp_runtime *rt = CALLER();

	clause = n > 0 ? n : 1;
	REAL(rt, __kmpc_push_num_threads)(loc, gtid, n);
}

static void prepare(struct omp_runtime *rt, void *loc)
{
	int32_t (*number)(void *) =
		(int32_t(*)(void *))omp_real(rt, OMP___kmpc_global_thread_num, 0);
	unsigned int n = clause ? 0 : omp_team(rt);

	if (clause)
		omp_given(rt, (unsigned int)clause);
	clause = 0;
	if (n && number)
		REAL(rt, __kmpc_push_num_threads)(loc, number(loc), (int32_t)n);
}

/* Called by the instructions below; returns where they are to jump. */
__attribute__((used, visibility("hidden"))) void *coloc_omp_fork(void *loc, const void *caller);
void *coloc_omp_fork(void *loc, const void *caller)
{
	struct omp_runtime *rt = omp_find(caller);

	prepare(rt, loc);
	return omp_real(rt, OMP___kmpc_fork_call, 1);
}

/* void __kmpc_fork_call(ident_t *loc, int32_t argc, kmpc_micro microtask, ...); all arguments are
 * pointers or integers: the vector registers carry none. */
__asm__(".text\n"
	".globl __kmpc_fork_call\n"
	".type __kmpc_fork_call, @function\n"
	"__kmpc_fork_call:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rax\n	pushq %rdi\n	pushq %rsi\n	pushq %rdx\n"
	"	pushq %rcx\n	pushq %r8\n	pushq %r9\n"
	"	.cfi_adjust_cfa_offset 56\n"
	"	movq 56(%rsp), %rsi\n"
	"	call coloc_omp_fork\n"
	"	movq %rax, %r11\n"
	"	popq %r9\n	popq %r8\n	popq %rcx\n	popq %rdx\n"
	"	popq %rsi\n	popq %rdi\n	popq %rax\n"
	"	.cfi_adjust_cfa_offset -56\n"
	"	jmp *%r11\n"
	"	.cfi_endproc\n"
	".size __kmpc_fork_call, .-__kmpc_fork_call\n");

/* LLVM 16 and later, for regions with an if clause. */
EXPORT void __kmpc_fork_call_if(void *loc, int32_t argc, void *microtask, int32_t cond, void *args);
EXPORT void __kmpc_fork_call_if(void *loc, int32_t argc, void *microtask, int32_t cond, void *args)
{
	struct omp_runtime *rt = CALLER();

	if (cond)
		prepare(rt, loc);
	clause = 0;
	REAL(rt, __kmpc_fork_call_if)(loc, argc, microtask, cond, args);
}

/* NOLINTEND(bugprone-reserved-identifier) */

#endif
