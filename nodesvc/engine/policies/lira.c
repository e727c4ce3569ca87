/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lira - programs whose rates of load instructions differ most share a domain.
 * lira: adaptive, smoothed live rates. lira-static: the rate each job came with (its stored
 * profile), decided when a program is invoked and left alone in between (section 5.3).
 *
 * Source: Collins, Harris, Cole, Fensch: LIRA, ROSS 2015; section numbers below are the paper's.
 * The paper leaves open the smoothing coefficient, hysteresis and tie-break; doc/policies.md says
 * what stands here and why.
 */
#include <stddef.h>

#include "nodesvc/engine/internal.h"

/*
 * A moved program runs at half its rate for 150 ms (SBMP, PACT 2012, section 3.2, calls them
 * warm-up): 75 ms lost, which the least gain h = 5 % repays in 1.5 s.
 */
#define PAYBACK_S 1.5
/*
 * Calibrated on the simulated population lira with pages that stay (seed 11, 64 combinations):
 * STP over lira-static -1.9 % at 0, -0.4 at 30, -0.03 from 100 on. A program of 10 MB that goes to
 * memory at all loses more on the other socket than any grouping gains.
 */
#define NUMA_PER_GIB 100
/* Of the search for two jobs to exchange: some ns each. */
#define EXCHANGE_STEPS 400000

enum metric { METRIC_LOADS, METRIC_LLC_MISS, METRIC_MEM_BW };

struct config {
	int tie;
	int metric;
	double h;     /* a new grouping must beat the running one by this ratio */
	double alpha; /* weight of a new sample */
	double idle;  /* utilisation below: idle (section 5.3) */
	int norm;
	double payback_s; /* no job is moved that will end sooner */
	double numa;      /* part of the score that a GiB left behind costs */
	struct fill_cfg fill;
	int placements; /* balanced, or all */
	int decide;     /* lira-static: when; enum decide */
};

enum decide { DECIDE_INVOKED, DECIDE_SET };

/* clang-format off */
#define COMMON_OPTIONS \
	{"tie", OPTION_CHOICE, offsetof(struct config, tie), 0, 0, "auto|balance|first|missbal"}, \
	{"metric", OPTION_CHOICE, offsetof(struct config, metric), 0, 0, "loads|llc_miss|mem_bw"}, \
	{"h", OPTION_DOUBLE, offsetof(struct config, h), 0, 10, NULL}, \
	{"ema", OPTION_DOUBLE, offsetof(struct config, alpha), 0.001, 1, NULL}, \
	{"idle", OPTION_DOUBLE, offsetof(struct config, idle), 0, 1, NULL}, \
	{"norm", OPTION_CHOICE, offsetof(struct config, norm), 0, 0, "none|per_socket"}, \
	{"payback", OPTION_DOUBLE, offsetof(struct config, payback_s), 0, 86400, NULL}, \
	{"numa", OPTION_DOUBLE, offsetof(struct config, numa), 0, 1000, NULL}, \
	{"placements", OPTION_CHOICE, offsetof(struct config, placements), 0, 0, "balanced|all"}, \
	{"fill", OPTION_CHOICE, offsetof(struct config, fill.how), 0, 0, FILL_CHOICE}, \
	{"hysteresis_ms", OPTION_INT, offsetof(struct config, fill.hysteresis_ms), 1, \
		PLAN_HYSTERESIS_MAX, NULL}

static const struct option_spec lira_options[] = {
	COMMON_OPTIONS,
	{0},
};

static const struct option_spec static_options[] = {
	COMMON_OPTIONS,
	{"decide", OPTION_CHOICE, offsetof(struct config, decide), 0, 0, "invoked|set"},
	{0},
};
/* clang-format on */

/* Smoothed figures of one job, by slot. */
struct smooth {
	bool known, has_utilization, has_misses;
	bool stored; /* the rate is one of earlier runs */
	uint64_t sample_no;
	double rate, utilization, misses;
};

