/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nodesvc/engine/engine.h"
#include "nodesvc/sim/drive_internal.h"
#include "nodesvc/sim/exec_policy.h"
#include "nodesvc/sim/joint.h"

void drive_defaults(struct drive *d)
{
	memset(d, 0, sizeof(*d));
	d->most_s = 300;
	d->min_runs = 3;
	d->sample_s = 0.2;
	sensor_defaults(&d->sensor);
}

int drive_phases(const char *name, enum phase_events *ret)
{
	static const char *const names[] = {
		[PHASES_WIDTH] = "width", [PHASES_PAPER] = "paper", [PHASES_NONE] = "none"};

	for (int i = 0; i <= PHASES_NONE; i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum phase_events)i;
			return 0;
		}
	return -EINVAL;
}

double drive_ntt(const struct drive_result *r, int i, enum ntt_base base)
{
	return base == NTT_ALL    ? r->job[i].ntt_all
	       : base == NTT_BEST ? r->job[i].ntt_best
				  : r->job[i].ntt_share;
}

/* STP and ANTT: Eyerman and Eeckhout, IEEE Micro 28(3), 2008. */
double drive_stp(const struct drive_result *r, enum ntt_base base)
{
	double sum = 0;

	for (int i = 0; i < r->n_jobs; i++)
		sum += 1 / drive_ntt(r, i, base);
	return sum;
}

double drive_antt(const struct drive_result *r, enum ntt_base base)
{
	double sum = 0;

	for (int i = 0; i < r->n_jobs; i++)
		sum += drive_ntt(r, i, base);
	return sum / r->n_jobs;
}

double drive_worst_ntt(const struct drive_result *r, enum ntt_base base)
{
	double worst = 0;

	for (int i = 0; i < r->n_jobs; i++)
		worst = fmax(worst, drive_ntt(r, i, base));
	return worst;
}

double drive_of_fair(const struct drive_result *r, int i)
{
	return 1 / r->job[i].ntt_share;
}

static void run_static(const struct drive *d, struct run *r, const struct place *place)
{
	int who;

	run_place(r, place, NULL, 0);
	while (!drive_is_over(d, r)) {
		enum run_event e = run_advance(r, d->most_s, &who);

		/* The layout holds who is there. */
		if (e == RUN_ARRIVED || (e == RUN_ENDED && run_is_over(r, who)))
			run_place(r, place, NULL, 0);
	}
}

static int one_static(const struct drive *d, const struct place *place, struct drive_result *ret,
	struct errbuf *err)
{
	struct run *r = NULL;
	int rc = run_create(&r, d->m, d->spec, d->n_jobs, err);

	if (rc)
		return rc;
	run_static(d, r, place);
	drive_results(d, r, ret);
	run_free(r);
	return 0;
}

static int run_linux(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct place *place = calloc((size_t)d->n_jobs, sizeof(*place));
	int rc;

	if (!place)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < d->n_jobs; i++)
		place[i] = (struct place){.active = true, .own = d->m->topo->all};
	rc = one_static(d, place, ret, err);
	free(place);
	return rc;
}

