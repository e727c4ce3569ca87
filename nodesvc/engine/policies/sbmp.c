/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbmp, sbmp-pp, sbmp-cd - cores by predicted scalability, in units that share a cache.
 *
 * Each job runs for a moment on a few core counts (experiments in the plan), a curve is fitted,
 * and the units are dealt so that the mean slow-down is least. -pp predicts anew when a job
 * enters another phase; -cd also lends the idle time of badly used partitions.
 *
 * Source: Sasaki, Tanimoto, Inoue, Nakamura: Scalability-Based Manycore Partitioning, PACT 2012.
 * Where this departs (exact allocation, corrected phase detection, Green off by default) is told
 * in doc/policies.md.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/allocate.h"
#include "nodesvc/engine/contest.h"
#include "nodesvc/engine/explain.h"
#include "nodesvc/engine/option.h"
#include "nodesvc/engine/phase.h"
#include "nodesvc/engine/scalability.h"
#include "nodesvc/engine/units.h"

#define SAMPLE_MS        150  /* Table 3: about 550 ms for four points */
#define DONOR_BELOW      0.70 /* Table 3 */
#define DONEE_WEIGHT     1    /* of 100: "much lower" priority (section 3.4) */
#define GREEN_TABLE_HALF 0.60 /* ours: relative performance on half the cores ... */
#define GREEN_SPEEDUP    0.60 /* ... and speed-up per core that make a job Green */
#define GREEN_UNITS      4
#define KNOWN_PHASES     4
#define SAME_PHASE       1.25 /* ratio of utilisations at one width that still is one phase */

enum objective { OBJECTIVE_ANTT, OBJECTIVE_STP, OBJECTIVE_WSPEEDUP, OBJECTIVE_WORST };
enum variant { SBMP_BASE, SBMP_PP, SBMP_CD };
static const char *const variant_name[] = {"sbmp", "sbmp-pp", "sbmp-cd"};

struct config {
	int objective, search, phase;
	bool green;
	int sample_ms, slice_ms;
	double donor;
};

static const struct option_spec options[] = {
	{"objective", OPTION_CHOICE, offsetof(struct config, objective), 0, 0,
		"antt|stp|wspeedup|worst"},
	{"search", OPTION_CHOICE, offsetof(struct config, search), 0, 0, "exact|paper"},
	{"phase", OPTION_CHOICE, offsetof(struct config, phase), 0, 0, "paper|width"},
	{"green", OPTION_BOOL, offsetof(struct config, green), 0, 0, NULL},
	{"sample_ms", OPTION_INT, offsetof(struct config, sample_ms), 1, 60000, NULL},
	{"slice_ms", OPTION_INT, offsetof(struct config, slice_ms), 10, 60000, NULL},
	{"donor", OPTION_DOUBLE, offsetof(struct config, donor), 0, 1, NULL},
	{0},
};

struct known_phase {
	struct scalability fit;
	int n;
	struct {
		int cores;
		double utilization;
	} seen[4];
};

struct job_state {
	bool known, has_fit, sampling;
	struct speed_point point[SCALABILITY_POINTS];
	int n_points;
	struct scalability fit;
	uint64_t sample_no;
	bool has_utilization;
	double utilization;
	struct phase phase;
	struct known_phase phases[KNOWN_PHASES];
	int n_phases, phase_now;
};

struct policy {
	enum variant variant;
	struct config cfg;
	struct phase_cfg phase_cfg;
	struct contest contest;
	struct units units;
	struct allocate allocate;
	struct job_state *state; /* [max_jobs] by slot */
	int *given, *unit_owner, *domain_of;
	bool *is_green, *taken;
	double *peak; /* [max_jobs] best speed of the job's table */
};

static void sbmp_free(struct policy *p)
{
	contest_done(&p->contest);
	units_done(&p->units);
	allocate_done(&p->allocate);
	free(p->state);
	free(p->given);
	free(p->unit_owner);
	free(p->domain_of);
	free(p->is_green);
	free(p->taken);
	free(p->peak);
	free(p);
}

