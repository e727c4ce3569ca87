/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An MPI library for libcoloc_mpi's test: handles are ints, as MPICH's, each function looks at what
 * it is given, and Fortran's call C's. Built with -DPROBE it is the program that calls them:
 *
 *   mpi_probe N        N sends, N exchanges, N tests, N sends from Fortran
 *   mpi_probe N FILE   the same by the library FILE, which only it knows (as Python's module)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int MPI_Send(const void *buf, int count, int type, int to, int tag, int comm);
int MPI_Sendrecv(const void *out, int n, int type, int to, int tag, void *in, int m, int type2,
	int from, int tag2, int comm, void *status);
int MPI_Put(const void *buf, int n, int type, int rank, intptr_t at, int m, int type2, int win);
int MPI_Test(int *request, int *flag, void *status);
int MPI_Finalize(void);
void mpi_send_(const void *buf, const int *count, const int *type, const int *to, const int *tag,
	const int *comm, int *error);
void mpi_finalize_(int *error);

#define FAR INT64_C(0x123456789abc)

#ifndef PROBE

static char here;

static void want(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "mpi_fake: %s was given something else\n", what);
	exit(3);
}

int MPI_Send(const void *buf, int count, int type, int to, int tag, int comm)
{
	want(buf && count == 7 && type == -3 && to == 2 && tag == -1 && comm == 0x44000000,
		"MPI_Send");
	return 11;
}

int MPI_Sendrecv(const void *out, int n, int type, int to, int tag, void *in, int m, int type2,
	int from, int tag2, int comm, void *status)
{
	want(out && n == 1 && type == 2 && to == -3 && tag == 4 && in == &here && m == 6 &&
			type2 == -7 && from == 8 && tag2 == -9 && comm == 0x44000001 &&
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): a number that is passed on */
			status == (void *)(intptr_t)FAR,
		"MPI_Sendrecv");
	return -12;
}

int MPI_Put(const void *buf, int n, int type, int rank, intptr_t at, int m, int type2, int win)
{
	want(buf && n == 1 && type == 2 && rank == 3 && at == -FAR && m == 5 && type2 == 6 &&
			win == -7,
		"MPI_Put");
	return 0;
}

int MPI_Test(int *request, int *flag, void *status)
{
	want(request && flag && !status, "MPI_Test");
	return 0;
}

int MPI_Finalize(void)
{
	return 13;
}

/* Of MPICH's bindings some call what is exported. */
void mpi_send_(const void *buf, const int *count, const int *type, const int *to, const int *tag,
	const int *comm, int *error)
{
	*error = MPI_Send(buf, *count, *type, *to, *tag, *comm);
}

void mpi_finalize_(int *error)
{
	*error = MPI_Finalize();
}

void *mpi_fake_here(void);
void *mpi_fake_here(void)
{
	return &here;
}

#else

#include <dlfcn.h>

/* As a module's own references: found by the loader in what is loaded for the program first. */
#define GET(name) __typeof__(&(name)) p_##name = (__typeof__(&(name)))get(handle, #name)

static void *get(void *handle, const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	if (!f)
		f = dlsym(handle, name);
	if (!f) {
		fprintf(stderr, "mpi_probe: no %s\n", name);
		exit(4);
	}
	return f;
}

static int failed;

static void same(int got, int wanted, const char *what)
{
	if (got == wanted)
		return;
	fprintf(stderr, "mpi_probe: %s gave %d, not %d\n", what, got, wanted);
	failed = 1;
}

int main(int argc, char **argv)
{
	void *handle = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
	const int count = 7, type = -3, to = 2, tag = -1, comm = 0x44000000;
	int n = argc > 1 ? atoi(argv[1]) : 1, request = 0, flag = 0, error;
	GET(MPI_Send);
	GET(MPI_Sendrecv);
	GET(MPI_Put);
	GET(MPI_Test);
	GET(MPI_Finalize);
	GET(mpi_send_);
	void *here = ((void *(*)(void))get(handle, "mpi_fake_here"))();

	for (int i = 0; i < n; i++) {
		same(p_MPI_Send("x", count, type, to, tag, comm), 11, "MPI_Send");
		same(p_MPI_Sendrecv("x", 1, 2, -3, 4, here, 6, -7, 8, -9, 0x44000001,
			     (void *)(intptr_t)FAR),
			-12, "MPI_Sendrecv");
		same(p_MPI_Put("x", 1, 2, 3, -FAR, 5, 6, -7), 0, "MPI_Put");
		same(p_MPI_Test(&request, &flag, NULL), 0, "MPI_Test");
		p_mpi_send_("x", &count, &type, &to, &tag, &comm, &error);
		same(error, 11, "mpi_send_");
	}
	same(p_MPI_Finalize(), 13, "MPI_Finalize");
	return failed;
}

#endif