static int run_alternate(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct place *place = calloc((size_t)d->n_jobs, sizeof(*place));
	int rc = place ? statics_alternate(place, d->m->topo, d->n_jobs, err)
		       : err_set(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = one_static(d, place, ret, err);
	free(place);
	return rc;
}

/* Each in turn has the whole node until its program has ended. */
static int run_serial(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct place *place = calloc((size_t)d->n_jobs, sizeof(*place));
	struct run *r = NULL;
	int rc = place ? run_create(&r, d->m, d->spec, d->n_jobs, err)
		       : err_set(err, -ENOMEM, "out of memory");
	int now = -1, last = d->n_jobs - 1, who;

	while (!rc && !drive_is_over(d, r)) {
		for (int k = 1; k <= d->n_jobs && now < 0; k++)
			if (r->job[(last + k) % d->n_jobs].present)
				now = (last + k) % d->n_jobs;
		for (int i = 0; i < d->n_jobs; i++)
			place[i] = (struct place){.active = i == now, .own = d->m->topo->all};
		run_place(r, place, NULL, 0);
		if (run_advance(r, d->most_s, &who) == RUN_ENDED) {
			last = now;
			now = -1;
		}
	}
	if (!rc)
		drive_results(d, r, ret);
	run_free(r);
	free(place);
	return rc;
}

static double value_of(const struct drive *d, const struct drive_result *r)
{
	return d->objective == OBJECTIVE_STP ? drive_stp(r, NTT_SHARE) : -drive_antt(r, NTT_BEST);
}

/*
 * The mean over placements of what the objective sums up: rates (1/NTT) for STP, times (NTT) for
 * ANTT. So the mean lies between the worst and the best of them.
 */
static double to_mean(const struct drive *d, double ntt)
{
	return d->objective == OBJECTIVE_STP ? 1 / ntt : ntt;
}

static int list_statics(const struct drive *d, struct statics *ret, struct errbuf *err)
{
	int rc = statics_list(ret, d->m->topo, d->n_jobs, err);

	if (!rc && d->fill)
		statics_fill(ret, d->m->topo);
	return rc;
}

/* @want: +1 best, -1 worst, 0 mean of every figure. */
static int run_statics(
	const struct drive *d, int want, struct drive_result *ret, struct errbuf *err)
{
	struct statics s;
	struct drive_result one = {0}, sum = {0};
	int rc = list_statics(d, &s, err);

	for (int k = 0; k < s.n && !rc; k++) {
		rc = one_static(d, &s.place[(size_t)k * (size_t)d->n_jobs], &one, err);
		if (want != 0) {
			if (k == 0 || want * (value_of(d, &one) - value_of(d, &sum)) > 0) {
				sum = one;
				sum.chosen = k;
			}
			continue;
		}
		for (int i = 0; i < d->n_jobs; i++) {
			sum.job[i].ntt_all += to_mean(d, one.job[i].ntt_all) / s.n;
			sum.job[i].ntt_best += to_mean(d, one.job[i].ntt_best) / s.n;
			sum.job[i].ntt_share += to_mean(d, one.job[i].ntt_share) / s.n;
		}
		sum.n_jobs = one.n_jobs;
		sum.elapsed_s += one.elapsed_s / s.n;
	}
	for (int i = 0; want == 0 && i < d->n_jobs; i++) {
		sum.job[i].mean_run_s = NAN;
		sum.job[i].ntt_all = to_mean(d, sum.job[i].ntt_all);
		sum.job[i].ntt_best = to_mean(d, sum.job[i].ntt_best);
		sum.job[i].ntt_share = to_mean(d, sum.job[i].ntt_share);
	}
	statics_done(&s);
	if (!rc)
		*ret = sum;
	return rc;
}

static int best_now(const struct drive *d, struct run *r, const struct statics *s, struct layout *l,
	struct solve_out *out)
{
	double best = 0;
	int which = 0;

	run_rates(r); /* brings r->in up to date */
	for (int k = 0; k < s->n; k++) {
		struct place *p = &s->place[(size_t)k * (size_t)d->n_jobs];
		double value;

		for (int i = 0; i < d->n_jobs; i++)
			p[i].active = r->job[i].present;
		layout_set(l, p, d->n_jobs);
		solver_run(r->solver, l, r->in, out);
		value = drive_instant_value(d, r, out);
		if (k == 0 || value > best) {
			best = value;
			which = k;
		}
	}
	return which;
}

/* Which placement is best for which phases: the same tuple comes again and again. */
struct oracle_memo {
	uint64_t key;
	int which;
};
#define ORACLE_SLOTS 4096

static int follow_phases(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct statics s;
	struct run *r = NULL;
	struct layout l = {0};
	struct solve_out *out = calloc((size_t)d->n_jobs, sizeof(*out));
	struct oracle_memo *memo = calloc(ORACLE_SLOTS, sizeof(*memo));
	int rc = list_statics(d, &s, err), who;

	if (!rc && (!out || !memo))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = run_create(&r, d->m, d->spec, d->n_jobs, err);
	if (!rc)
		rc = layout_init(&l, d->m, d->n_jobs, err);
	if (!rc)
		run_place(r, s.place, NULL, 0);
	while (!rc && !drive_is_over(d, r)) {
		uint64_t key = 1;
		struct oracle_memo *m;

		for (int i = 0; i < r->n_jobs; i++)
			key = rng_mix(key + (uint64_t)r->job[i].phase * 2 + r->job[i].present);
		key |= 1;
		m = &memo[(key >> 32) % ORACLE_SLOTS];
		if (m->key != key)
			*m = (struct oracle_memo){key, best_now(d, r, &s, &l, out)};
		for (int i = 0; i < d->n_jobs; i++)
			s.place[(size_t)m->which * (size_t)d->n_jobs + (size_t)i].active = true;
		run_place(r, &s.place[(size_t)m->which * (size_t)d->n_jobs], NULL, 0);
		run_advance(r, d->most_s, &who);
	}
	if (!rc)
		drive_results(d, r, ret);
	layout_done(&l);
	run_free(r);
	statics_done(&s);
	free(out);
	free(memo);
	return rc;
}

/* Greedy steps pay for moves that a patient placement saves: the better of the two counts. */
static int run_oracle(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct drive_result fixed = {0};
	int rc = run_statics(d, 1, &fixed, err);

	if (!rc)
		rc = follow_phases(d, ret, err);
	if (!rc && value_of(d, &fixed) > value_of(d, ret))
		*ret = fixed;
	return rc;
}

/* As run_oracle(): what it finds step by step, or the best without moves. */
static int run_joint(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	struct drive_result oracle = {0};
	int rc = run_oracle(d, &oracle, err);

	if (!rc)
		rc = joint_run(d, ret, err);
	oracle.search = ret->search;
	if (!rc && value_of(d, &oracle) > value_of(d, ret))
		*ret = oracle;
	return rc;
}

static const struct reference {
	const char *name;
	int statics;
	int (*run)(const struct drive *d, struct drive_result *ret, struct errbuf *err);
} references[] = {
	{"linux", 0, run_linux},
	{"serial", 0, run_serial},
	{"alternate", 0, run_alternate},
	{"best-static", 1, NULL},
	{"mean-static", 0, NULL},
	{"worst-static", -1, NULL},
	{"oracle", 0, run_oracle},
	{"joint-oracle", 0, run_joint},
};

static const struct reference *find_reference(const char *name)
{
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++)
		if (strcmp(references[i].name, name) == 0)
			return &references[i];
	return NULL;
}

