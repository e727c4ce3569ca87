/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/tasks/grant.h"

#include <sched.h>
#include <string.h>

#include "nodesvc/runtime/coloc.h"

static void read_mask(struct coreset *ret)
{
	cpu_set_t mask;

	coreset_zero(ret);
	CPU_ZERO(&mask);
	if (sched_getaffinity(0, sizeof(mask), &mask))
		return;
	for (unsigned int pu = 0; pu < CPU_SETSIZE; pu++)
		if (CPU_ISSET(pu, &mask))
			coreset_add(ret, pu);
}

void grant_open(struct grant *g)
{
	memset(g, 0, sizeof(*g));
	read_mask(&g->cpus);
	g->c = coloc_attach();
	grant_read(g);
}

void grant_close(struct grant *g)
{
	coloc_detach(g->c);
	g->c = NULL;
}

bool grant_is_news(const struct grant *g, uint32_t generation)
{
	uint32_t now;

	return coloc_granted(g->c, &now) > 0 && now != generation;
}

bool grant_read(struct grant *g)
{
	int cpu[CORESET_MAX], n;
	uint32_t generation;
	struct coreset set;

	/* In this order: a grant that changes between the two is news again. */
	if (coloc_granted(g->c, &generation) == 0)
		return false;
	n = coloc_cores(g->c, cpu, CORESET_MAX);
	g->generation = generation;
	coreset_zero(&set);
	for (int i = 0; i < n && i < CORESET_MAX; i++)
		coreset_add(&set, (unsigned int)cpu[i]);
	if (coreset_is_empty(&set) || coreset_is_equal(&set, &g->cpus))
		return false;
	g->cpus = set;
	return true;
}
