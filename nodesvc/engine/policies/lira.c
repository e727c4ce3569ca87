/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lira - programs whose rates of load instructions differ most share a domain.
 * lira: adaptive, smoothed live rates. lira-static: the rate each job came with (its stored
 * profile), decided when the set of jobs changes and left alone in between (section 5.4).
 *
 * Source: Collins, Harris, Cole, Fensch: LIRA, ROSS 2015; section numbers below are the paper's.
 * The paper leaves open the smoothing coefficient, hysteresis and tie-break; doc/policies.md says
 * what stands here and why.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "nodesvc/engine/explain.h"
#include "nodesvc/engine/grouping.h"
#include "nodesvc/engine/option.h"

enum metric { METRIC_LOADS, METRIC_LLC_MISS, METRIC_MEM_BW };

struct config {
	int tie;
	int metric;
	double h;     /* a new grouping must beat the running one by this ratio */
	double alpha; /* weight of a new sample */
	double idle;  /* utilisation below: idle (section 5.3) */
};

static const struct option_spec lira_options[] = {
	{"tie", OPTION_CHOICE, offsetof(struct config, tie), 0, 0, "auto|balance|first|missbal"},
	{"metric", OPTION_CHOICE, offsetof(struct config, metric), 0, 0, "loads|llc_miss|mem_bw"},
	{"h", OPTION_DOUBLE, offsetof(struct config, h), 0, 10, NULL},
	{"ema", OPTION_DOUBLE, offsetof(struct config, alpha), 0.001, 1, NULL},
	{"idle", OPTION_DOUBLE, offsetof(struct config, idle), 0, 1, NULL},
	{0},
};

/* Smoothed figures of one job, by slot. */
struct smooth {
	bool known, has_utilization, has_misses;
	uint64_t sample_no;
	double rate, utilization, misses;
};

struct policy {
	const char *name;
	bool fixed;   /* lira-static */
	uint64_t set; /* the jobs of the last decision */
	struct config cfg;
	struct contest contest;
	struct grouping grouping;
	struct smooth *smooth;  /* [max_jobs] by slot */
	double *value, *second; /* [max_jobs] by contest job */
	int *domain_of, *running;
};

static enum signal_id metric_signal(const struct policy *p)
{
	static const enum signal_id of[] = {
		[METRIC_LOADS] = SIGNAL_LOADS,
		[METRIC_LLC_MISS] = SIGNAL_LLC_MISSES,
		[METRIC_MEM_BW] = SIGNAL_MEM_BYTES,
	};

	return of[p->cfg.metric];
}

static uint32_t lira_needs(const struct policy *p)
{
	uint32_t needs = SIGNAL_BIT(metric_signal(p));

	return p->cfg.tie == TIE_MISSBAL ? needs | SIGNAL_BIT(SIGNAL_LLC_MISSES) : needs;
}

static void lira_free(struct policy *p)
{
	contest_done(&p->contest);
	grouping_done(&p->grouping);
	free(p->smooth);
	free(p->value);
	free(p->second);
	free(p->domain_of);
	free(p->running);
	free(p);
}

