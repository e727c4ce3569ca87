/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * starter HERE STARTED - starts as an MPI program does: it waits for 20 ms, thirty times, then two
 * threads compute and never end. Writes its job's number to the file HERE first, and makes the file
 * STARTED when it has started.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *compute(void *unused)
{
	volatile unsigned long n = 0;

	(void)unused;
	for (;;)
		n++;
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec wait = {.tv_nsec = 20000000};
	const char *job = getenv("SLURM_JOB_ID");
	pthread_t other;
	FILE *f;

	if (argc != 3 || !job || !(f = fopen(argv[1], "w")))
		return 1;
	fprintf(f, "%s\n", job);
	fclose(f);
	for (int i = 0; i < 30; i++)
		nanosleep(&wait, NULL);
	if (!(f = fopen(argv[2], "w")))
		return 1;
	fclose(f);
	if (pthread_create(&other, NULL, compute, NULL) != 0)
		return 1;
	compute(NULL);
	return 0;
}
