/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/cover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

void cover_init(struct cover *c, bool inherit)
{
	*c = (struct cover){.inherit = inherit, .first = true};
}

void cover_done(struct cover *c)
{
	free(c->tid);
	free(c->process);
	*c = (struct cover){0};
}

void cover_seal(struct cover *c)
{
	c->first = false;
}

/* Index of the first element >= @pid. */
static int lower(const pid_t *set, int n, pid_t pid)
{
	int lo = 0, hi = n;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (set[mid] < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool has(const pid_t *set, int n, pid_t pid)
{
	int at = lower(set, n, pid);

	return at < n && set[at] == pid;
}

static int put(pid_t **set, int *n, pid_t pid)
{
	int at = lower(*set, *n, pid);
	pid_t *grown;

	if (at < *n && (*set)[at] == pid)
		return 0;
	/* Grown by doubling: sizes are powers of two. */
	if (!(*n & (*n - 1))) {
		grown = realloc(*set, sizeof(**set) * (size_t)(*n ? 2 * *n : 1));
		if (!grown)
			return -ENOMEM;
		*set = grown;
	}
	memmove(*set + at + 1, *set + at, sizeof(**set) * (size_t)(*n - at));
	(*set)[at] = pid;
	(*n)++;
	return 0;
}

/* Process and parent process of a thread; false: gone. */
static bool read_descent(pid_t tid, pid_t *ret_process, pid_t *ret_parent)
{
	cleanup_file FILE *f = NULL;
	char path[64], line[256];
	int process = 0, parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f) && (!process || !parent)) {
		(void)sscanf(line, "Tgid: %d", &process);
		(void)sscanf(line, "PPid: %d", &parent);
	}
	*ret_process = process;
	*ret_parent = parent;
	return process > 0;
}

bool cover_is_alive(pid_t tid)
{
	pid_t process, parent;

	return read_descent(tid, &process, &parent);
}

int cover_take(struct cover *c, pid_t tid)
{
	pid_t process, parent;
	bool covered;

	if (has(c->tid, c->n_tids, tid))
		return 0;
	if (!read_descent(tid, &process, &parent))
		return 0;
	covered = c->inherit && !c->first &&
		  (has(c->process, c->n_processes, process) ||
			  has(c->process, c->n_processes, parent) || parent == 1);
	if (put(&c->tid, &c->n_tids, tid) || put(&c->process, &c->n_processes, process))
		return -ENOMEM;
	return !covered;
}