static int create(struct policy **ret, const struct policy_cfg *cfg, bool fixed, struct errbuf *err)
{
	struct policy *p = calloc(1, sizeof(*p));
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->cfg = (struct config){.tie = TIE_AUTO, .h = 0.05, .alpha = 0.25, .idle = 0.5};
	p->fixed = fixed;
	p->name = fixed ? "lira-static" : "lira";
	rc = option_read(cfg, p->name, lira_options, &p->cfg, err);
	if (!rc)
		rc = contest_init(&p->contest, cfg, err);
	if (!rc)
		rc = grouping_init(&p->grouping, cfg, err);
	p->smooth = calloc(n, sizeof(*p->smooth));
	p->value = calloc(n, sizeof(double));
	p->second = calloc(n, sizeof(double));
	p->domain_of = calloc(n, sizeof(int));
	p->running = calloc(n, sizeof(int));
	if (!rc && (!p->smooth || !p->value || !p->second || !p->domain_of || !p->running))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		lira_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

static int lira_create(struct policy **ret, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(ret, cfg, false, err);
}

static int lira_static_create(struct policy **ret, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(ret, cfg, true, err);
}

/* Section 5.2: moving average of rate and CPU load, one step per counter sample. */
static void smooth_job(const struct policy *p, const struct view_job *j, struct smooth *s)
{
	const struct signal *rate = &j->signal[metric_signal(p)];
	const struct signal *load = &j->signal[SIGNAL_UTILIZATION];
	const struct signal *misses = &j->signal[SIGNAL_LLC_MISSES];

	if (s->known && (p->fixed || s->sample_no == j->sample_no))
		return;
	if (rate->provenance != PROVENANCE_NONE)
		s->rate = s->known ? s->rate + p->cfg.alpha * (rate->value - s->rate) : rate->value;
	if (misses->provenance != PROVENANCE_NONE)
		s->misses = s->has_misses ? s->misses + p->cfg.alpha * (misses->value - s->misses)
					  : misses->value;
	s->has_misses = s->has_misses || misses->provenance != PROVENANCE_NONE;
	if (load->provenance != PROVENANCE_NONE && !p->fixed) {
		s->utilization =
			s->has_utilization
				? s->utilization + p->cfg.alpha * (load->value - s->utilization)
				: load->value;
		s->has_utilization = true;
	}
	s->sample_no = j->sample_no;
	s->known = true;
}

static void explain(
	const struct policy *p, const struct view *v, const int *slot, int idle, struct plan *ret)
{
	struct explain x;

	explain_open(&x, ret);
	explain_object(&x, "ema");
	for (int i = 0; i < v->n_jobs; i++)
		if (p->smooth[slot[i]].known)
			explain_number(&x, v->job[i].id, p->smooth[slot[i]].rate);
	explain_end(&x);
	explain_text(&x, "metric", signal_name(metric_signal(p)));
	explain_number(&x, "idle", idle);
	explain_close(&x);
}

/* Fills value and second; returns the number of idle jobs. Unknown utilisation counts as busy. */
static int read_jobs(struct policy *p, const int *slot, bool *ret_missbal)
{
	struct contest *c = &p->contest;
	int idle = 0;

	*ret_missbal = p->cfg.tie == TIE_MISSBAL || p->cfg.tie == TIE_AUTO;
	for (int k = 0; k < c->n; k++) {
		const struct smooth *s = &p->smooth[slot[c->job[k]]];
		bool is_idle = s->has_utilization && s->utilization < p->cfg.idle;

		idle += is_idle;
		p->value[k] = is_idle ? 0 : s->rate;
		p->second[k] = is_idle ? 0 : s->misses;
		if (!s->has_misses)
			*ret_missbal = false;
	}
	return idle;
}

static int lira_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct contest *c = &p->contest;
	bool missbal, runs, dealt;
	int rc = contest_build(c, v, ret, err), idle;
	const char *why = NULL;
	double best, now;
	uint64_t set;

	if (rc)
		return rc;
	for (int i = 0; i < v->n_jobs; i++)
		if (!v->job[i].excluded)
			smooth_job(p, &v->job[i], &p->smooth[slot[i]]);
	idle = read_jobs(p, slot, &missbal);
	explain(p, v, slot, idle, ret);
	ret->score = 0;
	if (c->n == 0 || contest_blocks(c, ret))
		return 0;
	best = grouping_best(&p->grouping, c, p->value, missbal ? p->second : p->value,
		(enum grouping_tie)p->cfg.tie, p->domain_of);
	ret->score = best;
	dealt = contest_incumbent(c, p->running);
	runs = dealt || contest_grouped(c, p->running);
	set = contest_set(c, slot);
	now = runs ? grouping_score(&p->grouping, c, p->value, p->running) : 0;
	/* Case (iii) before (ii): many idle say nothing about the rest (section 5.3). */
	if (runs && p->fixed && set == p->set)
		why = "stays: decided when the set of jobs last changed";
	else if (runs && idle > c->n_domains)
		why = "stays: more idle jobs than domains";
	else if (runs && now * (1 + p->cfg.h) >= best)
		why = "stays: no grouping is enough better";
	p->set = set;
	if (!why) {
		contest_relabel(c, p->domain_of);
		contest_apply(c, p->domain_of, ret);
		return 0;
	}
	ret->score = now;
	if (dealt)
		contest_keep(c, p->running, why, ret);
	else
		contest_apply(c, p->running, ret);
	return 0;
}

static void lira_forget(struct policy *p, int slot)
{
	p->smooth[slot] = (struct smooth){0};
}

const struct policy_ops policy_lira = {
	.name = "lira",
	.summary = "jobs with the most different load rates share a domain; adaptive (LIRA)",
	.options = "tie=auto|balance|first|missbal metric=loads|llc_miss|mem_bw h=RATIO ema=0..1 "
		   "idle=0..1",
	.needs = SIGNAL_BIT(SIGNAL_LOADS),
	.needs_now = lira_needs,
	.on_node = true,
	.create = lira_create,
	.decide = lira_decide,
	.forget = lira_forget,
	.free = lira_free,
};

const struct policy_ops policy_lira_static = {
	.name = "lira-static",
	.summary = "as lira, from each job's first (stored) load rate, at arrivals and ends only",
	.options = "tie=auto|balance|first|missbal metric=loads|llc_miss|mem_bw h=RATIO",
	.needs = SIGNAL_BIT(SIGNAL_LOADS),
	.needs_now = lira_needs,
	.on_node = true,
	.create = lira_static_create,
	.decide = lira_decide,
	.forget = lira_forget,
	.free = lira_free,
};