struct policy {
	const char *name;
	bool fixed; /* lira-static */
	bool share_smt;
	double *core_sum; /* [n_cores] */
	uint64_t set;     /* the jobs of the last decision */
	struct config cfg;
	struct shares shares;
	struct grouping grouping;
	struct fill fill;
	struct smooth *smooth;  /* [max_jobs] by slot */
	double *value, *second; /* [max_jobs] by competing job */
	double *piece_value;    /* [max_jobs] by piece */
	int *domain_of, *running, *pin;
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

static int create(struct policy *p, const struct policy_cfg *cfg, bool fixed, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	p->cfg = (struct config){.tie = TIE_AUTO,
		.h = 0.05,
		.alpha = 0.25,
		.idle = 0.5,
		.payback_s = PAYBACK_S,
		.numa = fixed ? 0 : NUMA_PER_GIB,
		.fill = {FILL_JOBS, FILL_HYSTERESIS_MS}};
	p->fixed = fixed;
	p->share_smt = cfg->share_smt;
	p->name = fixed ? "lira-static" : "lira";
	rc = option_read(cfg, p->name, fixed ? static_options : lira_options, &p->cfg, err);
	if (rc)
		return rc;
	shares_init(&p->shares, cfg);
	grouping_init(&p->grouping, cfg);
	p->grouping.per_domain = p->cfg.norm;
	p->grouping.any = p->cfg.placements;
	fill_init(&p->fill, &p->cfg.fill, cfg);
	p->fill.in_domain = true; /* section 5.2: "within each socket" */
	p->core_sum = arena_alloc(cfg->memory, (size_t)cfg->topo->n_cores, sizeof(double));
	p->smooth = arena_alloc(cfg->memory, n, sizeof(*p->smooth));
	p->value = arena_alloc(cfg->memory, n, sizeof(double));
	p->second = arena_alloc(cfg->memory, n, sizeof(double));
	p->domain_of = arena_alloc(cfg->memory, n, sizeof(int));
	p->running = arena_alloc(cfg->memory, n, sizeof(int));
	p->pin = arena_alloc(cfg->memory, n, sizeof(int));
	p->piece_value = arena_alloc(cfg->memory, n, sizeof(double));
	return 0;
}

static int lira_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, false, err);
}

static int lira_static_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, true, err);
}

/* Section 5.2: moving average of rate and CPU load, one step per counter sample. */
static void smooth_job(const struct policy *p, const struct view_job *j, struct smooth *s)
{
	const struct signal *rate = &j->signal[metric_signal(p)];
	const struct signal *load = &j->signal[SIGNAL_UTILIZATION];
	const struct signal *misses = &j->signal[SIGNAL_LLC_MISSES];

	if (s->known && (p->fixed || s->sample_no == j->sample_no))
		return;
	/* What this run shows takes the place of what is stored. */
	if (s->stored && rate->provenance != PROVENANCE_PROFILE)
		s->known = s->has_misses = false;
	s->stored = rate->provenance == PROVENANCE_PROFILE;
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

static double rate_of(const struct policy *p, const struct smooth *s)
{
	return s->has_utilization && s->utilization < p->cfg.idle ? 0 : s->rate;
}

/* Fills value and second; returns the number of idle jobs. Unknown utilisation counts as busy. */
static int read_jobs(struct policy *p, const int *slot, bool *ret_missbal)
{
	struct shares *c = &p->shares;
	int idle = 0;

	*ret_missbal = p->cfg.tie == TIE_MISSBAL || p->cfg.tie == TIE_AUTO;
	for (int k = 0; k < c->n; k++) {
		const struct smooth *s = &p->smooth[slot[c->job[k]]];
		bool is_idle = s->has_utilization && s->utilization < p->cfg.idle;

		idle += is_idle;
		p->value[k] = rate_of(p, s);
		p->second[k] = is_idle ? 0 : s->misses;
		if (!s->has_misses)
			*ret_missbal = false;
	}
	return idle;
}

/* Jobs that end before a move is repaid stay; what pieces of large jobs do is theirs. */
static void anchor(struct policy *p, const struct view *v, const int *slot, bool runs)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		const struct signal *left = &v->job[c->job[k]].signal[SIGNAL_TIME_LEFT];
		bool ends = left->provenance != PROVENANCE_NONE && left->value < p->cfg.payback_s;

		p->pin[k] = runs && ends ? p->running[k] : -1;
	}
	for (int i = 0; i < c->n_pieces; i++)
		p->piece_value[i] = rate_of(p, &p->smooth[slot[c->piece[i].job]]);
	grouping_anchor(&p->grouping, c, p->value, p->pin, p->piece_value);
}

