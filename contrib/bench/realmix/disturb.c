/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/disturb.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

struct process {
	pid_t pid, parent;
	uint64_t start;     /* ticks since boot: tells a reused number */
	uint64_t own, kids; /* ticks: itself; children it waited for */
	char comm[32];
	uint64_t brought; /* ticks that gone children had at the last look */
	bool zombie, ours, reaps_ours;
};

struct look {
	struct process *p; /* ascending pid */
	int n;
	uint64_t total, idle, steal; /* ticks of all CPUs; total has idle and steal in it */
};

struct disturb {
	char proc[128];
	char node[64];
	struct look first, last;
	uint64_t foreign; /* ticks */
	uint64_t worst_ticks;
	char worst[64];
};

static bool read_file(const char *path, char *buf, size_t size)
{
	cleanup_file FILE *f = fopen(path, "re");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = '\0';
	return n > 0;
}

static bool read_process(const char *proc, pid_t pid, struct process *ret)
{
	char path[160], text[1024], *name, *rest, state;
	uint64_t v[4], start;
	int parent;

	snprintf(path, sizeof(path), "%s/%d/stat", proc, (int)pid);
	if (!read_file(path, text, sizeof(text)))
		return false;
	name = strchr(text, '(');
	rest = strrchr(text, ')'); /* a name may hold anything, also ')' */
	if (!name || !rest ||
		sscanf(rest + 1,
			" %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			" %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %" SCNu64,
			&state, &parent, &v[0], &v[1], &v[2], &v[3], &start) != 7)
		return false;
	*ret = (struct process){
		.pid = pid,
		.parent = parent,
		.start = start,
		.own = v[0] + v[1],
		.kids = v[2] + v[3],
		.zombie = state == 'Z',
	};
	*rest = '\0';
	snprintf(ret->comm, sizeof(ret->comm), "%.31s", name + 1);
	return true;
}

static int compare_pid(const void *a, const void *b)
{
	pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;

	return (x > y) - (x < y);
}

static struct process *find(const struct look *l, pid_t pid)
{
	struct process key = {.pid = pid};

	return l->n ? bsearch(&key, l->p, (size_t)l->n, sizeof(key), compare_pid) : NULL;
}

/* Is this text of /proc/PID/cgroup a step of the node? With several slurmd on a host their trees
 * carry the node's name (Debian's build); else there is but one. */
static bool is_step_cgroup(const char *text, const char *node)
{
	char v1[96], v2[96];

	snprintf(v1, sizeof(v1), "/slurm_%s/", node);
	snprintf(v2, sizeof(v2), "/%s_slurmstepd.scope/", node);
	return strstr(text, v1) || strstr(text, v2) || strstr(text, "/slurmstepd.scope/") ||
	       strstr(text, "/slurm/uid_");
}

/* The daemons are known by their name. */
static bool is_root_of_ours(const struct disturb *d, const struct process *p)
{
	static const char *const daemon[] = {"slurmctld", "slurmd", "munged", "colocd"};
	char path[160], text[4096];

	if (p->pid == getpid())
		return true;
	for (size_t i = 0; i < sizeof(daemon) / sizeof(daemon[0]); i++)
		if (!strncmp(p->comm, daemon[i], strlen(daemon[i])))
			return true;
	/* A zombie has left its cgroup; a step's slurmstepd may wait seconds for PID 1, and has its
	 * tasks' time. */
	if (p->zombie && !strcmp(p->comm, "slurmstepd"))
		return true;
	snprintf(path, sizeof(path), "%s/%d/cgroup", d->proc, (int)p->pid);
	return read_file(path, text, sizeof(text)) && is_step_cgroup(text, d->node);
}

static void classify(const struct disturb *d, struct look *l)
{
	for (int i = 0; i < l->n; i++)
		l->p[i].ours = is_root_of_ours(d, &l->p[i]);
	/* Descendants: as often as the tree is deep. */
	for (bool changed = true; changed;) {
		changed = false;
		for (int i = 0; i < l->n; i++) {
			struct process *up = l->p[i].ours ? NULL : find(l, l->p[i].parent);

			if (!up || !up->ours)
				continue;
			l->p[i].ours = changed = true;
		}
	}
	/* Who waits for slurmstepd inherits the time of our steps. */
	for (int i = 0; i < l->n; i++) {
		struct process *up = find(l, l->p[i].parent);

		if (l->p[i].ours && up && !up->ours)
			up->reaps_ours = true;
	}
}

