/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_worker SLOW [rest] - for qos.sh: says to do 80 things a second on several CPUs, 100 on one,
 * and 70 on one while the file SLOW is there. Runs for a moment, so that it is moved at all, and
 * then hardly, so that its speed does not depend on the machine's. "rest": not for that moment
 * either, and looks up so rarely that a slow machine does not take it for work.
 */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "nodesvc/runtime/coloc.h"

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct coloc *c = coloc_attach();
	double last = now_s();
	long nap_ns = argc == 2 ? 10000000 : 200000000;

	if (argc < 2)
		return 2;
	while (argc == 2 && (double)clock() / CLOCKS_PER_SEC < 0.1)
		;
	coloc_unit(c, "things");
	for (;;) {
		double now, rate;
		cpu_set_t cpus;

		nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
		sched_getaffinity(0, sizeof(cpus), &cpus);
		rate = CPU_COUNT(&cpus) > 1 ? 80 : access(argv[1], F_OK) == 0 ? 70 : 100;
		now = now_s();
		coloc_progress(c, (now - last) * rate);
		last = now;
	}
}
