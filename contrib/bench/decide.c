/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decide - how long one decision takes, per policy, number of jobs and number of domains, and how
 * often it allocates (it must not).
 *
 * The jobs are those of tests/unit/busy_node.h. p50_us and p99_us are the thread's own CPU time, so
 * that a busy neighbour on the machine does not count, other than by the caches and by interrupts;
 * wall_p99_us is what a clock on the wall saw of the same decisions. The process stays on one CPU.
 *
 * Foreign cpu time and steal are measured over all figures of one policy. Above 2 % of a core the
 * policy is measured again, five times at most; then its figures are marked disturbed.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/out.h"
#include "contrib/bench/machinetime.h"
#include "contrib/bench/number.h"
#include "tests/unit/busy_node.h"
#include "tests/unit/count_alloc.h"

#define WARM_UP       20
#define MAX_DECISIONS 100000

static const int all_jobs[] = {4, 8, 16, 32, 64, 128, 256};
static const int all_sockets[] = {1, 2, 4, 8, 16};
#define N_JOBS    ((int)(sizeof(all_jobs) / sizeof(all_jobs[0])))
#define N_SOCKETS ((int)(sizeof(all_sockets) / sizeof(all_sockets[0])))

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct result {
	const char *policy;
	int jobs, sockets;
	double p50_us, p99_us, wall_p99_us;
	long allocations;
};

static int decide_often(struct engine *e, int n, struct result *ret, struct errbuf *err)
{
	static struct busy_node b;
	static double us[MAX_DECISIONS], wall_us[MAX_DECISIONS];
	struct plan plan;
	int rc = plan_init(&plan, ret->jobs, err);

	if (rc)
		return rc;
	busy_node_init(&b, ret->jobs);
	ret->allocations = 0;
	for (int i = -WARM_UP; i < n && rc == 0; i++) {
		int64_t start, wall;
		long before;

		busy_node_step(&b);
		before = count_alloc();
		wall = now_ns(CLOCK_MONOTONIC);
		start = now_ns(CLOCK_THREAD_CPUTIME_ID);
		rc = engine_decide(e, &b.view, &plan, err);
		if (i >= 0) {
			us[i] = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / 1e3;
			wall_us[i] = (double)(now_ns(CLOCK_MONOTONIC) - wall) / 1e3;
			ret->allocations += count_alloc() - before;
		}
		busy_node_carry_out(&b, &plan);
	}
	plan_done(&plan);
	if (rc)
		return rc;
	qsort(us, (size_t)n, sizeof(double), by_value);
	qsort(wall_us, (size_t)n, sizeof(double), by_value);
	ret->wall_p99_us = wall_us[n - 1 - n / 100];
	ret->p50_us = us[n / 2];
	ret->p99_us = us[n - 1 - n / 100];
	return 0;
}

static int measure(const char *spec, int n, struct result *ret)
{
	struct policy_cfg cfg = {.max_jobs = ret->jobs};
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct topo *t = NULL;
	char source[64];
	int rc;

	busy_node_topology(ret->jobs, ret->sockets, source, sizeof(source));
	rc = topo_load(&t, source, &err);
	cfg.topo = t;
	if (!rc)
		rc = engine_create(&e, spec, &cfg, &err);
	if (!rc)
		rc = decide_often(e, n, ret, &err);
	if (rc)
		fprintf(stderr, "decide: %s, %d jobs, %d sockets: %s\n", spec, ret->jobs,
			ret->sockets, err.text);
	engine_free(e);
	topo_free(t);
	return rc;
}

struct wish {
	const char *policy; /* NAME or NAME,key=value; NULL all */
	int jobs, sockets;  /* 0 all */
	int decisions, tries;
	bool json;
};

/* What else the machine did while a policy was measured, as parts of one core. */
struct disturbance {
	double foreign, steal;
};

