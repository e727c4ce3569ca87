/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dag - the synthetic graph of the Dynamic Asymmetry Scheduler's paper (Chen et al., ICPP
 * Workshops 2020, section 4.2.2) on the cores that this program may use, under all seven das-*
 * policies, with a program beside it on its first core. Prints JSON: tasks per second and the ratio
 * to das-rws, paired by round, with a 95 % bootstrap interval.
 *
 * The paper's text gives one ratio to das-rws: das-dam-c up to 3.5, on a Jetson TX2.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/err.h"
#include "nodesvc/sim/stats.h"
#include "nodesvc/tasks/coloc_tasks.h"

#define TILE       64
#define GRID       1024 /* of copy and stencil */
#define BLOCKS     8
#define ROUNDS_MAX 10000
#define CPUS_MAX   1024

static const char *const policies[] = {
	"das-rws", "das-rwsm-c", "das-fa", "das-fam-c", "das-da", "das-dam-c", "das-dam-p"};
#define N_POLICIES ((int)(sizeof(policies) / sizeof(policies[0])))

enum kernel { MATMUL, COPY, STENCIL, N_KERNELS };
static const char *const kernel_name[] = {"matmul", "copy", "stencil"};
/* Section 4.2.2. */
static const int kernel_tasks[] = {32000, 10000, 20000};