static void read_totals(const char *proc, struct look *l)
{
	uint64_t v[8] = {0};
	char path[160], text[512];

	snprintf(path, sizeof(path), "%s/stat", proc);
	if (!read_file(path, text, sizeof(text)) ||
		sscanf(text,
			"cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			" %" SCNu64 " %" SCNu64,
			&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
		return;
	for (int i = 0; i < 8; i++)
		l->total += v[i];
	l->idle = v[3] + v[4];
	l->steal = v[7];
}

static struct look look(const struct disturb *d)
{
	cleanup_dir DIR *dir = opendir(d->proc);
	struct look l = {0};
	struct dirent *e;
	int size = 0;

	read_totals(d->proc, &l);
	while (dir && (e = readdir(dir))) {
		int pid = atoi(e->d_name);

		if (pid <= 0)
			continue;
		if (l.n == size) {
			struct process *grown;

			size = size ? 2 * size : 256;
			grown = realloc(l.p, sizeof(*l.p) * (size_t)size);
			if (!grown)
				break;
			l.p = grown;
		}
		l.n += read_process(d->proc, pid, &l.p[l.n]);
	}
	if (l.n)
		qsort(l.p, (size_t)l.n, sizeof(*l.p), compare_pid);
	classify(d, &l);
	return l;
}

/* Kernel threads work for whoever runs: they are nobody's. */
static bool is_counted(const struct process *p)
{
	return !p->ours && p->pid != 2 && p->parent != 2;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static bool is_same(const struct process *a, const struct process *b)
{
	return a && b && a->start == b->start;
}

/* A process that is gone passed its time, of before the last look too, to whoever waited for it:
 * the next one up that is still there. */
static void book_gone(const struct look *last, struct look *now)
{
	for (int i = 0; i < last->n; i++) {
		const struct process *gone = &last->p[i], *up = gone;

		if (is_same(gone, find(now, gone->pid)))
			continue;
		/* As far up as any tree is deep: a reused number could make a ring. */
		for (int depth = 0; up && depth < 64; depth++) {
			struct process *heir = find(now, up->parent);

			up = find(last, up->parent);
			if (!is_same(up, heir))
				continue;
			heir->brought += gone->own + gone->kids;
			break;
		}
	}
}

/* What @p used since the last look, of its own and through children it waited for. */
static uint64_t used_since(const struct disturb *d, const struct process *p)
{
	const struct process *old = find(&d->last, p->pid);
	uint64_t own, kids;

	if (!is_same(old, p))
		return p->own;
	own = since(p->own, old->own);
	/* PID 1 and other reapers of ours: their children may be our steps. */
	if (p->reaps_ours || old->reaps_ours || p->pid == 1)
		return own;
	kids = since(p->kids, old->kids);
	return own + since(kids, p->brought);
}

struct disturb *disturb_start(const char *proc, const char *node)
{
	struct disturb *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	snprintf(d->proc, sizeof(d->proc), "%s", proc);
	snprintf(d->node, sizeof(d->node), "%s", node);
	d->last = look(d);
	d->first = d->last;
	return d;
}

void disturb_look(struct disturb *d)
{
	struct look now = look(d);
	uint64_t sum = 0, busy;

	book_gone(&d->last, &now);
	for (int i = 0; i < now.n; i++) {
		uint64_t ticks = is_counted(&now.p[i]) ? used_since(d, &now.p[i]) : 0;

		sum += ticks;
		if (ticks > d->worst_ticks) {
			d->worst_ticks = ticks;
			snprintf(d->worst, sizeof(d->worst), "%s (pid %d)", now.p[i].comm,
				(int)now.p[i].pid);
		}
	}
	/* What is booked late may be more than there was. */
	busy = since(since(now.total, d->last.total), since(now.idle, d->last.idle));
	busy = since(busy, since(now.steal, d->last.steal));
	d->foreign += sum < busy ? sum : busy;
	free(d->last.p);
	d->last = now;
}

double disturb_ratio(struct disturb *d)
{
	uint64_t total, steal;

	disturb_look(d);
	total = since(d->last.total, d->first.total);
	steal = since(d->last.steal, d->first.steal);
	return total ? (double)(d->foreign + steal) / (double)total : 0.0;
}

const char *disturb_worst(const struct disturb *d)
{
	return d->worst;
}

void disturb_free(struct disturb *d)
{
	if (!d)
		return;
	free(d->last.p); /* first's is the same one, or went with the first look */
	free(d);
}
