/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp_processes.c - how many processes share the step's cores on this node: a grant is the step's,
 * a team is one process's.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "nodesvc/runtime/omp.h"

#define PROCESSES_MAX 100000

/* A whole number at @*text, which is moved behind it. False: none, or out of range. */
static bool number(const char **text, long *ret)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*ret = strtol(*text, &end, 10);
	*text = end;
	return *ret >= 0 && *ret <= PROCESSES_MAX;
}

/* srun's list, node by node: "2(x3),1". 0: not known. */
static long of_node(const char *list, const char *node_text)
{
	long node, n, times;

	if (!list || !node_text || !number(&node_text, &node) || *node_text)
		return 0;
	while (number(&list, &n)) {
		times = 1;
		if (list[0] == '(' && list[1] == 'x') {
			list += 2;
			if (!number(&list, &times) || *list++ != ')')
				return 0;
		}
		if (node < times)
			return n;
		node -= times;
		if (*list++ != ',')
			return 0;
	}
	return 0;
}

int omp_processes_here(void)
{
	static const char *const of_mpirun[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
	long most = of_node(getenv("SLURM_STEP_TASKS_PER_NODE"), getenv("SLURM_NODEID"));

	for (int i = 0; i < 2; i++) {
		const char *text = getenv(of_mpirun[i]);
		long n;

		if (text && number(&text, &n) && !*text && n > most)
			most = n;
	}
	return most > 1 ? (int)most : 1;
}
