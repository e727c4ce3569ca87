/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmeans.c - K-means with libcoloc_tasks, divided as in the Dynamic Asymmetry Scheduler's paper
 * (Chen et al., ICPP Workshops 2020, section 5.4): each iteration is a loop in parts, of which the
 * largest is critical, and a reduction that makes the next iteration. Prints the time of each
 * iteration.
 *
 *   cc -O2 kmeans.c -lcoloc_tasks && srun --coloc ./a.out [ITERATIONS [POINTS [LARGEST]]]
 *
 * Another program beside it, on one of its cores from iteration 20 on, shows what a policy does:
 * COLOC_TASKS=das-rws, das-dam-c, das-dam-p.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coloc_tasks.h>

#define FEATURES 34
#define CLUSTERS 5
#define PARTS    40
#define BLOCKS   16 /* of a part: what its cores take one by one */

struct part {
	int first, n; /* points */
	atomic_int taken;
	float sum[CLUSTERS][FEATURES];
	int count[CLUSTERS];
	atomic_flag busy;
};

static struct coloc_tasks *pool;
static struct part part[PARTS];
static float *point, centre[CLUSTERS][FEATURES];
static int iterations = 100, iteration;
static double last;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int nearest(const float *p)
{
	float best = INFINITY;
	int at = 0;

	for (int c = 0; c < CLUSTERS; c++) {
		float d = 0;

		for (int f = 0; f < FEATURES; f++)
			d += (p[f] - centre[c][f]) * (p[f] - centre[c][f]);
		if (d < best) {
			best = d;
			at = c;
		}
	}
	return at;
}

static void assign(void *arg, int member, int width)
{
	struct part *p = arg;
	float sum[CLUSTERS][FEATURES] = {{0}};
	int count[CLUSTERS] = {0}, b;

	(void)member;
	(void)width;
	while ((b = atomic_fetch_add(&p->taken, 1)) < BLOCKS)
		for (int i = p->n * b / BLOCKS; i < p->n * (b + 1) / BLOCKS; i++) {
			const float *x = point + (size_t)(p->first + i) * FEATURES;
			int c = nearest(x);

			count[c]++;
			for (int f = 0; f < FEATURES; f++)
				sum[c][f] += x[f];
		}
	while (atomic_flag_test_and_set(&p->busy))
		;
	for (int c = 0; c < CLUSTERS; c++) {
		p->count[c] += count[c];
		for (int f = 0; f < FEATURES; f++)
			p->sum[c][f] += sum[c][f];
	}
	atomic_flag_clear(&p->busy);
}

static void submit_iteration(void);

static void reduce(void *arg, int member, int width)
{
	double t;

	(void)arg;
	(void)width;
	if (member > 0)
		return;
	for (int c = 0; c < CLUSTERS; c++) {
		int n = 0;

		for (int p = 0; p < PARTS; p++)
			n += part[p].count[c];
		for (int f = 0; f < FEATURES && n > 0; f++) {
			float sum = 0;

			for (int p = 0; p < PARTS; p++)
				sum += part[p].sum[c][f];
			centre[c][f] = sum / (float)n;
		}
	}
	t = now();
	printf("%d %.6f\n", iteration, t - last);
	last = t;
	if (++iteration < iterations)
		submit_iteration();
}

static void submit_iteration(void)
{
	struct coloc_task *end = coloc_task_new(pool, "reduce", 0, reduce, NULL);

	for (int p = 0; p < PARTS && end; p++) {
		struct coloc_task *t = coloc_task_new(
			pool, "assign", p == PARTS / 2 ? COLOC_TASK_CRITICAL : 0, assign, &part[p]);

		part[p].taken = 0;
		memset(part[p].sum, 0, sizeof(part[p].sum));
		memset(part[p].count, 0, sizeof(part[p].count));
		if (!t || coloc_task_after(end, t)) {
			fputs("kmeans: out of memory\n", stderr);
			exit(1);
		}
		coloc_task_submit(t);
	}
	if (end)
		coloc_task_submit(end);
}

int main(int argc, char **argv)
{
	int points = argc > 2 ? atoi(argv[2]) : 494020, largest = argc > 3 ? atoi(argv[3]) : 2;
	int each, first = 0;
	char why[256];

	iterations = argc > 1 ? atoi(argv[1]) : iterations;
	if (iterations < 1 || points < 1000 || largest < 1 || largest > 1000) {
		fputs("usage: kmeans [ITERATIONS [POINTS [LARGEST]]]\n", stderr);
		return 2;
	}
	each = points / (PARTS - 1 + largest);
	point = malloc((size_t)points * FEATURES * sizeof(*point));
	if (!point) {
		fputs("kmeans: out of memory\n", stderr);
		return 1;
	}
	for (size_t i = 0; i < (size_t)points * FEATURES; i++)
		point[i] = (float)(i * 2654435761u % 1000) / 1000;
	for (int c = 0; c < CLUSTERS; c++)
		memcpy(centre[c], point + (size_t)c * (size_t)points / CLUSTERS * FEATURES,
			sizeof(centre[c]));
	for (int p = 0; p < PARTS; p++) {
		part[p].first = first;
		part[p].n = p == PARTS / 2 ? points - each * (PARTS - 1) : each;
		first += part[p].n;
		atomic_flag_clear(&part[p].busy);
	}
	if (coloc_tasks_open(&pool, NULL, why, sizeof(why)) < 0) {
		fprintf(stderr, "kmeans: %s\n", why);
		return 1;
	}
	last = now();
	submit_iteration();
	coloc_tasks_close(pool);
	free(point);
	return 0;
}
