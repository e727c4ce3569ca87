/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases - goes through three phases that use the machine differently, over and over: all threads
 * in registers, all threads at the latency of memory, one thread that mostly waits. Says when each
 * begins, so that whoever watches can be checked; with --phases=1 it stays in the first.
 */
#include <stdbool.h>

#include "program.h"

#define LINES (1 << 18) /* 16 MiB a thread: beyond a core's share of the last cache */

struct line {
	struct line *next;
	char pad[64 - sizeof(struct line *)];
};

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static uint64_t compute(uint64_t x)
{
	for (int i = 0; i < 100000; i++)
		random_next(&x);
	return x;
}

/* One cycle through all lines in random order (Sattolo), per thread. */
static struct line *make_cycle(void)
{
	uint64_t x = UINT64_C(0x9e3779b97f4a7c15);
	struct line *line = aligned_alloc(64, LINES * sizeof(*line));

	if (!line)
		return NULL;
	for (int i = 0; i < LINES; i++)
		line[i].next = &line[i];
	for (int i = LINES - 1; i > 0; i--) {
		int j = (int)(random_next(&x) % (uint64_t)i);
		struct line *t = line[i].next;

		line[i].next = line[j].next;
		line[j].next = t;
	}
	return line;
}

static void say(const char *phase)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	printf("phase=%s unix=%.3f\n", phase, (double)t.tv_sec + (double)t.tv_nsec / 1e9);
	fflush(stdout);
}

/* For whoever wants to know what others had of the machine. */
static void say_cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	printf("cpu_ms=%lld\n", (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* All threads until @end_ns: blocks of one kind, each counted when done. The lines are there from
 * the start: making them would be a phase of its own. */
static uint64_t all_threads(int64_t end_ns, bool memory)
{
	static _Thread_local struct line *line;
	uint64_t sum = 0;

#pragma omp parallel reduction(+ : sum)
	{
		struct line *p;
		uint64_t x = UINT64_C(88172645463325252);

		if (!line)
			line = make_cycle();
		p = memory ? line : NULL;
		while (program_now_ns() < end_ns) {
			if (p)
				for (int i = 0; i < 20000; i++)
					p = p->next;
			else
				x = compute(x);
			program_progress(1);
		}
		sum += x + (uint64_t)(p ? p - line : 0);
	}
	return sum;
}

static uint64_t one_waits(int64_t end_ns)
{
	const struct timespec nap = {.tv_nsec = 4000000};
	uint64_t x = UINT64_C(88172645463325252);

	while (program_now_ns() < end_ns) {
		x = compute(x);
		program_progress(1);
		nanosleep(&nap, NULL);
	}
	return x;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"compute", "memory", "wait"};
	int64_t work = 3, ms = 100, phases = 3, start;
	const struct program_option opt[] = {
		{"work", "phases to go through", 1, INT64_MAX, &work},
		{"ms", "milliseconds of each", 1, 1 << 30, &ms},
		{"phases", "different ones, from the first", 1, 3, &phases},
	};
	uint64_t sum = 0;

	program_options(argc, argv, "phases", "Goes through phases of its own.", opt, 3);
	program_unit("blocks");
	sum += all_threads(0, false); /* makes the threads and their lines */
	start = program_now_ns();
	for (int64_t k = 0; k < work; k++) {
		int64_t end_ns = start + (k + 1) * ms * 1000000;
		int phase = (int)(k % phases);

		say(names[phase]);
		sum += phase == 2 ? one_waits(end_ns) : all_threads(end_ns, phase == 1);
	}
	say_cpu_time();
	return program_report("phases", start, work, "phases", (double)(sum >> 40));
}
