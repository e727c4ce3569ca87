/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coloc_mpi.c - progress of an unmodified MPI program, by MPI's profiling layer: each collective
 * call that closes an iteration in most solvers (Allreduce, Barrier) counts as one unit, and is
 * told as the program's own progress. (libcoloc_mpi.so, which is installed, counts all operations,
 * and tells them as calls.) Preload it:
 *
 *   mpicc -shared -fPIC -o libiterations.so coloc_mpi.c -lcoloc
 *   srun --coloc=on --export=ALL,LD_PRELOAD=$PWD/libiterations.so ./solver
 *
 * Right only where each iteration has the same number of such calls: speeds of one program under
 * different placements can then be compared, those of different programs never. Rank 0 alone
 * reports: all ranks do the same iterations.
 */
#include <mpi.h>

#include "coloc.h"

static struct coloc *coloc;
static int reports;

static void begin(void)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	reports = rank == 0;
	if (!reports)
		return;
	coloc = coloc_attach();
	coloc_unit(coloc, "collect");
}

int MPI_Init(int *argc, char ***argv)
{
	int rc = PMPI_Init(argc, argv);

	if (rc == MPI_SUCCESS)
		begin();
	return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int rc = PMPI_Init_thread(argc, argv, required, provided);

	if (rc == MPI_SUCCESS)
		begin();
	return rc;
}

static void one_more(MPI_Comm comm)
{
	/* Of the whole program: a library's own communicators follow other rhythms. */
	if (reports && comm == MPI_COMM_WORLD)
		coloc_progress(coloc, 1);
}

int MPI_Allreduce(
	const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int rc = PMPI_Allreduce(from, to, count, type, op, comm);

	one_more(comm);
	return rc;
}

int MPI_Barrier(MPI_Comm comm)
{
	int rc = PMPI_Barrier(comm);

	one_more(comm);
	return rc;
}

int MPI_Finalize(void)
{
	coloc_detach(coloc);
	coloc = 0;
	reports = 0;
	return PMPI_Finalize();
}
