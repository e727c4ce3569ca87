/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring - an MPI program of small steps: each rank computes, then all meet and pass a message on. It
 * is built by contrib/bench/waitpolicy with the compiler of each MPI library; not by make.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size;
	char *end = "";
	long work = argc > 1 ? strtol(argv[1], &end, 10) : 1000;
	uint64_t x = UINT64_C(88172645463325252), in = 0, sum = 0;

	if (*end || work < 1) {
		fprintf(stderr, "ring: '%s' is not a number of steps\n", argv[1]);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (long k = 0; k < work; k++) {
		for (int i = 0; i < 100000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		MPI_Sendrecv(&x, 1, MPI_UINT64_T, (rank + 1) % size, 0, &in, 1, MPI_UINT64_T,
			(rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += in;
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("program=ring work=%ld check=%llu\n", work, (unsigned long long)sum);
	MPI_Finalize();
	return 0;
}
