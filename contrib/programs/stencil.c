/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stencil - five-point Jacobi relaxation on a square grid, one OpenMP parallel region per sweep.
 *
 * A fine-grained OpenMP program as most are written: it takes the thread count and the wait policy
 * that the runtime chooses, and its threads meet at the end of every sweep. On a shared node it
 * is the wait at that meeting, not the arithmetic, that costs.
 */
#include <signal.h>

#include "program.h"

static void sweep(const double *restrict from, double *restrict to, int64_t n)
{
#pragma omp parallel for schedule(static)
	for (int64_t i = 1; i < n - 1; i++)
		for (int64_t j = 1; j < n - 1; j++) {
			const double *p = from + i * n + j;

			to[i * n + j] = 0.25 * (p[-n] + p[-1] + p[1] + p[n]);
		}
}

int main(int argc, char **argv)
{
	int64_t n = 600, work = 1700, stop = 0;
	const struct program_option opt[] = {
		{"size", "points on one side of the grid", 3, 1 << 15, &n},
		{"work", "sweeps", 1, INT64_MAX, &work},
		{"stop", "stop (SIGSTOP) before this sweep, until continued; 0 never", 0, INT64_MAX,
			&stop},
	};
	int64_t start;
	double *a, *b, sum = 0.0;

	program_options(
		argc, argv, "stencil", "Relaxes a grid, one parallel region per sweep.", opt, 3);
	start = program_now_ns();
	a = calloc((size_t)(n * n), sizeof(*a));
	b = calloc((size_t)(n * n), sizeof(*b));
	if (!a || !b) {
		free(a);
		free(b);
		return program_fail("stencil", "grid");
	}
	for (int64_t i = 0; i < n; i++)
		a[i] = b[i] = 1.0; /* one warm edge */
	program_unit("sweeps");
	for (int64_t k = 0; k < work; k++) {
		double *t = a;

		if (stop && k + 1 == stop)
			raise(SIGSTOP);
		sweep(a, b, n);
		program_progress(1);
		a = b;
		b = t;
	}
	for (int64_t i = 0; i < n * n; i++)
		sum += a[i];
	free(a);
	free(b);
	return program_report("stencil", start, work, "sweeps", sum);
}
