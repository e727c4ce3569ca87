/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dag - the synthetic graph of the Dynamic Asymmetry Scheduler's paper (Chen et al., ICPP
 * Workshops 2020, section 4.2.2) on this machine's cores, under all seven das-* policies, with a
 * program beside it on core 0. Prints JSON: tasks per second and the ratio to das-rws, paired by
 * round, with a 95 % bootstrap interval.
 *
 * The paper's text gives one ratio to das-rws: das-dam-c up to 3.5, on a Jetson TX2.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contrib/programs/tasks.h"
#include "nodesvc/sim/stats.h"

#define TILE       64
#define GRID       512 /* of copy and stencil */
#define SLOTS      32  /* sets of data: tasks that run at once have their own */
#define BLOCKS     8
#define ROUNDS_MAX 10000

static const char *const policies[] = {
	"das-rws", "das-rwsm-c", "das-fa", "das-fam-c", "das-da", "das-dam-c", "das-dam-p"};
#define N_POLICIES ((int)(sizeof(policies) / sizeof(policies[0])))

enum kernel { MATMUL, COPY, STENCIL, N_KERNELS };
static const char *const kernel_name[] = {"matmul", "copy", "stencil"};

static struct {
	enum kernel kernel;
	atomic_int *block; /* [tasks] taken */
	float *in, *in2, *out;
} data;

static size_t slot_size(enum kernel k)
{
	return k == MATMUL ? (size_t)TILE * TILE : (size_t)GRID * GRID;
}

static void matmul_rows(const float *a, const float *b, float *c, int from, int to)
{
	for (int i = from; i < to; i++)
		for (int j = 0; j < TILE; j++) {
			float sum = 0;

			for (int k = 0; k < TILE; k++)
				sum += a[i * TILE + k] * b[j * TILE + k];
			c[i * TILE + j] = sum;
		}
}

static void stencil_rows(const float *in, float *out, int from, int to)
{
	for (int i = from > 1 ? from : 1; i < to && i < GRID - 1; i++)
		for (int j = 1; j < GRID - 1; j++)
			out[i * GRID + j] =
				0.25f * (in[i * GRID + j - 1] + in[i * GRID + j + 1] +
						in[(i - 1) * GRID + j] + in[(i + 1) * GRID + j]);
}

static void run_task(void *ctx, int task)
{
	size_t at = (size_t)(task % SLOTS) * slot_size(data.kernel);
	int rows = data.kernel == MATMUL ? TILE : GRID, b;

	(void)ctx;
	while ((b = atomic_fetch_add(&data.block[task], 1)) < BLOCKS) {
		int from = b * rows / BLOCKS, to = (b + 1) * rows / BLOCKS;

		if (data.kernel == MATMUL)
			matmul_rows(data.in + at, data.in2 + at, data.out + at, from, to);
		else if (data.kernel == COPY)
			memcpy(data.out + at + (size_t)from * GRID,
				data.in + at + (size_t)from * GRID,
				(size_t)(to - from) * GRID * sizeof(float));
		else
			stencil_rows(data.in + at, data.out + at, from, to);
	}
}

/* A chain of matrix products on @pu until it is killed or we are gone. */
static pid_t start_interference(int pu)
{
	pid_t parent = getpid(), pid = fork();
	cpu_set_t set;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&set);
	CPU_SET((size_t)pu, &set);
	if (getppid() != parent || sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	for (;;) {
		matmul_rows(data.in, data.in2, data.out, 0, TILE);
		/* What nobody reads would be left out. */
		__asm__ volatile("" ::: "memory");
	}
}

struct options {
	int tasks, parallelism, rounds, kernel, hit;
};

static int usage(FILE *to, int status)
{
	fputs("usage: dag [--tasks=N] [--parallelism=N] [--rounds=N] [--kernel=matmul|copy|stencil]"
	      " [--hit=CORE|none]\n",
		to);
	return status;
}

static int number(const char *text, int low, int high, int *ret)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < low || v > high)
		return -EINVAL;
	*ret = (int)v;
	return 0;
}

static int read_option(const char *arg, struct options *o)
{
	if (strncmp(arg, "--tasks=", 8) == 0)
		return number(arg + 8, 1, 1000000, &o->tasks);
	if (strncmp(arg, "--parallelism=", 14) == 0)
		return number(arg + 14, 1, 1000, &o->parallelism);
	if (strncmp(arg, "--rounds=", 9) == 0)
		return number(arg + 9, 1, ROUNDS_MAX, &o->rounds);
	if (strcmp(arg, "--hit=none") == 0) {
		o->hit = -1;
		return 0;
	}
	if (strncmp(arg, "--hit=", 6) == 0)
		return number(arg + 6, 0, TASKS_CORES_MAX - 1, &o->hit);
	if (strncmp(arg, "--kernel=", 9) == 0)
		for (int k = 0; k < N_KERNELS; k++)
			if (strcmp(arg + 9, kernel_name[k]) == 0) {
				o->kernel = k;
				return 0;
			}
	return -EINVAL;
}