/* GiB of competing job @k that would be on other memory nodes than domain @d's. */
static double away_gib(const struct policy *p, int k, int d)
{
	const struct shares *c = &p->shares;
	const struct view_job *j = &c->v->job[c->job[k]];
	int at_home = 0;

	if (j->home_numa < 0 || !(j->rss_bytes > 0))
		return 0;
	for (int i = 0; i < c->capacity[d]; i++)
		at_home += c->t->core[c->core[c->first_core[d] + i]].numa == j->home_numa;
	return j->rss_bytes / (1 << 30) * (1 - (double)at_home / c->capacity[d]);
}

/* Of the score: what job @k leaves behind from domain @from to @to. */
static double move_cost(const struct policy *p, int k, int from, int to)
{
	double gib = from == to ? 0 : away_gib(p, k, to) - away_gib(p, k, from);

	/* No reward for the way back: the rest of its memory may be elsewhere again. */
	return gib > 0 ? p->cfg.numa * gib : 0;
}

static double moves_cost(const struct policy *p, const int *from, const int *to)
{
	double cost = 0;

	for (int k = 0; k < p->shares.n && p->cfg.numa > 0; k++)
		cost += move_cost(p, k, from[k], to[k]);
	return cost;
}

static bool any_memory(const struct policy *p)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n && p->cfg.numa > 0; k++)
		if (c->v->job[c->job[k]].home_numa >= 0 && c->v->job[c->job[k]].rss_bytes > 0)
			return true;
	return false;
}

static bool may_exchange(const struct policy *p, int i, int j)
{
	const struct shares *c = &p->shares;
	int a = p->running[i], b = p->running[j];

	return a != b && c->size[i] == c->size[j] && shares_allowed(c, i, b) &&
	       shares_allowed(c, j, a) && p->pin[i] < 0 && p->pin[j] < 0;
}

/*
 * The best grouping leaves too much behind: are two jobs worth exchanging? Then domain_of is what
 * runs with these exchanged, and its score is returned; else negative.
 */
static double exchange(struct policy *p, double least)
{
	struct shares *c = &p->shares;
	double score = -1;
	int first = -1, second = -1;
	long steps = 0;

	for (int k = 0; k < c->n; k++)
		p->domain_of[k] = p->running[k];
	for (int i = 0; i < c->n; i++)
		for (int j = i + 1; j < c->n && steps < EXCHANGE_STEPS; j++) {
			int a = p->running[i], b = p->running[j];
			double s, worth, cost;

			if (!may_exchange(p, i, j))
				continue;
			cost = move_cost(p, i, a, b) + move_cost(p, j, b, a);
			if (cost >= 1) /* no score is worth it */
				continue;
			steps += c->n + c->n_domains;
			p->domain_of[i] = b;
			p->domain_of[j] = a;
			s = grouping_score(&p->grouping, c, p->value, p->domain_of);
			p->domain_of[i] = a;
			p->domain_of[j] = b;
			worth = s * (1 - cost);
			if (worth <= least)
				continue;
			least = worth;
			score = s;
			first = i;
			second = j;
		}
	if (first >= 0) {
		p->domain_of[first] = p->running[second];
		p->domain_of[second] = p->running[first];
	}
	return score;
}

/*
 * What runs (or, where some have just come, keeps the others where they are) against the best
 * grouping, moves paid for. NULL: domain_of is worth it, and *best its score; else why not.
 */
static const char *why_not(struct policy *p, double now, double h, bool runs, double *best)
{
	double cost = moves_cost(p, p->running, p->domain_of), score = -1;

	if (!runs && !(cost > 0))
		return NULL;
	if (now * (1 + h) < *best * (1 - cost))
		return NULL;
	if (now * (1 + h) >= *best)
		return "stays: no grouping is enough better";
	score = exchange(p, now * (1 + h));
	if (score < 0)
		return "stays: what is better would leave memory behind";
	*best = score;
	return NULL;
}

/* Whom nobody has seen before was invoked just now. */
static bool was_invoked(const struct policy *p, const int *slot)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++)
		if (!p->smooth[slot[c->job[k]]].known)
			return true;
	return false;
}

/* Everybody in one domain; whether they are balanced does not matter. */
static bool find_domains(struct shares *c, int *ret_domain_of)
{
	for (int k = 0; k < c->n; k++) {
		ret_domain_of[k] = shares_current_domain(c, k);
		if (ret_domain_of[k] < 0 || !shares_allowed(c, k, ret_domain_of[k]))
			return false;
	}
	return true;
}

