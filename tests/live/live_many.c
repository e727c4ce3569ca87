/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_many - has many of what a user may have many of, says how many it has, and sleeps.
 *
 *   live_many threads N          N threads
 *   live_many tasks N            N child processes
 *   live_many mappings N P BUSY  P processes of N mappings each, BUSY of which compute
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

static void *sleep_on(void *arg)
{
	while (pause())
		;
	return arg;
}

static int make_threads(int n)
{
	pthread_attr_t attr;
	pthread_t t;
	int made = 1;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	while (made < n && pthread_create(&t, &attr, sleep_on, NULL) == 0)
		made++;
	return made;
}

static int make_children(int n, int busy)
{
	int made = 0;

	for (; made < n; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			if (made >= busy)
				pause();
	}
	return made;
}

/* Every second page another protection: none joins its neighbour. */
static int make_mappings(int n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, (size_t)n * page, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int made = 1;

	if (at == MAP_FAILED)
		return 0;
	for (; made < n; made += 2)
		if (mprotect(at + (size_t)made * page, page, PROT_READ) < 0)
			break;
	return made;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (argc == 3 && strcmp(argv[1], "threads") == 0)
		printf("%d threads\n", make_threads(n));
	else if (argc == 3 && strcmp(argv[1], "tasks") == 0)
		printf("%d tasks\n", make_children(n, 0));
	else if (argc == 5 && strcmp(argv[1], "mappings") == 0)
		printf("%d mappings, %d processes\n", make_mappings(n),
			make_children(atoi(argv[3]), atoi(argv[4])));
	else
		return 2;
	fflush(stdout);
	for (;;)
		pause();
}
