/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbmp, sbmp-pp, sbmp-cd - cores by predicted scalability, in units that share a cache.
 *
 * Each job runs for a moment on a few core counts (experiments in the plan), a curve is fitted,
 * and the units are dealt so that the mean slow-down is least. -pp predicts anew when a job
 * enters another phase; -cd also lends the idle time of badly used partitions. How well a job uses
 * its own is what it executed there (section 3.3: "the cumulative execution cycles by the maximum
 * available cumulative cycles"), so that of a donee is "only measured at its original partition"
 * (section 3.4).
 *
 * Source: Sasaki, Tanimoto, Inoue, Nakamura: Scalability-Based Manycore Partitioning, PACT 2012.
 * Where this departs (exact allocation, corrected phase detection, Green off by default) is told
 * in doc/policies.md.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "nodesvc/engine/internal.h"
#include "nodesvc/engine/policies/sbmp.h"

#define SAMPLE_MS   150  /* Table 3: about 550 ms for four points */
#define DONOR_BELOW 0.70 /* Table 3 */
#define SAME_PHASE  1.25 /* ratio of utilisations at one width that still is one phase */

static const char *const variant_name[] = {"sbmp", "sbmp-pp", "sbmp-cd"};

static const struct option_spec options[] = {
	{"objective", OPTION_CHOICE, offsetof(struct config, objective), 0, 0,
		"antt|stp|wspeedup|worst"},
	{"search", OPTION_CHOICE, offsetof(struct config, search), 0, 0, "exact|paper"},
	{"phase", OPTION_CHOICE, offsetof(struct config, phase), 0, 0, "paper|width"},
	{"green", OPTION_CHOICE, offsetof(struct config, green), 0, 0, "no|yes|paper"},
	{"place", OPTION_CHOICE, offsetof(struct config, place), 0, 0, "centralised|keep"},
	{"sample_ms", OPTION_INT, offsetof(struct config, sample_ms), 1, 60000, NULL},
	{"slice_ms", OPTION_INT, offsetof(struct config, slice_ms), 10, 60000, NULL},
	{"donor", OPTION_DOUBLE, offsetof(struct config, donor), 0, 1, NULL},
	{0},
};

static int create(
	struct policy *p, const struct policy_cfg *cfg, enum variant variant, struct errbuf *err)
{
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	p->variant = variant;
	p->cfg = (struct config){
		.sample_ms = SAMPLE_MS,
		.slice_ms = 100,
		.donor = DONOR_BELOW,
	};
	rc = option_read(cfg, variant_name[variant], options, &p->cfg, err);
	if (rc)
		return rc;
	p->phase_cfg = p->cfg.phase ? phase_width : phase_paper;
	shares_init(&p->shares, cfg);
	units_init(&p->units, cfg);
	allocate_init(&p->allocate, cfg->memory, cfg->max_jobs, cfg->topo->n_cores);
	p->state = arena_alloc(cfg->memory, n, sizeof(*p->state));
	p->given = arena_alloc(cfg->memory, n, sizeof(int));
	p->unit_owner = arena_alloc(cfg->memory, (size_t)cfg->topo->n_cores, sizeof(int));
	p->domain_of = arena_alloc(cfg->memory, n, sizeof(int));
	p->is_green = arena_alloc(cfg->memory, n, sizeof(bool));
	p->taken = arena_alloc(cfg->memory, n, sizeof(bool));
	p->peak = arena_alloc(cfg->memory, n, sizeof(double));
	p->gain = arena_alloc(cfg->memory, n, sizeof(double));
	p->most = arena_alloc(cfg->memory, n, sizeof(int));
	p->order = arena_alloc(cfg->memory, n, sizeof(int));
	return 0;
}

static int sbmp_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, SBMP_BASE, err);
}

static int sbmp_pp_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, SBMP_PP, err);
}

static int sbmp_cd_create(struct policy *p, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(p, cfg, SBMP_CD, err);
}