/* One task, then layers whose first task is critical and releases the next. */
static void make_layers(const struct options *o, struct tasks_task *task, int *child)
{
	int n = 1, critical = 0;

	task[0] = (struct tasks_task){.type = kernel_name[o->kernel], .high = true};
	while (n < o->tasks) {
		int first = n;

		task[critical].first_child = n - 1;
		for (int j = 0; j < o->parallelism && n < o->tasks; j++, n++) {
			task[n] = (struct tasks_task){
				.type = kernel_name[o->kernel], .high = j == 0, .n_before = 1};
			child[n - 1] = n;
			task[critical].n_children++;
		}
		critical = first;
	}
}

static int measure(const struct options *o, const struct topo *t, const struct tasks_graph *g,
	double *rate, double *on_hit, struct errbuf *err)
{
	for (int k = 0; k < o->rounds; k++)
		for (int p = 0; p < N_POLICIES; p++) {
			struct tasks_result r;
			int rc;

			for (int i = 0; i < o->tasks; i++)
				atomic_store(&data.block[i], 0);
			/* No core is faster than another by its make: das-fa takes all in turn. */
			rc = tasks_run(g, policies[p], t, &t->all, (uint64_t)k + 1, &r, err);
			if (rc)
				return rc;
			rate[p * o->rounds + k] = o->tasks / r.seconds;
			if (o->hit >= 0)
				on_hit[p] += (double)r.high_on_core[o->hit] / r.n_high / o->rounds;
		}
	return 0;
}

static void print_results(
	const struct options *o, const struct topo *t, const double *rate, const double *on_hit)
{
	printf("{\"bench\": \"dag\", \"provenance\": \"measured\", \"kernel\": \"%s\", \"cores\": "
	       "%d, "
	       "\"tasks\": %d, \"parallelism\": %d, \"rounds\": %d, \"hit\": %d, \"results\": [",
		kernel_name[o->kernel], t->n_cores, o->tasks, o->parallelism, o->rounds, o->hit);
	for (int p = 0; p < N_POLICIES; p++) {
		struct interval r = stats_mean(rate + (size_t)p * (size_t)o->rounds, o->rounds, 1);
		struct interval g =
			stats_gain(rate + (size_t)p * (size_t)o->rounds, rate, o->rounds, 1);

		printf("%s\n {\"policy\": \"%s\", \"tasks_per_s\": %.1f, \"ratio\": %.4f, "
		       "\"ratio_lo\": %.4f, \"ratio_hi\": %.4f",
			p ? "," : "", policies[p], r.mean, 1 + g.mean, 1 + g.low, 1 + g.high);
		if (o->hit >= 0)
			printf(", \"critical_on_hit\": %.4f", on_hit[p]);
		if (strcmp(policies[p], "das-dam-c") == 0)
			printf(", \"paper_ratio_at_most\": 3.5");
		printf("}");
	}
	printf("]}\n");
}

static int run_all(const struct options *o, const struct topo *t, struct errbuf *err)
{
	size_t size = SLOTS * slot_size((enum kernel)o->kernel), n = (size_t)o->tasks;
	struct tasks_task *task = calloc(n, sizeof(*task));
	int *child = calloc(n, sizeof(*child)), rc = 0;
	double *rate = calloc((size_t)o->rounds * N_POLICIES, sizeof(*rate));
	double on_hit[N_POLICIES] = {0};
	struct tasks_graph g = {o->tasks, task, child, run_task, NULL};
	pid_t beside = -1;

	data.kernel = (enum kernel)o->kernel;
	data.block = calloc(n, sizeof(*data.block));
	data.in = calloc(size, sizeof(float));
	data.in2 = calloc(size, sizeof(float));
	data.out = calloc(size, sizeof(float));
	if (!task || !child || !rate || !data.block || !data.in || !data.in2 || !data.out)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc) {
		for (size_t i = 0; i < size; i++)
			data.in[i] = data.in2[i] = (float)(i % 7);
		make_layers(o, task, child);
		if (o->hit >= 0) {
			beside = start_interference(coreset_next(&t->core[o->hit].pus, 0));
			if (beside < 0)
				rc = err_set(err, -errno, "fork: %s", strerror(errno));
		}
	}
	if (!rc)
		rc = measure(o, t, &g, rate, on_hit, err);
	if (beside > 0) {
		/* Gone before its time: it was never there. */
		if (waitpid(beside, NULL, WNOHANG) != 0 && !rc)
			rc = err_set(err, -ECHILD, "the program beside ours did not run");
		kill(beside, SIGKILL);
		waitpid(beside, NULL, 0);
	}
	if (!rc)
		print_results(o, t, rate, on_hit);
	free(task);
	free(child);
	free(rate);
	free(data.block);
	free(data.in);
	free(data.in2);
	free(data.out);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = {.tasks = 2000, .parallelism = 2, .rounds = 16};
	struct errbuf err = {""};
	struct topo *t = NULL;
	int rc;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return usage(stdout, 0);
		if (read_option(argv[i], &o)) {
			fprintf(stderr, "dag: %s: not understood\n", argv[i]);
			return usage(stderr, 2);
		}
	}
	rc = topo_load(&t, NULL, &err);
	if (!rc && o.hit >= t->n_cores)
		rc = err_set(
			&err, -EINVAL, "--hit=%d: cores 0 to %d are here", o.hit, t->n_cores - 1);
	if (!rc)
		rc = run_all(&o, t, &err);
	topo_free(t);
	if (rc)
		fprintf(stderr, "dag: %s\n", err.text);
	return rc ? 1 : 0;
}
