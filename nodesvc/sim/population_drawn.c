/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "nodesvc/sim/population_drawn.h"
#include "nodesvc/sim/population_tables.h"
#include "nodesvc/sim/rng.h"

/* Streams of a seed; 999 and 1000 on are population.c's. */
#define STREAM_COMBO 1000

struct range {
	double low, high;
};

/* Where a value's bounds are a factor apart it is drawn by its logarithm. */
struct ranges {
	struct range seconds, alpha, gamma, cpi, loads, refs, miss_hi, miss_lo_part, working_set,
		mlp, sync, comm, wait;
};

static double uniform(struct rng *r, struct range x)
{
	return rng_uniform(r, x.low, x.high);
}

static double log_uniform(struct rng *r, struct range x)
{
	return x.high > x.low ? rng_log_uniform(r, x.low, x.high) : x.low;
}

/* The order of the draws is part of the seed's meaning: append, never reorder. */
static void draw_phase(struct rng *r, const struct ranges *x, struct phase *f)
{
	phase_init(f);
	f->seconds = log_uniform(r, x->seconds);
	f->alpha = log_uniform(r, x->alpha);
	f->gamma = uniform(r, x->gamma);
	f->beta = 1 - f->alpha - f->gamma;
	f->cpi = uniform(r, x->cpi);
	f->loads = uniform(r, x->loads);
	f->refs = log_uniform(r, x->refs);
	f->miss_hi = uniform(r, x->miss_hi);
	f->miss_lo = uniform(r, x->miss_lo_part) * f->miss_hi;
	f->working_set_bytes = log_uniform(r, x->working_set);
	f->mlp = uniform(r, x->mlp);
	f->sync = uniform(r, x->sync);
	f->comm = uniform(r, x->comm);
	f->wait = uniform(r, x->wait);
}

static void draw_io(struct rng *r, struct phase *f)
{
	phase_init(f);
	f->io = true;
	f->seconds = rng_uniform(r, 5, 15);
}

static const struct ranges latent = {
	.seconds = {5, 40},
	.alpha = {0.002, 0.1},
	.gamma = {0, 5e-4},
	.cpi = {0.4, 1.2},
	.loads = {0.1, 0.5},
	.refs = {5e-4, 0.04},
	.miss_hi = {0.3, 1},
	.miss_lo_part = {0, 0.7},
	.working_set = {1e6, 64e6},
	.mlp = {1.5, 8},
	.sync = {0, 0.5},
	.comm = {0, 0.3},
	.wait = {0, 1},
};

static void draw_latent_program(struct rng *r, int number, struct program *p)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "latent%d", number);
	p->n_phases = 1 + rng_below(r, 4);
	for (int f = 0; f < p->n_phases; f++)
		draw_phase(r, &latent, &p->phase[f]);
	/* One in four loads its input first, as LIRA's graph programs do. */
	if (rng_below(r, 4) == 0 && p->n_phases < PROGRAM_PHASES_MAX) {
		memmove(&p->phase[1], &p->phase[0], (size_t)p->n_phases * sizeof(p->phase[0]));
		draw_io(r, &p->phase[0]);
		p->n_phases++;
	}
}

void population_draw_latent(uint64_t seed, int k, int n_jobs, struct program *ret)
{
	struct rng r;

	rng_init(&r, seed, STREAM_COMBO + (uint64_t)k);
	for (int i = 0; i < n_jobs; i++)
		draw_latent_program(&r, i, &ret[i]);
}

/*
 * A serial program is all beta-less: it does not scale. Assumed for the two classes, after what
 * such programs do to a cache of a few megabytes: large ones go to the last level every 25 to 100
 * instructions and keep missing; little ones hardly ever go there.
 */
#define SERIAL                                                                                     \
	.seconds = {40, 80}, .alpha = {1, 1}, .cpi = {0.5, 1.1}, .loads = {0.2, 0.4},              \
	.mlp = {1.5, 4}
static const struct ranges spec_large = {SERIAL, .refs = {0.01, 0.04}, .miss_hi = {0.5, 0.95},
	.miss_lo_part = {0.1, 0.6}, .working_set = {3e6, 24e6}};
static const struct ranges spec_little = {SERIAL, .refs = {2e-4, 0.004}, .miss_hi = {0.2, 0.6},
	.miss_lo_part = {0, 0.3}, .working_set = {0.5e6, 4e6}};