static int create(
	struct policy **ret, const struct policy_cfg *cfg, enum variant variant, struct errbuf *err)
{
	struct policy *p = calloc(1, sizeof(*p));
	size_t n = (size_t)cfg->max_jobs;
	int rc;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->variant = variant;
	p->cfg = (struct config){
		.sample_ms = SAMPLE_MS,
		.slice_ms = 100,
		.donor = DONOR_BELOW,
	};
	rc = option_read(cfg, variant_name[variant], options, &p->cfg, err);
	p->phase_cfg = p->cfg.phase ? phase_width : phase_paper;
	if (!rc)
		rc = contest_init(&p->contest, cfg, err);
	if (!rc)
		rc = units_init(&p->units, cfg->topo, err);
	if (!rc)
		rc = allocate_init(&p->allocate, cfg->max_jobs, cfg->topo->n_cores, err);
	p->state = calloc(n, sizeof(*p->state));
	p->given = calloc(n, sizeof(int));
	p->unit_owner = calloc((size_t)cfg->topo->n_cores, sizeof(int));
	p->domain_of = calloc(n, sizeof(int));
	p->is_green = calloc(n, sizeof(bool));
	p->taken = calloc(n, sizeof(bool));
	p->peak = calloc(n, sizeof(double));
	if (!rc && (!p->state || !p->given || !p->unit_owner || !p->domain_of || !p->is_green ||
			   !p->taken || !p->peak))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		sbmp_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

static int sbmp_create(struct policy **ret, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(ret, cfg, SBMP_BASE, err);
}

static int sbmp_pp_create(struct policy **ret, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(ret, cfg, SBMP_PP, err);
}

static int sbmp_cd_create(struct policy **ret, const struct policy_cfg *cfg, struct errbuf *err)
{
	return create(ret, cfg, SBMP_CD, err);
}

/* Core counts to sample: 1, C/4, C/2, C (Table 3 has 1, 12, 24, 48 of 48). */
static int sample_points(int cores, int *ret)
{
	const int want[] = {1, cores / 4, cores / 2, cores};
	int n = 0;

	for (int i = 0; i < 4; i++)
		if (want[i] >= 1 && (n == 0 || want[i] > ret[n - 1]))
			ret[n++] = want[i];
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
	s->has_fit = true;
	s->sampling = false;
	if (new_phase || s->n_phases == 0) {
		s->phase_now = s->n_phases < KNOWN_PHASES ? s->n_phases++ : 0;
		s->phases[s->phase_now] = (struct known_phase){.fit = *fit};
	}
	s->phases[s->phase_now].fit = *fit;
}

static void phase_changed(struct policy *p, struct job_state *s, const struct view_job *j)
{
	struct scalability fit;

	if (p->variant == SBMP_BASE || s->sampling)
		return;
	if (scalability_fit(j->speed, j->n_speed, &fit)) {
		set_fit(s, &fit, true);
		return;
	}
	if (p->cfg.phase && recall_phase(s))
		return;
	begin_sampling(s);
}

/* New jobs, samples of utilisation, phase changes; then results of experiments. */
static void observe(struct policy *p, const struct view *v, const int *slot)
{
	for (int i = 0; i < v->n_jobs; i++) {
		const struct view_job *j = &v->job[i];
		struct job_state *s = &p->state[slot[i]];
		struct scalability fit;

		if (!s->known) {
			*s = (struct job_state){.known = true};
			begin_sampling(s);
			if (scalability_fit(j->speed, j->n_speed, &fit))
				set_fit(s, &fit, true);
		} else if (s->sample_no != j->sample_no && s->phase.started &&
			   j->signal[SIGNAL_UTILIZATION].provenance != PROVENANCE_NONE) {
			bool changed = phase_sample(&s->phase, &p->phase_cfg, v->now_s,
				j->signal[SIGNAL_UTILIZATION].value);

			if (changed)
				phase_changed(p, s, j);
			else if (!s->sampling)
				remember_utilization(s);
		}
		s->sample_no = j->sample_no;
		if (j->signal[SIGNAL_UTILIZATION].provenance != PROVENANCE_NONE) {
			s->utilization = j->signal[SIGNAL_UTILIZATION].value;
			s->has_utilization = true;
		}
	}
	for (int e = 0; e < v->n_events; e++) {
		const struct event *ev = &v->event[e];
		int i = view_job_index(v, ev->job);

		if (i < 0)
			continue;
		if (ev->type == EVENT_PHASE)
			phase_changed(p, &p->state[slot[i]], &v->job[i]);
		else if (ev->type == EVENT_EXPERIMENT_RESULT && ev->speed > 0)
			add_point(&p->state[slot[i]], ev->cores, ev->speed);
	}
}

static void ask(struct policy *p, int k, int cores, struct plan *ret)
{
	struct plan_experiment *x;
	const struct contest *c = &p->contest;

	if (ret->n_experiments == PLAN_EXPERIMENTS_MAX)
		return;
	x = &ret->experiment[ret->n_experiments++];
	*x = (struct plan_experiment){
		.job = c->job[k],
		.cores = cores,
		.ms = p->cfg.sample_ms,
	};
	for (int i = 0; i < cores; i++)
		coreset_or(&x->coreset, &x->coreset, &c->t->core[p->units.core[i]].pus);
	coreset_and(&x->coreset, &x->coreset, &c->envelope[k]);
}

/* Asks for what is missing, or fits; false while job @k has no curve at all. */
static bool predict(struct policy *p, int k, int slot, struct plan *ret)
{
	struct job_state *s = &p->state[slot];
	struct scalability fit;
	int want[4], n = sample_points(p->contest.total, want);
	bool complete = true;

	if (s->sampling && p->contest.total == 1) {
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

static int cores_of(const struct policy *p, int units)
{
	int n = units * p->units.size;

	return n < p->contest.total ? n : p->contest.total;
}

static void fill_peaks(struct policy *p, const int *slot)
{
	for (int k = 0; k < p->contest.n; k++) {
		const struct job_state *s = &p->state[slot[p->contest.job[k]]];

		p->peak[k] = 0;
		for (int u = 1; s->has_fit && u <= p->units.n; u++)
			p->peak[k] = fmax(p->peak[k], scalability_speed(&s->fit, cores_of(p, u)));
	}
}

/* Relative performance against the job's best width. */
static double table(const struct policy *p, int k, const struct job_state *s, int cores)
{
	return scalability_speed(&s->fit, cores) / p->peak[k];
}

/*
 * Almost linear jobs lose by any partition and are better run alone, in turns (section 3.1). The
 * paper gives no bound; these are ours.
 */
static void find_green(struct policy *p, const int *slot)
{
	const struct contest *c = &p->contest;

	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		p->is_green[k] = c->n > 1 && p->cfg.green && p->units.n >= GREEN_UNITS &&
				 c->v->job[c->job[k]].nodes <= 1 &&
				 table(p, k, s, c->total / 2) <= GREEN_TABLE_HALF &&
				 scalability_speed(&s->fit, c->total) >= GREEN_SPEEDUP * c->total;
	}
}

static double cost(const struct policy *p, int k, const struct job_state *s, int units)
{
	int n = cores_of(p, units), min = p->contest.v->job[p->contest.job[k]].min_cores;

	/* Far above any slow-down: taken only where no dealing avoids it. */
	if (n < min)
		return 1e6 * (min - n);
	switch (p->cfg.objective) {
	case OBJECTIVE_STP:
		return -table(p, k, s, n);
	case OBJECTIVE_WSPEEDUP:
		return -scalability_speed(&s->fit, n) /
		       scalability_speed(&s->fit, p->contest.total);
	default:
		return 1 / table(p, k, s, n);
	}
}

/* Units for every job that is not Green; returns the objective's value. */
static double allocate(struct policy *p, const int *slot)
{
	const struct contest *c = &p->contest;
	enum combine how = p->cfg.objective == OBJECTIVE_WORST ? COMBINE_MAX : COMBINE_SUM;
	int *units = c->scratch, n = 0;
	double value;

	for (int k = 0; k < c->n; k++) {
		if (p->is_green[k])
			continue;
		for (int u = 1; u <= p->units.n; u++)
			*allocate_cost(&p->allocate, n, u) =
				cost(p, k, &p->state[slot[c->job[k]]], u);
		n++;
	}
	if (n == 0)
		return NAN;
	value = p->cfg.search ? allocate_climb(&p->allocate, n, p->units.n, how, units)
			      : allocate_best(&p->allocate, n, p->units.n, how, units);
	n = 0;
	for (int k = 0; k < c->n; k++)
		p->given[k] = p->is_green[k] ? 0 : units[n++];
	if (p->cfg.objective == OBJECTIVE_ANTT)
		return value / n;
	return p->cfg.objective == OBJECTIVE_WORST ? value : -value;
}

static bool owns_unit(const struct policy *p, int k, int unit)
{
	const struct contest *c = &p->contest;
	const struct coreset *now = &c->v->job[c->job[k]].current;

	for (int i = 0; i < p->units.count[unit]; i++)
		if (!coreset_intersects(
			    now, &c->t->core[p->units.core[p->units.first[unit] + i]].pus))
			return false;
	return true;
}

/* Units a job has stay its own; the rest are filled one after another (section 2, centralised). */
static void place(struct policy *p, struct plan *ret)
{
	struct contest *c = &p->contest;
	int *left = c->scratch, *list = left + c->max_jobs;

	for (int u = 0; u < p->units.n; u++)
		p->unit_owner[u] = -1;
	for (int k = 0; k < c->n; k++) {
		left[k] = p->given[k];
		for (int u = 0; u < p->units.n && left[k] > 0; u++)
			if (p->unit_owner[u] < 0 && owns_unit(p, k, u)) {
				p->unit_owner[u] = k;
				left[k]--;
			}
	}
	for (int k = 0; k < c->n; k++)
		for (int u = 0; u < p->units.n && left[k] > 0; u++)
			if (p->unit_owner[u] < 0) {
				p->unit_owner[u] = k;
				left[k]--;
			}
	for (int k = 0; k < c->n; k++) {
		int n = 0;

		for (int u = 0; u < p->units.n; u++)
			for (int i = 0; p->unit_owner[u] == k && i < p->units.count[u]; i++)
				list[n++] = p->units.core[p->units.first[u] + i];
		if (n)
			contest_give(c, k, list, n, ret);
	}
}

/* Green jobs one at a time on everything, the others together in between. */
static void gang_green(struct policy *p, struct plan *ret)
{
	struct contest *c = &p->contest;
	struct plan_slice *rest = &ret->slice[0];
	int n_green = 0;

	rest->n_jobs = 0;
	for (int k = 0; k < c->n; k++)
		n_green += p->is_green[k];
	if (n_green == 0)
		return;
	ret->n_slices = n_green < c->n;
	for (int k = 0; k < c->n; k++) {
		int i = c->job[k], s = ret->n_slices;

		if (!p->is_green[k]) {
			rest->job[rest->n_jobs++] = i;
			continue;
		}
		contest_give(c, k, c->core, c->total, ret);
		ret->job[i].role = ROLE_GANG;
		if (s == PLAN_SLICES_MAX) {
			/* Cannot happen with find_green()'s bound on units; keep the last one. */
			s--;
		} else {
			ret->n_slices++;
			ret->slice[s].n_jobs = 0;
		}
		ret->slice[s].job[ret->slice[s].n_jobs++] = i;
		ret->slice[s].ms = p->cfg.slice_ms;
		plan_why(ret, i, "scales almost linearly: the whole node, in turns");
	}
	if (n_green < c->n)
		rest->ms = p->cfg.slice_ms * rest->n_jobs;
}

/* Gain of donee @k from @cores more, by its table; not recomputed after the first donor. */
static double gain(const struct policy *p, int k, const struct job_state *s, int have, int cores)
{
	int n = have + cores < p->contest.total ? have + cores : p->contest.total;

	return table(p, k, s, n) / table(p, k, s, have);
}

/* Section 3.4: one donee per donor; a job is one or the other. */
static void donate(struct policy *p, const int *slot, struct plan *ret)
{
	const struct contest *c = &p->contest;
	bool *donor = p->taken;
	int busiest = -1, n_high = 0;

	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		donor[k] = s->has_utilization && s->utilization < p->cfg.donor;
		n_high += !donor[k];
		if (donor[k] &&
			(busiest < 0 ||
				s->utilization > p->state[slot[c->job[busiest]]].utilization))
			busiest = k;
	}
	/* Nobody is busy: the busiest of them is the donee. */
	if (n_high == 0 && busiest >= 0)
		donor[busiest] = false;
	for (int k = 0; k < c->n; k++) {
		struct plan_job *dj = &ret->job[c->job[k]], *rj;
		int best = -1, cores = topo_count_cores(c->t, &dj->coreset);
		double best_gain = 1 - 1e-9; /* more cores may harm: then nobody borrows */

		for (int r = 0; donor[k] && r < c->n; r++) {
			const struct job_state *s = &p->state[slot[c->job[r]]];
			double g;

			if (donor[r] || p->is_green[r] || p->is_green[k] ||
				ret->job[c->job[r]].n_lent == PLAN_LENT_MAX)
				continue;
			g = gain(p, r, s, cores_of(p, p->given[r]), cores);
			if (g > best_gain + 1e-12) {
				best = r;
				best_gain = g;
			}
		}
		if (best < 0)
			continue;
		rj = &ret->job[c->job[best]];
		dj->role = ROLE_DONOR;
		rj->role = ROLE_DONEE;
		rj->lent[rj->n_lent++] = (struct plan_lent){
			.coreset = dj->coreset,
			.donor = c->job[k],
			.weight = DONEE_WEIGHT,
		};
		plan_why(ret, c->job[k], "uses under %.0f %% of its cores: lends them to %s",
			100 * p->cfg.donor, rj->id);
		plan_why(ret, c->job[best], "gains %.0f %% from the idle time of %s",
			100 * (best_gain - 1), dj->id);
	}
}

/* C(U-1, N-1): how many ways there are to deal the units (section 3.1). */
static double assignments(int units, int jobs)
{
	double n = 1;

	for (int i = 1; i < jobs; i++)
		n = n * (units - i) / i;
	return round(n);
}

static void explain_curve(
	struct explain *x, const struct policy *p, const int *slot, const char *key, size_t offset)
{
	const struct contest *c = &p->contest;

