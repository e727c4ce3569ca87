/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * llc-complex - one figure per job from its LLC references and misses, profiled once; sorted, the
 * ends are paired, pairs alternate between domains.
 *
 * Source: the LLC "complex" paper (complex = 0.2 ref + 0.8 miss, each normalised by the largest of
 * the current set). Figures are those the job came with; decided at arrivals and ends.
 */
#include <stddef.h>

#include "nodesvc/engine/internal.h"

#define WEIGHT_REF  0.2 /* as published */
#define WEIGHT_MISS 0.8

enum ref { REF_PER_S, REF_PER_INSTR };
enum miss { MISS_PER_S, MISS_RATIO, MISS_MPKI };

struct config {
	int ref, miss;
	bool strict;
	struct clusters_cfg clusters;
	struct fill_cfg fill;
};

static const struct option_spec options[] = {
	{"ref", OPTION_CHOICE, offsetof(struct config, ref), 0, 0, "per_s|per_instr"},
	{"miss", OPTION_CHOICE, offsetof(struct config, miss), 0, 0, "per_s|ratio|mpki"},
	{"strict", OPTION_BOOL, offsetof(struct config, strict), 0, 0, NULL},
	{"clusters", OPTION_INT, offsetof(struct config, clusters.most), 0, PLAN_CLUSTERS_MAX,
		NULL},
	{"bandwidth", OPTION_BOOL, offsetof(struct config, clusters.bandwidth), 0, 0, NULL},
	{"fill", OPTION_CHOICE, offsetof(struct config, fill.how), 0, 0, FILL_CHOICE},
	{"hysteresis_ms", OPTION_INT, offsetof(struct config, fill.hysteresis_ms), 1,
		PLAN_HYSTERESIS_MAX, NULL},
	{0},
};

struct profile {
	bool known;
	double ref, miss;
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct clusters clusters;
	struct fill fill;
	struct profile *profile; /* [max_jobs] by slot */
	double *complex, *sum;
	int *sorted, *load, *domain_of;
	uint64_t set;
};

static uint32_t miss_needs(const struct policy *p)
{
	switch (p->cfg.miss) {
	case MISS_RATIO:
		return SIGNAL_BIT(SIGNAL_LLC_REFS) | SIGNAL_BIT(SIGNAL_LLC_MISS_RATIO) |
		       (p->cfg.clusters.most > 1 ? SIGNAL_BIT(SIGNAL_LLC_MISSES) : 0);
	case MISS_MPKI:
		return SIGNAL_BIT(SIGNAL_LLC_REFS) | SIGNAL_BIT(SIGNAL_LLC_MISSES) |
		       SIGNAL_BIT(SIGNAL_INSTRUCTIONS);
	default:
		return SIGNAL_BIT(SIGNAL_LLC_REFS) | SIGNAL_BIT(SIGNAL_LLC_MISSES);
	}
}

static int complex_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs, s = (size_t)cfg->topo->n_domains;
	int rc;

	p->cfg = (struct config){.fill = {FILL_NO, FILL_HYSTERESIS_MS}};
	rc = option_read(cfg, "llc-complex", options, &p->cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	clusters_init(&p->clusters, &p->cfg.clusters, cfg);
	fill_init(&p->fill, &p->cfg.fill, cfg);
	p->fill.in_domain = true;
	p->profile = arena_alloc(cfg->memory, n, sizeof(*p->profile));
	p->complex = arena_alloc(cfg->memory, n, sizeof(double));
	p->sum = arena_alloc(cfg->memory, s, sizeof(double));
	p->sorted = arena_alloc(cfg->memory, n, sizeof(int));
	p->load = arena_alloc(cfg->memory, s, sizeof(int));
	p->domain_of = arena_alloc(cfg->memory, n, sizeof(int));
	return 0;
}

static uint32_t complex_needs(const struct policy *p)
{
	uint32_t needs = miss_needs(p);

	return p->cfg.ref == REF_PER_INSTR ? needs | SIGNAL_BIT(SIGNAL_INSTRUCTIONS) : needs;
}