/* Core counts to sample: 1, C/4, C/2, C (Table 3 has 1, 12, 24, 48 of 48). */
static int sample_points(int cores, int *ret)
{
	const int want[] = {1, cores / 4, cores / 2, cores};
	int n = 0, last = 0;

	for (int i = 0; i < 4; i++)
		if (want[i] > last)
			last = ret[n++] = want[i];
	return n;
}

static bool has_point(const struct job_state *s, int cores)
{
	for (int i = 0; i < s->n_points; i++)
		if (s->point[i].cores == cores)
			return true;
	return false;
}

static void add_point(struct job_state *s, int cores, double speed)
{
	for (int i = 0; i < s->n_points; i++)
		if (s->point[i].cores == cores) {
			s->point[i].speed = speed;
			return;
		}
	if (s->n_points < SCALABILITY_POINTS)
		s->point[s->n_points++] = (struct speed_point){.cores = cores, .speed = speed};
}

static double known_utilization(const struct known_phase *k, int cores)
{
	int below = -1, above = -1;

	for (int i = 0; i < k->n; i++) {
		if (k->seen[i].cores <= cores &&
			(below < 0 || k->seen[i].cores > k->seen[below].cores))
			below = i;
		if (k->seen[i].cores >= cores &&
			(above < 0 || k->seen[i].cores < k->seen[above].cores))
			above = i;
	}
	if (below < 0)
		below = above;
	if (above < 0)
		above = below;
	if (below < 0)
		return NAN;
	if (below == above)
		return k->seen[below].utilization;
	return k->seen[below].utilization +
	       (k->seen[above].utilization - k->seen[below].utilization) *
		       (cores - k->seen[below].cores) /
		       (k->seen[above].cores - k->seen[below].cores);
}

/* Remembers how well this phase uses this width. */
static void remember_utilization(struct job_state *s)
{
	struct known_phase *k = &s->phases[s->phase_now];
	int i = 0;

	if (!s->phase.has_reference || s->n_phases == 0)
		return;
	while (i < k->n && k->seen[i].cores != s->phase.cores)
		i++;
	if (i == 4)
		i = 3;
	if (i == k->n)
		k->n++;
	k->seen[i].cores = s->phase.cores;
	k->seen[i].utilization = s->phase.reference;
}

/* A phase seen before with about this utilisation at this width: its curve, without sampling. */
static bool recall_phase(struct job_state *s)
{
	for (int i = 0; i < s->n_phases; i++) {
		double u = known_utilization(&s->phases[i], s->phase.cores);

		if (i != s->phase_now && isfinite(u) && s->phase.level <= u * SAME_PHASE &&
			u <= s->phase.level * SAME_PHASE) {
			s->phase_now = i;
			s->fit = s->phases[i].fit;
			return true;
		}
	}
	return false;
}

static void begin_sampling(struct job_state *s)
{
	s->n_points = 0;
	s->sampling = true;
}

static void set_fit(struct job_state *s, const struct scalability *fit, bool new_phase)
{
	s->fit = *fit;
	s->has_fit = s->new_fit = true;
	s->sampling = false;
	if (new_phase || s->n_phases == 0) {
		s->phase_now = s->n_phases < KNOWN_PHASES ? s->n_phases++ : 0;
		s->phases[s->phase_now] = (struct known_phase){.fit = *fit};
	}
	s->phases[s->phase_now].fit = *fit;
}

/* A number that changes with the speeds a view tells of a job; 0: none. */
static uint64_t told(const struct view_job *j)
{
	uint64_t h = j->n_speed > 0 ? 14695981039346656037u : 0; /* FNV-1a */

	for (int i = 0; i < j->n_speed; i++) {
		uint64_t bits;

		memcpy(&bits, &j->speed[i].speed, sizeof(bits));
		h = (h ^ (uint64_t)j->speed[i].cores) * 1099511628211u;
		h = (h ^ bits ^ (bits >> 32)) * 1099511628211u;
	}
	return h;
}

