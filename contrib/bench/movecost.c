/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * movecost - what a move of a step costs its mover, by threads' masks and by the cpuset: processor
 * time of one apply() on a true cgroup v1 tree of its own, with a true ledger. One JSON object on
 * stdout. Needs root and two CPUs; a step of 1, 100 and 1000 sleeping threads moves between them.
 *
 * By masks "look_us" is what a look costs that finds nothing to do, as at each tick.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/out.h"
#include "nodesvc/actuate/actuate.h"
#include "nodesvc/record/ledger.h"
#include "tests/live/step_fixture.h"

#define MOVES 40

static const char STEP[] = "uid_0/job_1/step_0";
static char top[64];
static struct errbuf err;

static void die(const char *what)
{
	fprintf(stderr, "movecost: %s: %s\n", what, err.text);
	step_tree_sweep(top);
	exit(1);
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* A task with @threads threads in the step. */
static pid_t start_task(int threads)
{
	char path[300], text[32], c;
	int ready[2];
	pid_t pid;

	if (pipe(ready) < 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		FILE *f;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(path, sizeof(path), "/sys/fs/cgroup/cpuset/%s/%s/tasks", top, STEP);
		snprintf(text, sizeof(text), "%d", (int)getpid());
		f = fopen(path, "w");
		if (!f || fputs(text, f) < 0 || fclose(f) != 0)
			_exit(1);
		for (int i = 1; i < threads; i++) {
			pthread_t t;

			if (pthread_create(&t, NULL, sleeper, NULL))
				_exit(1);
		}
		while (cpu_us() < 1e5) /* who has hardly run is not moved */
			;
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		sleeper(NULL);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("the task");
	close(ready[0]);
	return pid;
}

static void measure(const char *store, bool by_masks, int threads, double *ret_us, double *ret_look)
{
	static const struct coreset set[2] = {{{1}}, {{2}}};
	struct coreset all = {{3}};
	struct fsroot root;
	struct ledger *ledger;
	struct actuate *act;
	const struct actuate_ops *ops;
	struct step_cgroup step;
	struct actuate_result result;
	double began;
	pid_t pid;

	step_tree_make(top, "0-1");
	pid = start_task(threads);
	if (fsroot_open(&root, NULL, &err) < 0 || ledger_open(&ledger, store, "boot", &err) < 0 ||
		actuate_open(&act, &root, ledger, &all, &err) < 0)
		die("open");
	actuate_by_masks(act, by_masks);
	ops = actuate_get_ops(act);
	if (ops->locate(act, pid, &step, &err) < 0 ||
		ops->apply(act, &step, &set[0], &result, &err) < 0)
		die("the first move");
	began = cpu_us();
	for (int i = 1; i <= MOVES; i++) {
		if (ops->apply(act, &step, &set[i % 2], &result, &err) < 0)
			die("a move");
		/* What a move had no time for counts, too. */
		while (!actuate_look(act, INT64_C(1000000000)))
			;
	}
	*ret_us = (cpu_us() - began) / MOVES;
	began = cpu_us();
	for (int i = 0; i < MOVES; i++) {
		usleep(20000);
		actuate_look(act, INT64_C(1000000000));
	}
	*ret_look = (cpu_us() - began) / MOVES;
	if (ops->restore(act, &step, &err) < 0)
		die("restore");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	actuate_close(act);
	ledger_close(ledger);
	fsroot_close(&root);
	step_tree_sweep(top);
}

int main(int argc, char **argv)
{
	static const int sizes[] = {1, 100, 1000};
	const char *why = step_tree_why_not();
	char dir[] = "/tmp/coloc-movecost.XXXXXX", store[64];

	(void)argv;
	out_check_at_exit("movecost");
	if (argc > 1) {
		fprintf(stderr, "usage: movecost\n");
		return 2;
	}
	if (why) {
		fprintf(stderr, "movecost: %s\n", why);
		return 77;
	}
	if (!mkdtemp(dir))
		return 1;
	snprintf(store, sizeof(store), "%s/ledger.db", dir);
	snprintf(top, sizeof(top), "slurm_movecost%d", (int)getpid());
	printf("{\"bench\": \"movecost\", \"provenance\": \"measured\", \"results\": [");
	for (int i = 0; i < 3; i++) {
		double masks, cpuset, look, none;

		measure(store, false, sizes[i], &cpuset, &none);
		measure(store, true, sizes[i], &masks, &look);
		printf("%s\n {\"threads\": %d, \"moves\": %d, \"cpuset_us\": %.0f, "
		       "\"masks_us\": %.0f, \"look_us\": %.1f}",
			i ? "," : "", sizes[i], MOVES, cpuset, masks, look);
	}
	printf("]}\n");
	unlink(store);
	for (const char *const *end = (const char *const[]){"-wal", "-shm", NULL}; *end; end++) {
		char path[80];

		snprintf(path, sizeof(path), "%s%s", store, *end);
		unlink(path);
	}
	rmdir(dir);
	return 0;
}
