/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rng.h - the simulator's only randomness: a small generator whose state the caller holds, so
 * that the same seed gives the same bytes on every machine and with any number of threads.
 */
#ifndef COLOC_SIM_RNG_H
#define COLOC_SIM_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* Streams of one seed that do not touch: combination, policy, job ... */
void rng_init(struct rng *r, uint64_t seed, uint64_t stream);
uint64_t rng_next(struct rng *r);
double rng_uniform(struct rng *r, double low, double high);
double rng_log_uniform(struct rng *r, double low, double high); /* low > 0 */
double rng_normal(struct rng *r);                               /* mean 0, deviation 1 */
int rng_below(struct rng *r, int n);                            /* 0..n-1, n > 0 */

/* One step of the mixing function alone: also used for hashes. */
uint64_t rng_mix(uint64_t x);

#endif
