/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/polling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/aside.h"
#include "common/cleanup.h"
#include "nodesvc/counters/idle.h"

/* Samples in a row. Back only slowly: a step that waits for a disk yields its turns anyway. */
#define BUSY_SAMPLES 3
#define IDLE_SAMPLES 20
#define GAP_CHANGED  4
#define GAP_MAX      64

/* Settings under which a waiting process gives its core away: Open MPI, Intel MPI, MVAPICH2. */
static const char *const yields[] = {
	"OMPI_MCA_mpi_yield_when_idle=1",
	"OMPI_MCA_mpi_yield_when_idle=true",
	"I_MPI_WAIT_MODE=1",
	"I_MPI_WAIT_MODE=enable",
	"MV2_USE_BLOCKING=1",
};

static bool maps_mpi(const struct fsroot *root, pid_t pid)
{
	static const char *const library = "/libmpi";
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/maps", (int)pid);
	return fsroot_find(root, path, &library, 1);
}

static bool is_told_to_yield(const struct fsroot *root, pid_t pid)
{
	cleanup_free char *text = NULL;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "proc/%d/environ", (int)pid);
	n = fsroot_read_alloc_owner(root, path, &text);
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1)
		for (size_t i = 0; i < sizeof(yields) / sizeof(yields[0]); i++)
			if (strcmp(text + at, yields[i]) == 0)
				return true;
	return false;
}

/* Found: one is told to yield. */
static void look(void *arg)
{
	struct look *l = arg;

	for (; l->at < l->n && !aside_breathe(); l->at++) {
		pid_t tid = l->tid[l->at];

		if (!fsroot_is_process(l->root, tid) || !maps_mpi(l->root, tid))
			continue;
		l->processes++;
		l->found |= is_told_to_yield(l->root, tid);
	}
}

bool polling_is_unsure(const struct polling *p)
{
	return p->on ? p->idle > 0 : p->busy > 0;
}

void polling_go_on(struct polling *p)
{
	if (!p->look || !look_go_on(p->look))
		return;
	p->ranks = p->look->processes;
	p->yields = p->look->found;
	look_done(&p->look);
}

bool polling_sample(
	struct polling *p, const struct fsroot *root, const pid_t *tid, int n, double runnable)
{
	bool was = p->on;

	if (isnan(runnable))
		return false;
	if (!p->look && runnable >= 2 * BUSY_POLLS && (--p->wait <= 0 || n != p->n_tids)) {
		p->look = look_begin(root, tid, n, 0, POLLING_LOOK_MAX, look);
		/* A program is executed, and loads its libraries, after its first sample. */
		p->gap = p->gap == 0 ? 1 : n != p->n_tids ? GAP_CHANGED : 2 * p->gap;
		if (p->gap > GAP_MAX)
			p->gap = GAP_MAX;
		p->wait = p->gap;
		p->n_tids = n;
	}
	polling_go_on(p);
	p->busy = p->ranks > 1 && !p->yields && runnable >= BUSY_POLLS * p->ranks ? p->busy + 1 : 0;
	p->idle = p->ranks < 2 || p->yields || runnable < IDLE_PART * p->ranks ? p->idle + 1 : 0;
	if (p->busy >= BUSY_SAMPLES)
		p->on = true;
	else if (p->idle >= IDLE_SAMPLES)
		p->on = false;
	return p->on != was;
}
