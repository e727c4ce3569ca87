/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/callnames.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define GNU(name, class, first)                                                                    \
	{                                                                                          \
		"GOMP_" name, CALL_OF_LIBGOMP, CALL_##class, first                                 \
	}
#define LLVM(name, class, first)                                                                   \
	{                                                                                          \
		"__kmpc_" name, CALL_OF_LIBOMP, CALL_##class, first                                \
	}
#define MPI(name, class, first)                                                                    \
	{                                                                                          \
		"MPI_" name, CALL_OF_MPI, CALL_##class, first                                      \
	}

/* One function for each way to deal out the iterations. */
#define GNU_LOOP(how) GNU("parallel_loop_" how, REGION, true)
#define LLVM_INDEX(before, class)                                                                  \
	LLVM(before "4", class, false), LLVM(before "4u", class, false),                           \
		LLVM(before "8", class, false), LLVM(before "8u", class, false)

static const struct callname table[] = {
	GNU("parallel", REGION, true),
	GNU_LOOP("static"),
	GNU_LOOP("dynamic"),
	GNU_LOOP("guided"),
	GNU_LOOP("runtime"),
	GNU_LOOP("nonmonotonic_dynamic"),
	GNU_LOOP("nonmonotonic_guided"),
	GNU_LOOP("nonmonotonic_runtime"),
	GNU_LOOP("maybe_nonmonotonic_runtime"),
	GNU("parallel_sections", REGION, true),
	GNU("parallel_reductions", REGION, true),
	GNU("parallel_start", REGION, true), /* GCC before 4.9 */
	GNU("target_ext", REGION, true),
	GNU("barrier", BARRIER, true),
	GNU("barrier_cancel", BARRIER, false),
	GNU("loop_end", WORKSHARE, false),
	GNU("loop_end_nowait", WORKSHARE, false),
	GNU("sections_start", WORKSHARE, false),
	GNU("sections2_start", WORKSHARE, false),
	GNU("single_start", WORKSHARE, false),
	GNU("single_copy_start", WORKSHARE, false),
	GNU("taskwait", TASK, false),
	GNU("taskgroup_start", TASK, false),
	GNU("taskloop", TASK, false),
	GNU("taskloop_ull", TASK, false),
	GNU("task", TASK, false),

	LLVM("fork_call", REGION, true),
	LLVM("fork_call_if", REGION, true),
	LLVM("fork_teams", REGION, true),
	LLVM("serialized_parallel", REGION, false),
	LLVM("barrier", BARRIER, true),
	LLVM("cancel_barrier", BARRIER, false),
	LLVM_INDEX("for_static_init_", WORKSHARE),
	LLVM_INDEX("dispatch_init_", WORKSHARE),
	LLVM("reduce", WORKSHARE, false),
	LLVM("reduce_nowait", WORKSHARE, false),
	LLVM("single", WORKSHARE, false),
	LLVM("omp_taskwait", TASK, false),
	LLVM("taskgroup", TASK, false),
	LLVM("taskloop", TASK, false),
	LLVM("taskloop_5", TASK, false),
	LLVM("omp_task", TASK, false),
	LLVM("omp_task_with_deps", TASK, false),

	MPI("Allreduce", COLLECTIVE, true),
	MPI("Alltoall", COLLECTIVE, true),
	MPI("Alltoallv", COLLECTIVE, true),
	MPI("Alltoallw", COLLECTIVE, true),
	MPI("Allgather", COLLECTIVE, true),
	MPI("Allgatherv", COLLECTIVE, true),
	MPI("Reduce", COLLECTIVE, true),
	MPI("Bcast", COLLECTIVE, true),
	MPI("Reduce_scatter", COLLECTIVE, true),
	MPI("Reduce_scatter_block", COLLECTIVE, true),
	MPI("Gather", COLLECTIVE, true),
	MPI("Gatherv", COLLECTIVE, true),
	MPI("Scatter", COLLECTIVE, true),
	MPI("Scatterv", COLLECTIVE, true),
	MPI("Scan", COLLECTIVE, true),
	MPI("Exscan", COLLECTIVE, true),
	MPI("Neighbor_alltoall", COLLECTIVE, true),
	MPI("Neighbor_alltoallv", COLLECTIVE, true),
	MPI("Neighbor_alltoallw", COLLECTIVE, true),
	MPI("Neighbor_allgather", COLLECTIVE, true),
	MPI("Neighbor_allgatherv", COLLECTIVE, true),
	MPI("Iallreduce", COLLECTIVE, true),
	MPI("Ialltoall", COLLECTIVE, true),
	MPI("Ialltoallv", COLLECTIVE, true),
	MPI("Ialltoallw", COLLECTIVE, false),
	MPI("Iallgather", COLLECTIVE, false),
	MPI("Iallgatherv", COLLECTIVE, false),
	MPI("Ireduce", COLLECTIVE, false),
	MPI("Ibcast", COLLECTIVE, false),
	MPI("Ireduce_scatter", COLLECTIVE, false),
	MPI("Ireduce_scatter_block", COLLECTIVE, false),
	MPI("Igather", COLLECTIVE, false),
	MPI("Igatherv", COLLECTIVE, false),
	MPI("Iscatter", COLLECTIVE, false),
	MPI("Iscatterv", COLLECTIVE, false),
	MPI("Iscan", COLLECTIVE, false),
	MPI("Iexscan", COLLECTIVE, false),
	MPI("Ineighbor_alltoall", COLLECTIVE, false),
	MPI("Ineighbor_alltoallv", COLLECTIVE, false),
	MPI("Ineighbor_alltoallw", COLLECTIVE, false),
	MPI("Ineighbor_allgather", COLLECTIVE, false),
	MPI("Ineighbor_allgatherv", COLLECTIVE, false),
	MPI("Barrier", BARRIER, true),
	MPI("Ibarrier", BARRIER, false),
	MPI("Sendrecv", SEND, true),
	MPI("Sendrecv_replace", SEND, false),
	MPI("Send", SEND, true),
	MPI("Isend", SEND, true),
	MPI("Ssend", SEND, false),
	MPI("Issend", SEND, false),
	MPI("Rsend", SEND, false),
	MPI("Irsend", SEND, false),
	MPI("Bsend", SEND, false),
	MPI("Ibsend", SEND, false),
	MPI("Start", SEND, false),
	MPI("Startall", SEND, true),
	MPI("Recv", RECEIVE, true),
	MPI("Irecv", RECEIVE, true),
	MPI("Mrecv", RECEIVE, false),
	MPI("Imrecv", RECEIVE, false),
	MPI("Win_fence", ONESIDED, true),
	MPI("Put", ONESIDED, false),
	MPI("Get", ONESIDED, false),
	MPI("Accumulate", ONESIDED, false),
	MPI("Get_accumulate", ONESIDED, false),
	MPI("Fetch_and_op", ONESIDED, false),
	MPI("Compare_and_swap", ONESIDED, false),
	MPI("Win_unlock", ONESIDED, false),
	MPI("Win_unlock_all", ONESIDED, false),
	MPI("Win_flush", ONESIDED, false),
	MPI("Win_flush_all", ONESIDED, false),
	MPI("Waitall", WAIT, true),
	MPI("Wait", WAIT, true),
	MPI("Waitany", WAIT, false),
	MPI("Waitsome", WAIT, false),
};