bool drive_is_reference(const char *policy)
{
	return find_reference(policy) != NULL;
}

int drive_check(const char *policy, const struct topo *t, int n_jobs, struct errbuf *err)
{
	struct policy_cfg cfg = {.topo = t, .max_jobs = n_jobs};
	struct engine *e;
	int rc;

	if (find_reference(policy))
		return 0;
	if (exec_policy_is(policy))
		return exec_policy_check(policy, err);
	rc = engine_create(&e, policy, &cfg, err);
	if (!rc)
		engine_free(e);
	return rc;
}

int drive_run(const struct drive *d, struct drive_result *ret, struct errbuf *err)
{
	const struct reference *ref = find_reference(d->policy);
	struct run *r = NULL;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (d->n_jobs < 1 || d->n_jobs > DRIVE_JOBS_MAX)
		return err_set(
			err, -EINVAL, "%d jobs: 1 to %d expected", d->n_jobs, DRIVE_JOBS_MAX);
	if (ref)
		return ref->run ? ref->run(d, ret, err) : run_statics(d, ref->statics, ret, err);
	rc = run_create(&r, d->m, d->spec, d->n_jobs, err);
	if (rc)
		return rc;
	rc = drive_policy_run(d, r, ret, err);
	if (!rc)
		drive_results(d, r, ret);
	run_free(r);
	return rc;
}
