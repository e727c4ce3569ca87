/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pagerank - generates a graph, writes its edges to a file, reads them back into compressed rows
 * and iterates. Two phases that want different things of the machine: loading is one thread and
 * the file system, iterating is all threads and scattered reads. Edges favour low-numbered pages,
 * as links favour known ones.
 */
#include "program.h"

#define DAMPING 0.85

struct graph {
	int64_t n, m;
	int64_t *row;       /* [n + 1] into from[] */
	uint32_t *from;     /* pages that link to row's page */
	uint32_t *n_out;    /* links a page has */
	double *rank, *new; /* [n] */
};

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static int write_edges(FILE *f, int64_t n, int64_t m)
{
	uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

	for (int64_t e = 0; e < m; e++) {
		uint64_t r = random_next(&x);
		double u = (double)(r >> 11) / (double)(UINT64_C(1) << 53);
		uint32_t edge[2] = {
			(uint32_t)(random_next(&x) % (uint64_t)n), /* from: any page */
			(uint32_t)(u * u * u * (double)n),         /* to: rather a low one */
		};

		if (fwrite(edge, sizeof(edge), 1, f) != 1)
			return -1;
	}
	return fflush(f);
}

/* Twice through the file: count, then place. */
static int read_edges(FILE *f, struct graph *g)
{
	uint32_t edge[2];

	for (int pass = 0; pass < 2; pass++) {
		rewind(f);
		for (int64_t e = 0; e < g->m; e++) {
			if (fread(edge, sizeof(edge), 1, f) != 1)
				return -1;
			if (pass == 0) {
				g->row[edge[1]]++;
				g->n_out[edge[0]]++;
			} else {
				g->from[--g->row[edge[1]]] = edge[0];
			}
		}
		if (pass == 0) /* row[i]: end of page i's part; placing moves it to its start */
			for (int64_t i = 0, sum = 0; i <= g->n; i++)
				g->row[i] = sum += g->row[i];
	}
	return 0;
}

static void iterate(struct graph *g)
{
	double *t = g->rank;

#pragma omp parallel for schedule(guided)
	for (int64_t i = 0; i < g->n; i++) {
		double sum = 0.0;

		for (int64_t k = g->row[i]; k < g->row[i + 1]; k++)
			sum += g->rank[g->from[k]] / g->n_out[g->from[k]];
		g->new[i] = (1.0 - DAMPING) / (double)g->n + DAMPING *sum;
	}
	g->rank = g->new;
	g->new = t;
}

int main(int argc, char **argv)
{
	int64_t work = 40, scale = 17, degree = 16, start;
	const struct program_option opt[] = {
		{"size", "log2 of the number of pages", 4, 26, &scale},
		{"degree", "links per page", 1, 256, &degree},
		{"work", "iterations", 1, INT64_MAX, &work},
	};
	struct graph g = {0};
	FILE *f;

	program_options(
		argc, argv, "pagerank", "Loads a generated graph and ranks its pages.", opt, 3);
	start = program_now_ns();
	g.n = INT64_C(1) << scale;
	g.m = g.n * degree;
	g.row = calloc((size_t)g.n + 1, sizeof(*g.row));
	g.from = calloc((size_t)g.m, sizeof(*g.from));
	g.n_out = calloc((size_t)g.n, sizeof(*g.n_out));
	g.rank = calloc((size_t)g.n, sizeof(*g.rank));
	g.new = calloc((size_t)g.n, sizeof(*g.new));
	if (!g.row || !g.from || !g.n_out || !g.rank || !g.new)
		return program_fail("pagerank", "graph");
	f = tmpfile();
	if (!f)
		return program_fail("pagerank", "edge file");
	if (write_edges(f, g.n, g.m) || read_edges(f, &g)) {
		fclose(f);
		return program_fail("pagerank", "edge file");
	}
	fclose(f);
	for (int64_t i = 0; i < g.n; i++)
		g.rank[i] = 1.0 / (double)g.n;
	program_unit("iters");
	for (int64_t k = 0; k < work; k++) {
		iterate(&g);
		program_progress(1);
	}
	work = program_report("pagerank", start, work, "iterations", g.rank[0]);
	free(g.row);
	free(g.from);
	free(g.n_out);
	free(g.rank);
	free(g.new);
	return (int)work;
}