#define N_TABLE ((int)(sizeof(table) / sizeof(table[0])))
_Static_assert(N_TABLE + CALLNAMES_OWN_MAX <= CALLNAMES_MAX, "as the header says");

const char *call_class_text(enum call_class c)
{
	static const char *const text[] = {"calls that the site names", "parallel regions",
		"collectives", "barriers", "shares of work", "sends", "receives",
		"one-sided operations", "waits", "tasks"};

	return text[c];
}

int callnames_n(void)
{
	return N_TABLE;
}

struct callname callnames_get(int call, const struct callnames_own *own)
{
	if (call >= 0 && call < N_TABLE)
		return table[call];
	if (own && call >= N_TABLE && call - N_TABLE < own->n)
		return (struct callname){own->name[call - N_TABLE], CALL_OF_SITE, CALL_OWN, true};
	return (struct callname){"", CALL_OF_SITE, CALL_OWN, false};
}

/* Fortran's names: all in lower case with up to two underscores, "_f08" or "_f08ts" before the
 * last, or all in upper case. */
static bool is_fortran_of(const char *symbol, size_t len, const char *name)
{
	static const char *const module[] = {"_f08", "_f08ts"};
	size_t n = strlen(name);

	if (len < n || strncasecmp(symbol, name, n) != 0)
		return false;
	if (len == n)
		return islower((unsigned char)symbol[0]) || isupper((unsigned char)symbol[n - 1]);
	if (!islower((unsigned char)symbol[0]))
		return false;
	symbol += n;
	for (int i = 0; i < 2; i++) {
		size_t m = strlen(module[i]);

		if (strncmp(symbol, module[i], m) == 0 && symbol[m] == '_' && !symbol[m + 1])
			return true;
	}
	return strcmp(symbol, "_") == 0 || strcmp(symbol, "__") == 0;
}

int callnames_find(const char *symbol, const struct callnames_own *own)
{
	bool mpi = strncasecmp(symbol, "MPI_", 4) == 0;
	size_t len;

	for (int i = 0; own && i < own->n; i++)
		if (strcmp(symbol, own->name[i]) == 0)
			return N_TABLE + i;
	/* Before it is compared with each: files have ten thousands of symbols. */
	if (!mpi && strncmp(symbol, "GOMP_", 5) != 0 && strncmp(symbol, "__kmpc_", 7) != 0)
		return -1;
	len = strlen(symbol);
	for (int i = 0; i < N_TABLE; i++)
		if (strcmp(symbol, table[i].name) == 0 ||
			(mpi && is_fortran_of(symbol, len, table[i].name)))
			return i;
	return -1;
}