/* All figures of one policy; returns how many, < 0 on an error. */
static int measure_policy(
	const struct wish *w, const char *spec, struct result *ret, struct disturbance *ret_other)
{
	double busy[2], steal[2], elapsed, own;
	int64_t wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int n = 0;

	machine_time(&busy[0], &steal[0]);
	for (int j = 0; j < N_JOBS; j++)
		for (int s = 0; s < N_SOCKETS; s++) {
			struct result *r = &ret[n];

			if ((w->jobs && w->jobs != all_jobs[j]) ||
				(w->sockets && w->sockets != all_sockets[s]))
				continue;
			*r = (struct result){
				.policy = spec, .jobs = all_jobs[j], .sockets = all_sockets[s]};
			if (measure(spec, w->decisions, r))
				return -1;
			n++;
		}
	machine_time(&busy[1], &steal[1]);
	elapsed = (double)(now_ns(CLOCK_MONOTONIC) - wall) / 1e9;
	own = (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e9;
	/* /proc/stat counts in steps of 10 ms. */
	ret_other->foreign = fmax(0, busy[1] - busy[0] - own - 0.02) / elapsed;
	ret_other->steal = (steal[1] - steal[0]) / elapsed;
	return n;
}

static void print_results(
	const struct wish *w, const struct result *r, int n, struct disturbance other, bool *first)
{
	bool disturbed = other.foreign + other.steal > FOREIGN_MAX;

	for (int i = 0; i < n; i++, r++) {
		if (w->json)
			printf("%s\n{\"policy\": \"%s\", \"jobs\": %d, \"sockets\": %d, "
			       "\"p50_us\": %.2f, \"p99_us\": %.2f, \"wall_p99_us\": %.2f, "
			       "\"allocations\": %ld, \"foreign\": %.4f, \"steal\": %.4f, "
			       "\"disturbed\": %s}",
				*first ? "" : ",", r->policy, r->jobs, r->sockets, r->p50_us,
				r->p99_us, r->wall_p99_us, r->allocations, other.foreign,
				other.steal, disturbed ? "true" : "false");
		else
			printf("%-12s %5d %8d %9.2f %9.2f %11.2f %12ld%s\n", r->policy, r->jobs,
				r->sockets, r->p50_us, r->p99_us, r->wall_p99_us, r->allocations,
				disturbed ? "  disturbed" : "");
		*first = false;
	}
	fflush(stdout);
}

static int run_policy(const struct wish *w, const char *spec, bool *first)
{
	struct result now[N_JOBS * N_SOCKETS], best[N_JOBS * N_SOCKETS];
	struct disturbance least = {INFINITY, 0};
	int n = 0;

	for (int i = 0; i < w->tries && least.foreign + least.steal > FOREIGN_MAX; i++) {
		struct disturbance other;

		n = measure_policy(w, spec, now, &other);
		if (n < 0)
			return 1;
		if (i == 0 || other.foreign + other.steal < least.foreign + least.steal) {
			least = other;
			memcpy(best, now, sizeof(best));
		}
	}
	print_results(w, best, n, least, first);
	return 0;
}

/* Moving between CPUs would cost the caches, and be measured. */
static void stay_on_one_cpu(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < 0)
		return;
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fprintf(stderr, "decide: cannot stay on CPU %d: %s, ignoring\n", cpu,
			strerror(errno));
}

static int usage(FILE *f, int rc)
{
	fputs("Usage: decide [--json] [--policy=NAME[,k=v...]] [--jobs=N] [--sockets=N]\n"
	      "              [--decisions=N] [--tries=N]\n"
	      "Times decisions of every policy that runs on a node: 4 to 256 jobs (powers of two)\n"
	      "on 1 to 16 sockets of 8 cores or more. Without --json: a table.\n"
	      "  --decisions=N  for each figure (default 1000)\n"
	      "  --tries=N      measure a policy again while others use the machine (default 5)\n",
		f);
	return rc;
}

static bool is_in(int x, const int *list, int n)
{
	for (int i = 0; i < n; i++)
		if (list[i] == x)
			return true;
	return false;
}

static bool wish_is_sane(const struct wish *w)
{
	char name[32] = "";

	if (w->policy)
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(w->policy, ","), w->policy);
	if (w->policy && !policy_find(name))
		fprintf(stderr, "decide: unknown policy '%s'\n", name);
	else if (w->jobs && !is_in(w->jobs, all_jobs, N_JOBS))
		fprintf(stderr, "decide: --jobs=%d: 4, 8, 16 ... 256 expected\n", w->jobs);
	else if (w->sockets && !is_in(w->sockets, all_sockets, N_SOCKETS))
		fprintf(stderr, "decide: --sockets=%d: 1, 2, 4, 8 or 16 expected\n", w->sockets);
	else if (w->decisions < 100 || w->decisions > MAX_DECISIONS)
		fprintf(stderr, "decide: --decisions=%d: 100 to %d expected\n", w->decisions,
			MAX_DECISIONS);
	else if (w->tries < 1)
		fprintf(stderr, "decide: --tries=%d: 1 or more expected\n", w->tries);
	else
		return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"policy", required_argument, NULL, 'p'},
		{"jobs", required_argument, NULL, 'n'},
		{"sockets", required_argument, NULL, 's'},
		{"decisions", required_argument, NULL, 'd'},
		{"tries", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct wish w = {.decisions = 1000, .tries = DISTURBED_TRIES};
	bool first = true;
	int c, rc = 0;

	out_check_at_exit("decide");
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (c) {
		case 'j':
			w.json = true;
			break;
		case 'p':
			w.policy = optarg;
			break;
		case 'n':
			w.jobs = number_int("--jobs", optarg);
			break;
		case 's':
			w.sockets = number_int("--sockets", optarg);
			break;
		case 'd':
			w.decisions = number_int("--decisions", optarg);
			break;
		case 't':
			w.tries = number_int("--tries", optarg);
			break;
		default:
			return usage(c == 'h' ? stdout : stderr, c == 'h' ? 0 : 2);
		}
	if (optind < argc || !wish_is_sane(&w))
		return usage(stderr, 2);
	stay_on_one_cpu();
	if (w.json)
		printf("{\"bench\": \"decide\", \"provenance\": \"measured\", \"decisions\": %d, "
		       "\"results\": [",
			w.decisions);
	else
		printf("%-12s %5s %8s %9s %9s %11s %12s\n", "policy", "jobs", "sockets", "p50_us",
			"p99_us", "wall_p99_us", "allocations");
	if (w.policy)
		rc = run_policy(&w, w.policy, &first);
	for (int p = 0; policy_registry[p] && !w.policy; p++)
		if (policy_registry[p]->on_node && run_policy(&w, policy_registry[p]->name, &first))
			rc = 1;
	if (w.json)
		printf("\n]}\n");
	return rc;
}