/* Speeds told before were measured before: what was known belongs to the phase that is over. */
static void phase_changed(struct policy *p, struct job_state *s)
{
	if (p->variant == SBMP_BASE || s->sampling)
		return;
	if (p->cfg.phase && recall_phase(s))
		return;
	begin_sampling(s);
}

/* Speeds the view tells: a curve where they suffice, else points that need no experiment. */
static void take_told(struct job_state *s, const struct view_job *j, bool new_phase)
{
	struct scalability fit;

	s->told = told(j);
	if (scalability_fit(j->speed, j->n_speed, &fit)) {
		set_fit(s, &fit, new_phase);
		return;
	}
	for (int i = 0; i < j->n_speed && s->sampling; i++)
		add_point(s, j->speed[i].cores, j->speed[i].speed);
}

/* How well it uses the cores it was dealt; false: not known now. */
static bool find_use(const struct view_job *j, double *ret)
{
	const struct signal *u = &j->signal[SIGNAL_UTILIZATION];

	*ret = j->has_executed ? j->executed : u->value;
	return j->has_executed || (!j->borrows && u->provenance != PROVENANCE_NONE);
}

/* New jobs, samples of utilisation, phase changes; then results of experiments. */
static void observe(struct policy *p, const struct view *v, const int *slot)
{
	for (int i = 0; i < v->n_jobs; i++) {
		const struct view_job *j = &v->job[i];
		struct job_state *s = &p->state[slot[i]];
		bool was_known = s->known, has_use;
		double use;

		if (!was_known) {
			*s = (struct job_state){.known = true};
			begin_sampling(s);
		}
		has_use = find_use(j, &use) && (!was_known || s->sample_no != j->sample_no);
		s->fresh = told(j) != s->told;
		if (s->fresh) {
			take_told(s, j, !was_known || p->variant != SBMP_BASE);
		} else if (was_known && s->phase.started && has_use) {
			bool changed = phase_sample(&s->phase, &p->phase_cfg, v->now_s, use);

			if (changed)
				phase_changed(p, s);
			else if (!s->sampling)
				remember_utilization(s);
		}
		s->sample_no = j->sample_no;
		if (has_use) {
			s->sum += use;
			s->n++;
		}
	}
	for (int e = 0; e < v->n_events; e++) {
		const struct event *ev = &v->event[e];
		int i = view_job_index(v, ev->job);

		if (i < 0)
			continue;
		/* The paper's detector is the only one where it rules. */
		if (ev->type == EVENT_PHASE && !p->state[slot[i]].fresh && p->cfg.phase)
			phase_changed(p, &p->state[slot[i]]);
		else if (ev->type == EVENT_EXPERIMENT_RESULT && ev->cores > 0 &&
			 speed_is_sane(ev->speed))
			add_point(&p->state[slot[i]], ev->cores, ev->speed);
	}
}

static void ask(struct policy *p, int k, int cores, struct plan *ret)
{
	struct plan_experiment *x;
	const struct shares *c = &p->shares;

	if (ret->n_experiments == PLAN_EXPERIMENTS_MAX)
		return;
	x = &ret->experiment[ret->n_experiments++];
	*x = (struct plan_experiment){
		.job = c->job[k],
		.cores = cores,
		.ms = p->cfg.sample_ms,
	};
	for (int i = 0, n = 0; i < c->total && n < cores; i++) {
		const struct coreset *pus = &c->t->core[p->units.core[i]].pus;

		if (!coreset_intersects(pus, c->envelope[k]))
			continue;
		coreset_or(&x->coreset, &x->coreset, pus);
		n++;
	}
	coreset_and(&x->coreset, &x->coreset, c->envelope[k]);
}

/* Asks for what is missing, or fits; false while job @k has no curve at all. */
static bool predict(struct policy *p, int k, int slot, struct plan *ret)
{
	struct job_state *s = &p->state[slot];
	struct scalability fit;
	int want[4], n = sample_points(p->most[k] * p->units.size < p->shares.total
					       ? p->most[k] * p->units.size
					       : p->shares.total,
			     want);
	bool complete = true;

	if (s->sampling && p->shares.total == 1) {
		set_fit(s, &(struct scalability){.alpha = 0, .beta = 1, .gamma = 0}, true);
		return true;
	}
	for (int i = 0; i < n && s->sampling; i++)
		if (!has_point(s, want[i])) {
			ask(p, k, want[i], ret);
			complete = false;
		}
	if (s->sampling && complete && scalability_fit(s->point, s->n_points, &fit))
		set_fit(s, &fit, true);
	return s->has_fit;
}

