/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spin - arithmetic in registers: needs a core and nothing else of the machine.
 */
#include "program.h"

int main(int argc, char **argv)
{
	int64_t work = 200; /* millions of steps */
	const struct program_option opt[] = {
		{"work", "millions of steps", 1, INT64_MAX / 1000000, &work},
	};
	uint64_t x = UINT64_C(88172645463325252);
	int64_t start;

	program_options(argc, argv, "spin", "Computes in registers (a xorshift chain).", opt, 1);
	start = program_now_ns();
	program_unit("Msteps");
	for (int64_t k = 0; k < work; k++) {
		for (int i = 0; i < 1000000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		program_progress(1);
	}
	return program_report("spin", start, work, "Msteps", (double)(x >> 11));
}
