/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads.c - a step's list of threads, brought up to date by whoever looks at them next.
 */
#include <stdio.h>
#include <string.h>

#include "nodesvc/measure/internal.h"
#include "nodesvc/runtime/sleeper.h"

bool threads_are_one(const struct step *s)
{
	return s->threads == 1 && s->ntasks <= 1 && s->nnodes == 1;
}

/* Takes out those that sleep for libcoloc_omp: they are no work that waits for cores. Returns how
 * many there are then. */
static int drop_sleepers(const struct measure *m, pid_t *tid, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		char path[64], name[32] = "";

		snprintf(path, sizeof(path), "proc/%d/comm", (int)tid[i]);
		if (fsroot_read_once(&m->use.node->root, path, name, sizeof(name)) < 0 ||
			strcmp(name, COLOC_SLEEPER "\n") != 0)
			tid[kept++] = tid[i];
	}
	return kept;
}

bool threads_are_many(const struct step *s)
{
	return s->pace.list.n > READ_THREADS;
}

int threads_list(struct measure *m, struct step *s)
{
	struct pace *p = &s->pace;
	bool changed;
	int rc = thread_list_update(&p->list, m->use.actuate, &s->cgroup, &changed);

	if (changed)
		p->calm = -1; /* other threads */
	if (rc < 0 || !changed)
		return rc;
	if (s->omp && !threads_are_many(s))
		p->list.n = drop_sleepers(m, p->list.tid, p->list.n);
	clocks_set(&p->clocks, p->list.tid, threads_are_many(s) ? 0 : p->list.n);
	p->run_at_ns = 0;
	return 0;
}
