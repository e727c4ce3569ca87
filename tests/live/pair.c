/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pair [HUNDREDTHS] - two threads that meet at a barrier every 10 ms of work; the second has so
 * many hundredths of the first's. Ahead of whatever else runs on this machine, which would be load
 * from outside. Never ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static pthread_barrier_t barrier;

static long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *meet(void *hundredths)
{
	long ns = *(long *)hundredths * 100000;

	for (;;) {
		long from = cpu_ns();

		while (cpu_ns() - from < ns)
			;
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long part[2] = {100, argc > 1 ? atol(argv[1]) : 100};
	FILE *f = fopen("/proc/self/autogroup", "w");
	pthread_t other;

	if (f) {
		fputs("-20", f);
		fclose(f);
	}
	setpriority(PRIO_PROCESS, 0, -20);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&other, NULL, meet, &part[1]) != 0)
		return 1;
	meet(&part[0]);
	return 0;
}
