/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

#include <math.h>

/* All ours. */
#define SMOOTH   0.25  /* per sample, as lira and dio */
#define GAP      0.1   /* of miss ratio: jobs that are closer are alike */
#define LEAST    0.125 /* of the cache, for a cluster */
#define AGAIN_S  10.0
#define GREEDY   2.0 /* draws more than so many times its share of cores: limited ... */
#define BW_LEAST 0.3 /* ... to that share, but not below this */

struct cluster_job {
	bool known;
	uint64_t sample_no;
	double refs, misses; /* smoothed, per thread and second */
	double held;         /* miss ratio when it was decided */
	int cluster;         /* as decided; -1 none */
};

void clusters_init(struct clusters *s, const struct clusters_cfg *own, const struct policy_cfg *cfg)
{
	size_t n = (size_t)cfg->max_jobs;

	*s = (struct clusters){.cfg = *own,
		.job = arena_alloc(cfg->memory, n, sizeof(*s->job)),
		.shared = arena_alloc(cfg->memory, n, sizeof(int)),
		.cluster = arena_alloc(cfg->memory, n, sizeof(int)),
		.caches = arena_alloc(cfg->memory, n, sizeof(uint64_t))};
}

void clusters_forget(struct clusters *s, int slot)
{
	s->job[slot] = (struct cluster_job){.known = false};
}

static double ratio_of(const struct cluster_job *j)
{
	return j->refs > 0 ? fmin(1, j->misses / j->refs) : 0;
}

static void smooth(struct cluster_job *s, const struct view_job *j)
{
	const struct signal *refs = &j->signal[SIGNAL_LLC_REFS];
	const struct signal *misses = &j->signal[SIGNAL_LLC_MISSES];

	if (refs->provenance == PROVENANCE_NONE || misses->provenance == PROVENANCE_NONE) {
		*s = (struct cluster_job){.known = false};
		return;
	}
	if (!s->known) {
		*s = (struct cluster_job){.known = true,
			.refs = refs->value,
			.misses = misses->value,
			.held = -1,
			.cluster = -1};
	} else if (s->sample_no != j->sample_no) {
		s->refs += SMOOTH * (refs->value - s->refs);
		s->misses += SMOOTH * (misses->value - s->misses);
	}
	s->sample_no = j->sample_no;
}

