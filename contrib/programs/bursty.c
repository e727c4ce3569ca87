/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bursty - computes for a while with all its threads, then waits as for a disk, again and again: a
 * job that cannot use its cores all the time, whoever it shares them with.
 *
 * The waiting is a sleep: a true disk would make the time depend on what else the machine writes.
 */
#include "program.h"

/* One burst: register arithmetic, shared evenly; no memory, no cache. */
static uint64_t burst(int64_t steps)
{
	uint64_t sum = 0;

#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (int64_t k = 0; k < 64; k++) {
		uint64_t x = UINT64_C(88172645463325252) + (uint64_t)k;

		for (int64_t i = 0; i < steps / 64; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		sum += x >> 11;
	}
	return sum;
}

int main(int argc, char **argv)
{
	int64_t work = 5, steps = 400, wait_ms = 500;
	const struct program_option opt[] = {
		{"work", "bursts", 1, INT64_MAX, &work},
		{"steps", "millions of steps in a burst", 1, 1000000, &steps},
		{"wait", "ms of waiting after each", 0, 1000000, &wait_ms},
	};
	uint64_t sum = 0;
	int64_t start;

	program_options(argc, argv, "bursty", "Computes in bursts and waits in between.", opt, 3);
	start = program_now_ns();
	program_unit("bursts");
	for (int64_t i = 0; i < work; i++) {
		struct timespec t = {
			.tv_sec = wait_ms / 1000, .tv_nsec = (wait_ms % 1000) * 1000000};

		sum += burst(steps * 1000000);
		nanosleep(&t, NULL);
		program_progress(1);
	}
	return program_report("bursty", start, work, "bursts", (double)(sum >> 11));
}
