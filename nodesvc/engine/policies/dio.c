/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dio - distributed intensity, online: LLC misses per second, smoothed; sorted, the ends are
 * paired, pairs go round the domains.
 *
 * Source: Zhuravlev, Blagodurov, Fedorova, ASPLOS 2010 (DIO). Smoothing and the guard against
 * flapping are ours, alike for lira: a quarter per sample, and a grouping that runs stays while
 * its domains' sums are no further apart than the new ones by h of their mean.
 */
#include <math.h>
#include <stddef.h>

#include "nodesvc/engine/internal.h"

struct config {
	double h, alpha;
	struct clusters_cfg clusters;
	struct fill_cfg fill;
};

static const struct option_spec options[] = {
	{"h", OPTION_DOUBLE, offsetof(struct config, h), 0, 10, NULL},
	{"ema", OPTION_DOUBLE, offsetof(struct config, alpha), 0.001, 1, NULL},
	{"clusters", OPTION_INT, offsetof(struct config, clusters.most), 0, PLAN_CLUSTERS_MAX,
		NULL},
	{"bandwidth", OPTION_BOOL, offsetof(struct config, clusters.bandwidth), 0, 0, NULL},
	{"fill", OPTION_CHOICE, offsetof(struct config, fill.how), 0, 0, FILL_CHOICE},
	{"hysteresis_ms", OPTION_INT, offsetof(struct config, fill.hysteresis_ms), 1,
		PLAN_HYSTERESIS_MAX, NULL},
	{0},
};

struct smooth {
	bool known;
	uint64_t sample_no;
	double misses;
};

struct policy {
	struct config cfg;
	struct shares shares;
	struct clusters clusters;
	struct fill fill;
	struct smooth *smooth; /* [max_jobs] by slot */
	double *value, *sum;
	int *sorted, *load, *domain_of, *running;
};

static int dio_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs, s = (size_t)cfg->topo->n_domains;
	int rc;

	p->cfg = (struct config){.h = 0.05, .alpha = 0.25, .fill = {FILL_NO, FILL_HYSTERESIS_MS}};
	rc = option_read(cfg, "dio", options, &p->cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	clusters_init(&p->clusters, &p->cfg.clusters, cfg);
	fill_init(&p->fill, &p->cfg.fill, cfg);
	p->fill.in_domain = true;
	p->smooth = arena_alloc(cfg->memory, n, sizeof(*p->smooth));
	p->value = arena_alloc(cfg->memory, n, sizeof(double));
	p->sum = arena_alloc(cfg->memory, s, sizeof(double));
	p->sorted = arena_alloc(cfg->memory, n, sizeof(int));
	p->load = arena_alloc(cfg->memory, s, sizeof(int));
	p->domain_of = arena_alloc(cfg->memory, n, sizeof(int));
	p->running = arena_alloc(cfg->memory, n, sizeof(int));
	return 0;
}

/* Largest minus smallest sum over the domains; @ret_mean their mean. */
static double spread(struct policy *p, const int *domain_of, double *ret_mean)
{
	const struct shares *c = &p->shares;
	double least = INFINITY, most = 0, total = 0;

	for (int d = 0; d < c->n_domains; d++)
		p->sum[d] = 0;
	for (int k = 0; k < c->n; k++)
		p->sum[domain_of[k]] += p->value[k];
	for (int d = 0; d < c->n_domains; d++) {
		least = p->sum[d] < least ? p->sum[d] : least;
		most = p->sum[d] > most ? p->sum[d] : most;
		total += p->sum[d];
	}
	*ret_mean = total / c->n_domains;
	return most - least;
}

static void read_jobs(struct policy *p, const struct view *v, const int *slot, struct plan *ret)
{
	const struct shares *c = &p->shares;
	struct explain x;

	explain_open(&x, ret);
	explain_object(&x, "ema");
	for (int k = 0; k < c->n; k++) {
		const struct view_job *j = &v->job[c->job[k]];
		struct smooth *s = &p->smooth[slot[c->job[k]]];
		double misses = j->signal[SIGNAL_LLC_MISSES].value;

		if (!s->known)
			s->misses = misses;
		else if (s->sample_no != j->sample_no)
			s->misses += p->cfg.alpha * (misses - s->misses);
		s->known = true;
		s->sample_no = j->sample_no;
		p->value[k] = s->misses;
		explain_number(&x, j->id, s->misses);
	}
	explain_end(&x);
	explain_close(&x);
}

static void place(struct policy *p, struct plan *ret)
{
	struct shares *c = &p->shares;
	double best, now, mean;
	bool dealt;

	snake_group(c, p->value, false, p->sorted, p->sum, p->load, p->domain_of);
	best = spread(p, p->domain_of, &mean);
	dealt = shares_incumbent(c, p->running);
	if (dealt || shares_grouped(c, p->running)) {
		now = spread(p, p->running, &mean);
		if (now <= best + p->cfg.h * mean) {
			ret->score = now;
			if (dealt)
				shares_keep(
					c, p->running, "stays: misses are spread well enough", ret);
			else
				shares_apply(c, p->running, ret);
			return;
		}
	}
	ret->score = best;
	shares_relabel(c, p->domain_of);
	shares_apply(c, p->domain_of, ret);
}

static int dio_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);

	if (rc)
		return rc;
	read_jobs(p, v, slot, ret);
	if (c->n > 0 && !shares_blocks(c, ret))
		place(p, ret);
	clusters_decide(&p->clusters, c, slot, ret);
	fill_plan(&p->fill, c, v, slot, ret);
	return 0;
}

static uint32_t dio_needs(const struct policy *p)
{
	return SIGNAL_BIT(SIGNAL_LLC_MISSES) |
	       (p->cfg.clusters.most > 1 ? SIGNAL_BIT(SIGNAL_LLC_REFS) : 0);
}

static void dio_forget(struct policy *p, int slot)
{
	p->smooth[slot] = (struct smooth){0};
	clusters_forget(&p->clusters, slot);
	fill_forget(&p->fill, slot);
}

const struct policy_ops policy_dio = {
	.name = "dio",
	.summary = "spreads LLC misses per second evenly over the domains (DIO)",
	.options = "h=RATIO ema=0..1 clusters=0..4 bandwidth=yes|no fill=" FILL_CHOICE
		   " hysteresis_ms=N",
	.needs = SIGNAL_BIT(SIGNAL_LLC_MISSES),
	.needs_now = dio_needs,
	.on_node = true,
	.size = sizeof(struct policy),
	.create = dio_create,
	.decide = dio_decide,
	.forget = dio_forget,
};