/* Last-level caches that a job's cores have; without a level of that name, packages. */
static uint64_t caches_of(const struct shares *c, const struct coreset *set)
{
	uint64_t caches = 0;

	bits_for_each (pu, set, c->words) {
		int core = c->t->pu_core[pu], cache;

		if (core < 0)
			continue;
		cache = c->t->n_l3 > 0 ? c->t->core[core].l3 : c->t->core[core].package;
		if (cache >= 0 && cache < 64)
			caches |= UINT64_C(1) << cache;
	}
	return caches;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* Reads the jobs; false: nothing that counts has changed since it was decided. */
static bool read_jobs(
	struct clusters *s, const struct shares *c, const int *slot, const struct plan *p)
{
	bool moved = false;
	uint64_t placed = 1;

	for (int k = 0; k < c->n; k++) {
		struct cluster_job *j = &s->job[slot[c->job[k]]];
		const struct coreset *set = &p->job[c->job[k]].coreset;

		smooth(j, &c->v->job[c->job[k]]);
		s->caches[k] = caches_of(c, set);
		placed = mix(placed, (uint64_t)slot[c->job[k]] << 1 | j->known);
		bits_for_each (pu, set, c->words)
			placed = mix(placed, (uint64_t)pu);
		moved |= j->known && fabs(ratio_of(j) - j->held) >= GAP;
	}
	if (placed == s->placed && (!moved || c->v->now_s - s->decided_s < AGAIN_S))
		return false;
	s->placed = placed;
	s->decided_s = c->v->now_s;
	return true;
}

/* Does job @k share a cache with one of another cluster? With @any: with anybody who is known. */
static bool has_company(
	const struct clusters *s, const struct shares *c, const int *slot, int k, bool any)
{
	for (int o = 0; o < c->n; o++)
		if (o != k && s->caches[o] & s->caches[k] && s->job[slot[c->job[o]]].known &&
			(any || s->cluster[o] != s->cluster[k]))
			return true;
	return false;
}

/* Jobs that share, into shared[] by miss ratio, the lowest first; ties as they came. */
static int sort_shared(struct clusters *s, const struct shares *c, const int *slot)
{
	int n = 0;

	for (int k = 0; k < c->n; k++) {
		const struct cluster_job *j = &s->job[slot[c->job[k]]];
		int at = n;

		s->cluster[k] = -1;
		if (!j->known || !has_company(s, c, slot, k, true))
			continue;
		while (at > 0 && ratio_of(&s->job[slot[c->job[s->shared[at - 1]]]]) > ratio_of(j)) {
			s->shared[at] = s->shared[at - 1];
			at--;
		}
		s->shared[at] = k;
		n++;
	}
	return n;
}

/* Cuts shared[] at its widest gaps: fills cluster[]; how many there are. */
static int cut(struct clusters *s, const struct shares *c, const int *slot, int n)
{
	bool here[PLAN_CLUSTERS_MAX] = {false};
	int at[PLAN_CLUSTERS_MAX], cuts = 0, clusters = 0;

	for (int i = 0; i + 1 < s->cfg.most; i++) {
		double widest = 0;
		int best = -1;

		for (int k = 1; k < n; k++) {
			double gap = ratio_of(&s->job[slot[c->job[s->shared[k]]]]) -
				     ratio_of(&s->job[slot[c->job[s->shared[k - 1]]]]);
			bool taken = false;

			for (int x = 0; x < cuts; x++)
				taken |= at[x] == k;
			if (!taken && gap >= GAP && gap > widest) {
				widest = gap;
				best = k;
			}
		}
		if (best < 0)
			break;
		at[cuts++] = best;
	}
	for (int k = 0, now = 0; k < n; k++) {
		for (int x = 0; x < cuts; x++)
			now += at[x] == k;
		s->cluster[s->shared[k]] = now;
	}
	/* Who meets nobody of another cluster needs no wall; clusters that are left, in order. */
	for (int k = 0; k < n; k++)
		here[s->cluster[s->shared[k]]] |= has_company(s, c, slot, s->shared[k], false);
	for (int k = 0; k < n; k++)
		if (!has_company(s, c, slot, s->shared[k], false))
			s->shared[k] = -1 - s->shared[k];
	for (int k = 0; k < n; k++)
		if (s->shared[k] < 0)
			s->cluster[-1 - s->shared[k]] = -1;
	for (int x = 0; x < PLAN_CLUSTERS_MAX; x++) {
		for (int k = 0; here[x] && k < c->n; k++)
			if (s->cluster[k] == x)
				s->cluster[k] = clusters;
		clusters += here[x];
	}
	return clusters;
}

static void share_out(
	struct clusters *s, const struct shares *c, const int *slot, const struct plan *p)
{
	double hits[PLAN_CLUSTERS_MAX] = {0}, misses[PLAN_CLUSTERS_MAX] = {0};
	double cores[PLAN_CLUSTERS_MAX] = {0}, all_hits = 0, all_misses = 0, all_cores = 0;

	for (int k = 0; k < c->n; k++) {
		const struct cluster_job *j = &s->job[slot[c->job[k]]];
		double width = p->job[c->job[k]].cores > 0 ? p->job[c->job[k]].cores : 1;

		if (s->cluster[k] < 0)
			continue;
		hits[s->cluster[k]] += width * fmax(0, j->refs - j->misses);
		misses[s->cluster[k]] += width * j->misses;
		cores[s->cluster[k]] += width;
	}
	for (int x = 0; x < s->n; x++) {
		all_hits += hits[x];
		all_misses += misses[x];
		all_cores += cores[x];
	}
	for (int x = 0; x < s->n; x++) {
		double part = all_hits > 0 ? hits[x] / all_hits : 1.0 / s->n;
		double fair = cores[x] / all_cores;
		bool greedy = all_misses > 0 && misses[x] / all_misses > fmin(GREEDY * fair, 0.75);

		s->part[x].ways = LEAST + (1 - LEAST * s->n) * part;
		/* Only the one to whom the cache does least. */
		s->part[x].bandwidth =
			s->cfg.bandwidth && x == s->n - 1 && greedy ? fmax(fair, BW_LEAST) : 0;
	}
}

void clusters_know(struct clusters *s, int slot, double refs, double misses)
{
	s->job[slot] = (struct cluster_job){
		.known = refs >= 0, .refs = refs, .misses = misses, .held = -1, .cluster = -1};
}

static void make(struct clusters *s, const struct shares *c, const int *slot, const struct plan *p)
{
	int n = sort_shared(s, c, slot);

	s->n = cut(s, c, slot, n);
	if (s->n < 2)
		s->n = 0;
	else
		share_out(s, c, slot, p);
	for (int k = 0; k < c->n; k++) {
		struct cluster_job *j = &s->job[slot[c->job[k]]];

		j->held = ratio_of(j);
		j->cluster = s->n ? s->cluster[k] : -1;
	}
}

void clusters_make(
	struct clusters *s, const struct shares *c, const int *slot, const struct plan *p)
{
	for (int k = 0; k < c->n; k++)
		s->caches[k] = caches_of(c, &p->job[c->job[k]].coreset);
	make(s, c, slot, p);
}

void clusters_put(const struct clusters *s, const struct shares *c, const int *slot, struct plan *p)
{
	p->n_clusters = s->n;
	for (int x = 0; x < s->n; x++)
		p->cluster[x] = s->part[x];
	for (int k = 0; k < c->n && s->n; k++)
		p->job[c->job[k]].cluster = s->job[slot[c->job[k]]].cluster;
}

void clusters_decide(struct clusters *s, const struct shares *c, const int *slot, struct plan *p)
{
	if (s->cfg.most < 2)
		return;
	p->clusters_asked = true;
	if (read_jobs(s, c, slot, p))
		make(s, c, slot, p);
	clusters_put(s, c, slot, p);
}
