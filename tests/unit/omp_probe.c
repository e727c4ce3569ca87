/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * omp_probe - OpenMP programs of every habit, for test_omp.sh: "omp_probe HABIT" prints the team
 * sizes it saw, or fails when its work was not all done. It is built by whatever compiler is there,
 * and knows nothing of coloc. SIGUSR1 to its parent changes the grant.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define N 10007

static int team(void)
{
	int n = 0;

#pragma omp parallel
#pragma omp single
	n = omp_get_num_threads();
	return n;
}

static sigset_t granted;

/* The parent grants what is next, and says so. */
static void change(void)
{
	kill(getppid(), SIGUSR1);
	sigtimedwait(&granted, NULL, &(struct timespec){.tv_sec = 30});
}

static void habit_open(void)
{
	for (int i = 0; i < 3; i++) {
		printf("%d\n", team());
		if (i < 2)
			change();
	}
}

/* Two threads, each of which starts regions. */
static void habit_many(void)
{
#pragma omp parallel for num_threads(2)
	for (int t = 0; t < 2; t++)
		for (int i = 0; i < 2000; i++)
			team();
	for (int i = 0; i < 5000; i++)
		team();
}

static void habit_clause(void)
{
	int n = 0, k = 3;

#pragma omp parallel num_threads(k)
#pragma omp single
	n = omp_get_num_threads();
	printf("%d\n", n);
	/* A clause holds for one region. */
	printf("%d\n", team());
#pragma omp parallel if (k < 0)
#pragma omp single
	n = omp_get_num_threads();
	printf("%d\n", n);
}

static void habit_set(void)
{
	printf("%d\n", team());
	omp_set_num_threads(3);
	printf("%d %d\n", team(), omp_get_max_threads());
}

static void habit_nested(void)
{
	int outer = 0, inner = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel
#pragma omp master
	{
		outer = omp_get_num_threads();
#pragma omp parallel
#pragma omp single
		inner = omp_get_num_threads();
	}
	printf("%d %d\n", outer, inner);
}

/* The trap: work cut outside by omp_get_max_threads(), done inside by thread number. */
static int cut_once(int parts)
{
	static int done[N];
	int missing = 0;

	memset(done, 0, sizeof(done));
#pragma omp parallel
	{
		int t = omp_get_thread_num();

		if (t < parts)
			for (long i = (long)N * t / parts; i < (long)N * (t + 1) / parts; i++)
				done[i]++;
	}
	for (int i = 0; i < N; i++)
		missing += done[i] != 1;
	return missing;
}

/* Asks before each region. */
static void habit_cut(void)
{
	int missing = 0, seen[3] = {0};

	for (int i = 0; i < 3; i++) {
		seen[i] = omp_get_max_threads();
		missing += cut_once(seen[i]);
		if (i < 2)
			change();
	}
	printf("%d %d %d missing %d\n", seen[0], seen[1], seen[2], missing);
	exit(missing != 0);
}

/* Asks once, and the grant changes between asking and each region. */
static void habit_cached(void)
{
	int parts = omp_get_max_threads(), missing = 0;

	for (int i = 0; i < 3; i++) {
		missing += cut_once(parts);
		kill(getppid(), SIGUSR1);
		for (int k = 0; k < 30; k++) {
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
			missing += cut_once(parts);
		}
	}
	printf("%d missing %d\n", parts, missing);
	exit(missing != 0);
}

/* Every kind of region that compilers start. */
static void habit_kinds(void)
{
	int size[8] = {0};
	long sum = 0;

#pragma omp parallel for schedule(static, 4)
	for (int i = 0; i < N; i++)
		size[0] = omp_get_num_threads();
#pragma omp parallel for schedule(dynamic, 4)
	for (int i = 0; i < N; i++)
		size[1] = omp_get_num_threads();
#pragma omp parallel for schedule(guided, 4)
	for (int i = 0; i < N; i++)
		size[2] = omp_get_num_threads();
#pragma omp parallel for schedule(runtime)
	for (int i = 0; i < N; i++)
		size[3] = omp_get_num_threads();
#pragma omp parallel for schedule(monotonic : dynamic, 4)
	for (int i = 0; i < N; i++)
		size[4] = omp_get_num_threads();
#pragma omp parallel sections
	{
#pragma omp section
		size[5] = omp_get_num_threads();
#pragma omp section
		sum = 0;
#pragma omp section
		size[7] = 0;
	}
#pragma omp parallel reduction(task, + : sum)
	{
#pragma omp single
		size[6] = omp_get_num_threads();
#pragma omp task in_reduction(+ : sum)
		sum++;
	}
	for (int i = 0; i < 7; i++)
		printf("%d ", size[i]);
	printf("%s\n", sum == size[6] ? "all" : "lost");
}

