/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rng.c - SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * OOPSLA 2014): one word of state, and any two seeds are far apart.
 */
#include <math.h>

#include "nodesvc/sim/rng.h"

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

uint64_t rng_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

void rng_init(struct rng *r, uint64_t seed, uint64_t stream)
{
	r->state = rng_mix(seed + GOLDEN_GAMMA) ^ rng_mix(stream * GOLDEN_GAMMA + 1);
}

uint64_t rng_next(struct rng *r)
{
	r->state += GOLDEN_GAMMA;
	return rng_mix(r->state);
}

double rng_uniform(struct rng *r, double low, double high)
{
	return low + (high - low) * (double)(rng_next(r) >> 11) * 0x1p-53;
}

double rng_log_uniform(struct rng *r, double low, double high)
{
	return exp(rng_uniform(r, log(low), log(high)));
}

/* Box and Muller; the second value is dropped so that the state stays one word. */
double rng_normal(struct rng *r)
{
	double u = rng_uniform(r, 0, 1), v = rng_uniform(r, 0, 1);

	return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

int rng_below(struct rng *r, int n)
{
	return (int)(rng_next(r) % (uint64_t)n);
}
