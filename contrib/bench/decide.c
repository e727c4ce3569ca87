/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decide - how long one decision takes, per policy, number of jobs and number of domains, and how
 * often it allocates (it must not).
 *
 * Every decision sees new samples; every fourth one a job has ended and another come. What a plan
 * says is where jobs run in the next view, experiments are answered. malloc and friends of the
 * engine are counted by the linker's --wrap.
 *
 * p50_us and p99_us are the thread's own CPU time, so that a busy neighbour on the machine does
 * not count; wall_p99_us is what a clock on the wall saw of the same decisions.
 */
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesvc/engine/engine.h"

#define WARM_UP    20
#define MAX_JOBS   256
#define MAX_EVENTS 64

static long allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	allocations++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	allocations++;
	return __real_realloc(p, size);
}

static uint64_t random_state = 1;

static double rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) * 0x1p-53;
}

struct world {
	struct view view;
	struct view_job job[MAX_JOBS];
	char id[MAX_JOBS][24], type[MAX_JOBS][24];
	struct event event[MAX_EVENTS];
	struct coreset fast;
	uint64_t serial;
};

static void new_job(struct world *w, int i)
{
	struct view_job *j = &w->job[i];

	snprintf(w->id[i], sizeof(w->id[i]), "%llu.0", (unsigned long long)w->serial);
	snprintf(w->type[i], sizeof(w->type[i]), "program%llu",
		(unsigned long long)(w->serial % 16));
	*j = (struct view_job){
		.id = w->id[i],
		.type = w->type[i],
		.order = (int64_t)w->serial,
		.threads = 8,
		.home_numa = -1,
		.rss_bytes = -1,
		.core = -1,
		.nodes = 1,
		.has_priority = true,
		.priority_high = w->serial % 4 == 0,
	};
	w->serial++;
}

static void new_samples(struct world *w)
{
	for (int i = 0; i < w->view.n_jobs; i++) {
		for (int s = 0; s < SIGNAL_COUNT; s++) {
			bool ratio = s == SIGNAL_UTILIZATION || s == SIGNAL_LLC_MISS_RATIO;

			w->job[i].signal[s].value = ratio ? rnd() : 1e9 * rnd();
			w->job[i].signal[s].provenance = PROVENANCE_HW;
		}
		w->job[i].sample_no++;
	}
	w->view.now_s += 0.25;
}

/* The plan is carried out and its experiments answered with an Amdahl curve. */
static void carry_out(struct world *w, const struct plan *p)
{
	w->view.n_events = 0;
	for (int i = 0; i < p->n_jobs; i++)
		w->job[i].current = p->job[i].coreset;
	for (int e = 0; e < p->n_experiments && e < PLAN_EXPERIMENTS_MAX; e++) {
		const struct plan_experiment *x = &p->experiment[e];
		double serial = 0.02 + 0.1 * (double)(x->job % 4);

		w->event[w->view.n_events++] = (struct event){
			.type = EVENT_EXPERIMENT_RESULT,
			.job = w->job[x->job].id,
			.cores = x->cores,
			.speed = 1e9 / (serial + (1 - serial) / x->cores),
		};
	}
}

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
	double p50_us, p99_us, wall_p99_us;
	long allocations;
};

