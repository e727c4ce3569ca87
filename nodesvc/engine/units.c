/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/internal.h"

void units_init(struct units *u, const struct policy_cfg *cfg)
{
	size_t n = (size_t)cfg->topo->n_cores;

	*u = (struct units){.first = arena_alloc(cfg->memory, n, sizeof(int)),
		.count = arena_alloc(cfg->memory, n, sizeof(int)),
		.core = arena_alloc(cfg->memory, n, sizeof(int))};
}

enum unit_level { BY_CORE, BY_L3, BY_L2, BY_DOMAIN, BY_NODE };

static enum unit_level choose_level(const struct shares *c, enum unit_fallback fallback)
{
	const struct topo *t = c->t;
	bool l3 = t->n_l3 > 1, l2 = t->n_l3 == 0 && t->n_l2 > 1 && t->n_l2 < t->n_cores;

	for (int i = 0; i < c->total; i++) {
		l3 = l3 && t->core[c->core[i]].l3 >= 0;
		l2 = l2 && t->core[c->core[i]].l2 >= 0;
	}
	/* One core per cache tells no more than the core itself. */
	if (l3 && t->n_l3 < t->n_cores)
		return BY_L3;
	if (l2)
		return BY_L2;
	if (t->domain_level != TOPO_CORE && t->n_domains > 1)
		return BY_DOMAIN;
	return fallback == UNIT_NODE ? BY_NODE : BY_CORE;
}

static int unit_key(const struct shares *c, enum unit_level level, int core)
{
	switch (level) {
	case BY_L3:
		return c->t->core[core].l3;
	case BY_L2:
		return c->t->core[core].l2;
	case BY_DOMAIN:
		return c->t->core[core].domain;
	case BY_NODE:
		return 0;
	default:
		return core;
	}
}

static void fill(struct units *u, const struct shares *c, enum unit_level level)
{
	int at = 0;

	u->n = 0;
	u->size = 1;
	u->uneven = false;
	/* Domain by domain, so that neighbours in the list are neighbours on the machine. */
	for (int i = 0; i < c->total; i++) {
		int key = unit_key(c, level, c->core[i]);
		bool seen = false;

		for (int j = 0; j < u->n && !seen; j++)
			seen = unit_key(c, level, u->core[u->first[j]]) == key;
		if (seen)
			continue;
		u->first[u->n] = at;
		for (int j = i; j < c->total; j++)
			if (unit_key(c, level, c->core[j]) == key)
				u->core[at++] = c->core[j];
		u->count[u->n] = at - u->first[u->n];
		u->size = u->count[u->n] > u->size ? u->count[u->n] : u->size;
		u->uneven = u->uneven || u->count[u->n] != u->count[0];
		u->n++;
	}
}

void units_build(struct units *u, const struct shares *c, enum unit_fallback fallback)
{
	enum unit_level level = choose_level(c, fallback);

	if (level == BY_CORE)
		units_split(u, c);
	else
		fill(u, c, level);
}

void units_split(struct units *u, const struct shares *c)
{
	u->n = c->total;
	u->size = 1;
	u->uneven = false;
	for (int i = 0; i < c->total; i++) {
		u->first[i] = i;
		u->count[i] = 1;
		u->core[i] = c->core[i];
	}
}