/* Tian et al., table 2; large: section 3. */
static const struct {
	const char *name;
	bool large;
} spec_workload[2][4] = {
	{{"410", false}, {"416", false}, {"429", true}, {"444", false}},
	{{"445", false}, {"450", true}, {"453", false}, {"482", true}},
};

void population_draw_spec(uint64_t seed, int k, int n_jobs, struct program *ret)
{
	struct rng r;

	rng_init(&r, seed, STREAM_COMBO + (uint64_t)k);
	for (int i = 0; i < n_jobs; i++) {
		struct program *p = &ret[i];
		bool large = spec_workload[k % 2][i % 4].large;

		memset(p, 0, sizeof(*p));
		snprintf(p->name, sizeof(p->name), "%s", spec_workload[k % 2][i % 4].name);
		p->n_phases = 1;
		draw_phase(&r, large ? &spec_large : &spec_little, &p->phase[0]);
	}
}

/* NAS: parallel loops over large arrays. OmpSCR: small kernels that soon stop scaling. GraphChi:
 * graphs from disk, threads that share data (the paper calls them data-sharing intensive). */
static const struct {
	const char *name;
	bool loads_first;
	struct ranges ranges;
} mapper_suite[] = {
	{"nas", false,
		{.seconds = {20, 60},
			.alpha = {0.002, 0.03},
			.gamma = {0, 2e-4},
			.cpi = {0.5, 0.9},
			.loads = {0.2, 0.4},
			.refs = {0.003, 0.04},
			.miss_hi = {0.5, 0.95},
			.miss_lo_part = {0.1, 0.8},
			.working_set = {4e6, 64e6},
			.mlp = {3, 8},
			.sync = {0.1, 0.5},
			.comm = {0.05, 0.2},
			.wait = {0, 0.5}}},
	{"ompscr", false,
		{.seconds = {20, 60},
			.alpha = {0.02, 0.2},
			.gamma = {0, 1e-3},
			.cpi = {0.4, 0.9},
			.loads = {0.15, 0.4},
			.refs = {1e-4, 0.01},
			.miss_hi = {0.2, 0.8},
			.miss_lo_part = {0, 0.5},
			.working_set = {0.5e6, 16e6},
			.mlp = {1.5, 5},
			.sync = {0.1, 0.6},
			.comm = {0.05, 0.2},
			.wait = {0, 0.5}}},
	{"graphchi", true,
		{.seconds = {20, 60},
			.alpha = {0.03, 0.15},
			.gamma = {1e-4, 1e-3},
			.cpi = {0.6, 1.1},
			.loads = {0.2, 0.35},
			.refs = {0.01, 0.04},
			.miss_hi = {0.5, 0.95},
			.miss_lo_part = {0.3, 0.8},
			.working_set = {8e6, 64e6},
			.mlp = {2, 5},
			.sync = {0.1, 0.4},
			.comm = {0.1, 0.4},
			.wait = {0.2, 0.8}}},
};
#define N_SUITES (1 + (int)(sizeof(mapper_suite) / sizeof(mapper_suite[0])))

static void draw_mapper_program(struct rng *r, int number, struct program *p)
{
	int suite = number % N_SUITES - 1, f = 0;

	if (suite < 0) {
		*p = population_parsec[rng_below(r, POPULATION_PARSEC)];
		return;
	}
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s%d", mapper_suite[suite].name, number / N_SUITES);
	if (mapper_suite[suite].loads_first)
		draw_io(r, &p->phase[f++]);
	draw_phase(r, &mapper_suite[suite].ranges, &p->phase[f++]);
	p->n_phases = f;
}

void population_draw_mapper(uint64_t seed, int k, int n_jobs, struct program *ret)
{
	struct rng r;

	rng_init(&r, seed, STREAM_COMBO + (uint64_t)k);
	for (int i = 0; i < n_jobs; i++)
		draw_mapper_program(&r, i, &ret[i]);
	/* Who starts first is chance. */
	for (int i = n_jobs - 1; i > 0; i--) {
		int j = rng_below(&r, i + 1);
		struct program t = ret[i];

		ret[i] = ret[j];
		ret[j] = t;
	}
}