	explain_object(x, key);
	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];
		double coefficient;

		memcpy(&coefficient, (const char *)&s->fit + offset, sizeof(coefficient));
		if (s->has_fit)
			explain_number(x, c->v->job[c->job[k]].id, coefficient);
	}
	explain_end(x);
}

static void explain(const struct policy *p, const int *slot, bool allocated, struct plan *ret)
{
	const struct contest *c = &p->contest;
	struct explain x;
	double antt = 0;

	explain_open(&x, ret);
	if (!x.plan)
		return;
	explain_curve(&x, p, slot, "alpha", offsetof(struct scalability, alpha));
	explain_curve(&x, p, slot, "beta", offsetof(struct scalability, beta));
	explain_curve(&x, p, slot, "gamma", offsetof(struct scalability, gamma));
	explain_object(&x, "table");
	for (int k = 0; k < c->n; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		if (!s->has_fit)
			continue;
		explain_object(&x, c->v->job[c->job[k]].id);
		for (int u = 1, last = 0; u <= p->units.n; u++) {
			int cores = cores_of(p, u);
			char key[16];

			snprintf(key, sizeof(key), "%d", cores);
			if (cores != last)
				explain_number(&x, key, table(p, k, s, cores));
			last = cores;
		}
		explain_end(&x);
	}
	explain_end(&x);
	for (int k = 0; k < c->n && allocated; k++) {
		const struct job_state *s = &p->state[slot[c->job[k]]];

		antt += p->is_green[k] ? c->n : 1 / table(p, k, s, cores_of(p, p->given[k])) / c->n;
	}
	if (allocated)
		explain_number(&x, "antt", antt);
	explain_number(&x, "unit", p->units.size);
	explain_number(&x, "assignments", assignments(p->units.n, c->n));
	explain_close(&x);
}

