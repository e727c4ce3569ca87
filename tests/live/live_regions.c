/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_regions FILE... - an OpenMP program that reads its masks and places when it starts, and has
 * its first parallel region when the first FILE is there; then one for each of the others. Built by
 * affinity.sh with each OpenMP runtime.
 */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int region(void)
{
	int n = 0, m = 0;

#pragma omp parallel reduction(+ : n)
	n++;
#pragma omp parallel proc_bind(spread) reduction(+ : n)
	n++;
#pragma omp parallel proc_bind(close) num_threads(3) reduction(+ : m)
	m++;
	return n && m;
}

int main(int argc, char **argv)
{
	int ran = omp_get_num_procs() > 0 && omp_get_num_places() >= 0;

	for (int i = 1; i < argc; i++) {
		while (access(argv[i], F_OK) != 0)
			usleep(5000);
		ran &= region();
	}
	return ran ? 0 : 1;
}
