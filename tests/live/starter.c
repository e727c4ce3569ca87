/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * starter HERE STARTED - starts as an MPI program does: it waits for 20 ms, thirty times, then two
 * threads compute and never end. Writes its job's number to the file HERE first, and to the file
 * STARTED, which is not there before, how many ms it is since its process was made.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *compute(void *unused)
{
	volatile unsigned long n = 0;

	(void)unused;
	for (;;)
		n++;
	return NULL;
}

/* proc_pid_stat(5), field 22: in ticks since boot; -1 unknown. */
static long since_it_was_made_ms(void)
{
	char line[1024], *at;
	unsigned long long ticks = 0;
	struct timespec now;
	FILE *f = fopen("/proc/self/stat", "r");

	if (!f || !fgets(line, sizeof(line), f))
		return -1;
	fclose(f);
	at = strrchr(line, ')');
	for (int i = 0; i < 20 && at; i++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return -1;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (long)(now.tv_sec * 1000 + now.tv_nsec / 1000000 -
		      (long)(ticks * 1000 / (unsigned long)sysconf(_SC_CLK_TCK)));
}

static int say(const char *path, const char *text)
{
	char other[4096];
	FILE *f;

	snprintf(other, sizeof(other), "%s.new", path);
	f = fopen(other, "w");
	if (!f)
		return -1;
	fprintf(f, "%s\n", text);
	fclose(f);
	return rename(other, path);
}

int main(int argc, char **argv)
{
	struct timespec wait = {.tv_nsec = 20000000};
	const char *job = getenv("SLURM_JOB_ID");
	char took[32];
	pthread_t other;

	if (argc != 3 || !job || say(argv[1], job) < 0)
		return 1;
	for (int i = 0; i < 30; i++)
		nanosleep(&wait, NULL);
	snprintf(took, sizeof(took), "%ld", since_it_was_made_ms());
	if (say(argv[2], took) < 0 || pthread_create(&other, NULL, compute, NULL) != 0)
		return 1;
	compute(NULL);
	return 0;
}