/* What cannot be partitioned: equal shares, or groups that own a domain. */
static int share(struct policy *p, const char *why, struct plan *ret)
{
	struct shares *c = &p->shares;

	shares_equal(c, p->domain_of, ret);
	for (int k = 0; k < c->n; k++)
		plan_why(ret, c->job[k], "%s", why);
	return 0;
}

static void restart_phases(struct policy *p, const int *slot, const struct plan *ret, double now_s)
{
	const struct shares *c = &p->shares;
	bool moved = false;

	for (int k = 0; k < c->n; k++)
		moved = moved || !coreset_is_equal(&ret->job[c->job[k]].coreset,
					 &c->v->job[c->job[k]].current);
	for (int k = 0; k < c->n; k++) {
		struct job_state *s = &p->state[slot[c->job[k]]];
		int cores = topo_count_cores(c->t, &ret->job[c->job[k]].coreset);

		/* "any re-schedule" lengthens every epoch; a width only its own reference. */
		if (!s->phase.started || s->phase.cores != cores ||
			(moved && p->phase_cfg.mode == PHASE_PAPER))
			phase_restart(&s->phase, &p->phase_cfg, now_s, cores);
	}
}

/*
 * Section 3.4: "After allocating the cores to each program, SBMP scheduler checks if any of the
 * program meets the requirement of a donor": by the epoch that ends with it, and once more after
 * the first one on the new cores. phase=width: at the end of each.
 */
static void choose_epoch(struct policy *p, const int *slot, double now_s)
{
	const struct shares *c = &p->shares;
	uint64_t set = shares_set(c);
	bool dealt = set != p->set, over;

	for (int k = 0; k < c->n; k++) {
		struct job_state *s = &p->state[slot[c->job[k]]];

		dealt |= s->new_fit;
		s->new_fit = false;
	}
	/* Clocks are doubles: an epoch may end a rounding early. */
	over = dealt || now_s - p->epoch_s >= p->epoch_length_s - 1e-9;
	for (int k = 0; k < c->n && over; k++) {
		struct job_state *s = &p->state[slot[c->job[k]]];

		/* Half an epoch is better than none, and worse than a whole one. */
		if (s->n > 0 && (!dealt || !s->has_mean)) {
			s->mean = s->sum / s->n;
			s->has_mean = true;
		}
		s->sum = 0;
		s->n = 0;
		if (dealt || p->first_epoch || p->cfg.phase) {
			s->utilization = s->mean;
			s->has_utilization = s->has_mean;
		}
	}
	p->set = set;
	if (over) {
		p->epoch_s = now_s;
		p->epoch_length_s = dealt ? phase_paper.first_epoch_s : phase_paper.epoch_s;
		p->first_epoch = dealt;
	}
}

/* Units that each job may use. */
static void fill_most(struct policy *p)
{
	const struct shares *c = &p->shares;

	for (int k = 0; k < c->n; k++) {
		p->most[k] = p->units.n;
		if (c->uniform)
			continue;
		p->most[k] = 0;
		for (int u = 0; u < p->units.n; u++)
			p->most[k] += coreset_intersects(
				&c->t->core[p->units.core[u]].pus, c->envelope[k]);
	}
}

/* Minima that fit in cores may not in units. */
static bool minima_fit(const struct policy *p)
{
	int units = 0;

	for (int k = 0; k < p->shares.n; k++)
		units += sbmp_least(p, k);
	return units <= p->units.n;
}

