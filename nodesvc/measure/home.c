/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * home.c - on which memory node a step's memory is, by the kernel's account of its cgroup. Only on
 * nodes with several; unknown where the step has no memory cgroup.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesvc/measure/internal.h"

/* Memory comes and goes over seconds, and so do decisions that it bears on. */
#define LOOK_NS INT64_C(1000000000)

/* "anon N0=4096 N1=0" in bytes (cgroup v2), "anon=1 N0=1 N1=0" in pages (v1): what no file backs.
 */
static void add_line(const char *line, double unit, double *node, int n_nodes)
{
	const char *p = line;
	char *end;

	while ((p = strstr(p, " N"))) {
		unsigned long at = strtoul(p + 2, &end, 10);

		p += 2;
		if (end != p && *end == '=' && at < (unsigned long)n_nodes)
			node[at] += strtod(end + 1, NULL) * unit;
	}
}

void home_parse(char *text, int n_nodes, double page_bytes, int *ret_node, double *ret_bytes)
{
	double node[CORESET_MAX] = {0}, sum = 0;
	int most = 0;
	char *rest = text, *line;

	if (n_nodes > CORESET_MAX)
		n_nodes = CORESET_MAX;
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, "anon ", 5) == 0 || strncmp(line, "shmem ", 6) == 0)
			add_line(line, 1, node, n_nodes);
		else if (strncmp(line, "anon=", 5) == 0)
			add_line(line, page_bytes, node, n_nodes);
	}
	for (int i = 0; i < n_nodes; i++) {
		sum += node[i];
		most = node[i] > node[most] ? i : most;
	}
	*ret_node = sum > 0 ? most : -1;
	*ret_bytes = sum > 0 ? sum : -1;
}

/* The memory controller's directory of a step: with cgroup v2 its own, with v1 in a tree beside. */
static void stat_path(const struct step *s, char *ret, size_t size)
{
	const char *path = s->cgroup.step_path, *cpuset = strstr(path, "/cpuset/");

	if (cpuset)
		snprintf(ret, size, "%.*s/memory/%s/memory.numa_stat", (int)(cpuset - path), path,
			cpuset + strlen("/cpuset/"));
	else
		snprintf(ret, size, "%s/memory.numa_stat", path);
}

void home_look(const struct measure *m, struct step *s, int64_t now_ns)
{
	struct seen_home *h = &s->seen.home;
	char path[320], text[4096];
	ssize_t n;

	if (m->use.node->topo->n_numa < 2 || !s->located ||
		(h->look_ns && now_ns - h->look_ns < LOOK_NS))
		return;
	h->look_ns = now_ns;
	stat_path(s, path, sizeof(path));
	n = fsroot_read_once(&m->use.node->root, path, text, sizeof(text));
	if (n < 0)
		text[0] = '\0';
	home_parse(text, m->use.node->topo->n_numa, (double)sysconf(_SC_PAGESIZE), &h->numa,
		&h->bytes);
}