/* What cannot be partitioned: equal shares, or groups that own a domain. */
static int share(struct policy *p, const char *why, struct plan *ret)
{
	struct contest *c = &p->contest;

	contest_share(c, p->domain_of, ret);
	for (int k = 0; k < c->n; k++)
		plan_why(ret, c->job[k], "%s", why);
	return 0;
}

static void restart_phases(struct policy *p, const int *slot, const struct plan *ret, double now_s)
{
	const struct contest *c = &p->contest;
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

static int sbmp_decide(struct policy *p, const struct view *v, const int *slot, struct plan *ret,
	struct errbuf *err)
{
	struct contest *c = &p->contest;
	int rc = contest_build(c, v, ret, err);
	bool predicted = true;

	if (rc)
		return rc;
	observe(p, v, slot);
	if (c->n == 0)
		return 0;
	if (!c->uniform)
		return share(p, "envelopes differ: shared by arrival, not by scalability", ret);
	if (c->shared)
		return share(p, "more jobs than cores: groups own a domain", ret);
	units_build(&p->units, c, UNIT_CORE);
	/* More jobs than dies: single cores are dealt. */
	if (c->n > p->units.n)
		units_split(&p->units, c);
	for (int k = 0; k < c->n; k++)
		predicted = predict(p, k, slot[c->job[k]], ret) && predicted;
	fill_peaks(p, slot);
	for (int k = 0; k < c->n; k++)
		p->is_green[k] = false;
	if (!predicted) {
		explain(p, slot, false, ret);
		share(p, "equal parts until its scalability is known", ret);
		restart_phases(p, slot, ret, v->now_s);
		return 0;
	}
	find_green(p, slot);
	ret->score = allocate(p, slot);
	place(p, ret);
	for (int k = 0; k < c->n; k++)
		plan_why(ret, c->job[k], "%d cores: %.0f %% of its best speed",
			cores_of(p, p->given[k]),
			p->given[k] ? 100 * table(p, k, &p->state[slot[c->job[k]]],
						    cores_of(p, p->given[k]))
				    : 100.0);
	gang_green(p, ret);
	if (p->variant == SBMP_CD)
		donate(p, slot, ret);
	explain(p, slot, true, ret);
	restart_phases(p, slot, ret, v->now_s);
	return 0;
}

static void sbmp_forget(struct policy *p, int slot)
{
	p->state[slot] = (struct job_state){0};
}

#define SBMP_OPTIONS                                                                               \
	"objective=antt|stp|wspeedup|worst search=exact|paper phase=paper|width green=yes|no "     \
	"sample_ms=N slice_ms=N donor=0..1"

const struct policy_ops policy_sbmp = {
	.name = "sbmp",
	.summary = "cores by predicted scalability, least mean slow-down (SBMP)",
	.options = SBMP_OPTIONS,
	.needs = 0,
	.on_node = true,
	.create = sbmp_create,
	.decide = sbmp_decide,
	.forget = sbmp_forget,
	.free = sbmp_free,
};

const struct policy_ops policy_sbmp_pp = {
	.name = "sbmp-pp",
	.summary = "sbmp that predicts anew when a job changes phase",
	.options = SBMP_OPTIONS,
	.needs = SIGNAL_BIT(SIGNAL_UTILIZATION),
	.on_node = true,
	.create = sbmp_pp_create,
	.decide = sbmp_decide,
	.forget = sbmp_forget,
	.free = sbmp_free,
};

const struct policy_ops policy_sbmp_cd = {
	.name = "sbmp-cd",
	.summary = "sbmp-pp that lends the idle time of badly used cores",
	.options = SBMP_OPTIONS,
	.needs = SIGNAL_BIT(SIGNAL_UTILIZATION),
	.on_node = true,
	.create = sbmp_cd_create,
	.decide = sbmp_decide,
	.forget = sbmp_forget,
	.free = sbmp_free,
};
