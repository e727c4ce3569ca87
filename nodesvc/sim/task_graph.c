/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/rng.h"

#define HEAT_EDGES    5 /* of one task: itself, two neighbours, two exchanges */
#define RANDOM_WINDOW 64

int task_type_check(const struct task_type *y, const struct task_machine *m, struct errbuf *err)
{
	const struct {
		const char *name;
		double value, low, high;
	} field[] = {
		{"seconds", y->seconds, 1e-9, 1e6},
		{"memory", y->memory, 0, 1},
		{"bytes", y->bytes, 0, 1e15},
		{"working_set", y->working_set_bytes, 0, 1e15},
		{"spill", y->spill, 1, 1000},
		{"width_loss", y->width_loss, 0, 1000},
		{"noise", y->noise, 0, 2},
		{"clock", y->clock_s, 0, 1},
		{"blocks", y->blocks, 1, 10000},
	};

	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		if (!(field[i].value >= field[i].low && field[i].value <= field[i].high))
			return err_set(err, -EINVAL, "type '%s': %s %g: %g to %g expected", y->name,
				field[i].name, field[i].value, field[i].low, field[i].high);
	for (int k = 0; k < m->n_kinds; k++)
		if (!(y->speed[k] >= 0 && y->speed[k] <= 1e6))
			return err_set(err, -EINVAL, "type '%s': speed %g on kind '%s'", y->name,
				y->speed[k], m->kind[k].name);
	if (y->bytes > 0 && !(y->memory > 0))
		return err_set(err, -EINVAL, "type '%s': moves bytes, but memory is 0", y->name);
	return 0;
}

/* A graph under construction: edges come as (before, after) and are sorted in at the end. */
struct builder {
	struct task *task;
	int (*edge)[2];
	int n_tasks, n_edges, max_edges;
};

static int open_builder(struct builder *b, double n_tasks, double max_edges, struct errbuf *err)
{
	memset(b, 0, sizeof(*b));
	if (n_tasks < 1 || n_tasks > TASK_TASKS_MAX || max_edges > 8.0 * TASK_TASKS_MAX)
		return err_set(err, -EINVAL, "a graph of %.0f tasks: 1 to %d expected", n_tasks,
			TASK_TASKS_MAX);
	b->max_edges = (int)max_edges;
	b->task = calloc((size_t)n_tasks, sizeof(*b->task));
	b->edge = calloc((size_t)max_edges + 1, sizeof(*b->edge));
	if (b->task && b->edge)
		return 0;
	free(b->task);
	free(b->edge);
	return err_set(err, -ENOMEM, "out of memory");
}

static int add_task(struct builder *b, int type, bool high)
{
	b->task[b->n_tasks] = (struct task){.type = type, .high = high, .work = 1};
	return b->n_tasks++;
}

static void add_edge(struct builder *b, int before, int after)
{
	b->edge[b->n_edges][0] = before;
	b->edge[b->n_edges++][1] = after;
	b->task[before].n_children++;
	b->task[after].n_before++;
}