static int measure(const char *spec, int jobs, int sockets, int n, struct result *ret)
{
	static struct world w;
	static double us[100000], wall_us[100000];
	int cores = jobs / sockets > 8 ? jobs / sockets : 8;
	struct policy_cfg cfg = {.max_jobs = jobs};
	struct errbuf err = {""};
	struct engine *e = NULL;
	struct topo *t = NULL;
	struct plan plan;
	char source[64];
	int rc = 0;

	snprintf(source, sizeof(source), "pack:%d l3:1 core:%d pu:1", sockets, cores);
	if (topo_load(&t, source, &err)) {
		fprintf(stderr, "decide: %s\n", err.text);
		return 1;
	}
	cfg.topo = t;
	if (engine_create(&e, spec, &cfg, &err) || plan_init(&plan, jobs, &err)) {
		fprintf(stderr, "decide: %s\n", err.text);
		engine_free(e);
		topo_free(t);
		return 1;
	}
	memset(&w, 0, sizeof(w));
	w.view.seed = 1;
	w.view.job = w.job;
	w.view.n_jobs = jobs;
	w.view.event = w.event;
	coreset_add_range(&w.fast, 0, 3);
	w.view.fast_cores = &w.fast;
	for (int i = 0; i < jobs; i++)
		new_job(&w, i);
	ret->allocations = 0;
	for (int i = -WARM_UP; i < n && rc == 0; i++) {
		int64_t start, wall;
		long before;

		if (i % 4 == 0)
			new_job(&w, (int)(rnd() * jobs));
		new_samples(&w);
		before = allocations;
		wall = now_ns(CLOCK_MONOTONIC);
		start = now_ns(CLOCK_THREAD_CPUTIME_ID);
		rc = engine_decide(e, &w.view, &plan, &err);
		if (i >= 0) {
			us[i] = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / 1e3;
			wall_us[i] = (double)(now_ns(CLOCK_MONOTONIC) - wall) / 1e3;
			ret->allocations += allocations - before;
		}
		carry_out(&w, &plan);
	}
	if (rc)
		fprintf(stderr, "decide: %s, %d jobs, %d sockets: %s\n", spec, jobs, sockets,
			err.text);
	qsort(us, (size_t)n, sizeof(double), by_value);
	qsort(wall_us, (size_t)n, sizeof(double), by_value);
	ret->wall_p99_us = wall_us[n - 1 - n / 100];
	ret->p50_us = us[n / 2];
	ret->p99_us = us[n - 1 - n / 100];
	plan_done(&plan);
	engine_free(e);
	topo_free(t);
	return rc ? 1 : 0;
}

static int usage(FILE *f, int rc)
{
	fputs("Usage: decide [--json] [--policy=NAME] [--jobs=N] [--sockets=N] [--decisions=N]\n"
	      "Times decisions of every policy that runs on a node: 4 to 256 jobs on 1 to 16\n"
	      "sockets of 8 cores or more. Without --json: a table.\n",
		f);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"policy", required_argument, NULL, 'p'},
		{"jobs", required_argument, NULL, 'n'},
		{"sockets", required_argument, NULL, 's'},
		{"decisions", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static const int all_jobs[] = {4, 8, 16, 32, 64, 128, 256};
	static const int all_sockets[] = {1, 2, 4, 8, 16};
	int jobs = 0, sockets = 0, decisions = 400, c, rc = 0;
	const char *policy = NULL; /* NAME or NAME,key=value */
	const struct policy_ops *only = NULL;
	bool json = false, first = true;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'p':
			policy = optarg;
			break;
		case 'n':
			jobs = atoi(optarg);
			break;
		case 's':
			sockets = atoi(optarg);
			break;
		case 'd':
			decisions = atoi(optarg);
			break;
		default:
			return usage(c == 'h' ? stdout : stderr, c == 'h' ? 0 : 2);
		}
	if (policy) {
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(policy, ","), policy);
		only = policy_find(name);
	}
	if (jobs < 0 || jobs > MAX_JOBS || sockets < 0 || sockets > 64 || decisions < 100 ||
		decisions > 100000 || (policy && !only) || optind < argc)
		return usage(stderr, 2);
	if (json)
		printf("{\"bench\": \"decide\", \"provenance\": \"measured\", \"results\": [");
	else
		printf("%-12s %5s %8s %9s %9s %11s %12s\n", "policy", "jobs", "sockets", "p50_us",
			"p99_us", "wall_p99_us", "allocations");
	for (int p = 0; policy_registry[p]; p++)
		for (int n = 0; n < 7; n++)
			for (int s = 0; s < 5; s++) {
				const struct policy_ops *ops = policy_registry[p];
				struct result r = {0};

				if (!ops->on_node || (only && ops != only) ||
					(jobs && jobs != all_jobs[n]) ||
					(sockets && sockets != all_sockets[s]))
					continue;
				if (measure(policy ? policy : ops->name, all_jobs[n],
					    all_sockets[s], decisions, &r)) {
					rc = 1;
					continue;
				}
				if (json)
					printf("%s\n{\"policy\": \"%s\", \"jobs\": %d, "
					       "\"sockets\": %d, \"p50_us\": %.2f, \"p99_us\": "
					       "%.2f, \"wall_p99_us\": %.2f, \"allocations\": %ld}",
						first ? "" : ",", ops->name, all_jobs[n],
						all_sockets[s], r.p50_us, r.p99_us, r.wall_p99_us,
						r.allocations);
				else
					printf("%-12s %5d %8d %9.2f %9.2f %11.2f %12ld\n",
						ops->name, all_jobs[n], all_sockets[s], r.p50_us,
						r.p99_us, r.wall_p99_us, r.allocations);
				first = false;
			}
	if (json)
		printf("\n]}\n");
	return rc;
}
