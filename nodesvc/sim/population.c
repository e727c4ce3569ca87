/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "nodesvc/sim/model.h"
#include "nodesvc/sim/population.h"
#include "nodesvc/sim/population_drawn.h"
#include "nodesvc/sim/population_tables.h"
#include "nodesvc/sim/rng.h"

/* LIRA's machine is the default one. */
static void machine_lira(struct machine_params *ret)
{
	ret->llc_bytes = 20e6;
}

/*
 * SBMP, PACT 2012, table 2: Opteron 6172, 2.1 GHz; 12 MB of L3 per socket of two dies (the text
 * says per die). 24 GB/s usable per socket (memory node) are assumed, of four channels of
 * PC3-10600.
 */
static void machine_sbmp(struct machine_params *ret)
{
	ret->hz = 2.1e9;
	ret->llc_bytes = 6e6;
	ret->bytes_per_s = 24e9;
}

/*
 * Tian et al., table 1: two sockets of four cores at 2.13 GHz, "Xeon E5620", 4 MB of L3 (what is
 * sold under that name has 12). 16 GB/s usable per socket are assumed, of its three channels of
 * DDR3-1066.
 */
static void machine_spec(struct machine_params *ret)
{
	ret->hz = 2.13e9;
	ret->llc_bytes = 4e6;
	ret->bytes_per_s = 16e9;
}

/*
 * MAPPER, PPoPP 2019, section 3: four Xeon E7-4820 v3 of ten cores with two threads. Clock and
 * cache are that processor's, 1.9 GHz and 25 MB; 40 GB/s usable per socket are assumed.
 */
static void machine_mapper(struct machine_params *ret)
{
	ret->hz = 1.9e9;
	ret->llc_bytes = 25e6;
	ret->bytes_per_s = 40e9;
}

#define LIRA_TOPOLOGY "pack:2 core:8 pu:1"

static const struct population populations[] = {
	{
		.name = "lira",
		.topology = LIRA_TOPOLOGY,
		.domain = TOPO_PACKAGE,
		.n_jobs = 4,
		.n_programs = POPULATION_LIRA,
		.program = population_lira,
		.base = NTT_SHARE,
		.machine = machine_lira,
		.fill = true,
		/* ROSS 2015, sections 6.1 and 6.4; what Callisto's scheduler does goes on until
		 * the first rates. */
		.paper = {0.5e9, 0.1, 9, "callisto,threads=yes"},
	},
	{
		.name = "parsec",
		.topology = "pack:4 l3:2 core:6 pu:1",
		.domain = TOPO_L3,
		.n_jobs = 4,
		.n_programs = POPULATION_PARSEC,
		.program = population_parsec,
		.objective = OBJECTIVE_ANTT,
		.base = NTT_BEST,
		.machine = machine_sbmp,
	},
	{
		.name = "latent",
		.topology = LIRA_TOPOLOGY,
		.domain = TOPO_PACKAGE,
		.n_jobs = 4,
		.base = NTT_SHARE,
		.machine = machine_lira,
		.fill = true,
		.draw = population_draw_latent,
	},
	{
		.name = "adversarial",
		.topology = LIRA_TOPOLOGY,
		.domain = TOPO_PACKAGE,
		.n_jobs = 4,
		.n_programs = POPULATION_ADVERSARIAL,
		.program = population_adversarial,
		.base = NTT_SHARE,
		.machine = machine_lira,
		.fill = true,
	},
	{
		.name = "measured",
		.topology = LIRA_TOPOLOGY,
		.domain = TOPO_PACKAGE,
		.n_jobs = 4,
		.base = NTT_SHARE,
		.machine = machine_lira,
	},
	{
		.name = "spec-wl",
		.topology = "pack:2 core:4 pu:1",
		.domain = TOPO_PACKAGE,
		.n_jobs = 4,
		.threads = 1,
		.base = NTT_ALL,
		.machine = machine_spec,
		.draw = population_draw_spec,
	},
	{
		.name = "mapper",
		.topology = "pack:4 core:10 pu:2",
		.domain = TOPO_PACKAGE,
		.n_jobs = 4,
		.base = NTT_SHARE,
		.machine = machine_mapper,
		.draw = population_draw_mapper,
	},
};

int population_models(struct population *p, const char *dir, struct errbuf *err)
{
	/* Programs of a population outlive every struct population. */
	static struct program models[MODELS_MAX];
	int rc = models_load(models, &p->n_programs, dir, err);

	if (!rc)
		p->program = models;
	return rc;
}

