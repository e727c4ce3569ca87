/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranks.c - tasks that Slurm bound side by side stay side by side wherever their step goes: the
 * share of the step's CPUs that a task had, by their order, is its share of the new set. Slurm
 * binds so by itself when the tasks fill their step (srun -n2 on two cores); what the user asked
 * for with --cpu-bind never comes here.
 *
 * A set with fewer CPUs than tasks lets neighbours overlap rather than leave one behind.
 */
#include "nodesvc/actuate/internal.h"

void ranks_share(struct coreset *ret, const struct coreset *part, const struct coreset *whole,
	const struct coreset *set)
{
	int n = coreset_count(whole), k = coreset_count(set), i = 0, j = 0;
	struct coreset here, index;

	coreset_zero(ret);
	coreset_zero(&index);
	coreset_and(&here, part, whole);
	if (n == 0)
		return;
	/* CPU i of n stands for the stretch i k/n to (i+1) k/n of the new set. */
	coreset_for_each (cpu, whole) {
		if (coreset_has(&here, (unsigned int)cpu) && k)
			coreset_add_range(&index, (unsigned int)(i * k / n),
				(unsigned int)(((i + 1) * k + n - 1) / n - 1));
		i++;
	}
	coreset_for_each (cpu, set) {
		if (coreset_has(&index, (unsigned int)j))
			coreset_add(ret, (unsigned int)cpu);
		j++;
	}
}