/* References of a second, or of the paper's 10^8 instructions: the largest counts as 1. */
static double ref_of(const struct policy *p, const struct view_job *j)
{
	double refs = j->signal[SIGNAL_LLC_REFS].value;
	double instructions = j->signal[SIGNAL_INSTRUCTIONS].value;

	if (p->cfg.ref == REF_PER_S)
		return refs;
	return instructions > 0 ? refs / instructions : 0;
}

/* Misses by the chosen reading of the paper's "miss rate"; a job without instructions has none. */
static double miss_of(const struct policy *p, const struct view_job *j)
{
	double instructions = j->signal[SIGNAL_INSTRUCTIONS].value;

	switch (p->cfg.miss) {
	case MISS_RATIO:
		return j->signal[SIGNAL_LLC_MISS_RATIO].value;
	case MISS_MPKI:
		return instructions > 0 ? 1000 * j->signal[SIGNAL_LLC_MISSES].value / instructions
					: 0;
	default:
		return j->signal[SIGNAL_LLC_MISSES].value;
	}
}

static void fill_complex(struct policy *p, const struct view *v, const int *slot)
{
	const struct shares *c = &p->shares;
	double max_ref = 0, max_miss = 0;

	for (int k = 0; k < c->n; k++) {
		const struct view_job *j = &v->job[c->job[k]];
		struct profile *f = &p->profile[slot[c->job[k]]];

		if (!f->known) {
			f->ref = ref_of(p, j);
			f->miss = miss_of(p, j);
			f->known = true;
		}
		max_ref = f->ref > max_ref ? f->ref : max_ref;
		max_miss = f->miss > max_miss ? f->miss : max_miss;
	}
	for (int k = 0; k < c->n; k++) {
		const struct profile *f = &p->profile[slot[c->job[k]]];

		p->complex[k] = (max_ref > 0 ? WEIGHT_REF * f->ref / max_ref : 0) +
				(max_miss > 0 ? WEIGHT_MISS * f->miss / max_miss : 0);
	}
}

static void explain(const struct policy *p, const struct view *v, struct plan *ret)
{
	const struct shares *c = &p->shares;
	struct explain x;

	explain_open(&x, ret);
	explain_object(&x, "complex");
	for (int k = 0; k < c->n; k++)
		explain_number(&x, v->job[c->job[k]].id, p->complex[k]);
	explain_end(&x);
	explain_close(&x);
}

static void place(struct policy *p, struct plan *ret)
{
	struct shares *c = &p->shares;
	uint64_t set = shares_set(c);

	if (set == p->set && shares_incumbent(c, p->domain_of)) {
		shares_keep(
			c, p->domain_of, "stays: decided when the set of jobs last changed", ret);
		return;
	}
	p->set = set;
	snake_group(c, p->complex, p->cfg.strict, p->sorted, p->sum, p->load, p->domain_of);
	shares_relabel(c, p->domain_of);
	shares_apply(c, p->domain_of, ret);
}

static int complex_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);

	if (rc)
		return rc;
	fill_complex(p, v, slot);
	explain(p, v, ret);
	if (c->n > 0 && !shares_blocks(c, ret))
		place(p, ret);
	clusters_decide(&p->clusters, c, slot, ret);
	fill_plan(&p->fill, c, v, slot, ret);
	return 0;
}

static void complex_forget(struct policy *p, int slot)
{
	p->profile[slot] = (struct profile){0};
	clusters_forget(&p->clusters, slot);
	fill_forget(&p->fill, slot);
}

const struct policy_ops policy_llc_complex = {
	.name = "llc-complex",
	.summary = "pairs the largest with the smallest LLC figure (0.2 references + 0.8 misses)",
	.options = "ref=per_s|per_instr miss=per_s|ratio|mpki strict=yes|no clusters=0..4 "
		   "bandwidth=yes|no "
		   "fill=" FILL_CHOICE " hysteresis_ms=N",
	.needs = SIGNAL_BIT(SIGNAL_LLC_REFS) | SIGNAL_BIT(SIGNAL_LLC_MISSES),
	.needs_now = complex_needs,
	.on_node = true,
	.size = sizeof(struct policy),
	.create = complex_create,
	.decide = complex_decide,
	.forget = complex_forget,
};
