/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pmu_loop GO DONE TURNS - a program whose instructions are known: waits for the file GO, runs
 * two instructions TURNS times, makes the file DONE and stays. For the counters' test in the
 * arm64 guest.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	uint64_t turns;

	if (argc != 4)
		return 2;
	turns = strtoull(argv[3], NULL, 10);
	while (access(argv[1], F_OK))
		usleep(10000);
#if defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(turns) : : "cc");
#else
	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(turns) : : "cc");
#endif
	close(open(argv[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	for (;;)
		pause();
}
