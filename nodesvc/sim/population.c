/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nodesvc/sim/population.h"
#include "nodesvc/sim/population_tables.h"
#include "nodesvc/sim/rng.h"

static const struct population populations[] = {
	{"lira", "pack:2 core:8 pu:1", TOPO_PACKAGE, 4, POPULATION_LIRA, population_lira,
		OBJECTIVE_STP, NTT_SHARE},
	{"parsec", "pack:4 l3:2 core:6 pu:1", TOPO_L3, 4, POPULATION_PARSEC, population_parsec,
		OBJECTIVE_ANTT, NTT_BEST},
	{"latent", "pack:2 core:8 pu:1", TOPO_PACKAGE, 4, 0, NULL, OBJECTIVE_STP, NTT_SHARE},
	{"adversarial", "pack:2 core:8 pu:1", TOPO_PACKAGE, 4, POPULATION_ADVERSARIAL,
		population_adversarial, OBJECTIVE_STP, NTT_SHARE},
};

int population_find(struct population *ret, const char *name, struct errbuf *err)
{
	for (size_t i = 0; i < sizeof(populations) / sizeof(populations[0]); i++) {
		if (strcmp(populations[i].name, name) == 0) {
			*ret = populations[i];
			return 0;
		}
	}
	return err_set(err, -ENOENT,
		"unknown population '%s' (lira, parsec, latent, adversarial are there)", name);
}

void population_machine(const struct population *p, struct machine_params *ret)
{
	if (p->objective == OBJECTIVE_STP) {
		/* LIRA's machine is the default one, its runtime is Callisto's. */
		ret->llc_bytes = 20e6;
		ret->fill_in_cache = true;
		return;
	}
	/*
	 * SBMP, PACT 2012, table 2: Opteron 6172, 2.1 GHz; 12 MB of L3 per socket of two dies (the
	 * text says per die). 24 GB/s usable per socket (memory node) are assumed, of four channels
	 * of PC3-10600.
	 */
	ret->hz = 2.1e9;
	ret->llc_bytes = 6e6;
	ret->bytes_per_s = 24e9;
}

static void draw_phase(struct rng *r, struct phase *f)
{
	phase_init(f);
	f->seconds = rng_log_uniform(r, 5, 40);
	f->alpha = rng_log_uniform(r, 0.002, 0.1);
	f->gamma = rng_uniform(r, 0, 5e-4);
	f->beta = 1 - f->alpha - f->gamma;
	f->cpi = rng_uniform(r, 0.4, 1.2);
	f->loads = rng_uniform(r, 0.1, 0.5);
	f->refs = rng_log_uniform(r, 5e-4, 0.04);
	f->miss_hi = rng_uniform(r, 0.3, 1);
	f->miss_lo = rng_uniform(r, 0, 0.7) * f->miss_hi;
	f->working_set_bytes = rng_log_uniform(r, 1e6, 64e6);
	f->mlp = rng_uniform(r, 1.5, 8);
	f->sync = rng_uniform(r, 0, 0.5);
	f->comm = rng_uniform(r, 0, 0.3);
	f->wait = rng_uniform(r, 0, 1);
}

static void draw_program(struct rng *r, int number, struct program *p)
{
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "latent%d", number);
	p->n_phases = 1 + rng_below(r, 4);
	for (int f = 0; f < p->n_phases; f++)
		draw_phase(r, &p->phase[f]);
	/* One in four loads its input first, as LIRA's graph programs do. */
	if (rng_below(r, 4) == 0 && p->n_phases < PROGRAM_PHASES_MAX) {
		memmove(&p->phase[1], &p->phase[0], (size_t)p->n_phases * sizeof(p->phase[0]));
		phase_init(&p->phase[0]);
		p->phase[0].io = true;
		p->phase[0].seconds = rng_uniform(r, 5, 15);
		p->n_phases++;
	}
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

int population_combo(const struct population *p, uint64_t seed, int k, int n_jobs,
	struct program *ret, struct errbuf *err)
{
	long all = 1, first, step;
	struct rng r;
	int chosen[64];

	if (p->n_programs == 0) {
		rng_init(&r, seed, 1000 + (uint64_t)k);
		for (int i = 0; i < n_jobs; i++)
			draw_program(&r, i, &ret[i]);
		return 0;
	}
	if (n_jobs > p->n_programs || n_jobs > 64) {
		/* More jobs than programs: with repetition. */
		if (n_jobs > DRIVE_JOBS_MAX)
			return err_set(err, -EINVAL, "%d jobs: at most %d", n_jobs, DRIVE_JOBS_MAX);
		rng_init(&r, seed, 1000 + (uint64_t)k);
		for (int i = 0; i < n_jobs; i++)
			ret[i] = p->program[rng_below(&r, p->n_programs)];
		return 0;
	}
	for (int j = 1; j <= n_jobs; j++)
		all = all * (p->n_programs - n_jobs + j) / j;
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