/* A fine-grained loop: what a region costs. */
static void habit_cost(void)
{
	struct timespec a, b;
	const char *text = getenv("OMP_PROBE_REGIONS");
	const int regions = text ? atoi(text) : 20000;
	static int x[64];

	team();
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < regions; i++) {
#pragma omp parallel
		x[omp_get_thread_num() % 64]++;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%.1f\n",
		((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / regions);
}

/* Prints the size at each change, for a minute. */
static void habit_watch(void)
{
	int last = 0;

	for (int i = 0; i < 3000; i++) {
		int n = team();

		if (n != last)
			printf("%d\n", n);
		fflush(stdout);
		last = n;
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
}

static int n_threads_now(void)
{
	struct dirent *e;
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	while (d && (e = readdir(d)))
		n += *e->d_name != '.';
	if (d)
		closedir(d);
	return n;
}

/* Regions of two threads on one CPU; prints how often one of them slept: hardly ever while they
 * spin for each other, for then the kernel has to take the CPU from them. */
static void sleeps(const char *when)
{
	struct rusage before, after;
	int n = 0;

	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 30; i++) {
#pragma omp parallel num_threads(2)
#pragma omp atomic
		n++;
	}
	getrusage(RUSAGE_SELF, &after);
	if (*when)
		printf("%s %s\n", n == 60 ? when : "lost",
			after.ru_nvcsw - before.ru_nvcsw < 15 ? "spin" : "sleep");
}

/* Until there are more threads than @n (@more), or no more than that; half a minute at most. */
static void await(int n, int more)
{
	const char *text = getenv("OMP_PROBE_TRIES");
	const int tries = text ? atoi(text) : 3000;

	for (int i = 0; i < tries && (n_threads_now() > n) != more; i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* A size that the program gives, and a grant below it. */
static void habit_waits(void)
{
	cpu_set_t set;
	int n;

	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0, found = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set) && found++)
			CPU_CLR(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
	sleeps("wide");
	n = n_threads_now();
	change();
	sleeps("");
	await(n, 1);
	sleeps("narrow");
	change();
	sleeps("");
	await(n, 0);
	sleeps("wide");
	printf("%s\n", n_threads_now() == n ? "as before" : "threads left");
}

/* The same where nobody ever grants anything. */
static void habit_waits_alone(void)
{
	sleeps("");
	await(2, 1); /* the program's own two */
	sleeps("narrow");
}

static void habit_procs(void)
{
	printf("%d\n", omp_get_num_procs());
}

/* Regions of two threads; prints at each change how many threads there are, for a minute. */
static void habit_given(void)
{
	int last = 0, shown = 0, n = 0, same = 0;

	for (int i = 0; i < 3000; i++) {
		int k = 0;

#pragma omp parallel num_threads(2)
#pragma omp atomic
		k++;
		last = n;
		n = n_threads_now();
		/* For a while the same: some live for a moment only, longer where others run. */
		same = n == last ? same + 1 : 0;
		if (k == 2 && same >= 5 && n != shown) {
			printf("%d\n", n);
			fflush(stdout);
			shown = n;
		}
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} habits[] = {
		{"open", habit_open},
		{"many", habit_many},
		{"clause", habit_clause},
		{"set", habit_set},
		{"nested", habit_nested},
		{"cut", habit_cut},
		{"cached", habit_cached},
		{"kinds", habit_kinds},
		{"cost", habit_cost},
		{"watch", habit_watch},
		{"waits", habit_waits},
		{"waits-alone", habit_waits_alone},
		{"procs", habit_procs},
		{"given", habit_given},
	};

	/* Before any thread: they inherit it. */
	sigemptyset(&granted);
	sigaddset(&granted, SIGUSR2);
	sigprocmask(SIG_BLOCK, &granted, NULL);
	for (size_t i = 0; argc == 2 && i < sizeof(habits) / sizeof(habits[0]); i++)
		if (strcmp(argv[1], habits[i].name) == 0) {
			habits[i].run();
			return 0;
		}
	fprintf(stderr, "usage: omp_probe HABIT\n");
	return 2;
}