static int place(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	bool missbal, runs, dealt, invoked, kept;
	int rc = shares_build(c, v, ret, err), idle;
	const int *domain_of;
	const char *why = NULL;
	double best, now;
	uint64_t set;

	if (rc)
		return rc;
	invoked = was_invoked(p, slot);
	for (int i = 0; i < v->n_jobs; i++)
		if (!v->job[i].excluded)
			smooth_job(p, &v->job[i], &p->smooth[slot[i]]);
	idle = read_jobs(p, slot, &missbal);
	explain(p, v, slot, idle, ret);
	ret->score = 0;
	if (c->n == 0 || (c->n_pieces == 0 && shares_blocks(c, ret)))
		return 0;
	dealt = shares_incumbent(c, p->running);
	runs = dealt || shares_grouped(c, p->running) ||
	       ((p->cfg.placements || (p->fixed && p->cfg.decide == DECIDE_INVOKED && !invoked)) &&
		       find_domains(c, p->running));
	anchor(p, v, slot, runs);
	best = grouping_best(&p->grouping, c, p->value, missbal ? p->second : p->value,
		(enum grouping_tie)p->cfg.tie, p->domain_of);
	if (!p->grouping.anchored)
		shares_relabel(c, p->domain_of);
	set = shares_set(c);
	kept = runs || any_memory(p);
	if (kept && !runs)
		shares_by_arrival(c, p->running);
	now = kept ? grouping_score(&p->grouping, c, p->value, p->running) : 0;
	/* Case (iii) before (ii): many idle say nothing about the rest (section 5.3). */
	if (runs && p->fixed && (p->cfg.decide == DECIDE_INVOKED ? !invoked : set == p->set))
		why = "stays: decided when a job last came";
	else if (runs && idle > c->n_domains)
		why = "stays: more idle jobs than domains";
	else if (kept)
		why = why_not(p, now, runs ? p->cfg.h : 0, runs, &best);
	p->set = set;
	ret->score = why ? now : best;
	domain_of = why ? p->running : p->domain_of;
	if (why && dealt)
		shares_keep(c, domain_of, why, ret);
	else
		shares_apply(c, domain_of, ret);
	if (p->share_smt)
		smt_pair(c, domain_of, p->value, p->cfg.h, p->core_sum, ret);
	return 0;
}

static int lira_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	int rc = place(p, v, slot, ret, err);

	if (rc == 0)
		fill_plan(&p->fill, &p->shares, v, slot, ret);
	return rc;
}

static void lira_forget(struct policy *p, int slot)
{
	p->smooth[slot] = (struct smooth){0};
	fill_forget(&p->fill, slot);
}

const struct policy_ops policy_lira = {
	.name = "lira",
	.summary = "jobs with the most different load rates share a domain; adaptive (LIRA)",
	.options = "tie=auto|balance|first|missbal metric=loads|llc_miss|mem_bw h=RATIO ema=0..1 "
		   "idle=0..1 norm=none|per_socket payback=SECONDS numa=PER_GIB "
		   "placements=balanced|all "
		   "fill=" FILL_CHOICE " hysteresis_ms=N",
	.needs = SIGNAL_BIT(SIGNAL_LOADS),
	.needs_now = lira_needs,
	.on_node = true,
	.asks = POLICY_ASKS_LENT,
	.size = sizeof(struct policy),
	.create = lira_create,
	.decide = lira_decide,
	.forget = lira_forget,
};

const struct policy_ops policy_lira_static = {
	.name = "lira-static",
	.summary = "as lira, from each job's first (stored) load rate, when one comes only",
	.options = "decide=invoked|set tie=auto|balance|first|missbal "
		   "metric=loads|llc_miss|mem_bw h=RATIO norm=none|per_socket payback=SECONDS "
		   "numa=PER_GIB "
		   "fill=" FILL_CHOICE " hysteresis_ms=N",
	.needs = SIGNAL_BIT(SIGNAL_LOADS),
	.needs_now = lira_needs,
	.on_node = true,
	.asks = POLICY_ASKS_LENT,
	.size = sizeof(struct policy),
	.create = lira_static_create,
	.decide = lira_decide,
	.forget = lira_forget,
};
