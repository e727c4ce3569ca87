/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pollers.c - for polling.sh: MPI ranks that meet every millisecond of work, for ever, and count
 * their iterations: rank 0 writes the number into the file named by its argument. */
#include <mpi.h>
#include <stdio.h>

/* Whole or not at all: it is read meanwhile. */
static void tell(const char *path, long n)
{
	char tmp[512];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	f = fopen(tmp, "w");
	if (!f)
		return;
	fprintf(f, "%ld\n", n);
	fclose(f);
	if (rename(tmp, path) < 0)
		perror(path);
}

int main(int argc, char **argv)
{
	volatile double x = 0;
	int rank, one = 1, sum;
	long n = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (;;) {
		double start = MPI_Wtime();

		for (int i = 0; i < 100000; i++)
			x = x * 0.5 + i;
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		n++;
		if (rank == 0 && argc > 1 && (n % 100 == 0 || MPI_Wtime() - start > 0.02))
			tell(argv[1], n);
	}
}