int population_find(struct population *ret, const char *name, struct errbuf *err)
{
	for (size_t i = 0; i < sizeof(populations) / sizeof(populations[0]); i++) {
		if (strcmp(populations[i].name, name) != 0)
			continue;
		*ret = populations[i];
		return ret->n_programs || ret->draw ? 0 : population_models(ret, NULL, err);
	}
	return err_set(err, -ENOENT,
		"unknown population '%s' (lira, parsec, latent, adversarial, measured, spec-wl, "
		"mapper are there)",
		name);
}

int population_paper(const struct population *p, double hz, struct drive *ret)
{
	if (p->paper.runs == 0)
		return -ENOENT;
	ret->sample_s = p->paper.sample_cycles / hz;
	ret->decide_s = p->paper.decide_s;
	ret->min_runs = p->paper.runs;
	ret->most_s = 1e5; /* runs end it */
	ret->fallback = p->paper.fallback;
	ret->stored = false;
	return 0;
}

void population_machine(const struct population *p, struct machine_params *ret)
{
	p->machine(ret);
}

/* The @k-th of all choices of @m out of @n in lexicographic order. */
static void choose(int n, int m, long k, int *ret)
{
	int next = 0;

	for (int i = 0; i < m; i++, next++) {
		for (;; next++) {
			long rest =
				1; /* choices that begin with next: C(n - next - 1, m - i - 1) */

			for (int j = 1; j <= m - i - 1; j++)
				rest = rest * (n - next - 1 - (m - i - 1) + j) / j;
			if (k < rest)
				break;
			k -= rest;
		}
		ret[i] = next;
	}
}

/* Number of choices of @m out of @n; 0: more than an int holds, too many to walk over. */
static int count_choices(int n, int m)
{
	long all = 1;

	for (int j = 1; j <= m && all <= INT_MAX; j++)
		all = all * (n - m + j) / j;
	return all <= INT_MAX ? (int)all : 0;
}

/* Any @m out of @n, in any order. */
static void draw(struct rng *r, int n, int m, int *ret)
{
	int left[MODELS_MAX];

	for (int i = 0; i < n; i++)
		left[i] = i;
	for (int i = 0; i < m; i++) {
		int at = i + rng_below(r, n - i);

		ret[i] = left[at];
		left[at] = left[i];
	}
}

int population_combo(const struct population *p, uint64_t seed, int k, int n_jobs,
	struct program *ret, struct errbuf *err)
{
	long all, first, step;
	struct rng r;
	int chosen[MODELS_MAX];

	if (n_jobs > DRIVE_JOBS_MAX)
		return err_set(err, -EINVAL, "%d jobs: at most %d", n_jobs, DRIVE_JOBS_MAX);
	if (p->draw) {
		p->draw(seed, k, n_jobs, ret);
		return 0;
	}
	if (n_jobs > p->n_programs || n_jobs > MODELS_MAX) {
		/* More jobs than programs: with repetition. */
		rng_init(&r, seed, 1000 + (uint64_t)k);
		for (int i = 0; i < n_jobs; i++)
			ret[i] = p->program[rng_below(&r, p->n_programs)];
		return 0;
	}
	all = count_choices(p->n_programs, n_jobs);
	if (all == 0) {
		rng_init(&r, seed, 1000 + (uint64_t)k);
		draw(&r, p->n_programs, n_jobs, chosen);
		for (int i = 0; i < n_jobs; i++)
			ret[i] = p->program[chosen[i]];
		return 0;
	}
	/* A walk with a step that shares no factor with the number of choices visits each once. */
	rng_init(&r, seed, 999);
	first = rng_below(&r, (int)all);
	for (step = 1 + rng_below(&r, (int)all);; step++) {
		long a = step, b = all;

		while (b) {
			long t = a % b;

			a = b;
			b = t;
		}
		if (a == 1)
			break;
	}
	choose(p->n_programs, n_jobs, (first + (k % all) * (step % all)) % all, chosen);
	/* Order of start matters to some policies: random, too. */
	rng_init(&r, seed, 1000 + (uint64_t)k);
	for (int i = n_jobs - 1; i > 0; i--) {
		int j = rng_below(&r, i + 1), t = chosen[i];

		chosen[i] = chosen[j];
		chosen[j] = t;
	}
	for (int i = 0; i < n_jobs; i++)
		ret[i] = p->program[chosen[i]];
	return 0;
}