static struct {
	enum kernel kernel;
	int slots;         /* sets of data: tasks that run at once have their own */
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

/* Members take blocks until none is left, as XiTAO's kernels do. */
static void run_task(void *arg, int member, int width)
{
	atomic_int *block = arg;
	size_t at = (size_t)((block - data.block) % data.slots) * slot_size(data.kernel);
	int rows = data.kernel == MATMUL ? TILE : GRID, b;

	(void)member;
	(void)width;
	while ((b = atomic_fetch_add(block, 1)) < BLOCKS) {
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
	int tasks; /* 0: as the paper has it for the kernel */
	int parallelism, rounds, kernel, hit;
	const char *with; /* added to each policy */
};

static int usage(FILE *to, int status)
{
	fputs("usage: dag [--tasks=N] [--parallelism=N] [--rounds=N] [--kernel=matmul|copy|stencil]"
	      " [--hit=CORE|none] [--with=KEY=VALUE,...]\n",
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
		return number(arg + 6, 0, CPUS_MAX - 1, &o->hit);
	if (strncmp(arg, "--with=", 7) == 0) {
		o->with = arg + 7;
		return *o->with ? 0 : -EINVAL;
	}
	if (strncmp(arg, "--kernel=", 9) == 0)
		for (int k = 0; k < N_KERNELS; k++)
			if (strcmp(arg + 9, kernel_name[k]) == 0) {
				o->kernel = k;
				return 0;
			}
	return -EINVAL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct coloc_task *add(
	struct coloc_tasks *p, int i, bool critical, struct coloc_task *before)
{
	struct coloc_task *t = coloc_task_new(p, kernel_name[data.kernel],
		critical ? COLOC_TASK_CRITICAL : 0, run_task, &data.block[i]);

	return t && before && coloc_task_after(t, before) ? NULL : t;
}

/* One task, then layers whose first task is critical and releases the next. The very first is
 * handed in last, so that all others are there when it begins. NULL: out of memory. */
static struct coloc_task *make_layers(const struct options *o, struct coloc_tasks *p)
{
	struct coloc_task *first = add(p, 0, true, NULL), *critical = first;
	int n = 1;

	while (first && n < o->tasks) {
		struct coloc_task *before = critical;

		for (int j = 0; j < o->parallelism && n < o->tasks; j++, n++) {
			struct coloc_task *t = add(p, n, j == 0, before);

			if (!t)
				return NULL;
			coloc_task_submit(t);
			critical = j == 0 ? t : critical;
		}
	}
	return first;
}

static int run_policy(const struct options *o, const char *policy, int round, double *rate,
	double *on_hit, struct errbuf *err)
{
	struct coloc_task *first;
	struct coloc_tasks *p;
	char spec[256], why[256];
	int cpu[CPUS_MAX], n, rc;
	double begin;

	/* No core is faster than another by its make: das-fa takes all in turn. */
	snprintf(spec, sizeof(spec), "%s,fast=all,seed=%d%s%s", policy, round + 1,
		o->with ? "," : "", o->with ? o->with : "");
	rc = coloc_tasks_open(&p, spec, why, sizeof(why));
	if (rc)
		return err_set(err, rc, "%s", why);
	for (int i = 0; i < o->tasks; i++)
		atomic_store(&data.block[i], 0);
	n = coloc_tasks_cpus(p, cpu, CPUS_MAX);
	first = make_layers(o, p);
	/* What was handed in waits for the first: without it nobody could be waited for. */
	if (!first) {
		fprintf(stderr, "dag: out of memory\n");
		exit(1);
	}
	begin = now();
	coloc_task_submit(first);
	coloc_tasks_wait(p);
	*rate = o->tasks / (now() - begin);
	if (o->hit >= 0 && o->hit < n)
		*on_hit += (double)coloc_tasks_count(p, COLOC_TASKS_ENDED_CRITICAL, cpu[o->hit]) /
			   (double)coloc_tasks_count(p, COLOC_TASKS_ENDED_CRITICAL, -1) / o->rounds;
	coloc_tasks_close(p);
	return 0;
}

static int measure(const struct options *o, double *rate, double *on_hit, struct errbuf *err)
{
	for (int k = 0; k < o->rounds; k++)
		for (int p = 0; p < N_POLICIES; p++) {
			int rc = run_policy(
				o, policies[p], k, &rate[p * o->rounds + k], &on_hit[p], err);

			if (rc)
				return rc;
		}
	return 0;
}

static void print_results(
	const struct options *o, int n_cores, const double *rate, const double *on_hit)
{
	printf("{\"bench\": \"dag\", \"provenance\": \"measured\", \"kernel\": \"%s\", \"cores\": "
	       "%d, "
	       "\"tasks\": %d, \"parallelism\": %d, \"rounds\": %d, \"hit\": %d, \"results\": [",
		kernel_name[o->kernel], n_cores, o->tasks, o->parallelism, o->rounds, o->hit);
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

static int run_all(const struct options *o, const int *cpu, int n_cores, struct errbuf *err)
{
	size_t size, n = (size_t)o->tasks;
	double *rate = calloc((size_t)o->rounds * N_POLICIES, sizeof(*rate));
	double on_hit[N_POLICIES] = {0};
	pid_t beside = -1;
	int rc = 0;

	data.kernel = (enum kernel)o->kernel;
	data.slots = 2 * n_cores > 8 ? 2 * n_cores : 8;
	size = (size_t)data.slots * slot_size(data.kernel);
	data.block = calloc(n, sizeof(*data.block));
	data.in = calloc(size, sizeof(float));
	data.in2 = calloc(size, sizeof(float));
	data.out = calloc(size, sizeof(float));
	if (!rate || !data.block || !data.in || !data.in2 || !data.out)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc) {
		for (size_t i = 0; i < size; i++)
			data.in[i] = data.in2[i] = (float)(i % 7);
		if (o->hit >= 0) {
			beside = start_interference(cpu[o->hit]);
			if (beside < 0)
				rc = err_set(err, -errno, "fork: %s", strerror(errno));
		}
	}
	if (!rc)
		rc = measure(o, rate, on_hit, err);
	if (beside > 0) {
		/* Gone before its time: it was never there. */
		if (waitpid(beside, NULL, WNOHANG) != 0 && !rc)
			rc = err_set(err, -ECHILD, "the program beside ours did not run");
		kill(beside, SIGKILL);
		waitpid(beside, NULL, 0);
	}
	if (!rc)
		print_results(o, n_cores, rate, on_hit);
	free(rate);
	free(data.block);
	free(data.in);
	free(data.in2);
	free(data.out);
	return rc;
}

/* The cores that the library would use. */
static int find_cores(int cpu[CPUS_MAX], int *ret_n, struct errbuf *err)
{
	struct coloc_tasks *p;
	char why[256];
	int rc = coloc_tasks_open(&p, "das-rws", why, sizeof(why));

	if (rc)
		return err_set(err, rc, "%s", why);
	*ret_n = coloc_tasks_cpus(p, cpu, CPUS_MAX);
	coloc_tasks_close(p);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.parallelism = 2, .rounds = 16};
	struct errbuf err = {""};
	int cpu[CPUS_MAX], n = 0, rc;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return usage(stdout, 0);
		if (read_option(argv[i], &o)) {
			fprintf(stderr, "dag: %s: not understood\n", argv[i]);
			return usage(stderr, 2);
		}
	}
	o.tasks = o.tasks > 0 ? o.tasks : kernel_tasks[o.kernel];
	rc = find_cores(cpu, &n, &err);
	if (!rc && o.hit >= n)
		rc = err_set(&err, -EINVAL, "--hit=%d: cores 0 to %d are here", o.hit, n - 1);
	if (!rc)
		rc = run_all(&o, cpu, n, &err);
	if (rc)
		fprintf(stderr, "dag: %s\n", err.text);
	return rc ? 1 : 0;
}
