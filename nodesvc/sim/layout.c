/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/sim/layout.h"
#include "nodesvc/sim/rng.h"

int layout_init(struct layout *l, const struct machine *m, int max_jobs, struct errbuf *err)
{
	size_t jobs = (size_t)max_jobs, caches = (size_t)m->n_caches;
	double *s;

	memset(l, 0, sizeof(*l));
	l->m = m;
	l->max_jobs = max_jobs;
	l->job = calloc(jobs, sizeof(*l->job));
	l->pool = calloc(jobs, sizeof(*l->pool));
	s = l->shares = calloc(jobs * caches * (1 + LENT_MAX), sizeof(double));
	if (!l->job || !l->pool || !l->shares) {
		layout_done(l);
		return err_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < jobs; i++) {
		l->job[i].share = s;
		s += caches;
		for (int k = 0; k < LENT_MAX; k++, s += caches)
			l->job[i].lent[k].share = s;
	}
	return 0;
}

void layout_done(struct layout *l)
{
	free(l->job);
	free(l->pool);
	free(l->shares);
	memset(l, 0, sizeof(*l));
}

static uint64_t hash_set(uint64_t h, const struct coreset *s)
{
	for (int i = 0; i < CORESET_WORDS; i++)
		if (s->w[i])
			h = rng_mix(h ^ s->w[i] ^ ((uint64_t)i << 56));
	return rng_mix(h + 0x51);
}

/* Counts the PUs of @s per cache into shares; returns how many there are. */
static int spread(const struct machine *m, const struct coreset *s, double *ret_share)
{
	int n = 0;

	memset(ret_share, 0, (size_t)m->n_caches * sizeof(double));
	coreset_for_each (pu, s) {
		int core = m->topo->pu_core[pu];

		if (core < 0)
			continue;
		ret_share[m->core_cache[core]]++;
		n++;
	}
	for (int c = 0; n > 0 && c < m->n_caches; c++)
		ret_share[c] /= n;
	return n;
}

static void make_pools(struct layout *l, const struct place *place)
{
	bool changed;

	l->n_pools = 0;
	for (int i = 0; i < l->n_jobs; i++)
		l->job[i].pool = -1;
	for (int i = 0; i < l->n_jobs; i++) {
		struct coreset all = place[i].own;
		int pool = l->n_pools;

		if (!l->job[i].active || l->job[i].pool >= 0)
			continue;
		l->n_pools++;
		l->job[i].pool = pool;
		l->pool[pool].jobs = 1;
		do {
			changed = false;
			for (int k = i + 1; k < l->n_jobs; k++) {
				if (!l->job[k].active || l->job[k].pool >= 0 ||
					!coreset_intersects(&place[k].own, &all))
					continue;
				l->job[k].pool = pool;
				l->pool[pool].jobs++;
				coreset_or(&all, &all, &place[k].own);
				changed = true;
			}
		} while (changed);
		l->pool[pool].pus = coreset_count(&all);
		l->pool[pool].cores = topo_count_cores(l->m->topo, &all);
	}
}

/* 0 is "not set" */
static struct levers acting(const struct machine *m, const struct levers *set)
{
	uint32_t all = m->p.llc_ways < 32 ? (UINT32_C(1) << m->p.llc_ways) - 1 : UINT32_MAX;

	return (struct levers){
		.ways = set->ways & all ? set->ways & all : all,
		.bandwidth = set->bandwidth > 0 ? set->bandwidth : 1,
		.clock = set->clock > 0 ? set->clock : 1,
	};
}

static uint64_t hash_levers(uint64_t h, const struct levers *v)
{
	return rng_mix(h ^ v->ways ^ (uint64_t)(v->bandwidth * 1e6) << 32) ^
	       (uint64_t)(v->clock * 1e6);
}

void layout_set(struct layout *l, const struct place *place, int n_jobs)
{
	uint64_t h = 1;

	l->n_jobs = n_jobs;
	for (int i = 0; i < n_jobs; i++) {
		struct layout_job *j = &l->job[i];

		j->pus = spread(l->m, &place[i].own, j->share);
		j->active = place[i].active && j->pus > 0;
		j->cores = topo_count_cores(l->m->topo, &place[i].own);
		j->n_lent = j->active ? place[i].n_lent : 0;
		h = rng_mix(h + (uint64_t)j->active);
		j->levers = acting(l->m, &place[i].levers);
		if (j->active)
			h = hash_levers(hash_set(h, &place[i].own), &j->levers);
		for (int k = 0; k < j->n_lent; k++) {
			int donor = place[i].lent[k].donor;
			struct coreset both;
			int all = coreset_count(&place[donor].own);

			coreset_and(&both, &place[i].lent[k].coreset, &place[donor].own);
			j->lent[k].donor = donor;
			j->lent[k].part =
				all > 0 ? (double)spread(l->m, &both, j->lent[k].share) / all : 0;
			h = hash_set(h + (uint64_t)donor, &both);
		}
	}
	make_pools(l, place);
	l->hash = h;
}
