/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cachehog - follows a random cycle through a buffer: every step is one cache line, and the next
 * one is not known before. Its speed is the latency of wherever the buffer fits.
 */
#include "program.h"

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

/* Sattolo's shuffle makes one cycle of all lines: no short loop that would stay in cache. */
static int make_cycle(struct line *line, int64_t n)
{
	uint64_t x = UINT64_C(0x9e3779b97f4a7c15);
	uint32_t *order = malloc((size_t)n * sizeof(*order));

	if (!order)
		return -1;
	for (int64_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (int64_t i = n - 1; i > 0; i--) {
		int64_t j = (int64_t)(random_next(&x) % (uint64_t)i);
		uint32_t t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (int64_t i = 0; i < n; i++)
		line[order[i]].next = &line[order[(i + 1) % n]];
	free(order);
	return 0;
}

int main(int argc, char **argv)
{
	int64_t kib = 3072, work = 10; /* millions of steps */
	const struct program_option opt[] = {
		{"size", "KiB of buffer", 1, 1 << 24, &kib},
		{"work", "millions of steps", 1, INT64_MAX / 1000000, &work},
	};
	struct line *line, *p;
	int64_t start, n;

	program_options(argc, argv, "cachehog", "Walks a buffer in random order.", opt, 2);
	start = program_now_ns();
	n = kib * 1024 / (int64_t)sizeof(*line);
	line = aligned_alloc(64, (size_t)n * sizeof(*line));
	if (!line || make_cycle(line, n)) {
		free(line);
		return program_fail("cachehog", "buffer");
	}
	p = line;
	program_unit("Msteps");
	for (int64_t k = 0; k < work * 100; k++) {
		for (int i = 0; i < 10000; i++)
			p = p->next;
		program_progress(0.01);
	}
	n = p - line;
	free(line);
	return program_report("cachehog", start, work, "Msteps", (double)n);
}