static int sbmp_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct shares *c = &p->shares;
	int rc = shares_build(c, v, ret, err);
	bool predicted = true;

	if (rc)
		return rc;
	observe(p, v, slot);
	if (c->n == 0)
		return 0;
	if (c->shared || (!c->uniform && !shares_mixed_sizes(c, p->given)))
		return share(p, "more jobs than cores: groups own a domain", ret);
	units_build(&p->units, c, UNIT_CORE);
	/* More jobs than dies, dies of which some jobs may use a part, or dies that differ: so many
	 * of them say nothing of speed. Single cores are dealt. */
	if (c->n > p->units.n || !c->uniform || p->units.uneven || !minima_fit(p))
		units_split(&p->units, c);
	fill_most(p);
	for (int k = 0; k < c->n; k++)
		predicted = predict(p, k, slot[c->job[k]], ret) && predicted;
	sbmp_fill_peaks(p, slot);
	for (int k = 0; k < c->n; k++)
		p->is_green[k] = false;
	if (!predicted) {
		sbmp_explain(p, slot, false, ret);
		share(p, "equal parts until its scalability is known", ret);
		restart_phases(p, slot, ret, v->now_s);
		return 0;
	}
	if (c->uniform) {
		sbmp_find_green(p, slot);
		ret->score = sbmp_allocate(p, slot);
		sbmp_place(p, ret);
	} else {
		rc = sbmp_allocate_mixed(p, slot, ret, err);
		if (rc)
			return rc;
	}
	for (int k = 0; k < c->n; k++)
		plan_why(ret, c->job[k], "%d cores: %.0f %% of its best speed",
			sbmp_cores(p, p->given[k]),
			p->given[k] ? 100 * sbmp_table(p, k, &p->state[slot[c->job[k]]],
						    sbmp_cores(p, p->given[k]))
				    : 100.0);
	sbmp_gang_green(p, ret);
	if (p->variant == SBMP_CD) {
		choose_epoch(p, slot, v->now_s);
		sbmp_donate(p, slot, ret);
	}
	sbmp_explain(p, slot, true, ret);
	restart_phases(p, slot, ret, v->now_s);
	return 0;
}

static void sbmp_forget(struct policy *p, int slot)
{
	p->state[slot] = (struct job_state){0};
}

#define SBMP_OPTIONS                                                                               \
	"objective=antt|stp|wspeedup|worst search=exact|paper phase=paper|width "                  \
	"green=no|yes|paper place=centralised|keep sample_ms=N slice_ms=N donor=0..1"

const struct policy_ops policy_sbmp = {
	.name = "sbmp",
	.summary = "cores by predicted scalability, least mean slow-down (SBMP)",
	.options = SBMP_OPTIONS,
	.on_node = true,
	.asks = POLICY_ASKS_EXPERIMENTS | POLICY_ASKS_SLICES,
	.size = sizeof(struct policy),
	.create = sbmp_create,
	.decide = sbmp_decide,
	.forget = sbmp_forget,
};

const struct policy_ops policy_sbmp_pp = {
	.name = "sbmp-pp",
	.summary = "sbmp that predicts anew when a job changes phase",
	.options = SBMP_OPTIONS,
	.needs = SIGNAL_BIT(SIGNAL_UTILIZATION),
	.on_node = true,
	.asks = POLICY_ASKS_EXPERIMENTS | POLICY_ASKS_SLICES,
	.size = sizeof(struct policy),
	.create = sbmp_pp_create,
	.decide = sbmp_decide,
	.forget = sbmp_forget,
};

const struct policy_ops policy_sbmp_cd = {
	.name = "sbmp-cd",
	.summary = "sbmp-pp that lends the idle time of badly used cores",
	.options = SBMP_OPTIONS,
	.needs = SIGNAL_BIT(SIGNAL_UTILIZATION),
	.on_node = true,
	.asks = POLICY_ASKS_EXPERIMENTS | POLICY_ASKS_SLICES | POLICY_ASKS_LENT,
	.size = sizeof(struct policy),
	.create = sbmp_cd_create,
	.decide = sbmp_decide,
	.forget = sbmp_forget,
};
