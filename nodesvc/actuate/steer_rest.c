/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer_rest.c - who does not run is not moved: a process that is young (slurmstepd's fork before
 * exec, too, but where the step is born placed), or a shell, wrapper or launcher that waits. Its
 * mask is its own, and so what its children begin with. A program whose environment binds its
 * OpenMP threads is young for longer: its runtime cuts the places to the CPUs that it finds at its
 * start, which is late where much is linked.
 */
#include <errno.h>
#include <stdio.h>

#include "common/ipc.h"
#include "common/launch_names.h"
#include "common/starters.h"
#include "nodesvc/actuate/steer.h"

/* So much of a processor a program has until its OpenMP runtime has begun. */
#define BEGIN_NS INT64_C(1000000000)

/* Does the environment that process @pid began with bind its OpenMP threads? -EAGAIN: it is empty,
 * as that of a process whose exec is under way: the kernel shows its executable first. */
static int binds(const struct actuate *a, pid_t pid)
{
#define FAMILY(family)    FAMILY_##family,
#define VAR(family, name) {FAMILY_##family, name "="},
	enum family { LAUNCH_FAMILIES(FAMILY) };
	static const struct {
		enum family family;
		const char *name;
	} known[] = {LAUNCH_VARS(VAR)};
	enum { N_KNOWN = sizeof(known) / sizeof(known[0]) };
	const char *variable[N_KNOWN];
	int n = 0;
	char path[64], first[2];

	snprintf(path, sizeof(path), "proc/%d/environ", (int)pid);
	if (fsroot_read_once(a->root, path, first, sizeof(first)) == 0)
		return -EAGAIN;
	for (int i = 0; i < N_KNOWN; i++)
		if (known[i].family == FAMILY_openmp_bind)
			variable[n++] = known[i].name;
	return fsroot_find(a->root, path, variable, n);
}

void steer_watch_rest(struct actuate *a, const struct steer *st, const struct member *t)
{
	struct rest *p = &t->row->rest;
	int64_t cpu_ns, at_ns = ipc_now_ns();
	struct proc_stat stat = {.child_faults = p->reaped};
	enum starter starter = STARTER_NONE;
	char executable[256];
	int rc;

	if (st->first && st->step.born_placed)
		p->settled = true;
	if (p->settled)
		return;
	if (proc_cpu_ns(t->tid, &cpu_ns) < 0)
		p->settled = true; /* NOLINT(bugprone-branch-clone): in order of what they cost */
	else if (!steer_rest_asks(p, at_ns, cpu_ns) || (p->begins && cpu_ns < BEGIN_NS))
		return;
	else if (proc_executable(a->root, t->tid, executable, sizeof(executable)) < 0)
		p->settled = true;
	else if ((starter = starter_of(executable)) == STARTER_NONE) {
		rc = cpu_ns < BEGIN_NS ? binds(a, t->tid) : 0;
		p->begins = rc > 0;
		p->settled = rc == 0;
	}
	/* One that computes is in line on a crowded node. So is a shell that has not begun yet. */
	if (!p->settled && starter == STARTER_INTERPRETER)
		cpu_ns += proc_waited_ns(a->root, t->tid);
	if (!p->settled && !p->begins && steer_rest_works(p, at_ns, cpu_ns) &&
		proc_stat_read(a->root, t->tid, t->tid, &stat) < 0)
		p->settled = true;
	if (p->settled || p->begins)
		p->rests = !p->settled;
	else
		steer_rest_tell(p, at_ns, cpu_ns, stat.child_faults);
}

bool steer_rests(struct steer *st, const struct member *t)
{
	const struct member *leader = t->tid == t->tgid ? t : steer_leader(st, t);

	return leader && leader->row && leader->row->rest.rests;
}
