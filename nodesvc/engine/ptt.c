/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/ptt.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AGE_FACTOR 0.98

static bool place_before(const struct ptt_place *a, const struct ptt_place *b)
{
	return a->core != b->core ? a->core < b->core : a->width < b->width;
}

/* Every divisor of a unit's size, aligned; kept in order of (core, width). */
static int add_places(struct ptt *t, struct ptt_place *ret)
{
	int n = 0;

	for (int u = 0; u < t->units.n; u++)
		for (int w = 1; w <= t->units.count[u]; w++) {
			if (t->units.count[u] % w)
				continue;
			for (int at = 0; at < t->units.count[u]; at += w, n++) {
				struct ptt_place p = {
					.core = t->units.core[t->units.first[u] + at],
					.width = w,
					.first = t->units.first[u] + at,
				};
				int i = n;

				if (!ret)
					continue;
				for (; i > 0 && place_before(&p, &ret[i - 1]); i--)
					ret[i] = ret[i - 1];
				ret[i] = p;
			}
		}
	return n;
}

static int list_by_core(struct ptt *t, const struct policy_cfg *cfg)
{
	size_t n_cores = (size_t)cfg->topo->n_cores;
	int *first = arena_alloc(cfg->memory, n_cores + 1, sizeof(int)), *fill;

	t->first_at_core = first;
	if (!first)
		return -ENOMEM;
	for (int i = 0; i < t->n_places; i++)
		for (int k = 0; k < t->place[i].width; k++)
			first[t->units.core[t->place[i].first + k] + 1]++;
	for (size_t c = 0; c < n_cores; c++)
		first[c + 1] += first[c];
	t->at_core = arena_alloc(cfg->memory, (size_t)first[n_cores] + 1, sizeof(int));
	fill = calloc(n_cores, sizeof(int));
	for (int i = 0; t->at_core && fill && i < t->n_places; i++)
		for (int k = 0; k < t->place[i].width; k++) {
			int core = t->units.core[t->place[i].first + k];

			t->at_core[first[core] + fill[core]++] = i;
		}
	free(fill);
	return t->at_core && fill ? 0 : -ENOMEM;
}

int ptt_init(struct ptt *t, const struct policy_cfg *cfg, struct errbuf *err)
{
	const struct topo *topo = cfg->topo;
	/* All cores compete: the table outlives any view's limits. */
	struct shares all = {.t = topo, .core = topo->domain_core, .total = topo->n_cores};

	memset(t, 0, sizeof(*t));
	t->new_weight = 1;
	units_init(&t->units, cfg);
	if (cfg->memory->failed)
		return err_set(err, -ENOMEM, "out of memory");
	units_build(&t->units, &all, UNIT_NODE);
	t->n_places = add_places(t, NULL);
	t->place = arena_alloc(cfg->memory, (size_t)t->n_places, sizeof(*t->place));
	t->memory = arena_alloc(cfg->memory, (size_t)t->n_places * PTT_TYPES, sizeof(double));
	t->age_memory = arena_alloc(cfg->memory, (size_t)t->n_places * PTT_TYPES, sizeof(uint16_t));
	if (!cfg->memory->failed)
		add_places(t, t->place);
	if (cfg->memory->failed || list_by_core(t, cfg))
		return err_set(err, -ENOMEM, "out of memory for %d places", t->n_places);
	for (int i = 0; i < PTT_TYPES; i++) {
		t->type[i].seconds = t->memory + (size_t)i * (size_t)t->n_places;
		t->type[i].age = t->age_memory + (size_t)i * (size_t)t->n_places;
	}
	return 0;
}

static int count_of(const struct ptt *t, int64_t owner)
{
	int n = 0;

	for (int i = 0; i < PTT_TYPES; i++)
		n += t->type[i].used && t->type[i].owner == owner;
	return n;
}

/* A free one; else of the owner who has most, as users call their programs what they like. */
static int find_room(const struct ptt *t)
{
	int64_t greedy = 0;
	int most = 0, oldest = -1;

	for (int i = 0; i < PTT_TYPES; i++) {
		int n = t->type[i].used ? count_of(t, t->type[i].owner) : 0;

		if (n == 0)
			return i;
		if (n > most) {
			most = n;
			greedy = t->type[i].owner;
		}
	}
	for (int i = 0; i < PTT_TYPES; i++)
		if (t->type[i].owner == greedy &&
			(oldest < 0 || t->type[i].used < t->type[oldest].used))
			oldest = i;
	return oldest;
}

int ptt_type(struct ptt *t, int64_t owner, const char *name)
{
	int room;

	if (!name)
		name = "";
	t->tick++;
	for (int i = 0; i < PTT_TYPES; i++) {
		if (t->type[i].used && t->type[i].owner == owner &&
			strncmp(t->type[i].name, name, JOB_TYPE_MAX - 1) == 0) {
			t->type[i].used = t->tick;
			return i;
		}
	}
	room = find_room(t);
	memset(t->type[room].name, 0, sizeof(t->type[room].name));
	memcpy(t->type[room].name, name, strnlen(name, JOB_TYPE_MAX - 1));
	memset(t->type[room].seconds, 0, (size_t)t->n_places * sizeof(double));
	memset(t->type[room].age, 0, (size_t)t->n_places * sizeof(uint16_t));
	t->type[room].owner = owner;
	t->type[room].used = t->tick;
	return room;
}

int ptt_find(const struct ptt *t, int core, int width)
{
	for (int i = 0; i < t->n_places; i++)
		if (t->place[i].core == core && t->place[i].width == width)
			return i;
	return -1;
}

void ptt_update(struct ptt *t, int type, int place, double seconds)
{
	double *v = &t->type[type].seconds[place];

	*v = *v > 0 ? ((PTT_WEIGHTS - t->new_weight) * *v + t->new_weight * seconds) / PTT_WEIGHTS
		    : seconds;
	t->type[type].age[place] = 0;
}

void ptt_age(struct ptt *t, int type, int after)
{
	struct ptt_type *y = &t->type[type];
	double best = INFINITY;

	for (int i = 0; i < t->n_places; i++)
		if (y->seconds[i] > 0 && y->seconds[i] < best)
			best = y->seconds[i];
	for (int i = 0; i < t->n_places; i++) {
		if (y->age[i] < UINT16_MAX)
			y->age[i]++;
		if (y->seconds[i] > 0 && y->age[i] > after)
			y->seconds[i] = fmax(best, AGE_FACTOR * y->seconds[i]);
	}
}