/* Children keep the order in which their edges came. */
static int close_builder(struct builder *b, struct task_graph *g, struct errbuf *err)
{
	int *child = calloc((size_t)b->n_edges + 1, sizeof(*child));
	int at = 0;

	if (!child) {
		free(b->task);
		free(b->edge);
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (int i = 0; i < b->n_tasks; i++) {
		b->task[i].first_child = at;
		at += b->task[i].n_children;
		b->task[i].n_children = 0;
	}
	for (int e = 0; e < b->n_edges; e++) {
		struct task *t = &b->task[b->edge[e][0]];

		child[t->first_child + t->n_children++] = b->edge[e][1];
	}
	free(b->edge);
	task_graph_done(g);
	g->task = b->task;
	g->n_tasks = b->n_tasks;
	g->child = child;
	g->n_edges = b->n_edges;
	return 0;
}

int task_graph_layers(
	struct task_graph *g, int type, int n, int n_tasks, int parallelism, struct errbuf *err)
{
	struct builder b;
	int critical, rc = open_builder(&b, n_tasks, n_tasks, err);

	if (rc)
		return rc;
	critical = add_task(&b, type, true);
	for (int turn = 0; b.n_tasks < n_tasks;) {
		int next = -1;

		for (int j = 0; j < parallelism && b.n_tasks < n_tasks; j++, turn++) {
			int i = add_task(&b, type + turn % n, j == 0);

			add_edge(&b, critical, i);
			next = j == 0 ? i : next;
		}
		critical = next;
	}
	return close_builder(&b, g, err);
}

/* An iteration of one node: @before its first block of the one before, -1 none. */
static int add_heat(struct builder *b, int type, int exchange, int blocks, int before,
	bool low_edge, bool high_edge)
{
	int low = -1, high = -1, first;

	/* Exchanges first: they are what a program starts first. */
	if (before >= 0 && low_edge) {
		low = add_task(b, exchange, true);
		add_edge(b, before, low);
	}
	if (before >= 0 && high_edge) {
		high = add_task(b, exchange, true);
		add_edge(b, before + blocks - 1, high);
	}
	first = b->n_tasks;
	for (int k = 0; k < blocks; k++) {
		int i = add_task(b, type, false);

		for (int d = -1; d <= 1 && before >= 0; d++)
			if (k + d >= 0 && k + d < blocks)
				add_edge(b, before + k + d, i);
		if (low >= 0 && k == 0)
			add_edge(b, low, i);
		if (high >= 0 && k == blocks - 1)
			add_edge(b, high, i);
	}
	return first;
}

static void meet(struct builder *b, int one, int other)
{
	b->task[one].meets = other + 1;
	b->task[other].meets = one + 1;
}

int task_graph_heat(struct task_graph *g, int type, int exchange, int nodes, int blocks,
	int iterations, struct errbuf *err)
{
	double all = (double)nodes * iterations * ((double)blocks + 2);
	int before[TASK_NODES_MAX], rc;
	struct builder b;

	if (blocks < 2)
		return err_set(err, -EINVAL, "heat: %d blocks: 2 or more expected", blocks);
	if (nodes < 1 || nodes > TASK_NODES_MAX)
		return err_set(
			err, -EINVAL, "heat: %d nodes: 1 to %d expected", nodes, TASK_NODES_MAX);
	rc = open_builder(&b, all, all * HEAT_EDGES, err);
	if (rc)
		return rc;
	for (int n = 0; n < nodes; n++)
		before[n] = -1;
	for (int it = 0; it < iterations; it++)
		for (int n = 0; n < nodes; n++) {
			int from = b.n_tasks;

			before[n] = add_heat(&b, type, exchange, blocks, before[n],
				nodes == 1 || n > 0, nodes == 1 || n < nodes - 1);
			for (int i = from; i < b.n_tasks; i++)
				b.task[i].node = n;
			/* My low edge, which comes first, and my neighbour's high one, which comes
			 * last. */
			if (it > 0 && n > 0)
				meet(&b, from, from - blocks - 1);
		}
	return close_builder(&b, g, err);
}

int task_graph_kmeans(struct task_graph *g, int type, int reduce, int blocks, int iterations,
	double largest, struct errbuf *err)
{
	double all = (double)iterations * ((double)blocks + 1);
	struct builder b;
	int before = -1, rc;

	if (blocks < 1 || !(largest > 0 && largest <= 1000))
		return err_set(err, -EINVAL,
			"kmeans: %d blocks, the largest %g times the others: "
			"1 block or more, above 0 expected",
			blocks, largest);
	rc = open_builder(&b, all, 2 * all, err);
	if (rc)
		return rc;
	for (int it = 0; it < iterations; it++) {
		int first = b.n_tasks;

		for (int k = 0; k < blocks; k++) {
			int i = add_task(&b, type, k == blocks / 2);

			if (k == blocks / 2)
				b.task[i].work = largest;
			if (before >= 0)
				add_edge(&b, before, i);
		}
		before = add_task(&b, reduce, false);
		for (int k = 0; k < blocks; k++)
			add_edge(&b, first + k, before);
	}
	return close_builder(&b, g, err);
}

int task_graph_random(struct task_graph *g, int n_tasks, int before, double high, uint64_t seed,
	struct errbuf *err)
{
	struct builder b;
	struct rng r;
	int rc = open_builder(&b, n_tasks, (double)n_tasks * before, err);

	if (rc)
		return rc;
	rng_init(&r, seed, 11);
	while (b.n_tasks < n_tasks) {
		int type = rng_below(&r, g->n_types);
		int i = add_task(&b, type, rng_uniform(&r, 0, 1) < high);
		int window = i < RANDOM_WINDOW ? i : RANDOM_WINDOW;

		for (int e = window > 0 ? rng_below(&r, before + 1) : 0; e > 0; e--)
			add_edge(&b, i - 1 - rng_below(&r, window), i);
	}
	return close_builder(&b, g, err);
}

void task_graph_done(struct task_graph *g)
{
	free(g->task);
	free(g->child);
	g->task = NULL;
	g->child = NULL;
	g->n_tasks = g->n_edges = 0;
}
