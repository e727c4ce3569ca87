/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/task_rate.h"

#include <math.h>

#define HALVINGS 40

/* One core's part: rate = gain / (core + lambda wait), traffic = bytes x rate. */
struct part {
	double gain, core, wait, bytes;
};

/* Of one node, as all below; @p: [node_cores]. */
static double traffic(
	const struct task_machine *m, const struct part *p, double others, double lambda)
{
	double sum = others / lambda;

	for (int i = 0; i < m->node_cores; i++)
		if (p[i].gain > 0) /* NOLINT(clang-analyzer-*): partitions hold all cores */
			sum += p[i].bytes * p[i].gain / (p[i].core + lambda * p[i].wait);
	return sum;
}

static double find_lambda(const struct task_machine *m, const struct part *p, double others)
{
	double low = 1, high = others / m->bytes_per_s + 1;

	if (!(m->bytes_per_s > 0) || traffic(m, p, others, 1) <= m->bytes_per_s)
		return 1;
	/* With nothing but waiting, traffic falls as 1/lambda. */
	for (int i = 0; i < m->node_cores; i++)
		if (p[i].gain > 0 && p[i].bytes > 0)
			high += p[i].bytes * p[i].gain / p[i].wait / m->bytes_per_s;
	for (int i = 0; i < HALVINGS; i++) {
		double mid = (low + high) / 2;

		if (traffic(m, p, others, mid) > m->bytes_per_s)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* Part of the working sets in partition @p that its cache holds. */
static double cached(const struct task_machine *m, const struct task_graph *g,
	const struct task_load *load, int p)
{
	int first = m->first_core[p], end = first + m->partition[p].n_cores;
	double sum = 0;

	for (int c = first; c < end; c++) {
		bool counted = load[c].task < 0;

		for (int d = first; d < c && !counted; d++)
			counted = load[d].task == load[c].task;
		if (!counted)
			sum += g->type[load[c].type].working_set_bytes;
	}
	return sum > m->partition[p].cache_bytes ? m->partition[p].cache_bytes / sum : 1;
}

static void rate_node(const struct task_machine *m, const struct task_graph *g,
	const struct task_weather *w, int node, const struct task_load *load, double *ret)
{
	struct part part[TASK_CORES_MAX];
	int base = node * m->node_cores;
	double lambda;

	for (int p = 0; p < m->n_partitions; p++) {
		const struct task_kind *k = &m->kind[m->partition[p].kind];
		double held = cached(m, g, load, p);

		for (int i = 0; i < m->partition[p].n_cores; i++) {
			int c = m->first_core[p] + i;
			const struct task_type *y;
			double speed, spill;

			part[c] = (struct part){0};
			if (load[c].task < 0)
				continue;
			y = &g->type[load[c].type];
			speed = y->speed[m->partition[p].kind];
			speed = speed > 0 ? speed : k->speed;
			spill = 1 + (y->spill - 1) * (1 - held);
			part[c] = (struct part){
				.gain = w->share[base + c] /
					(1 + y->width_loss * (load[c].width - 1)),
				.core = y->seconds * (1 - y->memory) /
					(speed * w->clock_ratio[base + c]),
				.wait = y->seconds * y->memory * spill / k->memory,
				.bytes = y->bytes * spill,
			};
		}
	}
	lambda = find_lambda(m, part, w->bytes_per_s[node]);
	for (int c = 0; c < m->node_cores; c++)
		/* NOLINTNEXTLINE(clang-analyzer-*): as above */
		ret[c] = part[c].gain > 0 ? part[c].gain / (part[c].core + lambda * part[c].wait)
					  : 0;
}

void task_rate(const struct task_machine *m, const struct task_graph *g,
	const struct task_weather *w, const struct task_load *load, double *ret)
{
	for (int node = 0; node < m->n_nodes; node++)
		rate_node(m, g, w, node, load + (size_t)node * (size_t)m->node_cores,
			ret + (size_t)node * (size_t)m->node_cores);
}
